"""Several fits at once: in threads, after fork, in processes; what BLAS is told, and what is put back."""

import gc
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from answers import cases
from fewatoms import linalg, threads

TOGETHER = ["signed", "completion", "robust", "psd", "huber", "groups, numbers"]


class Library:
    """BLAS, as far as threads go."""

    internal_api = "openblas"

    def __init__(self, count):
        self.count = count

    def get_num_threads(self):
        return self.count

    def set_num_threads(self, count):
        self.count = count


@pytest.fixture
def libraries(monkeypatch):
    found = [Library(4), Library(1), Library(2)]
    monkeypatch.setattr(threads, "_libraries", lambda: found)
    return found


def counts(libraries):
    return [library.count for library in libraries]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_threads_of_blas_come_back_in_whatever_order_its_users_leave(libraries, order):
    inside = [linalg.single_thread() for _ in range(3)]
    for one in inside:
        one.__enter__()
        assert counts(libraries) == [1, 1, 1]
    for i in order[:-1]:
        inside[i].__exit__(None, None, None)
        assert counts(libraries) == [1, 1, 1]
    inside[order[-1]].__exit__(None, None, None)
    assert counts(libraries) == [4, 1, 2]
    assert not threads._Solo.inside


class Interrupted(Library):
    """Ctrl-C comes once, just when so many calls have been made."""

    left = -1

    def set_num_threads(self, count):
        super().set_num_threads(count)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("calls", [1, 2])
def test_whoever_is_interrupted_while_coming_or_going_leaves_nothing_behind(monkeypatch, calls):
    found = [Interrupted(4), Library(2)]
    found[0].left = calls
    monkeypatch.setattr(threads, "_libraries", lambda: found)
    with pytest.raises(KeyboardInterrupt), linalg.single_thread():
        assert counts(found) == [1, 1]
    gc.collect()
    assert counts(found) == [4, 2]
    assert not threads._Solo.inside


def test_many_threads_come_and_go(libraries):
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            with linalg.single_thread():
                if counts(libraries) != [1, 1, 1]:
                    wrong.append(counts(libraries))
                if rng.random() < 0.5:
                    with linalg.single_thread():
                        pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert wrong == []
    assert counts(libraries) == [4, 1, 2]


def test_a_library_with_a_number_for_each_thread_is_told_in_each(monkeypatch):
    found = Library(3)
    found.threading_layer = "openmp"
    local = threading.local()
    found.get_num_threads = lambda: getattr(local, "count", 3)
    found.set_num_threads = lambda count: setattr(local, "count", count)
    monkeypatch.setattr(threads, "_libraries", lambda: [found])
    seen = []

    def work():
        with linalg.single_thread(), linalg.single_thread():
            seen.append(found.get_num_threads())
        seen.append(found.get_num_threads())

    with linalg.single_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert found.get_num_threads() == 1
    assert seen == [1, 3]
    assert found.get_num_threads() == 3


def alone(name):
    s = cases()[name].fit()
    return s.loss, np.asarray(s.x)


@pytest.mark.parametrize("count", [2, 4])
def test_fits_of_different_families_at_once_are_those_alone(count):
    expected = {name: alone(name) for name in TOGETHER}
    ready = threading.Barrier(count)

    def work(i):
        ready.wait()
        names = TOGETHER[i % len(TOGETHER) :] + TOGETHER[: i % len(TOGETHER)]
        return {name: alone(name) for name in names}

    with ThreadPoolExecutor(count) as pool:
        for found in pool.map(work, range(count)):
            for name, (loss, x) in found.items():
                assert loss == pytest.approx(expected[name][0], rel=1e-9, abs=1e-20), name
                np.testing.assert_allclose(x, expected[name][1], rtol=1e-6, atol=1e-9, err_msg=name)


SCRIPT = """
import json, os, sys, threading
import numpy as np
from threadpoolctl import threadpool_info
import fewatoms as fa
from fewatoms import kernels, linalg

def blas():
    return sorted(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")

def losses():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((60, 120))
    b = M[:, :4].sum(axis=1) + rng.standard_normal(60)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 250))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.5)
    values = X[rows, cols] + rng.standard_normal(rows.size)
    S = fa.Sampling(rows, cols, X.shape)
    return [fa.fit(M, b, atoms=fa.SignedOneHot(120), k=5).loss, fa.fit(S, values, atoms=fa.RankOne(300, 250), k=3).loss]

before = blas()
mine = losses()
assert blas() == before
inside, go = threading.Event(), threading.Event()

def wait():
    with linalg.single_thread():
        inside.set()
        go.wait(60)

thread = threading.Thread(target=wait)
thread.start()
inside.wait(60)
reader, writer = os.pipe()
child = os.fork()
if not child:
    told = {"blas": blas(), "losses": losses(), "after": blas()}
    os.write(writer, json.dumps(told).encode())
    os._exit(0)
os.close(writer)
with os.fdopen(reader) as stream:
    told = json.loads(stream.read())
os.waitpid(child, 0)
during = blas()
go.set()
thread.join()
print(json.dumps({"before": before, "mine": mine, "child": told, "during": during, "after": blas()}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_fork_answers_are_the_same_and_blas_has_its_threads():
    """The thread that keeps BLAS to itself is not there in the child; compiled loops and pools of threads are."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["child"]["losses"] == pytest.approx(told["mine"], rel=1e-9)
    assert told["child"]["blas"] == told["child"]["after"] == told["after"] == told["before"]
    assert set(told["during"]) == {1}


def _loss(name):
    return cases()[name].fit().loss


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_processes_answer_alike(how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {how}")
    names = ["signed", "completion"]
    expected = [_loss(name) for name in names]
    context = multiprocessing.get_context(how)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(_loss, names)) == pytest.approx(expected, rel=1e-9)


def test_compiled_loops_are_met_by_two_threads_at_once():
    """In a process that has compiled nothing yet."""
    script = """
import threading
import numpy as np
from fewatoms import kernels
rng = np.random.default_rng(0)
rows, cols = np.nonzero(rng.random((300, 300)) < 0.5)
starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=300))])
U, V = rng.standard_normal((300, 5)), rng.standard_normal((300, 5))
found, ready = [], threading.Barrier(4)
def work():
    ready.wait()
    found.append((kernels.sampled_products(U, V, starts, cols), kernels.scattered(np.ones(cols.size), V, starts, cols)))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(found) == 4
for products, sums in found:
    np.testing.assert_allclose(products, np.einsum("ij,ij->i", U[rows], V[cols]))
    np.testing.assert_allclose(sums, np.stack([V[cols[rows == i]].sum(axis=0) for i in range(300)]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
