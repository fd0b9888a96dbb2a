"""Trees of what is kept, as headers and arrays. Those of faces and answers: test_files.py."""

import json

import numpy as np
import pytest

from answers import assert_same_arrays
from fewatoms import kept
from fewatoms.kept import Kept, flattened, gathered, packed, unpacked


def tree():
    leaf = Kept("leaf", {"n": 1}, {"v": np.arange(3)})
    return Kept(
        "root", {"name": "r", "list": [1, 2.5, None]}, {"v": np.ones((2, 2))}, (leaf, Kept("twig", inner=(leaf,)))
    )


def assert_same(a, b):
    (h, x), (g, y) = flattened(a, "at"), flattened(b, "at")
    assert h == g
    assert x.keys() == y.keys()
    for name in x:
        assert_same_arrays(x[name], y[name])


def test_trees_are_flattened_and_gathered():
    header, arrays = flattened(tree(), "it")
    assert sorted(arrays) == ["it.0.v", "it.1.0.v", "it.v"]
    assert_same(gathered(json.loads(json.dumps(header)), arrays, "it"), tree())
    with pytest.raises(KeyError):
        gathered(header, {}, "it")


def test_many_are_packed():
    things = []
    for i in range(7):
        names = np.array([f"{'long ' * i}{j}" for j in range(i % 3)], dtype=str)
        things.append(Kept("leaf" if i % 2 else "twig", {"n": i // 4}, {"v": np.arange(float(i)), "names": names}))
    whole = packed(things)
    assert len(whole.inner) == 4  # two kinds, each told in two ways
    for before, after in zip(things, unpacked(whole), strict=True):
        assert_same(before, after)
    assert unpacked(packed([])) == []
    header, arrays = flattened(whole, "it")
    for before, after in zip(things, unpacked(gathered(json.loads(json.dumps(header)), arrays, "it")), strict=True):
        assert_same(before, after)


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (kept.section, {"a": 1}, [1]),
        (kept.rows, [1], {"a": 1}),
        (kept.real, 1, "1"),
        (kept.real, 1.5, True),
        (kept.whole, 3, 3.0),
        (kept.whole, 3, False),
        (kept.maybe, None, "x"),
        (kept.shape, [2, 3], [2, 3.5]),
    ],
)
def test_readers_refuse_what_they_do_not_read(read, good, bad):
    read(good)
    with pytest.raises(ValueError, match=r"^a header must have"):
        read(bad)
