"""Vectors from anywhere: replayed in order, clipped into the domain, refused where they are no dual vectors."""

import math
from itertools import count, islice

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import FromIterates
from oracles.small import planted, regression

GIVEN = [3 * y for y in np.random.default_rng(5).standard_normal((4, 12))]
LOSSES = {"least squares": None, "huber": fa.Huber(0.4), "logistic": fa.Logistic()}


@pytest.mark.parametrize("name", LOSSES)
def test_vectors_are_replayed_in_order(name):
    M, b = planted()
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3, loss=LOSSES[name])
    points = list(FromIterates(GIVEN).iterates(problem))
    assert len(points) == 4
    for point, given in zip(points, GIVEN, strict=True):
        np.testing.assert_array_equal(point.y, problem.loss.clip(given))
        np.testing.assert_allclose(point.z, M.T @ point.y, atol=1e-12)
        assert point.support == pytest.approx(np.abs(point.z).max(), rel=1e-14)
        assert point.relaxation == fa.P1(problem, point.support)
        assert math.isfinite(point.relaxation.dual(point.y))
        assert (point.loss, point.gauge, point.primal) == (math.inf, math.inf, None)


def test_with_a_bound_the_relaxation_is_the_third():
    problem = regression(alpha=0.3)
    for point in FromIterates(GIVEN).iterates(problem):
        assert point.relaxation == fa.P3(problem)


def test_over_the_cone_the_penalty_is_zero():
    problem = fa.Problem.of(np.eye(3), np.ones(3), atoms=fa.NonnegativeCone(3), k=1)
    (point,) = FromIterates([[1.0, -1.0, 2.0]]).iterates(problem)
    assert point.relaxation == fa.P1(problem, 0.0)


def test_a_list_is_replayed_each_time_and_a_generator_once():
    problem = regression()
    again, once = FromIterates(GIVEN), FromIterates(y for y in GIVEN)
    assert [len(list(again.iterates(problem))) for _ in range(2)] == [4, 4]
    assert [len(list(once.iterates(problem))) for _ in range(2)] == [4, 0]


def test_an_endless_stream_is_read_one_vector_at_a_time():
    asked = []

    def endless():
        for i in count():
            asked.append(i)
            yield np.full(12, float(i))

    list(islice(FromIterates(endless()).iterates(regression()), 3))
    assert asked == [0, 1, 2]


def test_one_product_each():
    M, b = planted()
    counting = fa.Counting(M)
    problem = fa.Problem.of(counting, b, atoms=fa.SignedOneHot(20), k=3)
    list(FromIterates(GIVEN).iterates(problem))
    assert counting.products == 4


def test_residuals_of_another_solver_will_do():
    """For least squares the residual is the dual vector: at the other solver's answer the gap closes."""
    M, b = planted()
    problem, lam = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3), 1.0
    x, step = np.zeros(20), 1 / np.linalg.norm(M, 2) ** 2
    residuals = []
    for _ in range(1500):
        w = x + step * M.T @ (b - M @ x)
        x = np.sign(w) * np.maximum(np.abs(w) - step * lam, 0.0)
        residuals.append(b - M @ x)
    *_, last = FromIterates(residuals[::300] + residuals[-1:]).iterates(problem)
    assert last.support == pytest.approx(lam, rel=1e-6)
    assert last.relaxation.gap(x, last.y) == pytest.approx(0.0, abs=1e-6)


def test_vectors_of_the_user_are_not_modified():
    given = [y.copy() for y in GIVEN]
    for y in given:
        y.flags.writeable = False
    D, b = planted()
    for loss in LOSSES.values():
        fa.fit(D, b, atoms=fa.SignedOneHot(20), k=2, loss=loss, method=fa.General(FromIterates(given), fa.paper_rule()))
    np.testing.assert_array_equal(given, GIVEN)


@pytest.mark.parametrize(
    ("vectors", "kind", "message"),
    [
        ([[1, 2]], ValueError, r"have 12 entries \(the length of b\); got shape \(2,\)$"),
        (np.ones(12), ValueError, r"have 12 entries .*; got shape \(\)$"),
        ([np.full(12, np.nan)], ValueError, r"hold finite numbers only; it contains nan$"),
        ([1j * np.ones(12)], TypeError, r"be real; got an array of complex128$"),
        ([["a"] * 12], TypeError, r"hold real numbers; got an array of <U1$"),
        ([sp.csr_array(np.ones((1, 12)))], TypeError, r"be a dense array; got a sparse one"),
    ],
)
def test_what_is_no_dual_vector_is_refused(vectors, kind, message):
    with pytest.raises(kind, match="^a vector of the oracle must " + message):
        next(FromIterates(vectors).iterates(regression()))


def test_good_vectors_before_a_bad_one_are_served():
    stream = FromIterates([GIVEN[0], [1.0]]).iterates(regression())
    assert next(stream).y.shape == (12,)
    with pytest.raises(ValueError, match="must have 12 entries"):
        next(stream)


def test_what_cannot_be_iterated_is_refused():
    with pytest.raises(TypeError, match=r"^iterable must yield dual vectors; got int, which cannot be iterated$"):
        FromIterates(3)
