"""Answers known up to a phase are compared up to one."""

import numpy as np
import pytest

from fewatoms import phase


def draw(rng, shape, complex_):
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2) if complex_ else real


@pytest.mark.parametrize("complex_", [False, True])
def test_align_takes_the_best_phase(complex_):
    rng = np.random.default_rng(0)
    x = draw(rng, 9, complex_)
    turned = x * (np.exp(0.7j) if complex_ else -1.0)
    np.testing.assert_allclose(phase.align(turned, x), x, atol=1e-14)
    assert phase.relative_error(turned, x) < 1e-14
    other = draw(rng, 9, complex_)
    nearest = np.linalg.norm(phase.align(other, x) - x)
    for angle in np.linspace(0, 2 * np.pi, 40) if complex_ else (0, np.pi):
        factor = np.exp(1j * angle) if complex_ else np.cos(angle)
        assert nearest <= np.linalg.norm(factor * other - x) + 1e-12


@pytest.mark.parametrize("complex_", [False, True])
def test_align_turns_factors(complex_):
    rng = np.random.default_rng(1)
    L = draw(rng, (9, 3), complex_)
    Q, _ = np.linalg.qr(draw(rng, (3, 3), complex_))
    np.testing.assert_allclose(phase.align(L @ Q, L), L, atol=1e-13)
    turned = phase.align(draw(rng, (9, 3), complex_), L)
    assert turned.shape == L.shape
    assert np.isrealobj(turned) != complex_


def test_align_of_orthogonal_vectors_leaves_them():
    np.testing.assert_array_equal(phase.align([1.0, 0.0], [0.0, 1.0]), [1.0, 0.0])


@pytest.mark.parametrize(
    ("x", "reference", "error", "said"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], ValueError, r"x and reference must have one shape; got \(2,\) and \(3,\)"),
        (np.ones((2, 2, 2)), np.ones((2, 2, 2)), ValueError, r"x must have shape \(n,\) or \(n, k\)"),
        ([], [], ValueError, "x must have shape"),
        (["a"], [1.0], TypeError, "x must hold numbers"),
        ([1.0], [np.inf], ValueError, "reference must hold finite numbers only"),
    ],
)
def test_align_refuses(x, reference, error, said):
    with pytest.raises(error, match=said):
        phase.align(x, reference)


def test_relative_error_needs_a_reference():
    with pytest.raises(ValueError, match="reference must not be zero"):
        phase.relative_error([1.0], [0.0])
