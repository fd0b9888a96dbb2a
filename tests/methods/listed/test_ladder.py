"""The ladder of penalties: each rung is (P1)'s optimum within its tolerance, and no violated atom is left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
import naive
from contracts.families import black_box
from contracts.problems import vectors
from fewatoms import ledger
from fewatoms.methods import WorkingSet
from fewatoms.methods.listed.ladder import COARSE_RUNGS, FINE_RUNGS, _Rung
from fewatoms.relaxations import P1, P3
from methods.listed.small import fits_of
from theory.pairs import LOSSES as EVERY_LOSS
from theory.ridges import random_case

M_ROWS, N = 20, 30
LABELS = np.arange(N) // 3
LOADS = 1.0 + np.arange(10) / 5


def problem(name, form=np.asarray, **options):
    """A matrix whose columns differ in length, and data of a few of them."""
    rng = np.random.default_rng(41)
    A = rng.standard_normal((M_ROWS, N)) * rng.uniform(0.5, 4.0, N)
    b = A[:, [2, 9, 17]] @ [1.0, 0.7, -0.5] + 0.5 * rng.standard_normal(M_ROWS)
    atoms, loss = fa.SignedOneHot(N), fa.LeastSquares()
    if name == "nonnegative":
        atoms = fa.NonnegativeOneHot(N)
    elif name == "groups":
        atoms = fa.Groups(LABELS, weights=LOADS)
    elif name == "weighted":
        loss = fa.LeastSquares(rng.uniform(0.3, 3.0, M_ROWS))
    elif name == "huber":
        loss = fa.Huber(0.5)
    elif name == "logistic":
        A, b, loss = np.sign(b)[:, None] * A, np.zeros(M_ROWS), fa.Logistic()
    elif name == "intercept":
        options["free"] = "intercept"
    elif name == "restricted":
        atoms = atoms.restricted(exclude=[2, 5])
    return fa.Problem.of(form(A), b, atoms=atoms, k=3, loss=loss, **options)


NAMES = ("signed", "nonnegative", "groups", "weighted", "huber", "logistic", "intercept", "restricted")


class Twin:
    """(P1) over columns in units of their length, by proximal gradients that see all atoms."""

    def __init__(self, problem, name, units=True):
        self.problem, self.name = problem, name
        self.columns = naive.dense_operator(problem.M)
        if name == "restricted":
            self.columns[:, [2, 5]] = 0.0
        weights = np.ones(M_ROWS) if problem.base_loss.weights is None else problem.base_loss.weights
        lengths = np.linalg.norm(np.sqrt(weights)[:, None] * self.columns, axis=0)
        self.scale = 1.0 / np.where(lengths > 0, lengths, 1.0) if units else np.ones(N)
        self.unit = self.columns * self.scale
        self.bound = np.linalg.norm(np.sqrt(weights)[:, None] * self.unit, 2) ** 2 * problem.base_loss.smoothness
        self.bound /= weights.max() if problem.base_loss.weights is not None else 1.0

    def shrink(self, v, t):
        if self.name == "nonnegative":
            return np.maximum(v - t, 0.0)
        if self.name == "groups":
            return naive.group_threshold(v, t, [np.flatnonzero(g == LABELS) for g in range(10)], LOADS)
        return naive.soft_threshold(v, t)

    def gauge(self, c):
        if self.name == "groups":
            return float(LOADS @ np.sqrt(np.bincount(LABELS, c * c)))
        return float(np.abs(c).sum())

    def value(self, c, lam):
        return self.problem.loss.value(self.problem.b - self.unit @ c) + lam * self.gauge(c)

    def alignments(self, y):
        a = self.unit.T @ y
        if self.name == "groups":
            return np.sqrt(np.bincount(LABELS, a * a)) / LOADS
        return a if self.name == "nonnegative" else np.abs(a)

    def solved(self, lam, steps=1500):
        c = v = np.zeros(N)
        t = 1.0
        for _ in range(steps):
            y = self.problem.loss.gradient(self.problem.b - self.unit @ v)
            fresh = self.shrink(v + self.unit.T @ y / self.bound, lam / self.bound)
            t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
            v = fresh + (t - 1) / t_next * (fresh - c)
            moved, c, t = np.abs(fresh - c).max(), fresh, t_next
            if moved <= 1e-11:
                break
        return c


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_each_rung_is_the_optimum_within_its_tolerance(name):
    asked = problem(name)
    twin = Twin(asked, name)
    shrink, _, tol = COARSE_RUNGS if name in ("huber", "logistic") else FINE_RUNGS
    points = [point for point in islice(WorkingSet().iterates(asked), 16) if point.series == 0]
    start = twin.alignments(asked.loss.gradient(asked.b)).max()
    assert len(points) >= 8
    for j, point in enumerate(points):
        lam = point.relaxation.lam
        assert isinstance(point.relaxation, P1)
        assert lam == pytest.approx(start * shrink**j, rel=1e-9)
        x = point.primal.face.point(point.primal.c)
        residual = asked.b - twin.columns @ x
        np.testing.assert_allclose(point.primal.residual, residual, atol=1e-9)
        np.testing.assert_allclose(point.y, asked.loss.gradient(residual), atol=1e-9)
        np.testing.assert_allclose(point.z, asked.M.adjoint(point.y), atol=1e-8)
        c = x / twin.scale
        assert point.loss == pytest.approx(asked.loss.value(residual), rel=1e-9)
        assert point.gauge == pytest.approx(twin.gauge(c), rel=1e-9)
        assert twin.alignments(point.y).max() <= (1 + 6 * tol) * lam
        if j % 3 == 1:
            best = twin.value(twin.solved(lam), lam)
            assert twin.value(c, lam) <= best + tol * lam * max(point.gauge, 1.0)
            assert point.support == pytest.approx(twin.alignments(point.y).max(), rel=1e-9)
    assert points[0].primal.face.size == 0


@pytest.mark.parametrize("name", ["signed", "logistic"])  # Huber's tails take more models than a rung has
def test_a_finer_tolerance_is_kept(name):
    asked = problem(name)
    twin = Twin(asked, name)
    oracle = WorkingSet(0.5, steps=3000, tol=1e-7)
    for point in islice(oracle.iterates(asked), 1, 7):
        if point.series == 0:
            lam, c = point.relaxation.lam, point.primal.face.point(point.primal.c) / twin.scale
            best = twin.value(twin.solved(lam, 6000), lam)
            assert twin.value(c, lam) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, black_box], ids=["array", "sparse", "box"])
@pytest.mark.parametrize("fresh", [1, 100])
def test_the_working_set_holds_every_violated_atom(fresh, form):
    """Whether atoms come one by one or all together."""
    fits = fits_of(problem("signed", form))
    settings = WorkingSet(fresh=fresh)
    rung = _Rung(fits.problem, fits.view, settings)
    lam = rung.largest()
    for _ in range(6):
        lam *= 0.7
        assert rung.descend(lam)
        violated = np.flatnonzero(rung.alignments > (1 + 5 * rung.tol) * lam)
        if fresh > 1:
            assert set(violated.tolist()) <= set(rung.classes.tolist())
        used = rung.classes[np.abs(rung.c) > 0]
        assert rung.alignments[used].min() >= (1 - 5 * rung.tol) * lam
        # what has neither a coefficient nor nearly an alignment has been let go
        idle = np.setdiff1d(rung.classes, used)
        assert (rung.alignments[idle] > settings.dormant * lam).all()
        assert fits.view.walked[rung.classes].all()


def test_units_of_columns_do_not_matter_to_a_matrix_and_do_to_a_box():
    at_hand, box = ([*islice(WorkingSet().iterates(problem("signed", f)), 6)] for f in (np.asarray, black_box))
    assert {point.series for point in at_hand} == {0, 1}
    assert {point.series for point in box} == {0}  # lengths are not known: no second ladder
    twin = Twin(problem("signed"), "signed", units=False)
    for point in box[1:]:
        lam, x = point.relaxation.lam, point.primal.face.point(point.primal.c)
        best = twin.value(twin.solved(lam, 6000), lam)
        assert twin.value(x, lam) <= best + FINE_RUNGS[2] * lam * max(point.gauge, 1.0)


def test_products_are_one_for_each_look_and_one_for_each_image():
    fits = fits_of(problem("signed", black_box))
    with ledger.opened() as spent:
        points = list(islice(WorkingSet().along(fits.problem, fits.view), 10))
    looks = spent.products - fits.images.size
    assert len(points) <= looks <= 1 + WorkingSet.looks * (len(points) - 1)
    assert fits.images.size < N


def test_large_coefficients_pay_less_on_the_second_ladder():
    """With the same penalty its coefficients are nearer to those of least squares on its atoms."""
    asked = problem("signed")
    pairs = list(islice(WorkingSet().iterates(asked), 1, 13))
    nearer = 0
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert (first.series, second.series) == (0, 1)
        assert first.relaxation.lam == second.relaxation.lam
        nearer += second.loss < first.loss
    assert nearer >= 5


# Where it ends --------------------------------------------------------------------------------------------------------


def test_it_ends_at_the_floor():
    asked = problem("huber")
    lams = [point.relaxation.lam for point in WorkingSet(0.5, floor=0.1).iterates(asked)]
    assert len(lams) == 5
    assert lams[-1] <= 0.1 * lams[0] < lams[-2]
    assert all(b == pytest.approx(0.5 * a) for a, b in pairwise(lams))


def test_it_ends_when_the_data_are_explained():
    A = np.random.default_rng(5).standard_normal((M_ROWS, N))
    asked = fa.Problem.of(A, A[:, 3] - A[:, 4], atoms=fa.SignedOneHot(N), k=2)
    last = list(WorkingSet(floor=1e-30).iterates(asked))[-1]
    assert last.loss <= 1e-12 * asked.at_zero
    assert last.relaxation.lam > 1e-20 * np.abs(A.T @ asked.b).max()


def test_it_ends_when_there_is_no_more_room():
    """And keeps no more images than there is room for."""
    fits = fits_of(problem("signed"), room=6 * M_ROWS)
    assert fits.images.room == 6
    points = list(WorkingSet().along(fits.problem, fits.view))
    assert points[-1].relaxation.lam > 1e-4 * points[0].relaxation.lam
    assert max(point.primal.face.size for point in points) <= 6
    assert fits.images.size <= 6


def test_data_that_no_column_sees_have_one_rung():
    A = np.zeros((4, 3))
    A[0] = 1.0
    points = list(WorkingSet().iterates(fa.Problem.of(A, [0.0, 1.0, 1.0, 0.0], atoms=fa.SignedOneHot(3), k=1)))
    assert len(points) == 1
    assert points[0].relaxation.lam == 0.0


# What it solves, and for whom -----------------------------------------------------------------------------------------


def test_with_a_bound_it_serves_the_relaxation_with_a_bound():
    asked = problem("signed")
    bounded = asked.bounded(0.3 * asked.at_zero)
    assert all(isinstance(p.relaxation, P3) for p in islice(WorkingSet().iterates(bounded), 4))
    plain, other = (list(islice(WorkingSet().iterates(p), 8)) for p in (asked, bounded))
    for a, b in zip(plain, other, strict=True):  # the ladder depends on neither k nor the bound
        np.testing.assert_array_equal(a.y, b.y)


def test_sets_without_a_largest_atom_pay_nothing():
    cone = vectors()["cone"]
    assert {point.relaxation.lam for point in islice(WorkingSet().iterates(cone), 4)} == {0.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrink": 1.0}, "^shrink must lie between 0 and 1; got 1.0"),
        ({"shrink": 0.0}, "^shrink must lie between 0 and 1; got 0.0"),
        ({"steps": 0}, "^steps must be"),
        ({"tol": 0.0}, "^tol must be"),
        ({"floor": -1.0}, "^floor must be"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        WorkingSet(**options)


def test_sets_that_cannot_be_listed_are_refused():
    asked = fa.Problem.of(fa.Identity((3, 4)), np.ones((3, 4)), atoms=fa.RankOne(3, 4), k=1)
    with pytest.raises(ValueError, match=r"^oracle: WorkingSet is for sets whose atoms can be listed; got RankOne"):
        WorkingSet().iterates(asked)


# A ridge --------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("free", [False, True], ids=["", "beside free columns"])
@pytest.mark.parametrize("loss", [*EVERY_LOSS, "multinomial"])
@pytest.mark.parametrize("name", ["signed", "nonnegative", "dictionary", "turned groups", "restricted"])
def test_the_gap_with_a_ridge_becomes_small_on_every_rung(name, loss, free):
    """With the ridge in (P1) and in its dual: a few parts in a hundred as it is, and as little as is asked for, but
    with Huber's tails, which take more models than a rung has."""
    asked = with_ridge(name, loss, free)
    fine = (WorkingSet(steps=3000, tol=1e-6), 1e-4)
    for settings, share in ((WorkingSet(), 0.05), *([] if "huber" in loss else [fine])):
        for point in islice(settings.iterates(asked), 14):
            relaxation = point.relaxation
            primal = relaxation.primal_value(point.loss, point.gauge, point.squares)
            gap = primal + relaxation.feasible(point.y, point.z, point.support)[1]
            if point.series == 0:
                assert -1e-9 * abs(primal) <= gap <= share * asked.at_zero
            assert point.squares == pytest.approx(asked.squares(replace(point.primal, squares=None)), rel=1e-9)


def with_ridge(name, loss, free):
    rng = np.random.default_rng([5, *map(ord, name + loss), free])
    if loss != "multinomial":
        return random_case(rng, name, loss, free=free).problem(k=2)
    X, labels = rng.standard_normal((20, 8)) + 1.0, rng.integers(0, 3, 20)
    words = {"free": "intercept"} if free else {}
    return fa.Problem.of(X, labels, atoms=fa.SignedOneHot(8), k=2, loss=fa.Multinomial(), ridge=0.1, **words)


@pytest.mark.parametrize("name", ["signed", "huber", "logistic"])
def test_a_large_ridge_leaves_small_coefficients(name):
    """The same rungs, and points that shrink with the ridge."""
    sizes = []
    for ridge in (0.0, 1.0, 30.0):
        points = [*islice(WorkingSet().iterates(problem(name, ridge=ridge)), 12)]
        sizes.append([np.linalg.norm(point.primal.c) for point in points if point.series == 0])
    for smaller, larger in pairwise(reversed(sizes)):
        assert all(a <= b * (1 + 1e-9) for a, b in zip(smaller, larger, strict=False))
