"""Bounds on beta*, which epsilon_3 needs, along level sets with bisection."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from fewatoms.evidence import LevelBounds
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, LevelSet
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, level, line
from fewatoms.reproduce.theory.planted import sparse

INNER = {"bundle": Bundle, "conditional gradient": ConditionalGradient}
heads = ("inner method", "iteration", "lower bound / beta*", "upper bound / beta*", "tau bound / tau*")


def run(settings: Settings, listener: Listener) -> Findings:
    count = 80 if settings.quick else 200
    pair = sparse(settings.rng(2, 8), 40, 80, 5, 0.3)
    problem, beta = pair.problem(), 1 / pair.lam
    rows: list[list[Cell]] = []
    for name, inner in INNER.items():
        listener.stage(name)
        bounds = LevelBounds(problem)
        for t, dual in enumerate(islice(LevelSet(Bisection(), inner()).iterates(problem), count), start=1):
            bounds.see_dual(dual)
            low, high = bounds.beta
            rows.append([name, t, low / beta, high / beta, bounds.tau_low / pair.tau])
    points = Table("beta_points", "Bounds along level sets with bisection", heads, rows)
    found = np.array([row[1:] for row in rows], dtype=float)
    claims = (
        Claim("the bounds enclose beta* at every iterate", bool(np.all(found[:, 1] <= 1) and np.all(found[:, 2] >= 1))),
        Claim("no bound on tau* is above it", bool(np.all(found[:, 3] <= 1))),
        Claim("bounds only tighten", all(_tightens(rows, name) for name in INNER)),
    )
    ends = {name: [row for row in rows if row[0] == name][-1] for name in INNER}
    told = [f"{name}: {row[2]:.4g} to {row[3]:.4g} times beta* after {row[1]} iterates" for name, row in ends.items()]
    notes = (
        f"The bounds at the end: {'; '.join(told)}.",
        "1 / beta* is the support of M*(b - Mx*), the reciprocal of what the Appendix prints; its bounds are made safe "
        "for subproblems that are not solved to the end.",
    )
    return Findings((), (_figure(points),), claims, notes)


def _tightens(rows: list[list[Cell]], name: str) -> bool:
    low, high = np.array([row[2:4] for row in rows if row[0] == name], dtype=float).T
    known = high[np.isfinite(high)]
    return bool(np.all(np.diff(low) >= 0) and np.all(np.diff(known) <= 0))


def _figure(points: Table) -> Drawing:
    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for i, name in enumerate(INNER):
            rows = [row for row in points.rows if row[0] == name]
            for j, side in enumerate(("lower", "upper")):
                kept = [(float(row[1] or 0), float(row[2 + j] or 0)) for row in rows]
                kept = [(x, y) for x, y in kept if 0 < y < math.inf]
                line(panel, 2 * i + j, [x for x, _ in kept], [y for _, y in kept], f"{side}, {name}")
        level(panel, 1.0, "beta*")
        panel.set_yscale("log")
        labelled(panel, "iteration", "bound / beta*")
        legend(panel)

    alt = "Lower bounds that rise towards beta* and upper bounds that fall towards it, for two inner methods."
    return Drawing("beta", "Bounds on beta* close in along bisection", alt, draw, points)


experiment = Experiment(
    "beta",
    "Bounds on beta*",
    "What a level-set method with bisection proves about the dual variable that epsilon_3 asks for.",
    run,
)
