"""Does a loss keep its contract?"""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.losses import Loss
from fewatoms.testing.saying import Draw, at_most, equal, generator, require, same, unchanged


def check_loss(loss: Loss, m: int, rng: object = None, *, tol: float = 1e-8, trials: int = 4) -> None:
    """Check a loss on residuals of length m: derivatives, conjugate, smoothness, domain, and the perspective in (D3).

    f' by differences;  f(r) + f*(y) >= <r, y>, equal at y = grad f(r);  |grad f(r) - grad f(s)| <= L |r - s|;
    clip(y) in dom f*, and y itself if that is;  inf over beta of beta (f*(y / beta) + alpha) against a grid of beta.

    Parameters
    ----------
    loss : Loss
    m : int
        Length of the residuals; the number of weights if the loss has any.
    rng : seed or Generator
    tol : float
        Relative, for identities that hold to rounding. Differences are compared to 1e-5, the grid to 1e-3.
    trials : int
        Random residuals at each of three scales.
    """
    draw = generator(rng)
    for scale in (0.1, 1.0, 10.0):
        for _ in range(trials):
            r, s = scale * draw.standard_normal((2, m))
            _check_derivatives(loss, r, draw)
            _check_conjugate(loss, r, s, draw, tol)
            _check_smoothness(loss, r, s, tol)
            _check_sublevel(loss, r, s, draw, tol)
    if loss.anchored:
        equal("anchored: f(0) = 0", loss.value(np.zeros(m)), 0.0, 1.0, tol)


def _check_derivatives(loss: Loss, r: FloatArray, draw: Draw) -> None:
    before = r.copy()
    gradient, curvature = loss.gradient(r), loss.curvature(r)
    require(gradient.shape == r.shape, "gradient(r) has the shape of r", f"{gradient.shape} against {r.shape}")
    require(curvature.shape == r.shape, "curvature(r) has the shape of r", f"{curvature.shape} against {r.shape}")
    h = 1e-6 * max(1.0, float(np.abs(r).max()))
    d = draw.standard_normal(r.size)
    d /= np.abs(d).max()
    slope = (loss.value(r + h * d) - loss.value(r - h * d)) / (2 * h)
    size = float(np.abs(gradient) @ np.abs(d)) + loss.smoothness
    equal("gradient: <grad f(r), d> = derivative of f along d", float(gradient @ d), slope, size, 1e-5)
    right, left = (loss.gradient(r + h * d) - gradient) / h, (gradient - loss.gradient(r - h * d)) / h
    smooth = np.abs(right - left) <= 1e-3 * loss.smoothness  # elsewhere the gradient has a kink within the step
    bend = loss.bend(r)
    same(
        "curvature: bend(r) times d = derivative of the gradient along d",
        np.where(smooth, bend.times(d), 0.0) + 2 * loss.smoothness,
        np.where(smooth, 0.5 * (left + right), 0.0) + 2 * loss.smoothness,
        1e-3,
    )
    for i in draw.choice(r.size, min(r.size, 8), replace=False):
        own = float(bend.times(np.eye(1, r.size, int(i))[0])[i])
        equal("curvature(r) is the diagonal of bend(r)", float(curvature[i]), own, loss.smoothness, 1e-9)
    at_most("0 <= curvature(r)", 0.0, float(curvature.min()), loss.smoothness, 1e-12)
    at_most("curvature(r) <= smoothness", float(curvature.max()), loss.smoothness, loss.smoothness, 1e-12)
    loss.value(r)
    unchanged("value, gradient and curvature leave r as it is", r, before)


def _check_conjugate(loss: Loss, r: FloatArray, s: FloatArray, draw: Draw, tol: float) -> None:
    y, value = loss.gradient(r), loss.value(r)
    conjugate = loss.conjugate(y)
    product = float(r @ y)
    size = abs(value) + abs(product) + abs(conjugate)
    require(math.isfinite(conjugate), "grad f(r) lies in dom f*", f"conjugate(gradient(r)) is {conjugate}")
    equal("Fenchel-Young equality f(r) + f*(grad f(r)) = <r, grad f(r)>", value + conjugate, product, size, tol)
    foreign = s * draw.choice([0.01, 1.0, 100.0])
    before = foreign.copy()
    inside = np.array(loss.clip(foreign))
    unchanged("clip leaves y as it is", foreign, before)
    bound = loss.conjugate(inside)
    require(math.isfinite(bound), "clip(y) lies in dom f*", f"conjugate(clip(y)) is {bound}")
    same("clip(clip(y)) = clip(y)", loss.clip(inside), inside, tol)
    at_zero = loss.gradient(np.zeros_like(foreign))
    away, gap = float(np.linalg.norm(inside - foreign)), float(np.linalg.norm(at_zero - foreign))
    at_most("clip(y) is no farther from y than grad f(0) is", away, gap, gap, tol)
    same("clip(y) = y for y in dom f*", loss.clip(y), y, tol)
    product = float(r @ inside)
    size = abs(value) + abs(product) + abs(bound)
    at_most("Fenchel-Young inequality <r, y> <= f(r) + f*(y)", product, value + bound, size, tol)


def _check_smoothness(loss: Loss, r: FloatArray, s: FloatArray, tol: float) -> None:
    for other in (s, r + 1e-3 * s, r + 1e-3 * np.eye(1, r.size, int(np.argmax(np.abs(r))))[0]):
        step, turn = r - other, loss.gradient(r) - loss.gradient(other)
        bound = loss.smoothness * float(np.linalg.norm(step))
        at_most("smoothness: |grad f(r) - grad f(s)| <= L |r - s|", float(np.linalg.norm(turn)), bound, bound, tol)
        at_most("convexity: <grad f(r) - grad f(s), r - s> >= 0", 0.0, float(turn @ step), bound, tol)


def _check_sublevel(loss: Loss, r: FloatArray, s: FloatArray, draw: Draw, tol: float) -> None:
    """inf over beta against a grid, and against what it is for: the support function of {f <= alpha}."""
    alpha = loss.value(r)
    if not alpha > 0:
        return
    for y in (draw.uniform(0.1, 10.0) * loss.gradient(s), np.array(loss.clip(s))):
        found, beta = loss.support_of_sublevel(y, alpha), loss.best_beta(y, alpha)
        if not y.any():
            equal("support_of_sublevel(0) = 0", found, 0.0, alpha, tol)
            continue
        product = float(y @ r)
        at_most("<y, r> <= support_of_sublevel(y, f(r))", product, found, abs(found) + abs(product), tol)
        require(0 < beta < math.inf, "best_beta is positive and finite where alpha > 0 and y != 0", f"{beta}")
        size = abs(found) + alpha * beta
        attained = loss.perspective(y, beta, alpha)
        equal("support_of_sublevel(y) = perspective(y, best_beta(y))", found, attained, size, tol)
        grid = [loss.perspective(y, beta * t, alpha) for t in np.geomspace(1e-3, 1e3, 121)]
        at_most("inf over beta of the perspective <= its values on a grid", found, min(grid), size, tol)
        near = min(loss.perspective(y, beta * t, alpha) for t in np.geomspace(1.0, 1.01, 5))
        at_most("the grid around best_beta comes close to the infimum", near, found, size, 1e-3)
