"""The published figures: typed once, each with its place, and in accord with our constructions."""

import numpy as np
import pytest

from fewatoms import datasets
from fewatoms.reproduce import published


def leaves(tree, path=()):
    if isinstance(tree, dict) and "value" in tree:
        yield path, tree
    elif isinstance(tree, dict):
        for key, inner in tree.items():
            yield from leaves(inner, (*path, key))


def test_every_figure_says_where_it_is_found():
    found = dict(leaves(published.whole()))
    assert len(found) >= 20
    for path, figure in found.items():
        assert set(figure) == {"value", "where"}, path
        assert figure["where"].strip(), path
        assert any(word in figure["where"] for word in ("Section ", "Table", "notebook")), path
    for part in ("sparco", "completion", "rpca"):
        assert published.where(part)


@pytest.mark.parametrize("name", datasets.SPARCO)
def test_sparco_has_the_sizes_of_our_constructions(name):
    told = published.sparco()[name]
    made = datasets.SPARCO[name](rng=0)
    assert made.M.shape == (told.m, told.n)
    if name in ("blocksig", "cosspike", "sgnspike"):  # the others depend on the draw
        assert np.linalg.norm(made.b) == pytest.approx(told.norm, rel=0.1)


def test_the_counts_are_those_of_the_tables():
    told = published.sparco()
    assert [row.nnz for row in told.values()] == [71, 113, 113, 20, 35]
    assert [row.paper for row in told.values()] == [5, 71, 141, 21, 1888]
    assert [row.spgl1 for row in told.values()] == [22, 77, 434, 44, 4761]
    assert published.number("completion", "floor") == 0.24
    assert published.count("rpca", "iterations") == 88
