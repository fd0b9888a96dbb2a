"""Quadratic models of smooth losses, against their formula in dense matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.gram.drivers import Rules
from fewatoms.methods.listed.modelled import BELOW, model
from fewatoms.problem import Problem
from methods.listed.small import fits_of

RULES = Rules(True, 1e-12, 1, 0, 0, 0.0, 0)
STILL = RULES._replace(swaps=0)
LABELS = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 5])
M, N = 60, LABELS.size


def posed(loss, atoms, free, ridge, seed=0):
    """A problem over ten columns, and the support of its first two classes."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((M, N)) + 0.5 * rng.standard_normal((M, 1))
    b = 2.0 * A[:, 0] - A[:, 4] + rng.standard_normal(M) + 0.5
    if loss.labelled:
        b = np.where(b > 0, "yes", "no")
    fits = fits_of(Problem.of(A, b, atoms=atoms, k=2, loss=loss, free=free, ridge=ridge))
    return fits, fits.fit(np.array([0, 1]), trial=False)


def parabola(fits, support, H):
    """Twice the objective near a support as a function of coefficients x of all images, free columns fitted."""
    images, view, problem = fits.images, fits.view, fits.problem
    everything = np.arange(view.count)
    A = np.asarray(images.columns(images.slots(everything)))
    F = np.zeros((M, 0)) if view.free is None else view.free
    here = np.zeros(A.shape[1])
    here[view.coordinates(support.classes)] = support.c
    y, W = problem.base_loss.gradient(support.residual), H.diagonal

    def twice(x):
        moved = A @ (x - here)
        v = -np.linalg.lstsq(np.sqrt(W)[:, None] * F, np.sqrt(W) * moved - y / np.sqrt(W), rcond=None)[0]
        step = moved + F @ v
        rises = -y @ step + 0.5 * step @ (W * step)
        return 2.0 * (support.loss + rises + BELOW * problem.at_zero) + fits.ridge * float(x @ x)

    def least(columns):
        """Its minimum over some coordinates, by its gradient and Hessian, which are exact for a parabola."""
        E = np.eye(A.shape[1])[:, columns]
        zero = twice(np.zeros(A.shape[1]))
        plus, minus = (np.array([twice(s * e) for e in E.T]) for s in (1.0, -1.0))
        slope, H = 0.5 * (plus - minus), np.empty((len(columns), len(columns)))
        for i, j in np.ndindex(H.shape):
            H[i, j] = twice(E[:, i] + E[:, j]) - plus[i] - plus[j] + zero
        return zero - 0.5 * float(slope @ np.linalg.solve(H, slope))

    return least


CASES = [
    pytest.param(fa.Logistic(), fa.SignedOneHot(N), None, None, id="logistic"),
    pytest.param(fa.Logistic(), fa.SignedOneHot(N), "intercept", 0.1, id="logistic, intercept, ridge"),
    pytest.param(fa.Huber(0.7), fa.SignedOneHot(N), "intercept", None, id="Huber, intercept"),
    pytest.param(fa.Logistic(), fa.Groups(LABELS), "intercept", 0.1, id="groups, intercept, ridge"),
    pytest.param(fa.Huber(0.7), fa.Groups(LABELS), None, None, id="Huber, groups"),
]


@pytest.mark.parametrize(("loss", "atoms", "free", "ridge"), CASES)
def test_supports_in_the_model_are_the_best_of_the_parabola(loss, atoms, free, ridge):
    fits, support = posed(loss, atoms, free, ridge)
    H = fits.problem.base_loss.bowl(support.residual)
    near = model(fits, support, np.arange(fits.view.count), H)
    least = parabola(fits, support, H)
    for some in combinations(range(fits.view.count), 2):
        classes = np.array(some)
        state = near.searched([near.places(classes)], 2, STILL)
        unit = near.value / (2.0 * (support.objective + BELOW * fits.problem.at_zero))
        assert state.loss[0] / unit == pytest.approx(least(fits.view.coordinates(classes)), rel=1e-10)


@pytest.mark.parametrize(("loss", "atoms", "free", "ridge"), CASES)
def test_exchanges_are_those_of_supports_fitted_anew(loss, atoms, free, ridge):
    fits, support = posed(loss, atoms, free, ridge, seed=1)
    near = model(fits, support, np.arange(fits.view.count), fits.problem.base_loss.bowl(support.residual))
    state = near.searched([near.places(support.classes)], 2, STILL)
    U = near.exchanges(state)
    for i, j in np.ndindex(U.shape):
        if j in support.classes:
            assert U[i, j] == -np.inf
            continue
        places = state.S[: state.count[0]].copy()
        places[i] = j
        after = near.searched([places], 2, STILL).loss[0]
        assert U[i, j] == pytest.approx(state.loss[0] - after, abs=1e-9 * near.value)


def test_the_model_touches_the_loss_at_the_support():
    """At the best coefficients of the support, value and coefficients are its own."""
    fits, support = posed(fa.Logistic(), fa.SignedOneHot(N), "intercept", 0.1)
    near = model(fits, support, np.arange(N), fits.problem.base_loss.bend(support.residual))
    state = near.searched([near.places(support.classes)], 2, STILL)
    assert state.loss[0] == pytest.approx(near.value, rel=1e-12)
    np.testing.assert_allclose(near.coefficients(state), support.c[np.argsort(near.found(state))], rtol=1e-6)
