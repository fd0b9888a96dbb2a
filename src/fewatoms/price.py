"""What one coefficient pays: nothing, a ridge, or everything beyond a cap.

p(c) is what a coefficient c of one atom pays, h(z) = sup over c of c z - p(c) its conjugate: what a dual vector aligned
by z with the atom may gain at most. Atoms that can be listed pay squares, of coefficients in units of their images;
rank-one matrices pay for their factors, which is another thing: their ridge is a multiple of the gauge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from fewatoms import _checks
from fewatoms._types import FloatArray


class Price(Protocol):
    """What coefficients pay. `ridge` is None where it is left to the method to choose, `cap` where there is none."""

    @property
    def ridge(self) -> float | None: ...

    @property
    def cap(self) -> float | None: ...

    @property
    def on_squares(self) -> float:
        """What half the squares of the coefficients are multiplied by, in units of the images; 0 while it is open."""
        ...

    @property
    def on_gauge(self) -> float:
        """What the gauge is multiplied by; 0 while it is open."""
        ...

    def told(self, shrink: float) -> float | tuple[float, float]:
        """The ridge as users read it, beside that of biases."""
        ...

    def value(self, c: FloatArray) -> float:
        """The sum of p(c_i)."""
        ...

    def at(self, ridge: float) -> Price:
        """The same with another ridge."""
        ...

    def conjugate(self, z: FloatArray) -> FloatArray:
        """h(z_i), one by one."""
        ...

    def prox(self, c: FloatArray, t: float) -> FloatArray:
        """argmin over d of (d - c_i)^2 / 2 + t p(d), one by one."""
        ...


@dataclass(frozen=True)
class Squares:
    """p(c) = (ridge / 2) c^2, and infinite for |c| > cap.

    c is the coefficient of an image of length 1 to the ridge, that of the user's atom to the cap: they are the same
    where the image of the atom has that length.
    """

    ridge: float | None = 0.0
    cap: float | None = None
    on_gauge: ClassVar[float] = 0.0

    @property
    def on_squares(self) -> float:
        return self.ridge or 0.0

    def told(self, shrink: float) -> float:
        return self.ridge or 0.0

    @property
    def _most(self) -> float:
        return math.inf if self.cap is None else self.cap

    def at(self, ridge: float) -> Squares:
        return replace(self, ridge=ridge)

    def value(self, c: FloatArray) -> float:
        if np.abs(c).max(initial=0.0) > self._most * (1 + 1e-12):
            return math.inf
        return 0.5 * (self.ridge or 0.0) * float(np.dot(c, c))

    def conjugate(self, z: FloatArray) -> FloatArray:
        size, ridge = np.abs(z), self.ridge or 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.minimum(
                np.where(size > 0, size / ridge, 0.0) if ridge else np.where(size > 0, np.inf, 0.0), self._most
            )
            return np.where(
                np.isinf(best),
                np.inf,
                size * np.where(np.isinf(best), 0.0, best) - 0.5 * ridge * np.where(np.isinf(best), 0.0, best) ** 2,
            )

    def prox(self, c: FloatArray, t: float) -> FloatArray:
        return np.clip(c / (1.0 + t * (self.ridge or 0.0)), -self._most, self._most)


@dataclass(frozen=True)
class Factors:
    """p(c) = ridge |c|: half the squares of two factors u and v with c = |u| |v|, at their smallest.

    Summed over the atoms of a matrix this is ridge times the nuclear norm, (P1) at lambda = ridge.
    """

    ridge: float | None = 0.0
    cap: None = None
    on_squares: ClassVar[float] = 0.0

    @property
    def on_gauge(self) -> float:
        return self.ridge or 0.0

    def told(self, shrink: float) -> tuple[float, float]:
        return self.ridge or 0.0, shrink

    def at(self, ridge: float) -> Factors:
        return replace(self, ridge=ridge)

    def value(self, c: FloatArray) -> float:
        return (self.ridge or 0.0) * float(np.abs(c).sum())

    def conjugate(self, z: FloatArray) -> FloatArray:
        return np.where(np.abs(z) <= (self.ridge or 0.0), 0.0, np.inf)

    def prox(self, c: FloatArray, t: float) -> FloatArray:
        return np.copysign(np.maximum(np.abs(c) - t * (self.ridge or 0.0), 0.0), c)


def price(ridge: object, cap: object, *, listed: bool) -> Price:
    """The price that a user asked for; `listed` tells atoms that can be listed from matrices."""
    amount = _ridge(ridge, listed=listed)
    if cap is None:
        return Squares(amount) if listed else Factors(amount)
    if not listed:
        raise ValueError(f"cap is for sets whose atoms can be listed; got cap={cap!r} with other atoms")
    return Squares(amount, _checks.number("cap", cap, positive=True))


def _ridge(ridge: object, *, listed: bool) -> float | None:
    """The ridge as a number; None for "auto"."""
    demand = 'ridge must be a nonnegative number or "auto"'
    if ridge is None:
        return 0.0
    if isinstance(ridge, str):
        if ridge != "auto":
            raise ValueError(f"{demand}; got {ridge!r}")
        return None
    if _checks.several(ridge):
        biases = "that of biases is told by free=fa.Biases(ridge=...), and lists are for atoms that can be listed"
        hint = "lists of ridges belong to fit_path, which compares them" if listed else biases
        raise TypeError(f"{demand}; got {_checks.came(ridge)}: {hint}")
    try:
        return _checks.number("ridge", ridge)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{demand}; got {_checks.came(ridge)}") from None
