"""What is kept of a thing: its kind, a few plain words and numbers, arrays, and the things inside it.

Whatever can be written to a file, or left behind in a pickle, is told in this form; `files.py` knows how each kind is
made again. A tree of these is one plain header (for JSON) and one flat dictionary of arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias, cast

import numpy as np

from fewatoms._types import Array

# What JSON can hold: None, truth values, numbers, strings, and lists and dictionaries of these.
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True, eq=False)
class Kept:
    """One thing.

    kind : by which it is made again
    told : words and numbers
    arrays : by name
    inner : what it is made of
    """

    kind: str
    told: Mapping[str, Plain] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    inner: tuple[Kept, ...] = ()


def flattened(kept: Kept, at: str) -> tuple[Plain, dict[str, Array]]:
    """A tree as a header and arrays, whose names begin with `at`."""
    arrays = {f"{at}.{name}": array for name, array in kept.arrays.items()}
    inside: list[Plain] = []
    for i, thing in enumerate(kept.inner):
        header, more = flattened(thing, f"{at}.{i}")
        inside.append(header)
        arrays |= more
    names: list[Plain] = [*kept.arrays]
    return {"kind": kept.kind, "told": dict(kept.told), "arrays": names, "inner": inside}, arrays


def gathered(header: Plain, arrays: Mapping[str, Array], at: str) -> Kept:
    """The tree that `flattened` wrote."""
    known = section(header)
    inside = tuple(gathered(thing, arrays, f"{at}.{i}") for i, thing in enumerate(rows(known["inner"])))
    names = [str(name) for name in rows(known["arrays"])]
    return Kept(str(known["kind"]), section(known["told"]), {n: arrays[f"{at}.{n}"] for n in names}, inside)


# Readers of plain headers: each refuses what is not of the kind that it reads -----------------------------------------


def section(value: Plain) -> dict[str, Plain]:
    """A part of a header that has names."""
    if not isinstance(value, dict):
        raise ValueError(f"a header must have named parts there; got {value!r}")
    return value


def rows(value: Plain) -> list[Plain]:
    """A part of a header that is a list."""
    if not isinstance(value, list):
        raise ValueError(f"a header must have a list there; got {value!r}")
    return value


def real(value: Plain) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a header must have a number there; got {value!r}")
    return float(value)


def whole(value: Plain) -> int:
    """An integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a header must have an integer there; got {value!r}")
    return value


def maybe(value: Plain) -> float | None:
    """A number or nothing."""
    return None if value is None else real(value)


def shape(value: Plain) -> tuple[int, ...]:
    """The shape of models."""
    told = tuple(whole(n) for n in rows(value))
    if min(told, default=0) < 0:
        raise ValueError(f"a header must have the shape of an array there; got {value!r}")
    return told


# And of arrays: each refuses what would be misread later --------------------------------------------------------------


def reals(array: Array, count: int | None = None) -> Array:
    """Real numbers, so many of them where that is known."""
    return _of_kind(array, "fiub", "real numbers", count)


def finite(array: Array, count: int | None = None) -> Array:
    """Real numbers none of which is nan or infinite."""
    found = reals(array, count)
    if not np.isfinite(found).all():
        raise ValueError("an array must hold finite numbers there")
    return found


def numbers(array: Array, axes: int) -> Array:
    """Real or complex numbers in so many axes."""
    if array.ndim != axes:
        raise ValueError(f"an array must have {axes} axes there; got shape {array.shape}")
    return _of_kind(array, "fiubc", "numbers", None)


def places(array: Array, among: int, count: int | None = None) -> Array:
    """Integers that number things, of which there are so many."""
    found = _of_kind(array, "iu", "integers", count)
    if found.size and not 0 <= found.min() <= found.max() < among:
        raise ValueError(f"places must lie between 0 and {among - 1}; got {found.min()} to {found.max()}")
    return found


def starts(array: Array, count: int) -> Array:
    """Where parts of so many things begin, the end appended."""
    found = _of_kind(array, "iu", "integers", None)
    if found.ndim != 1 or found[0] != 0 or found[-1] != count or (np.diff(found) < 0).any():
        raise ValueError(f"parts must follow each other from 0 to {count}; got {found}")
    return found


def _of_kind(array: Array, kinds: str, told: str, count: int | None) -> Array:
    if array.dtype.kind not in kinds:
        raise ValueError(f"an array must hold {told} there; got {array.dtype}")
    if count is not None and array.shape != (count,):
        raise ValueError(f"an array must hold {count} of them there; got shape {array.shape}")
    return array


# Generators ----------------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator) -> Plain:
    """The state of a generator in words and numbers."""
    return _plain(rng.bit_generator.state)


def draw_on(rng: np.random.Generator, state: Plain) -> None:
    """Bring a generator into a state that `drawn` told."""
    rng.bit_generator.state = _state(state)


def _plain(state: object) -> Plain:
    if isinstance(state, dict):
        return {str(name): _plain(value) for name, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"array": state.dtype.str, "values": state.tolist()}
    return cast("Plain", state.item() if isinstance(state, np.generic) else state)


def _state(told: Plain) -> Any:
    if isinstance(told, dict) and "array" in told:
        return np.array(told["values"], dtype=str(told["array"]))
    return {name: _state(value) for name, value in told.items()} if isinstance(told, dict) else told


def plain_rng(rng: object) -> Plain:
    """What was given as rng, if it can be kept."""
    if isinstance(rng, np.random.Generator):
        return {"generator": type(rng.bit_generator).__name__, "state": drawn(rng)}
    if rng is None or isinstance(rng, int | np.integer):
        return None if rng is None else int(rng)
    told = np.asarray(rng)
    return {"seeds": told.tolist()} if told.dtype.kind in "iu" else {"told": repr(rng)}


def rng_of(told: Plain) -> object:
    """What was given as rng."""
    if not isinstance(told, dict):
        return told
    if "seeds" in told:
        return told["seeds"]
    name = str(told.get("generator"))
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise ValueError(f"rng must be given again as it was, to the call itself: it is not kept; got {told}")
    rng = np.random.Generator(vars(np.random)[name](0))
    draw_on(rng, told["state"])
    return rng


# Many trees of few kinds ----------------------------------------------------------------------------------------------


def packed(things: Sequence[Kept]) -> Kept:
    """Many trees as one: those of one build have their arrays of one name put into a single one."""
    flat = [flattened(thing, "") for thing in things]
    builds: dict[str, list[int]] = {}
    for i, (header, arrays) in enumerate(flat):
        kinds = {name: [_kind(array), array.ndim] for name, array in arrays.items()}
        builds.setdefault(json.dumps([header, kinds]), []).append(i)
    which, packs = np.zeros(len(things), dtype=np.intp), []
    for number, members in enumerate(builds.values()):
        which[members] = number
        header = flat[members[0]][0]
        columns: dict[str, Array] = {}
        for name in flat[members[0]][1]:
            each = [flat[i][1][name] for i in members]
            columns[f"{name} values"] = np.concatenate([array.ravel() for array in each])
            columns[f"{name} shapes"] = np.array([array.shape for array in each], dtype=np.intp)
        packs.append(Kept("pack", {"build": header}, columns))
    return Kept("packs", {}, {"which": which}, tuple(packs))


def unpacked(packs: Kept) -> list[Kept]:
    """The trees that `packed` put together, in their order."""
    streams = [_unpacked(pack) for pack in packs.inner]
    return [next(streams[number]) for number in packs.arrays["which"]]


def _unpacked(pack: Kept) -> Iterator[Kept]:
    names = [name.removesuffix(" values") for name in pack.arrays if name.endswith(" values")]
    shapes = {name: pack.arrays[f"{name} shapes"] for name in names}
    ends = {name: np.cumsum(shapes[name].prod(axis=1, dtype=np.intp)) for name in names}
    for i in count():
        arrays = {}
        for name in names:
            start = ends[name][i - 1] if i else 0
            piece = pack.arrays[f"{name} values"][start : ends[name][i]]
            arrays[name] = piece.reshape(tuple(shapes[name][i]))
        yield gathered(pack.told["build"], arrays, "")


def _kind(array: Array) -> str:
    """Strings of all lengths are of one kind."""
    return array.dtype.kind if array.dtype.kind in "USO" else array.dtype.str
