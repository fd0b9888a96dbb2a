"""The compiled loop of `ranking`: as in `_loops`, for ranges of rows."""

import numpy as np

from fewatoms._dense import jit
from fewatoms._types import Array


@jit
def places(scores: Array, starts: Array, others: Array, first: int, last: int, above: Array, tied: Array) -> None:
    """For the entries e of row i: how many of its scores are above that of column others[e], and how many equal it."""
    q = scores.shape[1]
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            own = scores[i, others[e]]
            higher, same = np.int64(0), np.int64(0)
            for j in range(q):
                higher += scores[i, j] > own
                same += scores[i, j] == own
            above[e], tied[e] = higher, same
