"""A low-rank matrix by itself: predictions, the largest entries of a row, new rows and columns, files."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewatoms import _checks, files, kept, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.backed import Backed
from fewatoms.beside import FittedBiases
from fewatoms.kept import Kept
from fewatoms.sides import NONE, Side

CHUNK = 1 << 16  # entries of a row looked at together
ROUNDS_OF_FOLDING = 20  # rounds of improving new rows at most, each a tenth as far off as the one before


class LowRank:
    """X = left @ right.T, with biases beside it if there are any. Nothing of the size of X is ever formed.

    Parameters
    ----------
    left, right : (p, k) and (q, k) arrays
    biases : FittedBiases or None
    ridge : (on the factors, on the biases), as new rows and columns are fitted with
    nonnegative : whether the factors of new rows and columns must not be negative
    background : the weight of cells of new rows and columns that are not named, as zeros; 0 where they do not count
    """

    def __init__(
        self,
        left: Any,
        right: Any,
        biases: FittedBiases | None = None,
        *,
        ridge: tuple[float, float] = (0.0, 0.0),
        nonnegative: bool = False,
        background: float = 0.0,
    ) -> None:
        self.left, self.right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if self.left.ndim != 2 or self.right.ndim != 2 or self.left.shape[1] != self.right.shape[1]:
            raise ValueError(
                f"left and right must have one column per atom each; got shapes {self.left.shape}, {self.right.shape}"
            )
        if biases is not None and not isinstance(biases, FittedBiases):
            raise TypeError(f"biases must be FittedBiases(center, rows, cols) or None; got {biases!r}")
        if biases is not None and (np.shape(biases.rows), np.shape(biases.cols)) != tuple((n,) for n in self.shape):
            sizes = f"{np.shape(biases.rows)} and {np.shape(biases.cols)}"
            raise ValueError(f"biases must have one number per row and column, {self.shape}; got shapes {sizes}")
        try:
            on_factors, on_biases = ridge
        except TypeError:
            raise TypeError(f"ridge must be a pair of numbers, for factors and biases; got {ridge!r}") from None
        self.ridge = _checks.number("ridge[0]", on_factors), _checks.number("ridge[1]", on_biases)
        self.biases, self.nonnegative = biases, nonnegative
        self.background = _checks.number("background", background)
        if biases is not None and background:
            raise ValueError(f"background must be 0 beside biases; got {background!r}")

    def __repr__(self) -> str:
        beside = "" if self.biases is None else ", with biases"
        return f"LowRank({self.shape[0]} x {self.shape[1]}, {self.left.shape[1]} atoms{beside})"

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[0], self.right.shape[0]

    def predict(self, rows: Any, cols: Any) -> FloatArray:
        """The entries (rows, cols), which are broadcast against each other, biases included."""
        rows, cols = _checks.broadcast("rows", rows, "cols", cols)
        i, j = _checks.indices("rows", rows, self.shape[0]), _checks.indices("cols", cols, self.shape[1])
        values = np.empty(i.size)
        for start in range(0, i.size, CHUNK):
            some = slice(start, start + CHUNK)
            values[some] = np.einsum("ij,ij->i", self.left[i[some]], self.right[j[some]])
        if self.biases is not None:
            values += self.biases.at(i, j)
        return values.reshape(rows.shape)

    def top(self, row: Any, n: int = 10, *, exclude: Any = None) -> tuple[Array, FloatArray]:
        """The columns with the n largest entries of a row, largest first, and those entries.

        `exclude` names columns to leave out, such as those seen already (indices, or a mask of all columns). The row
        is read a piece at a time.
        """
        p, q = self.shape
        row = _checks.integer("row", row, 0, p - 1)
        n = _checks.integer("n", n, 1)
        exclude = np.empty(0, dtype=np.intp) if exclude is None else np.asarray(exclude)
        if exclude.dtype.kind == "b" and exclude.shape == (q,):
            exclude = np.flatnonzero(exclude)
        out = np.unique(_checks.indices("exclude", exclude, q))
        cols, values = np.empty(0, dtype=np.intp), np.empty(0)
        for start in range(0, q, CHUNK):
            piece = self.right[start : start + CHUNK] @ self.left[row]
            if self.biases is not None:
                piece += self.biases.center + self.biases.rows[row] + self.biases.cols[start : start + CHUNK]
            piece[out[(out >= start) & (out < start + CHUNK)] - start] = -np.inf
            fresh = linalg.top_k(piece, n)
            fresh = fresh[piece[fresh] > -np.inf]
            cols = np.concatenate([cols, start + fresh])
            values = np.concatenate([values, piece[fresh]])
            keep = linalg.top_k(values, n)
            cols, values = cols[keep], values[keep]
        return cols, values

    def fold_in(
        self,
        rows: Any,
        cols: Any,
        values: Any,
        *,
        axis: int = 0,
        count: int | None = None,
        weights: Any = None,
        ridge: float | None = None,
    ) -> LowRank:
        """The matrix with new rows (axis 0) or columns (axis 1) behind its own, fitted to some of their entries.

        Parameters
        ----------
        rows, cols, values : (m,) arrays
            Entries of the new part; along `axis`, indices count from 0 at the first new row or column. rows and cols
            are broadcast against each other: one new row is `fold_in(0, cols, values)`.
        count : int, optional
            How many rows or columns are new. By default each of them has entries, and there are as many as these name.
        weights : (m,) array of positive numbers, optional
        ridge : float, optional
            On the factors of the new part; by default that of the fit. A few entries of a new row may want more of it
            than the fit to many.

        Notes
        -----
        Everything that was there stays as it is; with a background, cells that are not named are zeros of that weight.
        Each new row is a ridge regression of its entries on `right` (where
        they leave it undetermined, the shortest answer); it may have no entries, and is then predicted by the biases
        alone.
        """
        if axis not in (0, 1):
            raise ValueError(f"axis must be 0 (new rows) or 1 (new columns); got {axis!r}")
        names = ("rows", "cols") if axis == 0 else ("cols", "rows")
        features = self.right if axis == 0 else self.left
        rows, cols = _checks.broadcast("rows", rows, "cols", cols)
        new, old = (rows, cols) if axis == 0 else (cols, rows)
        new = _checks.indices(names[0], new)
        old = _checks.indices(names[1], old, len(features))
        values = _checks.real_vector("values", values, new.size, f" (one per entry of {names[0]})")
        if new.size == 0:
            raise ValueError("rows and cols must name at least one entry; got none")
        w = NONE if weights is None else _checks.real_vector("weights", weights, new.size, " (one per entry)")
        if w.size and w.min() <= 0:
            raise ValueError(f"weights must be positive; got {w.min()}")
        count = self._count(new, count, names[0])
        lam = self.ridge[0] if ridge is None else _checks.number("ridge", ridge)
        factor, bias = self._regressed(new, old, values, w, count, features, axis, lam)
        left, right = (np.concatenate([self.left, factor]), self.right) if axis == 0 else (
            self.left, np.concatenate([self.right, factor])
        )  # fmt: skip
        biases = self.biases
        if biases is not None:
            parts = [biases.rows, biases.cols]
            parts[axis] = np.concatenate([parts[axis], bias])
            biases = FittedBiases(biases.center, *parts)
        return self._with(left, right, biases)

    def _with(self, left: Array, right: Array, biases: FittedBiases | None) -> LowRank:
        bound, background = self.nonnegative, self.background
        return LowRank(left, right, biases, ridge=self.ridge, nonnegative=bound, background=background)

    @staticmethod
    def _count(new: Array, count: int | None, name: str) -> int:
        """How many rows (or columns) are new."""
        if count is not None:
            count = _checks.integer("count", count, 1)
            if new.max() >= count:
                raise ValueError(f"{name} must lie between 0 and count - 1 = {count - 1}; got {new.max()}")
            return count
        named = np.unique(new)
        if named[-1] >= named.size:
            missing = int(np.flatnonzero(named != np.arange(named.size))[0])
            raise ValueError(
                f"{name} must count the new ones from 0, each with entries; {named[-1]} is there and {missing} is not: "
                "say count=... if some have none"
            )
        return int(named.size)

    def _regressed(
        self,
        new: Array,
        old: Array,
        values: FloatArray,
        w: FloatArray,
        count: int,
        features: Array,
        axis: int,
        lam: float,
    ) -> tuple[Array, FloatArray]:
        """Factors and biases of new rows (or columns)."""
        order = np.lexsort((old, new))
        twice = (np.diff(new[order]) == 0) & (np.diff(old[order]) == 0)
        if twice.any():
            first = order[np.flatnonzero(twice)[0]]
            pair = (new[first], old[first]) if axis == 0 else (old[first], new[first])
            raise ValueError(
                f"rows and cols must name each entry once; {int(twice.sum())} repeat another, "
                f"{tuple(int(i) for i in pair)} for one"
            )
        starts = np.concatenate([[0], np.cumsum(np.bincount(new, minlength=count))])
        offset, unit = NONE, None
        if self.biases is not None:
            values = values - self.biases.center
            offset = self.biases.cols if axis == 0 else self.biases.rows
            unit = max(float(np.sqrt(np.mean(features**2))) if features.size else 1.0, 1e-300)  # as large as the others
        side = Side(starts, old[order], values[order], w[order] if w.size else NONE)
        if self.background:
            return self._among_all(side, features, lam), NONE
        begin = (np.zeros((count, features.shape[1])), np.zeros(count)) if self.nonnegative else None
        found = side.regress(features, lam, offset, unit=unit, shrink=self.ridge[1], begin=begin)
        return found.factors, found.biases

    def _among_all(self, side: Side, features: Array, lam: float) -> Array:
        """Factors of new rows (or columns) of which all cells count: improved until they stay."""
        backed, factors = Backed(side, self.background), np.zeros((side.starts.size - 1, features.shape[1]))
        for _ in range(ROUNDS_OF_FOLDING):
            before, factors = factors, backed.regress(features, lam, factors, bound=self.nonnegative).factors
            if np.abs(factors - before).max(initial=0.0) <= 1e-9 * np.abs(factors).max(initial=0.0):
                break
        return factors

    @staticmethod
    def load(file: files.PathLike) -> LowRank:
        """Spelled `fewatoms.load` since version 0.2, for every kind of answer."""
        raise TypeError(f"LowRank.load({file!r}) is spelled fewatoms.load({file!r}) since version 0.2")

    def save(self, file: files.PathLike) -> None:
        """Write to a file under the very name given, all or nothing; `fewatoms.load` reads it."""
        files.save(file, self.kept())

    def kept(self) -> Kept:
        """All of it, for files."""
        arrays = {"left": self.left, "right": self.right}
        if self.biases is not None:
            arrays |= {"row_biases": self.biases.rows, "col_biases": self.biases.cols}
        center = None if self.biases is None else float(self.biases.center)
        told: dict[str, kept.Plain] = {"ridge": [*self.ridge], "nonnegative": self.nonnegative, "center": center}
        return Kept("low rank", told | {"background": self.background}, arrays)


def restored(it: Kept) -> LowRank:
    """The model that was kept."""
    told, arrays, center = it.told, it.arrays, kept.maybe(it.told["center"])
    left, right = (kept.reals(arrays[side]) for side in ("left", "right"))
    beside = [kept.reals(arrays[side]) for side in ("row_biases", "col_biases") if center is not None]
    biases = None if center is None else FittedBiases(center, *beside)
    on_factors, on_biases = (kept.real(v) for v in kept.rows(told["ridge"]))
    nonnegative = told["nonnegative"] is True
    background = kept.real(told["background"]) if "background" in told else 0.0  # earlier files know none
    ridge = on_factors, on_biases
    return LowRank(left, right, biases, ridge=ridge, nonnegative=nonnegative, background=background)


files.READERS["low rank"] = restored

__all__ = ["LowRank"]
