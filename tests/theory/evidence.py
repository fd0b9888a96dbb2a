"""Certificates from points near and far from a planted solution, the way a run of an oracle would collect them."""

from __future__ import annotations

import numpy as np

import fewatoms as fa
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.certificates import Certificate
from fewatoms.evidence import Evidence
from theory.pairs import aligned, flat


def dual_point(problem, relaxation, y, loss=np.inf, gauge=np.inf):
    """y with its z and support, and a primal point's loss and gauge."""
    z = problem.M.adjoint(y)
    return DualPoint(y, z, problem.atoms.support(z), relaxation, loss, gauge)


def certificate(problem, *points, around=()):
    """The certificate of a run that saw these dual points and answered with zero atoms.

    Points `around` the root tell about beta* only: their dual vectors are not taken for the certificate's own.
    """
    evidence = Evidence(problem)
    for point in around:
        evidence.levels.see_dual(point)
    for point in points:
        evidence.see(Iterate(point))
    face = problem.atoms.expose(np.zeros(problem.atoms.shape), 0)
    nothing = Candidate.of(face, np.zeros(0), problem.b, problem.at_zero)
    return Certificate.of(problem, nothing, evidence)


def near(pair, rng, size):
    """A vector of dom f* at a distance of about `size` |y*| from y*."""
    away = rng.standard_normal(pair.y.size)
    return pair.loss.clip(pair.y + size * np.linalg.norm(pair.y) * away / np.linalg.norm(away))


def some_atom(pair, rng):
    """An atom exposed by a random direction, as a dense vector of gauge 1."""
    face = pair.atoms.exposed(rng.standard_normal(pair.atoms.shape), 0.0, 1)
    return np.asarray(face.point(face.mean_atom()), dtype=float).ravel()


def mixture(pair, rng, stretch, others):
    """stretch x* plus `others` tau of another atom: the loss, a bound on the gauge, and the residual."""
    x = stretch * pair.x + others * pair.tau * some_atom(pair, rng)
    residual = pair.b - pair.operator.apply(x)
    return pair.loss.value(residual), (stretch + others) * pair.tau, residual


def alignments(pair, y):
    """<a, M*y> for the atoms of the true support."""
    return aligned(pair.plan.points, flat(pair.operator.adjoint(y)))


def excluded(pair, cert):
    """How many atoms of the true support a certificate excludes, by its threshold and by its safe set; no tolerance."""
    by_threshold = 0 if cert.threshold is None else int((alignments(pair, cert.y) < cert.threshold).sum())
    if cert.safe_set is None:
        return by_threshold
    sets = cert.safe_set if isinstance(cert.safe_set, tuple) else (cert.safe_set,)
    missed = [np.setdiff1d(true, safe).size for true, safe in zip(pair.plan.parts, sets, strict=True)]
    return by_threshold + sum(missed)


# What a run could have seen ------------------------------------------------------------------------------------------


def seen_by_p1(pair, problem, rng, size):
    """One dual vector and one primal point, both about `size` away from the solution of (P1)."""
    loss, gauge, _ = mixture(pair, rng, 1 + size * rng.uniform(-0.5, 0.5), size * rng.random())
    return [dual_point(problem, fa.P1(problem, pair.lam), near(pair, rng, size), loss, gauge)]


def seen_by_p2(pair, problem, rng, size):
    """The same for (P2): the primal point has a gauge of tau at most."""
    others = min(1.0, size * rng.random())
    loss, gauge, _ = mixture(pair, rng, 1 - others, others)
    tau = pair.tau * (1 + 4 * np.finfo(float).eps)
    return [dual_point(problem, fa.P2(problem, tau), near(pair, rng, size), loss, min(gauge, tau))]


def seen_by_p3(pair, problem, rng, size):
    """For (P3): a dual vector about `size` away, and inexact points at a larger distance on both sides of the root.

    (Bounds on beta* are quotients: they are sharp when the distance to the root outweighs the points' own errors.)
    """
    relaxation, y = fa.P3(problem), near(pair, rng, size)
    points, over = [], 0.1 * np.sqrt(size)
    while over > 1e-15:  # right of the root: stretch x* until the loss is below alpha
        loss, gauge, residual = mixture(pair, rng, 1 + 10 * over, size * over if rng.random() < 0.5 else 0.0)
        if loss < problem.alpha:
            points.append(dual_point(problem, relaxation, pair.loss.gradient(residual), loss, gauge))
            break
        over /= 4
    loss, gauge, residual = mixture(pair, rng, 1 - min(0.5, np.sqrt(size)), 0.0)
    points.append(dual_point(problem, relaxation, pair.loss.gradient(residual), loss, gauge))
    points.append(dual_point(problem, relaxation, y, loss, gauge))
    return points


SEEN = {"P1": seen_by_p1, "P2": seen_by_p2, "P3": seen_by_p3}


def screened(pair, cert):
    """How many classes of atoms a safe set rules out."""
    sets = cert.safe_set if isinstance(cert.safe_set, tuple) else (cert.safe_set,)
    parts = pair.atoms.parts or (pair.atoms,)
    return sum(part.count - safe.size for part, safe in zip(parts, sets, strict=True) if safe is not None)
