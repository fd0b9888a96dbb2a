"""Small real data that come with the package; `data/README.md` says where they are from and under which licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._dataset import ShortRepr

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FloatArray: TypeAlias = NDArray[np.float64]

SEX = "sex"  # two values: its square says nothing new


@dataclass(frozen=True, eq=False, repr=False)
class Diabetes(ShortRepr):
    """Patients in rows.

    Parameters
    ----------
    columns
        One column for each name, with mean zero and variance one before squares and products are taken.
    names
        Measurements by their names, squares as `bmi^2`, products as `bmi x bp`.
    progression
        How far the disease had come a year later.
    """

    columns: FloatArray
    names: tuple[str, ...]
    progression: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class SeaTemperatures(ShortRepr):
    """Years in rows, months in columns, degrees Celsius."""

    values: FloatArray
    years: tuple[int, ...]
    months: tuple[str, ...]


def diabetes(products: bool = True) -> Diabetes:
    """Ten measurements of 442 patients (Efron et al. 2004), with the squares and products of two where `products`."""
    names, rows = _table("diabetes.csv")
    *called, _ = names
    X, y = rows[:, :-1], rows[:, -1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    made = dict(zip(called, Z.T, strict=True))
    if products:
        made |= {f"{name}^2": made[name] ** 2 for name in called if name != SEX}
        made |= {
            f"{one} x {other}": made[one] * made[other] for i, one in enumerate(called) for other in called[i + 1 :]
        }
    return Diabetes(np.column_stack(list(made.values())), tuple(made), y)


def sea_temperatures() -> SeaTemperatures:
    """Sea surface temperatures off Peru and Ecuador, 61 years by 12 months, with El Niño in them."""
    names, rows = _table("sea_temperatures.csv")
    return SeaTemperatures(rows[:, 1:], tuple(int(year) for year in rows[:, 0]), tuple(names[1:]))


def handwriting() -> NDArray[np.uint8]:
    """A photograph of handwriting on paper, 172 x 448 grey levels from 0, black, to 255."""
    with _file("handwriting.npz").open("rb") as stream, np.load(stream) as kept:
        grey: NDArray[np.uint8] = kept["grey"]
    return grey


def _table(name: str) -> tuple[list[str], FloatArray]:
    head, *lines = _file(name).read_text(encoding="utf-8").splitlines()
    return head.split(","), np.array([line.split(",") for line in lines], dtype=np.float64)


def _file(name: str) -> Traversable:
    from importlib.resources import files

    return files("fewatoms.datasets").joinpath("data", name)
