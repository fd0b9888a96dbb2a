"""The Sparco constructions against their table, and the operators against matrices, formulas and their adjoints."""

import ast
from pathlib import Path

import numpy as np
import pytest
import pywt
from scipy.linalg import toeplitz
from scipy.sparse.linalg import LinearOperator

import fewatoms.datasets
from fewatoms.datasets import (
    SPARCO,
    CausalConvolution,
    CosinesAndSpikes,
    DCTSynthesis,
    HaarSynthesis,
    blocksig,
    cosspike,
    gcosspike,
    sgnspike,
    spiketrn,
)

RANDOM = [cosspike, gcosspike, sgnspike, spiketrn]
SEEDS = range(4)
TABLE = {  # name: shape, k, least and greatest norm of b
    "blocksig": ((1024, 1024), 71, 78.89, 78.91),
    "cosspike": ((1024, 2048), 122, 95, 108),
    "gcosspike": ((300, 2048), 63, 70, 100),
    "sgnspike": ((600, 2560), 20, 1.8, 2.6),
    "spiketrn": ((1024, 1024), 12, 12, 90),
}
OPERATORS = {
    "haar": lambda: HaarSynthesis(48, 3),
    "haar-one-level": lambda: HaarSynthesis(6, 1),
    "haar-all-levels": lambda: HaarSynthesis(32, 5),
    "dct": lambda: DCTSynthesis(37),
    "dct-of-one": lambda: DCTSynthesis(1),
    "cosines-and-spikes": lambda: CosinesAndSpikes(21),
    "convolution": lambda: CausalConvolution([2.0, -1.0, 0.5, 3.0], 19),
    "convolution-long-kernel": lambda: CausalConvolution(np.arange(1.0, 30.0), 11),
    "convolution-integer-kernel": lambda: CausalConvolution([1, 2], 1),
}


def dense(M):
    """The matrix of an operator, one column at a time."""
    return np.column_stack([M @ e for e in np.eye(M.shape[1])])


@pytest.fixture(params=OPERATORS, scope="module")
def operator(request):
    return OPERATORS[request.param]()


@pytest.fixture(params=SPARCO, scope="module")
def dataset(request):
    return SPARCO[request.param](rng=3)


# The operators


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_adjoint_identity(operator, kind):
    rng = np.random.default_rng(0)
    m, n = operator.shape
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    if kind == "complex":
        x, y = x + 1j * rng.standard_normal(n), y + 1j * rng.standard_normal(m)
    left, right = np.vdot(y, operator.matvec(x)), np.vdot(operator.rmatvec(y), x)
    assert abs(left - right) <= 1e-12 * max(1.0, np.linalg.norm(x) * np.linalg.norm(dense(operator)))


def test_columns_and_vectors_agree(operator):
    rng = np.random.default_rng(1)
    m, n = operator.shape
    X, Y = rng.standard_normal((n, 5)), rng.standard_normal((m, 5))
    np.testing.assert_allclose(operator.matmat(X), dense(operator) @ X, atol=1e-11)
    np.testing.assert_allclose(operator.rmatmat(Y), dense(operator).T @ Y, atol=1e-11)
    assert operator.matvec(X[:, :1]).shape == (m, 1)
    assert operator.rmatvec(Y[:, :1]).shape == (n, 1)


def test_double_precision_and_input_untouched(operator):
    m, n = operator.shape
    assert operator.dtype == np.float64
    for dtype in (np.int64, np.float32):
        x, y = np.arange(n, dtype=dtype), np.arange(m, dtype=dtype)
        image, back = operator.matvec(x), operator.rmatvec(y)
        assert image.dtype == back.dtype == np.float64
        np.testing.assert_allclose(image, dense(operator) @ np.arange(n), atol=1e-10)
        np.testing.assert_array_equal(x, np.arange(n))
        np.testing.assert_array_equal(y, np.arange(m))


@pytest.mark.parametrize("name", ["haar", "haar-one-level", "haar-all-levels", "dct", "dct-of-one"])
def test_orthonormal(name):
    Q = dense(OPERATORS[name]())
    np.testing.assert_allclose(Q.T @ Q, np.eye(len(Q)), atol=1e-13)


@pytest.mark.parametrize(("n", "levels"), [(1024, 5), (1024, 10), (96, 5), (6, 1)])
def test_haar_is_pywavelets_haar(n, levels):
    M = HaarSynthesis(n, levels)
    signal = np.random.default_rng(2).standard_normal(n)
    parts = pywt.wavedec(signal, "haar", mode="periodization", level=levels)
    coefficients = np.concatenate(parts)
    np.testing.assert_allclose(M.rmatvec(signal), coefficients, atol=1e-13)
    np.testing.assert_allclose(M.matvec(coefficients), pywt.waverec(parts, "haar", mode="periodization"), atol=1e-13)


def test_haar_of_four_by_hand():
    r = np.sqrt(0.5)
    expected = [[0.5, 0.5, r, 0], [0.5, 0.5, -r, 0], [0.5, -0.5, 0, r], [0.5, -0.5, 0, -r]]
    np.testing.assert_allclose(dense(HaarSynthesis(4, 2)), expected, atol=1e-15)


def test_dct_is_its_formula():
    n = 12
    i, j = np.arange(n)[:, None], np.arange(n)
    expected = np.sqrt(2 / n) * np.cos(np.pi * j * (2 * i + 1) / (2 * n))
    expected[:, 0] *= np.sqrt(0.5)
    np.testing.assert_allclose(dense(DCTSynthesis(n)), expected, atol=1e-14)


def test_cosines_and_spikes_are_side_by_side():
    np.testing.assert_allclose(dense(CosinesAndSpikes(9)), np.hstack([dense(DCTSynthesis(9)), np.eye(9)]), atol=1e-15)


@pytest.mark.parametrize("length", [1, 4, 15, 40])
def test_convolution_is_a_triangular_toeplitz_matrix(length):
    n, kernel = 15, np.random.default_rng(length).standard_normal(length)
    first_column = np.zeros(n)
    first_column[: min(n, length)] = kernel[:n]
    expected = toeplitz(first_column, np.zeros(n))
    expected[0, 0] = kernel[0]
    np.testing.assert_allclose(dense(CausalConvolution(kernel, n)), expected, atol=1e-13)


# The problems


def test_against_the_table(dataset):
    shape, k, least, greatest = TABLE[dataset.name]
    assert dataset.M.shape == shape
    assert dataset.b.shape == shape[:1]
    assert dataset.k == k == np.count_nonzero(dataset.x)
    assert least <= np.linalg.norm(dataset.b) <= greatest
    assert dataset.b.dtype == dataset.x.dtype == dataset.M.dtype == np.float64
    assert set(SPARCO) == set(TABLE)


@pytest.mark.parametrize("make", RANDOM)
def test_norms_over_several_seeds(make):
    data = [make(rng=seed) for seed in SEEDS]
    _, k, least, greatest = TABLE[data[0].name]
    assert all(least <= np.linalg.norm(d.b) <= greatest for d in data)
    assert all(np.count_nonzero(d.x) == k for d in data)


def test_b_is_the_image_of_x(dataset):
    np.testing.assert_allclose(dataset.M @ dataset.x, dataset.b, rtol=0, atol=1e-13 * np.linalg.norm(dataset.b))


def test_adjoint_identity_of_the_problems(dataset):
    rng = np.random.default_rng(4)
    m, n = dataset.M.shape
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    image = dataset.M @ x
    assert abs(y @ image - (dataset.M.T @ y) @ x) <= 1e-12 * np.linalg.norm(y) * np.linalg.norm(image)


def test_support_is_where_x_is_not_zero(dataset):
    assert dataset.support.size == dataset.k
    assert np.all(dataset.x[dataset.support] != 0)
    assert np.count_nonzero(np.delete(dataset.x, dataset.support)) == 0


@pytest.mark.parametrize("make", RANDOM)
def test_seeds(make):
    first, again, other = make(rng=7), make(np.random.default_rng(7)), make(rng=8)
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_allclose(first.b, again.b, atol=1e-12)  # products may round differently
    assert not np.array_equal(first.x, other.x)
    assert not np.array_equal(first.b, other.b)
    v = np.ones(first.M.shape[1])
    np.testing.assert_allclose(first.M @ v, again.M @ v, atol=1e-12)


def test_no_seed_means_a_fixed_one():
    np.testing.assert_array_equal(cosspike().x, cosspike().x)
    np.testing.assert_array_equal(cosspike().x, cosspike(rng=0).x)
    assert not np.array_equal(cosspike().x, cosspike(rng=1).x)


def test_blocksig_is_blocks():
    data = blocksig()
    np.testing.assert_array_equal(data.b, blocksig(rng=5).b)
    assert np.count_nonzero(np.abs(data.x) > 1e-10) == 71
    assert np.linalg.norm(data.b) == pytest.approx(78.8986691903, abs=1e-9)
    t = np.arange(1, 1025) / 1024
    places = [0.1, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81]
    heights = [4, -5, 3, -4, 5, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2]
    naive = sum(h * (1 + np.sign(t - p)) / 2 for h, p in zip(heights, places, strict=True))
    np.testing.assert_allclose(data.b, naive, atol=1e-14)


@pytest.mark.parametrize("levels", range(1, 11))
def test_blocksig_has_no_rounding_noise_among_its_zeros(levels):
    data = blocksig(levels)
    assert np.abs(data.x[data.support]).min() > 1e-2
    np.testing.assert_allclose(data.M @ data.x, data.b, atol=1e-12)


def test_cosspike_plants_two_cosines():
    data = cosspike(rng=0)
    np.testing.assert_array_equal(data.support[:2], [4, 12])
    np.testing.assert_allclose(data.x[[4, 12]], np.sqrt(512) * np.array([4, 2]))
    assert data.support[2] >= 1024


def test_gcosspike_plants_three_cosines_behind_unit_columns():
    data = gcosspike(rng=0)
    np.testing.assert_array_equal(data.support[:3], [3, 9, 20])
    np.testing.assert_allclose(data.x[[3, 9, 20]], np.sqrt(512) * np.array([2, 3, -1]))
    assert data.support[3] >= 1024
    spikes = np.eye(2048, 1024, k=-1024)
    np.testing.assert_allclose(np.linalg.norm(data.M.matmat(spikes), axis=0), 1, atol=1e-13)


def test_sgnspike_has_orthonormal_rows_and_signs():
    data = sgnspike(rng=0)
    np.testing.assert_allclose(data.M @ data.M.T, np.eye(600), atol=1e-13)
    assert set(data.x[data.support]) == {-1.0, 1.0}


def test_sgnspike_is_a_triangular_multiple_of_its_gaussian_matrix():
    G = np.random.default_rng(0).standard_normal((600, 2560))
    L = np.linalg.cholesky(G @ G.T)
    np.testing.assert_allclose(L @ sgnspike(rng=0).M, G, atol=1e-11)


def test_spiketrn_convolves_with_its_kernel():
    data = spiketrn(rng=0)
    u = -1 + 2 * np.arange(467, 1024) / 1023
    kernel = (400 * u**2 - 1) * np.exp(-200 * u**2)
    kernel /= kernel[0]
    assert data.M.kernel.shape == (557,)
    np.testing.assert_allclose(data.M.kernel, kernel, rtol=1e-10)
    np.testing.assert_allclose(data.b, np.convolve(data.x, kernel)[:1024], atol=1e-11)
    assert np.abs(data.x[data.support]).min() > 0.1


# The record and the doors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: blocksig(11),
            ValueError,
            "levels must be an integer between 1 and 10, as often as n = 1024 can be halved; got 11",
        ),
        (lambda: blocksig(levels=2.0), TypeError, r"levels must be an integer between 1 and 10.*; got 2\.0"),
        (lambda: HaarSynthesis(24, 4), ValueError, "levels must be an integer between 1 and 3.*n = 24.*; got 4"),
        (lambda: HaarSynthesis(7, 1), ValueError, "n must be even, .*; got 7"),
        (lambda: HaarSynthesis(8, True), TypeError, "levels must be an integer .*; got True"),
        (lambda: DCTSynthesis(0), ValueError, "n must be an integer of at least 1; got 0"),
        (lambda: CosinesAndSpikes("4"), TypeError, "n must be an integer of at least 1; got '4'"),
        (lambda: CausalConvolution([], 4), ValueError, "kernel must be a vector that is not empty; got .*0"),
        (lambda: CausalConvolution(np.eye(2), 4), ValueError, "kernel must be a vector.*2, 2"),
        (lambda: CausalConvolution([1j], 4), ValueError, "kernel must be real; got .*complex128"),
        (lambda: CausalConvolution([np.nan], 4), ValueError, "kernel must be finite; got"),
        (lambda: cosspike(rng="seed"), TypeError, "rng must be None, a seed or a generator .*; got 'seed'"),
        (lambda: blocksig(rng=-1), ValueError, "rng must be .*; got -1"),
    ],
)
def test_messages_name_argument_demand_and_value(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_numpy_integers_are_integers():
    assert HaarSynthesis(np.int64(8), np.int32(2)).shape == (8, 8)


def test_operators_are_scipy_operators(operator):
    assert isinstance(operator, LinearOperator)


def test_importing_is_light():
    folder = Path(fewatoms.datasets.__file__).parent
    top_level = [node for file in folder.glob("*.py") for node in ast.parse(file.read_text(encoding="utf-8")).body]
    imported = {node.module for node in top_level if isinstance(node, ast.ImportFrom) and node.level == 0}
    imported |= {alias.name for node in top_level if isinstance(node, ast.Import) for alias in node.names}
    standard = {"__future__", "collections.abc", "dataclasses", "numbers", "typing"}
    assert imported <= standard | {"fewatoms", "numpy", "numpy.typing", "scipy.sparse", "scipy.sparse.linalg"}
