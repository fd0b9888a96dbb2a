"""Tables 2 and 3: five Sparco problems by SPGL1, by the paper's method, and by our default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewatoms import datasets
from fewatoms._types import FloatArray
from fewatoms.atoms import SignedOneHot
from fewatoms.doors import fit
from fewatoms.methods.paper import Paper
from fewatoms.reproduce import data, published
from fewatoms.reproduce import sparco_notes as notes_on
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import COLOURS, UPPER_LEFT, Sheet, axes, labelled, legend
from fewatoms.reproduce.quiet import silent
from fewatoms.solution import Solution

Product: TypeAlias = Callable[[FloatArray], FloatArray]
MISFIT = published.number("sparco", "misfit")
TO_THE_END = 10_000  # iterations: for the authors' vectors
DRAWN = 3000  # for draws, some of which would take far longer
QUICK_LIMIT = 300  # for draws, where it has to be quick
MET = 1 + 1e-6  # a misfit up to this factor counts as met
SPGL1_SLACK = 1e-4  # SPGL1's own: it ends where |residual| is within this of the bound, or within this share if above 1
COUNTED_FROM = 1e-6  # atoms are those with a coefficient above this share of the largest, as in docs/results.md


@dataclass(frozen=True)
class Case:
    """One problem: M, b, the k that is asked for, and where b is from."""

    name: str
    M: LinearOperator
    b: FloatArray
    k: int
    authors: bool


@dataclass(frozen=True)
class Run:
    """What one solver needed for one problem."""

    case: str
    who: str
    k: int | None
    atoms: int
    iterations: int
    products: int
    misfit: float
    met: bool


def cases(settings: Settings) -> list[Case]:
    """The authors' vectors where they are at hand, draws otherwise: those of cosspike need all of their atoms."""
    found = []
    for i, (name, figures) in enumerate(published.sparco().items()):
        given = data.authors(settings, name)
        if given is not None:
            found.append(Case(name, _operator(name, given[1]), given[0], figures.nnz, True))
            continue
        drawn = datasets.blocksig() if name == "blocksig" else datasets.SPARCO[name](rng=settings.rng(1, i))
        k = drawn.k if name == "cosspike" else figures.nnz
        found.append(Case(name, drawn.M, drawn.b, k, False))
    return found


def _operator(name: str, kernel: FloatArray) -> LinearOperator:
    if name == "blocksig":
        return datasets.HaarSynthesis(1024, 5)
    return datasets.CosinesAndSpikes(1024) if name == "cosspike" else datasets.CausalConvolution(kernel, 1024)


# Three ways -----------------------------------------------------------------------------------------------------------


def by_paper(case: Case, limit: int, listener: Listener) -> Run:
    """Algorithm 1 as its authors ran it: alpha = 0, and a slack of (misfit |b|)^2 / 2."""
    slack = 0.5 * (MISFIT * float(np.linalg.norm(case.b))) ** 2
    s = fit(
        case.M, case.b, atoms=SignedOneHot(case.M.shape[1]), k=case.k, alpha=0.0, method=Paper(epsilon=slack),
        max_iterations=limit, callback=listener.callback,
    )  # fmt: skip
    return _run(case, "paper", case.k, s)


def by_default(case: Case, k: int | None, listener: Listener) -> Run:
    """Told the misfit, and k or not."""
    atoms = SignedOneHot(case.M.shape[1])
    s = fit(case.M, case.b, atoms=atoms, k=k, misfit=MISFIT, callback=listener.callback)
    return _run(case, "fewatoms" if k is None else "fewatoms, k told", k, s)


def _run(case: Case, who: str, k: int | None, s: Solution) -> Run:
    met = s.misfit <= MISFIT * MET
    return Run(case.name, who, k, counted(np.asarray(s.coefficients)), s.iterations, s.products, s.misfit, met)


def counted(coefficients: FloatArray) -> int:
    """How many of them are more than rounding."""
    sizes = np.abs(coefficients)
    return int(np.count_nonzero(sizes > COUNTED_FROM * sizes.max(initial=0.0)))


def by_spgl1(case: Case, limit: int) -> Run | None:
    """SPGL1 with its default stopping rule, every product counted; None where it is not installed."""
    try:
        from spgl1 import spg_bpdn
    except ImportError:
        return None
    products = [0]

    def tallied(product: Product) -> Product:
        def called(v: FloatArray) -> FloatArray:
            products[0] += 1
            return np.ravel(product(np.ravel(v)))

        return called

    M = LinearOperator(
        case.M.shape, matvec=tallied(lambda v: case.M @ v), rmatvec=tallied(lambda v: case.M.T @ v), dtype=np.float64
    )
    with silent("spgl1.spgl1"):
        x, residual, _, told = spg_bpdn(M, case.b, MISFIT * float(np.linalg.norm(case.b)), iter_lim=limit)
    left, size = float(np.linalg.norm(residual)), float(np.linalg.norm(case.b))
    met = left <= MISFIT * size + SPGL1_SLACK * max(1.0, left)
    return Run(case.name, "SPGL1", None, counted(x), int(told["niters"]), products[0], left / size, met)


# What is told ---------------------------------------------------------------------------------------------------------


def run(settings: Settings, listener: Listener) -> Findings:
    limit = QUICK_LIMIT if settings.quick else DRAWN
    runs: list[Run] = []
    found = cases(settings)
    for case in found:
        runs += _all_ways(case, limit, settings.quick, listener)
    listener.stage("tables")
    tables = (_problems(found), _counts(found, runs), _ours(found, runs), _runs(runs))
    notes = notes_on.all_of(found, runs, QUICK_LIMIT if settings.quick else None)
    return Findings(tables, (_figure(found, runs),), tuple(_claims(found, runs)), tuple(notes))


def _all_ways(case: Case, limit: int, quick: bool, listener: Listener) -> list[Run]:
    """The authors' vectors are walked to the end; draws may not end in reasonable time."""
    listener.stage(f"{case.name}: SPGL1")
    pursued = by_spgl1(case, limit if quick else TO_THE_END)
    listener.stage(f"{case.name}: the paper's method")
    paper = by_paper(case, TO_THE_END if case.authors else limit, listener)
    listener.stage(f"{case.name}: our default")
    ours = [by_default(case, k, listener) for k in (case.k, None)]
    return [*([] if pursued is None else [pursued]), paper, *ours]


def _problems(found: list[Case]) -> Table:
    rows: list[list[Cell]] = []
    for case in found:
        told = published.sparco()[case.name]
        m, n = case.M.shape
        b = "the authors'" if case.authors else "no randomness" if case.name == "blocksig" else "drawn"
        size = float(np.linalg.norm(case.b))
        rows.append([case.name, told.id, m, told.m, n, told.n, size, told.norm, told.operator, b])
    columns = ("problem", "ID", "m", "m, published", "n", "n, published", "|b|", "|b|, published", "operator", "b")
    of_paper = ("m, published", "n, published", "|b|, published", "operator")
    return Table("sparco_problems", "The Sparco problems (Table 2)", columns, rows, of_paper, published.where("sparco"))


def _counts(found: list[Case], runs: list[Run]) -> Table:
    """Table 3, with what came out here beside what is printed there."""
    rows: list[list[Cell]] = []
    for case in found:
        told = published.sparco()[case.name]
        by = {one.who: one for one in runs if one.case == case.name}
        paper, spgl1 = by["paper"], by["SPGL1"].products if "SPGL1" in by else None
        rows.append(
            [
                case.name, told.nnz, case.k, told.spgl1, spgl1, told.paper, paper.iterations, paper.products, paper.met,
            ]
        )  # fmt: skip
    columns = (
        "problem", "nnz, published", "k asked", "SPGL1, published", "SPGL1: products", "paper, published",
        "paper: iterations", "paper: products", "paper: misfit met",
    )  # fmt: skip
    of_paper = ("nnz, published", "SPGL1, published", "paper, published")
    title = "Basis pursuit denoise at a misfit of 1e-3 (Table 3)"
    return Table("sparco_counts", title, columns, rows, of_paper, published.where("sparco"))


def _ours(found: list[Case], runs: list[Run]) -> Table:
    by = {(r.case, r.who): r for r in runs}
    rows: list[list[Cell]] = []
    for case in found:
        told, alone = by[case.name, "fewatoms, k told"], by[case.name, "fewatoms"]
        rows.append([case.name, case.k, told.atoms, told.products, alone.atoms, alone.products])
    columns = ("problem", "k told", "atoms", "products", "k left out: atoms", "k left out: products")
    return Table("sparco_ours", "The same problems by our default, told k and left to find it", columns, rows)


def _runs(runs: list[Run]) -> Table:
    columns = ("problem", "who", "k asked", "atoms", "iterations", "products", "misfit", "met")
    rows = [[r.case, r.who, r.k, r.atoms, r.iterations, r.products, r.misfit, r.met] for r in runs]
    return Table("sparco_runs", "Every run", columns, rows)


def _figure(found: list[Case], runs: list[Run]) -> Drawing:
    names = [case.name for case in found]
    whos = [who for who in ("SPGL1", "paper", "fewatoms, k told", "fewatoms") if any(r.who == who for r in runs)]
    by = {(r.case, r.who): r for r in runs}

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        wide = 0.8 / len(whos)
        for i, who in enumerate(whos):
            at = [j + (i - (len(whos) - 1) / 2) * wide for j in range(len(names))]
            heights = [by[name, who].products for name in names]
            bars = panel.bar(at, heights, wide, color=COLOURS[i], label=who, edgecolor="white")
            for bar, name in zip(bars, names, strict=True):
                if not by[name, who].met:
                    bar.set_hatch("///")
        panel.set_yscale("log")
        panel.set_xticks(range(len(names)), names)
        labelled(panel, "problem", "products with M and M*")
        legend(panel, ncols=2, at=UPPER_LEFT)
        top = max(r.products for r in runs)
        panel.set_ylim(top=top * 12)

    alt = "Bars of products for five problems and each solver: " + "; ".join(
        f"{name}: " + ", ".join(f"{who} {by[name, who].products}" for who in whos) for name in names
    )
    title = "Products with M and M*, all counted; hatched: the misfit is not met (SPGL1: within its own tolerance)"
    return Drawing("sparco_products", title, alt, draw)


def _claims(found: list[Case], runs: list[Run]) -> list[Claim]:
    by = {(r.case, r.who): r for r in runs}
    claims = []
    for case in found:
        told, paper = published.sparco()[case.name], by[case.name, "paper"]
        if case.authors or case.name == "blocksig":  # nothing is drawn for blocksig: it is the authors' up to rounding
            text = f"{case.name}: the paper's method takes {told.paper} iterations, as published"
            claims.append(Claim(text, paper.met and paper.iterations == told.paper))
        ours = by[case.name, "fewatoms, k told"]
        claims.append(
            Claim(f"{case.name}: our default, told k, meets the misfit with at most {case.k} atoms", ours.met)
        )
        if paper.met:
            fewer = ours.products <= paper.products
            text = f"{case.name}: our default, told k, takes no more products than the paper's method"
            claims.append(Claim(text, fewer))
    return claims


experiment = Experiment(
    "sparco",
    "Sparco problems",
    "Five problems of sparse recovery: M, b and a misfit of 1e-3 are given, few atoms are asked for.",
    run,
)
