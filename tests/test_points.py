"""What users read of an answer: few atoms in compact form, and what they say about data not seen."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from answers import NAMES, answer, assert_same_arrays, cases
from fewatoms.points import Point


def free_of(case):
    free = case.words.get("free")
    return free if isinstance(free, np.ndarray) else None


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_add_up(name):
    s = answer(name)
    total = sum((part.x for part in s.parts), start=np.zeros(s.x.shape))
    np.testing.assert_allclose(total, s.x, atol=1e-12 * max(1.0, np.abs(s.x).max()))
    assert sum(part.cardinality for part in s.parts) == s.cardinality
    face, c = s.compact
    assert_same_arrays(face.point(c), s.x)
    assert s.x is s.x  # formed once


@pytest.mark.parametrize("name", NAMES)
def test_predictions_of_the_data_leave_the_residual_that_is_told(name):
    case, s = cases()[name], answer(name)
    predicted = s.predict(case.M, free=free_of(case))
    problem = s.certificate.problem
    data = case.b if problem.classes is None else problem.data  # labels are in the loss, and 0 is left of them
    residual = np.asarray(data, dtype=float).reshape(predicted.shape) - predicted
    loss = problem.base_loss.value(residual.ravel())
    if s.biases is not None:
        loss += 0.5 * s.ridge[1] * (s.biases.rows @ s.biases.rows + s.biases.cols @ s.biases.cols)
    assert loss == pytest.approx(s.loss, rel=1e-6, abs=1e-9 * problem.reference + 1e-15)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator], ids=["array", "sparse", "operator"])
def test_new_data_in_any_form(form):
    s, new = answer("signed"), np.random.default_rng(0).standard_normal((4, 20))
    np.testing.assert_allclose(s.predict(form(new)), new @ s.x, atol=1e-12)


def test_indices_and_coefficients_go_together():
    for name in ("signed", "multiple", "nonnegative", "restricted"):
        s = answer(name)
        scale = 2.5 if name == "multiple" else 1.0
        x = np.zeros(20)
        x[s.indices] = scale * s.coefficients
        np.testing.assert_allclose(x, s.x, atol=1e-15)
    s = answer("groups, strings")
    labels = np.array([f"g{i // 4}" for i in range(20)])
    for label, row in zip(s.indices, s.coefficients, strict=True):
        assert_same_arrays(s.x[labels == label], row)
    s = answer("robust").parts[1]
    assert_same_arrays(s.x[tuple(s.indices.T)], s.coefficients)
    s = answer("dictionary")
    D = cases()["dictionary"].words["atoms"].map.matrix
    np.testing.assert_allclose(D[:, s.indices] @ s.coefficients, s.x, atol=1e-12)


def test_factors():
    for name in ("completion", "nonnegative factors", "psd", "psd, complex", "low rank"):
        s = answer(name)
        np.testing.assert_allclose(s.left @ s.right.T, s.x, atol=1e-10 * np.abs(s.x).max())
        np.testing.assert_allclose(np.linalg.norm(s.left, axis=0), np.linalg.norm(s.right, axis=0), rtol=1e-9)
    with pytest.raises(AttributeError, match="left and right do not exist"):
        answer("signed").left  # noqa: B018
    for name in ("indices", "coefficients"):
        with pytest.raises(AttributeError, match=rf"parts\[i\].{name}"):
            getattr(answer("robust"), name)


def test_free_columns_of_new_data():
    s, new = answer("columns"), np.random.default_rng(0).standard_normal((4, 20))
    F = np.random.default_rng(1).standard_normal((4, 2))
    np.testing.assert_allclose(s.predict(new, free=F), new @ s.x + F @ s.free_coefficients, atol=1e-12)
    with pytest.raises(ValueError, match=r"free must give the 2 free columns for the new data; got None"):
        s.predict(new)
    with pytest.raises(ValueError, match=r"^free must have shape \(4, 2\), .* coefficient; got shape \(3, 2\)$"):
        s.predict(new, free=F[:3])
    s = answer("huber")  # an intercept needs no name
    np.testing.assert_allclose(s.predict(new), new @ s.x + s.free_coefficients[0], atol=1e-12)
    s = answer("joint")
    np.testing.assert_allclose(s.predict(new), new @ s.x + s.free_coefficients[0], atol=1e-12)
    one = np.ones((4, 1))
    np.testing.assert_allclose(s.predict(new, free=one), s.predict(new), atol=1e-12)


def test_entries():
    s = answer("biases")
    i, j = np.indices((12, 10))
    whole = s.x + s.biases.center + s.biases.rows[:, None] + s.biases.cols
    np.testing.assert_allclose(s.predict(i, j), whole, atol=1e-12)
    assert s.predict(3, [1, 2, 4]).shape == (3,)
    np.testing.assert_allclose(s.predict(fa.Sampling([0, 3], [1, 2], (12, 10))), whole[[0, 3], [1, 2]], atol=1e-12)
    with pytest.raises(ValueError, match="M_new must be a Sampling where there are biases"):
        s.predict(np.ones((2, 120)))
    for bad, told in (
        (lambda: s.predict([12], [0]), "rows must lie between 0 and 11; got 12"),
        (lambda: s.predict([0, 1], [0, 1, 2]), "rows and cols must have shapes that go together"),
        (lambda: s.predict([0], [0], free=np.ones(1)), "entries of a matrix have no free columns"),
        (lambda: answer("signed").predict([0], [0]), r"predict\(rows, cols\) is for matrix models"),
        (lambda: answer("signed").predict(np.ones((2, 19))), r"M_new must have 20 columns, .*; got shape \(2, 19\)"),
    ):
        with pytest.raises(ValueError, match=told):
            bad()


def test_nothing_of_the_models_size_is_formed():
    """A matrix of 200,000 x 100,000 entries, of two atoms."""
    rng = np.random.default_rng(0)
    p, q = 200_000, 100_000
    face, c = fa.RankOne(p, q).paired(rng.standard_normal((p, 2)), np.array([2.0, 1.0]), rng.standard_normal((q, 2)))
    point = Point(face, c)
    tracemalloc.start()
    try:
        found = point.predict(np.arange(10), np.arange(10))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    U, V = face.U[:10], face.V[:10]
    np.testing.assert_allclose(found, np.einsum("ij,j,ij->i", U, [2.0, 1.0], V), atol=1e-12)


def test_no_atoms():
    s = answer("nothing")
    assert_same_arrays(s.x, np.zeros(20))
    assert (s.cardinality, s.gauge, s.indices.size, s.coefficients.size) == (0, 0.0, 0, 0)
    assert_same_arrays(s.predict(np.ones((3, 20))), np.zeros(3))
