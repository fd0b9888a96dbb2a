"""The atoms of an answer: names, coefficients, contributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import tables
from fewatoms._types import FloatArray

if TYPE_CHECKING:
    from fewatoms.solution import Solution


@dataclass(frozen=True, eq=False)
class Atoms:
    """One row for each atom, in the order of the answer.

    labels : what atoms are called, or their numbers; in sums with the part before
    heads : what columns of coefficients are for: one, or one for each data vector or class
    values : the coefficients, a column for each head
    parts : of sums, which one; 0 where there is one alone
    shares, costs : contributions, and what leaving an atom out costs; nan where nobody knows
    """

    labels: list[str]
    heads: list[str]
    values: FloatArray
    shares: FloatArray
    costs: FloatArray
    parts: FloatArray

    @classmethod
    def of(cls, solution: Solution, names: list[str] | None = None) -> Atoms:
        """Of an answer; `names` are for atoms that are numbered and have none."""
        return cls._read(solution.by_atom, solution.cardinality, names)

    @classmethod
    def unmeasured(cls, solution: Solution) -> Atoms:
        """Without contributions and costs, which may be dear."""
        return cls._read(tables.columns(solution, None), solution.cardinality, None)

    @classmethod
    def _read(cls, columns: tables.Columns, count: int, names: list[str] | None) -> Atoms:
        named = [*columns.get("name", [None] * count)]
        numbered = columns.get("atom", [None] * count)
        labels = [
            str(name) if name is not None else _number(number, names)
            for name, number in zip(named, numbered, strict=True)
        ]
        if "part" in columns:
            labels = [f"part {part}: {label}" for part, label in zip(columns["part"], labels, strict=True)]
        heads, values = _coefficients(columns)
        shares, costs = (
            np.array([_real(v) for v in columns[key]], dtype=np.float64) for key in ("contribution", "cost")
        )
        parts = np.array(columns.get("part", [0] * count), dtype=np.float64)
        return cls(labels, heads, values.reshape(count, len(heads)), shares, costs, parts)

    @property
    def weights(self) -> FloatArray:
        """How much each atom matters, as a share of the largest one of its part, with the sign of its coefficient:
        contributions, which know no units, or coefficients where those are not known."""
        sizes, measured = self.sizes, not np.isnan(self.shares).any()
        raw = self.shares if measured else np.abs(sizes)
        largest = {part: float(raw[self.parts == part].max()) for part in np.unique(self.parts).tolist()}
        most = np.array([largest[part] for part in self.parts.tolist()])
        return np.where(sizes < 0, -raw, raw) / np.where(most > 0, most, 1.0)

    @property
    def sizes(self) -> FloatArray:
        """How large each atom's coefficients are, with a sign where there is one of them."""
        return self.values[:, 0] if len(self.heads) == 1 else np.linalg.norm(self.values, axis=1)


def _coefficients(columns: tables.Columns) -> tuple[list[str], FloatArray]:
    """Heads and values of coefficients with their signs; of groups of several columns the lengths of these."""
    signed = [key for key in columns if key.startswith("coefficient")]
    lengths = [key for key in columns if key.startswith("length")]
    values, sizes = (np.array([[_real(v) for v in columns[k]] for k in ks], dtype=float).T for ks in (signed, lengths))
    if not signed or not lengths:
        return (signed, values) if signed else (lengths, sizes)
    return [f"{a}, or length" for a in signed], np.where(np.isnan(values), sizes, values)


def _number(number: object, names: list[str] | None) -> str:
    return names[number] if names is not None and isinstance(number, int) else str(number)


def _real(value: object) -> float:
    return value if isinstance(value, float) else np.nan
