"""Runs of Completion: paths, callbacks, starts, notes, and what does not matter to an answer."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from sampled import (
    WAYS,
    assert_at_most,
    in_units,
    objective,
    plant,
)

# What does not matter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
def test_the_order_of_the_entries(name):
    e = plant(1, 10, 9, 2, noise=0.3)
    s = e.fit(2, **WAYS[name])
    other = e.some(np.random.default_rng(0).permutation(e.b.size)).fit(2, **WAYS[name])
    np.testing.assert_allclose(other.x, s.x, atol=1e-6 * np.abs(s.x).max())
    assert other.loss == pytest.approx(s.loss, rel=1e-6)


@pytest.mark.parametrize("name", WAYS)
def test_names_of_rows_and_columns_and_transposition(name):
    """Up to where descents end: they stop when the objective hardly moves."""
    for seed in range(2):
        e = plant(seed, 10, 9, 2, noise=0.3, share=0.85)
        s = e.fit(2, **WAYS[name])
        rng = np.random.default_rng(seed)
        P, Q = rng.permutation(10), rng.permutation(9)
        renamed = replace(e, rows=P[e.rows], cols=Q[e.cols]).fit(2, **WAYS[name])
        turned = replace(e, rows=e.cols, cols=e.rows, truth=e.truth.T).fit(2, **WAYS[name])
        np.testing.assert_allclose(renamed.x[P][:, Q], s.x, atol=1e-3 * np.abs(s.x).max())
        np.testing.assert_allclose(turned.x.T, s.x, atol=0.03 * np.abs(s.x).max())
        assert turned.loss + s.ridge[0] * turned.gauge == pytest.approx(s.loss + s.ridge[0] * s.gauge, rel=1e-2)
        if name == "biases":
            np.testing.assert_allclose(turned.biases.cols, s.biases.rows, atol=0.03 * np.abs(e.b).max())


@pytest.mark.parametrize("t", [1e-14, -1.0, 7.0, 1e14])
@pytest.mark.parametrize("name", WAYS)
def test_units_of_the_values(name, t):
    """X is in the units of b: so is the ridge on its factors; that on the biases has none."""
    if name == "nonnegative" and t < 0:
        t = 1.0
    e = plant(2, 10, 9, 2, noise=0.3)
    s, other = e.fit(2, **WAYS[name]), e.with_values(t * e.b).fit(2, **in_units(WAYS[name], abs(t)))
    np.testing.assert_allclose(other.x, t * s.x, atol=1e-3 * abs(t) * np.abs(s.x).max())
    assert other.loss == pytest.approx(t**2 * s.loss, rel=1e-3)
    assert other.misfit == pytest.approx(s.misfit, rel=1e-3)


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
@pytest.mark.parametrize("t", [1e-14, 1e4])
def test_a_chosen_ridge_is_in_the_units_of_the_values(options, t):
    e = plant(3, 10, 9, 2, noise=0.3)
    s, other = e.fit(2, **options), e.with_values(t * e.b).fit(2, **options)
    assert other.ridge == pytest.approx((t * s.ridge[0], s.ridge[1]), rel=1e-3)
    assert other.held_out == pytest.approx(t * s.held_out, rel=1e-3)
    np.testing.assert_allclose(other.x, t * s.x, atol=1e-3 * t * np.abs(s.x).max())


@pytest.mark.parametrize("name", WAYS)
def test_the_kind_of_the_arrays(name):
    e = plant(4, 10, 9, 2, noise=0.3)
    e = e.with_values(np.round(10 * e.b))
    s = e.fit(2, **WAYS[name])
    strided = [np.repeat(v, 2)[::2] for v in (e.rows, e.cols, e.b)]
    lists = [v.tolist() for v in (e.rows, e.cols, e.b)]
    narrow = [e.rows.astype(np.uint8), e.cols.astype(np.int32), e.b.astype(np.int64)]
    grid = np.asfortranarray(np.full(e.shape, np.nan))
    grid[e.rows, e.cols] = e.b
    M, b = fa.Sampling.from_array(grid)
    for rows, cols, values in (strided, lists, narrow, (M.rows, M.cols, b)):
        other = replace(e, rows=rows, cols=cols, b=values).fit(2, **WAYS[name])
        np.testing.assert_array_equal(other.x, s.x)


@pytest.mark.parametrize("name", [*WAYS, "auto"])
def test_what_is_passed_is_left_alone(name):
    e = plant(5, 10, 9, 2, noise=0.3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, e.b.size)
    arrays = [e.rows, e.cols, e.b, w]
    before = [v.copy() for v in arrays]
    for v in arrays:
        v.flags.writeable = False
    s = e.fit(2, loss=fa.LeastSquares(w), **WAYS.get(name, {"free": "biases"}))
    again = e.fit(2, loss=fa.LeastSquares(w), **WAYS.get(name, {"free": "biases"}))
    for v, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(v, old)
    np.testing.assert_array_equal(again.x, s.x)
    assert again.loss == s.loss


def test_nothing_of_the_size_of_the_matrix_is_formed():
    rng = np.random.default_rng(0)
    p, q = 20_000, 10_000
    rows, cols = np.divmod(rng.choice(p * q, 300, replace=False), q)
    b = rng.standard_normal(300)
    tracemalloc.start()
    try:
        s = fa.fit(fa.Sampling(rows, cols, (p, q)), b, atoms=fa.RankOne(p, q), k=1, ridge=0.5, max_iterations=5)
        assert s.predict(rows, cols).shape == b.shape
        assert s.top(rows[0], 3)[0].size == 3
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.01 * 8 * p * q


# On the way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*WAYS, "auto"])
def test_what_the_callback_sees_never_rises(name):
    """The loss where it alone is minimised or bounded, otherwise the loss and the ridge's share."""
    e = plant(0, 12, 10, 2, noise=0.3)
    seen = []
    s = e.fit(2, callback=seen.append, **WAYS.get(name, {"free": "biases"}))
    chosen = [p for p in seen if p.iteration == 0]  # while the ridge was chosen
    assert bool(chosen) == (name == "auto")
    seen = seen[len(chosen) :]
    assert [p.iteration for p in seen] == list(range(1, s.iterations + 1))
    values = np.array([p.loss + s.ridge[0] * p.candidate.gauge for p in seen])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert s.loss + s.ridge[0] * s.gauge <= values[-1] * (1 + 1e-9)
    assert all(p.cardinality <= 2 for p in seen)
    assert seen[-1].misfit == pytest.approx(s.misfit, rel=1e-3)
    assert (np.diff([p.products for p in seen]) > 0).all()


def test_errors_of_a_callback_pass_through():
    def callback(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        plant(0, 8, 7, 2, noise=0.3).fit(2, callback=callback)


# Where to begin -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("name", WAYS)
def test_from_an_answer_with_fewer_or_more_atoms(name, k):
    """The budget is used, and where one begins matters little."""
    e = plant(2, 10, 9, 2, noise=0.3, share=0.95, signs=name != "nonnegative")
    before, alone = e.fit(k, **WAYS[name]), e.fit(2, **WAYS[name])
    s = e.fit(2, start=before, **WAYS[name])
    assert s.cardinality <= 2
    assert s.success == alone.success
    if name == "nonnegative":
        assert min(s.left.min(), s.right.min()) >= 0
    if name != "bound":
        assert_at_most(objective(e, s), objective(e, alone), 0.05)
        if k <= 2:
            assert_at_most(objective(e, s), objective(e, before), 1e-4)


@pytest.mark.parametrize("options", [{}, {"ridge": 0.5}, {"nonnegative": True, "ridge": 0.2}], ids=str)
def test_from_an_answer_without_atoms(options):
    e = plant(3, 12, 10, 2, noise=0.2, share=0.9, signs=False)
    nothing = e.with_values(0.0 * e.b).fit(2, **options)
    assert nothing.status is fa.Status.ZERO
    assert_at_most(objective(e, e.fit(2, start=nothing, **options)), objective(e, e.fit(2, **options)), 0.05)


def test_from_an_answer_of_other_ways():
    """Biases, signs and ridges of the start are its own."""
    e = plant(4, 9, 8, 2, noise=0.2, share=0.9, signs=False)
    answers = {name: e.fit(2, **options) for name, options in WAYS.items()}
    for name, alone in answers.items():
        for start in answers.values():
            s = e.fit(2, start=start, **WAYS[name])
            assert s.success == alone.success
            if name == "bound":
                assert s.misfit <= 0.2 * (1 + 1e-9)
            else:
                assert_at_most(objective(e, s), objective(e, alone), 1e-2)


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        (3, TypeError, r"^start must be the Solution of an earlier fit; got int$"),
        ((4, 5), ValueError, r"^start must be a model made of RankOne\(8, 7\); got one made of RankOne\(4, 5\)$"),
    ],
    ids=["number", "shape"],
)
def test_starts_that_do_not_fit(start, kind, message):
    other = plant(0, *start, 1).fit(1) if isinstance(start, tuple) else start
    with pytest.raises(kind, match=message):
        plant(0, 8, 7, 2).fit(2, start=other)


# Paths ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"ridge": 0.5}, {"nonnegative": True}, {"misfit": 0.1}],
    ids=str,
)
def test_a_path_holds_what_each_k_gives_alone(options):
    e = plant(3, 10, 9, 2, noise=0.3, share=0.9)
    path = e.path((2, 1), **options)
    assert list(path) == [2, 1]
    for k in path:
        alone = e.fit(k, **options)
        np.testing.assert_array_equal(path[k].x, alone.x)
        assert path[k].status is alone.status
        assert path[k].cardinality <= k


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
def test_ridges_along_a_path_predict_as_well_as_those_of_each_k_alone(options):
    """The first k is as it would be alone, down to the entries held out; others begin from the one before, or as they
    would alone, whichever predicts better."""
    e = plant(3, 24, 20, 2, noise=0.3, share=0.8)
    for rng in (None, np.random.default_rng(5)):
        path = e.path((3, 1, 2), rng=rng, **options)
        assert list(path) == [3, 1, 2]
        alone = [e.fit(k, rng=None if rng is None else 5, **options) for k in (1, 2, 3)]
        np.testing.assert_array_equal(path[1].x, alone[0].x)
        assert (path[1].ridge, path[1].held_out) == (alone[0].ridge, alone[0].held_out)
        for k in (2, 3):
            assert path[k].cardinality <= k
            assert path[k].held_out <= alone[k - 1].held_out * (1 + 1e-12)


@pytest.mark.parametrize("options", [{}, {"ridge": 3.0}], ids=str)
def test_ranks_begin_from_the_one_before_where_entries_abound(options):
    """With no less than each has alone, in fewer sweeps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6)) @ rng.standard_normal((6, 100)) + 0.5 * rng.standard_normal((120, 100))
    M, v = fa.Sampling.from_array(np.where(rng.random(X.shape) < 0.9, X, np.nan))
    asked = {"atoms": fa.RankOne(120, 100), **options}
    path, alone = fa.fit_path(M, v, k=(2, 3, 4), **asked), [fa.fit(M, v, k=k, **asked) for k in (2, 3, 4)]
    for found, k in zip(alone, path, strict=True):
        assert path[k].objective <= found.objective * (1 + 1e-3)
    assert sum(path[k].iterations for k in path) < sum(s.iterations for s in alone)


def by_hand(entries, budgets, parts, weights, **options):
    """The root mean square error on the entries of all parts, of the fits to the others."""
    total = np.zeros(len(budgets))
    for held in parts:
        rest = np.setdiff1d(np.arange(entries.b.size), held)
        loss = fa.LeastSquares(None if weights is None else weights[rest])
        out = entries.some(held)
        for i, k in enumerate(budgets):
            error = out.b - entries.some(rest).fit(k, loss=loss, **options).predict(out.rows, out.cols)
            total[i] += float(np.sum((1.0 if weights is None else weights[held]) * error**2))
    seen = np.concatenate(parts)
    return np.sqrt(total / (seen.size if weights is None else weights[seen].sum()))


def assert_as_alone(scores, alone):
    """Those of the fits for each k alone, up to where descents end."""
    np.testing.assert_allclose(scores, alone, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "weighted"),
    [
        ({"ridge": 1.0}, True),
        ({"free": fa.Biases(ridge=0.5), "ridge": 1.0}, False),
        ({"free": fa.Biases(ridge=0.5), "ridge": 1.0}, True),
        ({"nonnegative": True, "ridge": 1.0}, False),
    ],
    ids=["weighted", "biases", "biases, weighted", "nonnegative"],
)
def test_cross_validation_by_hand(options, weighted):
    e = plant(5, 10, 9, 2, noise=0.3, signs=False, offsets="biases" in options)
    w = np.random.default_rng(5).uniform(0.3, 3.0, e.b.size) if weighted else None
    path = e.path((1, 2), loss=fa.LeastSquares(w), **options)
    assert path.choose_k("cv", folds=2, rng=4) in (1, 2)
    parts = np.array_split(np.random.default_rng(4).permutation(e.b.size), 2)
    assert_as_alone(path.scores["cv"], by_hand(e, (1, 2), parts, w, **options))
    path.choose_k("held-out", share=0.25, rng=6)
    held = np.random.default_rng(6).permutation(e.b.size)[: round(0.25 * e.b.size)]
    assert_as_alone(path.scores["held-out"], by_hand(e, (1, 2), [held], w, **options))


@pytest.mark.parametrize("by", ["cv", "held-out", "bic", "ebic", "elbow"])
def test_every_way_to_choose_k_gives_one(by):
    e = plant(6, 14, 12, 2, share=0.8, noise=0.1)
    path = e.path((1, 2, 3), ridge="auto" if by == "held-out" else 0.1)
    chosen = path.choose_k(by)
    assert chosen in (1, 2, 3)
    assert chosen != 1
    assert np.isfinite(path.scores[by]).all()


@pytest.mark.parametrize("by", ["bic", "ebic"])
def test_criteria_leave_out_what_interpolates(by):
    e = plant(0, 8, 7, 2, share=0.7, noise=0.1)
    path = e.path(range(1, 6))
    path.choose_k(by)
    interpolates = np.array([k * (8 + 7 - k) >= e.b.size for k in range(1, 6)])
    assert interpolates.any()
    assert np.isinf(path.scores[by][interpolates]).all()
    assert not np.isinf(path.scores[by][~interpolates]).any()
    assert not interpolates[path.chosen - 1]


# While ranks are chosen -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
def test_what_a_callback_hears_while_ranks_are_chosen(options, monkeypatch):
    monkeypatch.setattr("fewatoms.ledger.EVERY", 0.0)
    seen = []
    plant(0, 20, 16, 2, noise=0.3).path((1, 2, 3), callback=seen.append, **options)
    stages = [p.stage for p in seen]
    first = stages.index("sweeping")
    assert "choosing the ridge" in stages[:first]
    assert "choosing the ridge" not in stages[first:]  # for all of them, before the first is fitted
    ranks = [c.done for p in seen[:first] for c in p.counts if c.what == "rank"]
    assert sorted(ranks) == ranks
    assert {*ranks} == {0, 1, 2}
    assert {c.done for p in seen[first:] for c in p.counts if c.what == "budget"} == {0, 1, 2}


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
def test_a_stop_while_ranks_are_chosen_leaves_answers_for_those_that_were(options, monkeypatch):
    monkeypatch.setattr("fewatoms.ledger.EVERY", 0.0)

    def stop(progress):
        if any(c.what == "rank" and c.done == 2 for c in progress.counts):
            raise StopIteration

    e = plant(0, 20, 16, 2, noise=0.1)
    path = e.path((1, 2, 3), callback=stop, **options)
    for k in path:
        assert path[k].status is fa.Status.STOPPED
        assert path[k].cardinality == min(k, 2) or k == 3
        assert path[k].misfit < 0.9
    assert path[2].misfit < 0.5 * path[1].misfit


@pytest.mark.parametrize("by", ["held-out", "cv"])
@pytest.mark.parametrize("options", [{}, {"ridge": 0.1}, {"free": "biases"}], ids=str)
def test_a_deadline_ends_a_choice(by, options, monkeypatch):
    """The clock is heard inside of folds and fits: what is left to do after it has rung is short."""
    monkeypatch.setattr("fewatoms.ledger.EVERY", 0.0)
    path = plant(0, 60, 50, 3, noise=0.3).path((1, 2, 3, 4), **options)
    heard = []

    def ring(progress):
        heard.append(progress)
        if len(heard) > 3:
            raise StopIteration

    assert path.choose_k(by, callback=ring) in path
    assert len(heard) <= 4


# Nothing to explain, little to explain it with ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*WAYS, "auto", "auto biases"])
def test_zeros_need_no_atoms(name):
    e = plant(0, 9, 8, 2)
    options = {"auto": {"ridge": "auto"}, "auto biases": {"free": "biases"}, **WAYS}[name]
    s = e.with_values(np.zeros(e.b.size)).fit(2, **options)
    assert s.status is fa.Status.ZERO
    assert s.success
    assert s.cardinality == 0
    assert s.loss == s.misfit == 0.0
    np.testing.assert_array_equal(s.predict(e.rows, e.cols), 0.0)
    assert s.held_out is None or s.held_out == 0.0


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"free": "biases"}], ids=str)
@pytest.mark.parametrize("by", ["held-out", "cv"])
def test_a_path_over_zeros_needs_no_atoms_for_any_k(options, by):
    e = plant(0, 9, 8, 2)
    path = e.with_values(np.zeros(e.b.size)).path((2, 1), **options)
    assert path.choose_k(by) in (1, 2)
    assert path.best.cardinality == 0
    np.testing.assert_array_equal(path.scores[by], 0.0)


@pytest.mark.parametrize("value", [3.0, 0.1, -7e5])
@pytest.mark.parametrize("ridge", ["auto", 0, 0.5])
def test_equal_values_are_a_centre(value, ridge):
    e = plant(0, 9, 8, 2)
    s = e.with_values(np.full(e.b.size, value)).fit(2, free="biases", ridge=ridge)
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(s.predict(i, j), value, rtol=1e-9)
    assert s.cardinality == 0
    assert s.misfit <= 1e-9
    assert s.held_out is None or s.held_out <= 1e-9 * abs(value)


@pytest.mark.parametrize("options", [{}, {"misfit": 1e-6}, {"nonnegative": True, "misfit": 1e-4}], ids=str)
def test_equal_values_are_a_rank_one_matrix(options):
    e = plant(1, 9, 8, 2)
    s = e.with_values(np.full(e.b.size, 3.0)).fit(1, **options)
    np.testing.assert_allclose(s.x, 3.0, atol=3e-3)
    assert s.cardinality == 1
    assert s.success


@pytest.mark.parametrize(
    "options", [{}, {"ridge": 0.1}, {"nonnegative": True}, {"free": "biases", "ridge": 0.1}], ids=str
)
def test_a_single_entry(options):
    one = plant(0, 5, 4, 1)
    s = replace(one, rows=[3], cols=[2], b=[2.0]).fit(2, **options)
    assert s.predict(3, 2) == pytest.approx(2.0, abs=0.2)
    assert s.cardinality <= 2
    assert "4 rows have no entries (number 0 for one)" in s.message


@pytest.mark.parametrize("options", [{}, {"ridge": 0.1}, {"free": "biases"}, {"free": "biases", "ridge": 0}], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_entries_of_a_single_row(options, turned):
    """Of a matrix with more rows, or of one that has no others."""
    b, ones, many = np.array([1.0, 2.0, -1.0, 4.0, 3.0, 1.5]), np.zeros(6, dtype=int), np.arange(6)
    for p in (1, 5):
        shape = (6, p) if turned else (p, 6)
        M = fa.Sampling(many, ones, shape) if turned else fa.Sampling(ones, many, shape)
        s = fa.fit(M, b, atoms=fa.RankOne(*shape), k=1, **options)
        found = s.predict(many, 0) if turned else s.predict(0, many)
        assert np.isfinite(found).all()
        if "free" not in options:  # a ridge takes off its own length
            np.testing.assert_allclose(found, b * (1 - options.get("ridge", 0.0) / np.linalg.norm(b)), rtol=1e-3)
        assert ("no entries" in s.message) == (p == 5)


def test_more_unknowns_than_entries_are_said():
    e = plant(0, 12, 10, 2, share=0.3, least=2)
    for k in (1, 3):
        unknowns = k * (22 - k)
        said = f"{unknowns} unknowns are more than {e.b.size} entries can determine: a smaller k or a ridge would help"
        assert (said in e.fit(k).message) == (unknowns > e.b.size)
        assert said not in e.fit(k, ridge=0.5).message
    assert "unknowns" in e.fit(3).message
    assert "no entries" not in e.fit(1).message


# Messages with a ridge ------------------------------------------------------------------------------------------------


def test_messages_with_a_ridge_speak_of_it():
    e = plant(0, 12, 10, 2, noise=0.3)
    assert "smallest loss + ridge times gauge" in e.fit(2, ridge=0.5).message
    missed = e.fit(2, ridge=50.0, misfit=1e-3)
    assert missed.status is fa.Status.NOT_REACHED
    assert "smaller ridge" in missed.message


def test_few_entries_for_the_unknowns_are_said():
    e = plant(0, 12, 10, 3, share=0.65)
    unknowns = 3 * (12 + 10 - 3)
    assert unknowns <= e.b.size < 2 * unknowns
    assert f"{e.b.size} entries are few for {unknowns} unknowns" in e.fit(3).message
    assert "few for" not in e.fit(3, ridge=0.1).message
    assert "few for" not in e.fit(1).message
