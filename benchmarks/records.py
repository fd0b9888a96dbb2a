"""What a benchmark is made of, as data: figures, limits, bars, who solves, cases and parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Record = dict[str, Any]
ABSENT = "not installed"
Over = Literal["median", "mean", "max", "min", "last"]


@dataclass(frozen=True)
class Figure:
    """A number about an answer: what it says, which way is better ("" for neither), how draws are put together.

    floor : values below it are rounding, and count as equal
    percent : shown so
    """

    words: str
    better: Literal["less", "more", ""] = "less"
    over: Over = "median"
    floor: float = 1e-9
    percent: bool = False


FIGURES: Mapping[str, Figure] = {
    "cpu": Figure("CPU seconds"),
    "products": Figure("products with M and its adjoint", over="max"),
    # vectors
    "misfit": Figure("|b - Mx| / |b|"),
    "share": Figure("share of the true atoms found", "more", "mean"),
    "exact": Figure("whether the true atoms were found, and no others", "more", "mean"),
    "atoms": Figure("atoms; inf where misfit or k is not kept"),
    "loss": Figure("training loss"),
    "largest": Figure("largest coefficient", ""),
    # every day: many small fits, paths, classes
    "first": Figure("wall seconds of the first fit of a process, beyond the import"),
    "first_cpu": Figure("CPU seconds of that fit in its own thread"),
    "import": Figure("wall seconds of the import", ""),
    "signal": Figure("CPU microseconds a signal"),
    "over_truth": Figure("misfit over that of the planted atoms, the mean over signals", over="mean"),
    "mse": Figure("squared error on rows that were not shown, over their variance", over="mean"),
    "log_loss": Figure("mean of -log(probability) of the labels that were not shown", over="mean"),
    "features": Figure("features that the answer uses", over="mean"),
    "first_call": Figure("wall seconds until the first callback", over="max"),
    "crashes": Figure("fits that ended in an exception", over="mean"),
    "refused": Figure("sound problems that were refused by a message", over="mean"),
    "wrong": Figure("answers that are not what they say", over="mean"),
    "lost": Figure("bounds that are met with k atoms and missed with one more", over="mean"),
    "slowest": Figure("CPU seconds of the slowest fit", over="max"),
    # matrices from entries
    "known": Figure("relative error over all known entries", percent=True),
    "held_out": Figure("relative error over known entries that were not shown", percent=True),
    "rmse": Figure("root mean square error of ratings that were not shown", over="mean"),
    "ndcg": Figure("NDCG of the first ten of each row that were not seen", "more", "mean"),
    "rank": Figure("rank of the answer", ""),
    "inside": Figure("error on ratings held out inside", "", "mean"),
    "over_ideal": Figure("error against the truth, over what noise leaves to the best of estimates"),
    "best_error": Figure("smallest error of an iterate over all known entries", percent=True),
    "last_error": Figure("error of the last iterate", percent=True),
    "rise": Figure("largest relative rise of the best loss from one iterate to the next", over="max"),
    "iterations": Figure("iterates", ""),
    "fit": Figure("CPU seconds of the fit alone"),
    "wall": Figure("wall seconds of the fit alone"),
    "read": Figure("CPU microseconds of reading a row"),
    "right": Figure("share of the answers that are those without kills", "more", "mean"),
    "halt": Figure("wall seconds of the slowest step", over="max"),
    "halted": Figure("those of the slowest step over the middle one", over="max"),
    "anonymous": Figure("megabytes of memory that are no pages of a file"),
    "sweep": Figure("CPU seconds of one sweep", "", "max"),
    "overhead": Figure("wall seconds of the first fit beyond those of the second"),
    "logged": Figure("log lines of the first fit", ""),
    # sums
    "objective": Figure("nuclear norm plus weighted 1-norm"),
    "residual": Figure("|X - L - S| / |X|"),
    "gap": Figure("certified gap over the objective", percent=True),
    "least": Figure("least objective that is proven", "more"),
    "entries": Figure("share of entries in the sparse part", "", percent=True),
    "precision": Figure("share of the entries found that are true", "more", "mean"),
    "recall": Figure("share of the true entries that are found", "more", "mean"),
    "right_rank": Figure("whether the rank is the true one", "more", "mean"),
    "dimmed": Figure("largest relative change of the brightness of a column of L, from that of rank told", over="max"),
    "trimmed": Figure("residual of L with the best S of so many entries"),
    "error": Figure("relative error against the truth", over="max", floor=1e-7),
    "far": Figure("share of pixels off by more than 20", percent=True),
    "stars": Figure("relative error of the stars", over="max", floor=1e-7, percent=True),
    "texture": Figure("relative error of the texture", over="max", floor=1e-7, percent=True),
    "low": Figure("relative error of L", floor=1e-7),
    "sparse": Figure("relative error of S", floor=1e-7),
    "part": Figure("largest relative error of a part", floor=1e-7, percent=True),
    "parts_found": Figure("whether all parts are found", "more", "mean"),
    "as_good": Figure("whether the data are explained as well as by the planted parts", "more", "mean"),
    # proofs
    "value": Figure("loss and ridge of the answer"),
    "open": Figure("what is left between the answer and what is proven, over its objective", over="max", percent=True),
    "proven": Figure("whether that is 1e-4 at most", "more", "mean"),
    "already": Figure("whether the answer of fit was proven to be the best", "more", "mean"),
    "nodes": Figure("nodes looked at, or choices", "", "max"),
    # phases
    "found": Figure("share of draws with an error of at most 1e-5", "more", "mean"),
    "trace": Figure("trace of the matrix"),
    # blocks of rows
    "passes": Figure("passes over all of M", over="max"),
    "forward": Figure("seconds of a product over those of a sum of the file in chunks"),
    "adjoint": Figure("seconds of a product with the adjoint over those of such a sum"),
    "survey": Figure("seconds of lengths and alignments of all columns over those of such a sum"),
    "single": Figure("seconds of these three in single precision, over those in double"),
    "own": Figure("memory beyond what the process held, files that are mapped left out, MB", over="max"),
    "row": Figure("CPU microseconds a row beside making the data"),
    "objective_over": Figure("loss over that of the planted coefficients"),
    # clusters
    "stream": Figure("GB/s of a product", "more"),
    "flops": Figure("GFlop/s of a Gram matrix", "more"),
    "trip": Figure("milliseconds of a pass over nothing, apart from its blocks"),
    "task": Figure("milliseconds that each block adds to it"),
    "wire": Figure("GB/s of a vector that all workers need", "more"),
    "entry10": Figure("CPU nanoseconds of an entry in one order of a sweep, rank 10"),
    "entry50": Figure("the same, rank 50"),
    "over_model": Figure("wall seconds of a fit over those of the formula", ""),
    "tall_played": Figure("seconds of a logistic fit, small vectors", ""),
    "tall_off": Figure("by how much the formula is off", over="max", percent=True),
    "long_played": Figure("seconds of a logistic fit, long vectors of each block", ""),
    "long_off": Figure("by how much the formula is off", over="max", percent=True),
    "planted_played": Figure("seconds of a completion, factors that all need", ""),
    "planted_off": Figure("by how much the formula is off", over="max", percent=True),
    "look": Figure("seconds of a look at all rows"),
    "newton": Figure("seconds of a parabola"),
    "sweep10": Figure("seconds of a sweep over entries, rank 10"),
    "sweep50": Figure("the same, rank 50"),
    # memory
    "mb": Figure("memory beyond what the process held, MB", "", "max"),
    "of_data": Figure("that memory over the size of the data", "", "max"),
    "n_vectors": Figure("that memory in vectors of length n", "", "max"),
    "per_entry": Figure("that memory in bytes per entry", "", "max"),
}
"""Every figure that a problem may give, in the order of the columns."""


@dataclass(frozen=True)
class Limit:
    """A number to compare with: given, or a figure of somebody else on the same case.

    rival : a name or a pattern of names, or several of these with | between; of several the best in the figure `by`
    figure : of the rival; the one that is compared, if not said
    among : (figure, number): only rivals that have at most so much
    value : times * figure + plus, at least `floor`
    """

    value: float | None = None
    rival: str = ""
    figure: str = ""
    times: float = 1.0
    plus: float = 0.0
    floor: float = -math.inf
    by: str = ""
    among: tuple[str, float] | None = None

    def words(self, who: str = "") -> str:
        if self.value is not None:
            return f"{self.value:g}"
        factor = f"{self.times:g} times " if abs(self.times - 1) > 1e-6 else ""
        extra = f" + {self.plus:g}" if self.plus else ""
        whose = who or ("the best peer" if self.rival == "*" else self.rival)
        return f"{factor}{whose}'s{f' {self.figure}' if self.figure else ''}{extra}"


@dataclass(frozen=True)
class Bar:
    """A demand on a figure: at most, or at least, a limit.

    over : how draws are put together, where not as usual; a number is a quantile
    paired : draw by draw against the rival's, all of them
    full : for the full size only; small problems say nothing about it
    """

    figure: str
    limit: Limit
    who: str = "fewatoms"
    at_least: bool = False
    over: Over | float | None = None
    paired: bool = False
    full: bool = False


@dataclass(frozen=True)
class Each:
    """A demand fit by fit: how far a figure may be above the least of the rivals' for the same data.

    rival : a pattern, as in Limit
    most : the largest relative excess
    share : the largest share of fits whose relative excess is beyond rounding; None: not judged
    rounding : a relative excess that is none
    floor : smaller values count as this one
    """

    figure: str
    rival: str = "*"
    most: float = 0.0
    share: float | None = None
    rounding: float = 1e-9
    floor: float = 0.0
    who: str = "fewatoms"


@dataclass(frozen=True)
class Who:
    """Somebody who solves: a name to print, the adapter (`module.function` in `benchmarks.peers`) and what it is told.

    words : arguments of the adapter; a Limit among them is worked out from the answers before this one
    settings : from the cheapest to the dearest, the word `setting`; the first with `enough` counts, otherwise the best
    slow : in a process of its own, with a time limit, for the first draw only
    full : for the full size only
    """

    name: str
    solve: str
    words: Mapping[str, Any] = field(default_factory=dict)
    settings: tuple[Any, ...] = ()
    enough: tuple[str, Limit] | None = None
    slow: bool = False
    full: bool = False

    @property
    def ours(self) -> bool:
        return self.solve.startswith("ours")


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, by the name of its generator (`module.function` in `benchmarks.problems`), and who solves it.

    given : the generator's arguments; quick : what is changed in them for the quick form, None where it has none
    files : data that are needed
    at : (axis, size), where cases differ in one size only
    fits : draws solved one after the other as one batch, and in the quick form; (0, 0): each draw by itself
    each : demands on every single fit
    memory : everybody in a process of their own, and the memory that it takes is measured
    """

    name: str
    problem: str
    given: Mapping[str, Any]
    who: tuple[Who, ...]
    bars: tuple[Bar, ...] = ()
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    files: tuple[str, ...] = ()
    at: tuple[str, float] | None = None
    fits: tuple[int, int] = (0, 0)
    each: tuple[Each, ...] = ()
    memory: bool = False

    def solvers(self, quick: bool) -> list[Who]:
        return [who for who in self.who if not (quick and who.full)]

    def arguments(self, quick: bool) -> Record:
        return {**self.given, **((self.quick or {}) if quick else {})}


@dataclass(frozen=True)
class Slope:
    """A demand on the slope of CPU seconds against a size, both in logarithms, from a size on."""

    axis: str
    limit: float
    since: float = 0.0
    who: str = "fewatoms"


@dataclass(frozen=True)
class Part:
    """Cases with one table.

    draws : seeds, unless somebody says; drawn_quickly : in the quick form
    repeat : runs of each fit, of which the middle time counts
    totals : bars on sums over all cases
    ratios : bars on the geometric mean, over the cases, of a figure over the rival's
    """

    name: str
    title: str
    cases: tuple[Case, ...]
    draws: int = 3
    drawn_quickly: int = 1
    repeat: int = 1
    totals: tuple[Bar, ...] = ()
    ratios: tuple[Bar, ...] = ()
    slopes: tuple[Slope, ...] = ()
    remarks: tuple[str, ...] = ()
    figure: str = ""  # who draws it: a function of `benchmarks.figures`

    def shown(self, quick: bool) -> list[Case]:
        return [c for c in self.cases if not quick or c.quick is not None]


@dataclass(frozen=True)
class Row:
    """One answer by somebody to one draw of a case, or their answers to the fits of a batch.

    cpu : of each repetition, or of each fit
    series : figures fit by fit, where there are several
    """

    part: str
    case: str
    who: str
    seed: int
    cpu: tuple[float, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    setting: Any = None
    note: str = ""  # why there is no answer
    shown: Any = field(default=None, repr=False, compare=False)  # traces and pictures, for figures

    def plain(self) -> Record:
        """What JSON can say."""
        words = {"part": self.part, "case": self.case, "who": self.who, "seed": self.seed, "note": self.note}
        return {**words, "cpu": list(self.cpu), "setting": self.setting, **self.figures}
