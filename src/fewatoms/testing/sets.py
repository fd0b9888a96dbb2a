"""Does an atomic set keep its contract?"""

from __future__ import annotations

import math
import warnings

import numpy as np

from fewatoms import linalg
from fewatoms._types import ModelDual
from fewatoms.atoms import AtomicSet
from fewatoms.testing.faces import check_coefficients, check_face, leaves
from fewatoms.testing.of_sets import check_offered, few
from fewatoms.testing.saying import Draw, Duals, at_most, equal, generator, inner, require, same


def check_atoms(
    atoms: AtomicSet,
    rng: object = None,
    *,
    tol: float = 1e-8,
    trials: int = 3,
    exact: bool = True,
    duals: Duals | None = None,
) -> None:
    """Check an atomic set: its support function, exposed atoms, their faces, and every capability that it offers.

    <a, z> <= support(z) for exposed atoms a, equal where the set says that its support is attained (`attained`), which
    is then positively homogeneous and subadditive;  expose(z, k) has at most k atoms, and one at least;
    <point(c), z> = <c, adjoint(z)>, and what else `check_face` asks;  eps-exposed atoms have
    <a, z> >= support(z) - eps, and finite sets expose all of them.

    A support that is only an upper bound is held to be one against the atoms that are exposed; where nothing is known
    (None) there is nothing to compare. A bound is allowed, and what certificates prove is the weaker for it; so there
    is a warning where a set does not say `attained` and its support is the same multiple, above 1, of what exposed
    atoms reach in every trial, as if a factor were wrong. A support that is meant to be exact wants `attained = True`:
    only then is it checked that atoms attain it.

    Parameters
    ----------
    atoms : AtomicSet
    rng : seed or Generator
    tol : float
        Relative.
    trials : int
        Random duals.
    exact : bool
        Whether to check `gauge` at single points, where it is offered. For sums and images of sets it is an
        optimisation of its own, of a second or more from a dozen entries on; without it only the gauges of
        representations are compared.
    duals : callable, optional
        Draws a dual z from a Generator; Gaussian arrays of the set's shape by default. Use it for duals that are
        sparse, implicit or complex.
    """
    draw = generator(rng)
    fresh: Duals = duals if duals is not None else lambda g: g.standard_normal(atoms.shape)
    require(atoms.count >= 1, "count is at least 1", f"{atoms.count}")
    zero = 0.0 * fresh(draw)
    nothing = atoms.expose(zero, few(atoms, 0))
    told = type(nothing).__name__
    require(hasattr(nothing, "restrict"), "expose returns a Face (faces.Explicit.of makes one of arrays)", told)
    at_zero = atoms.support(zero)
    if at_zero is not None:
        equal("support(0) = 0", at_zero, 0.0, 1.0, tol)
    shares = []
    for _ in range(trials):
        z, other = fresh(draw), fresh(draw)
        before = np.array(linalg.as_flat(z))
        _check_support(atoms, z, other, tol)
        same("support leaves z as it is", np.asarray(linalg.as_flat(z)), before, 0.0)
        for dual in (z, -1.0 * z):
            _check_budgets(atoms, dual, fresh(draw), draw, tol)
            _check_exposed(atoms, dual, tol)
            _check_eps_exposed(atoms, dual, tol)
        same("expose leaves z as it is", np.asarray(linalg.as_flat(z)), before, 0.0)
        check_offered(atoms, draw, tol, fresh, exact=exact)
        shares.append(_reached(atoms, z))
    if not atoms.attained and len(shares) > 1 and max(shares) - min(shares) <= tol and max(shares) < 1 - tol:
        warnings.warn(
            f"exposed atoms reach {max(shares):.3g} of the support, in every trial: it is taken for an upper bound, "
            "which is allowed. If it is meant to be exact, say attained = True, and it is checked",
            stacklevel=2,
        )


def _reached(atoms: AtomicSet, z: ModelDual) -> float:
    """The share of its support that the best aligned atom reaches; 1 where nothing is known."""
    sigma = atoms.ceiling(z)
    return atoms.reached(z) / sigma if 0 < sigma < math.inf else 1.0


def _check_support(atoms: AtomicSet, z: ModelDual, other: ModelDual, tol: float) -> None:
    sigma, more = atoms.support(z), atoms.support(other)
    if sigma is None or more is None:
        require(not atoms.attained, "a support that is attained is known", "None")
        return
    at_most("0 <= support(z)", 0.0, sigma, 1.0, 0.0)
    if not atoms.attained:
        return
    equal("support(2 z) = 2 support(z)", atoms.ceiling(2.0 * z), 2.0 * sigma, sigma, tol)
    if math.isfinite(sigma + more):
        total = sigma + more
        at_most("support(z + z') <= support(z) + support(z')", atoms.ceiling(z + other), total, total, tol)


def _check_exposed(atoms: AtomicSet, z: ModelDual, tol: float) -> None:
    """The best aligned atom, and what is known of its alignment."""
    sigma, face = atoms.extreme(z)
    size = sigma if math.isfinite(sigma) else 1.0
    equal("extreme(z)[0] = support(z)", sigma, atoms.ceiling(z), size, tol)
    if not atoms.bounded:
        return
    for best in (face, atoms.expose(z, few(atoms, 1))):
        if best.size:
            c = best.mean_atom()
            equal("an exposed atom has gauge 1 in its face", best.gauge(c), 1.0, 1.0, tol)
            at_most("<a, z> <= support(z) for an exposed atom a", inner(best.point(c), z), sigma, size, tol)
    reached = atoms.reached(z)
    at_most("reached(z) <= support(z)", reached, sigma, size, tol)
    if atoms.attained and sigma > 0:
        found = inner(face.point(face.mean_atom()), z)
        equal("an exposed atom attains the support: <a, z> = support(z)", found, sigma, sigma, tol)
        equal("reached(z) = support(z) where that is attained", reached, sigma, sigma, tol)


def _summands(atoms: AtomicSet) -> int:
    """How many eps-exposed atoms an eps-exposed atom of the set may be the sum of."""
    if not atoms.parts:
        return 1
    each = [_summands(part) for part in atoms.parts]
    return max(each) if atoms.gauges_add else sum(each)


def _check_eps_exposed(atoms: AtomicSet, z: ModelDual, tol: float) -> None:
    sigma, best = atoms.ceiling(z), atoms.alignments(z)
    if best is not None:
        require(atoms.finite, "a set with alignments is finite", f"{atoms!r} says that it is not")
    if not atoms.bounded or not math.isfinite(sigma):
        return
    for share in (0.0, 0.1, 0.5, 1.0):
        eps = share * sigma + 1e-12 * sigma
        face = atoms.exposed(z, eps)
        if face.size and atoms.attained:
            least = sigma - _summands(atoms) * eps
            found = inner(face.point(face.mean_atom()), z)
            at_most("eps-exposed: support(z) - eps <= <a, z>", least, found, sigma + abs(found), tol)
        if best is not None:
            expected = int(np.count_nonzero(best >= sigma - eps))
            told = f"{face.size} against {expected} at eps = {eps:.6g}"
            require(face.size == expected, "exposed(z, eps) holds all eps-exposed atoms", told)
        limited = max(leaf.size for leaf in leaves(atoms.exposed(z, eps, 1)))
        require(limited <= 1, "exposed(z, eps, limit=1) holds at most one atom", f"{limited}")


def _check_budgets(atoms: AtomicSet, z: ModelDual, other: ModelDual, draw: Draw, tol: float) -> None:
    """Faces of a few atoms, and polarity for the gauges of their points."""
    nothing = atoms.expose(z, few(atoms, 0))
    require(nothing.size == nothing.dim == 0, "expose(z, 0) is empty", f"{nothing.size} atoms, {nothing.dim} numbers")
    for k in (1, 2, 3):
        face = atoms.expose(z, few(atoms, k))
        require(face.shape == atoms.shape, "faces have the set's shape", f"{face.shape} against {atoms.shape}")
        sizes = [leaf.size for leaf in leaves(face)]
        require(max(sizes) <= k, "expose(z, k) holds at most k atoms", f"{max(sizes)} against {k}")
        require(min(sizes) >= 1, "expose(z, k) holds one atom at least", f"{min(sizes)}")
        check_coefficients(face, other, draw, tol)
    check_face(face, draw, tol=tol, duals=lambda _: other)
    c = draw.standard_normal(face.dim)
    again = atoms.expose(z, few(atoms, 3))
    same("expose(z, k) is the same when asked again", again.point(c), face.point(c), tol)
    c = face.project(c)
    x, gauge = face.point(c), face.gauge(c)
    for dual in (z, other):
        product, sigma = inner(x, dual), atoms.ceiling(dual)
        if math.isfinite(sigma):
            size = gauge * sigma + abs(product)
            at_most("<point(c), z> <= gauge(c) support(z)", product, gauge * sigma, size, tol)
