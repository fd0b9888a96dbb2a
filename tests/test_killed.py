"""Runs of several families killed by the system again and again, until they are over: the answer is the same."""

import os
import signal
import time

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.callbacks import Checkpoint
from fewatoms.checkpoints import read


def completion():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 90))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.4)
    b = X[rows, cols] + 0.3 * rng.standard_normal(rows.size)
    return fa.Sampling(rows, cols, X.shape), b, {"atoms": fa.RankOne(120, 90), "k": [2, 4, 6], "ridge": "auto"}


def sizes():
    rng = np.random.default_rng(4)
    M = rng.standard_normal((200, 400))
    b = M[:, :20].sum(axis=1) + 3.0 * rng.standard_normal(200)
    return M, b, {"atoms": fa.SignedOneHot(400), "k": range(1, 13), "ridge": [0.0, 0.3, 1.0]}


def search():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((150, 400))
    b = M[:, :25].sum(axis=1) + 5.0 * rng.standard_normal(150)
    return M, b, {"atoms": fa.SignedOneHot(400), "k": [24], "effort": "thorough"}


def frames():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 60)) + 0.1 * rng.standard_normal((80, 60))
    X.flat[rng.choice(X.size, 300, replace=False)] += 5.0
    return fa.Identity((80, 60)), X, {"atoms": fa.RankOne(80, 60) + fa.SignedOneHot((80, 60)), "k": [(None, None)]}


def phases():
    rng = np.random.default_rng(7)
    A = rng.standard_normal((150, 20)) + 1j * rng.standard_normal((150, 20))
    x = rng.standard_normal((20, 2)) @ [1.0, 1j]
    b = abs(A @ x) ** 2 + 0.5 * rng.standard_normal(150)
    return fa.Quadratic(A), b, {"atoms": fa.PSDRankOne(20), "k": [1]}


def child(M, b, words, file):
    """Goes on in a process of its own."""
    pid = os.fork()
    if pid:
        return pid
    try:
        ledger.EVERY = 0.0
        fa.fit_path(M, b, **words, callback=Checkpoint(file, 0.0, go_on=True))
        os._exit(0)
    finally:
        os._exit(1)


def killed(M, b, words, file, draw, longest):
    """Kills a run until it is over: how often, and how often before anything was written. Whoever gets nowhere between
    two kills (machines are slower at times) is given longer."""
    kills = begun_anew = 0
    before = b""
    while True:
        pid = child(M, b, words, file)
        time.sleep(draw.uniform(0.0, longest))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            return kills, begun_anew
        kills += 1
        now = file.read_bytes() if file.exists() else b""
        longest, before = longest if now != before else 1.5 * longest, now
        if not now:
            begun_anew += 1
        elif read(file).root.begun[-1].found is not None:
            return kills, begun_anew


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_two_hundred_kills_and_the_answers_are_the_same(tmp_path, capsys):
    draw, total, anew, runs = np.random.default_rng(0), 0, 0, 0
    problems = [make() for make in (completion, sizes, search, frames, phases)]
    expected, seconds = [], []
    for M, b, words in problems:
        began = time.perf_counter()
        expected.append(fa.fit_path(M, b, **words))
        seconds.append(time.perf_counter() - began)
    while total < 200:
        which = runs % len(problems)
        M, b, words = problems[which]
        file = tmp_path / f"{runs}.ckpt"
        kills, first = killed(M, b, words, file, draw, max(0.02, 0.7 * seconds[which]))
        total, anew, runs = total + kills, anew + first, runs + 1
        found = fa.resume(file, M, b)
        for k in expected[which].k:
            assert found[k].loss == pytest.approx(expected[which][k].loss, rel=1e-8)
            np.testing.assert_allclose(found[k].x, expected[which][k].x, atol=1e-6)
        assert [one for one in tmp_path.iterdir() if one.suffix == ".ckpt"]
    with capsys.disabled():
        print(f"\n{total} kills, {anew} of them before anything was written; {runs} runs, all answers the same")  # noqa: T201


@pytest.mark.soak
def test_a_thousand_files_cut_off_or_changed_are_refused(tmp_path, capsys):
    M, b, words = sizes()
    file, draw = tmp_path / "run.ckpt", np.random.default_rng(1)
    fa.fit_path(M, b, **words, callback=Checkpoint(file))
    whole, refused = file.read_bytes(), 0
    for i in range(1000):
        changed = bytearray(whole)
        if i % 2:
            changed = changed[: draw.integers(len(whole))]
        else:
            changed[draw.integers(len(whole))] ^= 1 << draw.integers(8)
        file.write_bytes(changed)
        with pytest.raises(ValueError, match="must be a checkpoint, all of it"):
            fa.resume(file, M, b)
        refused += 1
    with capsys.disabled():
        print(f"\n{refused} files of {len(whole)} bytes cut off or changed by a bit, {refused} refused")  # noqa: T201
