"""Sampled entries of a matrix in blocks: the operator, and the door."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import cached_property, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix, ModelDual, Vector
from fewatoms.engines import Engine, engine_of
from fewatoms.entered import stored
from fewatoms.entered.combined import Combined
from fewatoms.entered.lines import BlockedLines, Order
from fewatoms.entered.stored import Place, Values
from fewatoms.io.endings import PathLikeStr
from fewatoms.io.entries import MERGED
from fewatoms.io.refused import Refused
from fewatoms.io.spilled import Spill, Spilled, cuts_of, files_of, scatter, told_of, writing
from fewatoms.lots import Named
from fewatoms.operators import Operator
from fewatoms.sides import NONE

IN_BLOCK = 1 << 21  # of a block: 24 MB, and as much again while it is worked on
FEWEST = 4  # blocks for each worker, so that none waits long for the last one
FEW_NAMED = 1 << 22  # entries whose places may be asked for
SKETCHED = 0  # the seed of what operators are told apart by
C = TypeVar("C")


class EntryBlocks(Operator):
    """M(X) = X at sampled entries, which lie in blocks of rows and again in blocks of columns: on disk, or on the
    workers of a Dask cluster.

    `EntryBlocks.of(source)` gives (M, b). `fit(M, b, atoms=RankOne(*M.matrix_shape), k=10, ...)` is a fit as that to a
    `Sampling` of the same entries, with the same answer: sweeps ship factors to the blocks, and nothing of the length
    of the data is ever formed here. b and images are `Combined`, which are no arrays.

    Parameters
    ----------
    rows, cols : orders of the entries
    it, built, folder : what was read, the files of blocks and where they are
        As `of` makes them.

    Attributes
    ----------
    matrix_shape : (p, q); shape : (entries, p q)
    row_ids, col_ids : who rows and columns are, in ascending order
    called : the columns of ids and of values
    span : the least and the largest value

    Notes
    -----
    For `RankOne`, or a multiple of it, and least squares without weights and without a background. Products for
    certificates are passes over the blocks. The files are removed with the object, by `close`, or at the end of a
    `with`.
    """

    arrays = False
    in_arrays = False

    def __init__(self, rows: Order, cols: Order, it: Spilled, built: Sequence[stored.Built], folder: Path) -> None:
        self._orders, self.folder = (rows, cols), folder
        self.matrix_shape = rows.each.size, cols.each.size
        count, (p, q) = int(rows.each.sum()), self.matrix_shape
        self.shape = (count, p * q)
        self.row_ids, self.col_ids = it.ids
        self.called, self.source = it.names, it.source
        self._total = float(sum(b.total for b in built))
        self.span = min(b.least for b in built), max(b.most for b in built)
        self._removed = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    @classmethod
    def of(
        cls,
        source: PathLikeStr | Sequence[PathLikeStr],
        *,
        user: str | None = None,
        item: str | None = None,
        value: str | None = None,
        duplicates: str = "error",
        engine: object = None,
        folder: PathLikeStr | None = None,
        entries: int | None = None,
    ) -> tuple[Self, Combined]:
        """(M, b) from tables of entries, read batch by batch: little more than the ids is in memory.

        Parameters
        ----------
        source : str, path or a list of these
            A Parquet, Feather or Arrow file, a table of text, or a folder of the former.
        user, item, value : str, optional
            The columns with ids of rows and columns, and values; the first three if nobody says. Ids are whole numbers
            or text; other types become text.
        duplicates : "error", "mean", "sum" or "last"
            What is done with a place that comes more than once, in whatever files.
        engine : "serial", "threads", a Dask client, the address of a scheduler, or an engine
            Who works on blocks: by default the Dask client that is open, or else threads. Here blocks are mapped from
            disk; workers of a cluster keep theirs in memory.
        folder : str or path, optional
            Where blocks are to lie, about 60 bytes of disk an entry meanwhile and 16 to 24 later. Workers on other
            machines have to see it. The default is where temporary files are.
        entries : int, optional
            Of a block, about.
        """
        if duplicates not in MERGED:
            raise ValueError(f"duplicates must be one of {', '.join(map(repr, MERGED))}; got {duplicates!r}")
        most = None if entries is None else _checks.integer("entries", entries, 1)
        who = engine_of(engine)
        home = Path(tempfile.mkdtemp(prefix="fewatoms-", dir=folder))
        try:
            files = files_of(source)
            it = Spill(home, (user, item, value)).read(files, told_of(source))
            M = cls._built(it, who, home, most, duplicates)
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
        return M, Combined.data(M)

    @classmethod
    def _built(cls, it: Spilled, engine: Engine, home: Path, most: int | None, duplicates: str) -> Self:
        if most is None:
            most = max(1, min(IN_BLOCK, -(-it.count // (FEWEST * engine.workers))))
        cuts = cuts_of(it.each[0], most), cuts_of(it.each[1], most)
        buckets = scatter(it, cuts, home)
        rows, built = _order(it, engine, home, cuts, buckets[0], duplicates, turned=False)
        again = sum(b.repeated for b in built)
        if again and duplicates == "error":
            i, j = next(b.example for b in built if b.example is not None)
            raise Refused(
                f"{it.source} must have each place once; {again} entries repeat one, such as row {it.ids[0][i]!s}, "
                f"column {it.ids[1][j]!s}: drop them, or say --duplicates mean, sum or last (in Python, duplicates=...)"
            )
        cols, _ = _order(it, engine, home, cuts, buckets[1], duplicates, turned=True)
        return cls(rows, cols, it, built, home)

    def __repr__(self) -> str:
        p, q = self.matrix_shape
        blocks = len(self._orders[0].placed)
        return f"EntryBlocks({self.shape[0]} entries of {p} x {q} in {blocks} blocks, {self._orders[0].engine!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all blocks, and remove their files."""
        for order in self._orders:
            order.placed.release()
        self._removed()

    # The contract of operators ----------------------------------------------------------------------------------------

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.matrix_shape

    def read_data(self, b: Foreign) -> Foreign:
        return Combined.of(b, self)

    def apply(self, x: Array) -> Vector:
        X = np.asarray(x, dtype=np.float64).reshape(self.matrix_shape)
        return Combined.image(self, X, np.eye(X.shape[1]))

    def apply_factors(self, U: Array, V: Array) -> Vector:
        if (len(U), len(V)) != self.matrix_shape or U.shape[1:] != V.shape[1:]:
            raise ValueError(
                f"U and V must be factors of a matrix of shape {self.matrix_shape}; got {U.shape}, {V.shape}"
            )
        return Combined.image(self, U, V)

    def nothing(self) -> Vector:
        return self.apply_factors(*(np.zeros((n, 0)) for n in self.matrix_shape))

    def adjoint(self, y: Vector) -> ModelDual:
        """M*y by its products, a pass over all blocks for each block of vectors."""
        y = self.read_data(y)
        rows, cols = (self._lines(side, y.how) for side in (0, 1))

        def product(lines: BlockedLines, own: Array, other: Array, X: Array) -> Array:
            Z = lines.residual_times(-own, other, (NONE, NONE), X.reshape(len(X), -1))
            return Z if X.ndim == 2 else Z[:, 0]

        forward, backward = partial(product, rows, y.left, y.right), partial(product, cols, y.right, y.left)
        return LinearOperator(
            self.matrix_shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.float64
        )

    def columns(self, indices: IntArray) -> Foreign:
        raise TypeError("columns of M, one for each cell of a matrix, are not had of EntryBlocks: say RankOne")

    def subset(self, rows: IntArray) -> Operator:
        raise TypeError(
            "some of the data alone are not had of EntryBlocks: ridges are chosen by ridge='auto', ranks beside that "
            "by choose_k('held-out') or MatrixCompletion(rank=None)"
        )

    def bound_of_sizes(self, b: Vector, y: Vector) -> float:
        """Of the sum of |b_i y_i|, after Cauchy and Schwarz."""
        return float(np.sqrt((b @ b) * (y @ y)))

    def probe(self, rng: np.random.Generator) -> Foreign:
        """Ones: who measures other places has other sums."""
        return self.nothing() + 1.0

    def digest(self, b: Vector) -> str:
        """Of the data: of what lies in the blocks, however these are cut."""
        told = blake2b(digest_size=16)
        entries = self._lines(0, self.read_data(b).how)
        rng = np.random.default_rng(SKETCHED)
        a, c = (rng.standard_normal(n) for n in self.matrix_shape)
        figures = np.array([self.shape[0], entries.square(), float(a @ entries.times(c[:, None], NONE, NONE)[:, 0])])
        told.update(np.char.mod("%.9e", figures).astype("S").tobytes())  # sums depend on blocks in their last digits
        return told.hexdigest()

    # Norms: no atom's image is longer than the atom

    def column_norms(self) -> FloatArray | None:
        """Not told: one for each cell of the matrix."""
        return None

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray | None:
        """At most 1 each."""
        return np.ones(len(blocks))

    def rank_one_norm(self) -> float:
        """At most 1."""
        return 1.0

    def psd_norm(self) -> float:
        """At most 1."""
        return 1.0

    # Entries line by line ---------------------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """How many entries each row and each column has."""
        rows, cols = self._orders
        return rows.each, cols.each

    def _lines(self, side: int, how: Values) -> BlockedLines:
        mine, theirs = self._orders[side], self._orders[1 - side]
        return BlockedLines(mine, lambda: theirs, how)

    def lines(self, values: Combined, weights: FloatArray | None = None) -> BlockedLines:
        """Entries row by row, with the data or a multiple of them less a number."""
        if values.left.shape[1] or weights is not None:
            raise TypeError("entries in blocks have the data as their values, and weigh all the same")
        return self._lines(0, values.how)

    def named(self, held: IntArray) -> Named:
        """Few entries by their numbers; that is row by row here."""
        if self.shape[0] > FEW_NAMED:
            raise ValueError(f"entries in blocks are named one by one up to {FEW_NAMED}; there are {self.shape[0]}")
        found = self._orders[0].placed.map(stored.places, self.matrix_shape[1])
        return Named(np.concatenate(list(found))[held], self.matrix_shape[1])

    def sampled(self, U: Array, V: Array) -> Vector:
        """The entries of U V^T, which are not formed."""
        return self.apply_factors(U, V)

    def sums(self, y: Combined) -> FloatArray:
        """Over each row, and then over each column: two passes."""
        y = self.read_data(y)
        pairs = ((0, y.left, y.right), (1, y.right, y.left))
        return np.concatenate([self._lines(s, y.how).sums(-own, other, sizes=y.sizes) for s, own, other in pairs])

    def product(self, a: Combined, b: Combined) -> float:
        """The inner product of two vectors."""
        if a is b:
            return self._lines(0, a.how).misfit(-a.left, a.right, NONE, NONE)
        left = np.concatenate([-a.left, -b.left], axis=1)
        return self._lines(0, a.how).product(b.how, left, a.right, b.right)

    def seen(self, rows: IntArray) -> Matrix:
        """Where these rows have entries, as a sparse matrix of truth values."""
        order, cuts = self._orders[0], self._orders[0].cuts
        sorting = np.argsort(rows, kind="stable")
        ordered = rows[sorting]
        ends = np.searchsorted(ordered, cuts)
        parts = [ordered[a:b] for a, b in pairwise(ends)]
        found = list(order.placed.map(stored.picked, parts=parts))
        each, others = (np.concatenate([pair[i] for pair in found]) for i in (0, 1))
        starts = np.concatenate([[0], np.cumsum(each)])
        grid = sp.csr_array((np.ones(others.size, dtype=bool), others, starts), shape=(rows.size, self.matrix_shape[1]))
        return grid[np.argsort(sorting, kind="stable")]

    @property
    def mean_value(self) -> float:
        """Of all entries."""
        return self.mean(Values())

    def mean(self, how: Values) -> float:
        """Of all values, in other units."""
        return how.scale * (self._total / self.shape[0]) + how.shift


def _order(
    it: Spilled,
    engine: Engine,
    home: Path,
    cuts: tuple[Sequence[int], Sequence[int]],
    buckets: Sequence[str],
    duplicates: str,
    *,
    turned: bool,
) -> tuple[Order, list[stored.Built]]:
    """One order of the entries, written block by block by who works on them."""
    mine, width = cuts[int(turned)], cuts[1 - int(turned)][-1]
    places = [Place(str(home / f"{'cols' if turned else 'rows'}-{i}"), first) for i, first in enumerate(mine[:-1])]
    shapes = [(last - first, width) for first, last in pairwise(mine)]
    making = [
        partial(stored.build, bucket, place, shape, it.kind, duplicates)
        for bucket, place, shape in zip(buckets, places, shapes, strict=True)
    ]
    with writing(home):
        made = engine.place(making)
        built: list[stored.Built] = list(made.map(stored.told))
        made.release()
    for bucket in buckets:
        Path(bucket).unlink(missing_ok=True)
    here = engine.here
    placed = engine.place([place.mapped if here else place.loaded for place in places], keep=True)
    each = np.concatenate([b.lengths for b in built]).astype(np.intp)
    return Order(placed, engine, mine, each, turned, home if here else None), built


__all__ = ["EntryBlocks"]
