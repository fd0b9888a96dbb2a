"""Low-rank matrices by themselves: predictions, the largest entries of a row, new rows and columns, files."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import lowrank
from fewatoms.beside import FittedBiases
from sampled import plant

BIASES = fa.Biases(ridge=0.7)
NONNEGATIVE = fa.RankOne(9, 8, nonnegative=True)
WAYS = {
    "plain": {},
    "ridge": {"ridge": 0.5},
    "biases": {"free": BIASES, "ridge": 0.5},
    "nonnegative": {"atoms": NONNEGATIVE, "ridge": 0.2},
    "nonnegative, biases": {"atoms": NONNEGATIVE, "free": BIASES, "ridge": 0.5},
}


def fitted(name, seed=0, **more):
    e = plant(seed, 9, 8, 2, noise=0.2, signs=False, share=0.9)
    return e, fa.fit(e.M, e.b, k=2, **{"atoms": e.atoms, **WAYS[name], **more})


def whole(model):
    """The matrix, formed."""
    X = model.left @ model.right.T
    if model.biases is not None:
        X = X + model.biases.center + model.biases.rows[:, None] + model.biases.cols
    return X


def random_model(seed, p=7, q=11, k=2, biases=True, **more):
    rng = np.random.default_rng(seed)
    beside = FittedBiases(0.5, rng.standard_normal(p), rng.standard_normal(q)) if biases else None
    return fa.LowRank(rng.standard_normal((p, k)), rng.standard_normal((q, k)), beside, **more)


# Predictions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
def test_a_solution_and_its_model_say_the_same(name):
    e, s = fitted(name)
    i, j = np.indices(e.shape)
    X = whole(s.model)
    np.testing.assert_allclose(s.predict(i, j), X, atol=1e-12 * np.abs(X).max())
    np.testing.assert_allclose(s.model.predict(i, j), X, atol=1e-12 * np.abs(X).max())
    assert s.model.shape == e.shape
    assert s.model.ridge == s.ridge
    assert s.model.nonnegative == ("nonnegative" in name)
    assert s.model is s.model
    assert ("with biases" in repr(s.model)) == (s.biases is not None)


@pytest.mark.parametrize("biases", [False, True])
def test_rows_and_columns_are_broadcast(biases):
    model = random_model(0, biases=biases)
    X = whole(model)
    for rows, cols in (
        (3, 4),
        ([0, 1, 6], 2),
        (2, [[1, 0], [10, 3]]),
        (np.arange(7)[:, None], np.arange(11)),
        (np.array([], dtype=int), np.array([], dtype=int)),
        (np.zeros((0, 3), dtype=int), 1),
        (np.uint8([1, 2]), np.int16([3, 4])),
    ):
        rows, cols = np.broadcast_arrays(rows, cols)
        found = model.predict(rows, cols)
        assert found.shape == rows.shape
        np.testing.assert_allclose(found, X[rows, cols], atol=1e-12)


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_pieces_of_predictions_fit_together(chunk, monkeypatch):
    model = random_model(1)
    i, j = np.indices(model.shape)
    monkeypatch.setattr(lowrank, "CHUNK", chunk)
    np.testing.assert_allclose(model.predict(i, j), whole(model), atol=1e-12)


# The largest entries of a row -----------------------------------------------------------------------------------------


def by_sorting(model, row, n, exclude=()):
    """Columns by falling value, ties to the lower index."""
    values = whole(model)[row]
    left = [j for j in range(values.size) if j not in set(exclude)]
    cols = sorted(left, key=lambda j: (-values[j], j))[:n]
    return np.array(cols, dtype=int), values[cols]


@pytest.mark.parametrize("chunk", [1, 3, 4, 11, 1 << 16])
@pytest.mark.parametrize("biases", [False, True])
def test_top_against_sorting(chunk, biases, monkeypatch):
    monkeypatch.setattr(lowrank, "CHUNK", chunk)
    model = random_model(2, biases=biases)
    for row in range(7):
        for n in (1, 3, 4, 10, 11, 50):
            for exclude in ((), (0,), (3, 10, 3), range(9), range(11)):
                cols, values = model.top(row, n, exclude=list(exclude))
                expected = by_sorting(model, row, n, exclude)
                np.testing.assert_array_equal(cols, expected[0])
                np.testing.assert_allclose(values, expected[1], atol=1e-12)
    np.testing.assert_array_equal(model.top(0)[0], by_sorting(model, 0, 10)[0])
    np.testing.assert_array_equal(model.top(0, 3, exclude=5)[0], by_sorting(model, 0, 3, [5])[0])
    np.testing.assert_array_equal(model.top(np.int64(1), np.int32(2))[0], by_sorting(model, 1, 2)[0])


@pytest.mark.parametrize("chunk", [1, 2, 5, 1 << 16])
def test_ties_go_to_the_lower_index(chunk, monkeypatch):
    """Whether or not they are looked at together. Values are small integers: ties are exact."""
    monkeypatch.setattr(lowrank, "CHUNK", chunk)
    rng = np.random.default_rng(3)
    for _ in range(5):
        left, right = rng.integers(-1, 2, (3, 2)), rng.integers(-1, 2, (12, 2))
        model = fa.LowRank(left, right, FittedBiases(1.0, np.zeros(3), rng.integers(0, 2, 12).astype(float)))
        for n in (1, 4, 12):
            for exclude in ([], [2, 5]):
                cols, values = model.top(1, n, exclude=exclude)
                expected = by_sorting(model, 1, n, exclude)
                np.testing.assert_array_equal(cols, expected[0])
                np.testing.assert_array_equal(values, expected[1])


@pytest.mark.parametrize("name", WAYS)
def test_the_best_of_what_was_not_seen(name):
    e, s = fitted(name)
    for row in range(9):
        seen = e.cols[e.rows == row]
        cols, values = s.top(row, 3, exclude=seen)
        assert not set(cols) & set(seen)
        np.testing.assert_array_equal(cols, by_sorting(s.model, row, 3, seen)[0])
        np.testing.assert_allclose(values, s.predict(row, cols), atol=1e-9)


# New rows and columns -------------------------------------------------------------------------------------------------


def by_regression(model, cols, values, weights=None, axis=0, ridge=None):
    """(factor, bias) of one new row, or column: a ridge regression on the other side and a column of ones."""
    features, offset = (model.right, "cols") if axis == 0 else (model.left, "rows")
    lam = model.ridge[0] if ridge is None else ridge
    A, ridges, t = features[cols], np.full(features.shape[1], lam), np.asarray(values, dtype=float)
    if model.biases is not None:
        A = np.concatenate([A, np.ones((len(A), 1))], axis=1)
        ridges = np.append(ridges, model.ridge[1])
        t = t - model.biases.center - getattr(model.biases, offset)[cols]
    w = np.ones(t.size) if weights is None else np.asarray(weights)
    rows = np.concatenate([np.sqrt(w)[:, None] * A, np.diag(np.sqrt(ridges))])
    x = np.linalg.lstsq(rows, np.concatenate([np.sqrt(w) * t, np.zeros(ridges.size)]), rcond=None)[0]
    return (x[:-1], x[-1]) if model.biases is not None else (x, None)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_new_rows_are_regressions(axis, biases, weighted):
    rng = np.random.default_rng(4)
    model = random_model(4, p=9, q=8, biases=biases, ridge=(0.3, 0.6))
    old = model.shape[1 - axis]
    new, other = np.nonzero(rng.random((4, old)) < 0.6)
    values = rng.standard_normal(new.size)
    w = rng.uniform(0.3, 3.0, new.size) if weighted else None
    order = rng.permutation(new.size)
    pair = (new, other) if axis == 0 else (other, new)
    for ridge in (None, 0.05):
        wider = model.fold_in(
            *(v[order] for v in pair), values[order], axis=axis, weights=w if w is None else w[order], ridge=ridge
        )
        added = (wider.left if axis == 0 else wider.right)[model.shape[axis] :]
        assert len(added) == 4
        for i in range(4):
            at = new == i
            factor, bias = by_regression(
                model, other[at], values[at], None if w is None else w[at], axis=axis, ridge=ridge
            )
            np.testing.assert_allclose(added[i], factor, atol=1e-9)
            if biases:
                found = (wider.biases.rows if axis == 0 else wider.biases.cols)[model.shape[axis] + i]
                assert found == pytest.approx(bias, abs=1e-9)
        assert wider.ridge == model.ridge
    before = tuple(slice(n) for n in model.shape)
    np.testing.assert_array_equal(whole(wider)[before], whole(model))
    assert wider.shape[axis] == model.shape[axis] + 4
    assert wider.shape[1 - axis] == old


@pytest.mark.parametrize("name", [name for name in WAYS if name != "plain"])
@pytest.mark.parametrize("weighted", [False, True])
def test_folding_in_what_was_fitted_changes_nothing(name, weighted):
    """A fit that has converged is a regression on each side."""
    e = plant(0, 9, 8, 2, noise=0.2, signs=False, share=0.8)
    w = np.random.default_rng(0).uniform(0.5, 2.0, e.b.size) if weighted else None
    s = None
    for _ in range(5):
        s = fa.fit(e.M, e.b, k=2, loss=fa.LeastSquares(w), start=s, **{"atoms": e.atoms, **WAYS[name]})
    tall, wide = (s.fold_in(e.rows, e.cols, e.b, axis=axis, weights=w) for axis in (0, 1))
    size = np.abs(s.left).max()
    np.testing.assert_allclose(tall.left[9:], s.left, atol=5e-3 * size)
    np.testing.assert_allclose(wide.right[8:], s.right, atol=5e-3 * size)
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(tall.predict(9 + i, j), s.predict(i, j), atol=5e-3 * np.abs(e.b).max())
    np.testing.assert_allclose(wide.predict(i, 8 + j), s.predict(i, j), atol=5e-3 * np.abs(e.b).max())


def test_new_rows_of_a_planted_matrix_are_found():
    """From as many entries as there are unknowns in a row, without noise."""
    for seed in range(3):
        e = plant(seed, 14, 12, 2, share=0.7)
        old = e.rows < 10
        s = fa.fit(fa.Sampling(e.rows[old], e.cols[old], (10, 12)), e.b[old], atoms=fa.RankOne(10, 12), k=2)
        assert s.misfit <= 1e-9
        model = s.fold_in(e.rows[~old] - 10, e.cols[~old], e.b[~old])
        np.testing.assert_allclose(whole(model), e.truth, atol=1e-5 * np.abs(e.truth).max())


def test_columns_after_rows():
    model = random_model(5, ridge=(0.1, 0.1))
    wider = model.fold_in([0, 0, 1], [1, 2, 3], [1.0, 2.0, 3.0]).fold_in(
        [7, 8, 0], [0, 0, 2], [4.0, 5.0, 6.0], axis=1, count=3
    )
    assert wider.shape == (9, 14)
    X = whole(wider)
    i, j = np.indices(wider.shape)
    np.testing.assert_allclose(wider.predict(i, j), X, atol=1e-12)
    assert wider.top(8, 2)[0].tolist() == by_sorting(wider, 8, 2)[0].tolist()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_new_rows_without_entries_are_predicted_by_biases(axis, nonnegative):
    model = random_model(6, ridge=(0.3, 0.6), nonnegative=nonnegative)
    if nonnegative:
        model = fa.LowRank(np.abs(model.left), np.abs(model.right), model.biases, ridge=model.ridge, nonnegative=True)
    pair = ([2, 2], [1, 3]) if axis == 0 else ([1, 3], [2, 2])
    with pytest.raises(ValueError, match=r"(rows|cols) must count the new ones from 0.*; 2 is there and 0 is not"):
        model.fold_in(*pair, [1.0, 2.0], axis=axis)
    wider = model.fold_in(*pair, [1.0, 2.0], axis=axis, count=3)
    assert wider.shape[axis] == model.shape[axis] + 3
    X = whole(wider) if axis == 0 else whole(wider).T
    other = model.biases.cols if axis == 0 else model.biases.rows
    for i in (0, 1):
        np.testing.assert_allclose(X[model.shape[axis] + i], model.biases.center + other, atol=1e-12)


def test_without_a_ridge_the_shortest_answer():
    """Fewer entries than unknowns leave much open; what they say is met."""
    model = random_model(7, k=3, biases=False)
    wider = model.fold_in([0], [4], [2.0])
    v = model.right[4]
    np.testing.assert_allclose(wider.left[-1], 2.0 * v / (v @ v), atol=1e-9)
    assert wider.predict(7, 4) == pytest.approx(2.0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["nonnegative", "nonnegative, biases"])
def test_new_factors_are_nonnegative_where_the_old_ones_are(name, axis):
    e, s = fitted(name)
    rng = np.random.default_rng(8)
    new, other = np.nonzero(rng.random((5, e.shape[1 - axis])) < 0.7)
    values = rng.standard_normal(new.size) * np.abs(e.b).max()
    model = s.fold_in(*((new, other) if axis == 0 else (other, new)), values, axis=axis)
    added = (model.left if axis == 0 else model.right)[e.shape[axis] :]
    assert model.nonnegative
    assert added.min() >= 0
    free = fa.LowRank(s.left, s.right, s.biases, ridge=s.ridge)
    free = free.fold_in(*((new, other) if axis == 0 else (other, new)), values, axis=axis)
    assert (free.left if axis == 0 else free.right)[e.shape[axis] :].min() < 0


# Files (whatever else is written and read: test_files.py) -------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("file", ["model.npz", "model", "model.fewatoms"])
def test_what_is_written_is_read(name, file, tmp_path):
    e, s = fitted(name)
    for path in (tmp_path / file, str(tmp_path / file)):
        s.model.save(path)
        assert [p.name for p in tmp_path.iterdir()] == [file]
        model = fa.load(path)
        np.testing.assert_array_equal(model.left, s.model.left)
        np.testing.assert_array_equal(model.right, s.model.right)
        i, j = np.indices(e.shape)
        np.testing.assert_array_equal(model.predict(i, j), s.model.predict(i, j))
        assert (model.ridge, model.nonnegative) == (s.model.ridge, s.model.nonnegative)
        assert (model.biases is None) == (s.biases is None)
        more = model.fold_in([0, 0], [1, 2], [1.0, 2.0])
        np.testing.assert_array_equal(more.left, s.fold_in([0, 0], [1, 2], [1.0, 2.0]).left)


def test_a_second_save_replaces_the_first(tmp_path):
    file = tmp_path / "model"
    random_model(0, p=50, q=40).save(file)
    random_model(1, p=3, q=4, biases=False).save(file)
    assert fa.load(file).shape == (3, 4)
    assert fa.load(file).biases is None


def test_the_old_way_to_load_says_the_new_one(tmp_path):
    random_model(0).save(tmp_path / "model")
    with pytest.raises((TypeError, AttributeError), match=r"spelled fewatoms.load"):
        fa.LowRank.load(tmp_path / "model")


# Size -----------------------------------------------------------------------------------------------------------------


def test_large_models_stay_in_factors(tmp_path):
    """200,000 x 100,000 entries would be 160 GB."""
    p, q = 200_000, 100_000
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((p, 2)), rng.standard_normal((q, 2))
    beside = FittedBiases(1.0, rng.standard_normal(p), rng.standard_normal(q))
    tracemalloc.start()
    try:
        model = fa.LowRank(left, right, beside, ridge=(0.1, 0.1))
        rows, cols = rng.integers(0, p, 5000), rng.integers(0, q, 5000)
        expected = np.einsum("ij,ij->i", left[rows], right[cols]) + 1.0 + beside.rows[rows] + beside.cols[cols]
        np.testing.assert_allclose(model.predict(rows, cols), expected, atol=1e-12)
        row = right @ left[7] + 1.0 + beside.rows[7] + beside.cols
        best, values = model.top(7, 5, exclude=np.arange(0, q, 2))
        np.testing.assert_array_equal(best, 1 + 2 * np.argsort(-row[1::2])[:5])
        np.testing.assert_allclose(values, row[best], atol=1e-12)
        wider = model.fold_in([0, 0, 1], [5, 99_999, 7], [1.0, 2.0, 3.0])
        assert wider.shape == (p + 2, q)
        wider.save(tmp_path / "large")
        assert fa.load(tmp_path / "large").predict(p, 5) == wider.predict(p, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000


# Bad input ------------------------------------------------------------------------------------------------------------

MODEL = random_model(0, ridge=(0.1, 0.1))

BAD = [
    (lambda m: m.predict([0, 7], [0, 0]), ValueError, r"^rows must lie between 0 and 6; got 7$"),
    (lambda m: m.predict([0], [11]), ValueError, r"^cols must lie between 0 and 10; got 11$"),
    (lambda m: m.predict([-1], [0]), ValueError, r"^rows must lie between 0 and 6; got -1$"),
    (lambda m: m.predict([0.5], [0]), TypeError, r"^rows must hold integers; got an array of float64$"),
    (lambda m: m.predict([0], [True]), TypeError, r"^cols must hold integers; got an array of bool$"),
    (lambda m: m.predict([0, 1], [0, 1, 2]), ValueError, r"rows.*cols.*\(2,\).*\(3,\)"),
    (lambda m: m.top(7), ValueError, r"^row must be an integer between 0 and 6; got 7$"),
    (lambda m: m.top(-1), ValueError, r"^row must be an integer between 0 and 6; got -1$"),
    (lambda m: m.top(1.0), TypeError, r"^row must be an integer between 0 and 6; got 1.0$"),
    (lambda m: m.top([1, 2]), TypeError, r"^row must be an integer between 0 and 6; got \[1, 2\]$"),
    (lambda m: m.top(0, 0), ValueError, r"^n must be an integer of at least 1; got 0$"),
    (lambda m: m.top(0, 2.5), TypeError, r"^n must be an integer of at least 1; got 2.5$"),
    (lambda m: m.top(0, exclude=[11]), ValueError, r"^exclude must lie between 0 and 10; got 11$"),
    (lambda m: m.top(0, exclude=["a"]), TypeError, r"^exclude must hold integers; got an array of <U1$"),
    (lambda m: m.fold_in([0, 0], [0, 1], [1.0]), ValueError, r"^values must have 2 entries .*; got shape \(1,\)$"),
    (lambda m: m.fold_in([0, 0], [0, 1, 2], [1.0, 2]), ValueError, r"^rows and cols must have shapes that go together"),
    (lambda m: m.fold_in([3], [1], [1.0], count=3), ValueError, r"^rows must lie between 0 and count - 1 = 2; got 3$"),
    (lambda m: m.fold_in([0], [1], [1.0], count=0), ValueError, r"^count must be an integer of at least 1; got 0$"),
    (lambda m: fa.LowRank(m.left, m.right, ridge=0.1), TypeError, r"^ridge must be a pair of numbers.*; got 0.1$"),
    (lambda m: fa.LowRank(m.left, m.right, ridge=(0, -1)), ValueError, r"^ridge\[1\] must be a nonnegative"),
    (lambda m: fa.LowRank(m.left, m.right, 3.0), TypeError, r"^biases must be FittedBiases.*; got 3.0$"),
    (
        lambda m: fa.LowRank(m.left[:3], m.right, m.biases),
        ValueError,
        r"^biases must have one number per row and column, \(3, 11\); got shapes \(7,\) and \(11,\)$",
    ),
    (lambda m: m.fold_in([], [], []), ValueError, r"^rows and cols must name at least one entry; got none$"),
    (lambda m: m.fold_in([0, 0], [1, 1], [1.0, 2]), ValueError, r"^rows and cols must name each entry once; 1 repeat"),
    (lambda m: m.fold_in([0], [11], [1.0]), ValueError, r"^cols must lie between 0 and 10; got 11$"),
    (lambda m: m.fold_in([7], [0], [1.0], axis=1), ValueError, r"^rows must lie between 0 and 6; got 7$"),
    (lambda m: m.fold_in([-1], [1], [1.0]), ValueError, r"^rows must .*; got -1$"),
    (lambda m: m.fold_in([0.0], [1], [1.0]), TypeError, r"^rows must hold integers; got an array of float64$"),
    (lambda m: m.fold_in([0], [1], [np.nan]), ValueError, r"^values must hold finite numbers only; it contains nan$"),
    (lambda m: m.fold_in([0], [1], ["a"]), TypeError, r"^values must hold real numbers; got an array of <U1$"),
    (lambda m: m.fold_in([0], [1], [1.0], axis=2), ValueError, r"^axis must be 0 .* or 1 .*; got 2$"),
    (lambda m: m.fold_in([0], [1], [1.0], weights=[0.0]), ValueError, r"^weights must be positive; got 0.0$"),
    (lambda m: m.fold_in([0], [1], [1.0], weights=[1.0, 2]), ValueError, r"^weights must have 1 entries .*; got shape"),
    (lambda m: m.fold_in([0], [1], [1.0], ridge=-1), ValueError, r"^ridge must be a nonnegative .*; got -1$"),
    (lambda m: m.fold_in([0], [1], [1.0], ridge="x"), TypeError, r"^ridge must be a nonnegative .*; got 'x'$"),
    (
        lambda m: fa.LowRank(m.left, m.right[:, :1]),
        ValueError,
        r"^left and right must .*; got shapes \(7, 2\), \(11, 1\)",
    ),
    (lambda m: fa.LowRank([1.0, 2.0], [1.0]), ValueError, r"^left and right must .*; got shapes \(2,\), \(1,\)$"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD, ids=range(len(BAD)))
def test_bad_arguments(call, kind, message):
    with pytest.raises(kind, match=message):
        call(MODEL)


@pytest.mark.parametrize("call", [0, 1, 2])
def test_only_low_rank_matrices_have_a_model(call):
    s = fa.fit(np.eye(3), [1.0, 2.0, 3.0], atoms=fa.SignedOneHot(3), k=1)
    ways = [lambda: s.model, lambda: s.top(0), lambda: s.fold_in([0], [0], [1.0])]
    with pytest.raises(AttributeError, match="there is no low-rank model"):
        ways[call]()


def test_matrices_measured_otherwise_have_one_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 2)) @ rng.standard_normal((4, 2)).T
    s = fa.fit(fa.Identity((5, 4)), X, atoms=fa.RankOne(5, 4), k=2, misfit=1e-9)
    i, j = np.indices((5, 4))
    np.testing.assert_allclose(s.model.predict(i, j), X, atol=1e-6)
    assert s.model.ridge == (0.0, 0.0)
    assert s.biases is None


def test_one_new_row_needs_one_index():
    model = random_model(3, ridge=(0.1, 0.1))
    short, long = (model.fold_in(row, [1, 4], [1.0, 2.0]) for row in (0, [0, 0]))
    np.testing.assert_array_equal(short.left, long.left)
    assert short.shape == (8, 11)


def test_columns_to_leave_out_may_be_a_mask():
    mask = np.zeros(11, dtype=bool)
    mask[[2, 5, 7]] = True
    for a, b in zip(MODEL.top(1, 11, exclude=mask), MODEL.top(1, 11, exclude=[7, 2, 5]), strict=True):
        np.testing.assert_array_equal(a, b)
