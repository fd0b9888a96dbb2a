"""Robust principal component analysis: pictures as low rank plus sparse. The paper's sum of two sets with told gauges,
our default told budgets, the rank, or nothing at all, and pursuit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.atoms import RankOne, SignedOneHot
from fewatoms.doors import fit
from fewatoms.methods.paper import Paper, Step
from fewatoms.operators import Identity
from fewatoms.problem import Problem
from fewatoms.reproduce import data, lit, published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, pictures
from fewatoms.solution import Solution

SLACK = published.number("rpca", "tolerance")
NOISY = 0.01  # misfit that pursuit is told
TIGHTER = 0.1  # misfit of a second run of the paper's method on generated pictures
LOOSE = 0.48  # the residual that the authors allowed over the norm of the faces
FACES_LIMIT = 200  # iterations, on the faces
heads = ("who", "told", "status", "iterations", "rank", "entries", "misfit", "darkest tenth", "error of the clean part")


@dataclass(frozen=True, eq=False)
class Case:
    """Pictures as columns of B; the gauges and budgets that the paper's method is told, and its bound on |b - x|."""

    B: FloatArray
    picture: tuple[int, int]
    clean: FloatArray | None  # the true low-rank part
    gauges: tuple[float, float]  # of the sparse part and of the low-rank one
    entries: int
    rank: int
    residual: float
    source: str


# What our default is told: a word for it, and k, the rank first; None leaves a number, or all of them, to it.
Asked: TypeAlias = Callable[[Case], "tuple[int, int | None] | None"]
ASKED: dict[str, Asked] = {
    "both budgets": lambda found: (found.rank, found.entries),
    "the rank": lambda found: (found.rank, None),
    "nothing": lambda found: None,
}


@dataclass(frozen=True, eq=False)
class Parts:
    """An answer: its low-rank and its sparse part, as matrices; Newton steps are those of the paper's method."""

    who: str
    told: str
    answer: Solution
    low: FloatArray
    sparse: FloatArray
    newton: int = 0


def case(settings: Settings) -> Case:
    """Faces where they are at hand, with what the authors told their method; generated pictures otherwise, with what
    is true of them and a bound as loose as that of the authors."""
    faces = None if settings.quick else data.faces(settings)
    if faces is not None:
        gauges = (
            published.number("rpca", "gauge of the sparse part"),
            published.number("rpca", "gauge of the low-rank part"),
        )
        entries, rank = published.count("rpca", "entries"), published.count("rpca", "rank")
        B, residual = _columns(faces), published.number("rpca", "residual")
        return Case(B, faces.shape[1:], None, gauges, entries, rank, residual, "one face under 64 lights")
    left = " (the faces are left out with --quick)" if settings.quick and settings.file(data.FACES_FILE) else ""
    height, width = (24, 21) if settings.quick else (48, 42)
    made = lit.shapes(height, width, published.count("rpca", "lights"), settings.rng(4, 1))
    clean, B = _columns(made.clean), _columns(made.pictures)
    shadows = np.maximum(clean, 0.0) - clean
    gauges = (float(shadows.sum()), float(np.linalg.svd(clean, compute_uv=False).sum()))
    loose, source = LOOSE * float(np.linalg.norm(B)), f"generated lit shapes{left}"
    return Case(B, (height, width), clean, gauges, int(np.count_nonzero(shadows)), 3, loose, source)


def _columns(pictures: FloatArray) -> FloatArray:
    return np.ascontiguousarray(pictures.reshape(len(pictures), -1).T)


@dataclass(frozen=True)
class Watched(Paper):
    """The paper's method, with a record of which Newton step each of its steps belongs to."""

    newton: list[int] = field(default_factory=lambda: [0], compare=False, repr=False)

    def steps(self, problem: Problem) -> Iterator[Step]:
        for step in super().steps(problem):
            self.newton.append(step.newton)
            yield step


# Three ways -----------------------------------------------------------------------------------------------------------


def by_paper(found: Case, residual: float, limit: int, listener: Listener) -> Parts:
    """The sum of both sets, each in units of its own gauge."""
    few, low = SignedOneHot(found.B.shape), RankOne(*found.B.shape)
    slack = 0.5 * (SLACK * float(np.linalg.norm(found.B))) ** 2
    method = Watched(epsilon=slack)
    s = fit(
        Identity(found.B.shape), found.B, atoms=found.gauges[0] * few + found.gauges[1] * low,
        k=(found.entries, found.rank), alpha=0.5 * residual**2, method=method, max_iterations=limit,
        callback=listener.callback,
    )  # fmt: skip
    share = residual / float(np.linalg.norm(found.B))
    return _parts("paper", f"both gauges, both budgets, misfit {100 * share:.0f} %", s, 1, method.newton[-1])


def by_default(found: Case, told: str, listener: Listener) -> Parts:
    """No gauges, no misfit; budgets as far as `told` says."""
    atoms = RankOne(*found.B.shape) + SignedOneHot(found.B.shape)
    s = fit(Identity(found.B.shape), found.B, atoms=atoms, k=ASKED[told](found), callback=listener.callback)
    return _parts("fewatoms", told, s, 0)


def by_pursuit(found: Case, listener: Listener) -> Parts:
    """Classical principal component pursuit: the union of both sets, its usual weight, no budgets."""
    atoms = RankOne(*found.B.shape) | SignedOneHot(found.B.shape)
    s = fit(Identity(found.B.shape), found.B, atoms=atoms, misfit=NOISY, callback=listener.callback)
    return _parts("pursuit", f"misfit {100 * NOISY:.0f} %", s, 0)


def _parts(who: str, told: str, s: Solution, at: int, newton: int = 0) -> Parts:
    """The low-rank part is the part number `at`."""
    return Parts(who, told, s, np.asarray(s.parts[at].x), np.asarray(s.parts[1 - at].x), newton)


# What is told ---------------------------------------------------------------------------------------------------------


def run(settings: Settings, listener: Listener) -> Findings:
    listener.stage("pictures")
    found = case(settings)
    limit = FACES_LIMIT if found.clean is None else 15 if settings.quick else 60
    listener.stage("the paper's method, told both gauges")
    answers = [by_paper(found, found.residual, limit, listener)]
    if found.clean is not None:
        listener.stage("the paper's method, a tighter bound")
        answers.append(by_paper(found, TIGHTER * float(np.linalg.norm(found.B)), limit, listener))
    for told in ASKED:
        listener.stage(f"our default, told {told}")
        answers.append(by_default(found, told, listener))
    listener.stage("pursuit")
    answers.append(by_pursuit(found, listener))
    listener.stage("figures")
    rows = [_row(found, parts) for parts in answers]
    table = Table("rpca", f"Low rank plus sparse: {found.source}", heads, rows)
    tables, figures = (table, _published(found, answers)), (_figure(found, answers),)
    return Findings(tables, figures, _claims(found, answers), _notes(found, answers))


def _share(found: Case) -> float:
    """What the paper's method may leave of the data, by its bound."""
    return found.residual / float(np.linalg.norm(found.B))


def _row(found: Case, parts: Parts) -> list[Cell]:
    s = parts.answer
    rank = int(np.linalg.matrix_rank(parts.low))
    return [
        parts.who, parts.told, s.status.name, s.iterations, rank, int(np.count_nonzero(parts.sparse)), s.misfit,
        _lift(found, parts), _error(found, parts),
    ]  # fmt: skip


def _lift(found: Case, parts: Parts) -> float:
    """By how much the low-rank part is brighter than the data where these are darkest, over their mean."""
    dark = np.less_equal(found.B, np.quantile(found.B, 0.1))
    return float((parts.low - found.B)[dark].mean() / found.B.mean())


def _error(found: Case, parts: Parts) -> float | None:
    if found.clean is None:
        return None
    return float(np.linalg.norm(parts.low - found.clean) / np.linalg.norm(found.clean))


def _published(found: Case, answers: list[Parts]) -> Table:
    paper = answers[0].answer
    size = f"{found.B.shape[0]} x {found.B.shape[1]}"
    pixels = published.count("rpca", "height") * published.count("rpca", "width")
    rows: list[list[Cell]] = [
        ["size", size, f"{pixels} x {published.count('rpca', 'lights')}"],
        ["Newton steps of the paper's method", answers[0].newton, published.count("rpca", "newton steps")],
        ["iterations of the paper's method", paper.iterations, published.count("rpca", "iterations")],
        ["residual allowed, |b - x|", found.residual, published.number("rpca", "residual")],
        ["residual left", paper.misfit * float(np.linalg.norm(found.B)), None],
        ["entries of the sparse part", found.entries, published.count("rpca", "entries")],
        ["rank", found.rank, published.count("rpca", "rank")],
        ["gauge of the sparse part, told", found.gauges[0], published.number("rpca", "gauge of the sparse part")],
        ["gauge of the low-rank part, told", found.gauges[1], published.number("rpca", "gauge of the low-rank part")],
    ]
    title = "The paper's run and the authors'"
    source = f"{published.where('rpca')}; counts: {published.where('rpca', 'iterations')}"
    return Table("rpca_published", title, ("what", "here", "published"), rows, ("published",), source)


def _claims(found: Case, answers: list[Parts]) -> tuple[Claim, ...]:
    paper, ours = answers[0], {a.told: a for a in answers if a.who == "fewatoms"}
    met = ours["both budgets"].answer.misfit <= _share(found)
    fits = ours["nothing"].answer.misfit <= _share(found)
    claims = [
        Claim("our default meets the bound of the paper's method with the same budgets, told no gauges", met),
        Claim("our default told nothing meets the bound of the paper's method", fits),
    ]
    if found.clean is None:
        expected = published.count("rpca", "iterations")
        near = bool(paper.answer.success) and abs(paper.answer.iterations - expected) <= 4
        claims.append(Claim(f"the paper's method meets its bound in {expected} iterations, up to 4", near))
        return tuple(claims)
    best = min(_error(found, a) or math.inf for a in answers if a.who != "fewatoms")
    claims += [
        Claim(
            f"our default told {told} finds the clean part more closely than the paper's method and pursuit",
            (_error(found, ours[told]) or 0.0) < best,
        )
        for told in ("both budgets", "nothing")
    ]
    return tuple(claims)


def _notes(found: Case, answers: list[Parts]) -> tuple[str, ...]:
    few = found.entries / found.B.size
    told = "are those that the authors told theirs" if found.clean is None else "are those of the truth"
    nothing = next(a for a in answers if a.told == "nothing")
    dark = (
        "The looser the bound, the more of what is dark is filled in: ours and pursuit's low-rank parts keep most of "
        "the shadows, since a few directions explain them well."
        if found.clean is None
        else "The true clean part is below 0 in shadows, so whoever finds it is darker there, not brighter."
    )
    return (
        f"The gauges that the paper's method is told {told}; a user does not know them.",
        f"Its bound allows a residual of {100 * _share(found):.0f} % of the data's norm, and {100 * few:.0f} % of all "
        "entries may be in the sparse part.",
        f"Our default told nothing settles on rank {int(np.linalg.matrix_rank(nothing.low))} and "
        f"{int(np.count_nonzero(nothing.sparse))} entries, those that stand out of the noise it measures.",
        "Darkest tenth: how much brighter the low-rank part is than the data where these are darkest, over their mean "
        f"brightness. {dark}",
    )


def _figure(found: Case, answers: list[Parts]) -> Drawing:
    paper = min((a for a in answers if a.who == "paper"), key=lambda a: a.answer.misfit)
    ours = [a for a in answers if a.who == "fewatoms" and a.told != "the rank"]
    lights = np.argsort(found.B.sum(axis=0), kind="stable")[np.linspace(2, found.B.shape[1] - 3, 6).astype(int)]
    truth = None if found.clean is None else np.maximum(found.clean, 0.0) - found.clean

    def strip(matrix: FloatArray) -> FloatArray:
        return np.hstack([matrix[:, light].reshape(found.picture) for light in lights])

    shown = [("original", strip(found.B), "true shadows", None if truth is None else strip(truth))]
    for one in (paper, *ours, answers[-1]):
        shown.append((f"{one.who}, told {one.told}: low rank", strip(one.low), "sparse", strip(one.sparse)))

    def draw(figure: Sheet) -> None:
        pictures(figure, shown, float(np.quantile(found.B, 0.995)))

    alt = (
        "Six lights, from dark to bright, in rows: originals, then the paper's method, our default told both budgets, "
        "our default told nothing, and pursuit; low-rank parts on the left, sparse parts on the right."
    )
    title = "Six of the lights: low-rank parts (left), and sparse parts (right), each row in colours of its own scale"
    return Drawing("rpca", title, alt, draw, None, (11, 7.2))


experiment = Experiment(
    "rpca",
    "Robust principal component analysis",
    "Pictures of one thing under many lights: low rank, and shadows, which are few entries.",
    run,
)
