"""The reduced fit over positive semidefinite atoms is constrained: V C V^T with C positive semidefinite."""

from __future__ import annotations

from itertools import islice

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.atoms import PSDRankOne
from fewatoms.oracles import ProximalGradient
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, line
from fewatoms.reproduce.theory import planted
from fewatoms.reproduce.theory.planted import Pair
from fewatoms.retrieval import reduced_fit

heads = (
    "iteration", "loss, C psd", "loss, C free", "least eigenvalue, C psd", "least eigenvalue, C free",
)  # fmt: skip
K, SIDE = 4, 10


def free_fit(pair: Pair, V: FloatArray) -> tuple[float, float]:
    """The loss and the least eigenvalue of the symmetric C that fits best without the constraint."""
    k, n = V.shape[1], V.shape[0]
    places = [(i, j) for i in range(k) for j in range(i + 1)]
    units = []
    for i, j in places:
        C = np.zeros((k, k))
        C[i, j] = C[j, i] = 1.0
        units.append(pair.M @ (V @ C @ V.T).reshape(n * n))
    columns = np.stack(units, axis=1)
    c = np.linalg.lstsq(columns, pair.b, rcond=None)[0]
    C = np.zeros((k, k))
    for (i, j), value in zip(places, c, strict=True):
        C[i, j] = C[j, i] = value
    r = pair.b - columns @ c
    return 0.5 * float(r @ r), float(np.linalg.eigvalsh(C)[0])


def run(settings: Settings, listener: Listener) -> Findings:
    pair = planted.semidefinite(settings.rng(2, 10), 60, SIDE, 2, 0.3)
    problem = pair.problem(K)
    rows: list[list[Cell]] = []
    listener.stage("proximal gradients")
    stream = islice(ProximalGradient(pair.lam).iterates(problem), 20 if settings.quick else 80)
    for t, dual in enumerate(stream, start=1):
        face = PSDRankOne(SIDE).expose(dual.z, K)
        fitted = reduced_fit(problem, face)
        least = float(np.linalg.eigvalsh(face.V.T @ face.point(fitted.c) @ face.V)[0])
        free, lowest = free_fit(pair, face.V)
        rows.append([t, fitted.loss / pair.alpha, free / pair.alpha, least, lowest])
    points = Table("semidefinite_points", f"Reduced fits over {K} eigenvectors", heads, rows)
    found = np.array(rows, dtype=float)
    scale = float(np.abs(found[:, 4]).max())
    claims = (
        Claim("C is positive semidefinite in every reduced fit", bool(np.all(found[:, 3] >= -1e-9 * scale))),
        Claim("without the constraint the loss is no higher", bool(np.all(found[:, 2] <= found[:, 1] * (1 + 1e-6)))),
    )
    left = int((found[:, 4] < -1e-9 * scale).sum())
    note = (
        f"Without the constraint C leaves the cone at {left} of {len(rows)} iterates, down to an eigenvalue of "
        f"{found[:, 4].min():.2g}: such a fit is no combination of atoms."
    )
    return Findings((), (_figure(points, found),), claims, (note,))


def _figure(points: Table, found: FloatArray) -> Drawing:
    t = found[:, 0].tolist()

    def draw(figure: Sheet) -> None:
        left, right = axes(figure, across=2)
        line(left, 0, t, (found[:, 1] / found[:, 2]).tolist(), "")
        labelled(left, "iteration", "loss, C psd / loss, C free", "what the constraint costs")
        line(right, 0, t, found[:, 3].tolist(), "C positive semidefinite")
        line(right, 1, t, found[:, 4].tolist(), "C free")
        right.axhline(0, color="black", linewidth=0.8)
        labelled(right, "iteration", "least eigenvalue of C", "what it keeps")
        legend(right)

    cost = float((found[:, 1] / found[:, 2]).max())
    alt = (
        f"Left: the loss of the constrained fit as a multiple of that of the free one, at most {cost:.2f}. Right: "
        "least eigenvalues, at least 0 with "
    )
    title = "The reduced fit over semidefinite atoms, constrained and not"
    return Drawing("semidefinite", title, f"{alt}the constraint, negative without.", draw, points, (9.5, 4.0))


experiment = Experiment(
    "semidefinite",
    "The reduced fit over semidefinite atoms",
    "The set of v v^T is not centrosymmetric: what is retrieved must stay in the cone.",
    run,
)
