"""Groups of coordinates: weights, labels, blocks."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Groups
from fewatoms.operators import as_operator


def test_gauges_written_out():
    x = np.array([[3.0, 0.0], [-4.0, 0.0]])
    assert Groups([[0, 1], [0, 1]], weights=[2.0, 1.0]).gauge(x) == pytest.approx(10.0)


LABELS = np.array(["b", "a", "b", "c", "a", "b"])
WEIGHTS = {"a": 0.5, "b": 2.0, "c": 1.0}


def test_gauge_and_support_group_by_group():
    atoms, rng = Groups(LABELS, weights=WEIGHTS), generator(40)
    M = as_operator(rng.standard_normal((5, 6)))
    assert list(atoms.names) == ["a", "b", "c"]
    assert [list(block) for block in atoms.blocks] == [[1, 4], [0, 2, 5], [3]]
    for _ in range(5):
        x, z = rng.standard_normal((2, 6))
        lengths = {g: [np.linalg.norm(v[g == LABELS]) for v in (x, z)] for g in WEIGHTS}
        assert atoms.gauge(x) == pytest.approx(sum(w * lengths[g][0] for g, w in WEIGHTS.items()))
        assert atoms.support(z) == pytest.approx(max(lengths[g][1] / w for g, w in WEIGHTS.items()))
        face = atoms.expose(z, 3)
        order = sorted(WEIGHTS, key=lambda g: -lengths[g][1] / WEIGHTS[g])
        assert list(face.labels()) == order
    norms = [np.linalg.norm(M.matrix[:, g == LABELS], 2) / WEIGHTS[g] for g in "abc"]
    np.testing.assert_allclose(atoms.atom_norms(M), norms)
    assert atoms.operator_norm(M) == pytest.approx(max(norms))


def test_weights_by_name_and_in_order_are_the_same():
    by_name, in_order = Groups(LABELS, weights=WEIGHTS), Groups(LABELS, weights=[0.5, 2.0, 1.0])
    np.testing.assert_array_equal(by_name.weights, in_order.weights)
    assert by_name.same_as(in_order)
    assert not by_name.same_as(Groups(LABELS[::-1]))
    assert Groups(LABELS).orthonormal
    assert not by_name.orthonormal  # groups in different units are not compared by inner products


def test_a_group_that_a_dual_does_not_see_has_an_atom_all_the_same():
    face = Groups([0, 0, 1]).expose(np.array([0.0, 0.0, 1.0]), 2)
    np.testing.assert_array_equal(face.labels(), [1, 0])
    x = face.point(face.mean_atom())
    np.testing.assert_allclose([np.linalg.norm(x[:2]), x[2]], [0.5, 0.5])


def test_rows_of_groups_share_their_group():
    rows = Groups(LABELS, weights=WEIGHTS).as_rows(2)
    assert rows.shape == (6, 2)
    np.testing.assert_array_equal(rows.labels, np.column_stack([LABELS, LABELS]))
    X = generator(41).standard_normal((6, 2))
    assert rows.gauge(X) == pytest.approx(sum(w * np.linalg.norm(X[g == LABELS]) for g, w in WEIGHTS.items()))
