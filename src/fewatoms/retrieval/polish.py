"""Better answers at the same cardinality: exchange atoms, turn singular vectors, as long as the loss falls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewatoms._types import Budget, ModelDual
from fewatoms.faces import Face
from fewatoms.problem import Problem
from fewatoms.retrieval.reduced_fit import reduced_fit, refit
from fewatoms.solution import Candidate


@dataclass(frozen=True)
class Exchange:
    """Merge, fit, prune, refit, and accept only a lower loss.

    Each round takes y = grad f(b - Mx) of the candidate at hand and offers it new atoms: for faces that can turn, the
    directions that turn them towards M*y; then the atoms best aligned with M*y, as many as k at first and half as many
    after each refusal. The union is fitted, pruned back to k atoms and fitted again. One product with M* a round, plus
    what the reduced fits cost.

    rounds : offers at most
    gain : a round must lower the loss by this share to count
    """

    rounds: int = 40
    gain: float = 1e-6

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        best = candidate
        share = 1.0
        left = self.rounds
        while left > 0 and share > 0 and not problem.meets(best.loss):
            y = problem.loss.gradient(best.residual)
            if not y.any():
                break
            z = problem.M.adjoint(y)
            improved = False
            for offer, is_exchange in self._offers(problem, best, z, share):
                left -= 1
                merged = best.face.merge(offer)
                if merged.dim == best.face.dim or merged.dim > problem.m:
                    continue
                trial = refit(problem, reduced_fit(problem, merged), problem.k)
                if trial.loss < best.loss * (1 - self.gain):
                    best, improved = trial, True
                    break
                if is_exchange:
                    share = _halved(share, problem.k)
            if not improved and share == 0:
                break
        return best

    def _offers(
        self, problem: Problem, best: Candidate, z: ModelDual, share: float
    ) -> Iterator[tuple[Face, bool]]:
        turned = best.face.tangent(z)
        if turned is not None:
            yield turned, False
        yield problem.atoms.expose(z, _part_of(problem.k, share)), True


def _part_of(k: Budget, share: float) -> Budget:
    return tuple(_part_of(j, share) for j in k) if isinstance(k, tuple) else max(1, int(np.ceil(k * share)))


def _largest(k: Budget) -> int:
    return max(_largest(j) for j in k) if isinstance(k, tuple) else int(k)


def _halved(share: float, k: Budget) -> float:
    """Half the share, or 0 when a single atom was on offer already."""
    return 0.0 if _largest(_part_of(k, share)) == 1 else 0.5 * share


__all__ = ["Exchange"]
