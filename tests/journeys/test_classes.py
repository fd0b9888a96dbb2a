"""Labels as data: fits of two classes and of more, their probabilities, paths, batches, joint sets, and proofs."""

from __future__ import annotations

import itertools
import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms.relaxations import P1

M, N = 60, 12
RNG = np.random.default_rng(5)
X = RNG.standard_normal((M, N))
SIGNS = np.where(X[:, 3] - X[:, 7] + RNG.logistic(size=M) > 0.3, 1.0, -1.0)
WORDS = np.where(SIGNS > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 2] + 0.7 * RNG.standard_normal(M), [-0.5, 0.6])]
ONE = fa.SignedOneHot(N)


def softmax_loss(columns, codes, coefficients):
    """-log of the probabilities of the labels, the obvious way; and its gradient."""
    W = coefficients.reshape(columns.shape[1], -1)
    P = np.exp(columns @ W - (columns @ W).max(axis=1)[:, None])
    P /= P.sum(axis=1)[:, None]
    own = np.eye(W.shape[1])[codes]
    return -np.log((P * own).sum(axis=1)).sum(), (columns.T @ (P - own)).ravel()


def best_loss(columns, labels):
    """The least loss over coefficients of these columns, by a general search over one row for each class."""
    values, codes = np.unique(labels, return_inverse=True)
    start = np.zeros(columns.shape[1] * values.size)
    ridge = 1e-10  # what all classes share has no best value
    found = minimize(
        lambda w: (lambda f, g: (f + ridge * w @ w, g + 2 * ridge * w))(*softmax_loss(columns, codes, w)),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7},
    )
    return softmax_loss(columns, codes, found.x)[0]


# Two classes ----------------------------------------------------------------------------------------------------------

FORMS = {"array": np.asarray, "sparse": sp.csc_array, "box": aslinearoperator}
ASKED = {
    "signed": {"atoms": ONE, "k": 2},
    "nonnegative": {"atoms": fa.NonnegativeOneHot(N), "k": 2},
    "groups": {"atoms": fa.Groups(np.arange(N) // 3), "k": 1},
    "bound": {"atoms": ONE, "alpha": 32.0},
    "cap": {"atoms": ONE, "k": 3, "cap": 0.5},
    "weights": {"atoms": ONE, "k": 2, "loss": fa.Logistic(np.linspace(0.5, 2.0, M))},
    "dictionary": {"atoms": fa.Dictionary(np.tri(N), symmetric=True), "k": 2},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("form", FORMS)
def test_labels_and_signs_in_m_are_one_problem_to_the_last_digit(form, asked):
    words = {"loss": fa.Logistic(), **asked}
    s = fa.fit(FORMS[form](X), WORDS, free="intercept", **words)
    paper = fa.fit(FORMS[form](SIGNS[:, None] * X), np.zeros(M), free=SIGNS, **words)
    assert (s.loss, s.status, s.products) == (paper.loss, paper.status, paper.products)
    np.testing.assert_array_equal(s.indices, paper.indices)
    np.testing.assert_array_equal(s.x, paper.x)
    np.testing.assert_array_equal(s.free_coefficients, paper.free_coefficients)
    assert s.classes.tolist() == ["no", "yes"]
    assert paper.classes is None


def test_margins_and_probabilities():
    s = fa.fit(X, WORDS, atoms=ONE, k=2, loss=fa.Logistic(), free="intercept")
    new = np.random.default_rng(6).standard_normal((9, N))
    margins = new @ s.x + s.free_coefficients[0]
    np.testing.assert_allclose(s.predict(new), margins, rtol=1e-12)
    P = s.predict_proba(new)
    np.testing.assert_allclose(P, np.stack([1 / (1 + np.exp(margins)), 1 / (1 + np.exp(-margins))], axis=1), rtol=1e-12)
    seen = s.predict_proba(X)
    assert s.loss == pytest.approx(-np.log(seen[np.arange(M), (WORDS == "yes").astype(int)]).sum())
    # which class is the second is a matter of names alone
    turned = fa.fit(X, np.where(SIGNS > 0, "a", "b"), atoms=ONE, k=2, loss=fa.Logistic(), free="intercept")
    np.testing.assert_allclose(turned.predict_proba(new)[:, ::-1], P, rtol=1e-9)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("classes", [2, 3])
def test_tiny_problems_against_all_supports(classes, seed):
    rng = np.random.default_rng(100 + seed)
    A = rng.standard_normal((40, 4))
    labels = np.digitize(A[:, 0] - A[:, 1] + 1.5 * rng.standard_normal(40), [[0.0], [-0.8, 0.8]][classes - 2])
    loss, free = (fa.Logistic() if classes == 2 else fa.Multinomial()), "intercept" if seed % 2 else None
    s = fa.fit(A, labels, atoms=fa.SignedOneHot(4), k=2, loss=loss, free=free)
    beside = [np.ones(40)] if free else []
    pairs = itertools.combinations(range(4), 2)
    assert s.loss == pytest.approx(min(best_loss(np.column_stack([A[:, p], *beside]), labels) for p in pairs), rel=1e-7)


def test_batches_are_the_fits_one_by_one():
    B = np.empty((M, 3), dtype=object)
    B[:, 0], B[:, 1], B[:, 2] = WORDS, THREE == "a", np.where(X[:, 0] + np.cos(np.arange(M)) > 0, 7, 3)
    many = fa.fit_many(X, B, atoms=ONE, k=2, loss=fa.Logistic(), free="intercept")
    for i, column in enumerate(B.T):
        s = fa.fit(X, column, atoms=ONE, k=2, loss=fa.Logistic(), free="intercept")
        assert many[i].loss == pytest.approx(s.loss, rel=1e-9)
        assert many[i].indices.tolist() == s.indices.tolist()
        assert many[i].classes.tolist() == many.classes[i].tolist() == s.classes.tolist()
        np.testing.assert_allclose(many.predict_proba(X[:4])[:, i], s.predict_proba(X[:4]), atol=1e-6)
    assert f"largest loss {many.loss.max():.6g})" in repr(many)
    kept = pickle.loads(pickle.dumps(many))
    assert [names.tolist() for names in kept.classes] == [names.tolist() for names in many.classes]
    np.testing.assert_array_equal(kept.predict_proba(X[:4]), many.predict_proba(X[:4]))
    assert kept.attach(X, B)[1].certificate.attached
    B[0, 2] = 10 - B[0, 2]
    with pytest.raises(ValueError, match=r"^b must be the one that this answer was fitted to; got other numbers"):
        kept.attach(X, B)


def test_one_support_for_several_columns_of_labels():
    B = np.column_stack([WORDS, np.where(THREE == "a", "yes", "perhaps")])
    s = fa.fit(X, B, atoms=fa.Joint(ONE), k=2, loss=fa.Logistic(), free="intercept")
    assert s.cardinality == 2
    assert [names.tolist() for names in s.classes] == [["no", "yes"], ["perhaps", "yes"]]
    columns = np.column_stack([X[:, s.indices.astype(int)], np.ones(M)])
    assert s.loss == pytest.approx(sum(best_loss(columns, column) for column in B.T), rel=1e-8)
    P = s.predict_proba(X)
    assert P.shape == (M, 2, 2)
    own = [P[np.arange(M), j, np.searchsorted(s.classes[j], B[:, j])] for j in range(2)]
    assert s.loss == pytest.approx(-np.log(own).sum())


def test_one_bit_of_each_entry_of_a_matrix():
    rng = np.random.default_rng(8)
    L = np.outer(rng.standard_normal(14), rng.standard_normal(11))
    rows, cols = np.nonzero(rng.random(L.shape) < 0.8)
    bits = L[rows, cols] + 0.3 * rng.logistic(size=rows.size) > 0
    s = fa.fit(fa.Sampling(rows, cols, L.shape), bits, atoms=fa.RankOne(14, 11), k=1, loss=fa.Logistic(), alpha=45.0)
    assert s.success
    P = s.predict_proba(rows, cols)
    assert s.loss == pytest.approx(-np.log(np.where(bits, P[:, 1], P[:, 0])).sum())


# Several classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [None, "intercept"])
def test_a_feature_has_a_row_of_coefficients(free):
    s = fa.fit(X, THREE, atoms=ONE, k=2, loss=fa.Multinomial(), free=free)
    assert s.classes.tolist() == ["a", "b", "c"]
    assert s.x.shape == (N, 3)
    assert s.coefficients.shape == (2, 3)
    assert np.flatnonzero(s.x.any(axis=1)).tolist() == sorted(s.indices.tolist())
    assert s.free_coefficients.shape == ((1, 3) if free else (0,))
    np.testing.assert_allclose(s.x.sum(axis=1), 0.0, atol=1e-10)  # what all classes share says nothing
    margins = X @ s.x + (s.free_coefficients[0] if free else 0.0)
    np.testing.assert_allclose(s.predict(X), margins, atol=1e-12)
    P = s.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    assert s.loss == pytest.approx(-np.log(P[np.arange(M), np.searchsorted(s.classes, THREE)]).sum())
    columns = np.column_stack([X[:, s.indices.astype(int)], *([np.ones(M)] if free else [])])
    assert s.loss == pytest.approx(best_loss(columns, THREE), rel=1e-8)


def test_two_classes_either_way():
    two = fa.fit(X, WORDS, atoms=ONE, k=2, loss=fa.Logistic(), free="intercept")
    many = fa.fit(X, WORDS, atoms=ONE, k=2, loss=fa.Multinomial(), free="intercept")
    assert many.loss == pytest.approx(two.loss, rel=1e-10)
    np.testing.assert_allclose(many.x[:, 1] - many.x[:, 0], two.x, atol=1e-6)
    np.testing.assert_allclose(many.predict_proba(X), two.predict_proba(X), atol=1e-7)
    paths = [fa.fit_path(X, WORDS, atoms=ONE, k=[1, 2], loss=loss) for loss in (fa.Logistic(), fa.Multinomial())]
    assert len({path.choose_k("bic") for path in paths}) == 1
    np.testing.assert_allclose(paths[0].scores["bic"], paths[1].scores["bic"], rtol=1e-9)


def test_weights_count_data():
    """A row of weight 2 is a row that is there twice."""
    weights = np.where(np.arange(M) % 4, 1.0, 2.0)
    twice = np.repeat(np.arange(M), weights.astype(int))
    ask = {"atoms": ONE, "k": 2, "free": "intercept"}
    s = fa.fit(X, THREE, loss=fa.Multinomial(weights), **ask)
    t = fa.fit(X[twice], THREE[twice], loss=fa.Multinomial(), **ask)
    assert s.loss == pytest.approx(t.loss, rel=1e-9)
    np.testing.assert_allclose(s.x, t.x, atol=1e-5)


def test_groups_of_features_and_forced_ones():
    s = fa.fit(X, THREE, atoms=fa.Groups(np.arange(N) // 3), k=1, loss=fa.Multinomial())
    assert s.indices.tolist() == [0]  # with feature 2
    assert s.loss == pytest.approx(best_loss(X[:, :3], THREE), rel=1e-8)
    t = fa.fit(X, THREE, atoms=ONE.restricted(include=[9]), k=2, loss=fa.Multinomial())
    assert sorted(t.indices.tolist()) == [2, 9]
    assert fa.fit(X, THREE, atoms=fa.Joint(ONE), k=1, loss=fa.Multinomial()).indices.tolist() == [2]


@pytest.mark.parametrize("free", [None, "intercept"])
@pytest.mark.parametrize("share", [0.7, 0.2])
def test_strong_duality_against_a_general_solver(share, free):
    """At the solver's own point the gap of (P1) is small, and nowhere is it negative."""
    problem = fa.Problem.of(X, THREE, atoms=ONE, loss=fa.Multinomial(), free=free)
    lam = share * problem.atoms.support(problem.M.adjoint(problem.loss.gradient(problem.b)))
    B, v = cp.Variable((N, 3)), cp.Variable((1, 3))
    eta = X @ B + (np.ones((M, 1)) @ v if free else 0.0)
    own = np.eye(3)[np.searchsorted(["a", "b", "c"], THREE)]
    loss = cp.sum(cp.log_sum_exp(eta, axis=1)) - cp.sum(cp.multiply(own, eta))
    least = cp.Problem(cp.Minimize(loss + lam * cp.sum(cp.norm(B, axis=1)))).solve(solver="CLARABEL")
    relaxation, x = P1(problem, lam), B.value.ravel()
    assert relaxation.primal(x) == pytest.approx(least, rel=1e-6)
    y = problem.loss.gradient(problem.b - problem.M.apply(x))
    y = y * min(1.0, lam / problem.atoms.support(problem.M.adjoint(y)))
    assert -1e-9 * least <= relaxation.gap(x, y) <= 1e-4 * least
    rng = np.random.default_rng(9)
    for _ in range(5):
        other = problem.loss.gradient(problem.b - problem.M.apply(rng.standard_normal(3 * N)))
        other = other * min(1.0, lam / problem.atoms.support(problem.M.adjoint(other)))
        assert -relaxation.dual(other) <= least * (1 + 1e-7)


def test_certificates_hold():
    s = fa.fit(X, THREE, atoms=ONE, k=3, loss=fa.Multinomial(), free="intercept")
    proven = s.certificate
    assert proven.loss == s.loss
    assert proven.cardinality == 3
    assert 0 <= proven.gap < 0.1 * proven.primal
    relaxation = proven.relaxation
    assert relaxation.dual(proven.y) == pytest.approx(proven.dual, rel=1e-9)
    for x in (s.x, 0.3 * s.x, np.zeros((N, 3))):  # no point is below what is proven
        assert relaxation.primal(x) >= proven.primal - proven.gap * (1 + 1e-9)
    bounded = fa.fit(X, THREE, atoms=ONE, k=3, loss=fa.Multinomial(), alpha=1.02 * s.loss)
    assert bounded.certificate.meets_bound == bounded.success
    assert bounded.certificate.tau_lower > 0
    few = fa.fit(X[:, :2], THREE, atoms=fa.SignedOneHot(2), k=2, loss=fa.Multinomial(), alpha=0.9 * s.loss)
    assert not few.success
    assert few.status in (fa.Status.UNREACHABLE, fa.Status.NOT_REACHED)


# Paths ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("labels", "loss"), [(WORDS, fa.Logistic()), (THREE, fa.Multinomial())], ids=["two", "three"])
def test_paths_leave_rows_out(labels, loss):
    ask = {"atoms": ONE, "k": [1, 2], "loss": loss, "free": "intercept"}
    path = fa.fit_path(X, labels, **ask)
    assert path.losses[1] < path.losses[0]
    assert path[2].classes.tolist() == np.unique(labels).tolist()
    path.choose_k("cv", folds=2)
    total = np.zeros(2)
    order = np.random.default_rng(0).permutation(M)
    order = order[np.argsort(np.unique(labels, return_inverse=True)[1][order], kind="stable")]  # class after class
    for fold in (order[0::2], order[1::2]):
        rest = np.setdiff1d(np.arange(M), fold)
        part = fa.fit_path(X[rest], labels[rest], **ask)
        own = np.searchsorted(np.unique(labels), labels[fold])
        total += [-np.log(part[k].predict_proba(X[fold])[np.arange(fold.size), own]).sum() for k in (1, 2)]
    np.testing.assert_allclose(path.scores["cv"], total, rtol=0.05)  # fits of folds take fewer pains
    assert path.choose_k("bic") in (1, 2)


@pytest.mark.parametrize("free", [None, "intercept"])
def test_folds_without_one_of_the_classes(free):
    """The training rows of some folds are all of one class, or lack one of three."""
    few = X[:20, :5]
    for labels, loss in ((np.arange(20) == 4, fa.Logistic()), (np.minimum(np.arange(20), 2), fa.Multinomial())):
        path = fa.fit_path(few, labels, atoms=fa.SignedOneHot(5), k=[1], loss=loss, free=free)
        assert path.choose_k("cv", folds=3) == 1
        assert np.isfinite(path.scores["cv"]).all()
