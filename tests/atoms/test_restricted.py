"""Sets with atoms forced in or left out."""

import numpy as np
import pytest

import naive
from contracts.families import generator
from fewatoms import Groups, Mapped, NonnegativeOneHot, SignedOneHot
from fewatoms.atoms import Listing
from fewatoms.capabilities import Gauge, Prox, RankOnePairs, Semidefinite, Spectrum
from fewatoms.testing import check_capability

LABELS = np.array([0, 2, 1, 0, 2, 1])


MAP = generator(6).standard_normal((6, 6))


VECTORS = {
    "signed": SignedOneHot(6),
    "nonnegative": NonnegativeOneHot(6),
    "groups": Groups(LABELS, weights=[1.0, 2.0, 0.5]),
}


OF_SETS = (Prox, Gauge, Listing, RankOnePairs, Semidefinite, Spectrum)


@pytest.mark.parametrize(
    "around", ["restricted", "left out", "restricted twice", "restricted mapped", "mapped restricted"]
)
@pytest.mark.parametrize("name", ["signed", "nonnegative", "groups"])
def test_restricted_sets_are_listed_and_have_a_gauge(name, around):
    atoms = VECTORS[name]
    outer = {
        "restricted": lambda: atoms.restricted(include=[1], exclude=[0]),
        "left out": lambda: atoms.restricted(exclude=[0, 2]),
        "restricted twice": lambda: atoms.restricted(exclude=[0]).restricted(include=[1]),
        "restricted mapped": lambda: Mapped(MAP, atoms).restricted(exclude=[2]),
        "mapped restricted": lambda: Mapped(MAP, atoms.restricted(exclude=[2])),
    }[around]()
    assert {capability for capability in OF_SETS if outer.offers(capability) is not None} == {Gauge, Listing}
    check_capability(outer, Listing)
    check_capability(outer, Gauge)


# Forced and barred, against the list of atoms


def left_over(atoms, barred):
    """The atoms of a listed set that are not barred, flat, one a column."""
    columns = naive.listed(atoms)
    return columns[:, ~np.isin(np.arange(columns.shape[1]) % atoms.count, barred)]


WRAPS = {
    "alone": lambda A: A,
    "double": lambda A: 2.0 * A,
    "turned over": lambda A: -1.5 * A,
    "mapped": lambda A: Mapped(MAP, A),
    "double, mapped": lambda A: Mapped(MAP, 2.0 * A),
    "mapped, turned over": lambda A: -1.5 * Mapped(MAP, A),
}


@pytest.mark.parametrize("around", WRAPS)
@pytest.mark.parametrize("name", ["signed", "nonnegative"])
def test_restricting_inside_and_outside_is_the_same_set(name, around):
    """Multiples and images of a restricted set, and restrictions of multiples and images: the atoms that are left."""
    atoms, wrap, barred = VECTORS[name], WRAPS[around], [0, 3]
    inside, outside = wrap(atoms.restricted(exclude=barred)), wrap(atoms).restricted(exclude=barred)
    both = wrap(atoms.restricted(exclude=[0])).restricted(exclude=[3])
    columns = left_over(wrap(atoms), barred)
    rng = generator(30)
    for _ in range(3):
        z = rng.standard_normal(6)
        for some in (inside, outside, both):
            assert some.count == 4
            assert some.support(z) == pytest.approx(naive.support_of_list(columns, z), abs=1e-12)
            a = some.alignments(z)
            np.testing.assert_array_equal(np.isneginf(a), np.isin(np.arange(6), barred))
            face = some.expose(z, 3)
            assert not np.isin(face.labels(), barred).any()
            np.testing.assert_allclose(np.sort(face.adjoint(z)), np.sort(a)[-3:], atol=1e-12)
        assert inside.same_as(outside)
        assert wrap(atoms).same_as(both)  # which atoms are left out plays no part


@pytest.mark.parametrize("around", WRAPS)
def test_the_gauge_knows_the_atoms_that_are_left(around):
    atoms = WRAPS[around](SignedOneHot(6)).restricted(exclude=[0, 3])
    columns = left_over(atoms.inner, [0, 3])
    rng = generator(31)
    for x in (columns @ rng.random(columns.shape[1]), rng.standard_normal(6)):
        assert atoms.gauge(x) == pytest.approx(naive.gauge_of_list(columns, x), rel=1e-6)


@pytest.mark.parametrize("around", WRAPS)
def test_forced_atoms_come_first(around):
    """However badly they are aligned; nothing that is proven changes."""
    plain = WRAPS[around](SignedOneHot(6))
    forced = WRAPS[around](SignedOneHot(6).restricted(include=[1])).restricted(include=[4])
    z = generator(32).standard_normal(6)
    assert forced.restricted(include=[1]).count == forced.count == 6
    assert set(forced.expose(z, 2).labels()) == {1, 4}
    best = [i for i in plain.expose(z, 6).labels() if i not in (1, 4)]
    assert set(forced.expose(z, 3).labels()) == {1, 4, best[0]}
    assert forced.support(z) == plain.support(z)
    assert forced.gauge(z) == pytest.approx(plain.gauge(z), rel=1e-6)
    np.testing.assert_array_equal(forced.exposed(z, 0.5).labels(), plain.exposed(z, 0.5).labels())


def test_barred_atoms_never_fill_a_budget():
    atoms = NonnegativeOneHot(5).restricted(exclude=[0, 4])
    z = np.array([9.0, 1.0, -1.0, -2.0, 9.0])
    assert list(atoms.expose(z, 5).labels()) == [1, 2, 3]
    assert list(atoms.exposed(z, 0.0).labels()) == [1]
    assert list(atoms.exposed(z, 0.0, None, 4).labels()) == [1, 2, 3]
    assert atoms.exposed(z, 2.5, 2).size == 2


# Who is meant


def test_atoms_may_be_named_in_any_form():
    groups = Groups(["b", "a", "b", "c"])
    assert list(groups.restricted(exclude="c").barred) == [2]
    assert list(groups.restricted(exclude=["c", "a", "c"]).barred) == [0, 2]
    assert list(groups.restricted(include=np.array([False, True, False])).forced) == [1]
    numbers = Groups([7, 7, 1, 0])
    assert list(numbers.restricted(exclude=[7]).barred) == [2]
    assert list(numbers.restricted(exclude=[True, False, False]).barred) == [0]  # a mask is no list of labels 1 and 0
    assert list(Groups([True, False, True]).restricted(exclude=[True]).barred) == [1]
    one = SignedOneHot(4)
    for same in ([3, 1], np.array([1, 3, 3], dtype=np.int8), [False, True, False, True], range(1, 4, 2)):
        assert list(one.restricted(include=same).forced) == [1, 3]
    assert list(one.restricted(include=2).forced) == [2]
    assert one.restricted(include=[], exclude=None) is one


def test_names_wait_for_the_columns():
    columns = ("a", "b", "c", "d")
    one = SignedOneHot(4)
    waiting = one.restricted(include=["c"], exclude="a")
    assert repr(waiting) == "SignedOneHot(4).restricted(include=['c'], exclude=['a'])"
    assert (waiting.shape, waiting.count) == ((4,), 4)
    found = waiting.with_names(columns)
    assert (list(found.forced), list(found.barred)) == ([2], [0])
    assert found.with_names(columns) is found
    assert one.with_names(columns) is one
    both = waiting.restricted(include=[3]).restricted(include=["d", "c"]).with_names(columns)
    assert (list(both.forced), list(both.barred)) == ([2, 3], [0])
    later = one.restricted(include=[1]).restricted(exclude=["d"]).with_names(columns)
    assert repr(later) == "SignedOneHot(4).restricted(include=<1>, exclude=<1>)"
    assert list(waiting.reshaped((2, 2)).with_names(columns).forced) == [2]
    for verb in (lambda: waiting.support(np.zeros(4)), lambda: waiting.expose(np.zeros(4), 1)):
        with pytest.raises(ValueError, match=r"needs M, a data frame whose columns are called so$"):
            verb()
    with pytest.raises(ValueError, match=r"^exclude must hold numbers of columns unless they have names.*; got 'a'$"):
        one.restricted(exclude="a").with_names(None)


@pytest.mark.parametrize("around", WRAPS)
def test_names_are_found_inside_and_outside_of_multiples_and_maps(around):
    """Those of a map are the names of its columns: here it has none, and atoms inside it stay without."""
    columns = ("a", "b", "c", "d", "e", "f")
    wrap = WRAPS[around]
    if "mapped" in around:
        with pytest.raises(ValueError, match=r"^include must hold numbers of columns unless they have names"):
            wrap(SignedOneHot(6)).restricted(include=["b"])
        with pytest.raises(ValueError, match=r"^include must hold numbers of columns unless they have names"):
            wrap(SignedOneHot(6).restricted(include=["b"])).with_names(columns)
        return
    inside = wrap(SignedOneHot(6).restricted(include=["b"])).restricted(exclude=["e"])
    outside = wrap(SignedOneHot(6)).restricted(include=["b"]).restricted(exclude=[4])
    for atoms in (inside, outside):
        listing = atoms.with_names(columns).listing()
        assert (list(listing.forced), list(listing.barred)) == ([1], [4])


def test_entries_of_a_matrix_are_named_as_answers_tell_them():
    entries = SignedOneHot((3, 4))
    z = generator(33).standard_normal((3, 4))
    face = entries.expose(z, 3)
    assert face.labels().shape == (3, 2)
    mask = np.zeros((3, 4), dtype=bool)
    mask[tuple(face.labels().T)] = True
    for same in (face.labels(), face.indices, mask, mask.ravel()):
        atoms = (-2.0 * entries).restricted(exclude=same)
        np.testing.assert_array_equal(atoms.barred, np.sort(face.indices))
        assert atoms.support(z) == pytest.approx(2.0 * np.abs(z)[~mask].max())
    with pytest.raises(ValueError, match=r"^include must lie between 0 and 2; got 3$"):
        entries.restricted(include=[(3, 0)])
    with pytest.raises(TypeError, match=r"^include must hold integers; got an array of bool$"):
        entries.restricted(include=mask.T)


def test_what_was_said_before_still_holds():
    atoms = SignedOneHot(5).restricted(include=[1], exclude=[0]).restricted(exclude=[4])
    assert (list(atoms.forced), list(atoms.barred)) == ([1], [0, 4])
    assert repr(atoms) == "SignedOneHot(5).restricted(include=<1>, exclude=<2>)"
    for wrap in (lambda A: A, lambda A: 2.0 * A, lambda A: Mapped(np.eye(5), A)):
        with pytest.raises(ValueError, match=r"^include and exclude must not share atoms; both name 0$"):
            wrap(atoms).restricted(include=[0])
        with pytest.raises(ValueError, match=r"^exclude must leave at least one atom"):
            wrap(SignedOneHot(5).restricted(exclude=[0, 1])).restricted(exclude=[2, 3, 4])
    shaped = SignedOneHot(6).restricted(exclude=[5]).reshaped((2, 3))
    assert shaped.shape == (2, 3)
    assert shaped.support(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) == 5.0
