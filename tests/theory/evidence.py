"""Certificates from points near and far from a planted solution, the way a run of an oracle would collect them."""

from __future__ import annotations

import numpy as np
from theory.pairs import flat

from fewatoms.certificates import Certificate, Evidence
from fewatoms.solution import Candidate, DualPoint


def dual_point(problem, relaxation, y, loss=np.inf, gauge=np.inf):
    """y with its z and support, and a primal point's loss and gauge."""
    z = problem.M.adjoint(y)
    return DualPoint(y, z, problem.atoms.support(z), relaxation, loss, gauge)


def certificate(problem, *points):
    """The certificate of a run that saw these dual points and answered with zero atoms."""
    evidence = Evidence(problem)
    for point in points:
        evidence.see(point)
    face = problem.atoms.expose(np.zeros(problem.atoms.shape), 0)
    nothing = Candidate(face, np.zeros(0), problem.b, problem.at_zero)
    return Certificate(problem, nothing, evidence, cardinality=0)


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
    return pair.plan.points @ flat(pair.operator.adjoint(y))


def excluded(pair, cert):
    """How many atoms of the true support a certificate excludes, by its threshold and by its safe set; no tolerance."""
    by_threshold = 0 if cert.threshold is None else int((alignments(pair, cert.y) < cert.threshold).sum())
    if cert.safe_set is None:
        return by_threshold
    sets = cert.safe_set if isinstance(cert.safe_set, tuple) else (cert.safe_set,)
    missed = [np.setdiff1d(true, safe).size for true, safe in zip(pair.plan.parts, sets, strict=True)]
    return by_threshold + sum(missed)
