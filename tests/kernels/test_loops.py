"""Loops compiled, as the library runs them, against the same loops interpreted, which is what a line counter sees."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from unittest import mock

import numpy as np
import pytest

from fewatoms import _dense, _loops, kernels
from kernels.grids import Grid, everything

LOOPS = [
    "sampled_products",
    "scattered",
    "row_solves",
    "row_solves_nonnegative",
    "row_grams",
    "split_rows",
    "clipped_rows",
]


@cache
def interpreted():
    """The loops as plain Python: the same files, with nothing that compiles."""
    with mock.patch("numba.njit", return_value=lambda loop: loop), mock.patch.dict(sys.modules):
        for file in (_dense, _loops):
            spec = importlib.util.spec_from_file_location(file.__name__, file.__file__)
            module = sys.modules[file.__name__] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    return module


def dense(seed=0):
    """What goes through loops over dense matrices, one after the other."""
    rng = np.random.default_rng(seed)
    D, T, L, Y = (rng.standard_normal((9, 7)) for _ in range(4))
    seen = rng.random(D.shape) < 0.8
    found = []
    for mask in (None, seen):
        t, y = T.copy(), Y.copy()
        kernels.split_rows(D, t, L, y, mask, soft=0.8, mu=1.5, following=2.0, price=0.3, ahead=1.6)
        found += [t, y]
    return [*found, np.array(kernels.clipped_sums(D, 0.7))]


@pytest.mark.parametrize(
    "name",
    [
        "usual",
        "no features",
        "eight features",
        "ten features",
        "nineteen features",
        "more features than columns",
        "mostly empty rows",
        "rows longer than the tile",
        "large",
    ],
)
def test_interpreted_loops_are_the_compiled_ones(name, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    g = Grid(name)
    compiled = [*everything(g), *dense()]
    assert kernels._loops().scattered.signatures  # machine code did the work
    monkeypatch.setattr(kernels, "_loops", interpreted)
    for found, expected in zip([*everything(g), *dense()], compiled, strict=True):
        size = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * size)


def test_dependent_features_interpreted(monkeypatch):
    """Where there is nothing to factor."""
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "_loops", interpreted)
    g = Grid("usual")
    g.right, g.ridge = np.zeros_like(g.right), np.zeros(g.r)
    x, left = kernels.row_solves(g.values, np.zeros(0), np.zeros(0), g.right, g.ridge, *g.places)
    np.testing.assert_array_equal(x, 0)
    np.testing.assert_allclose(left, np.bincount(g.rows, weights=g.values**2, minlength=g.p), rtol=1e-12)
    x, _ = kernels.row_solves_nonnegative(
        g.values, np.zeros(0), np.zeros(0), g.right, g.ridge, np.full(g.r, True), *g.places, g.begin
    )
    np.testing.assert_array_equal(x, 0)


def test_every_loop_is_there():
    assert all(callable(getattr(interpreted(), name)) for name in LOOPS)
    assert all(hasattr(getattr(_loops, name), "py_func") for name in LOOPS)


FRESH = """
import importlib, json, logging
import numpy as np
from fewatoms import kernels

said = []
handler = logging.Handler()
handler.emit = lambda record: said.append((record.name, record.levelname, record.getMessage()))
logging.getLogger("fewatoms").addHandler(handler)
logging.getLogger("fewatoms").setLevel(logging.DEBUG)

rng = np.random.default_rng(0)
p, q, r, m = 60, 700, 3, 12_000
keys = np.sort(rng.permutation(p * q)[:m])
rows, cols = np.divmod(keys, q)
starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=p))])
places = starts, cols.astype(np.int32)
left, right, values = rng.standard_normal((p, r)), rng.standard_normal((q, r)), rng.standard_normal(m)


def results():
    return [kernels.sampled_products(left, right, *places), kernels.scattered(values, right, *places)]


plain = results()
before = list(said)
kernels.WORTHWHILE = 1
kernels.threads = lambda: 1
compiled = results()
told = list(said)
kernels.PARALLEL, kernels.threads = 1, lambda: 3
threaded = results()
again = said[len(told):]
loops = importlib.reload(kernels._loops())  # as a new process would find them: on disk
kernels._loops.cache_clear()
reloaded = results()
print(json.dumps({
    "off": [float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(compiled, plain, strict=True)],
    "threads": [bool(np.array_equal(x, y)) for x, y in zip(threaded, compiled, strict=True)],
    "reloaded": [bool(np.array_equal(x, y)) for x, y in zip(reloaded, compiled, strict=True)],
    "cached": [sum(loop.stats.cache_misses.values()) for loop in (loops.sampled_products, loops.scattered)],
    "before": before, "told": told, "again": again, "silent": said[len(told) + len(again):],
}))
"""


def test_compiling_is_announced_and_done_once_for_all_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FRESH], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert max(found["off"]) <= 1e-9
    assert all(found["threads"])
    assert all(found["reloaded"])
    assert found["cached"] == [0, 0]
    assert found["before"] == found["again"] == found["silent"] == []
    assert {(name, level) for name, level, _ in found["told"]} == {("fewatoms", "INFO")}
    announced = [message.split(" in ")[0] for _, _, message in found["told"]]
    assert announced == ["compiled the loop sampled_products", "compiled the loop scattered"]


HOMELESS = """
import numpy as np
from fewatoms import kernels

kernels.WORTHWHILE = 1
left, right = np.ones((2, 1)), np.full((2, 1), 3.0)
print(kernels.sampled_products(left, right, np.array([0, 1, 2]), np.array([0, 1])))
"""


def test_where_nothing_can_be_kept_loops_are_compiled_for_the_process(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "IPythonCacheLocator"}  # which serves other files
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[3.", "3.]"]
