"""What a fit needs is held against what is free before it begins: early, with both figures, and near what it takes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import memory

MEASURED = Path("/proc/self/clear_refs").exists()

# Each makes `ask`, a function of one size; what is measured or refused is `ask(large)`, after `ask(small)` has imported
# and compiled what there is.
CASES = {
    "separation": (
        """
def ask(p, q):
    X = rng.standard_normal((p, 2)) @ rng.standard_normal((2, q))
    X.flat[rng.choice(X.size, X.size // 50, replace=False)] += 5
    return lambda: fa.fit(fa.Identity((p, q)), X, atoms=fa.RankOne(p, q) + fa.SignedOneHot((p, q)), k=(2, X.size // 50))
""",
        (60, 50),
        (4000, 900),
    ),
    "pairs": (
        """
def ask(m, p, q):
    M = rng.standard_normal((m, p * q))
    b = M @ np.outer(np.ones(p), np.ones(q)).ravel()
    return lambda: fa.fit(M, b, atoms=fa.RankOne(p, q), k=1)
""",
        (60, 8, 7),
        (900, 90, 80),
    ),
    "a box": (
        """
def ask(m, n):
    M = rng.standard_normal((m, n))
    return lambda: fa.fit(aslinearoperator(M), M[:, 0] + 0.1 * M[:, 1], atoms=fa.SignedOneHot(n), k=1)
""",
        (60, 40),
        (40_000, 120),
    ),
    "many atoms": (
        """
def ask(m, n):
    import scipy.sparse as sp
    rows = (rng.integers(m - 3, size=(n, 1)) + np.arange(3)).ravel()
    A = sp.csc_array((rng.standard_normal(3 * n), rows, np.arange(0, 3 * n + 1, 3)), shape=(m, n))
    b = A[:, [1, 5, 9]] @ [1.0, 2.0, -1.0] + 0.1 * rng.standard_normal(m)
    return lambda: fa.fit(A, b, atoms=fa.SignedOneHot(n), k=3)
""",
        (200, 2000),
        (2000, 1_000_000),
    ),
    "completion": (
        """
def ask(p, q, count):
    places = rng.permutation(np.unique(rng.integers(0, p * q, count)))
    rows, cols = np.divmod(places, q)
    b = np.cos(rows) * np.sin(cols) + 0.1 * rng.standard_normal(places.size)
    return lambda: fa.fit(fa.Sampling(rows, cols, (p, q)), b, atoms=fa.RankOne(p, q), k=2)
""",
        (500, 400, 150_000),
        (9000, 8000, 4_000_000),
    ),
}

SCRIPT = """
import ctypes, gc, json, resource, sys, threading, time
import numpy as np
from scipy.sparse.linalg import aslinearoperator
import fewatoms as fa
from fewatoms import memory
from fewatoms.methods import base

rng = np.random.default_rng(0)
{ask}
def told(word):
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(word))

ask(*{small})()
run, needed = ask(*{large}), []
afford = base.afford_fit
base.afford_fit = lambda needs, remedy: (needed.append(sum(needs.values())), afford(needs, remedy))
gc.collect()
ctypes.CDLL("libc.so.6").malloc_trim(0)
room, before, peak, done = {room}, told("RssAnon:"), [0], threading.Event()
if room:
    resource.setrlimit(resource.RLIMIT_DATA, (told("VmData:") + room, resource.RLIM_INFINITY))

def look():
    while not done.wait(0.002):
        peak.append(told("RssAnon:") - before)

if not room:
    threading.Thread(target=look).start()
start = time.process_time()
try:
    run()
    said = ""
except MemoryError as error:
    said = f"{{type(error).__name__}}: {{error}}"
seconds = time.process_time() - start
done.set()
json.dump({{"said": said, "seconds": seconds, "peak": max(peak), "needed": max(needed)}}, sys.stdout)
"""


def run(name, room):
    ask, small, large = CASES[name]
    script = SCRIPT.format(ask=ask, small=small, large=large, room=room)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not MEASURED, reason="limits and memory are told by /proc")
def test_too_large_a_fit_is_refused_before_it_begins():
    """Where a limit is set for the process."""
    found = run("pairs", 80_000_000)
    assert found["seconds"] < 1
    assert found["said"].startswith("NotEnough: this fit needs about 104 MB (104 MB for M as forms of the factors); ")
    assert "MB are free: " in found["said"]


def test_more_atoms_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda *_: 90_000_000)
    rng, n = np.random.default_rng(0), 1_000_000
    A = sp.csc_array((rng.standard_normal(n), rng.integers(20, size=n), np.arange(n + 1)), shape=(20, n))
    said = r"needs about 192 MB \(192 MB for what is known of each atom\); 90 MB are free: leave atoms out"
    with pytest.raises(memory.NotEnough, match=said):
        fa.fit(A, rng.standard_normal(20), atoms=fa.SignedOneHot(n), k=3)


@pytest.mark.soak
@pytest.mark.skipif(not MEASURED, reason="limits and memory are told by /proc")
@pytest.mark.parametrize("name", CASES)
def test_what_is_said_to_be_needed_is_what_is_taken(name):
    found = run(name, 0)
    assert found["said"] == ""
    assert found["peak"] / 1.5 <= found["needed"] <= 1.5 * found["peak"]


def limited(monkeypatch, there):
    asked = []
    monkeypatch.setattr(memory, "free", lambda: (asked.append(1), there)[1])
    return asked


def separated(p, q, **words):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((p, 1)) @ rng.standard_normal((1, q))
    atoms = fa.RankOne(p, q) + fa.SignedOneHot((p, q))
    return fa.fit(fa.Identity((p, q)), X, atoms=atoms, **{"k": (1, 4), **words})


def test_both_figures_and_the_parts_are_told(monkeypatch):
    limited(monkeypatch, 20_000_000)
    with pytest.raises(
        memory.NotEnough,
        match=r"about 73\.6 MB \(57\.6 MB for residuals and steps, 16 MB for the matrix\); 20 MB are free: separate",
    ) as told:
        separated(2000, 1000)
    assert isinstance(told.value, MemoryError)
    with pytest.raises(memory.NotEnough, match="about 125 MB"):
        separated(2000, 1000, k=(1, None))


def test_what_fits_is_not_refused_and_small_fits_do_not_ask(monkeypatch):
    asked = limited(monkeypatch, 75_000_000)
    assert separated(2000, 1000, k=(1, 1)).success
    assert asked
    asked = limited(monkeypatch, 0)
    assert separated(60, 50).success
    assert not asked


def test_nobody_says_what_is_free(monkeypatch):
    asked = limited(monkeypatch, None)
    memory.afford_fit({"all there is": 1e15}, "buy more")
    assert asked


@pytest.mark.skipif(not MEASURED, reason="limits are told by /proc")
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_a_process_are_known(kind):
    script = (
        "import resource as r\nfrom fewatoms.memory import free\n"
        f"r.setrlimit(r.{kind}, (2_000_000_000, r.RLIM_INFINITY))\nprint(free())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 2_000_000_000
