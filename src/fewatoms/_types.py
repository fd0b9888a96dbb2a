"""Names for the array types that signatures mention."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]

# z = M*y as an operator chooses to give it: an ndarray (flat or in the model's shape), a SciPy sparse array, or a
# LinearOperator in the model's shape. `linalg.as_flat` and `linalg.as_matrix` read all three.
ModelDual: TypeAlias = Any

# A matrix, dense or sparse: SciPy's sparse arrays come without types.
Matrix: TypeAlias = Any

# A vector of the space of data, where it need not be an array: see `spread`.
Vector: TypeAlias = Any

# What belongs to packages that are not imported by us, or late: data frames, arrays of pyarrow, images of Pillow.
Foreign: TypeAlias = Any

# k as users write it: an integer, or one per part for sums of sets, nested as the sets are; None leaves it open.
BudgetLike: TypeAlias = "int | tuple[BudgetLike, ...] | None"
Budget: TypeAlias = Any
