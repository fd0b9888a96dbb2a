"""Sets in units of their own."""

import copy
import pickle

import numpy as np
import pytest

import naive
from contracts.families import black_box, generator, over, vector_operators
from fewatoms import Dictionary, Groups, Mapped, NonnegativeOneHot, SignedOneHot
from fewatoms.atoms import Union
from fewatoms.atoms.mapped import Rescaled
from fewatoms.testing import check_atoms

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


UNITS = 10.0 ** generator(12).uniform(-1, 1, 7)
RESCALED = {
    "signed": Rescaled(SignedOneHot(7), UNITS),
    "nonnegative": Rescaled(NonnegativeOneHot(7), UNITS),
    "groups": Rescaled(Groups(GROUPS), UNITS),
}


@pytest.mark.parametrize("name", RESCALED)
def test_rescaled_sets_keep_the_contract(name):
    check_atoms(RESCALED[name], rng=0)


@pytest.mark.parametrize("name", RESCALED)
def test_rescaled_is_mapped_by_a_diagonal(name):
    atoms = RESCALED[name]
    twin = Mapped(np.diag(UNITS), atoms.inner)
    draw = generator(13)
    for _ in range(5):
        z, x = draw.standard_normal(7), np.abs(draw.standard_normal(7))
        assert atoms.support(z) == pytest.approx(twin.support(z), rel=1e-12)
        assert atoms.gauge(x) == pytest.approx(atoms.inner.gauge(x / UNITS), rel=1e-12)
        assert atoms.gauge(x) == pytest.approx(naive.gauge(twin, x), rel=1e-5)
        np.testing.assert_allclose(atoms.alignments(z), twin.alignments(z), rtol=1e-12)
        ours, theirs = atoms.expose(z, 2), twin.expose(z, 2)
        np.testing.assert_array_equal(ours.labels(), theirs.labels())
        c = draw.standard_normal(ours.dim)
        np.testing.assert_allclose(ours.point(c), theirs.point(c), rtol=1e-12)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, "pickle"], ids=["copy", "deepcopy", "pickle"])
def test_rescaled_sets_can_be_copied(again):
    atoms = RESCALED["groups"]
    other = pickle.loads(pickle.dumps(atoms)) if again == "pickle" else again(atoms)
    z = generator(14).standard_normal(7)
    assert other.support(z) == atoms.support(z)
    assert repr(other) == repr(atoms)


def test_dictionaries_can_be_pickled():
    D = Dictionary(np.eye(3), symmetric=True)
    mapped = Mapped(np.eye(3), Groups([0, 0, 1]))
    assert pickle.loads(pickle.dumps(D)).count == 3
    assert pickle.loads(pickle.dumps(mapped)).count == 2


def test_mapping_a_sum_maps_its_parts():
    B = generator(11).standard_normal((4, 3))
    mapped = Mapped(B, SignedOneHot(3) | NonnegativeOneHot(3))
    assert isinstance(mapped, Union)
    assert all(isinstance(p, Mapped) for p in mapped.parts)
    z = np.ones(4)
    assert mapped.support(z) == pytest.approx((SignedOneHot(3) | NonnegativeOneHot(3)).support(B.T @ z))


def test_an_image_under_a_black_box_is_a_set_too():
    B = generator(16).standard_normal((4, 5))
    check_atoms(Mapped(black_box(B), SignedOneHot(5)), rng=2, trials=1)
    check_atoms(Mapped(black_box(B), SignedOneHot(5)), rng=2, exact=False)
    assert Mapped(black_box(B), SignedOneHot(5)).gauge(B[:, 0]) <= 1 + 1e-9
