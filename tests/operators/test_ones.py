"""Matrices that only pick entries are known by reading them; others are not taken for such."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewatoms.operators import ones
from fewatoms.operators.ones import picked

FORMS = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_array}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("together", [1, 1 << 20])
def test_entries_that_are_picked(form, together, monkeypatch):
    monkeypatch.setattr(ones, "READ_TOGETHER", together)
    for which in ([4, 0, 2], [1], [0, 1, 2, 3, 4][::-1]):
        np.testing.assert_array_equal(picked(FORMS[form](np.eye(5)[which])).places(), which)
    assert picked(FORMS[form](np.eye(5))).places() is None  # all in order


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "A",
    [
        np.eye(3)[[0, 0]],
        np.eye(4, 3),
        2.0 * np.eye(3),
        -np.eye(3),
        np.eye(3) + np.eye(3, k=1),
        np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        np.array([[1.0, -1e-300, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]),
    ],
    ids=["one twice", "tall", "double", "negative", "two a row", "an empty row", "almost", "two and none"],
)
def test_other_matrices(form, A):
    assert picked(FORMS[form](A)) is None


def test_zeros_that_are_stored_are_zeros():
    A = sp.csr_array((np.array([1.0, 0.0, 1.0]), (np.array([0, 0, 1]), np.array([2, 0, 0]))), shape=(2, 3))
    assert A.nnz == 3
    np.testing.assert_array_equal(picked(A).places(), [2, 0])
