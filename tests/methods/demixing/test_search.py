"""Sums over scales, numbers given: found whatever the order of the parts, with cells missing, and never worse than a
start."""

import numpy as np
import pytest

import fewatoms as fa
import naive
from fewatoms.methods import Demixing
from fewatoms.methods.demixing import Search
from methods.demixing.pictures import K, drawn, scales, worst


@pytest.mark.parametrize("seed", range(4))
def test_planted_parts_are_found(seed):
    b, parts = drawn(seed)
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=K)
    assert s.misfit < 1e-9
    assert worst(s, parts) < 1e-6
    assert tuple(part.cardinality for part in s.parts) == K


@pytest.mark.parametrize("kind", ["union", "turned round", "in other units"])
def test_the_spelling_of_a_sum_does_not_matter(kind):
    b, parts = drawn(3)
    a, block, whole = scales().parts
    atoms, order = {
        "union": (a | block | whole, [0, 1, 2]),
        "turned round": (whole + a + block, [2, 0, 1]),
        "in other units": (-0.5 * a + 3.0 * block + 0.1 * whole, [0, 1, 2]),
    }[kind]
    s = fa.fit(fa.Identity(b.shape), b, atoms=atoms, k=tuple(K[i] for i in order))
    assert worst(s, [parts[i] for i in order]) < 1e-6


def test_noise_moves_parts_by_no_more_than_itself():
    b, parts = drawn(4, noise=0.02)
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=K)
    assert np.linalg.norm(b - s.x) <= np.linalg.norm(b - sum(parts))
    assert worst(s, parts) < 0.05
    assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b))
    assert s.status is fa.Status.SMALLEST_LOSS


def test_cells_may_be_missing():
    rng = np.random.default_rng(5)
    b, parts = drawn(5, k=(2, 2, 1))
    seen = (rng.random(b.shape) < 0.85) | (parts[0] != 0)
    s = fa.fit(fa.Sampling(*np.nonzero(seen), b.shape), b[seen], atoms=scales(), k=(2, 2, 1))
    assert s.misfit < 1e-8
    assert worst(s, parts) < 1e-5


def confused():
    """Two entries of one column, which are also one block, and a block smaller than they are: whoever takes the largest
    first gives the block's place to the entries."""
    shape = 16, 16
    pixels, block = np.zeros(shape), np.zeros(shape)
    pixels[1, 2] = pixels[3, 2] = 2.0
    block[8:12, 4:8] = 0.4 * np.outer([1.0, -1.0, 1.0, 1.0], [1.0, 1.0, -1.0, 1.0])
    return shape, pixels, block


def test_a_block_that_is_two_entries_is_exchanged_for_them():
    shape, pixels, block = confused()
    atoms = fa.SignedOneHot(shape) + fa.BlockRankOne(shape, (4, 4))
    s = fa.fit(fa.Identity(shape), pixels + block, atoms=atoms, k=(2, 1))
    assert worst(s, (pixels, block)) < 1e-8


def test_exchanges_mend_what_starts_confuse():
    """From the start that takes the wrong atoms alone; without trials it stays there."""
    shape, pixels, block = confused()
    atoms = fa.BlockRankOne(shape, (4, 4)) + fa.SignedOneHot(shape)  # blocks take first
    starts = Search().starts[:1]
    losses = {}
    for trials in (0, 40):
        method = Demixing(search=Search(starts=starts, trials=trials))
        losses[trials] = fa.fit(fa.Identity(shape), pixels + block, atoms=atoms, k=(1, 2), method=method).loss
    assert losses[0] > 0.5
    assert losses[40] < 1e-16


def test_one_set_by_itself_has_its_leading_atoms():
    """Eckart and Young, block by block."""
    X = np.random.default_rng(6).standard_normal((11, 9))
    atoms = fa.BlockRankOne((11, 9), (4, 4))
    values = np.concatenate([np.linalg.svd(X[w], compute_uv=False) for w in naive.windows(atoms)])
    for k in (1, 5, atoms.count):
        s = fa.fit(fa.Identity((11, 9)), X, atoms=atoms, k=k)
        assert s.loss == pytest.approx(0.5 * np.sum(np.sort(values)[:-k] ** 2), abs=1e-12)
        assert s.cardinality == k


def test_completion_block_by_block():
    """Each block is a completion of its own; the budget is shared between them."""
    rng = np.random.default_rng(7)
    X, atoms = np.zeros((24, 24)), fa.BlockRankOne((24, 24), (8, 8))
    X[:8, 8:16] = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 8))
    X[16:, :8] = 3 * np.outer(rng.standard_normal(8), rng.standard_normal(8))
    seen = rng.random(X.shape) < 0.8
    s = fa.fit(fa.Sampling(*np.nonzero(seen), X.shape), X[seen], atoms=atoms, k=3)
    assert np.linalg.norm(s.x - X) < 1e-6 * np.linalg.norm(X)
    assert sorted(tuple(pair) for pair in s.indices.tolist()) == [(0, 1), (0, 1), (2, 0)]


def test_efforts_say_how_hard_to_look():
    b, _ = drawn(8, side=12, block=4, k=(2, 1, 1), noise=0.05)
    losses = [
        fa.fit(fa.Identity(b.shape), b, atoms=scales(12, 4), k=(2, 1, 1), effort=effort).loss
        for effort in ("thorough", "normal", "quick")
    ]
    assert losses[0] <= losses[1] * (1 + 1e-9) <= losses[2] * (1 + 2e-9)


def test_stopped_runs_keep_their_budgets():
    b, _ = drawn(9, noise=0.05)

    def stop(intermediate_result):
        raise StopIteration

    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=K, callback=stop)
    assert all(part.cardinality <= k for part, k in zip(s.parts, K, strict=True))
    assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b))


def test_nothing_to_find_and_more_than_there_is():
    nothing = np.zeros((24, 24))
    assert fa.fit(fa.Identity(nothing.shape), nothing, atoms=scales(), k=K).cardinality == 0
    b, _ = drawn(10, k=(1, 1, 1))
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=(6, 6, 2))
    assert s.misfit < 1e-9


def test_weights_that_differ_are_served_elsewhere():
    b, _ = drawn(11, side=12, block=6, k=(2, 1, 1))
    w = np.random.default_rng(0).uniform(0.5, 2.0, b.size)
    loss = fa.LeastSquares(w)
    s = fa.fit(fa.Identity(b.shape), b, atoms=fa.BlockRankOne(b.shape, (6, 6)), k=3, loss=loss, max_iterations=20)
    assert s.loss == pytest.approx(0.5 * float(w @ (b - s.x).ravel() ** 2))
    assert s.cardinality <= 3


def test_models_too_large_to_be_filled_in_are_left_to_others():
    X = np.random.default_rng(12).standard_normal((6, 6))
    atoms, small = fa.BlockRankOne((6, 6), (3, 3)), Demixing(search=Search(largest=10))
    with pytest.raises(ValueError, match="method must be one for this problem"):
        fa.fit(fa.Identity((6, 6)), X, atoms=atoms, k=2, method=small)
    both = fa.fit(fa.Identity((6, 6)), X, atoms=atoms + fa.RankOne(6, 6), k=(2, 1), method=small)
    assert both.cardinality <= 3


def test_small_gains_come_to_an_end_where_unknowns_are_more_than_data():
    """Round after round lowers the loss by a percent there: 119,000 products and more, where these are enough."""
    rng = np.random.default_rng(1)
    X, seen = rng.standard_normal((19, 8)) @ rng.standard_normal((8, 24)), rng.random((19, 24)) < 0.42
    atoms = fa.SignedOneHot(X.shape) + fa.BlockRankOne(X.shape, (19, 22))
    s = fa.fit(fa.Sampling(*np.nonzero(seen), X.shape), X[seen], atoms=atoms, k=(9, 6))
    assert s.misfit < 0.01
    assert s.products < 40_000
