"""The record of a generator: frozen, checked, printed by shapes."""

import numpy as np
import pytest

from fewatoms.datasets import Dataset, blocksig, low_rank, low_rank_plus_sparse, phases


def test_prints_shapes_not_numbers():
    assert repr(blocksig()).startswith("Dataset(name='blocksig', M=<HaarSynthesis 1024 x 1024>, b=<ndarray 1024>")
    data = Dataset("mystery", np.eye(3), np.ones(3), None, 2, "Nobody knows.")
    assert repr(data) == (
        "Dataset(name='mystery', M=<ndarray 3 x 3>, b=<ndarray 3>, x=None, k=2, description='Nobody knows.')"
    )


def test_records_print_shapes_not_numbers():
    assert repr(phases(2, 3, rng=0)) == "PhaseData(A=<ndarray 3 x 2>, x=<ndarray 2>, b=<ndarray 3>)"
    assert "shape=(4, 3)" in repr(low_rank(4, 3, 1, rng=0))
    assert "sparse=<coo_array 4 x 3>" in repr(low_rank_plus_sparse(4, 3, 1, rng=0))


def test_is_frozen():
    with pytest.raises(AttributeError):
        blocksig().k = 3


def test_the_support_is_where_the_truth_is_not_zero():
    x = np.array([0.0, -2.0, 0.0, 1e-300])
    data = Dataset("two", np.eye(4), x, x, 2, "Itself.")
    assert data.support.tolist() == [1, 3]


def test_without_truth_there_is_no_support():
    data = Dataset("mystery", np.eye(3), np.ones(3), None, 2, "Nobody knows.")
    with pytest.raises(ValueError, match=r"x must be known .* got None in the dataset 'mystery'"):
        _ = data.support


def test_arrays_are_shared_and_noise_is_no_fault():
    M, b = np.eye(3), np.array([1.0, 0.1, 0.0])
    data = Dataset("noisy", M, b, np.array([1.0, 0.0, 0.0]), 1, "With noise.")
    assert data.M is M
    assert data.b is b


def test_equal_only_to_itself():
    make = lambda: Dataset("one", np.eye(2), np.ones(2), None, 1, "Twice.")  # noqa: E731
    data = make()
    assert data == data
    assert data != make()


@pytest.mark.parametrize(
    ("b", "x", "k", "message"),
    [
        (np.ones(2), None, 1, r"b must have shape \(3,\), as M has 3 rows; got shape \(2,\)"),
        (np.ones(3), np.ones(3), 1, r"x must have shape \(4,\), as M has 4 columns; got shape \(3,\)"),
        (np.ones(3), np.ones(4), 1, "k must be the number of nonzeros of x, 4; got 1"),
        (np.ones(3), None, 5, "k must be an integer between 0 and 4, the number of columns of M; got 5"),
    ],
)
def test_parts_are_checked(b, x, k, message):
    with pytest.raises(ValueError, match=message):
        Dataset("odd", np.eye(3, 4), b, x, k, "Does not fit.")
