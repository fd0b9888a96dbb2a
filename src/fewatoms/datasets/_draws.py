"""The seeds that the generators take, and the draws that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewatoms import _checks

Seed: TypeAlias = (
    int
    | Sequence[int]
    | np.random.SeedSequence
    | np.random.BitGenerator
    | np.random.Generator
    | np.random.RandomState
    | None
)


def generator(rng: Seed) -> np.random.Generator:
    """Turn `rng` into a random generator, as `numpy.random.default_rng` does; None stands for a fixed seed."""
    return _checks.generator(rng)


def signs(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Draw `size` numbers, each +1 or -1 with equal chance."""
    return rng.choice([-1.0, 1.0], size)
