"""What has to be said beside the tables of the Sparco problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewatoms.reproduce import published

if TYPE_CHECKING:
    from fewatoms.reproduce.sparco import Case, Run


def all_of(found: Sequence[Case], runs: Sequence[Run], cap: int | None) -> list[str]:
    """All notes; `cap` is the limit of iterations where the work has to be quick."""
    notes = [
        "The column published of Table 3 counts products; the authors' own runs show that it counts iterations of the "
        "level-set method. Here all products with M and M* are counted: two for each iteration, one for each Newton "
        "step (M*r after tau has grown), and for each reduced fit those of LSMR and one for its residual, anew.",
        "Atoms are coefficients above 1e-6 of the largest. SPGL1 is judged by its own stopping rule: a residual within "
        "1e-4 of the bound.",
    ]
    if cap is not None:
        notes.append(f"Quick: SPGL1, and on draws the paper's method, are stopped after {cap} iterations.")
    return [*notes, *_vectors(found, runs), *_counts(found, runs), *_missed(runs)]


def _vectors(found: Sequence[Case], runs: Sequence[Run]) -> list[str]:
    """Where b is from, and what is odd about it."""
    notes = []
    drawn = [case.name for case in found if not case.authors and case.name != "blocksig"]
    if drawn:
        notes.append(
            f"Drawn here: {', '.join(drawn)}. Sparco's draws cannot be repeated, so these counts need not be those "
            "published."
        )
    alone = {r.case: r.atoms for r in runs if r.who == "fewatoms"}
    for case in found:
        told, size = published.sparco()[case.name], float(np.linalg.norm(case.b))
        if case.authors and abs(size / told.norm - 1) > 0.05:
            notes.append(
                f"{case.name}: the vector in the authors' repository has |b| = {size:.4g} and not {told.norm:g} as in "
                f"Table 2, and {alone[case.name]} atoms are enough for it where Table 3 has {told.nnz}: it is another "
                "draw than the one that Table 2 describes. The counts of Table 3 are those of this vector."
            )
        if case.k != told.nnz:
            notes.append(
                f"{case.name} as drawn is asked for with {case.k} atoms instead of {told.nnz}: too few of its spikes "
                "are small enough to be left out."
            )
    return notes


def _counts(found: Sequence[Case], runs: Sequence[Run]) -> list[str]:
    """Where counts are far from others."""
    by = {(r.case, r.who): r for r in runs}
    dearer, cheaper = list[str](), list[str]()
    for case in found:
        paper, ours = by[case.name, "paper"], by[case.name, "fewatoms"]
        if paper.met:
            where = dearer if ours.products > paper.products else cheaper
            where.append(f"{case.name} ({ours.products} against {paper.products})")
    notes = []
    if dearer:
        rest = f"; fewer on {', '.join(cheaper)}" if cheaper else ""
        notes.append(
            "Left to find k by itself, our default takes more products than the paper's method, which is told k, on "
            f"{', '.join(dearer)}{rest}."
        )
    for case in found:
        told, spgl1 = published.sparco()[case.name], by.get((case.name, "SPGL1"))
        if spgl1 is not None and spgl1.products > 2 * told.spgl1:
            notes.append(
                f"{case.name}: SPGL1 takes {spgl1.products} products here, {told.spgl1} in the paper. This is its "
                f"Python port, on an operator that is nearly singular; it ends at a misfit of {spgl1.misfit:.1e} after "
                f"{spgl1.iterations} iterations."
            )
    return notes


def _missed(runs: Sequence[Run]) -> list[str]:
    failed = [r for r in runs if r.who == "paper" and not r.met]
    missed = [f"{r.case} ({r.misfit:.1e} after {r.iterations} iterations)" for r in failed]
    notes = [f"The paper's method did not meet the misfit on {', '.join(missed)}."] if missed else []
    if not any(r.who == "SPGL1" for r in runs):
        notes.append("SPGL1 is not installed, and left out: pip install spgl1")
    return notes
