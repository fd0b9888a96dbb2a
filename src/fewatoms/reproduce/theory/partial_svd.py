"""The example "Limitation of partial SVD": however near Y is to Y*, its leading singular vectors miss the true atom."""

from __future__ import annotations

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.atoms import RankOne
from fewatoms.reproduce import published
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, line, slope

SIZE, LAST = 8, 0.099  # order of the matrices; a last value below the others, so that no tie decides what is second
heads = ("k", "epsilon", "|Y - Y*|", "distance of X* from what k pairs span", "|u_1 off the k vectors|")


def example(epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Y*, Y and u_1: X* = u_1 u_1^T solves (P2) at tau = 1 for B = X* + Y*, M being the identity."""
    U = np.eye(SIZE)
    U[0, 0] = U[-1, -1] = np.sqrt(1 - epsilon)
    U[-1, 0], U[0, -1] = np.sqrt(epsilon), -np.sqrt(epsilon)
    values = np.full(SIZE, 0.1)
    values[0], values[-1] = 1.0, LAST
    return (U * values) @ U.T, np.diag(values), U[:, 0]


def missed(Y: FloatArray, u: FloatArray, k: int) -> tuple[float, float]:
    """How far u u^T is from all U C V^T over the k leading pairs of Y, and u from the k left ones."""
    face = RankOne(SIZE, SIZE).expose(Y, k)
    X = np.outer(u, u)
    inside = face.U @ (face.U.T @ X @ face.V) @ face.V.T
    return float(np.linalg.norm(X - inside)), float(np.linalg.norm(u - face.U @ (face.U.T @ u)))


def run(settings: Settings, listener: Listener) -> Findings:
    rows: list[list[Cell]] = []
    for k in (1, 3, SIZE - 1):
        listener.stage(f"k = {k}")
        for epsilon in np.geomspace(1e-10, 0.3, 12).tolist():
            solution, Y, u = example(epsilon)
            rows.append([k, epsilon, float(np.linalg.norm(Y - solution)), *missed(Y, u, k)])
    points = Table("partial_svd_points", "The example at several epsilon", heads, rows)
    found = np.array(rows, dtype=float)
    small = found[found[:, 1] < 1e-2]
    slopes = {k: slope(small[small[:, 0] == k, 2].tolist(), small[small[:, 0] == k, 3].tolist()) for k in (1, 3, 7)}
    table = Table(
        "partial_svd_slopes",
        "Slope of the error against |Y - Y*|, log-log",
        ("k", "slope, published", "slope measured"),
        [[k, published.number("theory", "slope of the partial SVD"), value] for k, value in slopes.items()],
        ("slope, published",),
        published.where("theory", "slope of the partial SVD"),
    )
    claims = (
        Claim(
            f"no k below {SIZE} recovers X*: it stays sqrt(epsilon) away at least",
            bool(np.all(found[:, 3] >= 0.99 * np.sqrt(found[:, 1]))),
        ),
        Claim("the error is proportional to |Y - Y*|", all(abs(value - 1) < 0.01 for value in slopes.values())),
        Claim("|Y - Y*| is at most 2 sqrt(epsilon)", bool(np.all(found[:, 2] <= 2 * np.sqrt(found[:, 1])))),
    )
    note = (
        f"At |Y - Y*| = {found[0, 2]:.1e} the error is still {found[0, 3]:.1e}, for k = 1 as for k = {SIZE - 1}: a "
        f"floor of {found[0, 3] / found[0, 2]:.2f} times the dual distance, and no finite-time identification."
    )
    return Findings((table,), (_figure(points),), claims, (note,))


def _figure(points: Table) -> Drawing:
    found = np.array(points.rows, dtype=float)

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for which, k in enumerate((1, 3, SIZE - 1)):
            one = found[found[:, 0] == k]
            shift = 1.0 + 0.12 * (which - 1)  # side by side: they are the same
            line(panel, which, (one[:, 2] * shift).tolist(), one[:, 3].tolist(), f"k = {k}", marks=True)
        panel.set_xscale("log")
        panel.set_yscale("log")
        labelled(panel, "|Y - Y*| (k = 1 and 7 moved apart)", "distance of X* from the span of k pairs")
        legend(panel)

    ends = f"{found[:, 3].max():.1g} to {found[:, 3].min():.1g}"
    alt = f"Three lines of slope one: the error falls from {ends}, as |Y - Y*| does."
    return Drawing("partial_svd", "The error floor of the partial SVD", alt, draw, points)


experiment = Experiment(
    "partial-svd",
    "Limitation of the partial SVD",
    "A dual vector arbitrarily near the solution whose leading singular vectors still miss the true atom.",
    run,
)
