"""What coefficients pay: values, conjugates and proximal maps against brute force over a fine grid."""

import math

import numpy as np
import pytest

from fewatoms.price import Factors, Squares, price

PRICES = {
    "nothing": Squares(),
    "a ridge": Squares(0.7),
    "a cap": Squares(0.0, 1.5),
    "a ridge and a cap": Squares(0.7, 1.5),
    "to be chosen": Squares(None),
    "factors": Factors(0.7),
    "factors, nothing": Factors(),
    "factors, to be chosen": Factors(None),
}
every_price = pytest.mark.parametrize("pays", PRICES.values(), ids=PRICES)
GRID = np.linspace(-400.0, 400.0, 800_001)  # steps of 1e-3


def one_by_one(pays, grid):
    """p on a grid, straight from the definitions."""
    ridge, cap = pays.ridge or 0.0, math.inf if pays.cap is None else pays.cap
    values = ridge * np.abs(grid) if isinstance(pays, Factors) else 0.5 * ridge * grid**2
    return np.where(np.abs(grid) > cap * (1 + 1e-12), np.inf, values)


@every_price
def test_the_value_is_the_sum(pays):
    for c in (np.array([0.5, -1.2, 0.0]), np.zeros(0), np.array([1.5, -1.5]), np.array([3.0])):
        assert pays.value(c) == pytest.approx(one_by_one(pays, c).sum())


@every_price
def test_the_conjugate_is_the_supremum(pays):
    z = np.array([0.0, 0.3, -0.6, 1.1, -2.5])
    found = pays.conjugate(z)
    for value, slope in zip(found, z, strict=True):
        best = float(np.max(GRID * slope - one_by_one(pays, GRID)))
        if math.isinf(value):
            assert best > 100  # it grows with the grid
        else:
            assert value == pytest.approx(best, abs=1e-5)


@every_price
def test_fenchel_and_young(pays):
    rng = np.random.default_rng(0)
    for _ in range(20):
        c, z = rng.uniform(-1.5, 1.5, 4), rng.uniform(-2.0, 2.0, 4)
        assert pays.value(c) + pays.conjugate(z).sum() >= float(c @ z) - 1e-12


@every_price
@pytest.mark.parametrize("t", [0.1, 2.0])
def test_the_proximal_map_is_the_minimiser(pays, t):
    for c in (-3.0, -0.05, 0.0, 0.4, 2.2):
        near = np.linspace(-4, 4, 80_001)
        best = near[np.argmin(0.5 * (near - c) ** 2 + t * one_by_one(pays, near))]
        assert pays.prox(np.array([c]), t)[0] == pytest.approx(best, abs=2e-4)


@pytest.mark.parametrize(
    ("ridge", "cap", "listed", "expected"),
    [
        (None, None, True, Squares(0.0)),
        (0.5, None, True, Squares(0.5)),
        (np.float32(0.5), 2, True, Squares(0.5, 2.0)),
        ("auto", None, True, Squares(None)),
        (None, None, False, Factors(0.0)),
        (3, None, False, Factors(3.0)),
        ("auto", None, False, Factors(None)),
    ],
)
def test_what_users_say(ridge, cap, listed, expected):
    assert price(ridge, cap, listed=listed) == expected


@pytest.mark.parametrize(
    ("ridge", "cap", "listed", "kind", "message"),
    [
        (-1, None, True, ValueError, r'^ridge must be a nonnegative number or "auto"; got -1$'),
        (np.inf, None, True, ValueError, r"^ridge must be .*; got inf$"),
        (True, None, False, TypeError, r"^ridge must be .*; got True$"),
        ("some", None, False, ValueError, r"^ridge must be .*; got 'some'$"),
        ([0, 0.1], None, True, TypeError, r"^ridge must be .*; got \[0, 0.1\]: lists of ridges belong to fit_path"),
        ((0, 0.1), None, True, TypeError, r"^ridge must be .*; got \(0, 0.1\): lists of ridges belong to fit_path"),
        (np.ones(2), None, True, TypeError, r"^ridge must be .*; got an array of shape \(2,\): lists of ridges belong"),
        (range(3), None, True, TypeError, r"^ridge must be .*; got range\(0, 3\): lists of ridges belong to fit_path"),
        ((1, 2), None, False, TypeError, r"^ridge must be .*; got \(1, 2\): that of biases is told by free=fa.Biases"),
        ([1], None, False, TypeError, r"^ridge must be .*; got \[1\]: .* lists are for atoms that can be listed$"),
        (None, 0, True, ValueError, r"^cap must be a positive finite number; got 0$"),
        (None, "x", True, TypeError, r"^cap must be a positive finite number; got 'x'$"),
        (None, 2.0, False, ValueError, r"^cap is for sets whose atoms can be listed; got cap=2.0"),
    ],
)
def test_what_is_refused(ridge, cap, listed, kind, message):
    with pytest.raises(kind, match=message):
        price(ridge, cap, listed=listed)
