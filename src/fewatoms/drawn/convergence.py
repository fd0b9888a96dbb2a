"""How a run came to its answer: misfit, or loss, against seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray

if TYPE_CHECKING:
    from fewatoms.callbacks import Trace
    from fewatoms.solution import Solution


@dataclass(frozen=True, eq=False)
class Convergence:
    """The best so far, one entry for each call of a trace.

    seconds, heights : since the first call, and misfits there (losses where misfits mean nothing)
    misfits : which of both
    atoms, stages : how many atoms, and what the run was doing
    bound : that was asked for, in the same units; None where there is none
    """

    seconds: FloatArray
    heights: FloatArray
    misfits: bool
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
        misfits = not bool(np.isnan(trace.misfit).any())
        heights = trace.misfit if misfits else trace.loss
        seconds, atoms, stages = trace.seconds, trace.cardinality.astype(np.float64), trace.stage.tolist()
        bound = None
        if solution is not None:
            asked = solution.certificate.asked
            bound = asked.misfit if misfits else asked.alpha
            heights = np.append(heights, solution.misfit if misfits else solution.loss)
            seconds, atoms = np.append(seconds, seconds[-1]), np.append(atoms, solution.cardinality)
            stages = [*stages, "answer"]
        return cls(seconds, heights, misfits, atoms, stages, bound)

    @property
    def label(self) -> str:
        return "misfit |b - Mx| / |b|" if self.misfits else "loss"
