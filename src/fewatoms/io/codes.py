"""Ids as codes, batch by batch: who has been seen is kept once, everything else is 32-bit numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fewatoms._types import Array
from fewatoms.io.cells import objects

# As whole numbers are written, also by those who see floats.
WHOLE_NUMBER = re.compile(r"(0|-?[1-9]\d{0,18})(\.0)?", re.ASCII)
STRIDE = 2**18


class Growing:
    """An array that parts are put behind, in one piece of memory: many pieces leave holes when they are given back."""

    def __init__(self, expected: int = 0) -> None:
        self.expected, self.filled = expected, 0
        self.array: Array = np.empty(0)

    def add(self, part: Array) -> None:
        if not self.filled:
            self.array = np.empty(max(self.expected, len(part)), dtype=part.dtype)
        after = self.filled + len(part)
        if after > len(self.array):
            self.array.resize(max(after, 5 * len(self.array) // 4), refcheck=False)
        self.array[self.filled : after] = part
        self.filled = after

    def whole(self) -> Array:
        """What was put in; nothing can be added after that."""
        self.array.resize(self.filled, refcheck=False)
        return self.array


class Coder:
    """Numbers the ids of one column in the order in which they come; `finished` puts them into order."""

    def __init__(self) -> None:
        self.rows = Growing()

    def add(self, once: Array, places: Array) -> None:
        """Some rows: the ids that are in them, each once, and which of these each row has."""
        self.rows.add(self.numbers(once).take(places))

    def numbers(self, once: Array) -> Array:
        """The codes of some ids, int32; new ones get the next."""
        raise NotImplementedError

    def ids(self) -> Array:
        """All ids by their codes."""
        raise NotImplementedError

    def ordered(self) -> tuple[Array, Array]:
        """All ids in ascending order, and the place among them of each code."""
        ids = self.ids()
        order = np.argsort(ids, kind="stable")
        rank = np.empty(len(ids), dtype=np.int32)
        rank[order] = np.arange(len(ids), dtype=np.int32)
        return ids[order], rank

    def finished(self) -> tuple[Array, Array]:
        """Codes of all rows, and ids by code, in ascending order."""
        (ids, rank), codes = self.ordered(), self.rows.whole()
        for start in range(0, len(codes), STRIDE):  # all at once would take places of 64 bits
            codes[start : start + STRIDE] = rank[codes[start : start + STRIDE]]
        return codes, ids


class WordCoder(Coder):
    """Ids that are strings; if all of them are whole numbers, that is what they are in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, int] = {}

    def numbers(self, once: Array) -> Array:
        known = self.known
        return np.array([known.setdefault(word, len(known)) for word in once.tolist()], dtype=np.int32)

    def ids(self) -> Array:
        words = list(self.known)
        self.known = {}
        return as_ids(words)


class NumberCoder(Coder):
    """Ids that are whole numbers, kept exact."""

    def __init__(self) -> None:
        super().__init__()
        self.sorted: Array = np.empty(0, dtype=np.int64)
        self.codes: Array = np.empty(0, dtype=np.int32)

    def numbers(self, once: Array) -> Array:
        places = np.searchsorted(self.sorted, once)
        new = places == len(self.sorted)
        new[~new] = self.sorted[places[~new]] != once[~new]
        fresh = np.unique(once[new])
        if len(fresh):
            where = np.searchsorted(self.sorted, fresh)
            following = np.arange(len(self.sorted), len(self.sorted) + len(fresh), dtype=np.int32)
            self.codes = np.insert(self.codes, where, following)
            self.sorted = np.insert(self.sorted, where, fresh)
        found: Array = self.codes[np.searchsorted(self.sorted, once)]
        return found

    def ids(self) -> Array:
        by_code = np.empty_like(self.sorted)
        by_code[self.codes] = self.sorted
        return by_code


def _all_whole(words: Sequence[str]) -> bool:
    """Whether all are whole numbers of 64 bits, written in one way, so that different words are different numbers."""
    found = [WHOLE_NUMBER.fullmatch(word) for word in words]
    if not words or len({None if each is None else each[2] for each in found}) != 1 or found[0] is None:
        return False
    return all(each is not None and -(2**63) <= int(each[1]) < 2**63 for each in found)


def as_ids(words: Sequence[str]) -> Array:
    """Words that are all written as whole numbers are in one way as such; else as they are."""
    return as_whole(words) if _all_whole(words) else objects(words)


def as_whole(words: Sequence[str]) -> Array:
    return np.array([int(word.removesuffix(".0")) for word in words], dtype=np.int64)
