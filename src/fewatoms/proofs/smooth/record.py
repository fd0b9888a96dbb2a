"""The table of a search under way."""

from __future__ import annotations

from array import array

import numpy as np

from fewatoms._types import IntArray
from fewatoms.proofs.smooth.given import Posed
from fewatoms.proofs.smooth.nodes import Bounded
from fewatoms.proofs.smooth.table import Table

NODE = 3 * 8 + 2 * 8  # bytes of a node besides its coefficients
COEFFICIENT = 12


class Record:
    """Nodes in the order in which they are found, as bytes."""

    def __init__(self, posed: Posed) -> None:
        self._posed = posed
        self._parent, self._atom, self._side = array("q"), array("q"), array("b")
        self._ends, self._places, self._values = array("q", [0]), array("i"), array("d")
        self._v = array("d")
        self._fixed: dict[int, tuple[IntArray, IntArray]] = {}
        self._fixings = 0
        self._again: dict[int, float] = {}

    @property
    def size(self) -> int:
        return len(self._parent)

    @property
    def bytes(self) -> int:
        """What it holds, roughly."""
        return NODE * self.size + COEFFICIENT * len(self._places) + 8 * len(self._v) + 9 * self._fixings

    def add(self, parent: int, atom: int, side: int, known: Bounded) -> int:
        """A node; its number."""
        places = np.flatnonzero(known.x)
        self._parent.append(parent)
        self._atom.append(atom)
        self._side.append(side)
        self._places.frombytes(places.astype(np.int32).tobytes())
        self._values.frombytes(known.x[places].tobytes())
        self._ends.append(len(self._places))
        self._v.frombytes(self._posed.free(known.x, known.v).tobytes())
        return self.size - 1

    def fix(self, node: int, fixed: IntArray, sides: IntArray) -> None:
        """Classes that a node decides."""
        self._fixed[node] = fixed.astype(np.int32), sides.astype(np.int8)
        self._fixings += fixed.size

    def again(self, node: int, bound: float) -> None:
        """All that is below a node was looked at, and has no lower bound."""
        self._again[node] = bound

    def table(self) -> Table:
        nothing = np.empty(0, dtype=np.int32)
        fixed = [self._fixed.get(node, (nothing, nothing)) for node in range(self.size)]
        sizes = [which.size for which, _ in fixed]
        q = self._posed.F.shape[1]
        return Table(
            parent=np.array(self._parent, dtype=np.int64),
            atom=np.array(self._atom, dtype=np.int64),
            side=np.array(self._side, dtype=np.int64),
            starts=np.array(self._ends, dtype=np.int64),
            places=np.array(self._places, dtype=np.int64),
            values=np.array(self._values, dtype=np.float64),
            v=np.array(self._v, dtype=np.float64).reshape(self.size, q),
            fixed_starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            fixed=np.concatenate([which for which, _ in fixed] or [nothing]).astype(np.int64),
            fixed_side=np.concatenate([sides for _, sides in fixed] or [nothing]).astype(np.int64),
            shift=self._posed.shift,
            again=np.array(list(self._again), dtype=np.int64),
            again_bound=np.array(list(self._again.values()), dtype=np.float64),
        )
