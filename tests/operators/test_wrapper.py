"""The one base of operators around another: all is handed on, nothing is offered that is not named."""

from typing import ClassVar

import numpy as np
import pytest

import naive
from contracts.families import generator
from fewatoms import Counting, Identity
from fewatoms.atoms.mapped import LinearMap
from fewatoms.capabilities import ColumnBlocks, Norms, SeenAsIs
from fewatoms.operators import MatrixOperator, Metered, Projected, Rows, Several, as_operator
from fewatoms.operators.wrapper import SeenColumns, Wrapper, as_it_is
from fewatoms.testing import check_operator

A, D = generator(1).standard_normal((5, 6)), generator(2).uniform(0.5, 2.0, 5)


class Weighing(Wrapper):
    """Data times weights."""

    def seen(self, images):
        return (D * images.T).T

    def unseen(self, y):
        return (D * y.T).T


class Reading(Weighing):
    lifts: ClassVar = {ColumnBlocks: SeenColumns}


class Boasting(Wrapper):
    lifts: ClassVar = {SeenAsIs: lambda M, inner: object()}


def test_what_is_seen_and_unseen_is_all_that_a_wrapper_has_to_say():
    M = Weighing(as_operator(A))
    check_operator(M)
    np.testing.assert_allclose(naive.dense_operator(M), D[:, None] * A)
    np.testing.assert_allclose(M.columns(np.array([3, 0])), D[:, None] * A[:, [3, 0]])
    Y = generator(3).standard_normal((5, 2))
    np.testing.assert_allclose(M.adjoint_block(Y), A.T @ (D[:, None] * Y))
    for capability in (ColumnBlocks, Norms, SeenAsIs):
        assert M.offers(capability) is None
    np.testing.assert_allclose(M.asked_norms().column_norms(), np.linalg.norm(D[:, None] * A, axis=0))


def test_columns_are_lifted_by_name():
    M = Reading(as_operator(A))
    check_operator(M)
    weights = generator(4).uniform(0.1, 3.0, 5)
    columns = M.offers(ColumnBlocks)
    np.testing.assert_allclose(columns.column_lengths(weights), np.sqrt(weights @ (D[:, None] * A) ** 2))
    assert columns.image_size == 5
    assert M.offers(Norms) is None


def test_names_of_columns_are_those_of_the_inner_operator():
    """Counted, sliced, projected, for several data vectors: the columns are the same."""
    named = MatrixOperator(np.arange(12.0).reshape(4, 3) % 5, ("a", "b", "c"))
    rows = np.array([2, 0])
    for outer in (
        Counting(named),
        Metered(named),
        Rows(named, rows),
        named.subset(rows),
        Counting(named).subset(rows),
        Projected(named, np.ones((4, 1)), None),
        Several(named, 2),
    ):
        assert outer.names == named.names
    assert named.after(LinearMap(np.eye(3), "B"), (3,)).names is None  # whose columns are the map's
    assert Counting(np.eye(3)).names is None


def test_what_does_not_keep_a_capability_is_not_offered():
    assert Boasting(Identity(3)).offers(SeenAsIs) is None
    assert as_it_is(Boasting(Identity(3)), "whatever") == "whatever"


def test_data_and_charges_go_to_the_inner_operator():
    inner = Counting(Identity((2, 3)))
    M = Wrapper(inner)
    assert M.model_shape == (2, 3)
    assert M.read_data(np.ones((2, 3))).shape == (6,)
    M.charge(4)
    M.apply(np.ones((2, 3)))
    assert inner.products == 5
    with pytest.raises(ValueError, match="b must be a vector of length m = 4"):
        Wrapper(inner, 4).read_data(np.ones((2, 3)))
