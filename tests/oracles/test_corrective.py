"""The corrective method: which atoms it sees, how it fits them, and that its points are what they say."""

import math
from itertools import islice

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import Corrective
from fewatoms.oracles.corrective import Pool
from oracles.small import lasso, planted, regression
from oracles.test_base import Unknown

LOSSES = {"least squares": None, "huber": fa.Huber(0.4), "logistic": fa.Logistic()}


class Watched(Pool):
    """A pool that tells what it takes in: the penalty in force, the alignment, and whether it was new."""

    def __init__(self, problem, most=1000):
        super().__init__(problem, most)
        self.lam, self.taken = math.inf, []

    def fit(self, lam):
        super().fit(lam)
        self.lam = lam

    def take(self, face):
        aligned = float(face.measure(self.problem.M, face.mean_atom()) @ self.y)
        new = super().take(face)
        self.taken.append((self.lam, aligned, new))
        return new


def problems():
    M, b = planted(2, 20, 24)
    X = np.random.default_rng(3).standard_normal((6, 4))
    return {
        **{name: regression(loss=loss) for name, loss in LOSSES.items()},
        "groups": fa.Problem.of(M, b, atoms=fa.Groups(np.arange(24) // 3), k=2),
        "rank one": fa.Problem.of(fa.Identity((6, 4)), X, atoms=fa.RankOne(6, 4), k=2),
        "sum": fa.Problem.of(fa.Identity((6, 4)), X, atoms=fa.RankOne(6, 4) + fa.SignedOneHot((6, 4)), k=(1, 2)),
        "union": fa.Problem.of(M, b, atoms=fa.SignedOneHot(24) | fa.Groups(np.arange(24) // 3), k=(2, 2)),
    }


PROBLEMS = problems()


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_atom_taken_in_violates_the_penalty(name):
    oracle = Corrective(floor=0.05)
    pool = Watched(PROBLEMS[name])
    list(oracle.over(pool))
    assert pool.taken
    for lam, aligned, _ in pool.taken:
        assert aligned > lam * (1 + oracle.tol) * (1 - 1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_at_the_end_of_a_rung_no_atom_does_and_the_gap_is_small(name):
    oracle = Corrective(floor=0.05, exposures=200)
    for point in islice(oracle.iterates(PROBLEMS[name]), 1, None):
        lam = point.relaxation.lam
        assert point.support <= lam * (1 + oracle.tol) * (1 + 1e-9)
        _, dual = point.relaxation.feasible(point.y, point.z, point.support)
        primal = point.relaxation.primal_value(point.loss, point.gauge)
        assert -1e-9 * primal <= primal + dual <= 0.05 * primal


@pytest.mark.parametrize("name", LOSSES)
def test_the_fit_is_optimal_over_the_atoms_seen(name):
    """Slopes of the images: lam where a coefficient is positive, at most that where it is 0."""
    pool = Watched(PROBLEMS[name])
    stream = Corrective().over(pool)
    for _ in range(5):
        next(stream)
    slopes = pool.images.T @ pool.problem.loss.gradient(pool.problem.b - pool.images @ pool.c)
    assert pool.c.min() >= 0
    assert slopes.max() <= pool.lam * (1 + 1e-4)
    np.testing.assert_allclose(slopes[pool.c > 1e-6], pool.lam, rtol=1e-3)


def test_the_ladder_against_coordinate_descent():
    M, b = planted(4)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3)
    first, *rungs = islice(Corrective(tol=1e-6).iterates(problem), 6)
    assert (first.loss, first.gauge) == (problem.at_zero, 0.0)
    start = np.abs(M.T @ b).max()
    for j, point in enumerate(rungs, start=1):
        assert point.relaxation.lam == pytest.approx(0.6**j * start, rel=1e-14)
        x = lasso(M, b, point.relaxation.lam)
        best = 0.5 * np.sum((b - M @ x) ** 2) + point.relaxation.lam * np.abs(x).sum()
        assert point.loss + point.relaxation.lam * point.gauge == pytest.approx(best, rel=1e-6)
        np.testing.assert_allclose(point.primal.face.point(point.primal.c), x, atol=1e-3)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_point_in_compact_form_is_the_sum_of_its_atoms(name):
    problem = PROBLEMS[name]
    pool = Pool(problem, 1000)
    for point in islice(Corrective(floor=0.05).over(pool), 1, 5):
        primal = point.primal
        x = primal.face.point(primal.c)
        np.testing.assert_allclose(np.ravel(x), pool.whole(), atol=1e-9)
        np.testing.assert_allclose(primal.residual, problem.b - problem.M.apply(x), atol=1e-8)
        assert primal.loss == point.loss == pytest.approx(problem.loss.value(primal.residual), rel=1e-9)
        assert primal.gauge == point.gauge == pytest.approx(pool.c.sum())
        assert primal.face.gauge(primal.c) <= point.gauge * (1 + 1e-9)


def test_in_a_union_the_better_part_is_exposed_alone():
    """An average over the parts would promise less, and end a rung too soon."""
    atoms = fa.NonnegativeOneHot(3) | 2.0 * fa.SignedOneHot(3)
    problem = fa.Problem.of(np.eye(3), [1.0, -0.2, 0.1], atoms=atoms, k=(1, 1))
    pool = Pool(problem, 10)
    pool.look()
    assert pool.add(0.0)
    np.testing.assert_array_equal(pool.images[:, 0], [2.0, 0.0, 0.0])
    assert float(pool.images[:, 0] @ pool.y) == pytest.approx(pool.support)


def test_in_a_sum_parts_that_point_away_add_nothing():
    atoms = fa.NonnegativeOneHot(3) + fa.SignedOneHot(3)
    problem = fa.Problem.of(np.eye(3), [-1.0, -0.2, -0.1], atoms=atoms, k=(1, 1))
    pool = Pool(problem, 10)
    pool.look()
    assert pool.add(0.0)
    np.testing.assert_array_equal(pool.images[:, 0], [-1.0, 0.0, 0.0])
    assert float(pool.images[:, 0] @ pool.y) == pytest.approx(pool.support)


def test_with_a_bound_the_relaxation_is_the_third():
    problem = regression(alpha=0.3)
    assert all(p.relaxation == fa.P3(problem) for p in islice(Corrective().iterates(problem), 4))


def test_an_atom_is_seen_once():
    pool = Pool(regression(), 1000)
    face = pool.problem.atoms.expose(pool.problem.M.adjoint(pool.problem.b), 1)
    assert pool.take(face)
    assert not pool.take(face)
    assert pool.c.size == len(pool.faces) == pool.images.shape[1] == 1


def test_no_more_images_than_allowed_and_the_least_used_go():
    pool = Pool(regression(), 4)
    for i in range(4):
        assert pool.take(pool.problem.atoms.expose(np.eye(20)[i], 1))
    pool.c = np.array([0.1, 3.0, 0.2, 2.0])
    assert pool.take(pool.problem.atoms.expose(np.eye(20)[7], 1))
    np.testing.assert_array_equal(pool.c, [3.0, 2.0, 0.0])
    M = pool.problem.M
    for face, image in zip(pool.faces, pool.images.T, strict=True):
        np.testing.assert_array_equal(face.measure(M, face.mean_atom()), image)
    assert [int(np.flatnonzero(face.point(face.mean_atom()))[0]) for face in pool.faces] == [1, 3, 7]


def test_a_small_pool_still_goes_down_the_ladder():
    problem = regression()
    pool = Pool(problem, 6)
    losses = []
    for point in islice(Corrective(floor=1e-2).over(pool), 8):
        assert pool.c.size <= 6
        losses.append(point.loss)
    assert losses[-1] < 0.1 * losses[0]


def test_exposures_bound_the_atoms_of_a_rung():
    pool = Watched(regression())
    list(Corrective(exposures=2, floor=1e-2).over(pool))
    lams = [lam for lam, _, _ in pool.taken]
    assert max(lams.count(lam) for lam in set(lams)) == 2


def test_exact_data_end_the_stream_before_the_floor():
    M, b = planted(5, noise=0.0)
    problem = fa.Problem.of(1e-3 * M, np.zeros(12), atoms=fa.SignedOneHot(20), k=1)
    points = list(Corrective().iterates(problem))  # nothing to explain: the first rung is the last
    assert len(points) == 2
    assert points[-1].loss == 0.0
    floor = list(Corrective(floor=0.5).iterates(fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3)))
    assert [p.relaxation.lam / floor[0].relaxation.lam for p in floor[1:]] == pytest.approx([0.6, 0.36])


def test_a_set_without_a_support_function_is_served():
    A = np.random.default_rng(6).standard_normal((5, 9))
    x = A[:, 2] + 2 * A[:, 7]
    problem = fa.Problem.of(np.eye(5), x, atoms=Unknown(A), k=2)
    *_, last = Corrective().iterates(problem)
    assert last.support == math.inf
    assert last.loss <= 1e-4 * problem.at_zero
    np.testing.assert_allclose(last.primal.face.point(last.primal.c), x, atol=1e-2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shrink": 1.0}, r"^shrink must lie between 0 and 1; got 1.0$"),
        ({"shrink": 0}, r"^shrink must lie between 0 and 1; got 0$"),
        ({"exposures": 0}, r"^exposures must be an integer of at least 1; got 0$"),
        ({"tol": -1}, r"^tol must be a nonnegative finite number; got -1$"),
        ({"floor": 0}, r"^floor must be a positive finite number; got 0$"),
        ({"most": 0}, r"^most must be an integer of at least 1; got 0$"),
    ],
)
def test_settings_that_would_never_end_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Corrective(**settings)
