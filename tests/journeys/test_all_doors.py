"""One job, every door: Python, estimators and the command line find the same atoms with equal coefficients, whatever
the data come in."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import fewatoms as fa
from estimators.tables import CLOTHES, NAMED, NAMES, rows
from fewatoms import cli, io
from fewatoms.estimators import MatrixCompletion, RobustPCA, SparseClassifier, SparseCoder, SparseRegressor

X, Y = rows(3, m=70)
TWO = np.where(np.median(Y) < Y, "high", "low")
THREE = np.array(["low", "mid", "high"])[np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))]
GROUPS = ("body", "body", "body", "blood", "blood", "blood", "other", "other")
GROUPED = [f"{group}_{name}" for group, name in zip(GROUPS, NAMES, strict=True)]
SIGNED = fa.SignedOneHot(8)

# What Python is asked, what the estimator is, what the command line is told.
JOBS = {
    "k": (Y, {"atoms": SIGNED, "k": 3}, SparseRegressor(3), ["-k", "3"]),
    "ridge": (Y, {"atoms": SIGNED, "k": 3, "ridge": 2.0}, SparseRegressor(3, ridge=2.0), ["-k", "3", "--ridge", "2"]),
    "misfit": (Y, {"atoms": SIGNED, "misfit": 0.25}, SparseRegressor(misfit=0.25), ["--misfit", "0.25"]),
    "positive": (
        Y,
        {"atoms": fa.NonnegativeOneHot(8), "k": 2},
        SparseRegressor(2, positive=True),
        ["-k", "2", "--positive"],
    ),
    "two classes": (
        TWO,
        {"atoms": SIGNED, "k": 2, "loss": fa.Logistic(), "ridge": 0.5},
        SparseClassifier(2, ridge=0.5),
        ["-k", "2", "--classes", "--ridge", "0.5"],
    ),
}
FILES = ("data.csv", "data.csv.gz", "data.tsv", "data.parquet")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def by_name(names, coefficients):
    return {name: pytest.approx(c, rel=1e-8) for name, c in zip(names, coefficients, strict=True)}


def told(capsys, *words):
    assert cli.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["answer"]


@pytest.mark.parametrize("job", JOBS)
def test_few_columns_of_a_table(job, capsys):
    target, asked, estimator, words = JOBS[job]
    s = fa.fit(X, target, free="intercept", **asked)
    wanted = by_name([NAMES[i] for i in s.indices], s.coefficients)
    for name, clothed in CLOTHES.items():
        if name != "list":
            other = fa.fit(clothed(X), target, free="intercept", **asked)
            assert dict(zip([NAMES[i] for i in other.indices], other.coefficients, strict=True)) == wanted
            if name in NAMED:
                assert set(other.names) == set(wanted)
        e = estimator.fit(clothed(X), target)
        assert {NAMES[i]: np.ravel(e.coef_)[i] for i in e.selected_} == wanted
        assert np.ravel(e.intercept_)[0] == pytest.approx(s.intercept, rel=1e-8)
    for file in FILES:
        io.write_table(file, {**dict(zip(NAMES, X.T, strict=True)), "y": target})
        answer = told(capsys, "fit", file, "--target", "y", *words)
        assert {row["name"]: row["coefficient"] for row in answer["table"]} == wanted
        assert answer["intercept"] == pytest.approx(s.intercept, rel=1e-8)
        assert answer["loss"] == pytest.approx(s.loss, rel=1e-8)


def test_three_classes(capsys):
    s = fa.fit(X, THREE, atoms=SIGNED, k=2, loss=fa.Multinomial(), ridge=0.5, free="intercept")
    for clothed in CLOTHES.values():
        e = SparseClassifier(2, ridge=0.5).fit(clothed(X), THREE)
        np.testing.assert_allclose(e.coef_, s.x.T, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(e.predict_proba(clothed(X)).sum(axis=1), 1.0)
    for file in FILES:
        io.write_table(file, {**dict(zip(NAMES, X.T, strict=True)), "y": THREE})
        answer = told(capsys, "fit", file, "--target", "y", "-k", "2", "--classes", "--ridge", "0.5")
        assert answer["loss"] == pytest.approx(s.loss, rel=1e-8)


def test_groups(capsys):
    number = np.unique(GROUPS, return_inverse=True)[1]
    s = fa.fit(X, Y, atoms=fa.Groups(number), k=1, free="intercept")
    for clothed in CLOTHES.values():
        e = SparseRegressor(1, groups=number).fit(clothed(X), Y)
        np.testing.assert_allclose(e.coef_, s.x, rtol=1e-8, atol=1e-12)
    for file in FILES:
        io.write_table(file, {**dict(zip(GROUPED, X.T, strict=True)), "y": Y})
        answer = told(capsys, "fit", file, "--target", "y", "-k", "1", "--group-by", "_")
        assert {row["group"] for row in answer["table"]} == {"body"}
        assert answer["loss"] == pytest.approx(s.loss, rel=1e-8)


def test_a_matrix_with_gaps(capsys):
    rng = np.random.default_rng(4)
    L = rng.standard_normal((15, 2)) @ rng.standard_normal((2, 12))
    i, j = np.nonzero(rng.random(L.shape) < 0.8)
    v = L[i, j] + 0.01 * rng.standard_normal(i.size)
    s = fa.fit(fa.Sampling(i, j, L.shape), v, atoms=fa.RankOne(*L.shape), k=2)
    wanted = s.left @ s.right.T
    gaps = np.full(L.shape, np.nan)
    gaps[i, j] = v
    for table in (gaps, gaps.tolist(), pd.DataFrame(gaps), pl.DataFrame(gaps), np.ma.masked_invalid(gaps)):
        model = MatrixCompletion(2, ridge=0.0).fit(table)
        np.testing.assert_allclose(model.left_ @ model.right_.T, wanted, atol=1e-9)
        filled = model.transform(table)  # rows are fitted once more, as new ones would be
        np.testing.assert_allclose(filled, np.where(np.isnan(gaps), wanted, gaps), atol=1e-4)
    who, what = np.array([f"u{a:02d}" for a in range(15)]), np.arange(12) + 100
    columns = {"user": who[i], "item": what[j], "value": v}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        model = MatrixCompletion(2, ridge=0.0).fit(frame, user="user", item="item", value="value")
        at = pd.DataFrame({"user": who[i], "item": what[j]})
        np.testing.assert_allclose(model.predict(at), wanted[i, j], atol=1e-6)
    for file in FILES:
        io.write_table(file, columns)
        told(capsys, "complete", file, "--rank", "2", "--ridge", "0", "--out", "x.npy", "--overwrite")
        np.testing.assert_allclose(np.load("x.npy"), np.where(np.isnan(gaps), wanted, gaps), atol=1e-6)


def test_signals_in_a_dictionary(capsys):
    rng = np.random.default_rng(5)
    D = rng.uniform(0.1, 1.0, (20, 6))
    scene = (D @ (rng.uniform(0.2, 1.0, (6, 25)) * (rng.random((6, 25)) < 0.3))).T + 0.001 * rng.random((25, 20))
    found = fa.fit_many(D, scene.T, atoms=fa.NonnegativeOneHot(6), k=2)
    wanted = found.sparse.toarray().T
    one_by_one = [fa.fit(D, b, atoms=fa.NonnegativeOneHot(6), k=2).x for b in scene]
    np.testing.assert_allclose(one_by_one, wanted, atol=1e-9)
    for given in (scene, pd.DataFrame(scene), pl.DataFrame(scene), pa.table(pd.DataFrame(scene).rename(columns=str))):
        codes = SparseCoder(D.T, 2, positive=True).fit(given).transform(given)
        np.testing.assert_allclose(codes.toarray() if sp.issparse(codes) else codes, wanted, atol=1e-9)
    names = [f"s{a}" for a in range(6)]
    io.write_table("library.csv", dict(zip(names, D.T, strict=True)))
    np.save("scene.npy", scene)
    told(capsys, "unmix", "scene.npy", "--library", "library.csv", "-k", "2", "--out", "a.npy")
    np.testing.assert_allclose(np.load("a.npy"), wanted, atol=1e-9)


def test_background_and_foreground(capsys):
    rng = np.random.default_rng(6)
    L = rng.standard_normal((16, 2)) @ rng.standard_normal((2, 20))
    S = np.where(rng.random(L.shape) < 0.03, 8.0, 0.0)
    B = L + S
    entries = int(np.count_nonzero(S))
    for given in (B, pd.DataFrame(B), pl.DataFrame(B)):
        pca = RobustPCA(2, entries).fit(given)
        np.testing.assert_allclose(np.asarray(pca.low_rank_), L, atol=1e-5)
        np.testing.assert_allclose(pca.sparse_.toarray(), S, atol=1e-5)
    np.save("video.npy", B.reshape(16, 4, 5))
    told(capsys, "split", "video.npy", "--rank", "2", "--entries", str(entries), "--out", "parts")
    np.testing.assert_allclose(np.load("parts/background.npy").reshape(16, 20), L, atol=1e-5)
    np.testing.assert_allclose(np.load("parts/foreground.npy").reshape(16, 20), S, atol=1e-5)
