"""The searches of `drivers.py`, compiled. Importing this imports numba.

The compiler is told that, inside what it compiles, a step of `state.py` or `blocks.py` means the loops of its namesake
in `_state.py` or `_blocks.py`, and which of them a step of `steps.py` is. All else compiles as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from threading import Event
from types import ModuleType
from typing import Any

from numba import config, njit
from numba.core.compiler import Compiler
from numba.extending import overload

from fewatoms.gram import _blocks, _state, blocks, disk, drivers, single, state, steps
from fewatoms.gram.who import NotKept

# what may be done with sums; infinities and nans keep their meaning
LOOPS: Any = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}

Step = Callable[..., object]
MEANINGS: dict[Step, Step] = {}


def _means(step: Step, text: Step) -> None:
    MEANINGS[step] = text
    overload(step, jit_options=LOOPS, strict=False)(lambda *kinds: text)


def _means_either(step: Step, one: Step, block: Step) -> None:
    def text(*kinds: Any) -> Step:
        of_blocks = any(getattr(kind, "instance_class", None) is blocks.Blocks for kind in kinds)
        return MEANINGS[block if of_blocks else one]

    overload(step, jit_options=LOOPS, strict=False)(text)


def _functions(module: ModuleType) -> dict[str, Step]:
    return {name: f for name, f in vars(module).items() if isfunction(f) and f.__module__ == module.__name__}


for _said, _loops in ((state, _state), (blocks, _blocks)):
    for _name, _step in _functions(_loops).items():
        _means(_step, _step)
        if _name in _functions(_said):
            _means(_functions(_said)[_name], _step)
for _step in (*_functions(single).values(), *_functions(drivers).values(), blocks.relax):
    _means(_step, _step)
for _step, (_one, _block) in steps.KINDS.items():
    _means_either(_step, _one, _block)

NUMBA: Any = config
ONLY_KEPT = Event()  # once set, what is not on disk is not compiled


class _Compiler(Compiler):
    def compile_extra(self, func: Any) -> Any:
        if ONLY_KEPT.is_set():
            raise NotKept(f"no machine code for {func.__name__} of these arguments")
        usual: Any = super().compile_extra
        return usual(func)


def _kernel(text: Step) -> Any:
    """Compiled when it is called, and kept on disk where that can be."""
    place = disk.folder()
    if place is None:
        return njit(pipeline_class=_Compiler, **LOOPS)(text)
    before, NUMBA.CACHE_DIR = NUMBA.CACHE_DIR, str(place)
    try:
        return njit(cache=True, pipeline_class=_Compiler, **LOOPS)(text)
    finally:
        NUMBA.CACHE_DIR = before


search = _kernel(drivers.search)
sweep = _kernel(drivers.sweep)
rung = _kernel(drivers.rung)
