"""What the methods for low rank plus sparse share, against slow obvious twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fewatoms.separated import EMPTY, NARROW, Roles, Separated, cut_to, gram, largest, weighed

import fewatoms as fa
from fewatoms.atoms import Scaled, Sum, Union

ARRAYS = {
    "gaussian": lambda rng: rng.standard_normal((7, 5)),
    "ties": lambda rng: rng.integers(-2, 3, (8, 6)).astype(float),
    "one size": lambda rng: rng.choice([-3.0, 3.0], (4, 9)),
    "mostly zeros": lambda rng: rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.2),
    "one entry": lambda rng: np.full((1, 1), -2.5),
    "one row": lambda rng: rng.standard_normal((1, 12)),
    "one column": lambda rng: rng.standard_normal((12, 1)),
    "many orders": lambda rng: rng.standard_normal((9, 7)) * 10.0 ** rng.uniform(-12, 12, (9, 7)),
    "gross errors": lambda rng: rng.standard_normal((9, 7)) + 1e9 * (rng.random((9, 7)) < 0.1),
}


# Thresholds -----------------------------------------------------------------------------------------------------------


def cut_by_sorting(R, delta):
    """Between two neighbouring sizes the length of clip(R, -t, t) is known: solve there."""
    a = np.sort(np.abs(R).ravel())
    if np.linalg.norm(a) <= delta:
        return a[-1]
    for i, size in enumerate(a):
        below, above = float(np.sum(a[:i] ** 2)), a.size - i
        if below + above * size**2 >= delta**2:
            return math.sqrt(max(delta**2 - below, 0.0) / above)
    raise AssertionError


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999999, 1.0, 1.5])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_cut_leaves_a_residual_of_the_length_asked_for(name, share):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        R = ARRAYS[name](rng)
        top, delta = float(np.abs(R).max()), share * float(np.linalg.norm(R))
        right = cut_by_sorting(R, delta)
        for guess in (0.0, right, 0.3 * right, 3 * right, top, 2 * top, 1e-300):
            t = cut_to(R, delta, guess)
            assert np.linalg.norm(np.clip(R, -t, t)) <= max(delta, 1e-300) * (1 + 1e-12)
            assert t == pytest.approx(right, rel=1e-6, abs=1e-12 * top)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_a_cut_has_the_units_of_the_data(scale):
    R = np.random.default_rng(0).standard_normal((6, 8))
    assert cut_to(scale * R, scale) == pytest.approx(scale * cut_to(R, 1.0), rel=1e-8)


def test_nothing_needs_no_cut():
    assert cut_to(np.zeros((3, 4)), 0.0) == cut_to(np.zeros((3, 4)), 2.0) == cut_to(np.zeros((0, 4)), 1.0) == 0.0


@pytest.mark.parametrize("name", ARRAYS)
def test_the_largest_are_those_of_a_sorted_list(name):
    """Whatever the guess: they are looked for in a window around it only if they are there."""
    for seed in range(3):
        a = np.abs(ARRAYS[name](np.random.default_rng(seed))).ravel()
        in_order = np.sort(a)[::-1]
        for count in range(1, a.size + 1):
            right = in_order[count - 1]
            for guess in (None, 0.0, math.inf, right, 0.99 * right, 1.01 * right, 1.3 * right, 5 * right, a.max()):
                assert largest(a, count, guess) == right
        assert largest(a, 0) == largest(a, 0, 1.0) == math.inf


# Gram matrices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (9, 4), (4, 9)], ids=str)
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_gram_matrices(shape, order):
    X = np.random.default_rng(0).standard_normal(shape)
    wide = np.repeat(X, 2, axis=1)
    X = {"C": X, "F": np.asfortranarray(X), "strided": wide[:, ::2], "reversed": X[::-1, ::-1]}[order]
    before = X.copy()
    G = gram(X)
    np.testing.assert_allclose(G, before.T @ before, atol=1e-13)
    np.testing.assert_array_equal(G, G.T)
    np.testing.assert_array_equal(X, before)


# The data as a matrix -------------------------------------------------------------------------------------------------

SHAPES = [(5, 3), (3, 5), (4, 4), (1, 6), (6, 1), (1, 1)]


def drawn(shape, share, seed=0):
    """A matrix, a mask, and both as a problem's operator and data (entries in no order)."""
    rng = np.random.default_rng(seed)
    X, seen = rng.standard_normal(shape), rng.random(shape) < share
    seen[0, 0] = True
    if share == 1.0:
        return X, seen, fa.Identity(shape), X.ravel()
    rows, cols = rng.permutation(np.argwhere(seen)).T
    return X, seen, fa.Sampling(rows, cols, shape), X[rows, cols]


@pytest.mark.parametrize("share", [1.0, 0.6, 0.2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_data_stand_with_the_longer_side_as_rows(shape, share):
    X, seen, M, b = drawn(shape, share)
    data = Separated(M, b, shape)
    turned = shape[0] < shape[1]
    X, seen = (X.T, seen.T) if turned else (X, seen)
    assert data.turned == turned
    assert data.D.shape[0] >= data.D.shape[1]
    np.testing.assert_array_equal(data.D, X * seen)
    assert (data.seen is None) == seen.all()
    if data.seen is not None:
        np.testing.assert_array_equal(data.seen, seen)
    assert data.size == pytest.approx(np.linalg.norm(b), rel=1e-14)
    assert data.share == pytest.approx(seen.mean(), rel=1e-14)
    assert data.top == pytest.approx(np.linalg.norm(X * seen, 2), rel=1e-7)


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_there_and_back(shape, share):
    """Data vectors, residuals, entries and factors in the order of the model, whichever way the data stand."""
    X, seen, M, b = drawn(shape, share)
    data, rng = Separated(M, b, shape), np.random.default_rng(1)
    np.testing.assert_array_equal(data.as_data(data.D), b)
    U, V = rng.standard_normal((data.D.shape[0], 1)), rng.standard_normal((data.D.shape[1], 1))
    left, right = data.factors(U, V)
    R = data.left(U, V)
    np.testing.assert_allclose(data.as_data(R), b - M.apply(left @ right.T), atol=1e-14)
    assert not R[data._turn(~seen)].any()
    where, values = data.entries(R, np.abs(R) > 0.5)
    S = np.zeros(X.size)
    S[where] = values
    again = np.where(np.abs(X - left @ right.T) > 0.5, X - left @ right.T, 0.0) * seen
    np.testing.assert_allclose(S.reshape(shape), again, atol=1e-14)


def test_entries_given_one_by_one_may_be_all_of_them():
    X, _, M, b = drawn((4, 3), 0.999999)
    assert Separated(M, b, (4, 3)).seen is None
    np.testing.assert_array_equal(Separated(M, b, (4, 3)).D, X)


def test_what_is_not_filled_in():
    assert Separated.fits(fa.Identity((40, 30)), (40, 30))
    assert Separated.fits(fa.Identity((NARROW, 10**6)), (NARROW, 10**6))
    assert not Separated.fits(fa.Identity((NARROW + 1, NARROW + 1)), (NARROW + 1, NARROW + 1))
    assert not Separated.fits(fa.Identity(6), (6,))
    assert not Separated.fits(np.eye(6), (2, 3))
    few, enough = ([np.arange(n), np.zeros(n, int), (100, EMPTY)] for n in (99, 100))
    assert not Separated.fits(fa.Sampling(*few), (100, EMPTY))
    assert Separated.fits(fa.Sampling(*enough), (100, EMPTY))


# Roles ----------------------------------------------------------------------------------------------------------------

PARTS = [(low, sparse) for low in (1.0, -2.0, 0.5) for sparse in (1.0, 3.0, -0.25)]


def made(kind, low, sparse, *, turned, flat=False, shape=(4, 3)):
    parts = [low * fa.RankOne(*shape), sparse * fa.SignedOneHot(12 if flat else shape)]
    return kind(*(parts[::-1] if turned else parts))


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("scales", PARTS, ids=str)
def test_roles_are_seen_in_either_order_and_in_any_units(kind, turned, scales):
    atoms = made(kind, *scales, turned=turned, flat=scales[0] < 0)
    roles = Roles.of(atoms)
    assert (roles.low, roles.sparse) == ((1, 0) if turned else (0, 1))
    assert (roles.low_scale, roles.sparse_scale) == scales
    assert roles.price == pytest.approx(abs(scales[0] / scales[1]))


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("scales", PARTS, ids=str)
def test_faces_hold_the_point_and_its_gauge(kind, turned, scales):
    rng = np.random.default_rng(0)
    roles = Roles.of(made(kind, *scales, turned=turned))
    P, Q = np.linalg.qr(rng.standard_normal((4, 2)))[0], np.linalg.qr(rng.standard_normal((3, 2)))[0]
    s, where, values = np.array([3.0, 0.5]), np.array([7, 0, 5]), np.array([-2.0, 1.0, 0.25])
    L, S = (P * s) @ Q.T, np.zeros(12)
    S[where] = values
    face, c = roles.face((P, s, Q), (where, values))
    point = fa.solution.CompactPoint(face, c)
    np.testing.assert_allclose(point.x, L + S.reshape(4, 3), atol=1e-14)
    np.testing.assert_allclose(point.parts[roles.low].x, L, atol=1e-14)
    np.testing.assert_allclose(point.parts[roles.sparse].x, S.reshape(4, 3), atol=1e-14)
    assert [point.parts[i].cardinality for i in (roles.low, roles.sparse)] == [2, 3]
    gauges = [np.linalg.norm(L, "nuc") / abs(scales[0]), np.abs(S).sum() / abs(scales[1])]
    right = sum(gauges) if kind is Union else max(gauges)
    assert roles.gauge(s.sum(), np.abs(values).sum()) == pytest.approx(right)
    assert point.gauge == pytest.approx(right)


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_faces_of_nothing(turned):
    roles = Roles.of(made(Union, 1.0, 2.0, turned=turned))
    nothing = np.zeros((4, 0)), np.zeros(0), np.zeros((3, 0))
    face, c = roles.face(nothing, (np.zeros(0, dtype=int), np.zeros(0)))
    assert face.size == c.size == 0
    assert not face.point(c).any()


def test_other_sets_have_no_roles():
    low, sparse = fa.RankOne(3, 3), fa.SignedOneHot((3, 3))
    others = [
        low,
        sparse,
        low + low,
        sparse | sparse,
        low + sparse + sparse,
        low | fa.NonnegativeOneHot((3, 3)),
        fa.PSDRankOne(3) + sparse,
        low + fa.Groups(np.arange(9).reshape(3, 3) // 3),
        low + fa.Mapped(np.eye(9), fa.SignedOneHot(9)),
        fa.SignedOneHot(9) + fa.Mapped(np.eye(9), low),
    ]
    assert [Roles.of(atoms) for atoms in others] == [None] * len(others)


# The usual weight -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (1, 7), (7, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_a_plain_union_gets_the_weight_of_principal_component_pursuit(shape, turned):
    plain = made(Union, 1.0, 1.0, turned=turned, shape=shape)
    z = np.random.default_rng(0).standard_normal(shape)
    c = math.sqrt(max(shape))
    atoms = weighed(plain)
    assert atoms.support(z) == pytest.approx(max(np.linalg.norm(z, 2), c * np.abs(z).max()))
    assert Roles.of(atoms).sparse == (0 if turned else 1)
    assert Roles.of(atoms).price == pytest.approx(1 / c)
    assert not any(isinstance(part, Scaled) for part in plain.parts)


def test_sets_with_weights_of_their_own_are_left_alone():
    low, sparse = fa.RankOne(4, 3), fa.SignedOneHot((4, 3))
    for atoms in (low + sparse, low | 3.0 * sparse, 2.0 * low | sparse, 2.0 * (low | sparse), low | low, low, sparse):
        assert weighed(atoms) is atoms


def test_without_a_weight_no_entry_would_be_used():
    """The 1-norm of a matrix is never below its nuclear norm."""
    plain, rng = made(Union, 1.0, 1.0, turned=False), np.random.default_rng(0)
    for x in (rng.standard_normal((4, 3)), np.eye(4, 3)):
        assert np.abs(x).sum() >= np.linalg.norm(x, "nuc") - 1e-12
        assert plain.gauge(x) == pytest.approx(np.linalg.norm(x, "nuc"), rel=1e-6)
