"""Codes of signals: those of `fit_many`, a row each."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import fewatoms as fa
from fewatoms.estimators import SparseClassifier, SparseCoder

RNG = np.random.default_rng(0)
D = RNG.standard_normal((30, 12))
CODES = np.zeros((40, 30))
for row in CODES:
    row[RNG.choice(30, 2, replace=False)] = RNG.uniform(0.5, 2.0, 2)
X = CODES @ D + 0.001 * RNG.standard_normal((40, 12))
BANDS = [f"b{i}" for i in range(12)]


@pytest.mark.parametrize("positive", [False, True])
def test_codes_are_those_of_fit_many(positive):
    atoms = (fa.NonnegativeOneHot if positive else fa.SignedOneHot)(30)
    answers = fa.fit_many(D.T, X.T, atoms=atoms, k=2)
    coder = SparseCoder(D, 2, positive).fit(X)
    np.testing.assert_array_equal(coder.transform(X), answers.x.T)
    np.testing.assert_array_equal(coder.answers(X).misfit, answers.misfit)
    np.testing.assert_allclose(coder.transform(X), CODES, atol=0.02)
    np.testing.assert_allclose(coder.inverse_transform(coder.transform(X)), X, atol=0.02)


def test_one_signal_is_a_fit():
    s = fa.fit(D.T, X[3], atoms=fa.SignedOneHot(30), k=2)
    np.testing.assert_allclose(SparseCoder(D, 2).fit(X).transform(X[3:4])[0], s.x, rtol=1e-9, atol=1e-12)


def test_sparse_codes_and_dictionaries():
    dense = SparseCoder(D, 2).fit_transform(X)
    for dictionary in (D, sp.csr_array(D), D.tolist(), pd.DataFrame(D), pl.DataFrame(D), lambda n: D[:, :n]):
        coder = SparseCoder(dictionary, 2, sparse_output=True).fit(X)
        codes = coder.transform(X)
        assert isinstance(codes, sp.sparray)
        assert codes.format == "csr"
        assert codes.nnz == 80
        np.testing.assert_allclose(codes.toarray(), dense, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(coder.inverse_transform(codes), dense @ D, atol=1e-12)


def test_fewer_atoms_where_fewer_will_do():
    signals = np.vstack([D[4], D[4] + D[5]])
    codes = SparseCoder(D, None, misfit=1e-6).fit_transform(signals)
    assert np.count_nonzero(codes, axis=1).tolist() == [1, 2]
    assert SparseCoder(D, len(D)).fit(X).answers(X[:2]).cardinality.max() <= 30
    with pytest.raises(ValueError, match=f"k must be at most {len(D)}, as there are {len(D)} atoms; got 99$"):
        SparseCoder(D, 99).fit(X).answers(X[:2])


def test_bad_signals_have_a_status_and_stop_nobody():
    odd = X.copy()
    odd[2, 3] = np.nan
    coder = SparseCoder(D, 2).fit(X)
    answers = coder.answers(odd)
    assert [s.name for s in answers.status].count("BAD_DATA") == 1
    assert answers.status[2].name == "BAD_DATA"
    np.testing.assert_allclose(answers.x.T[3:], coder.transform(X)[3:], rtol=1e-9, atol=1e-12)
    gaps = pl.DataFrame(np.where(np.isnan(odd), None, odd).tolist(), orient="row")
    for frame in (pd.DataFrame(odd).add_prefix("b").convert_dtypes(), gaps):
        named = SparseCoder(D, 2).fit(frame[3:])
        assert [i for i, s in enumerate(named.answers(frame).status) if s.name == "BAD_DATA"] == [2]
    with pytest.raises(ValueError, match="Input X contains NaN"):
        coder.transform(odd)


def test_atoms_have_names():
    spectra = pd.DataFrame(D[:3], index=["quartz", "clay", "water"], columns=BANDS)
    scene = pd.DataFrame(X, columns=BANDS)
    coder = SparseCoder(spectra, 2, positive=True).fit(scene)
    assert coder.get_feature_names_out().tolist() == ["quartz", "clay", "water"]
    assert coder.feature_names_in_.tolist() == BANDS
    assert coder.set_output(transform="pandas").transform(scene).columns.tolist() == ["quartz", "clay", "water"]
    assert coder.set_output(transform="polars").transform(scene).columns == ["quartz", "clay", "water"]
    assert SparseCoder(D[:2], 1).fit(X).get_feature_names_out().tolist() == ["sparsecoder0", "sparsecoder1"]
    for frame in (pl.DataFrame(dict(zip(BANDS, X.T, strict=True))), pa.table(dict(zip(BANDS, X.T, strict=True)))):
        found = coder.set_output(transform="default").transform(frame)
        np.testing.assert_allclose(found, coder.transform(scene), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="same order"):
        coder.transform(scene[BANDS[::-1]])


def test_the_columns_of_a_dictionary_are_known_by_name():
    spectra = pd.DataFrame(D[:3], index=["quartz", "clay", "water"], columns=BANDS)
    scene = pd.DataFrame(X, columns=BANDS)
    codes = SparseCoder(spectra, 2).fit_transform(scene)
    mixed = BANDS[5:] + BANDS[:5]
    by_name = SparseCoder(spectra[mixed], 2).fit(scene)
    np.testing.assert_array_equal(by_name.dictionary_, D[:3])
    np.testing.assert_array_equal(by_name.transform(scene), codes)
    others = pl.DataFrame({band: spectra[band].to_numpy() for band in mixed})
    np.testing.assert_array_equal(SparseCoder(others, 2).fit_transform(scene), codes)
    np.testing.assert_array_equal(SparseCoder(spectra[mixed], 2).fit(X).dictionary_, spectra[mixed])
    with pytest.raises(ValueError, match=rf"^dictionary must have the columns of X.*'{BANDS[0]}' and 'odd' are in one"):
        SparseCoder(spectra.rename(columns={BANDS[0]: "odd"}), 2).fit(scene)


@pytest.mark.parametrize(
    ("dictionary", "k", "told"),
    [
        (D[:, :5], 2, r"dictionary must have atoms as long as signals, 12 features; got shape \(30, 5\)"),
        (np.where(D > 2, np.nan, D), 2, "dictionary contains NaN"),
        (pd.DataFrame(D).assign(name="x"), 2, "dictionary must have numbers in all columns.*'name'"),
        (pd.DataFrame(D[:2], index=["a", "a"]), 1, "^dictionary must have rows of different names; 'a' is"),
        (D, 0, "k must be an integer of at least 1"),
        (D, None, "k must be an integer"),
    ],
)
def test_what_cannot_be(dictionary, k, told):
    with pytest.raises((TypeError, ValueError), match=told):
        SparseCoder(dictionary, k).fit(X).transform(X)


def test_codes_that_cannot_be():
    with pytest.raises(ValueError, match=r"codes must have 30 columns, one per atom.*\(40, 12\)"):
        SparseCoder(D, 2).fit(X).inverse_transform(X)


def test_before_a_classifier_and_in_a_pickle():
    labels = CODES[:, :15].sum(axis=1) > 1.2
    pipe = make_pipeline(SparseCoder(D, 2), SparseClassifier(2, 0.1)).fit(X, labels)
    again = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(again.predict_proba(X), pipe.predict_proba(X))
