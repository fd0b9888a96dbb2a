"""Two statements about spectral sets along a run: how far the solution's atoms are from the k leading singular pairs
(with Oustry's bound beside), and what the reduced fit over these pairs loses."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.oracles import ProximalGradient
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import LOWER_LEFT, Sheet, axes, labelled, legend, line
from fewatoms.reproduce.theory.planted import Pair, along, low_rank
from fewatoms.retrieval import reduced_fit

ROWS, COLS, RANK, K = 10, 12, 2, 3
heads = (
    "iteration", "epsilon", "bound on the distance", "Oustry's bound", "distance measured", "bound on the loss",
    "change of the loss, X* put into the cone", "excess of the fit over X*",
)  # fmt: skip


def measured(pair: Pair, count: int) -> FloatArray:
    """Along a run: epsilon, both bounds and the distance; the bound on the loss as proven, what it is proven of (the
    point of the cone that is nearest to X*), and by how much the fit, which is below that, exceeds X*."""
    rows = []
    reach = float(np.linalg.norm(pair.M, 2)) * math.sqrt(RANK) * float(np.linalg.norm(pair.x))
    problem = pair.problem(K)
    for seen in along(pair, ProximalGradient(pair.lam), count, K):
        if seen.excess <= 10 * seen.rounding:
            break
        epsilon = pair.norm * math.sqrt(2 * (max(0.0, seen.excess) + seen.rounding))
        U, s, Vt = np.linalg.svd(seen.z)
        inside = U[:, :K] @ (U[:, :K].T @ pair.x.reshape(ROWS, COLS) @ Vt[:K].T) @ Vt[:K]
        off = pair.b - pair.M @ inside.ravel()
        bound = _bound(epsilon, s[0] - s[K])
        D = bound * reach
        fitted = reduced_fit(problem, pair.atoms.expose(seen.z, K))
        rows.append(
            (
                seen.iteration, epsilon, bound, _bound(epsilon, s[K - 1] - s[K]), _distance(pair, U[:, :K], Vt[:K]),
                math.sqrt(2 * pair.alpha) * D + 0.5 * D**2, abs(0.5 * float(off @ off) - pair.alpha),
                max(0.0, fitted.loss - pair.alpha),
            )
        )  # fmt: skip
    return np.array(rows)


def _bound(epsilon: float, spread: float) -> float:
    return math.sqrt(2 * min(epsilon / spread, 1.0)) if spread > 0 else math.sqrt(2.0)


def _distance(pair: Pair, U: FloatArray, Vt: FloatArray) -> float:
    """Of the farthest atom of the solution from the cone of the face: the largest |a - U U' a V V'|."""
    atoms = pair.points.reshape(-1, ROWS, COLS)
    return max(float(np.linalg.norm(a - U @ (U.T @ a @ Vt.T) @ Vt)) for a in atoms)


def run(settings: Settings, listener: Listener) -> Findings:
    pair = low_rank(settings.rng(2, 4), 100, ROWS, COLS, RANK, 0.3)
    listener.stage("proximal gradients")
    found = measured(pair, 60 if settings.quick else 130)
    rows: list[list[Cell]] = [[int(row[0]), *row[1:].tolist()] for row in found]
    points = Table("spectral_points", f"Rank {RANK}, k = {K}, along proximal gradients on (P1)", heads, rows)
    bound, oustry, distance, error, change, excess = found.T[2:]
    claims = (
        Claim("the solution's atoms are within the bound of the k leading pairs", bool(np.all(distance <= bound))),
        Claim("Oustry's bound is never below the paper's", bool(np.all(oustry >= bound * (1 - 1e-12)))),
        Claim("X* put into the cone changes its loss by no more than the bound", bool(np.all(change <= error))),
        Claim("the retrieved loss is within the spectral error bound", bool(np.all(excess <= error))),
    )
    informative = oustry < math.sqrt(2)
    factor = f"{np.median(oustry[informative] / bound[informative]):.1f}" if informative.any() else "-"
    notes = (
        f"The paper's bound is below sqrt(2), where it says something, from iterate {_first(bound)} on; Oustry's from "
        f"{_first(oustry)} on. Where both say something, Oustry's is {factor} times the paper's.",
        f"At the last iterate the measured distance is {distance[-1]:.1e} and the bound {bound[-1]:.1e}. The loss "
        f"retrieved exceeds that of X* until iterate {_last(excess)}; then it is below, since it is fitted and X* is "
        f"not. What the bound is proven of, X* put into the cone, changes its loss by {change[-1]:.1e} in the end; the "
        f"bound is {error[-1]:.1e}.",
    )
    return Findings((), (_figure(points, found),), claims, notes)


def _first(bound: FloatArray) -> str:
    below = np.flatnonzero(bound < math.sqrt(2) * (1 - 1e-12))
    return str(int(below[0]) + 1) if below.size else "no iterate"


def _last(excess: FloatArray) -> str:
    above = np.flatnonzero(excess > 0)
    return str(int(above[-1]) + 1) if above.size else "0"


def _figure(points: Table, found: FloatArray) -> Drawing:
    t = found[:, 0].tolist()

    def draw(figure: Sheet) -> None:
        left, right = axes(figure, across=2)
        for which, at in enumerate((3, 2, 4)):
            line(left, which, t, found[:, at].tolist(), heads[at])
        labelled(left, "iteration", "Frobenius norm", "distance from the k leading pairs")
        for which, at in enumerate((5, 6, 7)):
            line(right, which + 1, t, np.where(found[:, at] > 0, found[:, at], np.nan).tolist(), heads[at])
        labelled(right, "iteration", "difference from the loss of X*", "error of the reduced fit")
        for panel in (left, right):
            panel.set_yscale("log")
            legend(panel, at=LOWER_LEFT)  # all that falls does so on the right

    alt = (
        "Left: the measured distance below the paper's bound, below Oustry's. Right: below the bound on the loss, what "
        "X* put into the cone changes it by, and the excess of the fit, as long as there is one."
    )
    return Drawing("spectral", "Truncated SVD: bounds and what is measured", alt, draw, points, (9.5, 4.2))


experiment = Experiment(
    "spectral",
    "Errors of the truncated SVD",
    "The one-sided Hausdorff bound and the spectral error bound against what is measured along a run.",
    run,
)
