"""Exchanges of atoms: never a higher loss, no single exchange left that helps, the same shakes each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from contracts.families import black_box
from fewatoms import ledger
from fewatoms.effort import QUICK
from fewatoms.methods.listed import Splice
from fewatoms.methods.listed.splice import _Exchange
from methods.listed.small import KINDS, SETS, N, best_of_all, case, fits_of, refit

SINGLE = [name for name in SETS if "groups" not in name]
SIGNED = ["signed", "dictionary", "mapped"]  # without signs an exchange is known exactly before it is made


def small(name, kind, seed, k=3, **options):
    """Fits of a small problem, with its whitened blocks and data."""
    A, b, weights, _, blocks, target = case(name, kind, seed)
    loss = fa.LeastSquares(weights)
    return fits_of(fa.Problem.of(A, b, atoms=SETS[name][0], k=k, loss=loss, **options)), blocks, target


def drawn(fits, seed):
    """A candidate on k classes drawn at random."""
    k, count = fits.problem.budget.single, fits.view.count
    return fits.candidate(fits.fit(np.random.default_rng(seed).permutation(count)[:k]))


def nothing(fits):
    return fits.candidate(fits.fit(np.empty(0, dtype=np.intp)))


def classes_of(fits, candidate):
    return fits.view.classes_of(candidate.face).tolist()


def swapped(blocks, target, inside, i, j, nonnegative=False):
    """The loss with j in the place of i."""
    others = [blocks[j] if g == i else blocks[g] for g in inside]
    return refit(np.concatenate(others, axis=1), target, nonnegative)[0]


# While the loss falls -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_the_loss_never_rises(name):
    for seed, kind in enumerate(KINDS):
        fits, blocks, target = small(name, kind, seed)
        for start in (drawn(fits, seed), nothing(fits)) if seed % 2 else (drawn(fits, seed),):
            middle = Splice()(fits, start)
            last = Splice().last(fits, [start])
            quick = Splice().at(QUICK)(fits, start)
            assert max(middle.loss, last.loss, quick.loss) <= start.loss * (1 + 1e-12)
            assert last.loss <= middle.loss * (1 + 1e-9)
            for found in (middle, last, quick):
                inside = classes_of(fits, found)
                assert len(set(inside)) == len(inside) <= 3
                columns = np.concatenate([np.zeros((target.size, 0)), *(blocks[g] for g in inside)], axis=1)
                assert found.loss == pytest.approx(refit(columns, target, SETS[name][3])[0], rel=1e-8)


@pytest.mark.parametrize("name", SIGNED)
def test_no_single_exchange_is_left_that_helps(name):
    """Brute force: all atoms inside against all outside, and all that could be added."""
    for seed, kind in enumerate(KINDS):
        fits, blocks, target = small(name, kind, seed, k=4)
        found = Splice(shakes=0).last(fits, [drawn(fits, seed)])
        inside = classes_of(fits, found)
        outside = sorted(set(range(N)) - set(inside))
        best = min(swapped(blocks, target, inside, i, j) for i in inside for j in outside)
        assert best >= found.loss * (1 - 2e-6), kind
        if len(inside) < 4:  # then nothing outside adds anything
            everything = np.concatenate([blocks[g] for g in range(N)], axis=1)
            assert found.loss == pytest.approx(refit(everything, target)[0], rel=1e-6)


@pytest.mark.parametrize("kind", ["plain", "correlated", "decoy", "units"])
@pytest.mark.parametrize("name", SIGNED)
def test_the_best_single_exchange_is_known_before_it_is_made(name, kind):
    fits, blocks, target = small(name, kind, 5, k=4)
    support = fits.support_of(drawn(fits, 1))
    exchange = _Exchange(fits, support, Splice())
    exchange._look()
    i, j, gained = exchange._best_pair(support, fits.view.crossings.rows(support.classes))
    inside = support.classes.tolist()
    outside = sorted(set(range(N)) - set(inside))
    best = min(swapped(blocks, target, inside, a, c) for a in inside for c in outside)
    assert support.loss - gained == pytest.approx(best, rel=1e-8)
    assert swapped(blocks, target, inside, inside[i], j) == pytest.approx(best, rel=1e-8)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SINGLE)
def test_shaken_answers_are_the_best_of_all_mostly(name):
    hits = 0
    for seed in range(6):
        fits, blocks, target = small(name, KINDS[seed % 3], seed)
        found = Splice().last(fits, [drawn(fits, seed)])
        hits += found.loss <= best_of_all(blocks, target, 3, SETS[name][3]) * (1 + 1e-9)
    assert hits >= 5


# Demands --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.3)], ids=repr)
def test_what_must_be_in_stays_and_what_must_be_out_is_not_taken(loss):
    A, b, *_ = case("signed", "correlated", 4)
    atoms = fa.SignedOneHot(N).restricted(include=[7], exclude=[0, 1, 2])
    fits = fits_of(fa.Problem.of(A, b, atoms=atoms, k=3, loss=loss))
    start = fits.candidate(fits.fit(np.array([7, 10, 11])))
    found = Splice().last(fits, [start])
    inside = set(classes_of(fits, found))
    assert 7 in inside
    assert not inside & {0, 1, 2}
    assert len(inside) <= 3
    assert found.loss < start.loss


def test_a_bound_that_is_met_ends_it_at_once():
    fits, *_ = small("signed", "plain", 2)
    start = drawn(fits, 0)
    bounded = fits_of(fits.problem.bounded(1.01 * start.loss))
    with ledger.opened() as spent:
        assert Splice()(bounded, start) is start
    assert spent.products == 0


@pytest.mark.parametrize("settings", [Splice(gain=1.0), Splice(rounds=0)], ids=["gain", "rounds"])
def test_settings_that_leave_everything_as_it_was(settings):
    fits, *_ = small("signed", "correlated", 2)
    start = drawn(fits, 0)
    assert Splice()(fits, start).loss < start.loss * (1 - 1e-3)
    same = settings(fits, start)
    assert same.loss == start.loss
    assert classes_of(fits, same) == classes_of(fits, start)


def test_smooth_losses_are_left_for_the_end():
    """Unless there is a bound: then each exchange may be the one that meets it."""
    A, b, *_ = case("signed", "correlated", 4)
    fits = fits_of(fa.Problem.of(A, b, atoms=fa.SignedOneHot(N), k=3, loss=fa.Huber(0.3)))
    start = drawn(fits, 0)
    assert Splice()(fits, start) is start
    last = Splice(shakes=0).last(fits, [start, drawn(fits, 1)])
    assert last.loss < start.loss
    bounded = fits_of(fits.problem.bounded(1.001 * last.loss))
    assert Splice()(bounded, start).loss < start.loss


@pytest.mark.parametrize(("room", "fit"), [(5, False), (6, True)])
def test_room_for_twice_the_atoms_is_asked_for(room, fit):
    """Of N atoms, 3 allowed; in a black box, whose images are not read from a matrix."""
    A, b, *_ = case("signed", "plain", 0)
    fits = fits_of(fa.Problem.of(black_box(A), b, atoms=fa.SignedOneHot(N), k=3), room=room * len(b))
    assert fits.images.room == room
    assert Splice().fits(fits) is fit


# Shakes ---------------------------------------------------------------------------------------------------------------


def test_shakes_are_the_same_each_time():
    """And never worse than none."""
    losses = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A, b = rng.standard_normal((40, 80)) + rng.standard_normal((40, 1)), rng.standard_normal(40)
        fits = fits_of(fa.Problem.of(A, b, atoms=fa.SignedOneHot(80), k=6))
        start = drawn(fits, 0)
        first, again = (Splice(isolated=np.inf).last(fits, [start]) for _ in range(2))
        np.testing.assert_array_equal(first.c, again.c)
        assert classes_of(fits, first) == classes_of(fits, again)
        anew = Splice(isolated=np.inf).last(fits_of(fits.problem), [start])
        assert sorted(classes_of(fits, anew)) == sorted(classes_of(fits, first))
        unshaken = Splice(shakes=0).last(fits, [start])
        assert first.loss <= unshaken.loss
        losses.append((first.loss, unshaken.loss))
    assert any(shaken < unshaken * (1 - 1e-6) for shaken, unshaken in losses)


def test_quick_leaves_out_what_costs_most():
    quick = Splice(seed=3).at(QUICK)
    assert quick.shakes == 0
    assert quick.pairs == 0
    assert replace(quick, shakes=40, pairs=5e6) != quick
    assert quick.seed == 3


# Isolated answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [5e6, 0.0], ids=["all products", "those at hand"])
def test_worth_over_others_by_hand(pairs):
    """What the least atom inside is worth, over what the best one outside adds."""
    fits, blocks, target = small("signed", "autoregressive", 3)
    support = fits.support_of(drawn(fits, 2))
    inside = support.classes.tolist()
    fits.fit(np.arange(N))  # so that all images have been asked for
    worth = _Exchange(fits, support, Splice()).worth_over_others(pairs)
    columns = [np.concatenate([blocks[g] for g in inside if g != i], axis=1) for i in inside]
    least = min(refit(some, target)[0] for some in columns) - support.loss
    more = [np.concatenate([blocks[g] for g in [*inside, j]], axis=1) for j in range(N) if j not in inside]
    best = support.loss - min(refit(some, target)[0] for some in more)
    assert worth == pytest.approx(least / best, rel=1e-6)


def test_answers_that_stand_alone_are_not_searched_further():
    rng = np.random.default_rng(9)
    A = rng.standard_normal((25, 40))
    b = A[:, [3, 8]].sum(axis=1) + 0.05 * rng.standard_normal(25)
    fits = fits_of(fa.Problem.of(A, b, atoms=fa.SignedOneHot(40), k=2))
    found = Splice()(fits, drawn(fits, 0))
    assert found.isolated
    assert sorted(classes_of(fits, found)) == [3, 8]
    before = fits.asked.copy()
    assert Splice().last(fits, [found]).loss == found.loss
    np.testing.assert_array_equal(fits.asked, before)
    assert not Splice(isolated=1e9)(fits, found).isolated
