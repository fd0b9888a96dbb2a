"""The searches, compiled. Importing this imports numba.

Texts compile as they stand, in a world of names of their own: there, a step of `state.py`, `exchanges.py` or
`blocks.py` means the loops of its namesake in `_state.py`, `_exchanges.py` or `_blocks.py`, and a step of `steps.py`
the one for single columns or, in another world, the one for blocks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import isfunction, ismodule
from threading import Event
from types import FunctionType, ModuleType
from typing import Any

from numba import config, njit
from numba.core.compiler import Compiler

from fewatoms.gram import _blocks, _exchanges, _state, blocks, columns, disk, drivers, exchanges, state, steps
from fewatoms.gram.who import NotKept

# what may be done with sums; infinities and nans keep their meaning
LOOPS: dict[str, object] = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}
PART = {**LOOPS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # nobody calls it from Python
# Parts that only say what is done when, from one place or a few: by themselves they would be compiled and optimised
# once more for every part that leads to them. Long loops stay apart, and are faster so.
INLINED = {
    "better", "clear", "demanded", "descend", "fill", "fits", "fresh", "hard", "leading", "noted", "pairs", "refill",
    "relax", "room", "settle", "shake", "shrunk", "sizes", "swap", "swap_nonnegative", "wanting",
}  # fmt: skip
ONLY_KEPT = Event()  # once set, what is not on disk is not compiled
NUMBA: Any = config
COMPILE: Any = njit

Step = Callable[..., object]

MEANINGS: dict[Step, Step] = {
    step: vars(loops)[name]
    for said, loops in ((state, _state), (exchanges, _exchanges), (blocks, _blocks))
    for name, step in vars(said).items()
    if isfunction(step) and step.__module__ == said.__name__ and name in vars(loops)
}


class World:
    """What names mean to the compiler, where atoms are single columns or where they are blocks."""

    def __init__(self, of_blocks: bool) -> None:
        self._of_blocks = of_blocks
        self._rooms: dict[str, ModuleType] = {}
        self._parts: dict[FunctionType, object] = {}

    def text(self, step: Step) -> FunctionType:
        """The function that a step means, among the names of this world."""
        meant = self._meaning(step)
        return FunctionType(meant.__code__, vars(self._room(meant.__module__)), meant.__name__)

    def _meaning(self, step: Step) -> FunctionType:
        if step in steps.KINDS:
            step = steps.KINDS[step][self._of_blocks]
        meant = MEANINGS.get(step, step)
        assert isfunction(meant)
        return meant

    def _room(self, name: str) -> ModuleType:
        """A module of this package in which steps are parts that compile."""
        if name not in self._rooms:
            room = self._rooms[name] = ModuleType(name)
            vars(room).update(vars(sys.modules[name]))
            for word, thing in vars(sys.modules[name]).items():
                if ismodule(thing) and _ours(thing.__name__):
                    vars(room)[word] = self._room(thing.__name__)
                elif isfunction(thing) and _ours(thing.__module__):
                    vars(room)[word] = self._part(self._meaning(thing))
        return self._rooms[name]

    def _part(self, step: FunctionType) -> object:
        text = self.text(step)  # which may lead to this part
        if step not in self._parts:
            inline = "always" if step.__name__ in INLINED else "never"
            self._parts[step] = COMPILE(inline=inline, **PART)(text)
        return self._parts[step]


def _ours(module: str) -> bool:
    return module.startswith(f"{__name__.rpartition('.')[0]}.")


class _Compiler(Compiler):
    def compile_extra(self, func: FunctionType) -> object:
        if ONLY_KEPT.is_set():
            raise NotKept(f"no machine code for {func.__name__} of these arguments")
        usual: Step = super().compile_extra
        return usual(func)


def _kernel(world: World, step: Step) -> Any:
    """Compiled when it is called, and kept on disk where that can be."""
    place, before = disk.folder(), NUMBA.CACHE_DIR
    NUMBA.CACHE_DIR = before if place is None else str(place)
    try:
        return COMPILE(cache=place is not None, pipeline_class=_Compiler, **LOOPS)(world.text(step))
    finally:
        NUMBA.CACHE_DIR = before


_one, _of_blocks = World(False), World(True)
KERNELS = {
    "ladder": _kernel(_one, drivers.ladder),
    "sweep": _kernel(_one, drivers.sweep),
    "search": _kernel(_one, drivers.search),
    "many": _kernel(_one, columns.many),
    "sweep-blocks": _kernel(_of_blocks, drivers.sweep),
    "search-blocks": _kernel(_of_blocks, drivers.search),
}
ladder, many = KERNELS["ladder"], KERNELS["many"]


def _which(name: str, held: object) -> Any:
    return KERNELS[f"{name}-blocks" if type(held) is blocks.Blocks else name]


def sweep(*args: object) -> object:
    """Of single columns or of blocks."""
    return _which("sweep", args[3])(*args)


def search(*args: object) -> object:
    """Of single columns or of blocks."""
    return _which("search", args[3])(*args)
