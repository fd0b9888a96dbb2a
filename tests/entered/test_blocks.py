"""Entries in blocks: the answers of entries in memory, whoever works on them, and nothing left behind."""

import errno
import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.doors import posed
from fewatoms.engines import engine_of
from fewatoms.entered import stored
from fewatoms.io import read_entries, spilled
from fewatoms.io.refused import Refused
from fewatoms.methods.lowrank import Completion, HeldOut
from fewatoms.operators import by_lines

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'fewatoms[parquet]'")
parquet = pytest.importorskip("pyarrow.parquet")

P, Q = 40, 30


def planted(seed=0, p=P, q=Q, k=2, share=0.4, noise=0.1):
    """Rows, columns and values of a matrix of low rank, in order."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((p, k))) @ rng.standard_normal((k, q)) + rng.standard_normal(q)
    seen = rng.random((p, q)) < share
    seen[np.arange(p), np.arange(p) % q] = True
    rows, cols = np.nonzero(seen)
    return rows, cols, X[rows, cols] + noise * rng.standard_normal(rows.size)


def written(folder, rows, cols, values, files=3, seed=1):
    """Files of entries in any order; ids are text and multiples of three."""
    order = np.random.default_rng(seed).permutation(rows.size)
    for i, some in enumerate(np.array_split(order, files)):
        table = pa.table({
            "who": [f"u{r:04d}" for r in rows[some]], "what": 3 * cols[some], "how": values[some],
        })  # fmt: skip
        parquet.write_table(table, folder / f"part-{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewatoms[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=60, protocol="tcp://"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Entries in memory and in files."""
    rows, cols, values = planted()
    folder = written(tmp_path_factory.mktemp("small"), rows, cols, values)
    return fa.Sampling(rows, cols, (P, Q)), values, folder


WAYS = {
    "no ridge": {},
    "ridge": {"ridge": 0.5},
    "biases": {"ridge": 0.5, "free": "biases"},
    "nonnegative": {"ridge": 0.1, "nonnegative": True},
    "auto": {"ridge": "auto"},
    "auto, biases": {"free": "biases"},
    "bound": {"misfit": 0.1, "k": None},
    "sign": {"ridge": 0.5, "scale": -2.0},
}


def fitted(M, b, k=2, nonnegative=False, scale=1.0, **words):
    return fa.fit(M, b, atoms=scale * fa.RankOne(*M.model_shape, nonnegative=nonnegative), k=k, **words)


def assert_same(one, other):
    np.testing.assert_allclose(one.x, other.x, rtol=1e-8, atol=1e-8)
    assert one.loss == pytest.approx(other.loss, rel=1e-8)
    assert one.misfit == pytest.approx(other.misfit, rel=1e-8)
    np.testing.assert_allclose(one.ridge, other.ridge, rtol=1e-8)
    assert one.status is other.status
    if other.biases is not None:
        np.testing.assert_allclose(one.biases.rows, other.biases.rows, atol=1e-7)
        assert one.biases.center == pytest.approx(other.biases.center, rel=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("way", "engine"), [*((way, "serial") for way in WAYS), ("biases", "threads")])
def test_the_answer_is_that_of_entries_in_memory(small, way, engine):
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine=engine, entries=150)
    assert len(M._orders[0].placed) > 2
    assert (M.matrix_shape, M.shape) == (S.matrix_shape, S.shape)
    assert_same(fitted(M, b, **WAYS[way]), fitted(S, values, **WAYS[way]))


@pytest.mark.parametrize("way", ["biases", pytest.param("auto", marks=pytest.mark.soak)])
def test_the_workers_of_a_cluster_give_it_too(small, way, client):
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine=client, entries=500)
    assert_same(fitted(M, b, **WAYS[way]), fitted(S, values, **WAYS[way]))


def test_entries_in_blocks_ask_for_no_memory(small):
    """Those in arrays do, before a fit begins."""
    S, values, folder = small
    for (M, b), asks in ((fa.EntryBlocks.of(folder, engine="serial"), False), ((S, values), True)):
        problem, _ = posed(M, b, 2, atoms=fa.RankOne(P, Q), ridge=0.5, free="biases")
        needs = Completion().open(problem, [problem.budget]).needs()
        assert needs["factors"] > 0
        assert all((needs[what] > 0) == asks for what in needs if what != "factors")


@pytest.mark.parametrize("entries", [1, 40, 10**6])
def test_blocks_of_any_size(small, entries):
    """One line each, whatever it holds; several; all of them."""
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine="serial", entries=entries)
    assert len(M._orders[0].placed) == {1: P, 40: len(M._orders[0].placed), 10**6: 1}[entries]
    assert_same(fitted(M, b, ridge=0.5), fitted(S, values, ridge=0.5))


def test_many_entries_are_held_out_by_lot(tmp_path):
    """The same ones in memory, in whatever order, and in blocks, which lie on disk until nobody holds them."""
    words = {"ridge": "auto", "method": Completion(held_out=HeldOut(many=200))}
    rows, cols, values = planted(3, share=0.5)
    M, b = fa.EntryBlocks.of(written(tmp_path, rows, cols, values), engine="serial", entries=200)
    order = np.random.default_rng(2).permutation(values.size)
    shuffled = fa.Sampling(rows[order], cols[order], (P, Q))
    found = fitted(M, b, **words)
    assert_same(found, fitted(fa.Sampling(rows, cols, (P, Q)), values, **words))
    assert_same(found, fitted(shuffled, values[order], **words))
    assert found.ridge != pytest.approx(fitted(M, b, ridge="auto").ridge, rel=1e-6)  # other entries than without lots
    gc.collect()
    assert not [path for path in M.folder.iterdir() if path.is_dir()]


@pytest.mark.parametrize("duplicates", ["mean", "sum", "last"])
def test_places_that_come_more_than_once(tmp_path, duplicates):
    """In one file or in several: as the reader of entries in memory has it."""
    rows, cols, values = planted(5)
    again = np.concatenate([np.arange(rows.size), [3, 3, 300, 8], np.arange(90, 120)])
    values = values[again] + 0.01 * np.arange(again.size)
    folder = written(tmp_path, rows[again], cols[again], values, files=4)
    whole = tmp_path / "whole.pq"
    parquet.write_table(pa.concat_tables([parquet.read_table(folder / f"part-{i}.parquet") for i in range(4)]), whole)
    here = read_entries(whole, duplicates=duplicates)
    M, b = fa.EntryBlocks.of(
        [folder / f"part-{i}.parquet" for i in range(4)], duplicates=duplicates, engine="serial", entries=100
    )
    assert M.shape[0] == here.values.size == rows.size
    S = fa.Sampling(here.rows, here.cols, here.shape)
    assert_same(fitted(M, b, ridge=0.5), fitted(S, here.values, ridge=0.5))
    with pytest.raises(Refused, match=r"each place once; 34 entries repeat one, such as row u00"):
        fa.EntryBlocks.of(whole, engine="serial")


IDS = {
    "text": lambda i: [f"id {n}" for n in i],
    "numbers": lambda i: [int(7 * n - 40) for n in i],
    "large": lambda i: [int(2**60 + n) for n in i],
    "dates": lambda i: pa.array((1000 + np.asarray(i)).astype("datetime64[D]")),
    "dictionary": lambda i: pa.array([f"x{n % 100}{n}" for n in i]).dictionary_encode(),
    "numbers as text": lambda i: [f"{n:03d}" for n in i],
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_any_type_are_numbered_alike(tmp_path, kind):
    rows, cols, values = planted(6, 20, 15)
    table = pa.table({"a": IDS[kind](rows.tolist()), "b": IDS[kind](cols.tolist()), "v": values})
    parquet.write_table(table, tmp_path / "x.parquet")
    here = read_entries(tmp_path / "x.parquet")
    M, b = fa.EntryBlocks.of(tmp_path / "x.parquet", engine="serial", entries=50)
    np.testing.assert_array_equal(M.row_ids, here.row_ids)
    np.testing.assert_array_equal(M.col_ids, here.col_ids)
    counts = np.bincount(here.rows, minlength=here.shape[0])
    np.testing.assert_array_equal(M.counts[0], counts)
    assert b.mean() == pytest.approx(here.values.mean(), rel=1e-12)


def test_values_in_single_precision_take_less_room(tmp_path):
    rows, cols, values = planted(7)
    for name, v in (("fine", values), ("rough", np.round(2 * values) / 2)):
        (tmp_path / name).mkdir()
        M, _ = fa.EntryBlocks.of(written(tmp_path / name, rows, cols, v), engine="serial")
        (kind,) = set(M._orders[0].placed.map(lambda block: block.values.dtype))
        assert kind == (np.float64 if name == "fine" else np.float32)


def test_text_and_feather_are_read_too(tmp_path):
    rows, cols, values = planted(8)
    text = "who,what,how\n" + "".join(f"u{r},{c},{v!r}\n" for r, c, v in zip(rows, cols, values.tolist(), strict=True))
    (tmp_path / "x.csv").write_text(text)
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(
        pa.table({"who": [f"u{r}" for r in rows], "what": cols, "how": values}), tmp_path / "x.feather"
    )
    here = read_entries(tmp_path / "x.csv")
    for name in ("x.csv", "x.feather"):
        M, b = fa.EntryBlocks.of(tmp_path / name, engine="serial")
        np.testing.assert_array_equal(M.row_ids, here.row_ids)
        assert b @ b == pytest.approx(float(here.values @ here.values), rel=1e-12)


# Vectors that are not formed ------------------------------------------------------------------------------------------


def test_vectors_are_what_they_stand_for(small):
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine="serial", entries=150)
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((P, 3)), rng.standard_normal((Q, 3))
    pairs = [
        (b, values), (M.sampled(U, V), S.sampled(U, V)), (b - M.sampled(U, V), values - S.sampled(U, V)),
        (3.0 - 2.0 * (b / 4.0 + M.sampled(U, V)) - b, 3.0 - 2.0 * (values / 4.0 + S.sampled(U, V)) - values),
        (-b + 1.5, -values + 1.5), (M.nothing(), np.zeros(values.size)),
    ]  # fmt: skip
    mine, arrays = by_lines(M), by_lines(S)
    X = rng.standard_normal((Q, 2))
    for one, twin in pairs:
        assert one.shape == twin.shape
        assert one.any() == twin.any()
        assert one.mean() == pytest.approx(twin.mean(), abs=1e-12)
        np.testing.assert_allclose(mine.sums(one), arrays.sums(twin), atol=1e-11)
        np.testing.assert_allclose(mine.sums(abs(one)), arrays.sums(abs(twin)), atol=1e-11)
        z, Z = M.adjoint(one), S.adjoint(twin).toarray()
        np.testing.assert_allclose(z @ X, Z @ X, atol=1e-11)
        np.testing.assert_allclose(z.T @ (U[:, 0]), Z.T @ U[:, 0], atol=1e-11)
        for other, its in pairs:
            assert one @ other == pytest.approx(float(twin @ its), rel=1e-10, abs=1e-9)
            assert M.bound_of_sizes(one, other) >= (1 - 1e-12) * float(np.abs(twin * its).sum())


def test_certificates_are_had_by_blocks(small):
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine="serial", entries=300)
    for way in ("ridge", "biases"):
        one, other = fitted(M, b, **WAYS[way]), fitted(S, values, **WAYS[way])
        for figure in ("gap", "dual", "primal", "epsilon"):
            mine, theirs = (getattr(s.certificate, figure) for s in (one, other))
            assert mine == pytest.approx(theirs, rel=1e-5), figure


def test_answers_outlive_their_entries(small, tmp_path):
    _, _, folder = small
    M, b = fa.EntryBlocks.of(folder, engine="serial", entries=300)
    s = fitted(M, b, ridge=0.5)
    again = pickle.loads(pickle.dumps(s))
    with pytest.raises(ValueError, match="attach"):
        _ = again.certificate.y
    other, data = fa.EntryBlocks.of(folder, engine="serial", entries=70)
    back = again.attach(other, data)
    assert back.certificate.loss == pytest.approx(s.loss, rel=1e-10)
    rows, cols, values = planted(1)
    strange, b = fa.EntryBlocks.of(written(tmp_path, rows, cols, values), engine="serial")
    with pytest.raises(ValueError, match="must be the one that this answer was fitted to"):
        again.attach(strange, b)


# What goes wrong ------------------------------------------------------------------------------------------------------


def test_what_blocks_are_not_for(small):
    _, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine="serial")
    atoms = fa.RankOne(P, Q)
    with pytest.raises(TypeError, match="b must be the data that came with M"):
        fa.fit(M, values, atoms=atoms, k=2)
    with pytest.raises(TypeError, match="without weights"):
        fa.fit(M, b, atoms=atoms, k=2, loss=fa.LeastSquares(np.ones(values.size)))
    with pytest.raises(TypeError, match=r"^loss must be LeastSquares\(\) where data stay in blocks.*; got Huber"):
        fa.fit(M, b, atoms=atoms, k=2, loss=fa.Huber(1.0))
    with pytest.raises(ValueError, match="residuals and y as arrays"):
        fa.fit(M, b, atoms=atoms, k=2, method=fa.Paper(), misfit=0.1)
    with pytest.raises(TypeError, match="some of the data alone"):
        M.subset(np.arange(3))
    with pytest.raises(ValueError, match="duplicates must be one of"):
        fa.EntryBlocks.of(folder, duplicates="first")
    with pytest.raises(ValueError, match="entries must be"):
        fa.EntryBlocks.of(folder, entries=0)


BAD = {
    "a value is missing": ({"v": [1.0, None, 2.0]}, "row 2 has none"),
    "an id is missing": ({"a": ["x", "y", None]}, "row 3 has nothing in column 'a'"),
    "infinity": ({"v": [1.0, np.inf, 2.0]}, "values must be finite numbers; 1 are not"),
    "text for values": ({"v": ["1", "2", "3"]}, "must have numbers in column 'v'"),
    "no rows": ({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64()), "v": pa.array([], pa.float64())},
                "has no entries"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_files_that_cannot_be_used(tmp_path, what):
    changed, told = BAD[what]
    parquet.write_table(
        pa.table({"a": ["x", "y", "z"], "b": [1, 2, 3], "v": [1.0, 2.0, 3.0]} | changed), tmp_path / "x.pq"
    )
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(Refused, match=told):
        fa.EntryBlocks.of(tmp_path / "x.pq", folder=home)
    assert not list(home.iterdir())


def test_files_that_do_not_go_together(tmp_path):
    parquet.write_table(pa.table({"a": ["x"], "b": [1], "v": [1.0]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": [3], "b": [1], "v": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(Refused, match=r"2\.parquet must have ids in column 'a' of the type"):
        fa.EntryBlocks.of(tmp_path)
    parquet.write_table(pa.table({"a": ["x"], "c": [1], "v": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(Refused, match="must have the columns of the files before it, a, b, v; it has a, c, v"):
        fa.EntryBlocks.of(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refused, match="must have files in it that end in"):
        fa.EntryBlocks.of(tmp_path / "empty")


def test_a_full_disk_is_said_and_nothing_is_left(small, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spilled, "_append", full)
    with pytest.raises(Refused, match=r"is full \(No space left on device\)"):
        fa.EntryBlocks.of(small[2], folder=tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    monkeypatch.setattr(stored.Stored, "write", full)
    with pytest.raises(Refused, match="is full"):
        fa.EntryBlocks.of(small[2], folder=tmp_path, engine="serial")
    assert not list(tmp_path.iterdir())


def test_files_of_blocks_go_with_them(small, tmp_path):
    M, b = fa.EntryBlocks.of(small[2], folder=tmp_path)
    assert list(tmp_path.iterdir()) == [M.folder]
    del M, b
    gc.collect()
    assert not list(tmp_path.iterdir())
    with fa.EntryBlocks.of(small[2], folder=tmp_path)[0] as M:
        assert M.folder.exists()
    assert not list(tmp_path.iterdir())


def test_blocks_that_workers_do_not_see(small):
    there = engine_of("serial").place([stored.Place("/nowhere/rows-0", 0).mapped])
    with pytest.raises(FileNotFoundError, match="a folder that all workers see"):
        list(there.map(stored.lengths))


@pytest.mark.parametrize("when", [0.05, pytest.param(0.5, marks=pytest.mark.soak)])
def test_a_worker_that_dies_changes_nothing(small, client, when):
    S, values, folder = small
    M, b = fa.EntryBlocks.of(folder, engine=client, entries=500)
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(when, os.kill, (victim, signal.SIGKILL))
    timer.start()
    assert_same(fitted(M, b, ridge=0.5), fitted(S, values, ridge=0.5))
    timer.join()
    time.sleep(0.5)  # until its death is noticed: nobody asks a dead worker anything
    client.wait_for_workers(2, timeout=30)


@pytest.mark.parametrize("when", [0.0, pytest.param(0.1, marks=pytest.mark.soak)])
def test_a_worker_that_dies_while_blocks_are_made(small, client, when):
    S, values, folder = small
    client.wait_for_workers(2, timeout=30)
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(when, os.kill, (victim, signal.SIGKILL))
    timer.start()
    M, b = fa.EntryBlocks.of(folder, engine=client, entries=100)
    assert_same(fitted(M, b, ridge=0.5), fitted(S, values, ridge=0.5))
    timer.join()
    assert not [name for name in os.listdir(M.folder) if not name.endswith(".npy")]
    time.sleep(0.5)
    client.wait_for_workers(2, timeout=30)


def test_a_block_is_built_again_as_it_was(tmp_path):
    """By somebody else, if who built it died before it was told."""
    records = np.zeros(50, dtype=spilled.record("<f8"))
    rng = np.random.default_rng(0)
    places = rng.choice(200, 50, replace=False)
    records["line"], records["other"], records["value"] = places // 20, places % 20, rng.standard_normal(50)
    records.tofile(tmp_path / "bucket")
    place = stored.Place(str(tmp_path / "block"), 0)
    told = [stored.build(str(tmp_path / "bucket"), place, (10, 20), "<f8", "error") for _ in range(2)]
    assert told[0].lengths.sum() == told[1].lengths.sum() == 50
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["bucket", *(f"block.{name}.npy" for name in stored.FILED)]
    )
    np.testing.assert_array_equal(np.sort(place.loaded().values), np.sort(records["value"]))


# The estimator --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [2, pytest.param(None, marks=pytest.mark.soak)])
def test_the_estimator_reads_files(small, rank):
    pytest.importorskip("sklearn")
    from fewatoms.estimators import MatrixCompletion

    S, values, folder = small
    rows, cols = S.positions
    pairs = np.array([[f"u{r:04d}", 3 * c] for r, c in zip(rows, cols, strict=True)], dtype=object)
    one = MatrixCompletion(rank, biases=True, engine="serial").fit(folder, user="who", item="what", value="how")
    two = MatrixCompletion(rank, biases=True).fit(pairs, values)
    assert one.rank_ == two.rank_
    np.testing.assert_allclose(one.predict(pairs[:50]), two.predict(pairs[:50]), atol=1e-8)
    assert (one.mean_, one.row_ids_.tolist()) == (pytest.approx(two.mean_), two.row_ids_.tolist())
    users = two.row_ids_[[3, 1, 39]]
    np.testing.assert_array_equal(one.recommend(users, 4)[0], two.recommend(users, 4)[0])
    new = np.array([["new", 3], ["new", 9], ["new", 30]], dtype=object)
    for model in (one, two):
        model.fold_in(new, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(one.recommend(["new", *users], 4)[0], two.recommend(["new", *users], 4)[0])
    again = pickle.loads(pickle.dumps(one))
    with pytest.raises(ValueError, match="exclude_seen must be False"):
        again.recommend(users, 4)
    assert again.recommend(users, 4, exclude_seen=False)[0].shape == (3, 4)
    with pytest.raises(ValueError, match="engine must be None"):
        MatrixCompletion(engine="serial").fit(pairs, values)
    with pytest.raises(ValueError, match="y must be left out"):
        MatrixCompletion().fit(folder, values)
