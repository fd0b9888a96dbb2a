"""Cone against span: signs as exposed, or free. Over signed atoms the cone is one orthant of the span; over rank-one
matrices the two are one."""

from __future__ import annotations

from itertools import islice

import numpy as np

from fewatoms.oracles import ConditionalGradient
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import UPPER_RIGHT, Sheet, axes, labelled, legend, line
from fewatoms.reproduce.theory.planted import Pair, low_rank, sparse
from fewatoms.retrieval import reduced_fit

heads = ("set", "iteration", "loss over the cone", "loss over the span")


def measured(pair: Pair, k: int, count: int) -> list[tuple[int, float, float]]:
    """Losses of both reduced fits over the k atoms that each iterate exposes, in units of alpha."""
    problem, found = pair.problem(k), []
    for t, dual in enumerate(islice(ConditionalGradient(pair.tau).iterates(problem), count), start=1):
        face = pair.atoms.expose(dual.z, k)
        losses = (reduced_fit(problem, one).loss / pair.alpha for one in (face.as_cone(), face))
        found.append((t, *losses))
    return found  # type: ignore[return-value]


def run(settings: Settings, listener: Listener) -> Findings:
    count = 15 if settings.quick else 60
    rng = settings.rng(2, 9)
    cases = {
        "signed unit vectors": (sparse(rng, 60, 150, 6, 0.1, rivals=0.1), 12),
        "rank-one matrices": (low_rank(rng, 100, 10, 12, 2, 0.3), 3),
    }
    rows: list[list[Cell]] = []
    for name, (pair, k) in cases.items():
        listener.stage(name)
        rows += [[name, *row] for row in measured(pair, k, count)]
    points = Table("cone_and_span_points", "Losses of the reduced fits, over alpha", heads, rows)
    signed, ranked = (np.array([row[2:] for row in rows if row[0] == name], dtype=float) for name in cases)
    claims = (
        Claim("the span's fit is never worse than the cone's", bool(np.all(signed[:, 1] <= signed[:, 0] * (1 + 1e-9)))),
        Claim("over rank-one matrices the two are one", bool(np.allclose(ranked[:, 0], ranked[:, 1], rtol=1e-9))),
    )
    better = signed[:, 1] < signed[:, 0] * (1 - 1e-6)
    largest = float(np.max(signed[:, 0] / signed[:, 1]))
    note = (
        f"Over signed unit vectors the span is strictly better at {int(better.sum())} of {len(signed)} iterates, at "
        f"most by a factor of {largest:.3f} in the loss."
    )
    return Findings((), (_figure(points, list(cases)),), claims, (note,))


def _figure(points: Table, names: list[str]) -> Drawing:
    found = {name: np.array([row[1:] for row in points.rows if row[0] == name], dtype=float) for name in names}

    def draw(figure: Sheet) -> None:
        left, right = axes(figure, across=2)
        for which, (name, rows) in enumerate(found.items()):
            line(left, which, rows[:, 0].tolist(), (rows[:, 1] / rows[:, 2]).tolist(), name)
            line(right, which, rows[:, 0].tolist(), rows[:, 2].tolist(), name)
        labelled(left, "iteration", "loss over the cone / loss over the span", "what fixed signs cost")
        labelled(right, "iteration", "loss over the span / alpha", "the loss itself")
        right.set_yscale("log")
        for panel in (left, right):
            legend(panel, at=UPPER_RIGHT)

    costs = {name: float((rows[:, 1] / rows[:, 2]).max()) for name, rows in found.items()}
    alt = "Left: the loss over the cone as a multiple of that over the span, at most " + ", ".join(
        f"{cost:.3f} for {name}" for name, cost in costs.items()
    )
    title = "The essential cone and the essential span: the ratio of their losses"
    return Drawing("cone_and_span", title, f"{alt}. Right: the loss over the span.", draw, points, (9.5, 4.0))


experiment = Experiment(
    "cone-and-span",
    "Cone against span",
    "The reduced fit with signs as M*y has them, and with free coefficients, along a run of conditional gradients.",
    run,
)
