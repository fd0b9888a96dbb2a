"""Trees that were tampered with are refused, or prove less than was claimed."""

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.proofs.base import Tampered
from fewatoms.proofs.smooth.given import IN, OUT
from prove.smooth.asking import checked, groups, labelled, searched


@pytest.fixture(scope="module")
def proven():
    """Finished proofs with many nodes: groups, and classes beside an intercept."""
    rng = np.random.default_rng(1)
    abouts = groups(rng), labelled(rng, fa.Multinomial(), free="intercept"), groups(rng, ridge=0.0, m=90, snr=0.2)
    found = []
    for about in abouts:
        search, _ = searched(about)
        final = search.final()
        assert search.record.size > 8
        assert final.upper - final.lower <= 1e-4 * final.upper
        found.append((about, search.tree(), final.lower))
    return found


def changed(tree, **arrays):
    return replace(tree, arrays={**tree.arrays, **arrays})


def tampering(tree, rng):
    """A change of any kind that a proof does not survive."""
    a = {name: array.copy() for name, array in tree.arrays.items()}
    size = a["parent"].size
    leaves = np.setdiff1d(np.arange(size), a["parent"])
    inner = np.setdiff1d(np.arange(size), leaves)
    kinds = ["leaf", "turned", "coefficients", "side", "class", "length", "nan", "place", "parent", "v"]
    kind = rng.choice([kind for kind in kinds if kind != "turned" or a["fixed"].size])
    at = int(rng.choice(leaves[leaves > 0]))
    if kind == "leaf":  # it goes, and nobody takes its place
        keep = np.arange(size) != at
        a["parent"] = np.where(a["parent"] > at, a["parent"] - 1, a["parent"])[keep]
        for name in ("atom", "side", "v"):
            a[name] = a[name][keep]
        for starts, parts in (("starts", ("places", "values")), ("fixed_starts", ("fixed", "fixed_side"))):
            some = np.arange(a[starts][at], a[starts][at + 1])
            for name in parts:
                a[name] = np.delete(a[name], some)
            a[starts] = np.delete(a[starts], at + 1) - np.where(np.arange(size) > at, some.size, 0)
    elif kind == "turned":  # what was decided is decided the other way
        a["fixed_side"] = np.where(a["fixed_side"] == IN, OUT, IN)
    elif kind == "coefficients":  # of all leaves
        a["values"] = a["values"] * rng.choice([0.0, -1.0, 30.0])
    elif kind == "side":
        a["side"][at] = IN + OUT - a["side"][at]
    elif kind == "class":
        a["atom"][at] = (a["atom"][at] + 1) % 5 + 50
    elif kind == "length":
        name = str(rng.choice([*a]))
        a[name] = a[name][:-1] if a[name].size else np.zeros(3)
    elif kind == "nan":
        a["values"][0] = rng.choice([np.nan, np.inf])
    elif kind == "place":
        a["places"][0] = rng.choice([-1, 10**6])
    elif kind == "parent":
        a["parent"][at] = int(rng.choice(inner[inner != a["parent"][at]]))
    else:
        a["v"] = np.full((size, a["v"].shape[1] + 1), np.nan)
    return kind, changed(tree, **a)


@pytest.mark.parametrize("which", range(3))
def test_tampered_trees_are_refused_or_prove_less(proven, which):
    about, tree, lower = proven[which]
    rng = np.random.default_rng(which)
    for _ in range(40):
        kind, wrong = tampering(tree, rng)
        try:
            found = checked(about, wrong).lower
        except Tampered:
            continue
        assert found < lower * (1 - 1e-6), kind


def test_another_question_proves_something_else(proven):
    about, tree, _ = proven[0]
    with pytest.raises(Tampered, match="atoms"):
        checked(replace(about, k=about.k + 1), tree)
    other = groups(np.random.default_rng(9))
    assert checked(other, tree).lower < 0.9 * other.upper
    with pytest.raises(Tampered):
        checked(proven[1][0], tree)


def test_more_than_may_be_moved_out_is_refused(proven):
    about, tree, _ = proven[2]
    assert tree.arrays["shift"].min() > 0
    for wrong in (1.5 * tree.arrays["shift"], tree.arrays["shift"] + 0.2, -tree.arrays["shift"]):
        with pytest.raises(Tampered, match="convex"):
            checked(about, changed(tree, shift=wrong))
    with pytest.raises(Tampered, match="damaged"):
        checked(about, changed(tree, shift=tree.arrays["shift"] * np.nan))


def test_a_share_of_the_leaves(proven):
    about, tree, lower = proven[0]
    found = checked(about, tree, share=0.3)
    assert 0.2 < found.share < 0.4
    assert found.lower >= lower * (1 - 1e-9)


def test_what_was_searched_through_without_a_record_is_searched_again():
    about = groups(np.random.default_rng(2))
    search, _ = searched(about, memory=0.0)
    final, tree = search.final(), search.tree()
    assert search.record.size == 1
    assert final.upper - final.lower <= 1e-4 * final.upper
    assert checked(about, tree).lower >= final.lower * (1 - 1e-6)
    with pytest.raises(Tampered, match="below node 0"):
        checked(about, changed(tree, again_bound=tree.arrays["again_bound"] * 1.01))
    twice = {name: np.concatenate([tree.arrays[name]] * 2) for name in ("again", "again_bound")}
    assert checked(about, changed(tree, **twice)).lower >= final.lower * (1 - 1e-6)


def test_unfinished_trees_prove_what_they_have():
    about = groups(np.random.default_rng(6))
    search, told = searched(about, standings=1)
    final = search.final()
    assert not told[-1].ended
    assert 0 < final.lower < about.upper
    assert checked(about, search.tree()).lower >= final.lower * (1 - 1e-12)
