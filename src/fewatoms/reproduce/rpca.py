"""Robust principal component analysis: pictures as low rank plus sparse. The paper's sum of two sets with told gauges,
our default told nothing of them, and pursuit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.atoms import RankOne, SignedOneHot
from fewatoms.doors import fit
from fewatoms.methods.paper import Paper
from fewatoms.operators import Identity
from fewatoms.reproduce import data, lit, published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet
from fewatoms.solution import Solution

SLACK = published.number("rpca", "tolerance")
NOISY = 0.01  # misfit that pursuit is told
TIGHTER = 0.1  # misfit of a second run of the paper's method on generated pictures
LOOSE = 0.48  # the residual that the authors allowed over the norm of the faces
LIMIT = 200  # iterations, on the faces
heads = ("who", "told", "status", "iterations", "rank", "entries", "misfit", "error of the clean part")


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


@dataclass(frozen=True, eq=False)
class Parts:
    """An answer: its low-rank and its sparse part, as matrices."""

    who: str
    told: str
    answer: Solution
    low: FloatArray
    sparse: FloatArray


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
    height, width = (24, 21) if settings.quick else (48, 42)
    made = lit.shapes(height, width, published.count("rpca", "lights"), settings.rng(4, 1))
    clean, B = _columns(made.clean), _columns(made.pictures)
    shadows = np.maximum(clean, 0.0) - clean
    gauges = (float(shadows.sum()), float(np.linalg.svd(clean, compute_uv=False).sum()))
    loose = LOOSE * float(np.linalg.norm(B))
    return Case(B, (height, width), clean, gauges, int(np.count_nonzero(shadows)), 3, loose, "generated lit shapes")


def _columns(pictures: FloatArray) -> FloatArray:
    return np.ascontiguousarray(pictures.reshape(len(pictures), -1).T)


# Three ways -----------------------------------------------------------------------------------------------------------


def by_paper(found: Case, residual: float, limit: int, listener: Listener) -> Parts:
    """The sum of both sets, each in units of its own gauge."""
    few, low = SignedOneHot(found.B.shape), RankOne(*found.B.shape)
    slack = 0.5 * (SLACK * float(np.linalg.norm(found.B))) ** 2
    s = fit(
        Identity(found.B.shape), found.B, atoms=found.gauges[0] * few + found.gauges[1] * low,
        k=(found.entries, found.rank), alpha=0.5 * residual**2, method=Paper(epsilon=slack), max_iterations=limit,
        callback=listener.callback,
    )  # fmt: skip
    share = residual / float(np.linalg.norm(found.B))
    return _parts("paper", f"both gauges, both budgets, misfit {100 * share:.0f} %", s, 1)


def by_default(found: Case, entries: int | None, listener: Listener) -> Parts:
    """No gauges; the rank, and the number of entries or not."""
    atoms = RankOne(*found.B.shape) + SignedOneHot(found.B.shape)
    k = (found.rank, entries)
    s = fit(Identity(found.B.shape), found.B, atoms=atoms, k=k, callback=listener.callback)
    return _parts("fewatoms", "the rank" if entries is None else "both budgets", s, 0)


def by_pursuit(found: Case, listener: Listener) -> Parts:
    """Classical principal component pursuit: the union of both sets, its usual weight, no budgets."""
    atoms = RankOne(*found.B.shape) | SignedOneHot(found.B.shape)
    s = fit(Identity(found.B.shape), found.B, atoms=atoms, misfit=NOISY, callback=listener.callback)
    return _parts("pursuit", f"misfit {100 * NOISY:.0f} %", s, 0)


def _parts(who: str, told: str, s: Solution, at: int) -> Parts:
    """The low-rank part is the part number `at`."""
    return Parts(who, told, s, np.asarray(s.parts[at].x), np.asarray(s.parts[1 - at].x))


# What is told ---------------------------------------------------------------------------------------------------------


def run(settings: Settings, listener: Listener) -> Findings:
    listener.stage("pictures")
    found = case(settings)
    limit = LIMIT if found.clean is None else 15 if settings.quick else 60
    listener.stage("the paper's method, told both gauges")
    answers = [by_paper(found, found.residual, limit, listener)]
    if found.clean is not None:
        listener.stage("the paper's method, a tighter bound")
        answers.append(by_paper(found, TIGHTER * float(np.linalg.norm(found.B)), limit, listener))
    for entries in (found.entries, None):
        listener.stage("our default")
        answers.append(by_default(found, entries, listener))
    listener.stage("pursuit")
    answers.append(by_pursuit(found, listener))
    listener.stage("figures")
    rows = [_row(found, parts) for parts in answers]
    table = Table("rpca", f"Low rank plus sparse: {found.source}", heads, rows)
    tables, figures = (table, _published(found, answers)), (_figure(found, answers),)
    return Findings(tables, figures, _claims(found, answers), _notes(found))


def _share(found: Case) -> float:
    """What the paper's method may leave of the data, by its bound."""
    return found.residual / float(np.linalg.norm(found.B))


def _row(found: Case, parts: Parts) -> list[Cell]:
    s = parts.answer
    rank = int(np.linalg.matrix_rank(parts.low))
    return [
        parts.who, parts.told, s.status.name, s.iterations, rank, int(np.count_nonzero(parts.sparse)), s.misfit,
        _error(found, parts),
    ]  # fmt: skip


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
        ["iterations of the paper's method", paper.iterations, published.count("rpca", "iterations")],
        ["entries of the sparse part", found.entries, published.count("rpca", "entries")],
        ["rank", found.rank, published.count("rpca", "rank")],
        ["gauge of the sparse part, told", found.gauges[0], published.number("rpca", "gauge of the sparse part")],
        ["gauge of the low-rank part, told", found.gauges[1], published.number("rpca", "gauge of the low-rank part")],
    ]
    title = "The paper's run and the authors'"
    source = f"{published.where('rpca')}; counts: {published.where('rpca', 'iterations')}"
    return Table("rpca_published", title, ("what", "here", "published"), rows, ("published",), source)


def _claims(found: Case, answers: list[Parts]) -> tuple[Claim, ...]:
    paper, ours = answers[0], next(a for a in answers if a.who == "fewatoms")
    met = ours.answer.misfit <= _share(found)
    claims = [Claim("our default meets the bound of the paper's method with the same budgets, told no gauges", met)]
    if found.clean is None:
        expected = published.count("rpca", "iterations")
        near = bool(paper.answer.success) and abs(paper.answer.iterations - expected) <= 4
        claims.append(Claim(f"the paper's method meets its bound in {expected} iterations, up to 4", near))
    else:
        errors = {a.told: _error(found, a) or 0.0 for a in answers}
        best = min(_error(found, a) or math.inf for a in answers if a.who != "fewatoms")
        claims.append(Claim("our default finds the clean part more closely than the others", errors[ours.told] < best))
    return tuple(claims)


def _notes(found: Case) -> tuple[str, ...]:
    few = found.entries / found.B.size
    told = "are those that the authors told theirs" if found.clean is None else "are those of the truth"
    return (
        f"The gauges that the paper's method is told {told}; a user does not know them.",
        f"Its bound allows a residual of {100 * _share(found):.0f} % of the data's norm, and {100 * few:.0f} % of all "
        "entries may be in the sparse part.",
    )


def _figure(found: Case, answers: list[Parts]) -> Drawing:
    paper = min((a for a in answers if a.who == "paper"), key=lambda a: a.answer.misfit)
    ours = next(a for a in answers if a.who == "fewatoms")
    shown = [
        ("original", found.B), ("paper: low rank", paper.low), ("paper: sparse", paper.sparse),
        ("ours: low rank", ours.low), ("ours: sparse", ours.sparse), ("pursuit: low rank", answers[-1].low),
    ]  # fmt: skip
    lights = np.argsort(found.B.sum(axis=0), kind="stable")[np.linspace(2, found.B.shape[1] - 3, 6).astype(int)]

    def draw(figure: Sheet) -> None:
        panels = figure.subplots(len(shown), 1)
        top = float(np.quantile(found.B, 0.995))
        for panel, (name, matrix) in zip(panels, shown, strict=True):
            strip = np.hstack([matrix[:, light].reshape(found.picture) for light in lights])
            signed = "sparse" in name
            panel.imshow(strip, cmap="RdBu_r" if signed else "gray", vmin=-top if signed else 0.0, vmax=top)
            panel.set_xticks([])
            panel.set_yticks([])
            panel.set_title(name, fontsize=9, loc="left", pad=2)

    alt = (
        "Six lights, from dark to bright, in rows: originals, low-rank and sparse parts of the paper's method and ours "
    )
    title = "Shadows taken away: six of the lights"
    return Drawing("rpca", title, f"{alt}and pursuit's low-rank part.", draw, None, (8.5, 8.5))


experiment = Experiment(
    "rpca",
    "Robust principal component analysis",
    "Pictures of one thing under many lights: low rank, and shadows, which are few entries.",
    run,
)
