"""Theorem 2 in floating point: rounding and tolerances must not cost a true atom its place.

The gap is a difference of numbers far larger than itself, and a point may be feasible by tolerance only. Atoms of next
to no weight find out, since they add nothing to the gap that gives them away.
"""

import numpy as np
import pytest

import fewatoms as fa
from theory.evidence import SEEN, certificate, dual_point, excluded, mixture, near
from theory.pairs import (
    LOSSES,
    plant,
    with_faint_atoms,
)


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "groups", "rank one", "psd", "union"])
def test_no_true_atom_is_excluded_when_rounding_is_all_there_is(kind, name):
    # Residuals far smaller than the data, dual vectors almost exact, and atoms of the support with next to no weight:
    # <b, y> dwarfs the dual value, and the gap is its rounding error.
    rng = np.random.default_rng([3, *map(ord, kind + name)])
    for trial in range(30):
        pair = with_faint_atoms(plant(rng, kind, LOSSES[trial % 4], noise=10.0 ** rng.uniform(-7, -2)), rng)
        problem = pair.problem()
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-10, -5)))
        assert excluded(pair, cert) == 0


def test_no_true_atom_is_excluded_when_the_computed_gap_is_noise():
    # (P2) with data of size 1 and a residual of size 1e-6: the values are 1e-12, the terms that cancel in them 1e-6. A
    # faint atom of the support is turned away from y by a step whose true gap is below the rounding of those terms.
    rng = np.random.default_rng(15)
    for _ in range(60):
        pair = plant(rng, "signed", noise=1e-6, delta=0.5)
        while len(pair.plan.points) < 2:
            pair = plant(rng, "signed", noise=1e-6, delta=0.5)
        pair = with_faint_atoms(pair, rng, faintest=-14, faint=-13)
        away = against_the_last(pair)
        y = pair.y - 1e-11 * away
        problem = pair.problem()
        relaxation = fa.P2(problem, pair.tau)
        cert = certificate(problem, dual_point(problem, relaxation, y, pair.alpha, pair.tau))
        assert excluded(pair, cert) == 0


def against_the_last(pair):
    """A unit vector along the image of the last atom of the support, orthogonal to the images of the others."""
    images = pair.M @ pair.plan.points.T
    others, last = images[:, :-1], images[:, -1]
    away = last - others @ np.linalg.lstsq(others, last)[0]
    return away / np.linalg.norm(away)


@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "groups"])
def test_no_true_atom_is_excluded_when_the_primal_point_lives_off_the_tolerance(kind):
    # A gauge of tau (1 + 9e-11) counts as tau, a loss of alpha (1 + 9e-13) as alpha; what they gain must be paid for.
    rng = np.random.default_rng([4, *map(ord, kind)])
    for trial in range(60):
        pair = with_faint_atoms(plant(rng, kind, LOSSES[trial % 4], noise=10.0 ** rng.uniform(-2, 1)), rng)
        problem = pair.problem()
        y = near(pair, rng, 10.0 ** rng.uniform(-8, -4))
        loss, gauge, _ = mixture(pair, rng, 1 + 9e-11, 0.0)
        cert = certificate(problem, dual_point(problem, fa.P2(problem, pair.tau), y, loss, gauge))
        assert np.isfinite(cert.gap)
        assert excluded(pair, cert) == 0


def test_no_true_atom_is_excluded_when_the_loss_is_above_alpha_by_what_counts_as_alpha():
    # (P3) with beta* known to seven digits, and y turned away from a faint atom by less than the tolerance hides.
    rng = np.random.default_rng(16)
    for _ in range(40):
        pair = plant(rng, "signed", noise=1.0, delta=0.5)
        while len(pair.plan.points) < 2:
            pair = plant(rng, "signed", noise=1.0, delta=0.5)
        pair = with_faint_atoms(pair, rng, faintest=-14, faint=-13)
        problem = pair.problem()
        relaxation, around = fa.P3(problem), []
        for t in (-1e-7, 1e-7):
            loss, gauge, _ = mixture(pair, rng, 1 + t, 0.0)
            around.append(dual_point(problem, relaxation, pair.y, loss, gauge))
        away = against_the_last(pair)
        y = pair.y - 1e-6 * np.sqrt(pair.alpha) * away
        loss, gauge, _ = mixture(pair, rng, 1 - 0.9e-12 * pair.alpha / (pair.lam * pair.tau), 0.0)
        assert pair.alpha < loss <= problem.tolerance
        cert = certificate(problem, dual_point(problem, relaxation, y, loss, gauge), around=around)
        assert cert.beta_bounds[1] < (1 + 1e-3) * cert.beta_bounds[0]
        assert excluded(pair, cert) == 0
