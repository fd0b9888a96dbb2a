"""The relaxations over semidefinite matrices, followed in the space of y."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.phases.barrier import Barrier
from fewatoms.retrieval.forms import semiforms


def forms(n, m, complex_, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if complex_ else 0.0)
    L = rng.standard_normal((n, 2))
    b = np.sum(np.abs(A @ L) ** 2, axis=1)
    b = b + noise * np.linalg.norm(b) / np.sqrt(m) * rng.standard_normal(m)
    return semiforms(fa.Problem.of(fa.Quadratic(A), b, atoms=fa.PSDRankOne(n), k=1))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 7), (10, 4), (10, 30)])
def test_both_ends_meet(n, m, complex_):
    F = forms(n, m, complex_)
    size = float(np.linalg.norm(F.b))
    found = Barrier().bounded(F, 0.1 * size)
    assert found.solved
    assert not found.endless
    assert found.loss <= 0.5 * (0.1 * size) ** 2
    top = np.linalg.eigvalsh(F.adjoint(found.y))[-1]
    assert top <= 1 + 1e-12
    value = F.b @ found.y - 0.1 * size * np.linalg.norm(found.y)
    assert value <= found.gauge * (1 + 1e-9)
    assert value >= 0.99 * found.gauge
    lam = 0.01 * np.linalg.eigvalsh(F.adjoint(F.b))[-1]
    found = Barrier().penalised(F, lam)
    assert np.linalg.eigvalsh(F.adjoint(found.y))[-1] <= lam * (1 + 1e-12)
    value, primal = F.b @ found.y - 0.5 * found.y @ found.y, found.loss + lam * found.gauge
    assert 0.99 * primal <= value <= primal * (1 + 1e-9)


def test_what_no_matrix_meets_has_no_end():
    A = np.ones((2, 3))  # twice the same, with other data
    F = semiforms(fa.Problem.of(fa.Quadratic(A), [1.0, 2.0], atoms=fa.PSDRankOne(3), k=1))
    found = Barrier().bounded(F, 1e-3)
    assert found.endless
    assert not found.solved


def test_data_that_no_atom_is_aligned_with():
    F = semiforms(fa.Problem.of(np.eye(4), [-1.0, 0.0, 0.0, -2.0], atoms=fa.PSDRankOne(2), k=1))
    assert Barrier().bounded(F, 0.1) is None
    assert Barrier().penalised(F, 0.1) is None
