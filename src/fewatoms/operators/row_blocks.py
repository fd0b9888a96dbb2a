"""A matrix in blocks of rows that lie on disk, or on the workers of a cluster: what costs is going through all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, ledger
from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix
from fewatoms.engines import Engine, Loader, Placed, Terms, engine_of
from fewatoms.names import Names
from fewatoms.operators import passes
from fewatoms.operators.base import Operator
from fewatoms.operators.boxes import refuse_complex


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
    shape : (int, int), optional
        Of all blocks together; without it every block is loaded once to be asked.
    rows : sequence of int, optional
        How many rows each block has; with `shape`.
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
        shape: tuple[int, int] | None = None,
        rows: Sequence[int] | None = None,
        *,
        engine: object = None,
        keep: bool = False,
        names: Names | None = None,
    ) -> None:
        if not len(loaders):
            raise ValueError("loaders must hold at least one; got none")
        self.engine: Engine = engine_of(engine)  # type: ignore[arg-type]
        self._placed: Placed = self.engine.place([_Loaded(loader) for loader in loaders], keep=keep)
        self._unknown = shape is None or rows is None
        sizes = list(self._placed.map(passes.sizes)) if shape is None or rows is None else [(r, shape[1]) for r in rows]
        widths = {width for _, width in sizes}
        if len(widths) > 1:
            i = next(i for i, (_, width) in enumerate(sizes) if width != sizes[0][1])
            raise ValueError(
                f"blocks of rows must have equally many columns; got {sizes[0][1]} in block 0, {sizes[i][1]} in block {i}"
            )
        self.starts = [0, *np.cumsum([count for count, _ in sizes]).tolist()]
        self.shape = (self.starts[-1], sizes[0][1])
        if 0 in self.shape:
            raise ValueError(f"M must have at least one row and one column; got shape {self.shape}")
        if shape is not None and tuple(shape) != self.shape:
            raise ValueError(f"shape must be that of all blocks together, {self.shape}; got {tuple(shape)}")
        self.names = names
        self._sparse: bool | None = None
        self._asked: tuple[bytes, FloatArray] | None = None

    def __repr__(self) -> str:
        return f"RowBlocks({self.shape[0]} x {self.shape[1]} in {len(self.starts) - 1}, {self.engine!r})"

    # Passes ------------------------------------------------------------------------------------------------------------

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
        return out

    def adjoint(self, y: FloatArray) -> FloatArray:
        z = self._placed.sum(passes.pulled, parts=self._cut(y))
        return np.asarray(z)

    def adjoint_block(self, Y: Array) -> Array:
        return np.asarray(self._placed.sum(passes.pulled, parts=self._cut(Y)))

    def columns(self, indices: IntArray) -> Matrix:
        blocks = list(self._placed.map(passes.taken, indices))
        if any(sp.issparse(block) for block in blocks):
            return sp.csc_array(sp.vstack(blocks))
        return np.concatenate(blocks)

    # What it offers ----------------------------------------------------------------------------------------------------

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

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        ledger.go_through()
        return passes.rooted(self._placed.sum(passes.squared, parts=self._cut(weights)))

    def over_rows(
        self, task: Callable[..., Foreign], *shared: object, parts: Sequence[Array | None] = ()
    ) -> Foreign:
        ledger.go_through()
        cut = list(zip(*(self._cut(part) for part in parts), strict=True)) if parts else None
        return self._placed.sum(passes.spread, task, *shared, parts=cut or [()] * (len(self.starts) - 1))

    def subset(self, rows: IntArray) -> Operator:
        """Some of the rows, read into memory, or seen through these blocks where they are too many for that."""
        order = np.argsort(rows, kind="stable")
        inside = np.searchsorted(rows[order], self.starts)
        parts = [rows[order[a:b]] - start for (a, b), start in zip(pairwise(inside), self.starts, strict=False)]
        if float(rows.size) * self.shape[1] > passes.READ_AT_MOST:
            return super().subset(rows)
        from fewatoms.operators.matrix import MatrixOperator

        ledger.go_through()
        blocks = list(self._placed.map(passes.picked, parts=parts))
        whole = sp.csr_array(sp.vstack(blocks)) if any(map(sp.issparse, blocks)) else np.concatenate(blocks)
        back = np.empty(rows.size, dtype=np.intp)
        back[order] = np.arange(rows.size)
        return MatrixOperator(whole[back], self.names)

    def release(self) -> None:
        """Let go of blocks that are kept here or on the workers. They are loaded again when they are needed."""
        self._placed.release()


class _Loaded:
    """A block as it is worked with, whatever its loader gives."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __call__(self) -> Foreign:
        block = self.loader()
        if sp.issparse(block):
            block = block.tocsr()
            kind = block.dtype
        else:
            block = block if isinstance(block, np.ndarray) else np.asarray(block)
            kind = block.dtype
        if kind.kind not in "biufc":
            raise TypeError(f"blocks of rows must hold real numbers; got an array of {kind}")
        refuse_complex(kind, "M")
        if block.ndim != 2:
            raise ValueError(f"blocks of rows must have 2 axes; got shape {block.shape}")
        return block if kind in (np.float64, np.float32) else block.astype(np.float64)


__all__ = ["RowBlocks", "Terms"]
