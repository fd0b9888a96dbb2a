"""Blocks of a matrix: where they lie, and what lies in them."""

import numpy as np
import pytest
import scipy.sparse as sp

from contracts.families import generator
from fewatoms.faces import Tiles


@pytest.mark.parametrize(("shape", "sides"), [((7, 6), (3, 2)), ((4, 4), (4, 4)), ((5, 3), (2, 3)), ((1, 6), (1, 4))])
def test_blocks_cover_a_matrix_once(shape, sides):
    tiles, X = Tiles(shape, sides), generator(0).standard_normal(shape)
    every, seen = np.arange(tiles.count), np.zeros(shape)
    for block in every:
        seen[tiles.window(block)] += 1
        assert X[tiles.window(block)].shape == tiles.size(block)
    assert (seen == 1).all()
    rows, cols = np.indices(shape).reshape(2, -1)
    for block, (which, i, j) in zip(every, tiles.sorted_into(every, rows, cols), strict=True):
        assert (tiles.holding(rows[which], cols[which]) == block).all()
        np.testing.assert_array_equal(X[tiles.window(block)][i, j], X.ravel()[which])
    assert tuple(tiles.places(every)[-1] + 1) == tiles.grid


def test_sparse_matrices_are_read_as_arrays_are(monkeypatch):
    tiles, rng = Tiles((7, 6), (3, 2)), generator(1)
    Z = rng.standard_normal((7, 6)) * (rng.random((7, 6)) < 0.4)
    blocks = np.array([0, 4, 8])
    for written in (1000, 1):
        monkeypatch.setattr("fewatoms.faces.tiles.WRITTEN", written)
        for z in (Z, sp.csr_array(Z), sp.coo_array(Z)):
            np.testing.assert_allclose(tiles.lengths(z), [np.linalg.norm(Z[tiles.window(b)]) for b in range(9)])
            for piece, block in zip(tiles.read(z, blocks), blocks, strict=True):
                found = piece.toarray() if sp.issparse(piece) else piece
                np.testing.assert_array_equal(found, Z[tiles.window(block)])


def test_entries_told_twice_add_up():
    twice = sp.coo_array((np.array([1.0, 2.0]), (np.array([1, 1]), np.array([1, 1]))), shape=(4, 4))
    assert Tiles((4, 4), (2, 2)).lengths(twice)[0] == 3.0
