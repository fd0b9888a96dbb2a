"""Which of many scores is preferred: by averages of neighbours where rows were left out, not past a steep fall."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.choosing import STAY, STEADY, LeftOut, ahead, folded, held_out, preferred, steadied
from fewatoms.doors import posed

SIZES = np.tile(np.arange(1, 11), (2, 1))


def chosen(rows, error=None, steady=True):
    return preferred(np.array(rows, dtype=float), SIZES[: len(rows), : len(rows[0])], error, steady=steady)


def test_a_score_that_is_low_by_itself_is_chance():
    lucky = [9, 8, 3, 8, 7, 5, 4, 4, 5, 6]
    assert chosen([lucky], steady=False) == (0, 2)
    assert chosen([lucky])[1] in (6, 7)
    calm = [5.0] * 10
    assert chosen([lucky, calm], steady=False) == (0, 2)


@pytest.mark.parametrize("at", range(10))
def test_a_steep_fall_is_no_chance(at):
    scores = np.where(np.arange(10) < at, 100.0, 1.0 + 0.01 * np.arange(10))
    assert chosen([scores.tolist()]) == (0, at)


def test_the_row_with_the_lowest_average_is_taken():
    first, second = [5, 4, 9, 1, 9, 4, 5, 5, 5, 5], [5, 4, 3, 2.5, 2, 2, 2, 2.1, 3, 4]
    assert chosen([first, second], steady=False) == (0, 3)
    assert chosen([first, second])[0] == 1


def test_few_scores_and_errors_stand_for_themselves():
    assert chosen([[9, 1, 9, 2][: STEADY - 1]]) == (0, 1)
    assert chosen([[9, 8, 3, 8, 7, 5, 4, 4, 5, 6]], error=2.5, steady=False) == (0, 2)
    assert chosen([[9, 5, 3, 8, 7, 5, 4, 4, 5, 6]], error=2.5, steady=False) == (0, 1)
    assert chosen([[2, 1, 1, 1]]) == (0, 1)  # the fewest among equals


def test_averages_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.random((3, 8))
        by_hand = np.empty((3, 8))
        for r, row in enumerate(scores):
            for c in range(8):
                near = [row[min(max(c + i, 0), 7)] for i in range(-2, 3)]
                near[0], near[1] = min(near[0], max(near[2:])), min(near[1], max(near[2:]))
                by_hand[r, c] = near @ np.array([0.135, 0.6, 1.0, 0.6, 0.135])
        row, columns = steadied(scores)
        assert (row, columns.stop - 1) == np.unravel_index(np.argmin(by_hand), (3, 8))
        assert columns.start == max(0, columns.stop - 3)


def test_a_steep_fall_with_noise_after_it():
    scores = [167.1, 110.9, 51.8, 56.2, 60.5, 63.5, 59.4, 57.2, 58.7, 59.5]
    assert chosen([scores]) == (0, 2)


@pytest.mark.parametrize("burst", [2.0, 10.0, 1e4])
@pytest.mark.parametrize("at", range(10))
def test_fits_that_have_come_apart_say_nothing_of_the_size_before(at, burst):
    """Sizes beyond the true one may predict a hundred times worse: it is the best one all the same."""
    scores = np.where(np.arange(10) <= at, 1.0 + 0.5 * (at - np.arange(10)), burst * (1 + 0.1 * np.arange(10)))
    assert preferred(scores[None], SIZES[:1], None, steady=True, chance=0.05) == (0, at)


def test_what_is_chosen_is_never_clearly_worse_than_the_best():
    rng = np.random.default_rng(0)
    averaged = 0
    for _ in range(300):
        scores = np.exp(rng.uniform(0.1, 3.0) * rng.standard_normal((rng.integers(1, 4), 9)))
        chance = float(rng.choice([0.01, 0.1, 1.0])) * scores.min()
        place = preferred(scores, np.tile(np.arange(9), (len(scores), 1)), None, steady=True, chance=chance)
        assert scores[place] <= scores.min() + chance
        averaged += scores[place] > scores.min()
    assert averaged > 10  # averages still decide among those that are near


@pytest.mark.parametrize("by", ["cv", "held-out"])
@pytest.mark.parametrize("seed", range(3))
def test_a_rank_is_chosen_before_the_ones_that_fit_counts_too_well(seed, by):
    rng = np.random.default_rng(seed)
    X = rng.poisson(5 * rng.gamma(1, 1, (80, 3)) @ rng.gamma(1, 1, (3, 60))).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    M, b = fa.Sampling.from_array(X)
    path = fa.fit_path(M, b, atoms=fa.RankOne(80, 60), k=range(1, 8))
    chosen, scores = path.choose_k(by), path.scores[by]
    assert scores[path.k.index(chosen)] <= 1.1 * scores.min()
    assert max(scores) > 1.5 * scores.min()  # as sizes go on they do fit too well


def test_the_standard_error_of_the_lowest_score():
    errors = np.array([[1.0, 3.0, 2.0]])
    several = LeftOut(np.array([[9.0, 4.0, 5.0]]), errors, 5, 10.0, 50)
    assert several.chance == 3.0
    once = several._replace(errors=np.zeros((1, 3)), folds=1)
    assert once.chance == pytest.approx(4.0 * np.sqrt(2 / 50))


def test_a_planted_number_of_atoms_is_chosen():
    hits = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        M = rng.standard_normal((120, 60))
        b = M[:, :4] @ np.array([3.0, -2.0, 2.0, 1.5]) + rng.standard_normal(120)
        path = fa.fit_path(M, b, atoms=fa.SignedOneHot(60), k=range(1, 11))
        hits += path.choose_k("cv") == 4
    assert hits >= 4


def test_the_order_of_the_sizes_does_not_matter():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((60, 30))
        b = A[:, [3, 7, 9]] @ np.array([1.0, -1.0, 0.8]) + 0.5 * rng.standard_normal(60)
        orders = ([1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1], [5, 1, 8, 3, 2, 7, 4, 6])
        found = {fa.fit_path(A, b, atoms=fa.SignedOneHot(30), k=ks).choose_k("cv") for ks in orders}
        assert len(found) == 1


@pytest.mark.parametrize("counts", [(30, 30), (50, 7), (20, 11, 5)])
def test_each_fold_has_its_share_of_every_class(counts):
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    X, loss = np.random.default_rng(0).standard_normal((labels.size, 4)), fa.Multinomial()
    loss = fa.Logistic() if len(counts) == 2 else loss
    problem, _ = posed(X, labels, 2, atoms=fa.SignedOneHot(4), loss=loss)
    width = 1 if len(counts) == 2 else len(counts)
    splits = [np.unique(held // width) for held in folded(problem, 5, 2, 3)]
    assert len(splits) == 10
    for of_one in (splits[:5], splits[5:]):
        np.testing.assert_array_equal(np.sort(np.concatenate(of_one)), np.arange(labels.size))
        for code, count in enumerate(counts):
            own = [np.count_nonzero(labels[fold] == code) for fold in of_one]
            assert min(own) >= count // 5 - 1
            assert max(own) <= count // 5 + 1
    once = np.unique(held_out(problem, 0.2, 3) // width)
    assert once.size == round(0.2 * labels.size)
    for code, count in enumerate(counts):
        assert abs(np.count_nonzero(labels[once] == code) - 0.2 * count) <= 1


# Folds that are given ------------------------------------------------------------------------------------------------


def noisy(seed=0, m=40, n=12):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    return A, A[:, :2] @ np.array([2.0, -1.0]) + 0.5 * rng.standard_normal(m)


def path_of(A, b, **words):
    return fa.fit_path(A, b, atoms=fa.SignedOneHot(A.shape[1]), k=range(1, 5), free="intercept", **words)


@pytest.mark.parametrize("ridge", [0.0, [0.0, 0.3]])
def test_folds_that_are_given_are_folds_that_are_drawn(ridge):
    A, b = noisy()
    drawn, named, paired = (path_of(A, b, ridge=ridge) for _ in range(3))
    problem, _ = posed(A, b, 2, atoms=fa.SignedOneHot(12))
    held = folded(problem, 4, 1, None)
    drawn.choose_k("cv", folds=4, repeats=1)
    named.choose_k("cv", folds=[rows.tolist() for rows in held])
    paired.choose_k("cv", folds=((np.setdiff1d(np.arange(40), rows), rows) for rows in held))
    for other in (named, paired):
        np.testing.assert_array_equal(other.scores["cv"], drawn.scores["cv"])
        assert (other.chosen, other.ridge) == (drawn.chosen, drawn.ridge)


def test_rows_fitted_to_may_be_some_of_the_others():
    A, b = noisy()
    early, late = np.arange(20), np.arange(30, 40)
    path = path_of(A, b)
    path.choose_k("cv", folds=[(early, late)])
    by_hand = []
    for k in (1, 2):  # whose atoms leave no doubt: comparisons are quick
        s = fa.fit(A[early], b[early], atoms=fa.SignedOneHot(12), k=k, free="intercept")
        by_hand.append(np.sqrt(np.mean((b[late] - s.predict(A[late])) ** 2)))
    np.testing.assert_allclose(path.scores["cv"][:2], by_hand, rtol=1e-6)


def test_folds_of_labels_are_rows_of_labels():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 5)), np.repeat(["a", "b", "c"], 20)
    words = {"atoms": fa.SignedOneHot(5), "loss": fa.Multinomial(), "ridge": 0.1}
    path, held = fa.fit_path(X, labels, k=(1, 2), **words), np.arange(0, 60, 4)
    path.choose_k("cv", folds=[held])
    rest = np.setdiff1d(np.arange(60), held)
    for k, score in zip(path.k, path.scores["cv"], strict=True):
        s = fa.fit(X[rest], labels[rest], k=k, **words)
        chances = s.predict_proba(X[held])[np.arange(held.size), np.searchsorted(s.classes, labels[held])]
        assert score == pytest.approx(-np.log(chances).sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("folds", "kind", "told"),
    [
        ([], ValueError, "got none"),
        ([3, 4], TypeError, "got one that is 3"),
        ([[0, 40]], ValueError, "between 0 and 39"),
        ([[0.5, 1.0]], TypeError, "integers"),
        ([np.arange(40)], ValueError, "0 fitted to"),
        ([([], [1])], ValueError, "0 fitted to"),
        ([([1, 2], [2, 3])], ValueError, "1 in both"),
    ],
)
def test_folds_that_cannot_be(folds, kind, told):
    path = path_of(*noisy())
    with pytest.raises(kind, match=r"^folds must.*" + told):
        path.choose_k("cv", folds=folds)


def test_folds_that_are_given_are_not_repeated():
    with pytest.raises(ValueError, match=r"^repeats must be left out"):
        path_of(*noisy()).choose_k("cv", folds=[[0, 1]], repeats=2)


def test_ridges_that_the_first_round_finds_clearly_worse_are_not_looked_at_again():
    losses = np.full((5, 6, 3), 10.0)
    losses[:, 2, 1] = 1.0  # the leader
    losses[:, 3, 2] = [0.5, 1.6, 1.2, 0.9, 0.9]  # behind by chance
    assert ahead(losses) == [2, 3]
    assert len(ahead(np.ones((5, 6, 3)))) == STAY
    assert 2 in ahead(losses[:1])
