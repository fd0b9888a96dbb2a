"""What atoms add to a fit, and what leaving them out costs: against fits without them."""

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from answers import answer, cases
from fewatoms import measures

M, b = cases()["signed"].M, cases()["signed"].b
RNG = np.random.default_rng(7)
WEIGHTS = RNG.uniform(0.5, 2.0, 30)
FREE = RNG.standard_normal((30, 2))
LABELS = np.where(M[:, 2] + RNG.standard_normal(30) > 0, "yes", "no")
MORE = np.digitize(M[:, 2] + M[:, 8] + RNG.standard_normal(30), [-1.0, 1.0])
ONE, PAIRS = fa.SignedOneHot(20), fa.Groups(np.arange(20) // 2)

SQUARES = {
    "plain": {"atoms": ONE, "k": 5},
    "ridge": {"atoms": ONE, "k": 5, "ridge": 0.4},
    "nonnegative": {"atoms": fa.NonnegativeOneHot(20), "k": 6},
    "nonnegative, ridge": {"atoms": 3.0 * fa.NonnegativeOneHot(20), "k": 6, "ridge": 0.1},
    "groups": {"atoms": PAIRS, "k": 3},
    "groups, ridge": {"atoms": PAIRS, "k": 3, "ridge": 0.3},
    "weights": {"atoms": ONE, "k": 5, "loss": fa.LeastSquares(WEIGHTS)},
    "intercept": {"atoms": ONE, "k": 5, "free": "intercept"},
    "columns, weights, ridge": {
        "atoms": ONE, "k": 5, "free": FREE, "ridge": 0.2, "loss": fa.LeastSquares(WEIGHTS),
    },
    "cap": {"atoms": ONE, "k": 5, "cap": 0.8},
    "bound": {"atoms": ONE, "k": 5, "misfit": 0.3, "ridge": 0.1},
}  # fmt: skip
SMOOTH = {
    "huber": {"atoms": ONE, "k": 4, "loss": fa.Huber(0.3)},
    "huber, intercept, ridge": {"atoms": ONE, "k": 4, "loss": fa.Huber(0.3), "free": "intercept", "ridge": 0.1},
    "huber, nonnegative": {"atoms": fa.NonnegativeOneHot(20), "k": 4, "loss": fa.Huber(0.3)},
    "huber, groups": {"atoms": PAIRS, "k": 3, "loss": fa.Huber(0.3, WEIGHTS)},
    "logistic": {"atoms": ONE, "k": 2, "loss": fa.Logistic(), "free": "intercept", "b": LABELS, "ridge": 0.02},
    "logistic, weights": {"atoms": ONE, "k": 2, "loss": fa.Logistic(WEIGHTS), "b": LABELS, "ridge": 0.02},
    "multinomial": {
        "atoms": ONE, "k": 2, "loss": fa.Multinomial(), "free": "intercept", "b": MORE, "ridge": 0.05,
    },
}  # fmt: skip


def refitted(s, words, data, out):
    """The objective of a fit to all atoms of an answer but one."""
    atoms, rest = words["atoms"], [g for g in s.indices.tolist() if g != out]
    others = np.setdiff1d(np.arange(atoms.count), s.indices).tolist()
    only = atoms.restricted(include=rest, exclude=[*others, out])
    again = fa.fit(M, data, **{**words, "atoms": only, "k": max(1, len(rest))})
    return again.objective


@pytest.mark.parametrize("name", [*SQUARES, *SMOOTH])
def test_costs_are_those_of_fits_without_the_atom(name):
    words = dict({**SQUARES, **SMOOTH}[name])
    data = words.pop("b", b)
    s = fa.fit(M, data, **words)
    assert s.cardinality >= 2
    costs = [record["cost"] for record in s.table()]
    expected = [refitted(s, words, data, g) - s.objective for g in s.indices.tolist()]
    assert min(costs) > 0
    np.testing.assert_allclose(costs, expected, rtol=1e-6 if name in SMOOTH else 1e-9, atol=1e-9 * s.objective)


def test_others_that_turn_negative_are_left_at_zero():
    """Without the first column the second would have a negative coefficient."""
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.2]])
    y = np.array([-3.0, 1.0, 1.0, 0.0]) + 4.2 * A[:, 0]
    s = fa.fit(A, y, atoms=fa.NonnegativeOneHot(3), k=3)
    assert s.cardinality == 3
    for record in s.table():
        rest = np.setdiff1d(np.arange(3), record["atom"])
        again = fa.fit(A[:, rest], y, atoms=fa.NonnegativeOneHot(2), k=2)
        assert record["cost"] == pytest.approx(again.loss - s.loss, rel=1e-9)


def test_an_atom_that_others_make_up_for_costs_nothing():
    A = np.column_stack([M[:, :3], M[:, 0] + M[:, 1]])
    atoms = fa.SignedOneHot(4).restricted(include=[0, 1, 2, 3])
    costs = {r["atom"]: r["cost"] for r in fa.fit(A, b, atoms=atoms, k=4).table()}
    for g in {0, 1, 3} & costs.keys() if len(costs) == 4 else ():
        assert costs[g] == pytest.approx(0.0, abs=1e-9)
    alone = fa.fit(A[:, [0, 1]], b, atoms=fa.SignedOneHot(2), k=2).loss
    assert costs[2] == pytest.approx(alone - fa.fit(A, b, atoms=fa.SignedOneHot(4), k=4).loss, rel=1e-9)


@pytest.mark.parametrize("name", ["plain", "weights", "intercept", "columns, weights, ridge", "groups"])
def test_contributions_are_shares_of_lengths_of_images(name):
    words = SQUARES[name]
    s = fa.fit(M, b, **words)
    loss, free = words.get("loss"), words.get("free")
    root = np.ones(30) if loss is None else np.sqrt(loss.weights)
    F = np.zeros((30, 1)) if free is None else np.ones((30, 1)) if isinstance(free, str) else free
    Q = np.linalg.qr(root[:, None] * F)[0] if free is not None else F
    lengths = []
    for g in s.indices.tolist():
        x = np.where(words["atoms"].labels == g, s.x, 0.0) if "groups" in name else np.where(np.arange(20) == g, s.x, 0)
        image = root * (M @ x)
        lengths.append(np.linalg.norm(image - Q @ (Q.T @ image)))
    shares = [record["contribution"] for record in s.table()]
    np.testing.assert_allclose(shares, np.array(lengths) / sum(lengths), rtol=1e-9)


def test_one_atom_alone_contributes_all_and_costs_what_it_explains():
    s = fa.fit(M, b, atoms=ONE, k=1)
    (record,) = s.table()
    assert record["contribution"] == 1.0
    assert record["cost"] == pytest.approx(0.5 * b @ b - s.loss, rel=1e-12)
    separable = answer("logistic")  # without its atom only free columns are left
    nothing = separable.certificate.problem.at_zero
    assert separable.table()[0]["cost"] == pytest.approx(nothing - separable.loss, rel=1e-6)


def test_refits_that_would_take_minutes_are_to_second_order(monkeypatch):
    words = {"atoms": ONE, "k": 3, "loss": fa.Huber(1e3)}  # as good as squares: both ways give the same
    refits = [r["cost"] for r in fa.fit(M, b, **words).table()]
    monkeypatch.setattr(measures, "REFITS", 0.0)
    second = [r["cost"] for r in fa.fit(M, b, **words).table()]
    np.testing.assert_allclose(refits, second, rtol=1e-9)
    assert refits != second


def test_beyond_some_thousand_coefficients_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(measures, "TABLED", 2)
    record = fa.fit(M, b, atoms=ONE, k=3).table()[0]
    assert (record["contribution"], record["cost"]) == (None, None)


def test_products_are_counted_where_they_are_made():
    case = cases()["box"]
    s = case.fit()
    before = s.certificate.products
    s.table()
    assert s.certificate.products > before
    known = s.certificate.products
    s.table()
    assert s.certificate.products == known
    assert s.products == answer("box").products


def test_sparse_and_dense_say_the_same():
    dense, sparse = (fa.fit(A, b, atoms=ONE, k=4).table() for A in (M, sp.csr_array(M)))
    for one, other in zip(dense, sparse, strict=True):
        assert one["atom"] == other["atom"]
        for key in ("coefficient", "contribution", "cost"):
            assert one[key] == pytest.approx(other[key], rel=1e-9)
