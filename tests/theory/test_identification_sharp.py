"""The constants of Theorem 2 are sharp: with smaller ones a true atom would be excluded."""

import numpy as np
import pytest

import fewatoms as fa
from theory.evidence import alignments, certificate, dual_point, excluded
from theory.pairs import (
    plant,
    recoloured,
)


@pytest.mark.parametrize("name", ["P1", "P3"])
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "weighted groups", "rank one", "psd"])
def test_the_radius_cannot_be_smaller(kind, name):
    # A faint atom a alone in the support, and y moved straight against it: <a, M*y> is short by |Ma| |y - y*| exactly,
    # and the excess of the dual value is |y - y*|^2 / 2L and next to nothing else.
    rng = np.random.default_rng([14, *map(ord, kind + name)])
    for _ in range(10):
        pair = plant(rng, kind, noise=1.0, delta=0.5)
        while len(pair.plan.points) > 1:
            pair = plant(rng, kind, noise=1.0, delta=0.5)
        pair = recoloured(pair, np.full(1, 1e-9))
        problem = pair.problem()
        image = pair.M @ pair.plan.points[0]
        size = 1e-3 * pair.lam / np.linalg.norm(image)
        y = pair.y - size * image / np.linalg.norm(image)
        if name == "P1":
            relaxation = fa.P1(problem, pair.lam)
            excess = relaxation.dual(y) - (pair.loss.conjugate(pair.y) - pair.b @ pair.y)
            radius, level = np.sqrt(2 * excess), pair.lam
        else:
            relaxation, y = fa.P3(problem), pair.beta * y
            excess = relaxation.dual_at(y, pair.beta) - relaxation.dual_at(pair.beta * pair.y, pair.beta)
            radius, level = np.sqrt(2 * pair.beta * excess), 1.0
        short = level - alignments(pair, y)[0]
        assert 0.999 * short <= np.linalg.norm(image) * radius <= 1.01 * short
        if name == "P1":
            cert = certificate(problem, dual_point(problem, relaxation, y, pair.alpha, pair.tau))
            assert excluded(pair, cert) == 0
            assert cert.radius <= 1.01 * radius


def test_the_second_part_needs_its_factor_two():
    # Two atoms with images (1, h) and (-1, h) tie at y*; moving y along (1, 0) lifts one and lowers the other.
    h, c = 1e-3, 1e-12
    M, y = np.array([[1.0, -1.0], [h, h]]), np.array([0.0, 1.0])
    x = np.array([0.0, c])
    problem = fa.Problem.of(M, M @ x + y, atoms=fa.NonnegativeOneHot(2))
    for size in (1e-2, 1e-3, 1e-5):
        moved = y + np.array([size, 0.0])
        cert = certificate(problem, dual_point(problem, fa.P2(problem, c), moved, problem.loss.value(y), c))
        short = cert._level - moved @ M[:, 1]
        assert cert.threshold <= moved @ M[:, 1]
        assert 1 in cert.safe_set
        assert short == pytest.approx(2 * size, rel=1e-9)
        assert cert.epsilon < 1.01 * short
