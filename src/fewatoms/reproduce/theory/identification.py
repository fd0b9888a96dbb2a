"""Theorem 2: atoms of the solution are epsilon-exposed by M*y, epsilon being a multiple of the root of d(y) - d(y*)."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.oracles import ProximalGradient
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, line
from fewatoms.reproduce.theory.planted import Pair, along, low_rank, sparse

heads = ("set", "iteration", "epsilon from the gap", "epsilon of the theorem", "|M|_A |y - y*|", "shortfall")


def run(settings: Settings, listener: Listener) -> Findings:
    count = 60 if settings.quick else 200
    found: dict[str, FloatArray] = {}
    for name, pair in pairs(settings):
        listener.stage(name)
        found[name] = measured(pair, count)
    rows: list[list[Cell]] = [[name, int(row[0]), *row[1:].tolist()] for name, rows in found.items() for row in rows]
    table = Table("identification_points", "Along runs of proximal gradients on (P1)", heads, rows)
    proven, theorem, distance, shortfall = np.concatenate(list(found.values())).T[1:]
    claims = (
        Claim(
            "Theorem 2 (a): epsilon is at least the distance |M|_A |y - y*| along both runs",
            bool(np.all(theorem >= distance)),
        ),
        Claim(
            "no atom of the solution lies further below lambda than epsilon says",
            bool(np.all(theorem >= shortfall)),
        ),
        Claim(
            "epsilon computed from the duality gap alone is at least the distance, too",
            bool(np.all(proven >= distance)),
        ),
    )
    notes = tuple(
        f"{name}: epsilon is {np.median(rows[:, 2] / rows[:, 3]):.0f} times the true distance, in the middle of "
        f"{len(rows)} iterates. It goes with the root of an excess that is of first order in the distance."
        for name, rows in found.items()
    )
    return Findings((), (_figure(table),), claims, notes)


def pairs(settings: Settings) -> list[tuple[str, Pair]]:
    rng = settings.rng(2, 1)
    return [
        ("signed unit vectors", sparse(rng, 60, 150, 6, 0.3)),
        ("rank-one matrices", low_rank(rng, 90, 10, 12, 2, 0.3)),
    ]


def measured(pair: Pair, count: int) -> FloatArray:
    """Until values are rounding: iteration, both epsilons, the true distance, and how far the last atom of the solution
    is below lambda."""
    rows = []
    norm = pair.norm
    for seen in along(pair, ProximalGradient(pair.lam), count):
        if seen.excess <= 10 * seen.rounding:
            break  # from here on values are equal as far as they can be told apart
        theorem = norm * math.sqrt(2 * (max(0.0, seen.excess) + seen.rounding))
        distance = norm * float(np.linalg.norm(seen.y - pair.y))
        shortfall = max(0.0, pair.lam - float(pair.alignments(seen.y).min()))
        rows.append((seen.iteration, seen.certificate.epsilon or math.inf, theorem, distance, shortfall))
    return np.array(rows)


def _figure(table: Table) -> Drawing:
    names = list(dict.fromkeys(str(cell) for cell in table.column("set")))

    def draw(figure: Sheet) -> None:
        for panel, name in zip(axes(figure, across=2), names, strict=True):
            rows = [row for row in table.rows if row[0] == name]
            for which, column in enumerate(heads[2:]):
                kept = [(float(row[1] or 0), float(row[2 + which] or 0)) for row in rows if row[2 + which]]
                line(panel, which, [x for x, _ in kept], [y for _, y in kept], column)
            panel.set_yscale("log")
            labelled(panel, "iteration", "distance", name)
        legend(panel)

    alt = (
        "Two panels of falling curves: epsilon from the gap above that of the theorem, above the true distance, above "
    )
    return Drawing(
        "identification",
        "Theorem 2's epsilon above the true distance, for listed atoms and for matrices",
        alt + "how far the atoms of the solution fall short of the top of M*y.",
        draw,
        table,
        (9.5, 4.2),
    )


experiment = Experiment(
    "identification",
    "Theorem 2 along a run",
    "How far from M*y's top atoms of the solution can be, by the theorem and in truth.",
    run,
)
