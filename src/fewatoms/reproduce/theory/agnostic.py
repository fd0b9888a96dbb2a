"""Algorithm-agnostic, as claimed: several dual methods, ours and SPGL1's stream, under one and the same retrieval."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewatoms._types import FloatArray
from fewatoms.doors import fit
from fewatoms.methods.general import General
from fewatoms.oracles import Bisection, Bundle, Continuation, FromIterates, LevelSet, Newton, Oracle
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import COLOURS, LOWER_RIGHT, Sheet, axes, labelled, legend
from fewatoms.reproduce.quiet import silent
from fewatoms.reproduce.theory.planted import Pair, sparse
from fewatoms.retrieval import paper_rule

heads = ("dual method", "draw", "iterates", "products", "atoms", "the support", "loss / alpha")
SPGL1 = "SPGL1's residuals"


def oracles(pair: Pair) -> dict[str, Oracle]:
    """Three of ours, and what SPGL1 visits on its way, where it is installed."""
    found: dict[str, Oracle] = {
        "level set, Newton, conditional gradient": LevelSet(Newton()),
        "level set, bisection, bundle": LevelSet(Bisection(), Bundle()),
        "proximal gradients down a ladder": Continuation(),
    }
    visited = residuals(pair)
    return found if visited is None else {**found, SPGL1: FromIterates(visited)}


def residuals(pair: Pair) -> list[FloatArray] | None:
    """Every residual that SPGL1 hands to M*; None where it is not installed."""
    try:
        from spgl1 import spg_bpdn
    except ImportError:
        return None
    visited: list[FloatArray] = []

    def backward(y: FloatArray) -> FloatArray:
        visited.append(np.array(y, dtype=np.float64).ravel())
        return pair.M.T @ visited[-1]

    M = LinearOperator(pair.M.shape, matvec=lambda x: pair.M @ np.ravel(x), rmatvec=backward, dtype=np.float64)
    with silent("spgl1.spgl1"):
        spg_bpdn(M, pair.b, float(np.sqrt(2 * pair.alpha)), iter_lim=500)
    return visited


def run(settings: Settings, listener: Listener) -> Findings:
    rows: list[list[Cell]] = []
    for draw in range(1 if settings.quick else 4):
        pair = sparse(settings.rng(2, 6, draw), 60, 200, 12, 0.2)
        for name, oracle in oracles(pair).items():
            listener.stage(f"{name}, draw {draw + 1}")
            s = fit(
                pair.M, pair.b, atoms=pair.atoms, k=len(pair.c), alpha=pair.alpha * (1 + 1e-9),
                method=General(oracle, paper_rule()), max_iterations=3000, callback=listener.callback,
            )  # fmt: skip
            right = frozenset(np.asarray(s.indices).tolist()) == pair.support
            rows.append([name, draw, s.iterations, s.products, s.cardinality, right and s.success, s.loss / pair.alpha])
    table = Table("agnostic", "One retrieval, the paper's rule, under several dual methods", heads, rows)
    claims = (
        Claim("under every dual method the paper's rule ends with the true support", all(row[5] for row in rows)),
    )
    missing = not any(row[0] == SPGL1 for row in rows)
    notes = ("SPGL1 is not installed, and left out: pip install spgl1",) if missing else ()
    return Findings((table,), (_figure(table),), claims, notes)


def _figure(table: Table) -> Drawing:
    names = list(dict.fromkeys(str(cell) for cell in table.column("dual method")))

    def middle(name: str, column: str) -> float:
        cells = zip(table.column("dual method"), table.column(column), strict=True)
        return float(np.median([float(cell or 0) for who, cell in cells if who == name]))

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        for which, column in enumerate(("iterates", "products")):
            at = [i + 0.2 * (2 * which - 1) for i in range(len(names))]
            panel.barh(at, [middle(name, column) for name in names], 0.38, color=COLOURS[which], label=column)
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis()
        panel.set_xscale("log")
        labelled(panel, "until the true support is retrieved (middle of the draws)", "")
        legend(panel, at=LOWER_RIGHT)

    told = "; ".join(f"{name}: {middle(name, 'iterates'):g} iterates" for name in names)
    return Drawing("agnostic", "The same retrieval under several dual methods", told, draw, None, (8.0, 3.4))


experiment = Experiment(
    "agnostic",
    "Whatever the dual method",
    "The paper's rule only reads dual vectors: three of our methods and the residuals that SPGL1 visits drive it.",
    run,
)
