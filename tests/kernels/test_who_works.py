"""Which loops are taken, in how many threads."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import Sampling, _loops, kernels, ledger, sides
from fewatoms.faces import Factors
from kernels.grids import GRIDS, Grid, everything


@pytest.mark.parametrize("name", ["usual", "many rows", "mostly empty rows", "one row", "rows longer than the tile"])
@pytest.mark.parametrize("count", [2, 3, 16])
def test_threads_do_not_change_a_bit(name, count, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    g = Grid(name)
    monkeypatch.setattr(kernels, "threads", lambda: 1)
    alone = everything(g)
    monkeypatch.setattr(kernels, "threads", lambda: count)
    monkeypatch.setattr(kernels, "PARALLEL", 1)
    for found, expected in zip(everything(g), alone, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_ranges_of_threads_cut_the_rows(name, count, monkeypatch):
    """Every row once, and no range with many more entries than its share and a row."""
    g, spans = Grid(name), []
    recorder = SimpleNamespace(scattered=lambda *arguments: spans.append(arguments[4:6]))
    monkeypatch.setattr(kernels, "_loops", lambda: recorder)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "threads", lambda: count)
    monkeypatch.setattr(kernels, "PARALLEL", 1e-3)
    kernels.scattered(g.values, g.right, *g.places)
    assert len(spans) == min(count, g.p) if g.r else len(spans) == 1
    assert [i for first, last in sorted(spans) for i in range(first, last)] == list(range(g.p))
    longest = int(np.diff(g.starts).max())
    for first, last in spans:
        assert g.starts[last] - g.starts[first] <= g.values.size / len(spans) + longest
    low, high = g.p // 3, max(g.p // 3 + 1, 3 * g.p // 4)  # some of the rows only
    spans.clear()
    recorder.row_grams = lambda *arguments: spans.append(arguments[5:7])
    kernels.row_grams(g.weights, g.right, *g.places, low, high)
    assert len(spans) == (min(count, high - low) if g.starts[high] > g.starts[low] else 1)
    assert [i for first, last in sorted(spans) for i in range(first, last)] == list(range(low, high))


def test_little_work_wakes_no_thread(monkeypatch):
    g, spans = Grid("many rows"), []
    recorder = SimpleNamespace(scattered=lambda *arguments: spans.append(arguments[4:6]))
    monkeypatch.setattr(kernels, "_loops", lambda: recorder)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "threads", lambda: 8)
    for parallel, expected in ((g.values.size * g.r + 1, 1), (g.values.size * g.r // 3, 3), (1, 8)):
        monkeypatch.setattr(kernels, "PARALLEL", parallel)
        spans.clear()
        kernels.scattered(g.values, g.right, *g.places)
        assert len(spans) == expected


THREADS = {
    "nothing told": ({}, 8),
    "numba": ({"NUMBA_NUM_THREADS": "3"}, 3),
    "openmp": ({"OMP_NUM_THREADS": "2"}, 2),
    "numba first": ({"NUMBA_NUM_THREADS": "5", "OMP_NUM_THREADS": "2"}, 5),
    "numba first, though more": ({"NUMBA_NUM_THREADS": "99", "OMP_NUM_THREADS": "2"}, 8),
    "more than there are": ({"OMP_NUM_THREADS": "64"}, 8),
    "zero is no number of threads": ({"OMP_NUM_THREADS": "0"}, 8),
    "empty": ({"NUMBA_NUM_THREADS": "", "OMP_NUM_THREADS": "4"}, 4),
    "no number": ({"NUMBA_NUM_THREADS": "many"}, 8),
    "negative": ({"OMP_NUM_THREADS": "-2"}, 8),
}


@pytest.mark.parametrize("case", THREADS)
def test_threads_follow_the_environment(case, monkeypatch):
    told, expected = THREADS[case]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert kernels.threads() == expected


@pytest.mark.parametrize(("cores", "expected"), [(6, 6), (None, 1)])
def test_threads_where_affinity_is_not_known(cores, expected, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert kernels.threads() == expected


def test_loops_are_taken_from_some_number_of_entries_on(monkeypatch):
    """Below it NumPy does the work, at it the loops do, with the same result."""
    taken = []

    class Recorder:
        def __getattr__(self, name):
            taken.append(name)
            return getattr(_loops, name)

    monkeypatch.setattr(kernels, "_loops", Recorder)
    rng = np.random.default_rng(2)
    rows, cols = np.divmod(rng.permutation(48)[:30], 8)
    M = Sampling(rows, cols, (6, 8))
    face = Factors(*(np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (6, 8)))
    c, b, weights = rng.standard_normal(4), rng.standard_normal(30), rng.uniform(0.5, 1.0, 30)

    def results():
        reduced = M.restrict(face)
        return [reduced.apply(c), *reduced.normal_equations(b, weights), *reduced.normal_equations(b)]

    monkeypatch.setattr(kernels, "WORTHWHILE", 31)
    plain = results()
    assert taken == []
    monkeypatch.setattr(kernels, "WORTHWHILE", 30)
    for found, expected in zip(results(), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
    assert taken == ["sampled_products", "row_grams", "row_grams"]


def test_small_regressions_that_come_often_are_compiled(monkeypatch):
    """With the same answer; and a run that went on after a kill changes over where it would have by itself."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.uniform(0.2, 1.0, 12), rng.uniform(0.2, 1.0, 9))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.7)
    M, b = fa.Sampling(rows, cols, X.shape), X[rows, cols] + 0.05 * rng.standard_normal(rows.size)
    seen = []
    loop = kernels.row_solves_nonnegative
    monkeypatch.setattr(kernels, "row_solves_nonnegative", lambda *args: seen.append(args[-1]) or loop(*args))

    def fitted(often):
        seen.clear()
        monkeypatch.setattr(sides, "REPAID", often)
        return fa.fit(M, b, atoms=fa.RankOne(12, 9, nonnegative=True), k=1)

    twins, both = fitted(10**9), fitted(3)
    assert seen == [False] * 3 + [True] * (len(seen) - 3)
    assert len(seen) > 3
    assert both.loss == pytest.approx(twins.loss, rel=1e-6)
    with ledger.opened() as one, ledger.opened() as other:
        one.passes, one.regressed = 3, 500
        other.go_on(one.tally()())
        assert (other.passes, other.regressed) == (3, 500)
