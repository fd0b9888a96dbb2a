"""Three jobs on real data: few features by name, a table with holes, ink told apart from paper; half a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewatoms import datasets
from fewatoms._types import FloatArray
from fewatoms.atoms import RankOne, SignedOneHot
from fewatoms.doors import fit
from fewatoms.operators import Identity, MatrixOperator, Sampling
from fewatoms.path import fit_path
from fewatoms.records import Progress
from fewatoms.solution import Solution

Callback = Callable[[Progress], object]
FEW_SIZES = range(1, 13)  # of which folds choose
LEFT_OUT, HIDDEN = 0.25, 0.3  # shares of patients and of months that are not shown
YEARLY = 2  # of the year, beside the biases


@dataclass(frozen=True)
class Job:
    """One job: what is asked, how it is done, what to say about the answer, and what a picture of it needs."""

    title: str
    asked: str
    solve: Callable[[Callback | None], Solution]
    told: Callable[[Solution], list[str]]
    data: Any
    kind: str  # which drawing in display/ shows it
    called: Mapping[str, Any] = field(default_factory=dict)  # what rows and columns are called, for a report


def jobs(seed: int = 0) -> list[Job]:
    """The three, with what is left out or hidden drawn from one seed."""
    rng = np.random.default_rng(seed)
    return [_features(rng), _completion(rng), _ink()]


# Few features, by name


@dataclass(frozen=True, eq=False)
class Patients:
    """shown : those that are fitted; the others are there to be predicted."""

    columns: FloatArray
    names: tuple[str, ...]
    progression: FloatArray
    shown: NDArray[np.bool_]

    def explained(self, s: Solution) -> float:
        """The share of the variance of patients not shown that the answer explains."""
        y = self.progression[~self.shown]
        left = y - s.predict(self.columns[~self.shown])
        return float(1 - np.sum(left**2) / np.sum((y - y.mean()) ** 2))


def _features(rng: np.random.Generator) -> Job:
    d = datasets.diabetes()
    patients = Patients(d.columns, d.names, d.progression, rng.random(d.progression.size) >= LEFT_OUT)

    def solve(callback: Callback | None) -> Solution:
        some = patients.shown
        M = MatrixOperator(patients.columns[some], patients.names)
        atoms = SignedOneHot(len(patients.names))
        path = fit_path(
            M, patients.progression[some], atoms=atoms, k=FEW_SIZES, free="intercept", callback=callback, rng=0
        )
        path.choose_k("cv")
        return path.best

    def told(s: Solution) -> list[str]:
        assert s.names is not None
        terms = " ".join(f"{c:+.1f} {name}" for name, c in zip(s.names, s.coefficients, strict=True))
        return [
            f"progression = {float(s.free_coefficients[0]):.0f} {terms}",
            f"explains {patients.explained(s):.0%} of the variance of {np.sum(~patients.shown)} patients not shown",
        ]

    return Job(
        "Diabetes: which of 64 features",
        f"k of 1 to {FEW_SIZES[-1]} chosen by folds",
        solve,
        told,
        patients,
        "features",
        {"rows": (np.flatnonzero(patients.shown) + 1).tolist()},
    )


# A table with holes


@dataclass(frozen=True, eq=False)
class Months:
    """seen : those that are fitted; the others are there to be filled in."""

    values: FloatArray
    years: tuple[int, ...]
    seen: NDArray[np.bool_]

    def error(self, filled: FloatArray) -> float:
        """Of the months that were hidden, in degrees: the root of the mean square."""
        return float(np.sqrt(np.mean((filled - self.values)[~self.seen] ** 2)))

    def filled(self, s: Solution) -> FloatArray:
        rows, cols = np.indices(self.values.shape)
        return np.asarray(s.predict(rows.ravel(), cols.ravel()), dtype=np.float64).reshape(self.values.shape)

    @property
    def usual(self) -> FloatArray:
        """The mean of each month over the years where it was seen."""
        means = np.nanmean(np.where(self.seen, self.values, np.nan), axis=0)
        return np.broadcast_to(means, self.values.shape)


def _completion(rng: np.random.Generator) -> Job:
    d = datasets.sea_temperatures()
    seen = rng.random(d.values.shape) >= HIDDEN
    seen[0], seen[:, 0] = True, True  # every year and every month is seen somewhere
    months = Months(d.values, d.years, seen)
    rows, cols = np.nonzero(seen)

    def solve(callback: Callback | None) -> Solution:
        M = Sampling(rows, cols, d.values.shape)
        atoms = RankOne(*d.values.shape)
        return fit(M, d.values[seen], atoms=atoms, k=YEARLY, free="biases", callback=callback, rng=0)

    def told(s: Solution) -> list[str]:
        hidden, usual = months.error(months.filled(s)), months.error(months.usual)
        return [
            f"{int((~seen).sum())} hidden months filled in to {hidden:.2f} °C; the mean of each month: {usual:.2f} °C"
        ]

    asked = f"rank {YEARLY} and biases, from {seen.mean():.0%} of the months"
    return Job(
        "Sea temperatures with holes", asked, solve, told, months, "completion", {"rows": d.years, "cols": d.months}
    )


# Ink and paper


def _ink() -> Job:
    grey = datasets.handwriting().astype(np.float64)

    def solve(callback: Callback | None) -> Solution:
        sets = RankOne(*grey.shape) + SignedOneHot(grey.shape)
        return fit(Identity(grey.shape), grey, atoms=sets, k=(1, None), callback=callback)

    def told(s: Solution) -> list[str]:
        ink = np.asarray(s.parts[1].coefficients)
        return [f"{ink.size} of {grey.size} pixels stand out of the paper, {np.mean(ink < 0):.0%} of them darker: ink"]

    called = {"rows": range(1, grey.shape[0] + 1), "cols": range(1, grey.shape[1] + 1)}
    return Job("Ink and paper", "rank 1 + as many pixels as stand out", solve, told, grey, "decomposition", called)


def lines(results: Sequence[tuple[Job, Solution]]) -> list[str]:
    """What was found, in words, a few lines for each job."""
    return [f"{job.title.split(':')[0]}: {line}" for job, s in results for line in job.told(s)]
