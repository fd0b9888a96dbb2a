"""Faces of whole groups of coordinates."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Groups
from fewatoms.faces import GroupCoordinates
from fewatoms.testing import check_face


def test_pruned_groups_are_the_largest():
    rng = generator(10)
    labels = np.array([0, 1, 1, 2, 2, 2, 3])
    face = Groups(labels).expose(rng.standard_normal(7), 4)
    c, norms = rng.standard_normal(7), rng.uniform(0.1, 3, 7)
    for told, scale in ((None, np.ones(7)), (norms, norms)):
        sizes = {g: np.linalg.norm((c * scale)[face.starts[i] : face.starts[i + 1]]) for i, g in enumerate(face.group)}
        smaller, d = face.prune(c, 2, told)
        assert list(smaller.group) == sorted(sizes, key=sizes.get, reverse=True)[:2]
        whole = face.point(c)
        np.testing.assert_array_equal(smaller.point(d), np.where(np.isin(labels, smaller.group), whole, 0.0))


def test_groups_by_name():
    atoms = Groups(["b", "a", "b", "c"], weights={"a": 1.0, "b": 2.0, "c": 4.0})
    face = atoms.expose(np.array([3.0, 1.0, 4.0, 2.0]), 3)
    assert list(face.labels()) == ["b", "a", "c"]
    values = face.values(np.array([1.0, 2.0, 3.0, 4.0]))
    assert [list(v) for v in values] == [[1.0, 2.0], [3.0], [4.0]]
    assert face.gauge(np.array([3.0, 4.0, 3.0, -1.0])) == pytest.approx(2 * 5 + 3 + 4)
    np.testing.assert_allclose(face.directions[:2], [0.3, 0.4])
    even = Groups([0, 0, 1, 1]).expose(np.ones(4), 2)
    assert even.values(np.arange(4.0)).shape == (2, 2)


def test_blocks_that_overlap_add_up():
    face = GroupCoordinates(
        indices=np.array([0, 1, 1, 2]),
        starts=np.array([0, 2, 4]),
        directions=np.full(4, 0.5**0.5),
        group=np.array([0, 1]),
        names=np.array(["left", "right"]),
        weights=np.ones(2),
        shape=(3,),
    )
    c = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(face.point(c), [1.0, 5.0, 4.0])
    np.testing.assert_array_equal(face.adjoint(np.array([1.0, 2.0, 3.0])), [1.0, 2.0, 2.0, 3.0])
    assert face.inner(c, face, c) == pytest.approx(1.0 + 25.0 + 16.0)
    check_face(face)
