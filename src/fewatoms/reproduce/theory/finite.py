"""Finite-time identification: over listed atoms the k best aligned become the support for good, the later the smaller
the gap delta to the next atom is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from fewatoms.oracles import ConditionalGradient, Oracle, ProximalGradient
from fewatoms.reproduce import published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, guide, labelled, legend, line, slope
from fewatoms.reproduce.theory.planted import Pair, flat, sparse

# name: (the method at a pair's own tau or lambda, its rate a: d(y_t) - d(y*) in O(t^-a); for proximal gradients: WHY)
METHODS: dict[str, tuple[Callable[[Pair], Oracle], float]] = {
    "conditional gradient": (lambda pair: ConditionalGradient(pair.tau, tie=0.0), 1.0),
    "proximal gradient": (lambda pair: ProximalGradient(pair.lam), 1.0),
}
WHY = (
    "Rate a of proximal gradients: their primal excess falls as t^-2, so the residual is within O(t^-1) of y*; scaled "
    "until it is feasible, its dual value exceeds the least one in first order of that distance, so a = 1."
)
HORIZON, SHORTEST = 20_000, 60  # iterates that are looked at: at most, at least
heads = ("method", "draw", "delta", "iterations until the support stays right")


def settled(pair: Pair, oracle: Oracle) -> int | None:
    """The first iterate from which on the top atoms are the support, seen to stay so for as long again as that took;
    None if that is not within the horizon."""
    problem, wrong = pair.problem(len(pair.c)), 0
    for t, dual in enumerate(islice(oracle.iterates(problem), HORIZON), start=1):
        top = np.argsort(-np.abs(flat(dual.z)), kind="stable")[: len(pair.c)]
        if frozenset(top.tolist()) != pair.support:
            wrong = t
        elif t >= max(SHORTEST, 2 * wrong):
            return wrong + 1
    return None


def run(settings: Settings, listener: Listener) -> Findings:
    deltas = 0.5 ** np.arange(1, 6 if settings.quick else 8)
    rows: list[list[Cell]] = []
    for name, (method, _) in METHODS.items():
        for draw in range(1 if settings.quick else 3):
            listener.stage(f"{name}, draw {draw + 1}")
            for delta in deltas.tolist():
                pair = sparse(settings.rng(2, 2, draw), 30, 60, 5, delta, rivals=0.3)
                rows.append([name, draw, delta, settled(pair, method(pair))])
    points = Table("finite_points", "Iterations until the support stays right", heads, rows)
    slopes = {name: _slope(rows, name) for name in METHODS}
    table = Table(
        "finite_slopes",
        "Slope of log iterations against log delta",
        ("method", "rate a of the method", "slope of the corollary's bound, -2 / a", "slope measured"),
        [[name, a, -2 / a, slopes[name]] for name, (_, a) in METHODS.items()],
        ("slope of the corollary's bound, -2 / a",),
        published.where("theory", "slope of finite identification"),
    )
    claims = [
        Claim("finite-time identification: every run settles on the support", all(row[3] is not None for row in rows))
    ]
    claims += [
        Claim(f"{name}: iterations grow no faster than delta^({-2 / a:g})", slopes[name] >= -2 / a - 0.05)
        for name, (_, a) in METHODS.items()
    ]
    return Findings((table,), (_figure(points),), tuple(claims), (WHY,))


def _medians(rows: Sequence[Sequence[Cell]], name: str) -> dict[float, float]:
    """Over the draws, for each delta."""
    found: dict[float, list[int]] = {}
    for who, _, delta, count in rows:
        if who == name and count is not None:
            found.setdefault(float(delta or 0), []).append(int(count))
    return {delta: float(np.median(counts)) for delta, counts in found.items()}


def _slope(rows: Sequence[Sequence[Cell]], name: str) -> float:
    found = _medians(rows, name)
    return slope([*found], [*found.values()])


def _figure(points: Table) -> Drawing:
    found = {name: _medians(points.rows, name) for name in METHODS}

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for which, (name, (_, a)) in enumerate(METHODS.items()):
            x, y = [*found[name]], [*found[name].values()]
            line(panel, which, x, y, name, marks=True)
            guide(panel, which, x, (x[0], y[0]), -2 / a)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(x, [f"1/{round(1 / delta)}" for delta in x])
        panel.minorticks_off()
        labelled(panel, "delta, as a share of the support value", "iterations until the support stays right")
        legend(panel)

    told = "; ".join(f"{name}, delta {x:.2g}: {y:g}" for name, one in found.items() for x, y in one.items())
    title = "Finite-time identification: iterations against delta, with the slopes of the corollary"
    return Drawing("finite", title, f"Iterations until the support stays right. {told}", draw, points)


experiment = Experiment(
    "finite",
    "Finite-time identification",
    "Five atoms, and rivals that fall short of them by delta: when the five are told apart for good.",
    run,
)
