"""Sums and unions of sets: the parts are found, no part has more atoms than allowed, and what is proven is true."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import oracles
from fewatoms.atoms import Sum, Union
from fewatoms.datasets import DCTSynthesis, HaarSynthesis

# Matrices of low rank with a few entries changed ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixed:
    """X = low + sparse + noise, of which the entries `seen` are given."""

    low: np.ndarray
    sparse: np.ndarray
    X: np.ndarray
    seen: np.ndarray
    k: tuple[int, int]

    @property
    def shape(self):
        return self.X.shape

    @property
    def b(self):
        return self.X[self.seen]

    @property
    def M(self):
        return fa.Identity(self.shape) if self.seen.all() else fa.Sampling(*np.nonzero(self.seen), self.shape)

    def fit(self, k=None, *, kind=Sum, turned=False, low=1.0, sparse=1.0, b=None, **options):
        """The answer with the low-rank part first, whatever the order of the parts."""
        parts = [low * fa.RankOne(*self.shape), sparse * fa.SignedOneHot(self.shape)]
        k = k[::-1] if turned and isinstance(k, tuple) else k
        atoms = kind(*(parts[::-1] if turned else parts))
        s = fa.fit(self.M, self.b if b is None else b, atoms=atoms, k=k, **options)
        L, S = s.parts[::-1] if turned else s.parts
        return s, L, S

    def left(self, x):
        return np.where(self.seen, self.X - x, 0.0)


def of(X, seen=None, k=(1, 1)):
    """A matrix that nothing is known about."""
    seen = np.ones(X.shape, dtype=bool) if seen is None else seen
    return Mixed(X, np.zeros_like(X), X, seen, k)


def mix(seed, p, q, rank, count, *, size=(5.0, 10.0), noise=0.0, share=1.0):
    """A planted matrix; the logarithms of the changes are drawn between those of two sizes, in units of the rest."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((p, rank)) @ rng.standard_normal((q, rank)).T / math.sqrt(rank)
    seen = rng.random((p, q)) < share
    S = np.zeros((p, q))
    at = rng.permutation(np.flatnonzero(seen))[:count]
    S.flat[at] = rng.choice([-1.0, 1.0], count) * np.exp(rng.uniform(*np.log(size), count))
    return Mixed(L, S, L + S + noise * rng.standard_normal((p, q)), seen, (rank, count))


def assert_adds_up(m, s, L, S, k=(None, None)):
    """What is said about an answer, recomputed from its dense form."""
    size = np.abs(m.X).max()
    np.testing.assert_allclose(L.x + S.x, s.x, atol=1e-11 * size)
    assert np.linalg.matrix_rank(L.x, tol=1e-9 * size) <= L.cardinality
    assert np.count_nonzero(S.x) <= S.cardinality
    assert all(j is None or part.cardinality <= j for part, j in zip((L, S), k, strict=True))
    assert not S.x[~m.seen].any()
    loss = 0.5 * float(np.sum(m.left(s.x) ** 2))
    reference = 0.5 * float(m.b @ m.b)
    assert s.loss == pytest.approx(loss, rel=1e-7, abs=1e-24 * reference)
    assert s.misfit == pytest.approx(math.sqrt(loss / reference), rel=1e-7, abs=1e-12)
    assert s.cardinality == L.cardinality + S.cardinality
    return loss


def assert_honest(s, misfit):
    """With a bound: success, status and misfit agree."""
    met = s.misfit <= misfit * (1 + 1e-9) + 1e-13
    assert s.success == met
    assert s.status is (fa.Status.BOUND_MET if met else fa.Status.NOT_REACHED)


# Principal component pursuit ------------------------------------------------------------------------------------------


def pursuit(m, c, delta):
    """The least |L|_* + |S|_1 / c with |X - L - S| <= delta on what is seen, by cvxpy."""
    L, S = cp.Variable(m.shape), cp.Variable(m.shape)
    left = (m.X - L - S)[m.seen]
    bound = cp.norm(left, 2) <= delta if delta else left == 0
    program = cp.Problem(cp.Minimize(cp.normNuc(L) + cp.sum(cp.abs(S)) / c), [bound])
    return float(program.solve(solver=cp.CLARABEL))


MATRICES = {
    "planted": lambda seed: mix(seed, 8, 7, 1, 5),
    "planted, missing": lambda seed: mix(seed, 9, 7, 1, 4, share=0.8),
    "noisy, wide": lambda seed: mix(seed, 5, 9, 2, 6, noise=0.3),
    "noise, tall, missing": lambda seed: of(*halved(np.random.default_rng(seed), (9, 4))),
    "integers, missing": lambda seed: of(*halved(np.random.default_rng(seed), (6, 6), integers=True)),
    "diagonal": lambda seed: of(np.eye(5, 6)),
    "one entry": lambda seed: of(np.eye(6, 5) * (np.arange(5) == seed)),
    "low rank": lambda seed: mix(seed, 6, 8, 1, 0),
    "one row": lambda seed: of(np.random.default_rng(seed).standard_normal((1, 6))),
    "one number": lambda seed: of(np.full((1, 1), -3.0)),
}


def halved(rng, shape, integers=False):
    seen = rng.random(shape) < 0.7
    seen[0, 0] = True
    X = rng.integers(-2, 3, shape).astype(float) if integers else rng.standard_normal(shape)
    X[0, 0] = 1.0
    return X, seen


def assert_encloses(certificate, optimum):
    """primal - gap <= optimum <= primal, up to what cvxpy is off."""
    slack = 3e-6 * optimum
    assert certificate.gap >= 0
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack


@pytest.mark.parametrize("misfit", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("name", MATRICES)
def test_pursuit_against_a_convex_program(name, misfit):
    for seed in range(2):
        m = MATRICES[name](seed)
        turned = bool(seed)
        low, sparse = ((1.0, 1.7), (-2.0, 3.0))[seed]
        s, L, S = m.fit(
            kind=Union,
            turned=turned,
            low=low,
            sparse=sparse,
            misfit=misfit,
            oracle=oracles.Splitting(tol=1e-6, steps=300),
        )
        optimum = pursuit(m, abs(sparse / low), misfit * np.linalg.norm(m.b)) / abs(low)
        assert_adds_up(m, s, L, S)
        assert_honest(s, misfit)
        assert s.success
        gauge = np.linalg.norm(L.x, "nuc") / abs(low) + np.abs(S.x).sum() / abs(sparse)
        assert s.gauge == pytest.approx(gauge, rel=1e-9, abs=1e-14)
        assert s.certificate.relaxation.name == "P3"
        assert s.certificate.primal == pytest.approx(gauge, rel=1e-7)
        assert_encloses(s.certificate, optimum)
        assert gauge <= optimum + s.certificate.gap + 3e-6 * optimum


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (8, 8)], ids=str)
def test_pursuit_with_nothing_but_the_data(shape, turned, share):
    """Neither k nor a bound: the usual weight, and the data are met."""
    m = mix(3, *shape, 1, 5, noise=0.1, share=share)
    s, L, S = m.fit(kind=Union, turned=turned)
    assert_adds_up(m, s, L, S)
    optimum = pursuit(m, math.sqrt(max(shape)), 1e-6 * np.linalg.norm(m.b))
    assert s.success
    assert s.misfit <= 1e-6 * (1 + 1e-9)
    assert_encloses(s.certificate, optimum)
    assert optimum * (1 - 1e-5) <= s.gauge <= 1.003 * optimum


@pytest.mark.parametrize("share", [1.0, 0.85])
@pytest.mark.parametrize("shape", [(40, 40), (30, 60), (60, 30)], ids=str)
def test_pursuit_finds_what_was_planted(shape, share):
    """Up to what the default bound leaves open."""
    for seed in range(2):
        m = mix(seed, *shape, 1, shape[0] * shape[1] // 50, size=(3.0, 50.0), share=share)
        s, L, S = m.fit(kind=Union)
        assert s.success
        np.testing.assert_allclose(L.x, m.low, atol=1e-4 * np.abs(m.X).max())
        np.testing.assert_allclose(S.x, m.sparse, atol=1e-4 * np.abs(m.X).max())
        assert L.cardinality == 1
        assert s.certificate.gap <= 2e-3 * s.gauge


@pytest.mark.parametrize("misfit", [1e-12, 1e-8, 1e-6])
@pytest.mark.parametrize("name", MATRICES)
def test_rounding_does_not_take_an_answer_out_of_the_bound(name, misfit):
    for seed in range(2):
        s, *_ = MATRICES[name](seed).fit(kind=Union, sparse=1.5, misfit=misfit)
        assert s.status is fa.Status.BOUND_MET
        assert s.misfit <= misfit * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8, 1e100])
def test_pursuit_has_the_units_of_the_data(factor):
    m = mix(1, 8, 7, 1, 4, noise=0.1)
    plain, *_ = m.fit(kind=Union, misfit=0.1)
    s, *_ = m.fit(kind=Union, misfit=0.1, b=factor * m.b)
    np.testing.assert_allclose(s.x, factor * plain.x, atol=1e-8 * factor * np.abs(m.X).max())
    assert s.certificate.gap == pytest.approx(factor * plain.certificate.gap, rel=1e-4, abs=1e-9 * factor)


def test_first_steps_in_single_precision_lead_to_the_same_answer(monkeypatch):
    from fewatoms.oracles import splitting

    m = mix(2, 40, 20, 2, 30, noise=0.05)
    double, *_ = m.fit(kind=Union, misfit=0.05, oracle=fa.oracles.Splitting(tol=1e-6))
    monkeypatch.setattr(splitting, "LARGE", 0)
    single, *_ = m.fit(kind=Union, misfit=0.05, oracle=fa.oracles.Splitting(tol=1e-6))
    assert single.gauge == pytest.approx(double.gauge, rel=1e-5)
    assert single.certificate.gap <= 1e-5 * single.gauge


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("steps", [1, 7, 18])
def test_few_steps_end_with_an_answer(steps, single, monkeypatch):
    from fewatoms.oracles import splitting

    monkeypatch.setattr(splitting, "LARGE", 0 if single else 10**9)
    m = mix(2, 12, 9, 2, 8)
    s, *_ = m.fit(kind=Union, misfit=0.1, oracle=fa.oracles.Splitting(steps=steps))
    assert s.status is fa.Status.BOUND_MET
    assert s.misfit <= 0.1 * (1 + 1e-9)
    assert s.certificate.gap < math.inf


def test_the_weight_decides_which_part_is_used():
    """A small unit of the sparse part makes it dear, a large one cheap: beyond the ends one part is left alone."""
    m = of(np.random.default_rng(0).standard_normal((6, 5)))
    for sparse, empty in ((0.9, 1), (100.0, 0)):
        s, *parts = m.fit(kind=Union, sparse=sparse, misfit=0.1, oracle=oracles.Splitting(tol=1e-6))
        assert s.success
        assert np.abs(parts[empty].x).max() <= 1e-4


def test_all_a_certificate_of_a_pursuit_says_in_words():
    s, *_ = mix(0, 8, 7, 1, 4, noise=0.1).fit(kind=Union, misfit=0.1)
    assert f"within {s.certificate.gap:.3g} of {s.certificate.primal:.6g}" in str(s.certificate)
    assert "The bound alpha" in str(s.certificate)
    assert "a small gauge with a loss of at most" in s.message


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


def alternating_projections(m, steps=100):
    """The lowest loss on the way: the best low rank for what the entries leave, the largest entries for what that
    leaves; nothing is known where nothing is seen."""
    rank, count = m.k
    L, S, best = np.zeros(m.shape), np.zeros(m.shape), math.inf
    for _ in range(steps):
        U, s, V = np.linalg.svd(np.where(m.seen, m.X - S, L), full_matrices=False)
        L = (U[:, :rank] * s[:rank]) @ V[:rank]
        R, S = m.left(L), np.zeros(m.shape)
        out = np.argsort(-np.abs(R), axis=None, kind="stable")[:count]
        S.flat[out] = R.flat[out]
        best = min(best, 0.5 * float(np.sum(m.left(L + S) ** 2)))
    return best


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
    for seed in range(4):
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
    for seed in range(4):
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
    for seed in range(2):
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


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("k", [(1, 1), (1, None), (None, 1), (None, None), None], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)], ids=str)
def test_next_to_no_matrix(shape, k, kind):
    for X in (np.zeros(shape), np.full(shape, 3.0), np.arange(1.0, 1 + math.prod(shape)).reshape(shape)):
        for misfit in (None, 0.1):
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


# Parts of orthonormal atoms -------------------------------------------------------------------------------------------

N = 256


def dct(n=N):
    return fa.Mapped(DCTSynthesis(n), fa.SignedOneHot(n))


def steps():
    """Coarse steps: maps of maps are maps."""
    return fa.Mapped(HaarSynthesis(N, 5), fa.Mapped(np.eye(N)[:, :32], fa.SignedOneHot(32)))


def smooth():
    return fa.Mapped(np.linalg.qr(np.vander(np.linspace(-1, 1, N), 6))[0], fa.SignedOneHot(6))


def mixture():
    return fa.Mapped(np.linalg.qr(np.random.default_rng(0).standard_normal((N, 64)))[0], fa.SignedOneHot(64))


def block_map(p, q, rows, cols):
    """A block of a p x q matrix as a map into it, matrix-free."""
    shape = len(rows), len(cols)

    def forward(w):
        X = np.zeros((p, q))
        X[np.ix_(rows, cols)] = w.reshape(shape)
        return X.ravel()

    def backward(z):
        return z.reshape(p, q)[np.ix_(rows, cols)].ravel()

    return LinearOperator((p * q, shape[0] * shape[1]), matvec=forward, rmatvec=backward, dtype=np.float64)


VECTORS = {  # sets, and how many atoms of each
    "spikes and cosines": ([fa.SignedOneHot(N), dct()], [8, 8]),
    "spikes and steps": ([fa.SignedOneHot(N), steps()], [6, 5]),
    "groups and cosines": ([fa.Groups(np.arange(N) // 4), dct()], [4, 8]),
    "rows and cosines": ([fa.NonnegativeOneHot(N), dct()], [8, 8]),
    "below and cosines": ([-1.0 * fa.NonnegativeOneHot(N), -2.0 * dct()], [8, 8]),
    "in other units": ([0.5 * fa.SignedOneHot(N), -3.0 * dct()], [8, 8]),
    "three": ([fa.SignedOneHot(N), dct(), mixture()], [5, 5, 5]),
    "few columns": ([fa.SignedOneHot(N), smooth()], [8, 3]),
}


def superposed(sets, counts, seed, noise=0.0):
    """Parts drawn at random, with coefficients between 2 and 4 in the units of the atoms, and their noisy sum."""
    rng, parts = np.random.default_rng(seed), []
    for atoms, count in zip(sets, counts, strict=True):
        face = atoms.expose(rng.standard_normal(atoms.shape), count)
        c = rng.uniform(2.0, 4.0, face.dim) / abs(atoms.unwrapped()[2])
        if face.cone is not fa.faces.Cone.NONNEGATIVE:
            c = c * rng.choice([-1.0, 1.0], face.dim)
        parts.append(face.point(c))
    x = sum(p.reshape(parts[0].shape) for p in parts)
    return parts, x + noise * rng.standard_normal(x.shape)


def assert_found(s, parts, noise, counts):
    """Every part within a few times the noise that its atoms catch."""
    for part, truth, count in zip(s.parts, parts, counts, strict=True):
        assert part.cardinality <= count
        error = np.linalg.norm(np.ravel(part.x) - np.ravel(truth))
        assert error <= 1e-8 * np.linalg.norm(truth) + 8 * noise * math.sqrt(16 * count)
    np.testing.assert_allclose(sum(np.ravel(p.x) for p in s.parts), np.ravel(s.x), atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("name", VECTORS)
def test_superposed_parts_are_told_apart(name, kind, noise):
    sets, counts = VECTORS[name]
    for seed in range(2):
        parts, b = superposed(sets, counts, seed, noise)
        s = fa.fit(fa.Identity(N), b, atoms=kind(*sets), k=tuple(counts))
        assert_found(s, parts, noise, counts)
        assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("name", [n for n in VECTORS if n != "rows and cosines" and n != "below and cosines"])
def test_one_budget_a_bound_or_nothing_at_all(name, kind):
    """The same parts are found when less is said."""
    sets, counts = VECTORS[name]
    noise = 0.02
    parts, b = superposed(sets, counts, 3, noise)
    misfit = 1.1 * noise * math.sqrt(N) / np.linalg.norm(b)
    first = (counts[0], *(None,) * (len(counts) - 1))
    for options in (
        {"k": sum(counts)},
        {"k": first, "misfit": misfit},
        {"misfit": misfit},
        {"k": first},
        {"k": (None,) * len(counts)},
        {},
    ):
        s = fa.fit(fa.Identity(N), b, atoms=kind(*sets), **options)
        assert s.success
        assert_found(s, parts, noise, [3 * n for n in counts])
        if "misfit" in options:
            assert_honest(s, misfit)
        if isinstance(options.get("k"), int):
            assert s.cardinality <= sum(counts)


def test_noise_alone_is_not_taken_for_atoms():
    """Groups and matrices catch more of it than entries do: nothing is fitted, not everything."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(16), 16)
    for atoms in (fa.Groups(rows) + dct(), fa.RankOne(16, 16) + fa.Groups(rows), fa.RankOne(16, 16) | dct()):
        sizes = []
        for _ in range(4):
            b = rng.standard_normal(N)
            s = fa.fit(fa.Identity(atoms.shape if len(atoms.shape) > 1 else N), b, atoms=atoms)
            assert s.misfit >= 0.5
            sizes.append(s.cardinality)
        assert np.median(sizes) <= 1


def test_spikes_and_groups():
    """Spikes outside groups are told from groups; a group is worth more than spikes that would make it up."""
    rng = np.random.default_rng(0)
    labels, groups, spikes = np.arange(N) // 8, np.zeros(N), np.zeros(N)
    groups[labels == 3], groups[labels == 17] = rng.uniform(1, 3, 8), -rng.uniform(1, 3, 8)
    spikes[rng.permutation(np.flatnonzero(groups == 0))[:6]] = rng.choice([-2.0, 2.0], 6)
    for noise in (0.0, 0.02):
        b = groups + spikes + noise * rng.standard_normal(N)
        for atoms in (fa.Groups(labels) + fa.SignedOneHot(N), fa.Groups(labels) | 2.0 * fa.SignedOneHot(N)):
            s = fa.fit(fa.Identity(N), b, atoms=atoms, k=(2, 6))
            assert_found(s, [groups, spikes], noise, [2, 6])
            assert set(s.parts[0].indices) == {3, 17}


def test_cones_keep_their_signs():
    """Also where data ask for the opposite, and under negative units."""
    rng = np.random.default_rng(0)
    for sign in (1.0, -1.0, 2.0, -0.5):
        atoms = sign * fa.NonnegativeOneHot(N) | dct()
        for b in (rng.standard_normal(N), -np.ones(N) * sign, np.ones(N) * sign):
            for options in ({"k": (5, 3)}, {"k": 8}, {"misfit": 0.3}, {}):
                s = fa.fit(fa.Identity(N), b, atoms=atoms, **options)
                assert (s.parts[0].x * sign >= 0).all()
                assert s.parts[0].gauge == pytest.approx(np.abs(s.parts[0].x).sum() / abs(sign))


def test_vectors_of_any_length_without_a_matrix():
    n = 4096
    sets, counts = [fa.SignedOneHot(n), dct(n)], [60, 60]
    parts, b = superposed(sets, counts, 0)
    s = fa.fit(fa.Identity(n), b, atoms=sets[0] | sets[1], k=tuple(counts))
    assert_found(s, parts, 0.0, counts)
    assert s.misfit <= 1e-9


ROWS = np.repeat(np.arange(24)[:, None], 16, axis=1)  # one group per row
MATRIX_SETS = {
    "low rank and rows": ([fa.RankOne(24, 16), fa.Groups(ROWS)], [1, 2]),
    "low rank and cosines": ([fa.RankOne(24, 16), dct(24 * 16)], [1, 6]),
    "low rank, entries and rows": ([fa.RankOne(24, 16), fa.SignedOneHot((24, 16)), fa.Groups(ROWS)], [1, 8, 2]),
    "low rank and entries above": ([fa.RankOne(24, 16), fa.NonnegativeOneHot((24, 16))], [1, 10]),
    "low rank in a block": (
        [fa.RankOne(24, 16), fa.Mapped(block_map(24, 16, range(4, 12), range(2, 9)), fa.RankOne(8, 7))],
        [1, 1],
    ),
    "low rank in scattered entries": (
        [fa.RankOne(24, 16), fa.Mapped(block_map(24, 16, [1, 7, 9, 20, 21], range(0, 16, 2)), fa.RankOne(5, 8))],
        [1, 1],
    ),
}


def planted_matrices(sets, counts, seed):
    """Like `superposed`, with low-rank parts of entries about 1 and other atoms that stand out of them."""
    rng, parts = np.random.default_rng(seed), []
    for atoms, count in zip(sets, counts, strict=True):
        face = atoms.expose(rng.standard_normal(atoms.shape), count)
        if face.turning() is not None:
            w = atoms.unwrapped()[0]
            c = np.diag(np.full(count, 1.5 * math.sqrt(w.n))).ravel()
        else:
            c = rng.uniform(4.0, 6.0, face.dim) if isinstance(atoms, fa.Groups) else rng.uniform(6.0, 9.0, face.dim)
            c = c if face.cone is fa.faces.Cone.NONNEGATIVE else c * rng.choice([-1.0, 1.0], face.dim)
        parts.append(face.point(c).reshape(24, 16))
    return parts


@pytest.mark.parametrize("share", [1.0, 0.85])
@pytest.mark.parametrize("name", MATRIX_SETS)
def test_matrices_of_several_scales(name, share):
    sets, counts = MATRIX_SETS[name]
    for seed in range(2):
        rng = np.random.default_rng(100 + seed)
        parts = planted_matrices(sets, counts, seed)
        X = sum(parts)
        seen = rng.random(X.shape) < share
        M, b = (fa.Identity(X.shape), X) if seen.all() else (fa.Sampling(*np.nonzero(seen), X.shape), X[seen])
        s = fa.fit(M, b, atoms=(Sum, Union)[seed](*sets), k=tuple(counts))
        clear = seen.copy()
        for atoms, truth in zip(sets, parts, strict=True):
            if isinstance(atoms, fa.Groups):  # a row of its own leaves nothing to tell about the other parts there
                clear[truth.any(axis=1)] = False
        for atoms, part, truth, count in zip(sets, s.parts, parts, counts, strict=True):
            assert part.cardinality <= count
            if isinstance(atoms, fa.Groups):
                assert set(part.indices) == set(np.flatnonzero(truth.any(axis=1)))
            else:
                error = np.linalg.norm((part.x.reshape(X.shape) - truth)[clear])
                assert error <= 0.05 * np.linalg.norm(truth)
        assert s.misfit <= 0.02


@pytest.mark.parametrize("seed", range(8))
def test_any_parts_any_budgets_any_data(seed):
    """What is said holds for data that no parts explain, too."""
    rng = np.random.default_rng(seed)
    sets = [
        fa.SignedOneHot(64), 2.0 * fa.NonnegativeOneHot(64), dct(64), fa.Groups(np.arange(64) % 9),
        fa.Mapped(HaarSynthesis(64, 3), fa.SignedOneHot(64)),
    ]  # fmt: skip
    for trial in range(8):
        chosen = [sets[i] for i in rng.permutation(5)[: 2 + trial % 2]]
        b = (rng.standard_normal(64), np.ones(64), np.eye(64)[5], rng.integers(-1, 2, 64) + 0.0)[trial % 4]
        each = tuple(int(rng.integers(1, 6)) for _ in chosen)
        for k in (each, sum(each), (None, *each[1:])):
            misfit = (None, 0.5, 0.05)[int(rng.integers(3))]
            s = fa.fit(fa.Identity(64), b, atoms=(Sum, Union)[trial % 2](*chosen), k=k, misfit=misfit)
            assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b), rel=1e-7, abs=1e-13)
            np.testing.assert_allclose(sum(p.x for p in s.parts), s.x, atol=1e-12)
            if isinstance(k, int):
                assert s.cardinality <= k
            else:
                assert all(j is None or p.cardinality <= j for p, j in zip(s.parts, k, strict=True))
            if misfit is not None:
                assert_honest(s, misfit)


# Bad input ------------------------------------------------------------------------------------------------------------

LOW, SPARSE = fa.RankOne(6, 5), fa.SignedOneHot((6, 5))
SOME = np.random.default_rng(0).standard_normal((6, 5))
DENSE = np.random.default_rng(1).standard_normal((20, 30))
EACH = r"k must give one budget for each of the 2 parts of \(RankOne\(6, 5\) \+ SignedOneHot\(\(6, 5\)\)\); got "


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (5, TypeError, EACH + "5"),
        (True, TypeError, EACH + "True"),
        ("ab", TypeError, EACH + "'ab'"),
        ((1,), ValueError, EACH + r"1: \(1,\)"),
        ((1, 1, 1), ValueError, EACH + r"3: \(1, 1, 1\)"),
        ((0, 1), ValueError, r"between 1 and 5, the number of atoms of RankOne\(6, 5\); got 0"),
        ((1, 0), ValueError, r"between 1 and 30, the number of atoms of SignedOneHot\(\(6, 5\)\); got 0"),
        ((1, -1), ValueError, "got -1"),
        ((6, 1), ValueError, "between 1 and 5.*got 6"),
        ((1, 31), ValueError, "between 1 and 30.*got 31"),
        ((1.0, 1), TypeError, "got 1.0"),
        ((True, 1), TypeError, "got True"),
        (("1", 1), TypeError, "got '1'"),
        ((math.nan, 1), TypeError, "got nan"),
    ],
    ids=str,
)
def test_budgets_that_are_none(k, error, message):
    with pytest.raises(error, match=message):
        fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k)


@pytest.mark.parametrize("k", [[1, 2], np.array([1, 2]), (np.int64(1), 2), np.array([1, 2], dtype=np.uint8)], ids=str)
def test_budgets_in_other_clothes(k):
    s = fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k)
    np.testing.assert_array_equal(s.x, fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=(1, 2)).x)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LOW + fa.SignedOneHot(31), ValueError, "same number of entries.*has 30.*has 31"),
        (lambda: LOW | fa.SignedOneHot((5, 6)), ValueError, "same shape"),
        (lambda: fa.fit(fa.Identity((5, 6)), SOME.T, atoms=LOW + SPARSE, k=(1, 1)), ValueError, "shape that M takes"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME.T, atoms=LOW + SPARSE, k=(1, 1)), ValueError, r"b must have shape"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME * 1j, atoms=LOW | SPARSE), TypeError, "b must be real"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW | SPARSE, misfit=-1), ValueError, "misfit.*got -1"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW | SPARSE, alpha=1, misfit=1), ValueError, "give one"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=(1, 1), include=[0]), ValueError, "listed"),
        (lambda: oracles.Splitting(tol=-1.0), ValueError, "tol must be a nonnegative finite number; got -1"),
        (lambda: oracles.Splitting(steps=0), ValueError, "steps must be an integer of at least 1; got 0"),
        (lambda: oracles.Trimming(tol="a"), TypeError, "tol must be a nonnegative finite number; got 'a'"),
        (lambda: oracles.Peeling(tol=math.nan), ValueError, "tol must be a nonnegative finite number; got nan"),
    ],
    ids=range(12),
)
def test_what_does_not_fit_together(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("atoms", [LOW + SPARSE, LOW | SPARSE, LOW + fa.Groups(np.arange(30) // 5)], ids=repr)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_data_that_are_no_numbers(atoms, wrong):
    X = SOME.copy()
    X[2, 3] = wrong
    with pytest.raises(ValueError, match="b must hold finite numbers only; it contains"):
        fa.fit(fa.Identity((6, 5)), X, atoms=atoms, k=(1, 1))
    M, b = fa.Sampling.from_array(np.where(np.isnan(X) | np.isinf(X), np.nan, X))
    assert fa.fit(M, b, atoms=atoms, k=(1, 2)).success


@pytest.mark.parametrize("k", [(1, None), (None, 2), (None, None)], ids=str)
def test_open_budgets_where_no_method_fills_them(k):
    b = DENSE @ SOME.ravel()
    with pytest.raises(ValueError, match=r"k must give a number for each of the 2 parts.*got \("):
        fa.fit(DENSE, b, atoms=LOW + SPARSE, k=k, misfit=0.1)
    for options in ({"loss": fa.Huber(1.0)}, {"loss": fa.LeastSquares(np.ones(30))}, {"free": "intercept"}):
        with pytest.raises(ValueError, match=r"k must give a number for each of the 2 parts.*got \("):
            fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k, **options)


def test_no_budget_where_it_is_needed():
    b = DENSE @ SOME.ravel()
    with pytest.raises(TypeError, match=r"k must .* got None"):
        fa.fit(DENSE, b, atoms=LOW | SPARSE)
    with pytest.raises(TypeError, match=r"k must be given for .* whose atoms cannot be listed; got None"):
        fa.fit(DENSE, b, atoms=LOW | SPARSE, misfit=0.1)
    with pytest.raises(TypeError, match=r"k must give one budget for each of the 2 parts.*got 3"):
        fa.fit(DENSE, b, atoms=fa.SignedOneHot(30) | dct(30), k=3)
    assert fa.fit(DENSE, b, atoms=LOW + SPARSE, k=(1, 2)).success


@pytest.mark.parametrize(
    ("oracle", "options"),
    [
        (oracles.Splitting(), {"atoms": LOW + SPARSE, "k": (1, 1), "misfit": 0.1}),
        (oracles.Splitting(), {"atoms": LOW | SPARSE, "k": (1, 1)}),
        (oracles.Splitting(), {"atoms": LOW | fa.NonnegativeOneHot((6, 5)), "k": (1, 1), "misfit": 0.1}),
        (oracles.Trimming(), {"atoms": LOW | SPARSE, "misfit": 0.1}),
        (oracles.Trimming(), {"atoms": LOW + fa.Groups(np.arange(30) // 5), "k": (1, 1)}),
        (oracles.Peeling(), {"atoms": LOW, "k": 1}),
        (oracles.Peeling(), {"atoms": LOW + SPARSE, "k": (1, 1), "loss": fa.Huber(1.0)}),
    ],
    ids=range(7),
)
def test_oracles_say_what_they_are_for(oracle, options):
    with pytest.raises(ValueError, match=f"{type(oracle).__name__} is for .*; got "):
        fa.fit(fa.Identity((6, 5)), SOME, oracle=oracle, **options)


@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_parts_that_nothing_tells_apart_are_named(scale):
    note = "parts 0 and 1 are the same set: how their atoms are shared out is arbitrary"
    alike, b = [fa.SignedOneHot(30), LOW, fa.Groups(np.arange(30) // 5)], SOME.ravel()
    for atoms in alike:
        M = fa.Identity(atoms.shape if len(atoms.shape) > 1 else atoms.n)
        assert note in fa.fit(M, b, atoms=atoms + scale * atoms, k=(1, 1)).message
    assert "same set" not in fa.fit(fa.Identity(30), b, atoms=fa.SignedOneHot(30) + dct(30), k=(1, 1)).message
    D = np.linalg.qr(DENSE.T)[0]
    maps = fa.Mapped(D, fa.SignedOneHot(20)), fa.Mapped(D.copy(), fa.SignedOneHot(20))
    assert note in fa.fit(fa.Identity(30), b, atoms=Sum(*maps), k=(1, 1)).message


# Paths, callbacks, certificates ---------------------------------------------------------------------------------------

RUNS = {
    "pursuit": {"kind": Union, "misfit": 0.05},
    "budgets": {"k": (2, 10)},
    "budgets and a bound": {"k": (2, 10), "misfit": 1e-3},
    "entries open": {"k": (2, None)},
    "entries open, bound": {"k": (2, None), "misfit": 0.05},
    "rank open": {"k": (None, 10)},
    "nothing said": {},
    "peeling": {"k": (2, 10), "oracle": oracles.Peeling()},
}


def test_paths_are_fits_side_by_side():
    m = mix(7, 14, 11, 2, 10, noise=0.05)
    budgets = [(1, 10), (2, 10), (2, 5), (3, 20), (2, None)]
    for atoms in (fa.RankOne(14, 11) + fa.SignedOneHot((14, 11)), fa.RankOne(14, 11) | fa.SignedOneHot((14, 11))):
        path = fa.fit_path(m.M, m.b, atoms=atoms, k=budgets)
        assert list(path) == budgets
        for k in budgets:
            np.testing.assert_allclose(path[k].x, fa.fit(m.M, m.b, atoms=atoms, k=k).x, atol=1e-10)
        assert path[(2, 10)].loss <= min(path[(1, 10)].loss, path[(2, 5)].loss)
        assert path[(3, 20)].loss <= path[(2, 10)].loss


@pytest.mark.parametrize("by", ["cv", "bic"])
def test_a_path_chooses_what_was_planted(by):
    m = mix(8, 14, 12, 2, 8, size=(5.0, 20.0), noise=0.05)
    seen = np.ones(m.shape, dtype=bool)
    M, b = fa.Sampling(*np.nonzero(seen), m.shape), m.X[seen]
    path = fa.fit_path(M, b, atoms=fa.RankOne(14, 12) + fa.SignedOneHot((14, 12)), k=[(1, 8), (2, 8), (5, 8)])
    assert path.choose_k(by, folds=3) == (2, 8)


@pytest.mark.parametrize("name", RUNS)
def test_callbacks_see_gaps_and_change_nothing(name):
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    seen = []

    def look(progress):
        seen.append((progress.iteration, progress.gap, progress.loss, progress.cardinality, progress.misfit))

    blind, s = m.fit(**RUNS[name])[0], m.fit(callback=look, **RUNS[name])[0]
    np.testing.assert_array_equal(s.x, blind.x)
    assert s.products == blind.products
    assert [row[0] for row in seen] == list(range(1, s.iterations + 1))
    assert all(gap >= -1e-9 for _, gap, *_ in seen)
    assert math.isfinite(seen[-1][1]) or not s.success
    assert seen[-1][2] == pytest.approx(s.loss, rel=1e-6, abs=1e-20)
    if name == "pursuit":
        assert s.certificate.gap <= seen[-1][1] * (1 + 1e-9)
        gaps = [row[1] for row in seen[:-1]]  # the last point stands alone
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("stop", [1, 2])
@pytest.mark.parametrize("name", RUNS)
def test_runs_may_be_stopped_anywhere(name, stop):
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    whole = m.fit(**RUNS[name])[0].iterations

    def callback(progress):
        if progress.iteration == stop:
            raise StopIteration

    (s, L, S), (limited, *_) = m.fit(callback=callback, **RUNS[name]), m.fit(max_iterations=stop, **RUNS[name])
    assert s.iterations == limited.iterations == min(stop, whole)
    if stop <= whole:
        assert s.status is fa.Status.STOPPED
    assert limited.status is fa.Status.ITERATION_LIMIT or stop >= whole
    assert_adds_up(m, s, L, S, RUNS[name].get("k") or (None, None))
    np.testing.assert_array_equal(s.x, limited.x)
    if name == "pursuit":
        assert_encloses(s.certificate, pursuit(m, math.sqrt(14), 0.05 * np.linalg.norm(m.b)))


@pytest.mark.parametrize("name", RUNS)
def test_answers_may_be_pickled(name):
    s = mix(9, 14, 11, 2, 10, noise=0.05).fit(**RUNS[name])[0]
    other = pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(other.x, s.x)
    assert other.certificate.gap == pytest.approx(s.certificate.gap, rel=1e-9)
    assert str(other.certificate) == str(s.certificate)


@pytest.mark.parametrize("name", ["pursuit", "budgets", "nothing said"])
def test_certificates_of_penalised_and_bounded_problems_hold(name):
    """Whatever relaxation a certificate is about, its optimum lies where it says."""
    m = mix(10, 7, 6, 1, 4, noise=0.2)
    options = {**RUNS[name], **({"k": (1, 4)} if "k" in RUNS[name] else {})}
    s, *_ = m.fit(**options)
    certificate = s.certificate
    L, S = cp.Variable(m.shape), cp.Variable(m.shape)
    fit = 0.5 * cp.sum_squares(m.X - L - S)
    if certificate.relaxation.name == "P3":
        optimum = pursuit(m, math.sqrt(7), 0.05 * np.linalg.norm(m.b))
    else:
        gauge = cp.maximum(cp.normNuc(L), cp.sum(cp.abs(S)))
        optimum = cp.Problem(cp.Minimize(fit + certificate.relaxation.parameter * gauge)).solve(solver=cp.CLARABEL)
    slack = 1e-5 * (optimum + 1e-6)
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack


# Paths --------------------------------------------------------------------------------------------------------------


def test_a_path_over_measurements_that_are_no_entries():
    """Sets whose atoms cannot be listed, behind a dense M: each k as if it were alone."""
    rng = np.random.default_rng(0)
    M, b = rng.standard_normal((25, 30)), rng.standard_normal(25)
    for atoms, budgets in (
        (fa.RankOne(6, 5), [1, 2]),
        (fa.RankOne(6, 5) + fa.SignedOneHot((6, 5)), [(1, 1), (1, 2)]),
        (fa.RankOne(6, 5) | fa.SignedOneHot((6, 5)), [(1, 1), (1, 2)]),
    ):
        path = fa.fit_path(M, b, atoms=atoms, k=budgets, max_iterations=3)
        assert path[budgets[1]].loss <= path[budgets[0]].loss * (1 + 1e-9)


def test_a_path_weighs_a_plain_union_as_a_fit_does():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 5))
    M, atoms = fa.Identity(X.shape), fa.RankOne(6, 5) | fa.SignedOneHot((6, 5))
    alone = fa.fit(M, X, atoms=atoms, k=(1, 3))
    assert fa.fit_path(M, X, atoms=atoms, k=[(1, 3)])[(1, 3)].gauge == pytest.approx(alone.gauge, rel=1e-9)


def test_rows_left_out_of_a_matrix_are_entries_not_seen():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((9, 1)) @ rng.standard_normal((1, 8)) + 0.01 * rng.standard_normal((9, 8))
    path = fa.fit_path(fa.Identity(X.shape), X, atoms=fa.RankOne(9, 8) + fa.SignedOneHot((9, 8)), k=[(1, 1), (3, 1)])
    assert path.choose_k("cv") == (1, 1)
    part = fa.Identity((3, 4)).subset(np.array([1, 6, 11]))
    assert isinstance(part, fa.Sampling)
    np.testing.assert_array_equal(part.apply(np.arange(12.0)), [1.0, 6.0, 11.0])


def test_what_is_told_about_open_budgets():
    X = np.random.default_rng(3).standard_normal((6, 5))
    atoms = fa.RankOne(6, 5) + fa.SignedOneHot((6, 5))
    s = fa.fit(fa.Identity(X.shape), X, atoms=atoms, k=(1, None))
    assert "of 1 + any allowed" in str(s.certificate)
    with pytest.raises(ValueError, match=r"None is for Identity or Sampling, least squares without weights"):
        fa.fit(np.eye(30), X.ravel(), atoms=atoms, k=(1, None))
    with pytest.raises(TypeError, match="k must give one budget for each of the 2 parts"):
        fa.fit_path(fa.Identity(X.shape), X, atoms=atoms, k=[None, (1, 1)])
