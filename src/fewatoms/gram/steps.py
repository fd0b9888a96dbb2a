"""The steps of a search by one name each, whether atoms are single columns or blocks of them.

`state.py` and `single.py` have them for single columns, `blocks.py` for blocks; the compiler chooses by the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fewatoms.gram import blocks, single, state
from fewatoms.gram.blocks import Blocks
from fewatoms.gram.state import State

Support = State | Blocks
R = TypeVar("R")

KINDS: dict[Callable[..., object], tuple[Callable[..., object], Callable[..., object]]] = {}


def _by_kind(one: Callable[..., R], block: Callable[..., R]) -> Callable[..., R]:
    """The step that is `one` for single columns and `block` for blocks."""

    def step(*args: object) -> R:
        return block(*args) if any(type(a) is Blocks for a in args) else one(*args)

    KINDS[step] = (one, block)
    return step


enter = _by_kind(state.enter, blocks.enter)
leave = _by_kind(state.leave, blocks.leave)
best_entry = _by_kind(state.best_entry, blocks.best_entry)
cheapest = _by_kind(state.cheapest, blocks.cheapest)
copy_state = _by_kind(state.copy_state, blocks.copy_state)
clear = _by_kind(single.clear, blocks.clear)
fits = _by_kind(single.fits, blocks.fits)
worths = _by_kind(single.worths, blocks.worths)
sizes = _by_kind(single.sizes, blocks.sizes)
settle = _by_kind(single.settle, blocks.settle)
swap = _by_kind(single.swap, blocks.swap)
relax = _by_kind(single.relax, blocks.relax)
best_pair = _by_kind(single.best_pair, blocks.best_pair)
