"""Identity checkers: does an operator, a loss, an atomic set or a face of your own keep its contract?

    fewatoms.testing.check_operator(M)
    fewatoms.testing.check_loss(loss, m=20)
    fewatoms.testing.check_atoms(atoms)
    fewatoms.testing.check_face(face)

Each draws random points (the same ones for the same `rng`) and raises an AssertionError that names the identity that
fails, the two numbers and the tolerance. What passes is not proven; what fails is refuted. They need no test framework,
and take seconds on members of a few hundred entries: check a small one, the code is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, Budget, FloatArray, ModelDual
from fewatoms.atoms import AtomicSet, Sum, Union
from fewatoms.atoms.base import Combination
from fewatoms.faces import Coordinates, Face, Factors, SymmetricFactors
from fewatoms.losses import Loss
from fewatoms.operators import Operator, Quadratic, as_operator

__all__ = ["check_atoms", "check_face", "check_loss", "check_operator"]

BASIS_LIMIT = 1_000_000  # numbers in the basis of a merged face at most, to see what it holds


# What a failure says -------------------------------------------------------------------------------------------------


def _require(holds: bool, identity: str, told: str) -> None:
    if not holds:
        raise AssertionError(f"{identity} does not hold: {told}")


def _equal(identity: str, left: float, right: float, size: float, tol: float) -> None:
    """left = right up to tol times size."""
    if left == right:
        return
    off = abs(left - right)
    told = f"{left:.17g} against {right:.17g}, {off:.3g} apart, allowed {tol:.3g} * {size:.3g}"
    _require(off <= tol * size, identity, told)


def _at_most(identity: str, left: float, right: float, size: float, tol: float) -> None:
    """left <= right up to tol times size."""
    if left <= right:
        return
    told = f"{left:.17g} is above {right:.17g} by {left - right:.3g}, allowed {tol:.3g} * {size:.3g}"
    _require(left - right <= tol * size, identity, told)


def _same(identity: str, left: Array, right: Array, tol: float) -> None:
    """Two arrays agree up to tol times their size; the entry that differs most is told."""
    left, right = np.asarray(left), np.asarray(right)
    _require(left.shape == right.shape, identity, f"shape {left.shape} against {right.shape}")
    if left.size == 0:
        return
    off = np.abs(left - right)
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    size = max(float(np.abs(left).max()), float(np.abs(right).max()))
    where = tuple(int(i) for i in at)
    told = f"{left[at]:.17g} against {right[at]:.17g} at {where}, {off[at]:.3g} apart, allowed {tol:.3g} * {size:.3g}"
    _require(bool(off[at] <= tol * size), identity, told)


def _unchanged(identity: str, now: Array, before: Array) -> None:
    _require(np.array_equal(now, before), identity, "the array passed in was modified")


def _inner(x: Array, z: ModelDual) -> float:
    """The real inner product of a point and a dual in any form."""
    return float(np.vdot(np.asarray(x).ravel(), linalg.as_flat(z)).real)


def _generator(rng: Any) -> np.random.Generator:
    return np.random.default_rng(0 if rng is None else rng)


# Operators -----------------------------------------------------------------------------------------------------------


def check_operator(M: Any, rng: Any = None, *, tol: float = 1e-9, trials: int = 3) -> None:
    """Check that M and its adjoint belong together, that both are linear, and that restrictions to faces agree with M.

    <Mx, y> = <x, M*y>;  M(s x + t x') = s Mx + t Mx';  restrict(face).apply(c) = M point(c), with its transpose and
    normal equations;  |Ma| <= the norms it claims.

    Parameters
    ----------
    M : anything that `Problem` takes as M
    rng : seed or Generator
    tol : float
        Relative. Operators that compute in single precision need about 1e-5.
    trials : int
        Random points an identity.

    The claimed norms are only tried on random atoms (rank-one ones after a few ascent steps), not proven.
    """
    op, draw = as_operator(M), _generator(rng)
    _check_shapes(op)
    complex_ = np.iscomplexobj(linalg.as_flat(op.adjoint(draw.standard_normal(op.shape[0]))))
    for _ in range(trials):
        _check_products(op, draw, complex_, tol)
    _check_columns(op, draw, tol)
    for face in _faces_for(op, draw, complex_):
        _check_restriction(op, face, draw, tol)
    _check_norms(op, draw, complex_, tol)


def _check_shapes(op: Operator) -> None:
    m, n = op.shape
    _require(m >= 1 and n >= 1, "shape has at least one row and one column", f"{op.shape}")
    _require(math.prod(op.model_shape) == n, "model_shape has shape[1] entries", f"{op.model_shape} against {n}")


def _draw_model(op: Operator, draw: np.random.Generator, complex_: bool) -> Array:
    """A random point; Hermitian where the adjoint is complex, since only Hermitian matrices are measured then."""
    x: Array = draw.standard_normal(op.model_shape)
    if not complex_:
        return x
    x = x + 1j * draw.standard_normal(op.model_shape)
    return x + x.conj().T


def _check_products(op: Operator, draw: np.random.Generator, complex_: bool, tol: float) -> None:
    m = op.shape[0]
    x, other = _draw_model(op, draw, complex_), _draw_model(op, draw, complex_)
    y, more = draw.standard_normal(m), draw.standard_normal(m)
    s, t = draw.standard_normal(2)
    x_before, y_before = x.copy(), y.copy()
    image = np.array(op.apply(x))
    _require(image.shape == (m,), "apply(x) has shape (m,)", f"{image.shape} against {(m,)}")
    _require(image.dtype.kind == "f", "apply(x) is real", f"an array of {image.dtype}")
    z = np.array(linalg.as_flat(op.adjoint(y)))
    _require(z.size == op.shape[1], "adjoint(y) has n entries", f"{z.size} against {op.shape[1]}")
    _unchanged("apply leaves x as it is", x, x_before)
    _unchanged("adjoint leaves y as it is", y, y_before)
    size = float(np.linalg.norm(image) * np.linalg.norm(y) + np.linalg.norm(x) * np.linalg.norm(z))
    _equal("adjoint identity <Mx, y> = <x, M*y>", float(image @ y), _inner(x, z), size, tol)
    _same("apply of a flat x = apply of x in the model's shape", op.apply(x.ravel()), image, tol)
    _same("linearity M(s x + t x') = s Mx + t Mx'", op.apply(s * x + t * other), s * image + t * op.apply(other), tol)
    combined = np.array(linalg.as_flat(op.adjoint(s * y + t * more)))
    apart = s * z + t * linalg.as_flat(op.adjoint(more))
    _same("linearity M*(s y + t y') = s M*y + t M*y'", combined, apart, tol)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _check_columns(op: Operator, draw: np.random.Generator, tol: float) -> None:
    n = op.shape[1]
    some = draw.choice(n, size=min(n, 4), replace=False).astype(np.intp)
    E = np.zeros((n, some.size))
    E[some, np.arange(some.size)] = 1.0
    one_by_one = np.stack([op.apply(e) for e in E.T], axis=1)
    _same("columns(i) = M e_i", _dense(op.columns(some)), one_by_one, tol)
    X = draw.standard_normal((n, 3))
    _same("apply_block(X) = M X", _dense(op.apply_block(X)), np.stack([op.apply(x) for x in X.T], axis=1), tol)
    norms = op.column_norms()
    if norms is not None:
        _same("column_norms()[i] = |M e_i|", norms[some], np.linalg.norm(one_by_one, axis=0), tol)


def _orthonormal(draw: np.random.Generator, n: int, r: int, complex_: bool = False) -> Array:
    G: Array = draw.standard_normal((n, r))
    return np.linalg.qr(G + 1j * draw.standard_normal((n, r)) if complex_ else G)[0]


def _faces_for(op: Operator, draw: np.random.Generator, complex_: bool) -> Iterator[Face]:
    """Random faces that live in the operator's model space."""
    shape, n = op.model_shape, op.shape[1]
    if not complex_:
        some = draw.choice(n, size=min(n, 3), replace=False).astype(np.intp)
        yield Coordinates(some, draw.choice([-1.0, 1.0], size=some.size), shape)
    if len(shape) != 2:
        return
    p, q = shape
    if not complex_:
        yield Factors(_orthonormal(draw, p, min(p, 2)), _orthonormal(draw, q, min(q, 3)))
    if p == q:
        yield SymmetricFactors(_orthonormal(draw, p, min(p, 2), complex_))


def _check_restriction(op: Operator, face: Face, draw: np.random.Generator, tol: float) -> None:
    name = type(face).__name__
    reduced = op.restrict(face)
    m = op.shape[0]
    _require(reduced.dim == face.dim, f"restrict({name}).dim = face.dim", f"{reduced.dim} against {face.dim}")
    c, b, weights = draw.standard_normal(face.dim), draw.standard_normal(m), draw.uniform(0.5, 2.0, m)
    image, pulled = reduced.apply(c), reduced.adjoint(b)
    _same(f"restrict({name}).apply(c) = M point(c)", image, op.apply(face.point(c)), tol)
    size = float(np.linalg.norm(image) * np.linalg.norm(b) + np.linalg.norm(c) * np.linalg.norm(pulled))
    _equal(f"restrict({name}): <R c, b> = <c, R*b>", float(image @ b), float(c @ pulled), size, tol)
    R = np.stack([op.apply(face.point(e)) for e in np.eye(face.dim)], axis=1)
    for w, told in ((None, ""), (weights, " with weights")):
        G, h = reduced.normal_equations(b, w)
        WR = R if w is None else w[:, None] * R
        _same(f"restrict({name}).normal_equations: Gram matrix{told}", G, R.T @ WR, tol)
        _same(f"restrict({name}).normal_equations: right-hand side{told}", h, WR.T @ b, tol)


def _check_norms(op: Operator, draw: np.random.Generator, complex_: bool, tol: float) -> None:
    if len(op.model_shape) != 2:
        return
    p, q = op.model_shape
    bound = op.rank_one_norm()
    if bound is not None and not complex_:
        found = _ascend(op, Factors(_orthonormal(draw, p, 1), _orthonormal(draw, q, 1)))
        _at_most("|M(u v^T)| <= rank_one_norm()", found, bound, bound, tol)
    bound = op.psd_norm()
    if bound is not None and p == q:
        found = _ascend(op, SymmetricFactors(_orthonormal(draw, p, 1, complex_)))
        _at_most("|M(v v^H)| <= psd_norm()", found, bound, bound, tol)


def _ascend(op: Operator, face: Factors | SymmetricFactors, steps: int = 5) -> float:
    """The largest |Ma| met on a few steps of ascent, each to the atom that M*(Ma) exposes."""
    largest = 0.0
    for _ in range(steps):
        image = op.apply(face.point(np.ones(1)))
        largest = max(largest, float(np.linalg.norm(image)))
        z = linalg.as_flat(op.adjoint(image)).reshape(op.model_shape)
        if isinstance(face, Factors):
            u, _, v = linalg.top_svd(z, 1)
            face = Factors(u, v)
        else:
            face = SymmetricFactors(linalg.top_eigh(0.5 * (z + z.conj().T), 1)[1])
    return largest


# Losses --------------------------------------------------------------------------------------------------------------


def check_loss(loss: Loss, m: int, rng: Any = None, *, tol: float = 1e-8, trials: int = 4) -> None:
    """Check a loss on residuals of length m: derivatives, conjugate, smoothness, domain, and the perspective in (D3).

    f' by differences;  f(r) + f*(y) >= <r, y>, equal at y = grad f(r);  |grad f(r) - grad f(s)| <= L |r - s|;
    clip(y) in dom f* and nearest to y;  inf over beta of beta (f*(y / beta) + alpha) against a grid of beta.

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
    draw = _generator(rng)
    for scale in (0.1, 1.0, 10.0):
        for _ in range(trials):
            r, s = scale * draw.standard_normal((2, m))
            _check_derivatives(loss, r, draw)
            _check_conjugate(loss, r, s, draw, tol)
            _check_smoothness(loss, r, s, tol)
            _check_sublevel(loss, r, s, draw, tol)
    if loss.anchored:
        _equal("anchored: f(0) = 0", loss.value(np.zeros(m)), 0.0, 1.0, tol)


def _check_derivatives(loss: Loss, r: FloatArray, draw: np.random.Generator) -> None:
    before = r.copy()
    gradient, curvature = loss.gradient(r), loss.curvature(r)
    _require(gradient.shape == r.shape, "gradient(r) has the shape of r", f"{gradient.shape} against {r.shape}")
    _require(curvature.shape == r.shape, "curvature(r) has the shape of r", f"{curvature.shape} against {r.shape}")
    h = 1e-6 * max(1.0, float(np.abs(r).max()))
    d = draw.standard_normal(r.size)
    d /= np.abs(d).max()
    slope = (loss.value(r + h * d) - loss.value(r - h * d)) / (2 * h)
    size = float(np.abs(gradient) @ np.abs(d)) + loss.smoothness
    _equal("gradient: <grad f(r), d> = derivative of f along d", float(gradient @ d), slope, size, 1e-5)
    right, left = (loss.gradient(r + h) - gradient) / h, (gradient - loss.gradient(r - h)) / h
    smooth = np.abs(right - left) <= 1e-3 * loss.smoothness  # elsewhere the gradient has a kink within the step
    _same(
        "curvature(r) = derivative of the gradient, entry by entry",
        np.where(smooth, curvature, 0.0) + loss.smoothness,
        np.where(smooth, 0.5 * (left + right), 0.0) + loss.smoothness,
        1e-3,
    )
    _at_most("0 <= curvature(r)", 0.0, float(curvature.min()), loss.smoothness, 1e-12)
    _at_most("curvature(r) <= smoothness", float(curvature.max()), loss.smoothness, loss.smoothness, 1e-12)
    loss.value(r)
    _unchanged("value, gradient and curvature leave r as it is", r, before)


def _check_conjugate(loss: Loss, r: FloatArray, s: FloatArray, draw: np.random.Generator, tol: float) -> None:
    y, value = loss.gradient(r), loss.value(r)
    conjugate = loss.conjugate(y)
    product = float(r @ y)
    size = abs(value) + abs(product) + abs(conjugate)
    _require(math.isfinite(conjugate), "grad f(r) lies in dom f*", f"conjugate(gradient(r)) is {conjugate}")
    _equal("Fenchel-Young equality f(r) + f*(grad f(r)) = <r, grad f(r)>", value + conjugate, product, size, tol)
    foreign = s * draw.choice([0.01, 1.0, 100.0])
    before = foreign.copy()
    inside = np.array(loss.clip(foreign))
    _unchanged("clip leaves y as it is", foreign, before)
    bound = loss.conjugate(inside)
    _require(math.isfinite(bound), "clip(y) lies in dom f*", f"conjugate(clip(y)) is {bound}")
    _same("clip(clip(y)) = clip(y)", loss.clip(inside), inside, tol)
    away, gap = float(np.linalg.norm(inside - foreign)), float(np.linalg.norm(y - foreign))
    _at_most("clip(y) is the point of dom f* nearest to y", away, gap, gap, tol)
    product = float(r @ inside)
    size = abs(value) + abs(product) + abs(bound)
    _at_most("Fenchel-Young inequality <r, y> <= f(r) + f*(y)", product, value + bound, size, tol)


def _check_smoothness(loss: Loss, r: FloatArray, s: FloatArray, tol: float) -> None:
    for other in (s, r + 1e-3 * s, r + 1e-3 * np.eye(1, r.size, int(np.argmax(np.abs(r))))[0]):
        step, turn = r - other, loss.gradient(r) - loss.gradient(other)
        bound = loss.smoothness * float(np.linalg.norm(step))
        _at_most("smoothness: |grad f(r) - grad f(s)| <= L |r - s|", float(np.linalg.norm(turn)), bound, bound, tol)
        _at_most("convexity: <grad f(r) - grad f(s), r - s> >= 0", 0.0, float(turn @ step), bound, tol)


def _check_sublevel(loss: Loss, r: FloatArray, s: FloatArray, draw: np.random.Generator, tol: float) -> None:
    """inf over beta against a grid, and against what it is for: the support function of {f <= alpha}."""
    alpha = loss.value(r)
    if not alpha > 0:
        return
    for y in (draw.uniform(0.1, 10.0) * loss.gradient(s), np.array(loss.clip(s))):
        found, beta = loss.support_of_sublevel(y, alpha), loss.best_beta(y, alpha)
        if not y.any():
            _equal("support_of_sublevel(0) = 0", found, 0.0, alpha, tol)
            continue
        product = float(y @ r)
        _at_most("<y, r> <= support_of_sublevel(y, f(r))", product, found, abs(found) + abs(product), tol)
        _require(0 < beta < math.inf, "best_beta is positive and finite where alpha > 0 and y != 0", f"{beta}")
        size = abs(found) + alpha * beta
        attained = loss.perspective(y, beta, alpha)
        _equal("support_of_sublevel(y) = perspective(y, best_beta(y))", found, attained, size, tol)
        grid = [loss.perspective(y, beta * t, alpha) for t in np.geomspace(1e-3, 1e3, 121)]
        _at_most("inf over beta of the perspective <= its values on a grid", found, min(grid), size, tol)
        near = min(loss.perspective(y, beta * t, alpha) for t in np.geomspace(1.0, 1.01, 5))
        _at_most("the grid around best_beta comes close to the infimum", near, found, size, 1e-3)


# Atomic sets ---------------------------------------------------------------------------------------------------------


def check_atoms(
    atoms: AtomicSet,
    rng: Any = None,
    *,
    tol: float = 1e-8,
    trials: int = 3,
    exact: bool = True,
    duals: Callable[[np.random.Generator], ModelDual] | None = None,
) -> None:
    """Check an atomic set: gauge against support function, exposed atoms, their faces, and the proximal map.

    <x, z> <= gauge(x) support(z);  <a, z> = support(z) and gauge(a) = 1 for an exposed atom a, where the support is
    positive;  <point(c), z> = <c, adjoint(z)>;  eps-exposed atoms have <a, z> >= support(z) - eps;
    gauge(point(c)) <= the gauge of the representation c;  Moreau's condition for x, the proximal map of t gauge at w:
    <w - x, x> = t gauge(x), and <w - x, v> <= t gauge(v) for all v.

    Parameters
    ----------
    atoms : AtomicSet
    rng : seed or Generator
    tol : float
        Relative.
    trials : int
        Random duals.
    exact : bool
        Whether to call `atoms.gauge`. For sums and images of sets it is an optimisation of its own, of a second or more
        from a dozen entries on; without it only the gauges of representations are compared.
    duals : callable, optional
        Draws a dual z from a Generator; Gaussian arrays of the set's shape by default. Use it for duals that are
        sparse, implicit or complex.
    """
    draw = _generator(rng)
    fresh = duals if duals is not None else lambda g: g.standard_normal(atoms.shape)
    _equal("support(0) = 0", atoms.support(0.0 * fresh(draw)), 0.0, 1.0, tol)
    for _ in range(trials):
        z, other = fresh(draw), fresh(draw)
        _check_support(atoms, z, other, tol)
        for dual in (z, -1.0 * z):
            _check_exposed(atoms, dual, tol, exact)
            _check_points(atoms, dual, fresh(draw), draw, tol, exact)
        _check_proximal(atoms, z, [fresh(draw) for _ in range(3)], draw, tol)


def _budget(atoms: AtomicSet, k: int) -> Budget:
    """k atoms of each part, or as many as there are."""
    if isinstance(atoms, (Sum, Union)):
        return tuple(_budget(part, k) for part in atoms.parts)
    return min(k, atoms.count)


def _leaves(face: Face) -> list[Face]:
    """The faces that a face of sums is made of."""
    return [face] if face.parts[0] is face else [leaf for part in face.parts for leaf in _leaves(part)]


def _summands(atoms: AtomicSet) -> int:
    """How many eps-exposed atoms an eps-exposed atom of the set may be the sum of."""
    if isinstance(atoms, Sum):
        return sum(_summands(part) for part in atoms.parts)
    return max(_summands(part) for part in atoms.parts) if isinstance(atoms, Union) else 1


def _check_support(atoms: AtomicSet, z: ModelDual, other: ModelDual, tol: float) -> None:
    sigma, more = atoms.support(z), atoms.support(other)
    _at_most("0 <= support(z)", 0.0, sigma, 1.0, 0.0)
    _equal("support(2 z) = 2 support(z)", atoms.support(2.0 * z), 2.0 * sigma, sigma, tol)
    if math.isfinite(sigma + more):
        total = sigma + more
        _at_most("support(z + z') <= support(z) + support(z')", atoms.support(z + other), total, total, tol)


def _check_exposed(atoms: AtomicSet, z: ModelDual, tol: float, exact: bool) -> None:
    sigma, face = atoms.extreme(z)
    _equal("extreme(z)[0] = support(z)", sigma, atoms.support(z), sigma, tol)
    if atoms.bounded and sigma > 0:
        c = face.mean_atom()
        atom = face.point(c)
        _equal("an exposed atom attains the support: <a, z> = support(z)", _inner(atom, z), sigma, sigma, tol)
        _equal("an exposed atom has gauge 1 in its face", face.gauge(c), 1.0, 1.0, tol)
        if exact:
            _equal("an exposed atom has gauge(a) = 1", atoms.gauge(atom), 1.0, 1.0, tol)
    if not atoms.bounded:
        return
    best = atoms.alignments(z)
    for share in (0.0, 0.1, 0.5, 1.0):
        eps = share * sigma + 1e-12 * sigma
        face = atoms.exposed(z, eps)
        if face.size:
            least = sigma - _summands(atoms) * eps
            found = _inner(face.point(face.mean_atom()), z)
            _at_most("eps-exposed: support(z) - eps <= <a, z>", least, found, sigma + abs(found), tol)
        if best is not None:
            expected = int(np.count_nonzero(best >= sigma - eps))
            told = f"{face.size} against {expected} at eps = {eps:.6g}"
            _require(face.size == expected, "exposed(z, eps) holds all eps-exposed atoms", told)
        limited = max(leaf.size for leaf in _leaves(atoms.exposed(z, eps, 1)))
        _require(limited <= 1, "exposed(z, eps, limit=1) holds at most one atom", f"{limited}")


def _check_points(
    atoms: AtomicSet, z: ModelDual, other: ModelDual, draw: np.random.Generator, tol: float, exact: bool
) -> None:
    for k in (1, 2, 3):
        face = atoms.expose(z, _budget(atoms, k))
        sizes = [leaf.size for leaf in _leaves(face)]
        _require(max(sizes) <= k, "expose(z, k) holds at most k atoms", f"{max(sizes)} against {k}")
        _check_coefficients(face, other, draw, tol)
    check_face(face, draw, tol=tol, duals=lambda _: other)
    c = face.project(draw.standard_normal(face.dim))
    x, gauge = face.point(c), face.gauge(c)
    least = atoms.gauge(x) if exact else gauge
    _at_most("gauge(point(c)) <= gauge of the representation c", least, gauge, gauge, tol)
    for dual in (z, other):
        product, sigma = _inner(x, dual), atoms.support(dual)
        if math.isfinite(sigma):
            size = gauge * sigma + abs(product)
            _at_most("polarity <x, z> <= gauge(x) support(z)", product, least * sigma, size, tol)


def _check_proximal(
    atoms: AtomicSet, z: ModelDual, duals: list[ModelDual], draw: np.random.Generator, tol: float
) -> None:
    """Moreau's condition, in the space where the proximal map lives: for images of sets, that of the preimages."""
    compact = []
    for dual in duals:
        face = atoms.expose(dual, _budget(atoms, 2))
        compact.append((face, face.project(draw.standard_normal(face.dim))))
    points: Combination = [(1.0, *compact[0]), (-0.4, *compact[1])]
    step = 0.7
    shrinkage = atoms.shrink(points, z, step)
    sigma = atoms.support(z)
    unit = step * sigma if 0 < sigma < math.inf else 1.0
    for t in (0.0, 0.2 * unit, unit, 0.2 * unit, 5.0 * unit):
        face, c = shrinkage.at(t)
        gauge = face.gauge(c)
        _equal("shrink(...).gauge(t) = gauge of shrink(...).at(t)", shrinkage.gauge(t), gauge, gauge + unit, tol)
        _same("the proximal map has allowed coefficients", face.project(c), c, tol)
        for told, (probe, d) in [("x", (face, c)), *(("v", pair) for pair in compact)]:
            terms = [a * probe.inner(d, f, e) for a, f, e in points]
            terms += [step * _inner(probe.point(d), z), -probe.inner(d, face, c)]
            product, bound = sum(terms), t * probe.gauge(d)
            size = sum(abs(term) for term in terms) + bound + unit
            if told == "x":
                _equal("proximal map: <w - x, x> = t gauge(x)", product, bound, size, tol)
            else:
                _at_most("proximal map: <w - x, v> <= t gauge(v)", product, bound, size, tol)


# Faces ---------------------------------------------------------------------------------------------------------------


def check_face(
    face: Face,
    rng: int | np.random.Generator | None = None,
    *,
    tol: float = 1e-8,
    other: Face | None = None,
    duals: Callable[[np.random.Generator], ModelDual] | None = None,
) -> None:
    """Check a face: points and their transpose, projection, pruning, merging, restriction, turning.

    <point(c), z> = <c, adjoint(z)>;  project(c) is allowed and nearest to c;  prune(c, k) has at most k atoms, and the
    same point where the face has no more;  merge holds the points of both faces;  restrict(M).apply(c) = M point(c);
    fold(unfold(c)) has the same point, and pull(v, z) is the gradient of <z, point> by v.

    Parameters
    ----------
    face : Face
    rng : seed or Generator
    tol : float
        Relative, for identities that hold to rounding. Differences are compared to 1e-5.
    other : Face, optional
        Another face of the same set, to merge with; only parts of the face itself by default.
    duals : callable, optional
        Draws a dual z from a Generator; Gaussian arrays of the face's shape by default.

    What a merged face holds is seen by least squares, up to a million numbers in the points of its basis and not
    beyond. Restrictions of complex faces are tried where their points are square matrices.
    """
    draw = _generator(rng)
    complex_ = np.iscomplexobj(face.point(np.zeros(face.dim)))
    fresh = duals if duals is not None else lambda g: _gaussian(g, face.shape, complex_)
    _check_coefficients(face, fresh(draw), draw, tol)
    _check_pruning(face, draw, tol)
    _check_merging(face, other, draw, tol)
    if face.dim and not complex_:
        _check_restriction(as_operator(draw.standard_normal((4, math.prod(face.shape)))), face, draw, tol)
    elif face.dim and len(face.shape) == 2 and face.shape[0] == face.shape[1]:
        _check_restriction(Quadratic(_gaussian(draw, (5, face.shape[0]), True)), face, draw, tol)
    _check_turning(face, fresh(draw), draw, tol)


def _gaussian(draw: np.random.Generator, shape: tuple[int, ...], complex_: bool) -> Array:
    real: Array = draw.standard_normal(shape)
    return real + 1j * draw.standard_normal(shape) if complex_ else real


def _check_coefficients(face: Face, z: ModelDual, draw: np.random.Generator, tol: float) -> None:
    name = type(face).__name__
    c = draw.standard_normal(face.dim)
    before = c.copy()
    x, pulled = face.point(c), face.adjoint(z)
    _require(x.shape == face.shape, f"{name}.point(c) has the model's shape", f"{x.shape} against {face.shape}")
    _require(pulled.shape == c.shape, f"{name}.adjoint(z) has dim entries", f"{pulled.shape} against {c.shape}")
    size = float(np.linalg.norm(x) * np.linalg.norm(linalg.as_flat(z)) + np.linalg.norm(c) * np.linalg.norm(pulled))
    _equal(f"{name}: <point(c), z> = <c, adjoint(z)>", _inner(x, z), float(c @ pulled), size, tol)
    near = face.project(c)
    _unchanged(f"{name} leaves c as it is", c, before)
    _same(f"{name}: project(project(c)) = project(c)", face.project(near), near, tol)
    for d in draw.standard_normal((4, face.dim)):
        size = float(np.linalg.norm(c) * np.linalg.norm(d))
        beyond = float((c - near) @ (face.project(d) - near))
        _at_most(f"{name}: project(c) is nearest, <c - Pc, d - Pc> <= 0 for allowed d", beyond, 0.0, size, tol)
    mean = face.mean_atom()
    _same(f"{name}.mean_atom() is allowed", face.project(mean), mean, tol)


def _check_pruning(face: Face, draw: np.random.Generator, tol: float) -> None:
    name = type(face).__name__
    c = face.project(draw.standard_normal(face.dim))
    before, x = c.copy(), face.point(c)
    for norms in (None, draw.uniform(0.5, 2.0, face.dim)):
        for k in sorted({0, 1, 2, face.size, face.size + 1}):
            smaller, d = face.prune(c, k, norms)
            most = min(k, face.size)
            told = f"{smaller.size} against {most}"
            _require(smaller.size <= most, f"{name}.prune(c, k) has at most k atoms, and no new ones", told)
            _require(d.shape == (smaller.dim,), f"{name}.prune: one coefficient for each of dim", f"{d.shape}")
            _same(f"{name}.prune(c, k): coefficients are allowed", smaller.project(d), d, tol)
            if k >= face.size:
                _same(f"{name}.prune(c, size) has the same point", smaller.point(d), x, tol)
            for leaf, p in zip(_leaves(smaller), _split(smaller, d), strict=True):
                told = f"{len(leaf.labels())} and {len(leaf.values(p))} against {leaf.size}"
                named = len(leaf.labels()) == len(leaf.values(p)) == leaf.size
                _require(named, f"{name}: one label and one value for each atom", told)
    empty, _ = face.prune(0.0 * c, face.size)
    _require(empty.size == 0, f"{name}.prune drops what contributes nothing", f"{empty.size} atoms of the point 0")
    _unchanged(f"{name}.prune leaves c as it is", c, before)


def _split(face: Face, c: FloatArray) -> list[FloatArray]:
    """The coefficients of each of the leaves."""
    if face.parts[0] is face:
        return [c]
    return [q for part, p in zip(face.parts, face.split(c), strict=True) for q in _split(part, p)]


def _check_merging(face: Face, other: Face | None, draw: np.random.Generator, tol: float) -> None:
    name = type(face).__name__
    half = (face.size + 1) // 2
    first, second = (face.prune(face.project(draw.standard_normal(face.dim)), half)[0] for _ in range(2))
    for a, b in [(first, second), (second, face), (face, face)] + ([] if other is None else [(face, other)]):
        both = a.merge(b)
        told = f"{both.size} of {a.size} and {b.size}"
        _require(both.size <= a.size + b.size, f"{name}.merge has no atoms but those of both", told)
        if a is b:
            _require(both.size <= a.size, f"{name}.merge with itself adds nothing", told)
        if math.prod(face.shape) * max(1, both.dim) > BASIS_LIMIT:
            continue
        basis = _basis(both)
        for part in (a, b):
            points = _basis(part)
            found = basis @ np.linalg.lstsq(basis, points, rcond=None)[0]
            _same(f"{name}.merge holds the points of both faces", found, points, tol)


def _basis(face: Face) -> FloatArray:
    """The points of the unit vectors as real columns: a complex entry is two rows."""
    points = np.array([face.point(e).ravel() for e in np.eye(face.dim)]).reshape(face.dim, math.prod(face.shape)).T
    return np.concatenate([points.real, points.imag])


def _check_turning(face: Face, z: ModelDual, draw: np.random.Generator, tol: float) -> None:
    name, turning = type(face).__name__, face.turning()
    if turning is None:
        return
    c = face.project(draw.standard_normal(face.dim))
    v, lower = turning.unfold(c), turning.lower()
    _require(v.shape == lower.shape, f"{name}: one lower bound for each unknown", f"{lower.shape} against {v.shape}")
    below = float((lower - v).max(initial=0.0))
    _at_most(f"{name}: unfold(c) keeps the lower bounds", below, 0.0, 1.0, tol)
    turned, d = turning.fold(v)
    _require(turned.size <= face.size, f"{name}.fold has no more atoms", f"{turned.size} against {face.size}")
    _same(f"{name}: fold(unfold(c)) has the same point", turned.point(d), face.point(c), tol)
    v = v + 0.1 * draw.standard_normal(v.size)
    gradient, h = turning.pull(v, z), 1e-5

    def value(unknowns: FloatArray) -> float:
        moved, e = turning.fold(unknowns)
        return _inner(moved.point(e), z)

    for _ in range(3):
        step = draw.standard_normal(v.size)
        slope = (value(v + h * step) - value(v - h * step)) / (2 * h)
        size = float(np.linalg.norm(gradient) * np.linalg.norm(step))
        _equal(f"{name}: <pull(v, z), d> = derivative of <z, point> along d", float(gradient @ step), slope, size, 1e-5)
