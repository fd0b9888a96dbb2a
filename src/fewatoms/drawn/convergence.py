"""How a run came to its answer: misfit, or loss, against seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray

if TYPE_CHECKING:
    from fewatoms.callbacks import Trace
    from fewatoms.solution import Solution

MISFIT, LOSS, OBJECTIVE = "misfit |b - Mx| / |b|", "loss", "objective"


@dataclass(frozen=True, eq=False)
class Convergence:
    """The best so far, one entry for each call of a trace from the first answer on: before that, a ridge was chosen or
    a start was looked for.

    seconds, heights : since the first call, and what was to be small there
    label : what that is: misfits, losses where misfits mean nothing, objectives where coefficients pay as well
    atoms, stages : how many atoms, and what the run was doing
    bound : that was asked for, in the same units; None where there is none
    """

    seconds: FloatArray
    heights: FloatArray
    label: str
    atoms: FloatArray
    stages: list[str]
    bound: float | None = None

    @classmethod
    def of(cls, trace: Trace, solution: Solution | None = None) -> Convergence:
        """From a trace; with the answer, its bound and its end as well."""
        if not len(trace):
            raise ValueError(
                "trace must have rows: give fit(..., callback=trace) the Trace before; got one that heard nothing"
            )
        some = slice(_start(trace), None)
        seconds, atoms = trace.seconds[some], trace.cardinality[some].astype(np.float64)
        label, heights = _heights(trace, solution)
        heights, stages, bound = heights[some], trace.stage[some].tolist(), None
        if solution is not None:
            asked = solution.certificate.asked
            bound = {MISFIT: asked.misfit, LOSS: asked.alpha}.get(label)
            ends = {MISFIT: solution.misfit, LOSS: solution.loss, OBJECTIVE: solution.objective}
            heights = np.append(heights, ends[label])
            seconds, atoms = np.append(seconds, trace.seconds[-1]), np.append(atoms, solution.cardinality)
            stages = [*stages, "answer"]
        return cls(seconds, heights, label, atoms, stages, bound)


def _start(trace: Trace) -> int:
    """The first row of the last run that had an answer to go on from."""
    unknown = np.flatnonzero(np.isnan(trace.objective))
    after = int(unknown[-1]) + 1 if unknown.size else 0
    return after if after < len(trace) else 0


def _heights(trace: Trace, solution: Solution | None) -> tuple[str, FloatArray]:
    """What is to be small. A ridge may let the misfit rise while the objective falls."""
    if solution is not None and solution.objective != solution.loss and solution.certificate.asked.alpha is None:
        return OBJECTIVE, trace.objective
    misfits = not bool(np.isnan(trace.misfit).any())
    return (MISFIT, trace.misfit) if misfits else (LOSS, trace.loss)
