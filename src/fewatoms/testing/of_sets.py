"""Checkers of what atomic sets offer, one per capability."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.atoms import AtomicSet, Listing
from fewatoms.atoms.base import Combination
from fewatoms.capabilities import Gauge, Prox, RankOnePairs, Semidefinite, Shrinkage, Spectrum, need
from fewatoms.faces import Face
from fewatoms.testing.saying import Draw, Duals, at_most, equal, gaussian, inner, require, same

Compact = tuple[Face, FloatArray]


def few(atoms: AtomicSet, k: int) -> BudgetLike:
    """k atoms of each part, or as many as there are."""
    return tuple(few(part, k) for part in atoms.parts) if atoms.parts else min(k, atoms.count)


def check_offered(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals, *, exact: bool) -> None:
    """Every capability that a set offers; the gauge at single points only if it is to be exact."""
    for capability, check in OF_SETS.items():
        if atoms.offers(capability) is not None and (exact or capability is not Gauge):
            check(atoms, draw, tol, duals)


def _compact(atoms: AtomicSet, draw: Draw, duals: Duals, k: int) -> Compact:
    """A random point of k exposed atoms."""
    face = atoms.expose(duals(draw), few(atoms, k))
    return face, face.project(draw.standard_normal(face.dim))


# The gauge, and its proximal map -------------------------------------------------------------------------------------


def _gauge(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    """The gauge against representations and the support function."""
    known = need(atoms, Gauge)
    equal("Gauge: gauge(0) = 0", known.gauge(np.zeros(atoms.shape)), 0.0, 1.0, tol)
    z = duals(draw)
    for dual in (z, -1.0 * z):
        sigma, face = atoms.extreme(dual)
        if atoms.bounded and atoms.attained and sigma > 0:
            atom = face.point(face.mean_atom())
            equal("Gauge: an exposed atom has gauge(a) = 1", known.gauge(atom), 1.0, 1.0, tol)
        face = atoms.expose(dual, few(atoms, 3))
        c = face.project(draw.standard_normal(face.dim))
        x, gauge = face.point(c), face.gauge(c)
        least = known.gauge(x)
        at_most("Gauge: gauge(point(c)) <= gauge of the representation c", least, gauge, gauge, tol)
        equal("Gauge: gauge(2 x) = 2 gauge(x)", known.gauge(2.0 * x), 2.0 * least, gauge, tol)
        for other in (dual, duals(draw)):
            product, sigma = inner(x, other), atoms.ceiling(other)
            if math.isfinite(sigma):
                size = gauge * sigma + abs(product)
                at_most("Gauge: polarity <x, z> <= gauge(x) support(z)", product, least * sigma, size, tol)


def _prox(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    """Moreau's condition, in the space where the proximal map lives: for images of sets, that of the preimages."""
    z, step = duals(draw), 0.7
    compact = [_compact(atoms, draw, duals, 2) for _ in range(3)]
    points: Combination = [(1.0, *compact[0]), (-0.4, *compact[1])]
    before = np.array(linalg.as_flat(z))
    shrinkage = need(atoms, Prox).shrink(points, z, step)
    sigma = atoms.ceiling(z)
    unit = step * sigma if 0 < sigma < math.inf else 1.0
    for t in (0.0, 0.2 * unit, unit, 0.2 * unit, 5.0 * unit):
        _check_shrunk(shrinkage, t, points, compact, (step, z), unit, tol)
    same("Prox: shrink leaves z as it is", np.asarray(linalg.as_flat(z)), before, 0.0)


def _check_shrunk(
    shrinkage: Shrinkage,
    t: float,
    points: Combination,
    compact: list[Compact],
    pulled: tuple[float, ModelDual],
    unit: float,
    tol: float,
) -> None:
    """x, the proximal map of t gauge at w: <w - x, x> = t gauge(x), and <w - x, v> <= t gauge(v) for all v."""
    face, c = shrinkage.at(t)
    gauge = face.gauge(c)
    told = "Prox: shrink(...).gauge(t) = gauge of shrink(...).at(t)"
    equal(told, shrinkage.gauge(t), gauge, gauge + unit, tol)
    same("Prox: the proximal map has allowed coefficients", face.project(c), c, tol)
    for probe, d in [(face, c), *compact]:
        terms = [a * probe.inner(d, f, e) for a, f, e in points]
        terms += [pulled[0] * inner(probe.point(d), pulled[1]), -probe.inner(d, face, c)]
        product, bound = sum(terms), t * probe.gauge(d)
        size = sum(abs(term) for term in terms) + bound + unit
        if probe is face:
            equal("Prox: proximal map, <w - x, x> = t gauge(x)", product, bound, size, tol)
        else:
            at_most("Prox: proximal map, <w - x, v> <= t gauge(v)", product, bound, size, tol)


# Atoms that can be listed --------------------------------------------------------------------------------------------


def _listing(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    """Classes, their coordinates, and the way from their space to the user's and back."""
    listing = need(atoms, Listing)
    inside = listing.atoms
    count = inside.count
    for name, given in (("blocks", listing.blocks), ("names", listing.names), ("weights", listing.weights)):
        sizes = count if given is None else len(given)
        require(sizes == count, f"Listing: {name} has one for each class", f"{sizes} against {count}")
    if listing.names is not None:
        require(bool((listing.names[1:] > listing.names[:-1]).all()), "Listing: names are sorted", f"{listing.names}")
    both = np.intersect1d(listing.forced, listing.barred)
    require(both.size == 0, "Listing: no class is forced in and left out", f"{both}")
    some = draw.permutation(count)[: min(3, count)].astype(np.intp)
    face = listing.face(some)
    require(face.shape == atoms.shape, "Listing: faces have the set's shape", f"{face.shape} against {atoms.shape}")
    same("Listing: classes_of(face(classes)) = classes", listing.classes_of(face), some, 0.0)
    _check_coordinates(listing, some)
    _check_way(listing, face, draw, tol, duals)
    _check_classes(atoms, listing, duals(draw), tol)


def _check_coordinates(listing: Listing, some: IntArray) -> None:
    """Class g uses the coordinates of its block and no others."""
    for g in some:
        face = listing.atoms.face(np.array([g]), np.zeros(listing.atoms.shape))
        used = np.flatnonzero(sum(np.abs(face.point(e)).ravel() for e in np.eye(face.dim)))
        block = np.array([g]) if listing.blocks is None else np.sort(listing.blocks[g])
        same("Listing: class g is the coordinates blocks[g]", used, block, 0.0)


def _check_way(listing: Listing, face: Face, draw: Draw, tol: float, duals: Duals) -> None:
    """x = factor B_1 B_2 ... w, and the transpose of that way."""
    within = listing.inside(face)
    c, z = face.project(draw.standard_normal(face.dim)), duals(draw)
    if listing.nonnegative:
        require(bool((c >= 0).all()), "Listing: coefficients of nonnegative atoms are not negative", f"{c.min()}")
    x: Array = within.point(c).ravel()
    for map_ in reversed(listing.maps):
        x = map_.forward(x)
    same("Listing: x = factor times the maps of w", face.point(c).ravel(), listing.factor * x, tol)
    product, pulled = inner(face.point(c), z), listing.factor * inner(within.point(c), listing.pulled(z))
    size = float(np.linalg.norm(face.point(c)) * np.linalg.norm(linalg.as_flat(z)))
    equal("Listing: <x, z> = factor <w, pulled(z)>", product, pulled, size, tol)


def _check_classes(atoms: AtomicSet, listing: Listing, z: ModelDual, tol: float) -> None:
    """Alignments are those of the set inside; classes left out have none."""
    best = atoms.alignments(z)
    require(best is not None, "Listing: a set that is listed has alignments", "None")
    assert best is not None
    expected = np.array(listing.atoms.alignments(listing.factor * listing.pulled(z)))
    expected[listing.barred] = -np.inf
    left = np.flatnonzero(expected > -np.inf)
    require(best.shape == expected.shape, "Listing: one alignment for each class", f"{best.shape}")
    same("Listing: alignments are those of the set inside", best[left], expected[left], tol)
    require(bool((best[listing.barred] == -np.inf).all()), "Listing: classes left out align with nothing", f"{best}")
    again, sigma = listing.rewrapped(listing.atoms).ceiling(z), atoms.ceiling(z)
    if listing.barred.size:
        at_most("Listing: support(z) <= that of all classes", sigma, again, again, tol)
    elif math.isfinite(sigma):
        equal("Listing: rewrapped(atoms) is the set", again, sigma, sigma, tol)


# Matrices ------------------------------------------------------------------------------------------------------------


def _spectrum(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    z, k = duals(draw), min(3, atoms.count)
    values = need(atoms, Spectrum).spectrum(z, k)
    require(values.shape == (k,), "Spectrum: spectrum(z, k) has k values", f"shape {values.shape}")
    size = float(np.abs(values).max())
    rise = float(np.diff(values).max(initial=-math.inf))
    at_most("Spectrum: largest first", rise, 0.0, size, tol)
    if atoms.attained:
        equal("Spectrum: its top is support(z)", max(0.0, float(values[0])), atoms.ceiling(z), size, tol)
    face = atoms.expose(z, k)
    found = inner(face.point(face.mean_atom()), z)
    equal("Spectrum: alignments of the k best atoms", found, float(values.mean()), size, tol)


def _rank_one_pairs(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    pairs, (p, q) = need(atoms, RankOnePairs), atoms.shape
    r = min(2, p, q)
    P, Q = (np.linalg.qr(draw.standard_normal((side, r)))[0] for side in (p, q))
    if pairs.nonnegative:
        P, Q = (np.abs(A) / np.linalg.norm(A, axis=0) for A in (P, Q))
    s = draw.uniform(1.0, 2.0, r)
    face, c = pairs.paired(P, s, Q)
    same("RankOnePairs: paired(P, s, Q) is P diag(s) Q^T", face.point(c), (P * s) @ Q.T, tol)
    equal("RankOnePairs: its gauge is the sum of s", face.gauge(c), float(s.sum()), float(s.sum()), tol)
    require(face.size <= r, "RankOnePairs: no more atoms than pairs", f"{face.size} against {r}")
    same("RankOnePairs: its coefficients are allowed", face.project(c), c, tol)


def _semidefinite(atoms: AtomicSet, draw: Draw, tol: float, duals: Duals) -> None:
    n, r = atoms.shape[0], min(2, atoms.shape[0])
    for complex_ in (False, True) if atoms.takes_complex else (False,):
        L = gaussian(draw, (n, r), complex_)
        face = need(atoms, Semidefinite).spanned(L)
        require(face.size <= r, "Semidefinite: spanned(L) has no more atoms than columns", f"{face.size} against {r}")
        x = L @ L.conj().T
        held = face.point(face.project(face.adjoint(x)))  # coordinates are orthonormal
        same("Semidefinite: spanned(L) holds L L^H", held, x, tol)


OF_SETS: Mapping[type, Callable[[AtomicSet, Draw, float, Duals], None]] = {
    Prox: _prox,
    Gauge: _gauge,
    Listing: _listing,
    RankOnePairs: _rank_one_pairs,
    Semidefinite: _semidefinite,
    Spectrum: _spectrum,
}
