"""Rank-one matrices inside blocks: every block is a matrix of its own, and they compete for one budget."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
import naive
from contracts.families import generator
from fewatoms.atoms import block_rank_one
from fewatoms.testing import check_atoms

SHAPES = [((7, 6), (3, 2)), ((7, 6), (4, 4)), ((5, 5), (5, 5)), ((4, 6), (1, 6)), ((3, 4), (1, 1)), ((1, 7), (1, 3))]
every_shape = pytest.mark.parametrize(("shape", "block"), SHAPES)


def singular(atoms, Z):
    """The singular values of all blocks, largest first, by one decomposition each."""
    values = [np.linalg.svd(Z[window], compute_uv=False) for window in naive.windows(atoms)]
    return np.sort(np.concatenate(values))[::-1]


@every_shape
def test_against_a_decomposition_of_each_block(shape, block):
    atoms, rng = fa.BlockRankOne(shape, block), generator(1)
    Z = rng.standard_normal(shape)
    values = singular(atoms, Z)
    assert atoms.count == values.size
    assert atoms.support(Z) == pytest.approx(values[0])
    assert atoms.gauge(Z) == pytest.approx(values.sum())
    for k in (1, 2, atoms.count):
        face = atoms.expose(Z, k)
        c = face.adjoint(Z)
        assert face.size == min(k, atoms.count)
        np.testing.assert_allclose(atoms.spectrum(Z, k), values[:k], atol=1e-12)
        np.testing.assert_allclose(face.values(c), values[:k], atol=1e-12)
        assert np.linalg.norm(Z - face.point(c)) ** 2 == pytest.approx(np.sum(values[k:] ** 2), abs=1e-10)


@every_shape
def test_sparse_and_implicit_duals_are_read_block_by_block(shape, block):
    atoms, rng = fa.BlockRankOne(shape, block), generator(2)
    Z = rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    for z in (sp.csr_array(Z), sp.coo_array(Z), aslinearoperator(Z)):
        assert atoms.support(z) == pytest.approx(atoms.support(Z))
        np.testing.assert_allclose(atoms.spectrum(z, 3), atoms.spectrum(Z, 3), atol=1e-12)
        face = atoms.expose(z, 2)
        np.testing.assert_allclose(face.adjoint(z), face.adjoint(Z), atol=1e-12)
    check_atoms(atoms, 0, trials=1, duals=lambda g: sp.csr_array(sp.random_array(shape, density=0.5, rng=g)))


def test_one_block_is_rank_one_and_blocks_of_one_entry_are_entries():
    Z = generator(3).standard_normal((4, 5))
    whole, entries = fa.BlockRankOne((4, 5), (4, 5)), fa.BlockRankOne((4, 5), (1, 1))
    assert whole.support(Z) == pytest.approx(fa.RankOne(4, 5).support(Z))
    assert whole.gauge(Z) == pytest.approx(fa.RankOne(4, 5).gauge(Z))
    assert entries.support(Z) == pytest.approx(np.abs(Z).max())
    assert entries.gauge(Z) == pytest.approx(np.abs(Z).sum())
    np.testing.assert_array_equal(entries.expose(Z, 3).labels(), fa.SignedOneHot((4, 5)).expose(Z, 3).labels())


def test_ties_and_edges_of_exposed():
    atoms, Z = fa.BlockRankOne((4, 4), (2, 2)), np.diag([5.0, 4.9, 3.0, -6.0])
    assert atoms.exposed(Z, 0.0).size == 1
    assert atoms.exposed(Z, 1.05).size == 2
    assert atoms.exposed(Z, 1.2).size == 3
    assert atoms.exposed(Z, 3.0).size == 4
    assert atoms.exposed(Z, 3.0, 2).size == 2
    assert atoms.exposed(Z, 3.0, 0).size == 0
    assert atoms.exposed(Z, 0.0, least=3).size == 3


def test_the_largest_of_many_blocks_are_found_without_a_look_at_all(monkeypatch):
    looked = []
    plain = block_rank_one._stacked
    monkeypatch.setattr(
        block_rank_one, "_stacked", lambda blocks, pieces: looked.extend(blocks) or plain(blocks, pieces)
    )
    Z = 0.01 * generator(4).standard_normal((80, 80))
    Z[:4, :4] += 1.0
    Z[40:44, 8:12] += 2.0
    face = fa.BlockRankOne((80, 80), (4, 4)).expose(Z, 2)
    np.testing.assert_array_equal(face.labels(), [[10, 2], [0, 0]])
    assert len(looked) < 40


def test_large_blocks_are_decomposed_one_by_one(monkeypatch):
    rng = generator(5)
    Z = rng.standard_normal((30, 24))
    atoms = fa.BlockRankOne((30, 24), (16, 12))
    small = {k: atoms.expose(Z, k).point(atoms.expose(Z, k).adjoint(Z)) for k in (1, 3, 8)}
    shrunk = atoms.shrink([], Z, 1.0)
    expected = {t: shrunk.at(t)[0].point(shrunk.at(t)[1]) for t in (2.0, 5.0, 0.0)}
    monkeypatch.setattr(block_rank_one, "_small", lambda tiles: False)
    for k, X in small.items():
        face = atoms.expose(Z, k)
        np.testing.assert_allclose(face.point(face.adjoint(Z)), X, atol=1e-10)
    for z in (Z, sp.csr_array(Z)):
        shrunk = atoms.shrink([], z, 1.0)
        for t, X in expected.items():
            face, c = shrunk.at(t)
            np.testing.assert_allclose(face.point(c), X, atol=1e-9)


def test_the_proximal_map_of_a_large_sparse_matrix_fills_nothing_in(monkeypatch):
    monkeypatch.setattr(block_rank_one, "WRITTEN", 10)
    monkeypatch.setattr("fewatoms.faces.tiles.WRITTEN", 10)
    atoms, rng = fa.BlockRankOne((9, 8), (4, 3)), generator(6)
    Z = rng.standard_normal((9, 8)) * (rng.random((9, 8)) < 0.4)
    face = atoms.expose(rng.standard_normal((9, 8)), 3)
    c = rng.standard_normal(face.dim)
    shrunk = atoms.shrink([(0.5, face, c)], sp.csr_array(Z), 0.7)
    for t in (1.0, 0.2):
        found, d = shrunk.at(t)
        expected = naive.proximal(atoms, (0.5 * face.point(c) + 0.7 * Z).ravel(), t)
        np.testing.assert_allclose(found.point(d).ravel(), expected, atol=1e-10)


def test_blocks_left_out():
    atoms = fa.BlockRankOne((5, 4), (2, 2))
    some, Z = atoms.restricted(exclude=[(0, 1), (2, 0)]), generator(7).standard_normal((5, 4))
    mask = np.zeros((3, 2), dtype=bool)
    mask[0, 1] = mask[2, 0] = True
    assert some.same_as(atoms)
    assert some.count == atoms.count - 3
    assert repr(some) == repr(atoms.restricted(exclude=mask)) == "BlockRankOne((5, 4), (2, 2)).restricted(exclude=<2>)"
    assert atoms.restricted() is atoms
    for k in range(1, some.count + 1):
        labels = {tuple(pair) for pair in some.expose(Z, k).labels().tolist()}
        assert not labels & {(0, 1), (2, 0)}
    assert some.gauge(Z) == np.inf
    face, c = some.shrink([], Z, 1.0).at(0.0)
    assert some.gauge(face.point(c)) == pytest.approx(atoms.gauge(face.point(c)))
    s = fa.fit(fa.Identity((5, 4)), Z, atoms=some, k=2)
    assert not {(0, 1), (2, 0)} & {tuple(pair) for pair in s.indices.tolist()}


def test_what_is_refused():
    atoms = fa.BlockRankOne((5, 4), (2, 2))
    for words, told in (
        ({"include": [(0, 0)]}, "include is for atoms that can be listed"),
        ({"exclude": [0, 1]}, "pairs of blocks"),
        ({"exclude": [(3, 0)]}, "exclude"),
        ({"exclude": np.ones((5, 4), dtype=bool)}, "mask of the grid"),
        ({"exclude": np.ones((3, 2), dtype=bool)}, "leave blocks"),
    ):
        with pytest.raises(ValueError, match=told):
            atoms.restricted(**words)
    with pytest.raises(ValueError, match=r"block must be no larger than shape, \(5, 4\); got \(6, 4\)"):
        fa.BlockRankOne((5, 4), (6, 4))
    with pytest.raises((TypeError, ValueError), match="block"):
        fa.BlockRankOne((5, 4), 2)
    with pytest.raises((TypeError, ValueError), match="block"):
        fa.BlockRankOne((5, 4), (0, 2))


def test_answers_tell_their_blocks_and_travel(tmp_path):
    rng = generator(8)
    X = np.zeros((10, 9))
    X[:4, :4] = 3 * np.outer(rng.standard_normal(4), rng.standard_normal(4))
    X[8:, 8:] = 5.0
    M = fa.Identity((10, 9))
    s = fa.fit(M, X, atoms=fa.BlockRankOne((10, 9), (4, 4)), k=2)
    assert s.misfit < 1e-12
    assert {tuple(pair) for pair in s.indices.tolist()} == {(0, 0), (2, 2)}
    np.testing.assert_allclose(s.left @ s.right.T, X, atol=1e-12)
    np.testing.assert_allclose(s.predict([0, 9, 5], [1, 8, 5]), X[[0, 9, 5], [1, 8, 5]], atol=1e-12)
    assert [row["atom"] for row in s.table()] == [tuple(pair) for pair in s.indices.tolist()]
    s.save(tmp_path / "blocks.npz")
    for again in (fa.load(tmp_path / "blocks.npz"), pickle.loads(pickle.dumps(s))):
        np.testing.assert_array_equal(again.x, s.x)
        np.testing.assert_array_equal(again.indices, s.indices)
        assert again.attach(M, X).certificate.loss == s.certificate.loss
