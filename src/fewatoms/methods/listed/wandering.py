"""Where rows are few for so many atoms, supports that have nothing in common fit alike, and exchanges end in many
places: a search goes on from parts of the best support, and from the atoms that stand behind it."""

from __future__ import annotations

import numpy as np

from fewatoms import linalg
from fewatoms._types import IntArray
from fewatoms.methods.listed.small import Small
from fewatoms.methods.listed.support import Support

PARTS, COST = 16, 2e8  # of a support at once; multiplications that holding them against all atoms may cost
EACH = 4  # atoms that a part of a support asks for at least
WANDERED = 6.0  # rounds for each unit of roughness, beyond the first sixth
ROUGH = 0.5  # the roughness from which ladders look further too


def roughness(k: int, count: int, rows: int) -> float:
    """The logarithm of the number of supports of k among so many atoms, roughly, for each row of data."""
    return float(k * np.log(np.e * count / k) / rows)


def rounds(k: int, count: int, rows: int) -> float:
    """How often a search goes on."""
    return max(0.0, WANDERED * roughness(k, count, rows) - 1.0)


def parts(support: Support, rows: int, rng: np.random.Generator) -> list[IntArray]:
    """Classes of a support, from all but one down to half of them, at random; fewer parts where products are dear."""
    classes = support.classes
    least, most = 1, classes.size // 2 + 1
    number = int(min(PARTS, max(1.0, COST / (rows * float(support.view.count)))))
    return [rng.permutation(classes)[rng.integers(least, most, endpoint=True) :] for _ in range(number)]


def behind(small: Small, parts: list[IntArray]) -> IntArray:
    """Classes outside of the working set that stand behind those of a support: the best aligned with what is left where
    parts of it alone stay. Single exchanges never see them."""
    view, images = small.view, small.images
    left = np.empty((images.target.size, len(parts)))
    for i, part in enumerate(parts):
        Q = np.linalg.qr(linalg.dense(images.columns(images.slots(part))))[0]
        left[:, i] = images.target - Q @ (Q.T @ images.target)
    Z = view.pull_block(view.outer.adjoint_block(linalg.rowwise(images.root, left)))
    offers = []
    for z, part in zip(Z, parts, strict=True):
        promise = small.promise(z)
        promise[small.classes] = -np.inf
        best = linalg.top_k(promise, max(EACH, part.size // 3))
        offers.append(best[promise[best] > 0])
    return np.unique(np.concatenate(offers))
