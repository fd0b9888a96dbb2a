"""Sampled entries: any order and any kind of index, repeats found wherever they are, and biases as columns."""

import numpy as np
import pytest

import naive
from contracts.families import generator, over, places
from fewatoms import RankOne, Sampling, fit, kernels
from fewatoms.operators import Margins, by_lines
from fewatoms.operators.sampling import index_type
from fewatoms.testing import check_operator


def drawn(p, q, share, seed, empty=()):
    """Positions in no order; some rows and columns (named by their place) have none."""
    keys = generator(seed).permutation(p * q)
    rows, cols = np.divmod(keys[: max(1, round(share * p * q))], q)
    keep = ~np.isin(rows, empty) & ~np.isin(cols, empty)
    return rows[keep], cols[keep]


PLACES = {
    "usual": (*drawn(7, 5, 0.6, 0), (7, 5)),
    "tall": (*drawn(23, 3, 0.4, 1), (23, 3)),
    "wide": (*drawn(3, 23, 0.4, 2), (3, 23)),
    "all, turned over": (*(a[::-1] for a in np.divmod(np.arange(20), 4)), (5, 4)),
    "in order": (*np.nonzero(np.ones((4, 5))), (4, 5)),
    "in order, with holes": (*np.nonzero(np.eye(6) + np.eye(6, k=2)), (6, 6)),
    "rows in order, columns not": (np.repeat(np.arange(4), 3), np.tile([2, 0, 1], 4), (4, 3)),
    "columns first": (*np.nonzero(np.ones((5, 4)))[::-1], (4, 5)),
    "one entry": ([3], [2], (5, 4)),
    "one row": (np.zeros(4, dtype=int), [3, 0, 2, 1], (1, 4)),
    "one column": ([3, 0, 2, 1], np.zeros(4, dtype=int), (4, 1)),
    "empty rows and columns": (*drawn(9, 8, 0.6, 3, empty=(0, 4, 7)), (9, 8)),
    "empty at the end": ([1, 0], [0, 2], (20, 15)),
}
PLACES = {name: (np.array(rows), np.array(cols), shape) for name, (rows, cols, shape) in PLACES.items()}
every_place = pytest.mark.parametrize(("name", "place"), **over(PLACES))


@pytest.fixture(params=["loop", "numpy"])
def way(request, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 0 if request.param == "loop" else 10**9)


@every_place
def test_the_contract_of_operators(name, place):
    check_operator(Sampling(*place), rng=0)


@every_place
def test_entries_in_the_order_given(name, place):
    rows, cols, shape = place
    M = Sampling(*place)
    rng = generator(1)
    X, y = rng.standard_normal(shape), rng.standard_normal(rows.size)
    np.testing.assert_array_equal(M.rows, rows)
    np.testing.assert_array_equal(M.cols, cols)
    for given in (X, X.ravel(), np.asfortranarray(X), X.T.copy().T, X.astype(np.float32).astype(np.float64)):
        np.testing.assert_array_equal(M.apply(given), np.asarray(given).reshape(shape)[rows, cols])
    Z = np.zeros(shape)
    Z[rows, cols] = y
    np.testing.assert_array_equal(M.adjoint(y).toarray(), Z)
    np.testing.assert_array_equal(naive.dense_operator(M).T @ y, Z.ravel())


@every_place
def test_counts(name, place):
    rows, cols, (p, q) = place
    by_row, by_col = Sampling(*place).counts
    assert by_row.tolist() == [int(np.sum(rows == i)) for i in range(p)]
    assert by_col.tolist() == [int(np.sum(cols == j)) for j in range(q)]


@every_place
def test_row_by_row_and_back(name, place):
    rows, cols, (p, _) = place
    M = Sampling(*place)
    values = generator(2).standard_normal(rows.size)
    before = values.copy()
    starts, others, sorted_values = M.row_by_row(values)
    assert starts.size == p + 1
    assert starts[0] == 0
    assert starts[-1] == rows.size
    seen = {}
    for i in range(p):
        mine = others[starts[i] : starts[i + 1]]
        assert (np.diff(mine) > 0).all()  # columns rise
        seen |= {(i, int(j)): v for j, v in zip(mine, sorted_values[starts[i] : starts[i + 1]], strict=True)}
    assert seen == {(int(i), int(j)): v for i, j, v in zip(rows, cols, values, strict=True)}
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("name", ["in order", "in order, with holes", "one entry", "empty at the end"])
def test_values_in_order_are_not_copied(name):
    rows, cols, shape = PLACES[name]
    order = np.lexsort((cols, rows))
    M = Sampling(rows[order], cols[order], shape)
    values = generator(3).standard_normal(rows.size)
    assert M.row_by_row(values)[2] is values


@every_place
def test_factors_at_the_entries(name, place, way):
    rows, cols, (p, q) = place
    M = Sampling(*place)
    rng = generator(4)
    for r in (0, 1, 3):
        U, V = rng.standard_normal((p, r)), rng.standard_normal((q, r))
        expected = naive.sampled_products(U, V, rows, cols)
        np.testing.assert_allclose(M.apply_factors(U, V), expected, atol=1e-12)
        np.testing.assert_allclose(M.apply_factors(np.asfortranarray(U), V[::-1][::-1]), expected, atol=1e-12)
        np.testing.assert_allclose(M.apply_factors(U, V), M.apply(U @ V.T), atol=1e-12)


@every_place
@pytest.mark.parametrize("weighted", [False, True])
def test_grams_of_rows(name, place, weighted, way, monkeypatch):
    """In blocks of rows, however few a block may hold."""
    rows, cols, (p, q) = place
    rng = generator(5)
    V, weights = rng.standard_normal((q, 2)), rng.uniform(0.1, 2.0, rows.size)
    expected = naive.row_grams(V, rows, cols, weights if weighted else np.ones(rows.size), p)
    for block in (1, 12, 10**6):
        monkeypatch.setattr("fewatoms.operators.sampling.BLOCK", block)
        blocks = list(Sampling(*place).row_grams(V, weights if weighted else None))
        assert [first for first, _ in blocks] == list(np.cumsum([0, *(len(g) for _, g in blocks)])[:-1])
        np.testing.assert_allclose(np.concatenate([g for _, g in blocks]), expected, atol=1e-13)


@every_place
def test_some_of_the_entries(name, place):
    rows, cols, shape = place
    M = Sampling(*place)
    some = generator(6).permutation(rows.size)[: (rows.size + 1) // 2]
    part = M.subset(some)
    np.testing.assert_array_equal(part.rows, rows[some])
    np.testing.assert_array_equal(part.cols, cols[some])
    assert part.matrix_shape == shape


# Indices of every kind


KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@every_place
@pytest.mark.parametrize("kind", KINDS)
def test_indices_of_every_kind(name, place, kind):
    rows, cols, shape = place
    y = generator(11).standard_normal(rows.size)
    expected = Sampling(*place).adjoint(y).toarray()
    for i, j in ((rows.astype(kind), cols.astype(kind)), (rows.astype(kind), cols), (rows.tolist(), cols.astype(kind))):
        given = np.array(i), np.array(j)
        M = Sampling(i, j, shape)
        np.testing.assert_array_equal(M.adjoint(y).toarray(), expected)
        np.testing.assert_array_equal(M.apply(expected), y)
        np.testing.assert_array_equal(np.asarray(i), given[0])
        np.testing.assert_array_equal(np.asarray(j), given[1])
        assert M.rows.dtype == M.cols.dtype == np.intp


def test_narrow_indices_of_a_large_matrix():
    """Products of indices are taken in wide integers: 127 * 128 + 127 is no int8."""
    rows, cols = np.array([127, 0, 64], dtype=np.int8), np.array([100, 127, 1], dtype=np.int8)
    M = Sampling(rows, cols, (128, 128))
    y = np.array([1.0, 2.0, 3.0])
    expected = np.zeros((128, 128))
    expected[rows.astype(int), cols.astype(int)] = y
    np.testing.assert_array_equal(M.adjoint(y).toarray(), expected)
    flat = rows.astype(int) * 128 + cols.astype(int)
    np.testing.assert_array_equal(naive.dense(M.columns(flat)), np.eye(3))
    twice = np.concatenate([rows, rows[:1]]), np.concatenate([cols, cols[:1]])
    with pytest.raises(ValueError, match=r"1 repeat another, \(127, 100\) for one"):
        Sampling(*twice, (128, 128))
    merged, b = Sampling.from_triplets(*twice, [1.0, 2.0, 3.0, 5.0], (128, 128), duplicates="mean")
    assert dict(zip(zip(merged.rows.tolist(), merged.cols.tolist(), strict=True), b, strict=True)) == {
        (127, 100): 3.0, (0, 127): 2.0, (64, 1): 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("order", ["C", "F"])
def test_indices_with_axes_are_read_in_the_order_of_c(order):
    rows, cols = np.meshgrid(np.arange(3), np.arange(2, 5), indexing="ij")
    X = generator(7).standard_normal((3, 5))
    M = Sampling(np.asarray(rows, order=order), np.asarray(cols, order=order), (3, 5))
    np.testing.assert_array_equal(M.apply(X), X[rows, cols].ravel())
    _, b = Sampling.from_triplets(
        np.asarray(rows, order=order), np.asarray(cols, order=order), np.asarray(X[rows, cols], order=order)
    )
    np.testing.assert_array_equal(b, X[rows, cols].ravel())


def test_strided_indices():
    rows, cols, shape = PLACES["usual"]
    M = Sampling(np.repeat(rows, 2)[::2], np.repeat(cols, 3)[::3], shape)
    np.testing.assert_array_equal(naive.dense_operator(M), naive.dense_operator(Sampling(rows, cols, shape)))


# Repeats


def with_repeats(rows, cols, pairs):
    """Entry `source` again at place `target`, for each pair; and how many repeat another."""
    rows, cols = rows.copy(), cols.copy()
    for source, target in pairs:
        rows[target], cols[target] = rows[source], cols[source]
    return rows, cols


@pytest.mark.parametrize("arrangement", ["given", "sorted", "turned over", "by columns"])
@pytest.mark.parametrize(
    "pairs", [[(0, 1)], [(0, -1)], [(-2, -1)], [(5, 2)], [(3, 7), (3, 8)], [(0, 9), (1, 8)]], ids=str
)
def test_entries_that_occur_twice_are_found_wherever_they_are(pairs, arrangement):
    rows, cols = with_repeats(*drawn(6, 5, 0.6, 8), pairs)
    order = {
        "given": np.arange(rows.size),
        "sorted": np.lexsort((cols, rows)),
        "turned over": np.arange(rows.size)[::-1],
        "by columns": np.lexsort((rows, cols)),
    }[arrangement]
    rows, cols = rows[order], cols[order]
    keys = list(zip(rows.tolist(), cols.tolist(), strict=True))
    twice = {key for key in keys if keys.count(key) > 1}
    with pytest.raises(
        ValueError, match=f"^rows and cols must name each entry once; {len(pairs)} repeat another"
    ) as told:
        Sampling(rows, cols, (6, 5))
    assert any(f"{key} for one" in str(told.value) for key in twice)
    for way, merge in (("mean", np.mean), ("last", lambda values: values[-1])):
        values = generator(9).standard_normal(rows.size)
        M, b = Sampling.from_triplets(rows, cols, values, (6, 5), duplicates=way)
        found = dict(zip(zip(M.rows.tolist(), M.cols.tolist(), strict=True), b, strict=True))
        assert found == pytest.approx({key: merge(values[[k == key for k in keys]]) for key in keys})


@every_place
def test_entries_that_occur_once_are_no_repeats(name, place):
    rows, cols, shape = place
    M, b = Sampling.from_triplets(rows, cols, np.arange(rows.size), shape)
    np.testing.assert_array_equal(b, np.arange(rows.size))
    assert M.shape == (rows.size, shape[0] * shape[1])


# How wide the integers are


@pytest.mark.parametrize("place", range(3))
def test_integers_are_as_wide_as_they_must_be(place):
    """Nothing is made of these sizes: only the choice is looked at."""
    for size, kind in ((1, np.int32), (2**31 - 1, np.int32), (2**31, np.int64), (2**40, np.int64)):
        sizes = [10, 10, 10]
        sizes[place] = size
        chosen = index_type(*sizes)
        assert chosen is kind
        assert np.iinfo(chosen).max >= size


def test_columns_far_out():
    """A matrix with more columns than an int32 can name costs what its entries cost."""
    far = 2**33
    M = Sampling([1, 0, 1], [far - 1, 5, 7], (2, far))
    assert M.row_by_row(np.ones(3))[1].dtype == np.int64
    np.testing.assert_array_equal(M.cols, [far - 1, 5, 7])
    np.testing.assert_array_equal(M.row_by_row(np.arange(3.0))[2], [1, 2, 0])
    with pytest.raises(ValueError, match=rf"1 repeat another, \(1, {far - 1}\) for one"):
        Sampling([1, 0, 1], [far - 1, 5, far - 1], (2, far))


# Biases as columns


@every_place
def test_margins_are_columns_of_ones(name, place, way):
    rows, cols, shape = place
    M = Sampling(*place)
    F, twin = Margins(M, by_lines(M)), naive.margins(rows, cols, shape)
    rng = generator(10)
    v, y, w = rng.standard_normal(sum(shape)), rng.standard_normal(rows.size), rng.uniform(0.1, 2.0, rows.size)
    before = v.copy(), y.copy(), w.copy()
    np.testing.assert_allclose(F.forward(v), twin @ v, atol=1e-13)
    np.testing.assert_allclose(F.backward(y), twin.T @ y, atol=1e-13)
    assert float(F.forward(v) @ y) == pytest.approx(float(v @ F.backward(y)), abs=1e-12)
    for weights in (None, w):
        W = np.diag(np.ones(rows.size) if weights is None else weights)
        np.testing.assert_allclose(F.diagonal(weights), np.diag(twin.T @ W @ twin), atol=1e-13)
    for array, copy in zip((v, y, w), before, strict=True):
        np.testing.assert_array_equal(array, copy)


# Single properties


def test_sampling_keeps_the_order_given():
    rows, cols = np.array([2, 0, 1, 0]), np.array([1, 2, 0, 0])
    X = np.arange(9.0).reshape(3, 3)
    M = Sampling(rows, cols, (3, 3))
    np.testing.assert_array_equal(M.rows, rows)
    np.testing.assert_array_equal(M.cols, cols)
    np.testing.assert_array_equal(M.apply(X), X[rows, cols])
    np.testing.assert_array_equal(M.adjoint(np.arange(1.0, 5)).toarray(), [[4, 0, 2], [3, 0, 0], [0, 1, 0]])
    left, right = X[:, :2], X[:, 1:]
    np.testing.assert_allclose(M.apply_factors(left, right), naive.sampled_products(left, right, rows, cols))


def test_sampling_a_piece_at_a_time(monkeypatch):
    """However few numbers are gathered at once."""
    monkeypatch.setattr("fewatoms.kernels.GATHER", 3)
    rng = generator(18)
    rows, cols = places(6, 5, 0.9, 4)
    left, right = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    found = Sampling(rows, cols, (6, 5)).apply_factors(left, right)
    np.testing.assert_allclose(found, naive.sampled_products(left, right, rows, cols), atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_sampling_row_grams(weighted):
    rng = generator(19)
    rows, cols = places(7, 5, 0.4, 5)
    keep = rows != 3  # a row without entries
    rows, cols = rows[keep], cols[keep]
    V = rng.standard_normal((5, 3))
    weights = rng.uniform(0.1, 2, rows.size)
    M = Sampling(rows, cols, (7, 5))
    blocks = [grams.copy() for _, grams in M.row_grams(V, weights if weighted else None)]
    expected = naive.row_grams(V, rows, cols, weights if weighted else np.ones(rows.size), 7)
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-13)


@pytest.mark.parametrize("duplicates", ["mean", "last"])
def test_sampling_from_triplets(duplicates):
    rows, cols, values = [2, 0, 2, 1, 2], [1, 0, 1, 2, 1], [1.0, 5.0, 2.0, 7.0, 6.0]
    M, b = Sampling.from_triplets(rows, cols, values, duplicates=duplicates)
    assert M.matrix_shape == (3, 3)
    seen = dict(zip(zip(M.rows.tolist(), M.cols.tolist(), strict=True), b, strict=True))
    assert seen == {(2, 1): 3.0 if duplicates == "mean" else 6.0, (0, 0): 5.0, (1, 2): 7.0}
    with pytest.raises(ValueError, match="each entry once"):
        Sampling.from_triplets(rows, cols, values)


def test_sampling_from_an_array_with_holes():
    X = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 6.0]])
    for given in (X, np.ma.masked_invalid(X)):
        M, b = Sampling.from_array(given)
        assert M.matrix_shape == (2, 3)
        np.testing.assert_array_equal(b, [1, 3, 5, 6])
        np.testing.assert_array_equal(M.apply(np.nan_to_num(X)), b)


# Bad input ------------------------------------------------------------------------------------------------------------

BAD_POSITIONS = [
    ([0, 1, 0], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; 1 repeat.*\(0, 1\)"),
    ([0, 0, 1], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; .*duplicates='mean'"),
    ([0, 2], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got 2$"),
    ([0, 1], [0, 5], (2, 2), ValueError, r"^cols must lie between 0 and 1; got 5$"),
    ([0, -1], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got -1$"),
    ([0, 1.0], [0, 0], (2, 2), TypeError, r"^rows must hold integers; got an array of float64$"),
    ([0], ["a"], (2, 2), TypeError, r"^cols must hold integers; got an array of <U1$"),
    ([True], [0], (2, 2), TypeError, r"^rows must hold integers; got an array of bool$"),
    ([0, 1], [0], (2, 2), ValueError, r"^rows and cols must have the same length; got 2 and 1$"),
    ([], [], (2, 2), ValueError, r"^rows and cols must name at least one entry; got none$"),
    ([0], [0], 4, TypeError, r"^shape must be a pair of integers \(rows, columns\); got 4$"),
    ([0], [0], (0, 4), ValueError, r"^shape\[0\] must be an integer of at least 1; got 0$"),
    ([0], [0], (4, 1.5), TypeError, r"^shape\[1\] must be an integer of at least 1; got 1.5$"),
]


@pytest.mark.parametrize(
    ("rows", "cols", "shape", "kind", "message"), BAD_POSITIONS, ids=[str(case[:3]) for case in BAD_POSITIONS]
)
def test_bad_positions(rows, cols, shape, kind, message):
    with pytest.raises(kind, match=message):
        Sampling(rows, cols, shape)


def test_entries_given_twice_are_merged_if_asked():
    rows, cols, values = [2, 0, 2, 1, 2], [1, 0, 1, 1, 1], [1.0, 5.0, 4.0, -1.0, 10.0]
    with pytest.raises(ValueError, match=r"^rows and cols must name each entry once; 2 repeat another, \(2, 1\)"):
        Sampling.from_triplets(rows, cols, values)
    with pytest.raises(ValueError, match=r"^duplicates must be 'error', 'mean' or 'last'; got 'sum'$"):
        Sampling.from_triplets(rows, cols, values, duplicates="sum")
    for how, merged in (("mean", 5.0), ("last", 10.0)):
        M, b = Sampling.from_triplets(rows, cols, values, duplicates=how)
        assert {(2, 1): merged, (0, 0): 5.0, (1, 1): -1.0} == {
            (int(i), int(j)): float(v) for i, j, v in zip(M.rows, M.cols, b, strict=True)
        }
        s = fit(M, b, atoms=RankOne(3, 2), k=2)
        assert s.predict(2, 1) == pytest.approx(merged, rel=1e-2)


def test_labels_are_not_taken_for_indices():
    with pytest.raises(ValueError, match=r"indices up to 1000000000000 look like labels.*numpy.unique"):
        Sampling.from_triplets([0, 10**12], [0, 1], [1.0, 2.0])


def test_sparse_matrices_do_not_say_what_is_missing():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match=r"X must be a dense array with NaN.*from_triplets"):
        Sampling.from_array(csr_array(np.eye(3)))


@pytest.mark.parametrize("together", [1, 2, 3, 100])
def test_entries_are_looked_at_some_at_a_time(together, monkeypatch):
    """What stands in order is known to, and what repeats is found, wherever one part ends and the next begins."""
    monkeypatch.setattr("fewatoms.operators.sampling.COUNTED", together)
    rows, cols = np.nonzero(np.eye(6) + np.eye(6, k=2))
    values = np.arange(rows.size, dtype=float)
    assert Sampling(rows, cols, (6, 6)).row_by_row(values)[2] is values
    for at in range(rows.size - 1):
        swapped = np.arange(rows.size)
        swapped[[at, at + 1]] = at + 1, at
        M = Sampling(rows[swapped], cols[swapped], (6, 6))
        np.testing.assert_array_equal(M.row_by_row(values[swapped])[2], values)
        twice = np.insert(np.arange(rows.size), at, at)
        with pytest.raises(ValueError, match="each entry once"):
            Sampling(rows[twice], cols[twice], (6, 6))
