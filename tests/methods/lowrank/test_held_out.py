"""How a ridge is chosen: by entries held out."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import dataclass, field

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.capabilities import SampledEntries
from fewatoms.methods import Completion
from fewatoms.methods.lowrank import HeldOut
from sampled import paid, plant

# Entries held out -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneSplit(HeldOut):
    """One split, as where entries are many, and what came of it."""

    many: int = 1
    parts: list = field(default_factory=list)
    choices: list = field(default_factory=list)

    def _splits(self, asked):
        (split,) = splits = super()._splits(asked)
        rows, cols = asked.problem.M.offers(SampledEntries).positions
        order = np.lexsort((cols, rows))
        self.parts[:] = [np.sort(order[split.out(asked.row_by_row(), 0, turned=False)])]
        return splits

    def choose(self, trial, asked, whole, before=None):
        self.choices.append(super().choose(trial, asked, whole, before))
        return self.choices[-1]


def tried_on(entries, **options):
    """The answer with a ridge left to fit, which entries were held out for that, and what was chosen."""
    how = OneSplit()
    s = entries.fit(2, ridge="auto", method=Completion(held_out=how), **options)
    (out,), (choice,) = how.parts, how.choices
    return s, out, choice


@pytest.mark.parametrize("options", [{}, {"free": "biases"}, {"nonnegative": True}], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_penalties_are_tried_without_a_look_at_what_is_held_out(options, seed):
    """A touch to the entries held out changes their errors, and nothing of what is tried."""
    e = plant(seed, 12, 10, 2, noise=0.3, signs=not options.get("nonnegative"))
    s, out, choice = tried_on(e, rng=seed, **options)
    assert 0 < out.size <= 0.3 * e.b.size
    touched = e.b.copy()
    touched[out] += 1e-5 * np.random.default_rng(9).standard_normal(out.size)
    other, again, changed = tried_on(e.with_values(touched), rng=seed, **options)
    np.testing.assert_array_equal(again, out)
    assert other.held_out != s.held_out
    assert other.held_out == pytest.approx(s.held_out, rel=1e-3)
    assert other.ridge == pytest.approx(s.ridge, rel=1e-2)
    # the last steps, for biases, are made at a ridge that the scores had a say in
    tolerance = 1e-4 if "free" in options else 0.0
    np.testing.assert_allclose(choice.points[0].s, changed.points[0].s, rtol=tolerance)


def test_the_score_is_the_error_on_what_is_held_out():
    """Of a fit to the other entries at the penalties chosen, about."""
    for seed in range(2):
        e = plant(seed, 20, 18, 2, noise=0.5, offsets=True)
        s, held, _ = tried_on(e, free="biases")
        rest, out = e.some(np.setdiff1d(np.arange(e.b.size), held)), e.some(held)
        error = out.b - rest.fit(2, **paid(s.ridge)).predict(out.rows, out.cols)
        assert s.held_out == pytest.approx(math.sqrt(np.mean(error**2)), rel=0.15)


def test_few_entries_are_all_held_out_once():
    parts = HeldOut()._parts(103)
    assert len(parts) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(103))
    assert [p.size for p in HeldOut()._parts(2)] == [1, 1]


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
def test_same_seed_same_answer_other_seeds_other_splits(options):
    e = plant(1, 12, 10, 2, noise=0.3)
    first, again = e.fit(2, rng=7, **options), e.fit(2, rng=7, **options)
    drawn = e.fit(2, rng=np.random.default_rng(7), **options)
    for other in (again, drawn):
        np.testing.assert_array_equal(other.x, first.x)
        assert (other.ridge, other.held_out, other.loss) == (first.ridge, first.held_out, first.loss)
    scores = {e.fit(2, rng=seed, **options).held_out for seed in range(3)}
    assert len(scores) == 3


def test_chosen_penalties_predict_fresh_entries_better_than_none():
    """On noisy entries of low rank and biases; not on each instance, but by far on most."""
    gains = []
    for seed in range(5):
        e = plant(seed, 24, 20, 2, share=0.4, noise=1.0, offsets=True)
        i, j = e.unseen()
        chosen, none = (e.fit(2, free="biases", ridge=ridge, max_iterations=60) for ridge in ("auto", 0))
        errors = [np.linalg.norm(s.predict(i, j) - e.truth[i, j]) for s in (chosen, none)]
        gains.append(errors[0] / errors[1])
        assert chosen.ridge[0] > 0
        assert chosen.held_out >= 0.5
    assert np.median(gains) < 0.9
    assert np.sort(gains)[-2] < 1.0


def test_shrinkage_is_the_default_with_biases_and_no_bound():
    e = plant(2, 12, 10, 2, noise=0.3, offsets=True)
    default, auto = e.fit(2, free="biases"), e.fit(2, free="biases", ridge="auto")
    np.testing.assert_array_equal(default.x, auto.x)
    assert default.ridge[0] > 0
    assert default.held_out > 0
    bounded = e.fit(2, free="biases", misfit=0.5)
    assert bounded.ridge == (0.0, 0.0)
    assert bounded.held_out is None


@pytest.mark.parametrize("offsets", [False, True])
def test_noise_seldom_gets_atoms_from_a_chosen_ridge(offsets):
    sizes = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows, cols = np.nonzero(rng.random((50, 40)) < 0.6)
        b = rng.standard_normal(rows.size)
        if offsets:
            b += 3 + 2 * rng.standard_normal(50)[rows] + rng.standard_normal(40)[cols]
        s = fa.fit(
            fa.Sampling(rows, cols, (50, 40)),
            b,
            atoms=fa.RankOne(50, 40),
            k=3,
            free="biases" if offsets else None,
            ridge="auto",
        )
        assert s.success
        assert np.linalg.norm((s.left @ s.right.T)[rows, cols]) <= 0.5 * np.sqrt(rows.size)
        sizes.append(s.cardinality)
    assert np.median(sizes) == 0


@pytest.mark.parametrize("seed", [0])
def test_without_noise_a_chosen_ridge_is_next_to_none(seed):
    e = plant(seed, 30, 25, 2, share=0.8, offsets=True)
    s = e.fit(2, free="biases")
    rows, cols = e.unseen()
    error = s.predict(rows, cols) - e.truth[rows, cols]
    assert np.linalg.norm(error) <= 1e-4 * np.linalg.norm(e.truth[rows, cols])


def test_too_little_to_choose_a_ridge_from():
    with pytest.raises(ValueError, match=r'^ridge="auto" needs at least 2 entries, some to hold out; got 1$'):
        fa.fit(fa.Sampling([0], [0], (2, 2)), [1.0], atoms=fa.RankOne(2, 2), k=1, ridge="auto")
    s = fa.fit(fa.Sampling([0, 1], [0, 1], (2, 2)), [1.0, 2.0], atoms=fa.RankOne(2, 2), k=1, ridge="auto")
    assert s.held_out > 0


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
def test_k_by_the_entries_held_out_for_the_ridge(options):
    e = plant(4, 14, 12, 2, noise=0.3, offsets=True)
    path = e.path((1, 2, 4), **options)
    chosen = path.choose_k("held-out")
    scores = [path[k].held_out for k in path]
    np.testing.assert_array_equal(path.scores["held-out"], scores)
    assert chosen == path.chosen == (1, 2, 4)[int(np.argmin(scores))]
    assert path.best is path[chosen]
    assert fa.choose_k(e.M, e.b, atoms=e.atoms, k=(1, 2, 4), by="held-out", **options) == chosen


def test_a_choice_takes_little_room():
    """Entries that are held out, and those that are not in both orders; not all of them in both orders as well."""
    rng = np.random.default_rng(0)
    p, q, m = 900, 700, 300_000
    rows, cols = np.divmod(rng.permutation(p * q)[:m], q)
    M = fa.Sampling(rows, cols, (p, q))
    v = (rng.standard_normal((p, 2)) @ rng.standard_normal((2, q)))[rows, cols] + 0.1 * rng.standard_normal(m)
    fa.fit(M, v, atoms=fa.RankOne(p, q), k=2, ridge="auto")  # loops are loaded
    tracemalloc.start()
    try:
        fa.fit(M, v, atoms=fa.RankOne(p, q), k=2, ridge="auto")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 38 * m  # an entry, in two orders, is 24 bytes
