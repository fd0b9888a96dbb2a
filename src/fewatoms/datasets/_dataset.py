"""What a generator hands over: the data, and the truth that made them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewatoms import _checks

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix
    from scipy.sparse.linalg import LinearOperator


class ShortRepr:
    """A dataclass that prints the kind and shape of what is large, and the rest in full."""

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={_brief(value)}' for name, value in values.items())})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ShortRepr):
    """A linear problem with a known sparse answer: b = M x, plus noise where the description says so.

    Parameters
    ----------
    name
        What the construction is called.
    M
        Array, SciPy sparse array or matrix, or `scipy.sparse.linalg.LinearOperator`, of shape (m, n).
    b
        The observations, shape (m,).
    x
        The planted truth, shape (n,), or None where nobody knows it.
    k
        The size of the true support: the number of nonzeros of `x` where `x` is given.
    description
        One sentence.

    Notes
    -----
    Not done: arrays are neither copied nor locked, and b is not compared with M x, which may differ by noise.
    Two datasets are equal only if they are the same object.
    """

    name: str
    M: NDArray[Any] | sparray | spmatrix | LinearOperator
    b: NDArray[Any]
    x: NDArray[Any] | None
    k: int
    description: str

    def __post_init__(self) -> None:
        m, n = self.M.shape
        _checks.integer("k", self.k, 0, n, f"{n}, the number of columns of M")
        if self.b.shape != (m,):
            raise ValueError(f"b must have shape ({m},), as M has {m} rows; got shape {self.b.shape}")
        if self.x is None:
            return
        if self.x.shape != (n,):
            raise ValueError(f"x must have shape ({n},), as M has {n} columns; got shape {self.x.shape}")
        if np.count_nonzero(self.x) != self.k:
            raise ValueError(f"k must be the number of nonzeros of x, {np.count_nonzero(self.x)}; got {self.k}")

    @property
    def support(self) -> NDArray[np.intp]:
        """The indices of the nonzeros of x, rising, shape (k,)."""
        if self.x is None:
            raise ValueError(f"x must be known for its support to be asked for; got None in the dataset {self.name!r}")
        return np.flatnonzero(self.x)


def _brief(value: object) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return repr(value)
    return f"<{type(value).__name__} {' x '.join(map(str, shape))}>"
