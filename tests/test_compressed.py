"""The atoms of many answers: compressed columns say the same as faces one by one."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.compressed import Compressed, Faces, Found

RNG = np.random.default_rng(3)
D = RNG.standard_normal((7, 9))
SETS = {
    "signed": fa.SignedOneHot(9),
    "nonnegative": fa.NonnegativeOneHot(9),
    "scaled": -2.5 * fa.SignedOneHot(9),
    "dictionary": fa.Dictionary(D, symmetric=True),
    "scaled dictionary": 0.5 * fa.Dictionary(D, symmetric=True),
    "sparse map": fa.Mapped(sp.csr_array(D), fa.SignedOneHot(9)),
    "operator": fa.Mapped(sp.linalg.aslinearoperator(D), fa.SignedOneHot(9)),
    "restricted": fa.SignedOneHot(9).restricted(include=[1], exclude=[8]),
}
CLASSES = [
    np.array([2, 0]),
    np.array([], dtype=np.intp),
    np.array([5]),
    np.array([1, 7, 3]),
    np.array([], dtype=np.intp),
]
C = [np.array([1.5, 0.5]), np.zeros(0), np.array([2.0]), np.array([3.0, 1.0, 0.25]), np.zeros(0)]
every_set = pytest.mark.parametrize("name", SETS)


def both(name):
    """The same atoms in compressed columns, and one by one."""
    listing = SETS[name].listing()
    return Compressed.of(listing, CLASSES, C), Faces.of([listing.face(classes) for classes in CLASSES], C)


def check_same(one, other):
    assert one.starts.tolist() == other.starts.tolist()
    np.testing.assert_array_equal(one.c, other.c)
    for mine, theirs in zip(one.labels() + one.values(), other.labels() + other.values(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_allclose(one.points(), other.points(), rtol=1e-13, atol=1e-13)
    for i in range(one.starts.size - 1):
        c = one.c[one.starts[i] : one.starts[i + 1]]
        np.testing.assert_array_equal(one.face(i).point(c), other.face(i).point(c))


@every_set
def test_both_say_the_same(name):
    check_same(*both(name))


@every_set
@pytest.mark.parametrize("some", [[3, 0], [1], [4, 4, 3], []], ids=str)
def test_some_of_them(name, some):
    if not some:
        some = [1, 4]  # nothing but empty ones
    one, other = (held.taken(np.array(some)) for held in both(name))
    check_same(one, other)


@every_set
def test_other_answers_in_some_places(name):
    one, _ = both(name)
    listing = one.listing
    classes, c = list(CLASSES), list(C)
    classes[1], c[1] = np.array([6, 4]), np.array([1.0, 2.0])
    classes[3], c[3] = np.zeros(0, dtype=np.intp), np.zeros(0)
    changed = one.with_answers({i: (listing.face(classes[i]), c[i]) for i in (1, 3)})
    check_same(changed, Faces.of([listing.face(one) for one in classes], c))


@every_set
def test_columns_of_a_sparse_matrix(name):
    one, other = both(name)
    X = one.sparse()
    assert X.shape == (9, 5)
    for i, (classes, c) in enumerate(zip(CLASSES, C, strict=True)):
        expected = np.zeros(9)
        expected[classes] = c
        np.testing.assert_array_equal(X[:, [i]].toarray()[:, 0], expected)
    assert other.sparse() is None


def found(held, first):
    count = held.starts.size - 1
    words = {f.name: first + np.arange(count, dtype=float) for f in fields(Found)}
    words |= {"held": held, "ridge": 0.5, "twins": np.zeros(3), "free": first + np.ones((count, 2))}
    return Found(**words)


def test_blocks_are_joined_in_order():
    whole, _ = both("signed")
    parts = [found(whole.taken(np.array(some)), 10 * some[0]) for some in ([0, 1], [2], [3, 4])]
    joined = Found.joined(parts)
    assert len(joined) == 5
    check_same(joined.held, whole)
    assert joined.loss.tolist() == joined.bad.tolist() == [0, 1, 20, 30, 31]
    assert joined.free[:, 0].tolist() == [1, 1, 21, 31, 31]
    assert (joined.ridge, joined.twins.size) == (0.5, 3)
