"""Theorem 1: the atoms of a primal solution are exposed by M*y*, for any dual solution y*."""

import numpy as np
import pytest

import fewatoms as fa
from theory.models import MODELS, solved
from theory.pairs import LOSSES, PLANS, plant


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_atoms_of_a_solvers_solution_are_exposed(name, loss):
    s = solved(name, loss)
    whole = s.problem.atoms
    for relaxation, x, _, pieces in s.answers:
        if name == "cone" and relaxation.name == "P3":
            continue  # any x within alpha is a solution; y* = 0 exposes everything
        y = s.problem.loss.gradient(s.problem.b - s.problem.M.apply(x))
        z = np.asarray(s.problem.M.adjoint(y)).ravel()
        seen = 0
        for part, (points, c) in zip(s.model.parts, pieces, strict=True):
            used = c > 1e-3 * sum(q.sum() for _, q in pieces)
            target = part.unit.support(z.reshape(part.unit.shape)) if whole.bounded else 0.0
            if isinstance(whole, fa.atoms.Union):
                target = whole.support(z)
            room = 1e-4 * np.linalg.norm(y) * np.linalg.norm(s.problem.M.inner.matrix, 2)
            size = np.linalg.norm(points[used], axis=1).max(initial=1.0)
            assert np.all(points[used] @ z >= target - room * size)
            seen += int(used.sum())
        assert seen > 0


@pytest.mark.parametrize("kind", PLANS)
def test_atoms_of_a_planted_solution_are_exposed(kind):
    rng = np.random.default_rng([1, *map(ord, kind)])
    for trial in range(30):
        pair = plant(rng, kind, LOSSES[trial % len(LOSSES)], delta=0.1)
        z = pair.z
        top = pair.atoms.support(z.reshape(pair.atoms.shape))
        noise = 1e-13 * np.linalg.norm(pair.y) * np.linalg.norm(pair.M) * np.linalg.norm(pair.plan.points, axis=1).max()
        assert np.abs(pair.plan.points @ z - top).max() <= noise
        if pair.plan.parts[0] is None:
            continue
        # and no others: the exposed face holds the support and nothing else, part by part
        face = pair.atoms.exposed(z, 0.01 * top)
        for true, found in zip(pair.plan.parts, face.parts, strict=True):
            assert set(labels(found)) == set(true)


def labels(face):
    return face.labels().tolist()


def test_the_exposed_face_is_empty_where_all_atoms_point_away():
    for atoms in (fa.NonnegativeOneHot(3), fa.Dictionary(np.eye(3), symmetric=False), 2.0 * fa.NonnegativeOneHot(3)):
        assert atoms.exposed(-np.ones(3), 0.0).size == 0
        assert atoms.support(-np.ones(3)) == 0.0
    assert fa.PSDRankOne(3).exposed(-np.eye(3), 0.0).size == 0
