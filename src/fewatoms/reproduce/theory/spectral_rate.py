"""The corollary for spectral sets: how many iterations it takes until the retrieved loss is within a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from fewatoms.oracles import ConditionalGradient, Oracle, ProximalGradient
from fewatoms.reproduce import published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, guide, labelled, legend, line, slope
from fewatoms.reproduce.theory.planted import Pair, low_rank
from fewatoms.retrieval import reduced_fit

METHODS: dict[str, tuple[Callable[[Pair], Oracle], float]] = {
    "conditional gradient": (lambda pair: ConditionalGradient(pair.tau), 1.0),
    "proximal gradient": (lambda pair: ProximalGradient(pair.lam), 2.0),
}
heads = ("method", "tolerance, of alpha", "iterations")


def reached(pair: Pair, oracle: Oracle, tolerances: list[float], limit: int) -> dict[float, int | None]:
    """The first iterate from whose top singular pairs a loss of at most (1 + tolerance) alpha is retrieved."""
    problem = pair.problem(len(pair.c))
    open_ = sorted(tolerances, reverse=True)
    found: dict[float, int | None] = dict.fromkeys(open_)
    for t, dual in enumerate(islice(oracle.iterates(problem), limit), start=1):
        loss = reduced_fit(problem, pair.atoms.expose(dual.z, problem.k)).loss
        while open_ and loss <= (1 + open_[0]) * pair.alpha:
            found[open_.pop(0)] = t
        if not open_:
            break
    return found


def run(settings: Settings, listener: Listener) -> Findings:
    tolerances = np.geomspace(10.0, 1e-2 if settings.quick else 1e-6, 5 if settings.quick else 13).tolist()
    pair = low_rank(settings.rng(2, 5), 100, 10, 12, 2, 0.3)
    rows: list[list[Cell]] = []
    for name, (method, _) in METHODS.items():
        listener.stage(name)
        found = reached(pair, method(pair), tolerances, 400 if settings.quick else 3000)
        rows += [[name, tolerance, t] for tolerance, t in found.items()]
    points = Table("spectral_rate_points", "Iterations until the tolerance is met", heads, rows)
    slopes = {name: _slope(points, name) for name in METHODS}
    table = Table(
        "spectral_rate_slopes",
        "Slope of log iterations against log tolerance",
        ("method", "rate a of the method", "slope of the corollary's bound, -4 / a", "slope measured"),
        [[name, a, -4 / a, slopes[name]] for name, (_, a) in METHODS.items()],
        ("slope of the corollary's bound, -4 / a",),
        published.where("theory", "slope of spectral iterations"),
    )
    claims = [
        Claim(f"{name}: iterations grow no faster than tolerance^({-4 / a:g})", slopes[name] >= -4 / a - 0.05)
        for name, (_, a) in METHODS.items()
    ]
    missed = sum(row[2] is None for row in rows)
    notes = (f"{missed} of {len(rows)} tolerances were not met within the iterations allowed.",) if missed else ()
    return Findings((table,), (_figure(points),), tuple(claims), notes)


def _kept(points: Table, name: str) -> tuple[list[float], list[float]]:
    kept = [(float(row[1] or 0), float(row[2])) for row in points.rows if row[0] == name and row[2] is not None]
    return [x for x, _ in kept], [y for _, y in kept]


def _slope(points: Table, name: str) -> float:
    return slope(*_kept(points, name))


def _figure(points: Table) -> Drawing:
    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for which, (name, (_, a)) in enumerate(METHODS.items()):
            x, y = _kept(points, name)
            line(panel, which, x, y, name, marks=True)
            guide(panel, x, (x[0], y[0]), -4 / a, f"the corollary's slope for it, {-4 / a:g}")
        top = max(float(row[2]) for row in points.rows if row[2] is not None)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.8, 30 * top)
        labelled(panel, "tolerance, as a share of alpha", "iterations")
        legend(panel)

    told = "; ".join(f"{row[0]}, {row[1]:.1g}: {row[2]}" for row in points.rows)
    title = "Spectral sets: iterations against the tolerance on the loss"
    return Drawing("spectral_rate", title, f"Iterations until the tolerance is met. {told}", draw, points)


experiment = Experiment(
    "spectral-rate",
    "Iterations for spectral sets",
    "Iterations until the loss that is retrieved from k singular pairs is within a tolerance of alpha.",
    run,
)
