"""No lower bound is above the optimum, whatever is asked, however bad the answer and wherever a search ends: against
every choice of classes fitted by itself."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.proofs.smooth import nodes
from prove.smooth.asking import checked, question, searched
from prove.smooth.twin import LOSSES, SETS, asked

NEAR_NOTHING = 1e-9  # optima that are as good as 0: no share of them is looked at
WAYS = ("usual", "bad answers", "stopped", "few steps", "no memory")


def check_one(seed, way, monkeypatch, **kinds):
    """A question of any kind, searched in one of these ways: what was told, proven and found in the end."""
    rng = np.random.default_rng(seed)
    it = asked(rng, **kinds)
    try:
        about = question(it.M, it.b, **it.words)
    except ValueError:  # too few classes for k, or an intercept beside numbers: what fit refuses
        return
    optimum = it.optimum()[0]
    if way == "bad answers":
        about = replace(about, upper=about.upper * rng.choice([1.1, 3.0]) + 1e-3)
    if way == "few steps":
        monkeypatch.setattr(nodes, "NODE_STEPS", 1)
        monkeypatch.setattr(nodes, "FIRST_STEPS", int(rng.integers(0, 3)))
    standings = int(rng.integers(1, 4)) if way == "stopped" else 10**6
    search, told = searched(about, standings=standings, memory=0.0 if way == "no memory" else None)
    final, above = search.final(), optimum * (1 + 1e-11) + 1e-13
    assert all(standing.lower <= above and standing.upper <= about.upper for standing in told), seed
    assert final.lower <= above, seed
    assert final.lower * (1 - 1e-9) <= checked(about, search.tree()).lower <= above, seed
    if final.ended and optimum > NEAR_NOTHING:
        assert final.upper >= optimum * (1 - 1e-9), seed
        if way in ("usual", "bad answers", "no memory"):
            assert final.upper <= optimum * (1 + 1.01e-4), seed
            assert final.upper - final.lower <= about.gap * final.upper, seed


@pytest.mark.parametrize("way", WAYS)
def test_tiny_problems_against_all_choices(way, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(6):
            check_one(100 * WAYS.index(way) + seed, way, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", LOSSES)
def test_many_tiny_problems_against_all_choices(loss, way, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(70):
            check_one(10_000 + seed, way, monkeypatch, losses=(loss,))


@pytest.mark.soak
@pytest.mark.parametrize("kind", SETS)
def test_many_sets_against_all_choices(kind, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(100):
            check_one(20_000 + seed, WAYS[seed % len(WAYS)], monkeypatch, sets=(kind,))


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_groups_without_a_ridge_by_a_part_moved_out(ridge):
    """Where columns are independent, and only there."""
    rng = np.random.default_rng(3)
    M = rng.standard_normal((40, 10))
    labels = np.repeat(np.arange(5), 2)
    b = M[:, :4] @ rng.standard_normal(4) + rng.standard_normal(40)
    about = question(M, b, atoms=fa.Groups(labels), k=2, ridge=ridge)
    search, _ = searched(about)
    final = search.final()
    assert search.posed.shift.min() > 0.01
    assert final.upper - final.lower <= 1e-4 * final.upper
    assert checked(about, search.tree()).lower >= final.lower * (1 - 1e-9)
    assert search.remedy() == ""


def test_nothing_is_proven_without_a_ridge_or_a_cap_and_that_is_said():
    rng = np.random.default_rng(4)
    M = rng.standard_normal((30, 6))
    M[:, 1] = M[:, 0]
    for words in ({"loss": fa.Huber(0.5)}, {}):
        about = question(M, rng.standard_normal(30), atoms=fa.Groups(np.repeat([0, 1, 2], 2)), k=1, ridge=0.0, **words)
        search, told = searched(about)
        assert [standing.lower for standing in told] == [0.0]
        assert search.final().lower == 0.0
        assert "ridge=" in search.remedy()
        assert search.tree().name == search.name


def test_better_answers_take_the_place_of_bad_ones():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((80, 12))
    labels = (M[:, 2] - M[:, 7] + rng.logistic(size=80) > 0).astype(int)
    about = question(M, labels, atoms=fa.SignedOneHot(12), k=2, loss=fa.Logistic(), ridge=0.05, free="intercept")
    bad = replace(about, upper=1.2 * about.upper, best=np.array([0, 1]))
    final = searched(bad)[0].final()
    assert final.upper <= about.upper * (1 + 1e-9)
    assert final.best.tolist() == about.best.tolist()
