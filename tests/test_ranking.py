"""Precision, recall and NDCG against an obvious twin: all orders of what is tied."""

from itertools import permutations, product

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import kernels, ranking
from fewatoms.beside import FittedBiases
from fewatoms.lowrank import LowRank
from fewatoms.ranking import Ranking


def in_every_order(scores):
    """All orders of the items by falling score, those with equal scores in every way."""
    groups = [np.flatnonzero(scores == s) for s in sorted(set(scores.tolist()), reverse=True)]
    for parts in product(*(permutations(g.tolist()) for g in groups)):
        yield [item for part in parts for item in part]


def twin(X, held, seen, n):
    """Precision, recall and NDCG at n, the mean over rows with held-out entries, by definition."""
    figures = []
    for i in range(len(X)):
        wanted = {int(j) for j in held[1][held[0] == i]}
        if not wanted:
            continue
        known = set(seen[1][seen[0] == i].tolist())
        items = np.array([j for j in range(X.shape[1]) if j not in known])
        rounds = []
        for order in in_every_order(X[i, items]):
            hits = [items[j] in wanted for j in order[:n]]
            gain = sum(hit / np.log2(place + 2) for place, hit in enumerate(hits))
            ideal = sum(1 / np.log2(place + 2) for place in range(min(n, len(wanted))))
            rounds.append((sum(hits) / n, sum(hits) / len(wanted), gain / ideal))
        figures.append(np.mean(rounds, axis=0))
    return np.mean(figures, axis=0)


def drawn(seed, ties):
    rng = np.random.default_rng(seed)
    p, q = 6, 6
    left = rng.integers(0, 2, (p, 2)).astype(float) if ties else rng.standard_normal((p, 2))
    right = rng.integers(0, 3, (q, 2)).astype(float) if ties else rng.standard_normal((q, 2))
    mark = rng.random((p, q))
    mark[2] = 0.9  # neither held out nor seen
    return LowRank(left, right), np.nonzero(mark < 0.35), np.nonzero((mark >= 0.35) & (mark < 0.6))


@pytest.fixture(params=["plain", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 10**12 if request.param == "plain" else 0)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_the_definition(seed, ties, way):
    model, held, seen = drawn(seed, ties)
    found = Ranking.of(model, held, seen)
    for n in (1, 2, 4, 10):
        expected = twin(model.left @ model.right.T, held, seen, n)
        np.testing.assert_allclose((found.precision(n), found.recall(n), found.ndcg(n)), expected, atol=1e-12)
    assert found.ndcg() == pytest.approx(found.ndcg(1000))
    assert found.figure(ranking.Way("recall", 2)) == found.recall(2)
    assert found.figure(ranking.Way("precision", 2)) == found.precision(2)


def test_numbers_of_columns_do_not_matter():
    model, held, seen = drawn(0, ties=True)
    order = np.random.default_rng(1).permutation(6)
    back = np.argsort(order)
    turned = Ranking.of(LowRank(model.left, model.right[order]), (held[0], back[held[1]]), (seen[0], back[seen[1]]))
    assert turned.ndcg(3) == pytest.approx(Ranking.of(model, held, seen).ndcg(3))


def test_biases_of_columns_count(monkeypatch):
    monkeypatch.setattr(ranking, "SCORES_AT_ONCE", 4)
    rng = np.random.default_rng(0)
    biases = FittedBiases(3.0, rng.standard_normal(5), rng.standard_normal(4))
    model = LowRank(np.zeros((5, 1)), np.zeros((4, 1)), biases)
    best = int(np.argmax(biases.cols))
    assert Ranking.of(model, ([0, 3], [best, best])).ndcg(1) == 1.0


def test_what_cannot_be_ranked_is_said():
    model, held, seen = drawn(0, ties=False)
    with pytest.raises(ValueError, match="held must name entries that are not in seen; 1 are in both"):
        Ranking.of(model, ([0], [1]), ([0], [1]))
    with pytest.raises(ValueError, match="held must name at least one"):
        Ranking.of(model, ([], []))
    with pytest.raises(ValueError, match="cols of held"):
        Ranking.of(model, ([0], [6]))
    with pytest.raises(ValueError, match="n must be"):
        Ranking.of(model, held, seen).ndcg(0)


@pytest.mark.parametrize("by", ["ndcg@3", "precision@2", "recall@4"])
def test_choose_k_by_rank(by):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 12)) + 0.1 * rng.standard_normal((20, 12))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.6)
    M, b, atoms = fa.Sampling(rows, cols, X.shape), X[rows, cols], fa.RankOne(*X.shape)
    path = fa.fit_path(M, b, atoms=atoms, k=[1, 2, 3], ridge=0.5)
    folds = [np.arange(i, b.size, 3) for i in range(3)]
    chosen = path.choose_k(by, folds=folds)
    name, n = by.split("@")
    for place, k in enumerate(path.k):
        figures = []
        for held in folds:
            rest = np.setdiff1d(np.arange(b.size), held)
            part = fa.Sampling(rows[rest], cols[rest], X.shape)
            s = fa.fit(part, b[rest], atoms=atoms, k=k, ridge=0.5, effort="quick")
            figure = getattr(Ranking.of(s, (rows[held], cols[held]), (rows[rest], cols[rest])), name)
            figures.append(figure(int(n)))
        assert path.scores[by][place] == pytest.approx(np.mean(figures), rel=1e-6)
    assert chosen == path.k[int(np.argmax(path.scores[by]))] == path.chosen
    assert path.errors[by].shape == (3,)
    assert path.chosen_by == by


def test_ways_that_rank_are_for_entries():
    rng = np.random.default_rng(0)
    path = fa.fit_path(rng.standard_normal((20, 5)), rng.standard_normal(20), atoms=fa.SignedOneHot(5), k=[1, 2])
    with pytest.raises(ValueError, match="by='ndcg@10' ranks entries of matrices"):
        path.choose_k("ndcg@10")
    M = fa.Sampling([0, 0, 1, 2, 2], [0, 1, 1, 0, 2], (3, 3))
    path = fa.fit_path(M, np.ones(5), atoms=fa.RankOne(3, 3), k=[1, 2])
    with pytest.raises(ValueError, match="'ndcg@10', 'precision@10', 'recall@10'; got 'ndcg@'"):
        path.choose_k("ndcg@")
