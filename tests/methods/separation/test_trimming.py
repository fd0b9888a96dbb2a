"""Low rank plus few entries: the parts are found, budgets are kept, what is left open is found as well."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Sum, Union
from methods.separation.mixed import alternating_projections, assert_adds_up, assert_honest, mix, of

# Budgets --------------------------------------------------------------------------------------------------------------

PLANTED = {  # rows, columns, rank, changed entries
    "square": (12, 12, 2, 8),
    "wide": (9, 25, 1, 20),
    "tall": (25, 9, 1, 20),
    "rank 3": (30, 24, 3, 36),
    "many changes": (24, 24, 1, 100),
}


@pytest.mark.parametrize("size", [(2.0, 4.0), (1e3, 2e3), (3.0, 1e3), (1e6, 1e6 + 1)], ids=str)
@pytest.mark.parametrize("name", PLANTED)
def test_both_parts_are_found_among_gross_errors(name, size):
    for seed in range(3):
        m = mix(seed, *PLANTED[name], size=size)
        s, L, S = m.fit(m.k, kind=(Sum, Union)[seed % 2], turned=seed == 1)
        assert_adds_up(m, s, L, S, m.k)
        assert s.misfit <= 1e-9
        np.testing.assert_allclose(L.x, m.low, atol=max(1e-6 * np.abs(m.low).max(), 1e-12 * np.abs(m.X).max()))
        np.testing.assert_array_equal(S.x != 0, m.sparse != 0)


@pytest.mark.parametrize("size", [(2.0, 4.0), (3.0, 1e3)], ids=str)
def test_both_parts_are_found_where_entries_are_missing(size):
    for seed in range(4):
        m = mix(seed, *((30, 24), (24, 30))[seed % 2], 2, 20, size=size, share=0.7)
        s, L, S = m.fit(m.k, turned=seed > 1)
        assert_adds_up(m, s, L, S, m.k)
        np.testing.assert_allclose(L.x, m.low, atol=1e-3 * np.abs(m.low).max())
        np.testing.assert_array_equal(S.x != 0, m.sparse != 0)


@pytest.mark.parametrize("shape", [(60, 200), (150, 120)], ids=str)
def test_matrices_too_large_for_many_starts(shape):
    """One start has to do, gross errors or not."""
    for size in ((1.0, 3.0), (1e3, 3e3)):
        m = mix(0, *shape, 4, shape[0] * shape[1] // 10, size=size)
        s, L, _ = m.fit(m.k)
        np.testing.assert_allclose(L.x, m.low, atol=1e-5 * np.abs(m.low).max())
        assert s.cardinality == sum(m.k)


NOISY = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "integers": lambda rng, shape: rng.integers(-2, 3, shape).astype(float),
    "diagonal": lambda rng, shape: np.eye(*shape),
    "many orders": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 2, shape),
}


@pytest.mark.parametrize("share", [1.0, 0.75])
@pytest.mark.parametrize("name", NOISY)
def test_not_worse_than_alternating_projections(name, share):
    """Hardly ever, and never much; and never more atoms than allowed, however many entries are equal."""
    excess = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shape = tuple(int(n) for n in rng.integers(3, 13, 2))
        X, seen = NOISY[name](rng, shape), rng.random(shape) < share
        seen.flat[rng.permutation(np.flatnonzero(X))[:3]] = True
        k = int(rng.integers(1, min(shape) // 2 + 1)), int(rng.integers(1, X.size // 5 + 2))
        m = of(X, seen, k)
        s, L, S = m.fit(k, kind=(Sum, Union)[seed % 2])
        loss = assert_adds_up(m, s, L, S, k)
        excess.append(loss / (alternating_projections(m) + 1e-12 * float(m.b @ m.b)))
    assert np.sort(excess)[-2] <= 1.01
    assert max(excess) <= 1.15


@pytest.mark.parametrize("misfit", [0.0, 1e-3, 0.3])
def test_a_bound_is_met_or_said_not_to_be(misfit):
    met = []
    for seed in range(2):
        m = mix(seed, 10, 8, 2, 8, noise=(0.0, 0.05)[seed % 2], share=(1.0, 0.9)[seed % 3 == 0])
        for k in (m.k, (1, 3), (1, 20)):
            s, L, S = m.fit(k, misfit=misfit, turned=bool(seed % 2))
            assert_adds_up(m, s, L, S, k)
            assert_honest(s, misfit)
            met.append(s.success)
    assert any(met)
    assert not all(met) or misfit >= 0.3


@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize("k", [(2, 10), (2, None), (None, None)], ids=str)
def test_units_of_the_data_do_not_matter(k, factor):
    m = mix(2, 14, 11, 2, 10, noise=0.05)
    plain, *_ = m.fit(k)
    s, *_ = m.fit(k, b=factor * m.b)
    assert [p.cardinality for p in s.parts] == [p.cardinality for p in plain.parts]
    np.testing.assert_allclose(s.x, factor * plain.x, atol=1e-6 * factor * np.abs(m.X).max())


@pytest.mark.parametrize("k", [(2, 10), (2, None), (None, 10)], ids=str)
@pytest.mark.parametrize("shape", [(14, 11), (12, 12)], ids=str)
def test_rows_and_columns_have_no_order(shape, k):
    """Turned over, or in another order, a matrix has the same parts."""
    m, rng = mix(4, *shape, 2, 10, noise=0.02), np.random.default_rng(0)
    rows, cols = rng.permutation(shape[0]), rng.permutation(shape[1])
    plain, L, S = m.fit(k)
    size = np.abs(m.low).max()
    for other, back in (
        (m.X.T, lambda x: x.T),
        (m.X[rows][:, cols], lambda x: x[np.argsort(rows)][:, np.argsort(cols)]),
    ):
        s, L_, S_ = of(np.ascontiguousarray(other)).fit(k)
        assert s.loss == pytest.approx(plain.loss, rel=1e-3)
        np.testing.assert_allclose(back(L_.x), L.x, atol=5e-3 * size)
        np.testing.assert_array_equal(back(S_.x) != 0, S.x != 0)


@pytest.mark.parametrize(
    ("k", "options"),
    [((1, 8), {}), ((1, None), {"misfit": 0.05}), (None, {}), (None, {"kind": Union, "misfit": 0.1})],
    ids=str,
)
def test_same_input_same_answer_and_untouched(k, options):
    m = mix(5, 12, 9, 1, 8, noise=0.05, share=0.95)
    b = m.b
    before = b.copy()
    one, other = m.fit(k, b=b, **options)[0], m.fit(k, b=b, **options)[0]
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(b, before)
    assert one.message == other.message


def test_units_of_the_parts_only_change_coefficients():
    m = mix(6, 10, 9, 1, 6, noise=0.05)
    plain, L, S = m.fit(m.k)
    for low, sparse in ((2.0, 1.0), (1.0, -0.5), (-3.0, 4.0)):
        s, L_, S_ = m.fit(m.k, low=low, sparse=sparse)
        np.testing.assert_allclose(s.x, plain.x, atol=1e-9)
        assert s.gauge == pytest.approx(
            max(np.linalg.norm(L.x, "nuc") / abs(low), np.abs(S.x).sum() / abs(sparse)), rel=1e-9
        )
        assert L_.gauge == pytest.approx(L.gauge / abs(low))
        assert S_.gauge == pytest.approx(S.gauge / abs(sparse))


# Budgets left open ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("shape", [(20, 14), (14, 20)], ids=str)
def test_as_few_entries_as_meet_the_bound(shape, share):
    """Noticeably smaller budgets do not meet it."""
    for seed in range(2):
        m = mix(seed, *shape, 2, 20, noise=0.1, share=share)
        misfit = 0.95 * 0.1 * math.sqrt(m.b.size) / np.linalg.norm(m.b)
        s, L, S = m.fit((2, None), misfit=misfit, turned=bool(seed))
        assert_adds_up(m, s, L, S, (2, None))
        assert_honest(s, misfit)
        assert s.success
        assert S.cardinality <= 22
        fewer = math.floor(0.95 * S.cardinality) - 1
        assert not m.fit((2, fewer), misfit=misfit)[0].success


@pytest.mark.parametrize("misfit", [0.0, 1e-12, 1e-9, 1e-6])
def test_bounds_next_to_nothing_are_met_by_what_was_planted(misfit):
    for seed in range(3):
        m = mix(seed, 20, 16, 2, 15)
        s, L, S = m.fit((2, None), misfit=misfit)
        assert s.status is fa.Status.BOUND_MET
        assert (L.cardinality, S.cardinality) == (2, 15)
        s, L, S = m.fit((None, 15), misfit=misfit)
        assert s.status is fa.Status.BOUND_MET
        assert (L.cardinality, S.cardinality) == (2, 15)


def test_equal_entries_are_not_all_needed():
    """Leaving out one of many equal residuals is leaving out one."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (8, 6))
    for misfit in (0.2, 0.5, 0.7):
        s, _, S = of(X).fit((1, None), misfit=misfit)
        assert s.success
        assert S.cardinality <= X.size // 2


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("share", [1.0, 0.85])
def test_what_stands_out_is_found_without_a_budget(noise, share):
    for seed in [int(share < 1)]:
        m = mix(seed, 24, 22, 2, 24, size=(3.0, 100.0), noise=noise, share=share)
        for k in ((2, None), (None, 24), (None, None), None):
            s, L, S = m.fit(k, turned=bool(seed % 2))
            assert_adds_up(m, s, L, S, k or (None, None))
            assert s.success
            assert L.cardinality == 2
            np.testing.assert_allclose(L.x, m.low, atol=max(1e-6, 5 * noise) * np.abs(m.low).max())
            assert S.cardinality == 24 if noise == 0 or k == (None, 24) else 24 <= S.cardinality <= 36
            if k in ((2, None), (None, None), None):
                assert "what stands out of the noise is left to the open part" in s.message
            assert (S.x[m.sparse != 0] != 0).all()


def test_the_noise_is_told():
    m = mix(0, 30, 25, 2, 30, size=(3.0, 100.0), noise=0.05)
    s, _, S = m.fit((2, None))
    note = s.message.split("Note: ")[1]
    assert note.startswith(f"{S.cardinality} entries stand out of noise of standard deviation")
    assert float(note.split("deviation ")[1].split(",")[0]) == pytest.approx(0.05, rel=0.15)


def test_a_bound_alone_finds_rank_and_entries():
    for seed in range(3):
        m = mix(seed, 24, 20, 2, 20, noise=0.05)
        misfit = 0.05 * math.sqrt(m.b.size) / np.linalg.norm(m.b)
        for k in ((None, None), None, (None, 20)):
            s, L, S = m.fit(k, misfit=misfit)
            assert s.status is fa.Status.BOUND_MET
            assert L.cardinality == 2
            assert S.cardinality <= 21


def test_small_noisy_matrices_are_not_interpolated():
    """A criterion that never minds how few numbers are left would always end with none."""
    for seed in range(4):
        m = mix(seed, 7, 6, 1, 1, noise=0.1)
        s, L, S = m.fit((None, None))
        assert L.cardinality * (13 - L.cardinality) + S.cardinality < 42
        assert s.misfit >= 1e-6


# Extreme matrices -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [(1, 1), (1, None), (None, 1), (None, None), None], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)], ids=str)
def test_next_to_no_matrix(shape, k):
    for X in (np.zeros(shape), np.full(shape, 3.0), np.arange(1.0, 1 + math.prod(shape)).reshape(shape)):
        for kind, misfit in ((Sum, None), (Union, 0.1), (Sum, 0.1)):
            s, L, S = of(X).fit(k, kind=kind, misfit=misfit)
            assert s.success
            assert s.misfit <= (0.1 if misfit else 0.25) * (1 + 1e-9)
            np.testing.assert_allclose(L.x + S.x, s.x, atol=1e-12)
            if not X.any():
                assert s.status is fa.Status.ZERO
                assert s.cardinality == 0


@pytest.mark.parametrize("k", [(5, 30), (5, 1), (1, 30), (4, 29)], ids=str)
def test_budgets_that_explain_everything(k):
    m = of(np.random.default_rng(0).standard_normal((6, 5)))
    s, L, S = m.fit(k)
    assert_adds_up(m, s, L, S, k)
    assert s.misfit <= 1e-12


def test_rows_and_columns_that_are_not_seen():
    m = mix(1, 16, 12, 1, 6)
    m.seen[3], m.seen[:, 5] = False, False
    m.sparse[~m.seen] = 0.0
    for options in ({"k": (1, 6)}, {"k": (1, None)}, {"kind": Union}):
        s, L, S = m.fit(**options)
        assert_adds_up(m, s, L, S)
        np.testing.assert_allclose(L.x[m.seen], m.low[m.seen], atol=1e-3 * np.abs(m.X).max())
        assert np.isfinite(s.x).all()
        assert np.abs(s.x[3]).max() <= 1e-4 * np.abs(m.X).max()
