"""What a search leaves behind: a tree of nodes with their points, in arrays.

Node 0 is all there is to choose from. A node has a point, whose bound holds for the choices that are left at it, and
what that bound decides there; a node without children is a leaf, whose bound is its own. Children are two that differ
in one atom, in and out, or one that goes on at another stage, where other atoms are moved out of the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.kept import Plain
from fewatoms.proofs.base import Tree
from fewatoms.proofs.squares import NAME

# Why a node's bound holds: by its point; since leaps, a list or a search without a record have been over all of it;
# by what all atoms together leave.
POINT, LEAPS, LISTED, FITTED, SEARCHED = 0, 1, 2, 3, 4
NO_NODE = -1
A_NODE = 400  # bytes that keeping a node takes beside its point


@dataclass(eq=False)
class Grown:
    """The tree as it grows. Atoms are numbered as in the table."""

    parent: list[int] = field(default_factory=list)
    atom: list[int] = field(default_factory=list)
    side: list[int] = field(default_factory=list)
    stage: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    who: list[IntArray] = field(default_factory=list)
    x: list[FloatArray] = field(default_factory=list)
    decided: list[IntArray] = field(default_factory=list)
    stages: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    bytes: float = 0.0

    def add(self, parent: int, atom: int, side: int, stage: int, kind: int, who: IntArray, x: FloatArray) -> int:
        """A node: its number."""
        self.parent.append(parent)
        self.atom.append(atom)
        self.side.append(side)
        self.stage.append(stage)
        self.kind.append(kind)
        self.who.append(who)
        self.x.append(x)
        self.decided.append(EMPTY)
        self.bytes += A_NODE + 12 * who.size
        return len(self.parent) - 1

    def point(self, node: int, who: IntArray, x: FloatArray) -> None:
        """Another point for a node."""
        self.bytes += 12 * (who.size - self.who[node].size)
        self.who[node], self.x[node] = who, x

    def decide(self, node: int, places: IntArray, status: Array) -> None:
        """At a node these atoms are in or out, since the opposite is worse than the target: i + 1 or -(i + 1)."""
        told = np.where(status > 0, places + 1, -(places + 1))
        self.decided[node] = told
        self.bytes += told.nbytes

    def move(self, places: IntArray, D: FloatArray) -> int:
        """A stage: its number."""
        self.stages.append((places, D))
        self.bytes += 12 * places.size
        return len(self.stages) - 1

    def cut(self, count: int) -> None:
        """Forget all nodes but the first so many."""
        for rows in (self.parent, self.atom, self.side, self.stage, self.kind, self.who, self.x, self.decided):
            del rows[count:]

    def kept(self, lower: float, n: int) -> Tree:
        told: dict[str, Plain] = {"lower": lower, "atoms": n}
        arrays: dict[str, Array] = {
            "parent": np.array(self.parent, dtype=np.int32),
            "atom": np.array(self.atom, dtype=np.int32),
            "side": np.array(self.side, dtype=np.int8),
            "stage": np.array(self.stage, dtype=np.int32),
            "kind": np.array(self.kind, dtype=np.int8),
            **_rows("point", self.who, np.int32),
            **_rows("x", self.x, np.float64),
            **_rows("decided", self.decided, np.int32),
            **_rows("left", [places for places, _ in self.stages], np.int32),
            **_rows("moved", [D for _, D in self.stages], np.float64),
        }
        return Tree(NAME, told, arrays)


EMPTY: IntArray = np.empty(0, dtype=np.intp)


def _rows(name: str, rows: list[Array], kind: type) -> dict[str, Array]:
    """Rows of different lengths as one array, and where they start."""
    starts = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    together: Array = np.concatenate(rows).astype(kind) if rows else np.empty(0, dtype=kind)
    return {name: together, f"{name} starts": starts}
