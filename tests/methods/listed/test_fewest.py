"""A bound without k: as few atoms as meet it; and what k beside a bound may cost."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import datasets
from fewatoms.datasets.sparco import CausalConvolution, CosinesAndSpikes, HaarSynthesis
from fewatoms.gram.who import working
from journeys.planting import as_operator, spikes, squares
from methods.listed.small import (
    N,
    best_of_all,
    case,
    design,
    refit,
)

# A bound without k ----------------------------------------------------------------------------------------------------


def pursued(A, b, bound):
    """Orthogonal matching pursuit on columns of unit length: how many atoms until the loss meets the bound."""
    A = A / np.linalg.norm(A, axis=0)
    inside: list[int] = []
    left = b
    while squares(left) > bound:
        alignments = np.abs(A.T @ left)
        alignments[inside] = -1.0
        inside.append(int(np.argmax(alignments)))
        left = b - A[:, inside] @ np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
    return len(inside)


@pytest.mark.parametrize("misfit", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive", "units"])
def test_a_bound_alone_takes_no_more_atoms_than_matching_pursuit(kind, misfit):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = design(kind, rng, 30, 60)
        b = A @ spikes(rng, 60, 4) / np.abs(A).max() + 0.02 * rng.standard_normal(30)
        s = fa.fit(A, b, atoms=fa.SignedOneHot(60), misfit=misfit)
        assert s.success
        assert s.status is fa.Status.BOUND_MET
        assert np.linalg.norm(b - A @ s.x) <= misfit * np.linalg.norm(b) * (1 + 1e-9)
        assert s.cardinality == np.count_nonzero(s.x) <= pursued(A, b, misfit**2 * squares(b))
        with working("twins"):  # whoever works may change from one fit to the next, and with it the last digits
            s = fa.fit(A, b, atoms=fa.SignedOneHot(60), misfit=misfit)
            by_alpha = fa.fit(A, b, atoms=fa.SignedOneHot(60), alpha=misfit**2 * squares(b))
        assert by_alpha.cardinality == s.cardinality


@pytest.mark.parametrize("misfit", [0.6, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_alone_against_all_subsets(seed, misfit):
    A, b, *_ = case("signed", "plain", 2 * seed)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(N), misfit=misfit)
    blocks = [A[:, [i]] for i in range(N)]
    reached = (k for k in range(1, N + 1) if best_of_all(blocks, b, k) <= misfit**2 * squares(b))
    needed = next(reached, None)
    assert s.success == (needed is not None)
    assert needed is None or needed <= s.cardinality <= needed + 1


@pytest.mark.parametrize("name", ["nonnegative", "groups", "dictionary", "free", "huber"])
def test_a_bound_alone_is_met_by_every_kind(name):
    rng = np.random.default_rng(3)
    A = np.abs(rng.standard_normal((30, 80)))
    b = A[:, :3].sum(axis=1) + 0.05 * rng.standard_normal(30)
    atoms, options = {
        "nonnegative": (fa.NonnegativeOneHot(80), {"misfit": 0.1}),
        "groups": (fa.Groups(np.arange(80) // 4), {"misfit": 0.1}),
        "dictionary": (fa.Dictionary(np.eye(80)[:, ::-1], symmetric=True), {"misfit": 0.1}),
        "free": (fa.SignedOneHot(80), {"misfit": 0.1, "free": "intercept"}),
        "huber": (fa.SignedOneHot(80), {"alpha": 0.5, "loss": fa.Huber(1.0)}),
    }[name]
    s = fa.fit(A, b, atoms=atoms, **options)
    left = b - A @ s.x - (s.free_coefficients[0] if name == "free" else 0.0)
    assert s.success
    assert 1 <= s.cardinality <= 4
    if name == "huber":
        assert fa.Huber(1.0).value(left) <= 0.5 * (1 + 1e-9)
    else:
        assert np.linalg.norm(left) <= 0.1 * np.linalg.norm(b) * (1 + 1e-9)


def test_a_bound_that_no_atoms_reach():
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((30, 5)), rng.standard_normal(30)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(5), misfit=1e-3)
    assert not s.success
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE)
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-6)


# What k beside a bound may cost ---------------------------------------------------------------------------------------


BESIDE = Path(__file__).resolve().parents[3].parent / "shared" / "data"


def data(name):
    """A file of real data, or a skip that says where it was looked for."""
    file = Path(os.environ.get("FEWATOMS_DATA", BESIDE)) / name
    if not file.is_file():
        pytest.skip(f"no file {file}; name its folder by FEWATOMS_DATA")
    return np.load(file)


def authors(name):
    file = data("sparco_authors.npz")
    M = {
        "blocksig": lambda: HaarSynthesis(1024, 5),
        "cosspike": lambda: CosinesAndSpikes(1024),
        "spiketrn": lambda: CausalConvolution(file["kernel"], 1024),
    }[name]()
    return M, file[name]


def assert_k_is_free(M, b, budgets, misfit=1e-3):
    """Nothing is spent for k where the bound alone is met by as few atoms."""
    atoms = fa.SignedOneHot(M.shape[1])
    alone = fa.fit(M, b, atoms=atoms, misfit=misfit)
    assert alone.success
    for k in budgets:
        s = fa.fit(M, b, atoms=atoms, k=k, misfit=misfit)
        if alone.cardinality <= k:
            assert s.success
            assert s.cardinality <= k
            assert s.products <= alone.products, (k, alone)
    return alone


@pytest.mark.parametrize(
    ("name", "budgets", "products"),
    [("blocksig", (71, 142), 98), ("cosspike", (20, 113, 226), 43), ("spiketrn", (12, 20, 35, 70), 102)],
)
def test_k_beside_a_bound_is_free_on_the_authors_data(name, budgets, products):
    M, b = authors(name)
    alone = assert_k_is_free(M, b, budgets)
    assert alone.products <= products


@pytest.mark.parametrize(
    ("name", "seed"), [(n, s) for n in datasets.SPARCO for s in range(1 if n == "sgnspike" else 3)]
)
def test_k_beside_a_bound_is_free_on_generated_data(name, seed):
    problem = datasets.SPARCO[name](rng=seed)
    k = {"blocksig": 71, "cosspike": 122, "gcosspike": 113, "sgnspike": 20, "spiketrn": 35}[name]
    assert_k_is_free(problem.M, problem.b, (k, 2 * k))


@pytest.mark.parametrize("form", [np.asarray, as_operator], ids=["array", "box"])
@pytest.mark.parametrize("n", [200, 400])
@pytest.mark.parametrize("true", [1, 3, 6, 12])
def test_k_beside_a_bound_is_free_on_gaussian_data(true, n, form):
    rng = np.random.default_rng(true)
    A = rng.standard_normal((120, n))
    b = A @ spikes(rng, n, true)
    b += 0.02 * np.linalg.norm(b) / np.sqrt(120) * rng.standard_normal(120)
    assert_k_is_free(form(A), b, (true, 2 * true, 20), misfit=0.05)


def test_a_box_with_columns_in_mixed_units_gets_the_atoms_of_its_array():
    """Images that differ in length say that units matter: then all columns are asked for."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((60, 200)) * 10.0 ** rng.uniform(-3, 3, 200)
    b = A[:, [5, 50, 150]] @ (1.0 / np.linalg.norm(A[:, [5, 50, 150]], axis=0))
    b += 0.02 * np.linalg.norm(b) / np.sqrt(60) * rng.standard_normal(60)
    for asked in ({"k": 3}, {"k": 3, "misfit": 0.05}, {"misfit": 0.05}):
        s = fa.fit(as_operator(A), b, atoms=fa.SignedOneHot(200), **asked)
        assert sorted(s.indices.tolist()) == [5, 50, 150], asked
        assert s.products <= 200 + 25


def test_a_bound_is_met_before_all_columns_of_a_box_are_asked_for():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((60, 200))
    b = A[:, [5, 50, 150]].sum(axis=1)
    path = fa.fit_path(as_operator(A), b, atoms=fa.SignedOneHot(200), k=(2, 3, 5), misfit=1e-6)
    assert [path[k].success for k in (2, 3, 5)] == [False, True, True]
    for k in (2, 3, 5):
        alone = fa.fit(as_operator(A), b, atoms=fa.SignedOneHot(200), k=k, misfit=1e-6)
        assert path[k].loss == pytest.approx(alone.loss, rel=1e-6, abs=1e-20)
        assert (alone.products < 20) == alone.success
