"""The planted problems: what was planted is what the data say, for each size, share, noise and seed."""

import numpy as np
import pytest

from fewatoms.datasets import low_rank, low_rank_plus_sparse, phases, sparse_regression

# Sparse regression


@pytest.mark.parametrize("coefficients", ["signs", "gaussian"])
def test_regression_without_noise(coefficients):
    data = sparse_regression(30, 50, 7, coefficients=coefficients, rng=0)
    assert data.M.shape == (30, 50)
    assert data.b.shape == (30,)
    assert data.k == data.support.size == np.count_nonzero(data.x) == 7
    np.testing.assert_allclose(data.b, data.M @ data.x, atol=1e-14)
    assert set(np.abs(data.x[data.support])) == {1.0} or coefficients == "gaussian"
    assert "no noise" in data.description


def test_both_signs_and_all_places_occur():
    drawn = np.array([sparse_regression(2, 6, 2, rng=seed).x for seed in range(60)])
    assert np.all((drawn > 0).any(axis=0) & (drawn < 0).any(axis=0))


@pytest.mark.parametrize("noise", [0.01, 0.5, 2])
def test_regression_noise_is_relative_and_exact(noise):
    data = sparse_regression(40, 20, 3, noise=noise, rng=1)
    clean = data.M @ data.x
    assert np.linalg.norm(data.b - clean) == pytest.approx(noise * np.linalg.norm(clean))


def test_noise_leaves_the_rest_of_the_draw_alone():
    clean, noisy = sparse_regression(9, 8, 2, rng=3), sparse_regression(9, 8, 2, noise=0.1, rng=3)
    np.testing.assert_array_equal(clean.M, noisy.M)
    np.testing.assert_array_equal(clean.x, noisy.x)


@pytest.mark.parametrize("correlation", [0.0, 0.8, -0.5])
def test_columns_have_unit_norm_and_the_correlation_asked_for(correlation):
    M = sparse_regression(40_000, 6, 1, correlation=correlation, rng=2).M
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(M.T @ M, float(correlation) ** distance, atol=0.03)


def test_all_coefficients_may_be_nonzero():
    assert sparse_regression(4, 3, 3, rng=0).k == 3


# Low rank


@pytest.mark.parametrize("observed", [1.0, 0.3, 1e-9])
def test_low_rank_values_are_entries_of_the_product(observed):
    data = low_rank(13, 9, 3, observed=observed, rng=0)
    assert data.shape == (13, 9)
    assert data.left.shape == (13, 3)
    assert data.right.shape == (9, 3)
    assert data.rows.size == data.cols.size == data.values.size == max(1, round(observed * 117))
    np.testing.assert_allclose(data.values, (data.left @ data.right.T)[data.rows, data.cols], atol=1e-14)
    places = data.rows * 9 + data.cols
    assert np.all(np.diff(places) > 0)
    assert np.all((data.rows >= 0) & (data.rows < 13) & (data.cols >= 0) & (data.cols < 9))


def test_low_rank_has_its_rank_and_scale():
    data = low_rank(200, 150, 4, rng=0)
    X = data.values.reshape(data.shape)
    assert np.linalg.matrix_rank(X) == 4
    assert np.mean(X**2) == pytest.approx(1, rel=0.25)


@pytest.mark.parametrize("observed", [1.0, 0.5])
def test_low_rank_noise_is_relative_and_exact(observed):
    data = low_rank(20, 10, 2, observed=observed, noise=0.1, rng=5)
    clean = (data.left @ data.right.T)[data.rows, data.cols]
    assert np.linalg.norm(data.values - clean) == pytest.approx(0.1 * np.linalg.norm(clean))


def test_every_entry_is_seen_equally_often():
    seen = np.zeros((4, 5))
    for seed in range(500):
        data = low_rank(4, 5, 1, observed=0.4, rng=seed)
        seen[data.rows, data.cols] += 1
    assert seen.sum() == 500 * 8
    np.testing.assert_allclose(seen / 500, 0.4, atol=0.1)


# Low rank plus sparse


@pytest.mark.parametrize("corrupted", [0.0, 0.05, 1.0])
def test_low_rank_plus_sparse_is_the_sum_of_its_parts(corrupted):
    data = low_rank_plus_sparse(15, 12, 2, corrupted=corrupted, rng=0)
    product = data.low_rank_left @ data.low_rank_right.T
    np.testing.assert_allclose(data.X, product + data.sparse.toarray(), atol=1e-14)
    assert np.linalg.matrix_rank(product) == 2
    assert data.sparse.shape == data.X.shape == (15, 12)
    assert data.sparse.nnz == np.count_nonzero(data.sparse.toarray()) == round(corrupted * 180)
    assert np.all(np.abs(data.sparse.data) >= 1)


# Phases


@pytest.mark.parametrize("is_complex", [True, False])
def test_phases_are_squared_magnitudes(is_complex):
    data = phases(300, 400, complex=is_complex, rng=0)
    assert data.A.shape == (400, 300)
    assert data.x.shape == (300,)
    assert np.iscomplexobj(data.A) == np.iscomplexobj(data.x) == is_complex
    assert data.b.dtype == np.float64
    np.testing.assert_allclose(data.b, (np.conj(data.A @ data.x) * (data.A @ data.x)).real)
    assert np.mean(np.abs(data.A) ** 2) == pytest.approx(1, rel=0.02)
    # circular in the complex case: the mean of a^2 is zero, not the mean of |a|^2
    assert abs(np.mean(data.A**2) - (0 if is_complex else 1)) < 0.02


def test_phases_are_complex_unless_told():
    assert np.iscomplexobj(phases(2, 3, rng=0).A)


# Seeds, printing, doors


def planted(rng):
    regression = sparse_regression(6, 8, 2, noise=0.1, correlation=0.5, coefficients="gaussian", rng=rng)
    completion = low_rank(5, 4, 2, observed=0.5, noise=0.1, rng=rng)
    robust = low_rank_plus_sparse(5, 4, 2, corrupted=0.2, rng=rng)
    lost = phases(3, 7, rng=rng)
    return {
        "regression": [regression.M, regression.b, regression.x],
        "completion": [completion.rows, completion.cols, completion.values, completion.left, completion.right],
        "robust": [robust.X, robust.low_rank_left, robust.low_rank_right, robust.sparse.toarray()],
        "phases": [lost.A, lost.x, lost.b],
    }


@pytest.mark.parametrize("name", ["regression", "completion", "robust", "phases"])
def test_same_seed_same_data_and_other_seeds_differ(name):
    first, again, other = planted(11)[name], planted(11)[name], planted(12)[name]
    assert all(np.allclose(a, b, rtol=0, atol=1e-13) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_generators_move_on_and_no_seed_is_a_fixed_one():
    rng = np.random.default_rng(0)
    assert not np.array_equal(phases(3, 4, rng=rng).b, phases(3, 4, rng=rng).b)
    np.testing.assert_array_equal(phases(3, 4).b, phases(3, 4).b)
    np.testing.assert_array_equal(phases(3, 4).b, phases(3, 4, rng=0).b)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse_regression(10, 20, 25), ValueError, "k must be an integer between 1 and n = 20; got 25"),
        (lambda: sparse_regression(10, 20, 0), ValueError, "k must be an integer between 1 and n = 20; got 0"),
        (lambda: sparse_regression(10, 20, 2.5), TypeError, r"k must be an integer between 1 and n = 20; got 2\.5"),
        (lambda: sparse_regression(0, 20, 2), ValueError, "m must be an integer of at least 1; got 0"),
        (lambda: sparse_regression(10, -1, 2), ValueError, "n must be an integer of at least 1; got -1"),
        (
            lambda: sparse_regression(9, 9, 2, noise=-1),
            ValueError,
            r"noise must be a nonnegative finite number; got -1",
        ),
        (
            lambda: sparse_regression(9, 9, 2, noise=np.nan),
            ValueError,
            "noise must be a nonnegative finite number; got nan",
        ),
        (
            lambda: sparse_regression(9, 9, 2, noise=np.inf),
            ValueError,
            "noise must be a nonnegative finite number; got inf",
        ),
        (lambda: sparse_regression(9, 9, 2, noise="loud"), TypeError, "noise must be .*; got 'loud'"),
        (
            lambda: sparse_regression(9, 9, 2, correlation=1),
            ValueError,
            r"correlation must be a number strictly between -1 and 1; got 1",
        ),
        (
            lambda: sparse_regression(9, 9, 2, coefficients="ones"),
            ValueError,
            'coefficients must be "signs" or "gaussian"; got \'ones\'',
        ),
        (lambda: low_rank(5, 4, 5), ValueError, r"rank must be an integer between 1 and min\(p, q\) = 4; got 5"),
        (lambda: low_rank(5, 0, 1), ValueError, "q must be an integer of at least 1; got 0"),
        (lambda: low_rank(5, 4, 1, observed=0), ValueError, "observed must be a number above 0 and at most 1; got 0"),
        (lambda: low_rank(5, 4, 1, observed=1.5), ValueError, r"observed must be .* at most 1; got 1\.5"),
        (lambda: low_rank(5, 4, 1, observed=True), TypeError, "observed must be .*; got True"),
        (
            lambda: low_rank_plus_sparse(5, 4, 1, corrupted=-0.1),
            ValueError,
            r"corrupted must be a number between 0 and 1; got -0\.1",
        ),
        (lambda: low_rank_plus_sparse("5", 4, 1), TypeError, "p must be an integer of at least 1; got '5'"),
        (lambda: phases(0, 3), ValueError, "n must be an integer of at least 1; got 0"),
        (lambda: phases(3, 4, complex="yes"), TypeError, "complex must be True or False; got 'yes'"),
        (lambda: phases(3, 4, rng=1.5), TypeError, r"rng must be .*; got 1\.5"),
    ],
)
def test_messages_name_argument_demand_and_value(call, error, message):
    with pytest.raises(error, match=message):
        call()
