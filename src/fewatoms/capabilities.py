"""What an operator or a set may offer beyond its contract: small protocols, asked for through one door.

`thing.offers(Capability)` is an object with all methods of the capability, or None. Methods ask once, when they open;
wrappers lift what their inner part offers (`operators/wrapper.py`, `atoms/scaled.py`, `atoms/mapped.py`,
`atoms/sums.py`). Which capabilities there are decides what an answer costs, not what it means. Each has a checker in
`fewatoms.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isfunction
from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar, runtime_checkable

from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix, ModelDual, Vector

if TYPE_CHECKING:
    from fewatoms.faces import Face, Factors, SymmetricFactors
    from fewatoms.reduced import ReducedOperator
    from fewatoms.sides import Lines, Split

C = TypeVar("C")


class Offering:
    """The one door."""

    def offers(self, capability: type[C]) -> C | None:
        """This object as that capability if it has all that the capability asks for, else None."""
        return self if keeps(self, capability) else None


def keeps(thing: object, capability: type[C]) -> TypeGuard[C]:
    """Whether a thing has every member of a protocol, or is of a class. No member is evaluated: some are as long as
    the data."""
    if not _is_protocol(capability):
        return isinstance(thing, capability)
    asked = type(thing), capability
    if asked not in _known:
        _known[asked] = _left_to_instances(*asked)
    own = _known[asked]
    if not own:
        return own is not None
    held = getattr(thing, "__dict__", {})
    return all(_serves(held.get(name), method) for name, method in own)


# what instances of a class have to have for a protocol: methods ask many times in a short run
_known: dict[tuple[type, type], tuple[tuple[str, bool], ...] | None] = {}


def _is_protocol(capability: type) -> bool:
    return getattr(capability, "_is_protocol", False)


def _left_to_instances(kind: type, capability: type) -> tuple[tuple[str, bool], ...] | None:
    """The members of a protocol that a class lacks, so that its instances have to have them, and whether they are
    methods; None where it has one that does not serve."""
    lacking: list[tuple[str, bool]] = []
    for name, named in {**vars(capability).get("__annotations__", {}), **vars(capability)}.items():
        if name.startswith("_"):
            continue
        found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), lacking)
        if found is lacking:
            lacking.append((name, isfunction(named)))
        elif not _serves(found, isfunction(named)):
            return None
    return tuple(lacking)


def _serves(found: object, method: bool) -> bool:
    """Whether a member is not None, which takes it back, and can be called where it is a method: an array of that name
    is something else."""
    return found is not None and (not method or callable(found) or hasattr(found, "__get__"))


def need(thing: Offering, capability: type[C]) -> C:
    """A capability that is known to be there."""
    found = thing.offers(capability)
    assert found is not None, f"{thing!r} does not offer {capability.__name__}"
    return found


# Of operators --------------------------------------------------------------------------------------------------------


@runtime_checkable
class ColumnBlocks(Protocol):
    """A matrix at hand: it can be read, which is no product."""

    @property
    def image_size(self) -> float:
        """How many numbers a column holds, on average."""
        ...

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        """The lengths of all columns in the norm of the weights; None where even reading them is too dear."""
        ...

    def read(self, indices: IntArray) -> Matrix:
        """The columns of these indices."""
        ...

    def times(self, X: Array) -> Array:
        """M X."""
        ...


@runtime_checkable
class SparseColumns(Protocol):
    """A sparse matrix at hand: what all its columns have in common with some sparse ones is found among few entries."""

    def crossed(self, Y: Matrix) -> Matrix:
        """M* Y, sparse, of a sparse block Y of columns as long as the data."""
        ...


@runtime_checkable
class RowWise(Protocol):
    """Rows at hand, block after block: whatever is a sum over rows is had in one pass over them."""

    @property
    def in_blocks(self) -> bool:
        """Whether a pass is what costs: rows are on disk, or elsewhere."""
        ...

    def over_rows(self, task: Callable[..., Foreign], *shared: object, parts: Sequence[Array | None] = ()) -> Foreign:
        """The sum of task(A, *parts of these rows, *shared) over blocks A of rows, where parts are as long as the
        data."""
        ...


@runtime_checkable
class SeenAsIs(Protocol):
    """Data are entries of x: M M* is the identity, M* M leaves entries out."""

    def places(self) -> IntArray | None:
        """The entry of x (flat, in C order) that each datum is; None where they are all entries in order."""
        ...


@runtime_checkable
class SampledEntries(Protocol):
    """Data are entries of a matrix that is too large to be filled in. Loops over them `charge` what they cost."""

    matrix_shape: tuple[int, int]

    @property
    def positions(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the entries, in the order of the data."""
        ...

    @property
    def counts(self) -> tuple[IntArray, IntArray]:
        """How many entries each row and each column has."""
        ...

    def row_by_row(self, values: FloatArray) -> tuple[Array, Array, FloatArray]:
        """Where rows start, the columns, and values given in the order of the data, all row by row."""
        ...

    def sampled(self, U: Array, V: Array) -> FloatArray:
        """The entries of U V^T, in the order of the data."""
        ...


@runtime_checkable
class EntryLines(Protocol):
    """The same line by line, wherever entries are: in arrays, or in blocks elsewhere. Vectors are what the operator's
    own images and data are.

    in_arrays : whether they are in memory, so that their other order has to be there too
    """

    matrix_shape: tuple[int, int]
    in_arrays: bool

    @property
    def counts(self) -> tuple[IntArray, IntArray]:
        """How many entries each row and each column has."""
        ...

    def lines(self, values: Vector, weights: FloatArray | None = None) -> Lines:
        """Entries with these values row by row."""
        ...

    def named(self, held: IntArray) -> Split:
        """These entries, by their numbers in the order of the data, as those that are held out."""
        ...

    def sampled(self, U: Array, V: Array) -> Vector:
        """The entries of U V^T."""
        ...

    def sums(self, y: Vector) -> FloatArray:
        """Over each row, and then over each column."""
        ...


@runtime_checkable
class FactorFits(Protocol):
    """Fits over U C V^T without columns: normal equations accumulated from the factors."""

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        """c -> M(U C V^T)."""
        ...


@runtime_checkable
class FactorImages(Protocol):
    """The images of all u_a v_b^T at once."""

    def factor_images(self, U: Array, V: Array) -> Array:
        """m x (r s), for U with r and V with s columns."""
        ...


@runtime_checkable
class Intensities(Protocol):
    """Data are quadratic in a factor: M(L L^H)_i = |a_i L|^2."""

    complex: bool

    def measure_factor(self, L: Array) -> tuple[FloatArray, Callable[[FloatArray], Array]]:
        """M(L L^H), and the function y -> 2 (M*y) L, its gradient."""
        ...

    def row_squares(self) -> FloatArray | None:
        """|a_i|^2 where they cost no products, otherwise None."""
        ...

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        """c -> M(V C V^H)."""
        ...

    def vectors(self) -> Array:
        """The a_i as the rows of an array, m x n: n products where they are known by products only."""
        ...


@runtime_checkable
class Norms(Protocol):
    """Facts that certificates may rest on: proven upper bounds that cost no products, or None."""

    def column_norms(self) -> FloatArray | None:
        """|M e_i| for all i, or upper bounds."""
        ...

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray | None:
        """The spectral norms of groups of columns, or upper bounds."""
        ...

    def rank_one_norm(self) -> float | None:
        """|M(u v^T)| over unit vectors u and v."""
        ...

    def psd_norm(self) -> float | None:
        """|M(v v^H)| over unit vectors v."""
        ...


# Of sets -------------------------------------------------------------------------------------------------------------


class Shrinkage(Protocol):
    """The proximal map of the gauge at one point, for any threshold t: argmin over x of |x - w|^2 / 2 + t gauge(x)."""

    def at(self, t: float) -> tuple[Face, FloatArray]:
        """The minimiser in compact form."""
        ...

    def gauge(self, t: float) -> float:
        """The gauge of the minimiser."""
        ...


@runtime_checkable
class Prox(Protocol):
    """A proximal map that can be computed."""

    def shrink(self, points: Sequence[tuple[float, Face, FloatArray]], z: ModelDual, step: float) -> Shrinkage:
        """The proximal map at w = sum of a_j point_j + step z, for (a_j, face_j, c_j) in points."""
        ...


@runtime_checkable
class Gauge(Protocol):
    """A gauge that can be computed at any point."""

    def gauge(self, x: Array) -> float:
        """gauge(x), infinite outside the cone of the atoms."""
        ...


@runtime_checkable
class RankOnePairs(Protocol):
    """Atoms are u v^T for unit vectors u and v: the points of k of them are U V^T, for factors of k columns."""

    nonnegative: bool  # whether the factors of answers must not have negative entries

    def paired(self, P: Array, s: FloatArray, Q: Array) -> tuple[Face, FloatArray]:
        """The point P diag(s) Q^T as face and coefficients; P and Q orthonormal or, without signs, of unit columns."""
        ...


@runtime_checkable
class Semidefinite(Protocol):
    """Atoms are v v^H for unit vectors v: the points of k of them are L L^H, for factors L of k columns."""

    def spanned(self, L: Array) -> SymmetricFactors:
        """The face of all points whose factors have the column span of L."""
        ...


@runtime_checkable
class Spectrum(Protocol):
    """Matrix sets: alignments of orthonormal atoms."""

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        """The k largest singular values (or eigenvalues) of z."""
        ...
