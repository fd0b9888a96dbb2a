"""epsilon_1, epsilon_2 and epsilon_3 at work: how many atoms each leaves, beside the gap-safe rule of Ndiaye et al."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fewatoms.oracles import Bisection, Bundle, LevelSet, Oracle, ProximalGradient
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, line
from fewatoms.reproduce.theory.planted import Pair, Seen, along, sparse

WAYS: dict[str, Callable[[Pair], Oracle]] = {
    "epsilon_1, (P1) by proximal gradients": lambda pair: ProximalGradient(pair.lam),
    "epsilon_2, (P2) by a bundle method": lambda pair: Bundle(pair.tau),
    "epsilon_3, (P3) by level sets, bisection": lambda pair: LevelSet(Bisection(), Bundle()),
}
GAP_SAFE = "gap-safe rule, (P1) by proximal gradients"
Places: TypeAlias = NDArray[np.intp]
heads = ("rule", "iteration", "epsilon", "atoms left", "atoms of the solution left")


def gap_safe(seen: Seen) -> Places:
    """Atoms that are left by |a_i' theta| + |a_i| sqrt(2 gap) / lambda >= 1, theta = y / lambda."""
    pair, gap = seen.pair, seen.certificate.gap
    lengths = np.linalg.norm(pair.M, axis=0)
    reach = math.sqrt(2 * gap) if math.isfinite(gap) else math.inf
    left: Places = np.flatnonzero(np.abs(seen.z) + lengths * reach >= pair.lam * (1 - 1e-12))
    return left


def exposed(seen: Seen) -> Places:
    """Atoms that Theorem 2 leaves: all with an alignment of at least the threshold."""
    threshold = seen.certificate.threshold
    level = -math.inf if threshold is None else threshold
    left: Places = np.flatnonzero(np.abs(seen.z) >= level)
    return left


def run(settings: Settings, listener: Listener) -> Findings:
    count = 150  # where something is seen; it is quick
    pair = sparse(settings.rng(2, 7), 60, 150, 6, 0.3, spread=0.5)
    rows: list[list[Cell]] = []
    for name, way in WAYS.items():
        listener.stage(name)
        for seen in along(pair, way(pair), count):
            epsilon = seen.certificate.epsilon
            rows.append([name, seen.iteration, epsilon, *_kept(pair, exposed(seen))])
            if seen.certificate.relaxation is not None and seen.certificate.relaxation.name == "P1":
                rows.append([GAP_SAFE, seen.iteration, None, *_kept(pair, gap_safe(seen))])
    points = Table("screening_points", "Atoms that may still be in the solution", heads, rows)
    claims = (
        Claim("no rule ever leaves out an atom of the solution", all(row[4] == len(pair.c) for row in rows)),
        Claim(
            "the gap-safe rule, with a length for each atom, leaves no more atoms than epsilon_1",
            _no_more(rows, GAP_SAFE, next(iter(WAYS))),
        ),
    )
    names = [*WAYS, GAP_SAFE]
    last = [[row for row in rows if row[0] == name][-1] for name in names]
    alone = {name: next((row[1] for row in rows if row[0] == name and row[3] == len(pair.c)), None) for name in names}
    table = Table(
        "screening",
        f"Of {pair.atoms.count} atoms, {len(pair.c)} in the solution, at the last iterate",
        ("rule", "iterates", "atoms left", "iterate from which only the solution's are left"),
        [[row[0], row[1], row[3], alone[str(row[0])]] for row in last],
    )
    return Findings((table,), (_figure(points, pair.atoms.count, len(pair.c)),), claims)


def _kept(pair: Pair, left: Places) -> tuple[int, int]:
    return len(left), len(pair.support & frozenset(left.tolist()))


def _no_more(rows: list[list[Cell]], one: str, other: str) -> bool:
    by = {(row[0], row[1]): int(row[3] or 0) for row in rows}
    return all(by[one, t] <= by[other, t] for who, t in by if who == one)


def _figure(points: Table, total: int, true: int) -> Drawing:
    names = [*WAYS, GAP_SAFE]

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for which, name in enumerate(names):
            rows = [row for row in points.rows if row[0] == name]
            line(panel, which, [float(row[1] or 0) for row in rows], [float(row[3] or 0) for row in rows], name)
        panel.axhline(true, color="#8a8a8a", linewidth=1)
        panel.set_yscale("log")
        panel.set_ylim(0.7 * true, 1.3 * total)
        labelled(panel, "iteration", f"atoms left of {total}; {true} are in the solution")
        legend(panel)

    alt = f"Falling steps from {total} atoms towards the {true} of the solution, for each epsilon and for the "
    return Drawing("screening", "Screening by each epsilon", f"{alt}gap-safe rule.", draw, points, (7.5, 4.2))


experiment = Experiment(
    "screening",
    "Each epsilon, and gap-safe screening",
    "Columns of different lengths: how many atoms each part of Theorem 2 leaves along a run.",
    run,
)
