"""The corollary for spectral sets: how many iterations it takes until the retrieved loss is within a tolerance of
its limit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.oracles import ConditionalGradient, Oracle, ProximalGradient
from fewatoms.reproduce import published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import UPPER_LEFT, Sheet, axes, guide, labelled, legend, line, slope
from fewatoms.reproduce.theory.planted import Pair, low_rank
from fewatoms.retrieval import reduced_fit

# The rates a of d(y_t) - d(y*) in O(t^-a), as in `finite`.
METHODS: dict[str, tuple[Callable[[Pair], Oracle], float]] = {
    "conditional gradient": (lambda pair: ConditionalGradient(pair.tau), 1.0),
    "proximal gradient": (lambda pair: ProximalGradient(pair.lam), 1.0),
}
HORIZON = {"conditional gradient": 4000, "proximal gradient": 200}  # iterates that are looked at
CLOSE = 64  # every iterate is looked at until here; later ones that are a 64th apart
heads = ("method", "tolerance, of the limit's loss", "iterations")


def limit_loss(pair: Pair) -> float:
    """What is retrieved from the solution's own dual vector: the loss that all runs tend to, below that of X*."""
    z = (pair.M.T @ pair.y).reshape(pair.atoms.shape)
    problem = pair.problem(len(pair.c))
    return reduced_fit(problem, pair.atoms.expose(z, problem.k)).loss


def off(pair: Pair, oracle: Oracle, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Iterates that are looked at, and how far the loss retrieved there is from its limit, as a share of that."""
    problem, limit = pair.problem(len(pair.c)), limit_loss(pair)
    times, shares = [], []
    for t, dual in enumerate(islice(oracle.iterates(problem), horizon), start=1):
        if t <= CLOSE or t % (t // CLOSE) == 0:
            loss = reduced_fit(problem, pair.atoms.expose(dual.z, problem.k)).loss
            times.append(float(t))
            shares.append(abs(loss - limit) / limit)
    return np.array(times), np.array(shares)


def reached(times: FloatArray, shares: FloatArray, tolerance: float) -> int | None:
    """The first iterate from which on the loss is within the tolerance, seen to stay so for as long again as that took;
    None if that is not within the horizon."""
    wrong = np.flatnonzero(shares > tolerance)
    if not wrong.size:
        return int(times[0])
    if 2 * times[wrong[-1]] > times[-1]:
        return None
    return int(times[wrong[-1] + 1])


def run(settings: Settings, listener: Listener) -> Findings:
    tolerances = np.geomspace(1.0, 10**-1.5 if settings.quick else 1e-5, 4 if settings.quick else 11).tolist()
    pair = low_rank(settings.rng(2, 5), 100, 10, 12, 2, 0.3)
    rows: list[list[Cell]] = []
    for name, (method, _) in METHODS.items():
        listener.stage(name)
        times, shares = off(pair, method(pair), HORIZON[name] // (4 if settings.quick else 1))
        rows += [[name, tolerance, reached(times, shares, tolerance)] for tolerance in tolerances]
    points = Table("spectral_rate_points", "Iterations until the loss stays within the tolerance", heads, rows)
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
    return Findings((table,), (_figure(points),), tuple(claims), _notes(pair, rows))


def _notes(pair: Pair, rows: list[list[Cell]]) -> tuple[str, ...]:
    notes = [
        f"alpha is set to the loss that the solution's own singular pairs give, {limit_loss(pair) / pair.alpha:.2f} "
        "times that of X*: against the loss of X* itself nothing is left to measure, since the fit falls below it "
        "after a few iterates and stays there.",
        "The slope of proximal gradients is near 0: on this problem they converge linearly, and their iterations grow "
        "with the logarithm of the tolerance.",
    ]
    missed = [f"{row[0]} at {row[1]:.1g}" for row in rows if row[2] is None]
    if missed:
        notes.append(f"Not settled within the iterations allowed: {', '.join(missed)}.")
    return tuple(notes)


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
            guide(panel, which, x, (x[0], y[0]), -4 / a)
        top = max(float(row[2]) for row in points.rows if row[2] is not None)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.8, 30 * top)
        labelled(panel, "tolerance, as a share of the limit's loss", "iterations until the loss stays within it")
        legend(panel, at=UPPER_LEFT)

    told = "; ".join(f"{row[0]}, {row[1]:.1g}: {row[2]}" for row in points.rows)
    title = "Spectral sets: iterations against the tolerance on the loss"
    return Drawing(
        "spectral_rate", title, f"Iterations until the loss stays within the tolerance. {told}", draw, points
    )


experiment = Experiment(
    "spectral-rate",
    "Iterations for spectral sets",
    "Iterations until the loss that is retrieved from k singular pairs stays within a tolerance of its limit.",
    run,
)
