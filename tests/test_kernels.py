"""The compiled loops against their slow twins: as plain Python here, compiled in a process of its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

import naive
from fewatoms import Sampling, kernels
from fewatoms.faces import Factors
from fewatoms.operators.reduced import _row_grams_numpy, row_grams_in_blocks

CASES = {
    "usual": (7, 5, 3, 20),
    "one row": (1, 6, 2, 4),
    "one column": (6, 1, 2, 5),
    "one entry": (4, 4, 1, 1),
    "all entries": (4, 3, 2, 12),
    "rank one": (8, 8, 1, 30),
    "rank above both sides": (2, 3, 5, 4),
}


def drawn(p, q, r, m, seed=0, kind=np.int32):
    """Factors and sorted positions, as the loops expect them."""
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.permutation(p * q)[:m])
    rows, cols = np.divmod(keys, q)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=p))])
    U, V = rng.standard_normal((p, r)), rng.standard_normal((q, r))
    return U, V, rows.astype(kind), cols.astype(kind), starts.astype(kind), rng.uniform(0.1, 2.0, m)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_sampled_products(case, kind):
    U, V, rows, cols, _, _ = drawn(*case, kind=kind)
    out = np.full(rows.size, np.nan)
    kernels._sampled_products(U, V, rows, cols, out)
    np.testing.assert_allclose(out, naive.sampled_products(U, V, rows, cols), atol=1e-13)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_row_grams(case, kind):
    _, V, rows, cols, starts, weights = drawn(*case, kind=kind)
    p, r = case[0], case[2]
    expected = naive.row_grams(V, rows, cols, weights, p)
    out = np.full((p, r, r), np.nan)
    kernels._row_grams(V, starts, cols, weights, out)
    np.testing.assert_allclose(out, expected, atol=1e-13)
    zeroed = np.zeros((p, r, r))
    _row_grams_numpy(V, starts, cols, weights, zeroed)
    np.testing.assert_allclose(zeroed, expected, atol=1e-13)


def test_row_grams_of_some_rows():
    """A block of rows names its entries by their place in the whole."""
    _, V, rows, cols, starts, weights = drawn(7, 5, 3, 20)
    expected = naive.row_grams(V, rows, cols, weights, 7)
    for first, last in ((0, 3), (3, 7), (2, 3)):
        out = np.zeros((last - first, 3, 3))
        kernels._row_grams(V, starts[first : last + 1], cols, weights, out)
        np.testing.assert_allclose(out, expected[first:last], atol=1e-13)
        again = np.zeros_like(out)
        _row_grams_numpy(V, starts[first : last + 1], cols, weights, again)
        np.testing.assert_allclose(again, expected[first:last], atol=1e-13)


@pytest.mark.parametrize("loop", [False, True])
def test_row_grams_in_blocks(loop, monkeypatch):
    monkeypatch.setattr("fewatoms.operators.reduced.BLOCK", 20)
    _, V, rows, cols, starts, weights = drawn(11, 6, 3, 25, seed=1)
    if loop:
        monkeypatch.setattr(kernels, "compiled", lambda name: kernels._row_grams)
    blocks = list(row_grams_in_blocks(V, starts, cols, weights, loop))
    assert [first for first, _ in blocks] == [0, 2, 4, 6, 8, 10]
    np.testing.assert_allclose(
        np.concatenate([grams for _, grams in blocks]), naive.row_grams(V, rows, cols, weights, 11), atol=1e-13
    )


def test_sampling_takes_the_loops_when_they_repay(monkeypatch):
    """From some number of entries on the loops run, with the same result."""
    taken = []
    loops = {"sampled_products": kernels._sampled_products, "row_grams": kernels._row_grams}
    monkeypatch.setattr(kernels, "compiled", lambda name: taken.append(name) or loops[name])
    rng = np.random.default_rng(2)
    rows, cols = np.divmod(rng.permutation(48)[:30], 8)
    M = Sampling(rows, cols, (6, 8))
    face = Factors(*(np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (6, 8)))
    c, b, weights = rng.standard_normal(4), rng.standard_normal(30), rng.uniform(0.5, 1.0, 30)

    def results():
        reduced = M.restrict(face)
        return [reduced.apply(c), *reduced.normal_equations(b, weights), *reduced.normal_equations(b)]

    plain = results()
    assert taken == []
    monkeypatch.setattr(kernels, "WORTHWHILE", 30)
    for found, expected in zip(results(), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
    assert taken == ["sampled_products", "row_grams", "row_grams"]


def test_unknown_loops_are_refused():
    with pytest.raises(KeyError):
        kernels.compiled("no such loop")


COMPILED = """
import numpy as np
from fewatoms import Sampling, kernels
from fewatoms.faces import Factors

rng = np.random.default_rng(0)
p, q, r, m = 50, 40, 3, 700
rows, cols = np.divmod(rng.permutation(p * q)[:m], q)
left, right = rng.standard_normal((p, r)), rng.standard_normal((q, r))
weights, b = rng.uniform(0.1, 2.0, m), rng.standard_normal(m)
face = Factors(np.linalg.qr(left)[0], np.linalg.qr(right)[0])
M = Sampling(rows, cols, (p, q))


def results():
    reduced = M.restrict(face)
    return [M.sample(left, right), reduced.apply(np.arange(9.0)), *reduced.normal_equations(b, weights)]


plain = results()
kernels.WORTHWHILE = 1
for found, expected in zip(results(), plain, strict=True):
    np.testing.assert_allclose(found, expected, atol=1e-11)

for name in ("sampled_products", "row_grams"):
    loop = kernels.compiled(name)
    assert loop.signatures, f"{name} was not compiled"
    assert kernels.compiled(name) is loop
print("agree")
"""


def test_compiled_loops_agree_with_numpy():
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "agree"
