"""A run that was killed goes on, and ends with the answer that it would have come to by itself."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import checkpoints, files, ledger
from fewatoms.callbacks import Checkpoint, Deadline
from fewatoms.checkpoints import read
from fewatoms.methods.listed.many import ManyAtoms
from fewatoms.ranks import best_rank
from killed import After, Killed, counted, gone_on_with, resume


@pytest.fixture(autouse=True)
def _every_tick(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)


def assert_same(found, expected):
    assert found.loss == pytest.approx(expected.loss, rel=1e-8, abs=1e-22)
    scale = max(1.0, float(np.abs(expected.x).max(initial=0.0)))
    np.testing.assert_allclose(found.x, expected.x, rtol=0, atol=1e-6 * scale)
    assert (found.status, found.cardinality, found.success) == (
        expected.status,
        expected.cardinality,
        expected.success,
    )
    for mine, theirs in zip(found.parts, expected.parts, strict=True):
        assert mine.cardinality == theirs.cardinality


# Families ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_killed_anywhere_a_fit_ends_as_by_itself(name, tmp_path):
    case, draw = cases()[name], np.random.default_rng(len(name))
    again = {word: case.words[word] for word in (*case.again, "method") if word in case.words}
    expected, calls = counted(lambda clock: case.fit(callback=clock))
    for i in range(2):
        kills = draw.integers(0, max(1, calls), 2).tolist()
        file = tmp_path / f"{i}.ckpt"
        found, _ = gone_on_with(lambda c: case.fit(callback=c), file, resume(case.M, case.b, **again), kills)
        assert_same(found, expected)
        assert_same(resume(case.M, case.b, **again)(file, None), expected)


def completion(p=40, q=30, rank=2, noise=0.1):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.5)
    return fa.Sampling(rows, cols, X.shape), X[rows, cols] + noise * rng.standard_normal(rows.size)


def regression(m=60, n=100, k=6, noise=1.0):
    rng = np.random.default_rng(2)
    M = rng.standard_normal((m, n))
    return M, M[:, :k].sum(axis=1) + noise * rng.standard_normal(m)


M, B = regression()
ONE = fa.SignedOneHot(100)
S, V = completion()
LOW = fa.RankOne(40, 30)


def several():
    rng = np.random.default_rng(5)
    return M[:, :3] @ rng.standard_normal((3, 12)) + 0.5 * rng.standard_normal((60, 12))


def frames():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)) + 0.1 * rng.standard_normal((40, 30))
    X.flat[rng.choice(X.size, 60, replace=False)] += 5.0
    return X


def black_box():
    rng = np.random.default_rng(4)
    D, w = rng.standard_normal((200, 500)), np.zeros(500)
    w[rng.choice(500, 20, replace=False)] = 3.0 * rng.standard_normal(20)
    return aslinearoperator(D), D @ w + 0.5 * rng.standard_normal(200)


MANY = ManyAtoms(many=20, boxed=10, room=1000)
BOX = fa.SignedOneHot(500)
LONG = {
    "thorough": (M, B, {"atoms": ONE, "k": 8, "effort": "thorough"}),
    "many atoms": (*regression(200, 300, 70, 6.0), {"atoms": fa.SignedOneHot(300), "k": 70}),
    "fewest": (M, B, {"atoms": ONE, "misfit": 0.3}),
    "auto": (M, B, {"atoms": ONE, "k": 4, "ridge": "auto"}),
    "ridges of matrices": (S, V, {"atoms": LOW, "k": 3, "free": "biases"}),
    "scarce entries": (*completion(60, 50, 4, 0.3), {"atoms": fa.RankOne(60, 50), "k": 6}),
    "rank left open": (S, V, {"atoms": LOW, "misfit": 0.1}),
    "frames": (fa.Identity((40, 30)), frames(), {"atoms": LOW + fa.SignedOneHot((40, 30)), "k": (None, None)}),
    "pursuit": (fa.Identity((40, 30)), frames(), {"atoms": LOW | fa.SignedOneHot((40, 30)), "misfit": 0.02}),
    "products alone": (*black_box(), {"atoms": BOX, "k": 25, "method": MANY}),
    "products alone, bound": (*black_box(), {"atoms": BOX, "misfit": 0.3, "method": MANY}),
    "paper": (M, B, {"atoms": ONE, "k": 10, "misfit": 0.4, "method": fa.Paper()}),
    "paper, sum": (
        M, B, {"atoms": ONE + 2.0 * fa.NonnegativeOneHot(100), "k": (6, 3), "misfit": 0.4, "method": fa.Paper()},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_what_was_done_is_not_done_again(name, tmp_path):
    """Killed late, not much is left to do."""
    M, b, words = LONG[name]
    expected, calls = counted(lambda clock: fa.fit(M, b, **words, callback=clock))
    assert calls > 10
    late, again = calls - 2, resume(M, b, method=words.get("method"))
    found, seen = gone_on_with(lambda c: fa.fit(M, b, **words, callback=c), tmp_path / "run.ckpt", again, [late])
    assert_same(found, expected)
    assert seen < 0.75 * calls
    assert (found.products, found.iterations) == (expected.products, expected.iterations)


@pytest.mark.parametrize("name", ["pursuit", "products alone", "products alone, bound", "paper", "paper, sum"])
@pytest.mark.parametrize("share", [0.3, *(pytest.param(s, marks=pytest.mark.soak) for s in (0.1, 0.6))])
def test_loops_without_end_go_on_from_where_they_were(name, share, tmp_path):
    M, b, words = LONG[name]
    expected, calls = counted(lambda clock: fa.fit(M, b, **words, callback=clock))
    again, kills = resume(M, b, method=words.get("method")), [int(share * calls), calls // 5]
    found, _ = gone_on_with(lambda c: fa.fit(M, b, **words, callback=c), tmp_path / "run.ckpt", again, kills)
    assert_same(found, expected)
    assert found.products == expected.products


@pytest.mark.soak
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_large_pursuit_goes_on_with_its_subspaces(share, tmp_path):
    """Long sides, single precision at first."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1050, 3)) @ rng.standard_normal((3, 1010))
    X.flat[rng.choice(X.size, 50_000, replace=False)] += 5.0
    M, words = fa.Identity(X.shape), {"atoms": fa.RankOne(*X.shape) | fa.SignedOneHot(X.shape)}
    expected, calls = counted(lambda clock: fa.fit(M, X, **words, callback=clock))
    kills = [int(share * calls), calls // 5]
    found, seen = gone_on_with(lambda c: fa.fit(M, X, **words, callback=c), tmp_path / "run.ckpt", resume(M, X), kills)
    assert_same(found, expected)
    assert seen < calls


# Doors ---------------------------------------------------------------------------------------------------------------


def assert_same_path(found, expected):
    assert (found.k, found.ridges) == (expected.k, expected.ridges)
    for ridge in expected.ridges:
        for k in expected.k:
            assert_same(found.at(ridge)[k], expected.at(ridge)[k])


PATHS = {
    "sizes": (M, B, {"atoms": ONE, "k": range(1, 7)}),
    "ridges": (M, B, {"atoms": ONE, "k": [2, 4, 6], "ridge": "auto"}),
    "given ridges": (M, B, {"atoms": ONE, "k": [2, 4], "ridge": [0.3, 0.0, 1.0]}),
    "ranks": (S, V, {"atoms": LOW, "k": [1, 2, 4], "free": "biases"}),
    "huber": (M, B, {"atoms": ONE, "k": [2, 4], "loss": fa.Huber(1.0)}),
}


@pytest.mark.parametrize("name", PATHS)
def test_paths(name, tmp_path):
    M, b, words = PATHS[name]
    expected, calls = counted(lambda clock: fa.fit_path(M, b, **words, callback=clock))
    for i, share in enumerate((0.3, 0.9)):
        found, seen = gone_on_with(
            lambda c: fa.fit_path(M, b, **words, callback=c),
            tmp_path / f"{i}.ckpt",
            resume(M, b),
            [int(share * calls), 1],
        )
        assert_same_path(found, expected)
    assert seen < calls
    assert found.choose_k() == expected.choose_k()


@pytest.mark.parametrize("how", [{}, {"loss": fa.Huber(1.0)}, {"misfit": 0.3}])
def test_many_data_vectors(how, tmp_path, monkeypatch):
    monkeypatch.setattr("fewatoms.methods.listed.columns.LARGEST_BLOCK", 3)
    data = several()
    words = {"atoms": ONE, "k": None if "misfit" in how else 3, **how}
    expected, calls = counted(lambda clock: fa.fit_many(M, data, **words, callback=clock))
    found, _ = gone_on_with(
        lambda c: fa.fit_many(M, data, **words, callback=c), tmp_path / "run.ckpt", resume(M, data), [calls // 2, 1]
    )
    np.testing.assert_allclose(found.x, expected.x, atol=1e-7)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-8)
    assert [s.status for s in found] == [s.status for s in expected]
    finished = resume(M, data)(tmp_path / "run.ckpt", None)
    np.testing.assert_array_equal(finished.x, found.x)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"ridge": [0.0, 0.3, 1.0]},
        {"folds": 3, "rule": "1se"},
        {"folds": [np.arange(20), np.arange(20, 60)]},
        {"by": "bic"},
    ],
    ids=["cv", "ridges", "1se", "rows given", "bic"],
)
def test_choosing(how, tmp_path):
    words = {"atoms": ONE, "k": range(1, 7), **how}
    expected, calls = counted(lambda clock: fa.choose_k(M, B, **words, callback=clock))
    for i, share in enumerate((0.2, 0.6, 0.95)):
        found, _ = gone_on_with(
            lambda c: fa.choose_k(M, B, **words, callback=c), tmp_path / f"{i}.ckpt", resume(M, B), [int(share * calls)]
        )
        assert found == expected
    assert resume(M, B)(tmp_path / "0.ckpt", None) == expected


@pytest.mark.parametrize("how", [{}, {"by": "held-out", "rng": 3}, {"rng": np.random.default_rng(7)}])
def test_choosing_on_a_path_that_is_there(how, tmp_path):
    path = fa.fit_path(M, B, atoms=ONE, k=range(1, 7))
    state = None if not isinstance(how.get("rng"), np.random.Generator) else how["rng"].bit_generator.state
    expected, calls = counted(lambda clock: path.choose_k(**how, callback=clock))
    if state is not None:
        how["rng"].bit_generator.state = state
    found, _ = gone_on_with(
        lambda c: path.choose_k(**how, callback=c), tmp_path / "run.ckpt", resume(M, B), [calls // 2, 1]
    )
    assert found == expected


def test_a_path_takes_its_choice_up_again(tmp_path):
    """The same call on the path, with a checkpoint that is there."""
    path, other = (fa.fit_path(M, B, atoms=ONE, k=range(1, 7)) for _ in range(2))
    path.choose_k(callback=Checkpoint(tmp_path / "run.ckpt"))
    clock = After(0)
    assert other.choose_k(callback=[Checkpoint(tmp_path / "run.ckpt", go_on=True), clock]) == path.chosen
    assert (clock.seen, other.chosen_by, other.folds) == (0, "cv", (5, 5))
    np.testing.assert_array_equal(other.scores["cv"], path.scores["cv"])
    assert_same(other.best, path.best)


def test_the_best_rank(tmp_path):
    words = {"atoms": LOW, "ridge": "auto"}
    expected, calls = counted(lambda clock: best_rank(S, V, [1, 2, 3, 5], **words, callback=clock))
    for i, share in enumerate((0.3, 0.9)):
        found, _ = gone_on_with(
            lambda c: best_rank(S, V, [1, 2, 3, 5], **words, callback=c),
            tmp_path / f"{i}.ckpt",
            resume(S, V),
            [int(share * calls)],
        )
        assert found.scores == pytest.approx(expected.scores, rel=1e-9)
        assert_same(found.best, expected.best)


@pytest.mark.parametrize("rng", [5, np.random.default_rng(3), np.random.Generator(np.random.MT19937(2))])
def test_draws_go_on(rng, tmp_path):
    """Entries that are held out are those of the first run."""
    words = {"atoms": LOW, "k": 2, "ridge": "auto", "rng": rng}
    expected, calls = counted(lambda clock: fa.fit(S, V, **words, callback=clock))
    found, _ = gone_on_with(
        lambda c: fa.fit(S, V, **words, callback=c), tmp_path / "run.ckpt", resume(S, V), [2, calls // 2, calls // 4]
    )
    assert_same(found, expected)
    assert found.held_out == pytest.approx(expected.held_out, rel=1e-9)


def test_an_answer_to_start_from_is_kept(tmp_path):
    start = fa.fit(M, B, atoms=ONE, k=3)
    expected, _ = counted(lambda clock: fa.fit(M, B, atoms=ONE, k=5, start=start, callback=clock))
    found, _ = gone_on_with(
        lambda c: fa.fit(M, B, atoms=ONE, k=5, start=start, callback=c), tmp_path / "run.ckpt", resume(M, B), [2]
    )
    assert_same(found, expected)


# Ends ----------------------------------------------------------------------------------------------------------------


def test_a_run_that_is_over_is_answered_at_once(tmp_path):
    s = fa.fit(M, B, atoms=ONE, k=6, callback=Checkpoint(tmp_path / "run.ckpt"))
    counting, clock = fa.Counting(M), After(0)
    again = fa.resume(tmp_path / "run.ckpt", counting, B, callback=clock)
    assert clock.seen == 0
    assert_same(again, s)
    assert again.certificate.gap >= 0


def test_a_run_that_was_stopped_goes_on(tmp_path):
    words = {"atoms": ONE, "k": 8, "effort": "thorough"}
    stopped = fa.fit(M, B, **words, callback=[Deadline(0.0), Checkpoint(tmp_path / "run.ckpt")])
    assert stopped.status is fa.Status.STOPPED
    assert_same(fa.resume(tmp_path / "run.ckpt", M, B), fa.fit(M, B, **words))


def test_a_path_that_was_stopped_goes_on(tmp_path):
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == 30:
            raise StopIteration

    fa.fit_path(M, B, atoms=ONE, k=range(1, 7), callback=[Checkpoint(tmp_path / "run.ckpt", 0.0), stop])
    assert_same_path(fa.resume(tmp_path / "run.ckpt", M, B), fa.fit_path(M, B, atoms=ONE, k=range(1, 7)))


def test_callbacks_that_ask_for_gaps_are_no_part_of_the_run(tmp_path):
    case = cases()["completion, auto"]
    expected, calls = counted(lambda clock: case.fit(callback=clock))

    def look(progress):
        _ = progress.gap

    found, _ = gone_on_with(
        lambda c: case.fit(callback=[look, *c] if isinstance(c, list) else [look, c]),
        tmp_path / "run.ckpt",
        resume(case.M, case.b),
        [calls // 2],
    )
    assert_same(found, expected)


# Refused -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    with pytest.raises(Killed):
        fa.fit(M, B, atoms=ONE, k=6, callback=[Checkpoint(tmp_path / "run.ckpt", 0.0), After(5)])
    return tmp_path / "run.ckpt"


@pytest.mark.parametrize(
    ("named", "M", "b"),
    [("M", M[:, ::-1], B), ("M", M[:, :90], B), ("b", M, B + 1e-3), ("b", M, -B)],
    ids=["columns", "shape", "data", "signs"],
)
def test_another_problem_is_refused_by_name(named, M, b, written):
    before = written.read_bytes()
    with pytest.raises(ValueError, match=f"^{named} must"):
        fa.resume(written, M, b)
    assert written.read_bytes() == before


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("k", {"k": 7}),
        ("misfit", {"misfit": 0.1}),
        ("ridge", {"ridge": 0.5}),
        ("cap", {"cap": 9.0}),
        ("loss", {"loss": fa.Huber(1.0)}),
        ("free", {"free": "intercept"}),
        ("effort", {"effort": "quick"}),
        ("rng", {"rng": 1}),
        ("max_iterations", {"max_iterations": 50}),
        ("atoms", {"atoms": fa.NonnegativeOneHot(100)}),
    ],
)
def test_another_call_is_refused_by_name(named, words, written):
    before = written.read_bytes()
    with pytest.raises(ValueError, match=f"^{named} must be "):
        fa.fit(M, B, **{"atoms": ONE, "k": 6, **words}, callback=Checkpoint(written, go_on=True))
    assert written.read_bytes() == before
    with pytest.raises(ValueError, match="fit instead of fit_path"):
        fa.fit_path(M, B, atoms=ONE, k=[6], callback=Checkpoint(written, go_on=True))
    assert_same(fa.fit(M, B, atoms=ONE, k=6, callback=Checkpoint(written, go_on=True)), fa.fit(M, B, atoms=ONE, k=6))


@pytest.mark.parametrize(("name", "word"), [("dictionary", "atoms"), ("weights", "loss"), ("columns", "free")])
def test_what_was_not_kept_has_to_be_given_again(name, word, tmp_path):
    case = cases()[name]
    case.fit(callback=Checkpoint(tmp_path / "run.ckpt"))
    with pytest.raises(ValueError, match=rf"^{word} must be given again, resume\(file, M, b, {word}="):
        fa.resume(tmp_path / "run.ckpt", case.M, case.b)
    assert_same(fa.resume(tmp_path / "run.ckpt", case.M, case.b, **{word: case.words[word]}), answer(name))


def test_files_that_were_cut_off_or_changed_are_refused(written):
    """Wherever that is, by as much as a bit."""
    whole, draw = written.read_bytes(), np.random.default_rng(0)
    cuts = {*draw.integers(0, len(whole), 200).tolist(), 0, 1, len(whole) - 1}
    for cut in cuts:
        written.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"^file must be a checkpoint, all of it"):
            read(written)
    for place in [*draw.integers(0, 8 * len(whole), 1500).tolist(), 0, 8 * len(whole) - 1]:
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << (place % 8)
        written.write_bytes(changed)
        with pytest.raises(ValueError, match=r"^file must be a checkpoint, all of it"):
            read(written)
    written.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match=r"^file must be a checkpoint, all of it"):
        read(written)


def test_other_files_are_refused(tmp_path):
    answer("signed").save(tmp_path / "s.npz")
    with pytest.raises(ValueError, match=r"^file must be a checkpoint"):
        fa.resume(tmp_path / "s.npz", M, B)
    with pytest.raises(FileNotFoundError):
        fa.resume(tmp_path / "nothing.ckpt", M, B)


def test_other_files_are_not_replaced(tmp_path, written):
    (tmp_path / "short.csv").write_text("a,b\n1,2\n")
    (tmp_path / "long.csv").write_text("a,b\n" + "1,2\n" * 100)
    answer("signed").save(tmp_path / "s.npz")
    for name in ("short.csv", "long.csv", "s.npz"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(ValueError, match=rf"^file must be a checkpoint, or not be there yet; .*{name}"):
            fa.fit(M, B, atoms=fa.SignedOneHot(M.shape[1]), k=2, callback=Checkpoint(tmp_path / name))
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "empty").touch()
    for file in (written, tmp_path / "empty"):
        s = fa.fit(M, B, atoms=fa.SignedOneHot(M.shape[1]), k=2, callback=Checkpoint(file))
        assert fa.resume(file, M, B).loss == s.loss


def test_a_checkpoint_is_no_answer(written):
    with pytest.raises(ValueError, match=r"is a checkpoint: resume\(file, M, b\) goes on"):
        fa.load(written)


def test_later_formats_are_refused_with_their_number(written, monkeypatch):
    content = read(written).kept()
    monkeypatch.setattr(checkpoints, "FORMAT_OF_CHECKPOINTS", 7)
    checkpoints.write(written, content)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"in format 1 or before; .* has format 7: a later version"):
        read(written)


def test_nothing_in_it_is_a_pickle_or_packed(written):
    with np.load(written, allow_pickle=False) as archive:
        assert all(member.compress_type == 0 for member in archive.zip.infolist())
        assert all(archive[name].dtype.kind != "O" for name in archive.files)
        assert files.HEADER in archive.files


# Writing -------------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_written_is_told_once_and_the_run_goes_on(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        s = fa.fit(M, B, atoms=ONE, k=6, callback=Checkpoint(tmp_path / "run.ckpt", 0.0))
    (warned,) = told
    assert str(warned.message).startswith(f"checkpoint {str(tmp_path / 'run.ckpt')!r} cannot be written: ")
    assert_same(s, fa.fit(M, B, atoms=ONE, k=6))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_no_reason_to_lose_a_run(tmp_path):
    with pytest.warns(UserWarning, match="cannot be written"):
        s = fa.fit(M, B, atoms=ONE, k=6, callback=Checkpoint(tmp_path / "none" / "run.ckpt", 0.0))
    assert s.cardinality == 6


def test_it_is_written_on_the_clock_and_at_the_end(tmp_path, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoints, "write", lambda file, content: written.append(now[0]))

    def tick(progress):
        now[0] += 1.0

    fa.fit(M, B, atoms=ONE, k=8, effort="thorough", callback=[tick, Checkpoint(tmp_path / "run.ckpt", 5.0)])
    assert written[:-1] == [5.0 * (i + 1) for i in range(len(written) - 1)]
    assert len(written) >= 3


def test_what_takes_long_to_write_is_written_seldom(tmp_path, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])

    def slow(file, content):
        written.append(now[0])
        now[0] += 1.0

    monkeypatch.setattr(checkpoints, "write", slow)

    def tick(progress):
        now[0] += 1.0

    fa.fit(M, B, atoms=ONE, k=8, effort="thorough", callback=[tick, Checkpoint(tmp_path / "run.ckpt", 0.0)])
    assert np.diff(written[:-1]).min(initial=np.inf) >= 20.0


def test_the_file_is_never_half_a_file(tmp_path, monkeypatch):
    """Whoever looks while it is written finds the one before."""
    file, seen, fsync = tmp_path / "run.ckpt", [], os.fsync

    def looked(descriptor):
        seen.append(file.exists() and read(file))
        fsync(descriptor)

    monkeypatch.setattr(checkpoints.os, "fsync", looked)
    fa.fit(M, B, atoms=ONE, k=6, callback=Checkpoint(file, 0.0))
    assert len(seen) >= 2
    assert seen[0] is False
    assert all(seen[1:])
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("every", [-1.0, np.nan, "soon"])
def test_what_it_is_told_is_checked(every):
    with pytest.raises((TypeError, ValueError), match=r"^every must be a nonnegative finite number"):
        Checkpoint("run.ckpt", every)
    with pytest.raises(TypeError, match=r"^file must be the name of a file"):
        Checkpoint(5)


def test_nothing_is_kept_where_nobody_asks():
    s, t = (fa.fit(S, V, atoms=LOW, k=2, callback=c) for c in (None, lambda progress: None))
    assert s.loss == t.loss


# Killed for good -----------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
import fewatoms as fa
from fewatoms.callbacks import Checkpoint
rng = np.random.default_rng(3)
X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 200))
rows, cols = np.nonzero(rng.random(X.shape) < 0.25)
S, v = fa.Sampling(rows, cols, X.shape), X[rows, cols] + 0.5 * rng.standard_normal(rows.size)
file = sys.argv[1]
print("ready", flush=True)
path = fa.fit_path(S, v, atoms=fa.RankOne(300, 200), k=[2, 4, 6], ridge="auto",
                   callback=Checkpoint(file, 0.0, go_on=True) if file else None)
print(repr([path[k].loss for k in path]))
"""


def ran(file):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(file)], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nobody can be killed")
def test_killed_by_the_system(tmp_path):
    expected = ran("").communicate()[0].split("\n")[1]
    file, pauses = tmp_path / "run.ckpt", iter([0.5, 0.8, 1.1])
    for _ in range(3):
        process = ran(file)
        process.stdout.readline()
        time.sleep(next(pauses))
        process.kill()
        process.communicate()
    found = ran(file).communicate()[0].split("\n")[1]
    np.testing.assert_allclose(eval(found), eval(expected), rtol=1e-8)
    assert Path(file).exists()
