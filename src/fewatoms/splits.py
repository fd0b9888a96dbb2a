"""Which data are left out, and which are fitted to; how a checkpoint knows them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, IntArray
from fewatoms.kept import Kept, Plain


class Split(NamedTuple):
    """The data left out, and those fitted to: all others, where nobody says."""

    held: IntArray
    fitted: IntArray | None = None

    def rest(self, m: int) -> IntArray:
        """Those fitted to, of so many."""
        if self.fitted is not None:
            return self.fitted
        others = np.ones(m, dtype=bool)
        others[self.held] = False
        return np.flatnonzero(others)


def rows_kept(splits: Sequence[Split] | None) -> dict[str, Array]:
    """The rows left out, and those fitted to, for a checkpoint."""
    arrays: dict[str, Array] = {}
    for i, one in enumerate(splits or ()):
        arrays |= {f"held {i}": one.held} | ({} if one.fitted is None else {f"fitted {i}": one.fitted})
    return arrays


def rows_again(arrays: Mapping[str, Array]) -> list[Split] | None:
    """These rows again."""
    count = sum(name.startswith("held") for name in arrays)
    return [Split(arrays[f"held {i}"], arrays.get(f"fitted {i}")) for i in range(count)] or None


def digest_of_rows(splits: Sequence[Split] | None) -> str | None:
    """By which they are known to be the same."""
    arrays = rows_kept(splits)
    return linalg.digest(np.concatenate([np.append(arrays[name], -1) for name in sorted(arrays)])) if arrays else None


def choice_told(
    by: str,
    rule: str,
    numbers: tuple[float, int],
    ridges: Sequence[float],
    splits: Sequence[Split] | None,
    path: Callable[[], Kept],
) -> Callable[[], tuple[dict[str, Plain], Kept]]:
    """What tells one choice of k from another, for a checkpoint: how it is made, gamma and how often rows are left out
    among the rest, of which rows and which path."""

    def told() -> tuple[dict[str, Plain], Kept]:
        gamma, times = numbers
        words: dict[str, Plain] = {"by": by, "rule": rule, "gamma": gamma, "times": times, "ridges": [*ridges]}
        return words | {"rows": digest_of_rows(splits)}, Kept("choice", {}, rows_kept(splits), (path(),))

    return told
