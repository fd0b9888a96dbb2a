"""A matrix in blocks of rows on disk, or on the workers of a cluster: what costs is going through all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from fewatoms import ledger, linalg, norms
from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix
from fewatoms.engines import Engine, Loader, Placed, engine_of
from fewatoms.names import Names
from fewatoms.operators import passes
from fewatoms.operators.base import Operator
from fewatoms.operators.picked import Picked
from fewatoms.operators.sources import read, told_of
from fewatoms.rounding import Summed, gamma


class RowBlocks(Operator):
    """A matrix as blocks of rows, one below the other, made by loaders where they are to live.

    Vectors as long as the data stay here, one dual vector and a few images; M does not come here but for columns that
    are asked for. Every product, and a block of them, is one pass over all of M, counted in `s.passes`; `read`, lengths
    of columns and sums over rows are passes too.

    Parameters
    ----------
    loaders : sequence of callables
        Each makes one block: a dense array, a memory map, or a sparse matrix. On a cluster they are sent to the
        workers, so that they must be importable there: functions of a module, `functools.partial` of these.
    rows, columns : sequence of int and int, optional
        How many rows each block has, and how many columns; without them every block is loaded once to be asked.
    engine : "serial", "threads", a Dask client, the address of a scheduler, or an engine
        Who works on blocks: by default the Dask client that is open, or else threads.
    keep : bool
        Whether blocks stay in memory once they are loaded, where they are loaded in this process. A cluster keeps them
        in any case.
    names : what columns are called
    """

    def __init__(
        self,
        loaders: Sequence[Loader],
        rows: Sequence[int] | None = None,
        columns: int | None = None,
        *,
        engine: object = None,
        keep: bool = False,
        names: Names | None = None,
    ) -> None:
        told = told_of(loaders, rows, columns)
        self.engine: Engine = engine_of(engine)
        self._placed: Placed = self.engine.place(loaders, keep=keep, ready=passes.ready, parts=told)
        known = [it.shape for it in told if it.shape is not None]
        sizes = known if len(known) == len(told) else list(self._placed.map(passes.sizes))
        for i, (_, width) in enumerate(sizes):
            if width != sizes[0][1]:
                raise ValueError(
                    f"blocks of rows must have equally many columns; got {sizes[0][1]} in block 0, {width} in block {i}"
                )
        self.starts = [0, *np.cumsum([count for count, _ in sizes]).tolist()]
        self.shape = (self.starts[-1], sizes[0][1])
        if 0 in self.shape:
            raise ValueError(f"M must have at least one row and one column; got shape {self.shape}")
        self.names = names

    @classmethod
    def of(cls, source: object, *, engine: object = None, keep: bool = False) -> RowBlocks:
        """Blocks made from what is at hand, without reading more than its size.

        Parameters
        ----------
        source : array, memory map, sparse matrix, str, path, Dask array or frame, Zarr array, or list
            A .npy file is mapped, not read; a Parquet file is read a row group at a time, and so is a folder of them; a
            folder of .npy files holds rows one below the other, in the natural order of their names (2.npy before
            10.npy). A list holds such things, or functions without arguments that return a block each.
        engine, keep
            As for the class.
        """
        found = read(source)
        return cls(found.loaders, found.rows, found.columns, engine=engine, keep=keep, names=found.names)

    def __repr__(self) -> str:
        return f"RowBlocks({self.shape[0]} x {self.shape[1]} in {len(self.starts) - 1}, {self.engine!r})"

    # Passes -----------------------------------------------------------------------------------------------------------

    def _cut(self, vector: Array | None) -> Sequence[Array | None]:
        if vector is None:
            return [None] * (len(self.starts) - 1)
        return [vector[a:b] for a, b in pairwise(self.starts)]

    def apply(self, x: Array) -> FloatArray:
        return self.apply_block(x.reshape(-1, 1))[:, 0]

    def apply_block(self, X: Array) -> Array:
        out = np.empty((self.shape[0], X.shape[1]))
        for (a, b), image in zip(pairwise(self.starts), self._placed.map(passes.images, X), strict=True):
            out[a:b] = image
        return self._finite(out)

    def adjoint(self, y: FloatArray) -> FloatArray:
        return self.adjoint_block(y)

    def adjoint_block(self, Y: Array) -> Array:
        return self._finite(np.asarray(self._placed.sum(passes.pulled, parts=self._cut(Y))))

    def columns(self, indices: IntArray) -> Matrix:
        out, spans, sparse = np.zeros((self.shape[0], indices.size)), list(pairwise(self.starts)), {}
        for i, ((a, b), block) in enumerate(zip(spans, self._placed.map(passes.taken, indices), strict=True)):
            if sp.issparse(block):
                sparse[i] = block
            else:
                out[a:b] = block
        if not sparse:
            return self._finite(out)
        whole = sp.csc_array(
            sp.vstack([sparse[i] if i in sparse else sp.csr_array(out[a:b]) for i, (a, b) in enumerate(spans)])
        )
        self._finite(whole.data)
        return whole

    def _finite(self, found: Array) -> Array:
        """What came of a pass. Blocks are loaded again and again, and may be others than the first look has seen."""
        passes.refuse_infinite(self, self.shape[0], found)
        return found

    # What it offers ---------------------------------------------------------------------------------------------------

    @property
    def image_size(self) -> float:
        return self.shape[0]

    @property
    def in_blocks(self) -> bool:
        return True

    def read(self, indices: IntArray) -> Matrix:
        ledger.go_through()
        return self.columns(indices)

    def times(self, X: Array) -> Array:
        ledger.go_through()
        return self.apply_block(X)

    def summed(self) -> Summed:
        lengths = self._lengths * (1.0 + gamma(2 * self.shape[0] + 8))
        return Summed(self.shape[0], linalg.length(lengths), lengths)

    def column_norms(self) -> FloatArray:
        return self._lengths

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray:
        places = np.unique(np.concatenate(blocks)) if len(blocks) else np.empty(0, dtype=np.intp)
        columns = norms.dense(self.read(places))
        return np.array([np.linalg.norm(columns[:, np.searchsorted(places, block)], 2) for block in blocks])

    def rank_one_norm(self) -> float | None:
        return None

    def psd_norm(self) -> float | None:
        return None

    @cached_property
    def _lengths(self) -> FloatArray:
        ledger.go_through()
        return passes.rooted(self._placed.sum(passes.squared, parts=self._cut(None)))

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        if weights is None:
            return self._lengths
        ledger.go_through()
        return passes.rooted(self._placed.sum(passes.squared, parts=self._cut(weights)))

    def over_rows(self, task: Callable[..., Foreign], *shared: object, parts: Sequence[Array | None] = ()) -> Foreign:
        ledger.go_through()
        cut = list(zip(*(self._cut(part) for part in parts), strict=True)) if parts else None
        return self._placed.sum(passes.spread, task, *shared, parts=cut or [()] * (len(self.starts) - 1))

    def subset(self, rows: IntArray) -> Operator:
        """Some of the rows, read into memory; where they are too many for that, picked out of these blocks in every
        pass."""
        if float(rows.size) * self.shape[1] > passes.READ_AT_MOST:
            return self._picked(rows) if (np.diff(rows) > 0).all() else super().subset(rows)
        order = np.argsort(rows, kind="stable")
        inside = np.searchsorted(rows[order], self.starts)
        parts = [rows[order[a:b]] - start for (a, b), start in zip(pairwise(inside), self.starts, strict=False)]
        from fewatoms.operators.matrix import MatrixOperator

        ledger.go_through()
        blocks = list(self._placed.map(passes.picked, parts=parts))
        whole = sp.csr_array(sp.vstack(blocks)) if any(map(sp.issparse, blocks)) else np.concatenate(blocks)
        back = np.empty(rows.size, dtype=np.intp)
        back[order] = np.arange(rows.size)
        return MatrixOperator(whole[back], self.names)

    def _picked(self, rows: IntArray) -> RowBlocks:
        """Rows in ascending order, where they are."""
        inside = np.zeros(self.shape[0], dtype=bool)
        inside[rows] = True
        picks = [inside[a:b] for a, b in pairwise(self.starts)]
        some = RowBlocks.__new__(RowBlocks)
        some.engine, some._placed, some.names = self.engine, Picked(self._placed, picks), self.names
        some.starts = [0, *np.cumsum([np.count_nonzero(pick) for pick in picks]).tolist()]
        some.shape = rows.size, self.shape[1]
        return some

    def release(self) -> None:
        """Let go of blocks that are kept here or on the workers. They are loaded again when they are needed."""
        self._placed.release()


__all__ = ["RowBlocks"]
