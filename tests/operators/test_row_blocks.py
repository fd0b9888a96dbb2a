"""Blocks of rows: the same matrix, wherever it lies, in as few passes as there are demands."""

import os
import pickle
import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import ledger
from fewatoms.capabilities import ColumnBlocks, RowWise
from fewatoms.engines import Serial, Terms, Threads
from fewatoms.operators import Metered, RowBlocks, as_operator, passes, sources

M, N = 57, 9


@pytest.fixture
def whole():
    return np.random.default_rng(1).standard_normal((M, N))


def cut(whole, count=5):
    return np.array_split(whole, count)


def assert_same(operator, whole):
    """Everything that a matrix does."""
    rng = np.random.default_rng(2)
    dense = whole.toarray() if sp.issparse(whole) else np.asarray(whole, dtype=np.float64)
    m, n = dense.shape
    x, y, X, Y = (
        rng.standard_normal(n),
        rng.standard_normal(m),
        rng.standard_normal((n, 3)),
        rng.standard_normal((m, 2)),
    )
    indices, rows = np.array([n - 1, 0, 2]), rng.permutation(m)[: m // 2]
    assert operator.shape == (m, n)
    np.testing.assert_allclose(operator.apply(x), dense @ x, atol=1e-12)
    np.testing.assert_allclose(operator.adjoint(y), dense.T @ y, atol=1e-12)
    np.testing.assert_allclose(operator.apply_block(X), dense @ X, atol=1e-12)
    np.testing.assert_allclose(operator.adjoint_block(Y), dense.T @ Y, atol=1e-12)
    columns = operator.columns(indices)
    np.testing.assert_allclose(columns.toarray() if sp.issparse(columns) else columns, dense[:, indices])
    lengths = operator.column_lengths(np.abs(y))
    np.testing.assert_allclose(lengths, np.sqrt(np.abs(y) @ dense**2), rtol=1e-12)
    np.testing.assert_allclose(operator.subset(rows).apply(x), dense[rows] @ x, atol=1e-12)
    total = operator.over_rows(moments, parts=(y, None))
    np.testing.assert_allclose(total[0], dense.T @ y, atol=1e-12)
    assert total[1] == m


def moments(A, y, nothing):
    assert nothing is None
    return Terms((A.T @ y, A.shape[0]))


@pytest.mark.parametrize("engine", [Serial(), Threads(2), "serial", "threads"])
@pytest.mark.parametrize("kind", ["double", "single", "integers", "sparse", "one row each"])
def test_blocks_are_the_matrix(whole, kind, engine):
    if kind == "single":
        whole = whole.astype(np.float32)
    elif kind == "integers":
        whole = np.round(3 * whole).astype(int)
    elif kind == "sparse":
        whole = sp.csr_array(np.where(np.abs(whole) > 1, whole, 0.0))
    blocks = cut(whole, M if kind == "one row each" else 5) if kind != "sparse" else [whole[:20], whole[20:]]
    assert_same(RowBlocks.of(blocks, engine=engine), whole)
    assert_same(RowBlocks([partial(lambda block: block, block) for block in blocks], engine=engine), whole)


def write_npy(folder, whole):
    np.save(folder / "M.npy", whole)
    return folder / "M.npy"


def write_folder(folder, whole):
    for i, block in enumerate(cut(whole)):
        np.save(folder / f"{i}.npy", block)
    return str(folder)


def write_parquet(folder, whole):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for i, block in enumerate(cut(whole, 3)):
        table = pa.table({f"x{j}": block[:, j] for j in range(N)})
        pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=7)
    return folder


def dask_array(folder, whole):
    return pytest.importorskip("dask.array").from_array(whole, chunks=(11, 4))


def dask_frame(folder, whole):
    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    return dask.from_pandas(pandas.DataFrame(whole, columns=[f"x{j}" for j in range(N)]), npartitions=4)


def delayed(folder, whole):
    dask = pytest.importorskip("dask")
    return [dask.delayed(np.copy)(block) for block in cut(whole)]


def zarr_array(folder, whole):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
    return zarr.array(whole, chunks=(10, N))


SOURCES = [write_npy, write_folder, write_parquet, dask_array, dask_frame, delayed, zarr_array]


@pytest.mark.parametrize("made", SOURCES, ids=lambda made: made.__name__)
def test_sources(tmp_path, whole, made):
    source = made(tmp_path, whole)
    operator = RowBlocks.of(source)
    assert_same(operator, whole)
    names = made in (write_parquet, dask_frame)
    assert operator.names == (tuple(f"x{j}" for j in range(N)) if names else None)
    if made in (dask_array, dask_frame, zarr_array):
        assert isinstance(as_operator(source), RowBlocks)
        b = whole[:, [1, 4]] @ [2.0, -1.0]
        s = fa.fit(source, b, atoms=fa.SignedOneHot(N), k=2, misfit=1e-6)
        assert s.success
        assert sorted(s.indices) == [1, 4]


def test_large_memory_maps_are_worked_with_in_blocks(tmp_path, whole, monkeypatch):
    np.save(tmp_path / "M.npy", whole)
    mapped = np.load(tmp_path / "M.npy", mmap_mode="r")
    assert not isinstance(as_operator(mapped), RowBlocks)
    monkeypatch.setattr("fewatoms.operators.ON_DISK", whole.nbytes)
    operator = as_operator(mapped)
    assert isinstance(operator, RowBlocks)
    assert_same(operator, whole)


def test_passes_are_counted(whole):
    operator = Metered(RowBlocks.of(cut(whole)))
    at_hand, rows = operator.offers(ColumnBlocks), operator.offers(RowWise)
    steps = [
        (lambda: operator.apply(np.ones(N)), 1, 1),
        (lambda: operator.adjoint_block(np.ones((M, 4))), 1, 4),
        (lambda: operator.columns(np.arange(3)), 1, 3),
        (lambda: at_hand.read(np.arange(3)), 1, 0),
        (lambda: at_hand.column_lengths(), 1, 0),
        (lambda: rows.over_rows(moments, parts=(np.ones(M), None)), 1, 0),
        (lambda: operator.subset(np.arange(5)), 1, 0),
    ]
    for step, went, products in steps:
        with ledger.opened() as spent:
            step()
        assert (spent.passes, spent.products) == (went, products)


def test_bad_blocks_are_refused(tmp_path, whole):
    with pytest.raises(ValueError, match="equally many columns; got 9 in block 0, 8 in block 1"):
        RowBlocks.of([whole, whole[:, :8]])
    with pytest.raises(ValueError, match="loaders must hold at least one"):
        RowBlocks([])
    with pytest.raises(TypeError, match="must hold real numbers"):
        RowBlocks([lambda: np.array([["a"]])])
    with pytest.raises((TypeError, ValueError), match="real"):
        RowBlocks([lambda: 1j * whole])
    with pytest.raises(ValueError, match=r"2 axes.*shape \(9,\)"):
        RowBlocks([lambda: whole[0]])
    with pytest.raises(FileNotFoundError, match="no file or folder is called"):
        RowBlocks.of(tmp_path / "nothing.npy")
    with pytest.raises(ValueError, match="source must be an array, a memory map"):
        RowBlocks.of(tmp_path)
    with pytest.raises(TypeError, match=re.escape("source must be an array")):
        RowBlocks.of(3)
    with pytest.raises(ValueError, match="rows must tell a number for each of 1 loaders; got 2"):
        RowBlocks([lambda: whole], [10, 47], N)
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects"):
        RowBlocks.of(tmp_path / "objects.npy")


def test_what_is_not_finite_is_found(whole):
    b = whole[:, 0]
    for bad in (np.nan, np.inf):
        broken = whole.copy()
        broken[30, 3] = bad
        with pytest.raises(ValueError, match="M must"):
            fa.fit(RowBlocks.of(cut(broken)), b, atoms=fa.SignedOneHot(N), k=2)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 3000), (3, 1), (5, 1024), (6, 2049), (57, 9), (7, (1 << 14) + 21)])
def test_compiled_passes_are_what_they_stand_for(monkeypatch, kind, shape):
    rng = np.random.default_rng(0)
    A, x, y = rng.standard_normal(shape).astype(kind), rng.standard_normal(shape[1]), rng.standard_normal(shape[0])
    w = rng.uniform(0.1, 2.0, shape[0])

    def all_of():
        surveys = [passes.surveyed(A, y, weights) for weights in (None, w)]
        return [passes.images(A, x[:, None]), passes.pulled(A, y), *surveys[0], *surveys[1]]

    assert not passes.streamed(A)
    twins = all_of()
    monkeypatch.setattr(passes, "STREAMED", 0)
    assert passes.streamed(A)
    for got, want in zip(all_of(), twins, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    A[0, 0] = np.nan
    assert all(np.isnan(found).any() for found in all_of()[:3])


def test_blocks_are_held_against_what_is_told_of_them(whole):
    loaders = [lambda: whole[:20], lambda: whole[20:]]
    for rows, columns, bad in (([20, 36], N, 1), ([21, 37], N, 0), ([20, 37], N + 1, 0)):
        with pytest.raises(ValueError, match=r"must have the shape .* told of it; got") as caught:
            RowBlocks(loaders, rows, columns, engine="serial").apply(np.ones(columns))
        assert f"block {bad}" in caught.value.__notes__[0]
    times = iter(range(9))
    operator = RowBlocks([lambda: whole[next(times) :]], engine="serial")
    with pytest.raises(ValueError, match=r"shape \(57, 9\) .* got \(56, 9\)"):
        operator.apply(np.ones(N))
    for rows, columns, error in (
        ([-1, 58], N, ValueError), ([20.0, 37], N, TypeError), ([20, 37], 0, ValueError), ([20, 37], "9", TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match="must be an integer of at least"):
            RowBlocks(loaders, rows, columns)
    for bad in (whole, None, [whole]):
        with pytest.raises(TypeError, match="loaders must be a list of functions"):
            RowBlocks(bad)
    with pytest.raises(ValueError, match="2 are masked"):
        RowBlocks([lambda: np.ma.masked_array(whole, whole >= np.sort(whole.ravel())[-2])])


@pytest.mark.parametrize("loss", [None, fa.Huber(1.0)])
@pytest.mark.parametrize("columns", [N, 40])
def test_what_is_not_finite_is_told_by_place(loss, columns):
    A = np.random.default_rng(0).standard_normal((M, columns))
    b = A[:, 0].copy()
    A[30, 3] = np.nan
    with pytest.raises(ValueError, match="finite numbers only") as caught:
        fa.fit(RowBlocks.of(cut(A)), b, atoms=fa.SignedOneHot(columns), k=2, loss=loss)
    if columns == N or loss is None:
        assert "got nan in row 30, column 3" in str(caught.value)


def test_files_are_mapped_once_and_not_pickled(tmp_path, whole, monkeypatch):
    name, opened = write_npy(tmp_path, whole), []
    monkeypatch.setattr(sources, "mapped", lambda name: opened.append(name) or np.load(name, mmap_mode="r"))
    operator = RowBlocks.of(name, engine="serial")
    for _ in range(3):
        operator.apply(np.ones(N))
    assert len(opened) == 1
    kept = pickle.dumps(sources.read(str(name)).loaders[0])
    assert len(kept) < 500 + len(str(name))
    np.testing.assert_array_equal(pickle.loads(kept)(), whole)


def test_a_path_is_a_matrix_in_blocks(tmp_path, whole):
    np.save(tmp_path / "rows.npy", whole)
    b = whole[:, 1] - whole[:, 2]
    s = fa.fit(tmp_path / "rows.npy", b, atoms=fa.SignedOneHot(N), k=2)
    assert sorted(s.indices) == [1, 2]
    assert isinstance(fa.operators.as_operator(tmp_path / "rows.npy"), RowBlocks)
    with pytest.raises(TypeError, match=r"RowBlocks\.of\(name\) for a file; got str"):
        fa.fit(str(tmp_path / "rows.npy"), b, atoms=fa.SignedOneHot(N), k=2)
    with pytest.raises(FileNotFoundError, match="no file or folder is called"):
        fa.fit(tmp_path / "none.npy", b, atoms=fa.SignedOneHot(N), k=2)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_numbers_in_names_of_files_count_as_numbers(tmp_path, whole, kind):
    cuts = np.array_split(whole, 12)
    for i, block in enumerate(cuts):
        if kind == "npy":
            np.save(tmp_path / f"part.{i}.npy", block)
        else:
            pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            table = pa.table({f"c{j}": column for j, column in enumerate(block.T)})
            pq.write_table(table, tmp_path / f"part.{i}.parquet")
    M = RowBlocks.of(tmp_path)
    assert M.apply_block(np.eye(whole.shape[1])) == pytest.approx(whole)


def test_folders_hold_files_of_one_kind(tmp_path, whole):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "a.npy", whole)
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"files of one kind; .* has a\.npy and b\.parquet"):
        RowBlocks.of(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"'.*empty' has no \.npy or \.parquet files in it"):
        RowBlocks.of(tmp_path / "empty")


@pytest.mark.parametrize("again", [lambda whole: whole[:2], lambda whole: whole + 1])
def test_a_file_that_is_written_again_is_refused(tmp_path, whole, again):
    np.save(tmp_path / "M.npy", whole)
    M = RowBlocks.of(tmp_path / "M.npy")
    M.apply(np.ones(whole.shape[1]))
    np.save(tmp_path / "M.npy", again(whole))
    os.utime(tmp_path / "M.npy", ns=(0, 0))  # clocks of file systems are coarse
    with pytest.raises(ValueError, match=r"M\.npy must stay as it is while it is mapped"):
        M.apply(np.ones(whole.shape[1]))


def test_files_that_are_not_whole_are_named(tmp_path, whole):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "M.npy", whole)
    with open(tmp_path / "M.npy", "r+b") as stream:
        stream.truncate(200)
    with pytest.raises(ValueError, match=r"M\.npy must be a \.npy file of numbers, all of it"):
        RowBlocks.of(tmp_path / "M.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"objects\.npy must be a \.npy file of numbers"):
        RowBlocks.of(tmp_path / "objects.npy")
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.parquet")
    with open(tmp_path / "t.parquet", "r+b") as stream:
        stream.truncate(50)
    with pytest.raises(ValueError, match=r"t\.parquet must be a Parquet file, all of it"):
        RowBlocks.of(tmp_path / "t.parquet")


def test_arrays_of_objects_of_dask_are_refused(whole):
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="source must be a Dask array of real numbers; got one of object"):
        RowBlocks.of(da.from_array(whole.astype(object), chunks=whole.shape))


@pytest.mark.parametrize("told", [False, True])
def test_frames_of_loaders_have_their_columns_in_one_order(told):
    """Columns in another order would be taken for others."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    whole, b = pandas.DataFrame(rng.standard_normal((40, 3)), columns=["u", "v", "w"]), rng.standard_normal(40)
    words = {"rows": [20, 20], "columns": 3} if told else {}
    atoms = fa.SignedOneHot(3)
    turned = [lambda: whole[:20], lambda: whole[20:][["v", "u", "w"]]]
    with pytest.raises(ValueError, match=r"same columns in the same order; got '[uv]' and '[uv]'"):
        fa.fit(fa.RowBlocks(turned, engine="serial", **words), b, atoms=atoms, k=1)
    M = fa.RowBlocks([lambda: whole[:20], lambda: whole[20:]], engine="serial", **words)
    alone = fa.fit(whole.to_numpy(), b, atoms=atoms, k=1)
    assert fa.fit(M, b, atoms=atoms, k=1).loss == pytest.approx(alone.loss, rel=1e-12)
