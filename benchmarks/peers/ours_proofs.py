"""Ourselves: the answer of `fit`, which is not charged, and the proof that no other is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Array
from benchmarks.problems.proven import GAP


def fitted(problem: Any, *, effort: str = "", **words: Any) -> Any:
    import fewatoms as fa

    told: dict[str, Any] = {"effort": effort} if effort else {}
    if problem.cap:
        told["cap"] = problem.cap
    return fa.fit(problem.M, problem.b, atoms=problem.atoms, k=problem.k, ridge=problem.ridge, **told)


@needs("fewatoms", prepare=fitted)
def prove(problem: Any, ready: Any, *, seconds: float = 60.0, **words: Any) -> Array:
    import fewatoms as fa

    proof = fa.prove(ready, seconds=seconds, gap=GAP)
    already = proof.proven and proof.solution.objective >= ready.objective * (1.0 - GAP)
    facts = {"open": proof.gap, "proven": float(proof.proven), "nodes": float(proof.nodes), "already": float(already)}
    return Array(np.asarray(proof.solution.x), facts)
