"""What certificates say of answers, and when they compute it. That it is true: theory/."""

import math
import pickle

import numpy as np
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms.final import certify, no_atoms


@pytest.mark.parametrize("name", NAMES)
def test_what_is_recomputed_agrees_with_the_answer(name):
    s, c = answer(name), answer(name).certificate
    assert (c.loss, c.gauge, c.cardinality) == (s.loss, s.gauge, s.cardinality)
    assert c.within_budget
    problem = c.problem
    assert c.meets_bound == (None if problem.alpha is None else s.loss <= problem.tolerance)
    assert f"Recomputed: loss {s.loss:.6g} with {s.cardinality} atom" in str(c)
    assert c.unreachable == (s.status is fa.Status.UNREACHABLE)


@pytest.mark.parametrize("name", NAMES)
def test_figures_that_go_together(name):
    c = answer(name).certificate
    if c.relaxation is None:
        assert math.isinf(c.gap)
        assert (c.y, c.epsilon, c.radius, c.safe_set, c.hausdorff) == (None,) * 5
        assert "nothing else is proven" in str(c)
        return
    assert c.gap >= max(c.primal + c.dual, 0.0)
    assert c.gap == math.inf or c.gap <= max(c.primal + c.dual, 0.0) + 1e-9 * (abs(c.primal) + abs(c.dual) + 1)
    assert c.tau_lower >= 0
    if c.epsilon is not None:
        assert c.epsilon >= 0
        assert c.norm > 0
        assert c.threshold <= c.norm * np.linalg.norm(c.y) * (1 + 1e-9)
    if c.beta_bounds is not None:
        assert 0 <= c.beta_bounds[0] <= c.beta_bounds[1]
    assert "Proven" in str(c) or "not known" in str(c)


def test_epsilon_is_told_when_somebody_asked_for_it():
    case = cases()["signed"]
    s = case.fit()
    assert "aligned with M*y" not in str(s.certificate)
    assert not s.certificate.knows_epsilon
    s.certificate.epsilon  # noqa: B018
    assert f"aligned with M*y to at least {s.certificate.threshold:.6g}" in str(s.certificate)
    s = cases()["cone"].fit()
    assert s.certificate.epsilon is None
    assert "No epsilon" in str(s.certificate)


def test_products_are_made_on_first_access_and_counted_apart():
    case = cases()["box"]
    M = fa.Counting(case.M)
    s = case.fit(M)
    c = s.certificate
    assert (M.products, c.products) == (s.products, 0)
    known = ("gap", "y", "tau_lower", "beta_bounds", "relaxation", "in_units", "primal", "dual", "norm")
    for name in known:
        getattr(c, name)
    before = c.products
    assert before == M.products - s.products > 0
    for name in known:
        getattr(c, name)
    assert c.products == before == M.products - s.products


def test_ridges_bound_what_anybody_can_reach():
    s = answer("completion, ridge")
    text = str(s.certificate)
    assert f"has loss + {s.ridge[0]:.6g} gauge below" in text
    assert s.certificate.primal - s.certificate.gap <= s.loss + s.ridge[0] * s.gauge


@pytest.mark.parametrize("name", ["ridge", "ridge, bound", "ridge, groups", "ridge, huber"])
def test_objectives_are_made_of_what_users_read(name):
    """x, the ridge, M and free columns: each column of M past the free ones, and the coefficient of that."""
    case, s = cases()[name], answer(name)
    past = case.M - case.M.mean(axis=0) if "free" in case.words else case.M
    paid = 0.5 * s.ridge * float(np.sum((np.linalg.norm(past, axis=0) * s.x) ** 2))
    left = case.b - s.predict(case.M)
    loss = case.words.get("loss", fa.LeastSquares()).value(left)
    assert s.ridge == case.words["ridge"]
    assert s.loss == pytest.approx(loss, rel=1e-9)
    assert s.objective == pytest.approx(loss + paid, rel=1e-9)
    assert s.objective == s.certificate.objective
    assert case.attach(pickle.loads(pickle.dumps(s))).objective == s.objective


@pytest.mark.parametrize("name", ["signed", "huber", "completion", "completion, ridge", "robust"])
def test_objectives_of_others(name):
    s = answer(name)
    paid = s.ridge if isinstance(s.ridge, float) else s.ridge[0]
    assert s.objective == pytest.approx(s.loss + paid * s.gauge, rel=1e-12)


def test_certify_recomputes_and_prunes():
    case = cases()["signed"]
    problem = fa.Problem.of(case.M, case.b, atoms=fa.SignedOneHot(20), k=2, free="intercept")
    s = fa.fit(case.M, case.b, atoms=fa.SignedOneHot(20), k=3, free="intercept")
    from fewatoms.candidates import Candidate

    face, c = s.compact
    lying = Candidate.of(face, c, np.zeros(30), 1e-30, note="a note")
    final, beside = certify(problem, lying)
    assert (final.cardinality, final.note) == (2, "a note")
    sizes = np.abs(final.c)
    assert sizes[0] >= sizes[1]
    x = final.face.point(final.c)
    left = case.b - case.M @ x
    np.testing.assert_allclose(beside, [left.mean()], atol=1e-12)
    assert final.loss == pytest.approx(0.5 * np.sum((left - left.mean()) ** 2), rel=1e-12)
    none, beside = certify(problem, None)
    assert none.cardinality == 0
    assert none.loss == pytest.approx(problem.at_zero, rel=1e-12)
    np.testing.assert_allclose(beside, [case.b.mean()], atol=1e-12)


def test_certifying_changes_nothing_of_the_users():
    """An operator may return what it keeps."""

    class Remembering:
        shape = (30, 20)

        def __init__(self, A):
            self.A, self.kept = A, {}

        def apply(self, x):
            return self.kept.setdefault(x.tobytes(), self.A @ x)

        def adjoint(self, y):
            return self.A.T @ y

    case = cases()["signed"]
    M = Remembering(case.M)
    s = case.fit(M)
    for x, image in M.kept.items():
        np.testing.assert_allclose(image, case.M @ np.frombuffer(x), atol=1e-10)
    assert s.loss == pytest.approx(answer("signed").loss, rel=1e-9)


def test_no_atoms_of_every_set():
    for name in NAMES:
        problem = answer(name).certificate.problem
        face, c = no_atoms(problem)
        assert (face.size, face.dim, c.size) == (0, 0, 0)
        assert not face.point(c).any()


def test_a_bound_that_is_proven_out_of_reach_is_told_first(tmp_path):
    case = cases()["unreachable"]
    s = case.fit()
    s.save(tmp_path / "s.npz")
    many = fa.fit_many(case.M, case.b[:, None], **case.words)[0]
    for answer_ in (s, fa.load(tmp_path / "s.npz"), pickle.loads(pickle.dumps(s)), many):
        assert answer_.status is fa.Status.UNREACHABLE
        first, *rest = str(answer_.certificate).splitlines()
        assert first == "Proven: no x, with any number of atoms, meets alpha (to working precision)."
        assert not any("gauge of at least" in line for line in rest)


@pytest.mark.parametrize("bound", [{}, {"misfit": 1e-3}], ids=["k", "bound"])
def test_what_is_rounding_is_no_atom(bound):
    """Whoever proposes it: coefficients that the loss does not see are left out, those that it sees are not."""
    from fewatoms.candidates import Candidate
    from fewatoms.faces import Explicit

    rng = np.random.default_rng(0)
    atoms, M = rng.standard_normal((5, 8)), rng.standard_normal((20, 8))
    b = M @ (2.0 * atoms[0] + atoms[1] + 1e-9 * atoms[2])
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(8), k=5, **bound)
    c = np.array([2.0, 1.0, 1e-9, 1.6e-16, 7e-17])
    final, _ = certify(problem, Candidate.of(Explicit.of(list(atoms), (8,)), c, b, 0.0))
    assert final.cardinality == 3
    np.testing.assert_array_equal(final.c, c[:3])
    worth = np.array([2.0, 1.0, 1e-9, 1e-14, 1e-14])  # rounding, but for M
    seen = [*atoms[:3], *(1e12 * atoms[3:])]
    problem = fa.Problem.of(M, M @ np.tensordot(worth, seen, 1), atoms=fa.SignedOneHot(8), k=5, **bound)
    assert certify(problem, Candidate.of(Explicit.of(seen, (8,)), worth, b, 0.0))[0].cardinality == 5
