"""The checks at the doors: messages name the argument, the demand and what came; what passes comes back as said."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from fewatoms import _checks

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: _checks.integer("k", 0, 1), ValueError, "k must be an integer of at least 1; got 0"),
        (lambda: _checks.integer("k", 9, 1, 4), ValueError, "k must be an integer between 1 and 4; got 9"),
        (lambda: _checks.integer("k", 9, 1, 4, "n = 4"), ValueError, "k must be an integer between 1 and n = 4; got 9"),
        (lambda: _checks.integer("k", 1.0, 1), TypeError, "k must be an integer of at least 1; got 1.0"),
        (lambda: _checks.integer("k", True, 1), TypeError, "k must be an integer of at least 1; got True"),
        (lambda: _checks.integer("k", "3", 1, 4), TypeError, "k must be an integer between 1 and 4; got '3'"),
        (lambda: _checks.flag("on", 1), TypeError, "on must be True or False; got 1"),
        (lambda: _checks.number("t", -1), ValueError, "t must be a nonnegative finite number; got -1"),
        (lambda: _checks.number("t", 0, positive=True), ValueError, "t must be a positive finite number; got 0"),
        (lambda: _checks.number("t", INF), ValueError, "t must be a nonnegative finite number; got inf"),
        (lambda: _checks.number("t", NAN, infinite=True), ValueError, "t must be a nonnegative number; got nan"),
        (lambda: _checks.number("t", "1"), TypeError, "t must be a nonnegative finite number; got '1'"),
        (lambda: _checks.number("t", None), TypeError, "t must be a nonnegative finite number; got None"),
        (lambda: _checks.number("t", False), TypeError, "t must be a nonnegative finite number; got False"),
        (
            lambda: _checks.number("t", np.ones(1)),
            TypeError,
            "t must be a nonnegative finite number; got an array of shape (1,)",
        ),
        (
            lambda: _checks.integer("k", np.ones((2, 3)), 1),
            TypeError,
            "k must be an integer of at least 1; got an array of shape (2, 3)",
        ),
        (lambda: _checks.flag("on", int), TypeError, "on must be True or False; got the class int"),
        (
            lambda: _checks.unmasked("b", np.ma.array([1.0, 2.0], mask=[True, False])),
            ValueError,
            "b must not have masked entries; 1 are masked: leave them out",
        ),
        (
            lambda: _checks.generator("x"),
            TypeError,
            "rng must be None, a seed or a generator that numpy.random.default_rng accepts; got 'x'",
        ),
        (
            lambda: _checks.generator(-1),
            ValueError,
            "rng must be None, a seed or a generator that numpy.random.default_rng accepts; got -1",
        ),
        (lambda: _checks.real_vector("y", [1j]), TypeError, "y must be real; got an array of complex128"),
        (lambda: _checks.real_vector("y", ["a"]), TypeError, "y must hold real numbers; got an array of <U1"),
        (lambda: _checks.real_vector("y", [1, 2], 3), ValueError, "y must have 3 entries; got shape (2,)"),
        (lambda: _checks.real_vector("y", [1], 3, " (m)"), ValueError, "y must have 3 entries (m); got shape (1,)"),
        (lambda: _checks.real_vector("y", [1, NAN]), ValueError, "y must hold finite numbers only; it contains nan"),
        (
            lambda: _checks.real_vector("y", sp.eye_array(2)),
            TypeError,
            "y must be a dense array; got a sparse one: pass y.toarray()",
        ),
        (lambda: _checks.indices("rows", [0.0]), TypeError, "rows must hold integers; got an array of float64"),
        (lambda: _checks.indices("rows", [0, 7], 5), ValueError, "rows must lie between 0 and 4; got 7"),
        (lambda: _checks.indices("rows", [3, -2]), ValueError, "rows must not be negative; got -2"),
        (
            lambda: _checks.broadcast("rows", [1, 2], "cols", [1, 2, 3]),
            ValueError,
            "rows and cols must have shapes that go together; got (2,) and (3,)",
        ),
        (lambda: _checks.shape2("shape", 3), TypeError, "shape must be a pair of integers (rows, columns); got 3"),
        (lambda: _checks.shape2("shape", (3, 0)), ValueError, "shape[1] must be an integer of at least 1; got 0"),
        (lambda: _checks.shape("shape", 0), ValueError, "shape must be an integer of at least 1; got 0"),
        (lambda: _checks.real("share", "a", "a share"), TypeError, "share must be a share; got 'a'"),
        (lambda: _checks.real("share", True, "a share"), TypeError, "share must be a share; got True"),
        (lambda: _checks.require(False, "share", "below 1", 2), ValueError, "share must be below 1; got 2"),
    ],
)
def test_messages_name_argument_demand_and_what_came(call, kind, message):
    with pytest.raises(kind) as refused:
        call()
    assert str(refused.value) == message
    assert type(refused.value) is kind


def test_what_passes_comes_back_plain():
    for value in (3, np.int8(3), np.array(3)):
        assert type(_checks.integer("k", value, 3, 3)) is int
    assert _checks.flag("on", np.True_) is True
    for value in (2, 2.0, np.float32(2), np.array(2.0)):
        assert type(_checks.number("t", value)) is float
    assert _checks.number("t", INF, infinite=True) == INF
    assert _checks.number("t", 0) == 0.0
    assert type(_checks.real("share", np.int64(2), "a share")) is float
    assert _checks.shape("shape", 3) == (3,)
    assert _checks.shape("shape", [3, np.int64(2)]) == (3, 2)
    assert _checks.require(True, "share", "below 1", 0.5) is None
    assert _checks.unmasked("b", np.ma.array([1.0, 2.0])) is None


def test_vectors_come_back_flat_in_double_precision_and_shared_where_they_are_so():
    for given in ([1, 2], (True, False), np.ones((2, 1), np.float32), np.ma.array([1.0, 2.0])):
        found = _checks.real_vector("y", given, 2)
        assert (found.shape, found.dtype) == ((2,), np.float64)
    y = np.arange(3.0)
    assert np.shares_memory(_checks.real_vector("y", y), y)


def test_indices_stay_narrow_where_they_may():
    short = np.array([0, 3], dtype=np.int32)
    assert _checks.indices("rows", short, 4, narrow=True) is not None
    assert _checks.indices("rows", short, 4, narrow=True).dtype == np.int32
    assert _checks.indices("rows", short, 4).dtype == np.intp
    assert _checks.indices("rows", np.array([[0], [1]], dtype=np.uint8)).shape == (2,)
    assert _checks.indices("rows", []).size == 0


def test_seeds():
    assert _checks.generator(None).random() == np.random.default_rng(0).random()
    rng = np.random.default_rng(7)
    assert _checks.generator(rng) is rng


def test_shapes_that_go_together():
    a, b = _checks.broadcast("rows", [[0], [1]], "cols", [0, 1, 2])
    assert a.shape == b.shape == (2, 3)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_every_place_is_looked_at(bad, monkeypatch):
    monkeypatch.setattr(_checks, "_CHUNK", 5)
    for make in (np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]):
        for where in range(12):
            values = np.zeros((4, 3))
            values.flat[where] = bad
            with pytest.raises(ValueError, match=f"^X must hold finite numbers only; it contains {bad}$"):
                _checks.finite("X", make(values))
        assert _checks.finite("X", make(np.zeros((4, 3)))) is None
    assert _checks.finite("X", np.zeros((0, 3))) is None
    assert _checks.finite("X", np.array([1, 2])) is None


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_late_nan_is_found_without_a_copy(order):
    M = np.ones((1500, 2000), order=order)
    M[-1, -1] = NAN
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"^M must hold finite numbers only; it contains nan$"):
            _checks.finite("M", M)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * M.nbytes


def test_what_came_is_told_in_a_few_words():
    assert _checks.came(sp.eye_array(3)).endswith(" of shape (3, 3)")
    assert _checks.came("a\nb") == r"'a\nb'"
    assert _checks.came(list(range(100))).endswith("...")
    assert len(_checks.came(list(range(100)))) < 100


def test_what_is_several():
    assert all(map(_checks.several, ([], (1,), {1}, range(3), np.ones(1), iter([1]))))
    assert not any(map(_checks.several, ("ab", b"ab", 1, None, np.array(1.0), np.float64(2.0))))
