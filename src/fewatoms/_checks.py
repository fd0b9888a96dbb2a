"""Checks at the doors: each raises one sentence that names the argument, the demand and what came."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray

_CHUNK = 1 << 20
SHOWN_WIDE = 80  # characters of what came
UNITS = "M must be in units in which the squares of its entries are ordinary numbers; they are too {} here: rescale it"
SMALLEST_SIZE, LARGEST_SIZE = 1e-150, 1e150  # sizes whose squares are numbers


def came(value: object) -> str:
    """What came, in a few words: things with axes by their shape, classes by name, others as they print themselves."""
    shape = getattr(value, "shape", None)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(shape, tuple) and len(shape) > 0:
        kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        return f"{kind} of shape {shape}"
    told = " ".join(repr(value).split())
    return told if len(told) <= SHOWN_WIDE else f"{told[:SHOWN_WIDE]}..."


def several(value: object) -> bool:
    """Whether a value is several: a list, an array with axes, whatever can be gone through and is no word."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "shape", None) != ()


def axes(name: str, value: npt.ArrayLike) -> tuple[int, ...]:
    """The shape of what may be a list of lists."""
    try:
        return np.shape(value)
    except ValueError:
        raise ValueError(f"{name} must be an array, with rows of one length; got rows of different lengths") from None


@contextmanager
def told_of(mine: str, theirs: str) -> Iterator[None]:
    """Messages about an argument, told of the one that a user knows it by."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith(f"{mine} must "):
            raise
        raise type(error)(theirs + str(error).removeprefix(mine)) from None


def heard(callback: object) -> Sequence[Callable[..., object]]:
    """The callbacks that an argument is, none, one or several; refused where nobody can call them: a class is made an
    object first."""
    demand = "callback must be callable, a function of a Progress, a list of these, or an object such as Deadline(5)"
    found: list[Callable[..., object]] = []
    for one in callback if isinstance(callback, list | tuple) else () if callback is None else (callback,):
        if not callable(one) or isinstance(one, type):
            raise TypeError(f"{demand}; got {came(one)}")
        found.append(one)
    return found


def file_name(file: object) -> str:
    """Return the name of a file as a string."""
    demand = "file must be the name of a file, a string or a pathlib.Path"
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise TypeError(f"{demand}; got {came(file)}")
    if not name or "\0" in name:
        raise ValueError(f"{demand}; got {name!r}")
    return name


def integer(name: str, value: Any, low: int, high: int | None = None, limit: str = "") -> int:
    """Return `value` as an int in [low, high], or say what is wrong with it; `limit` is how the message spells high."""
    if high is None:
        demand = f"{name} must be an integer of at least {low}"
    else:
        demand = f"{name} must be an integer between {low} and {limit or high}"
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{demand}; got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{demand}; got {came(value)}") from None
    if number < low or (high is not None and number > high):
        raise ValueError(f"{demand}; got {number}")
    return number


def flag(name: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {came(value)}")
    return bool(value)


def number(name: str, value: Any, *, positive: bool = False, infinite: bool = False) -> float:
    """Return `value` as a float that is finite and nonnegative (or positive)."""
    demand = f"{name} must be a {'positive' if positive else 'nonnegative'} {'' if infinite else 'finite '}number"
    if isinstance(value, (bool, np.bool_, str, bytes)) or several(value):
        raise TypeError(f"{demand}; got {came(value)}")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{demand}; got {came(value)}") from None
    if math.isnan(result) or result < 0 or (positive and result == 0) or (math.isinf(result) and not infinite):
        raise ValueError(f"{demand}; got {value!r}")
    return result


def finite(name: str, values: Array) -> None:
    """Refuse NaN and infinity, reading `values` in chunks so that no copy of its size is made."""
    if values.dtype.kind in "biu":
        return
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        chunks = (flat[i : i + _CHUNK] for i in range(0, flat.size, _CHUNK))
    else:
        rows = max(1, _CHUNK // max(1, values[:1].size))
        chunks = (values[i : i + rows] for i in range(0, len(values), rows))
    for chunk in chunks:
        good = np.isfinite(chunk)
        if not good.all():
            bad = chunk[~good].flat[0]
            raise ValueError(f"{name} must hold finite numbers only; it contains {bad}")


def ordinary(name: str, sizes: npt.ArrayLike) -> None:
    """Refuse sizes whose squares are no ordinary numbers: units that far off are better changed than guessed at."""
    values = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
    odd = values[(values < SMALLEST_SIZE) | (values > LARGEST_SIZE)]
    if odd.size:
        between = f"between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}"
        raise ValueError(f"{name} must be in units in which sizes lie {between}; got {odd[0]:g}: rescale it")


def unmasked(name: str, values: Any) -> None:
    """Refuse masked entries, which a plain array would show as if they were data."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        hidden = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must not have masked entries; {hidden} are masked: leave them out")


def generator(rng: Any) -> np.random.Generator:
    """Return `rng` as a generator; None stands for a fixed seed."""
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError) as error:
        demand = "rng must be None, a seed or a generator that numpy.random.default_rng accepts"
        raise type(error)(f"{demand}; got {came(rng)}") from None


def seed(rng: object) -> object:
    """What gives the same draws whenever it is used: a generator, which does not, gives a seed away."""
    return int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng


def real_vector(name: str, values: Any, size: int | None = None, what: str = "") -> FloatArray:
    """Return `values` as a new or shared flat float64 array of the given size with finite entries."""
    if sp.issparse(values):
        raise TypeError(f"{name} must be a dense array; got a sparse one: pass {name}.toarray()")
    unmasked(name, values)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real; got an array of {array.dtype}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got an array of {array.dtype}{as_numbers(name, array)}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have {size} entries{what}; got shape {array.shape}")
    finite(name, array)
    return np.asarray(array.ravel(), dtype=np.float64)


def as_numbers(name: str, array: Array) -> str:
    """What to do about objects, which may be numbers that are kept so."""
    return f": if they are numbers, pass {name}.astype(float)" if array.dtype.kind == "O" else ""


def indices(name: str, values: Any, high: int | None = None, *, narrow: bool = False) -> Array:
    """Return `values` as a flat array of integers in [0, high), or of any that are not negative.

    Integers of 32 bits stay so where `narrow` ones will do.
    """
    array = np.asarray(values).ravel()
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; got an array of {array.dtype}")
    top = np.iinfo(np.intp).max if high is None else high
    if array.size and (array.min() < 0 or array.max() >= top):
        bad = array[(array < 0) | (array >= top)][0]
        demand = "must not be negative" if high is None else f"must lie between 0 and {high - 1}"
        raise ValueError(f"{name} {demand}; got {bad}")
    return array if narrow and array.dtype == np.int32 else array.astype(np.intp, copy=False)


def broadcast(name: str, values: Any, other: str, others: Any) -> tuple[Array, Array]:
    """Return both as arrays of one shape."""
    try:
        a, b = np.broadcast_arrays(values, others)
    except ValueError:
        shapes = f"{np.shape(values)} and {np.shape(others)}"
        raise ValueError(f"{name} and {other} must have shapes that go together; got {shapes}") from None
    return a, b


def shape2(name: str, value: Any) -> tuple[int, int]:
    """Return `value` as a pair of positive integers."""
    try:
        p, q = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair of integers (rows, columns); got {came(value)}") from None
    return integer(f"{name}[0]", p, 1), integer(f"{name}[1]", q, 1)


def shape(name: str, value: Any) -> tuple[int, ...]:
    """Return a length or a pair of them as a tuple."""
    given = getattr(value, "shape", None)
    if isinstance(given, tuple) and given not in ((), (2,)):
        hint = f": for its columns pass {given[1]}" if len(given) == 2 else ""
        raise TypeError(f"{name} must be an integer, or a pair (rows, columns); got {came(value)}{hint}")
    if given == (2,) or isinstance(value, (tuple, list)):
        return shape2(name, value)
    return (integer(name, value, 1),)


def face(value: object) -> None:
    """Refuse what the `expose` of a set returned, unless it is a face."""
    if not hasattr(value, "restrict"):
        told = "atoms.expose must return a Face (faces.Explicit.of makes one of arrays)"
        raise TypeError(f"{told}; got {type(value).__name__}")


def single(value: object) -> object:
    """What a tuple or list of one holds, as the shape of a vector is one; anything else as it is."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


def real(name: str, value: Any, demand: str) -> float:
    """Return `value` as a float; whether it is in range is for the caller, by `require`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be {demand}; got {came(value)}")
    return float(value)


def require(holds: bool, name: str, demand: str, value: Any) -> None:
    """Raise ValueError, naming argument, demand and what came, unless the demand holds."""
    if not holds:
        raise ValueError(f"{name} must be {demand}; got {came(value)}")
