"""The paper's statements, one file each, on problems whose solutions are known by construction."""

from __future__ import annotations

from fewatoms.reproduce.contract import Experiment
from fewatoms.reproduce.theory import (
    agnostic,
    beta,
    cone_and_span,
    finite,
    identification,
    memory,
    partial_svd,
    screening,
    semidefinite,
    spectral,
    spectral_rate,
)

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.experiment
    for module in (
        identification,
        screening,
        finite,
        partial_svd,
        spectral,
        spectral_rate,
        agnostic,
        beta,
        cone_and_span,
        semidefinite,
        memory,
    )
)

__all__ = ["EXPERIMENTS"]
