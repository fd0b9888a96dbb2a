"""Where dual vectors come from: one dual method per file, each a generator."""

from fewatoms.oracles.base import Oracle
from fewatoms.oracles.bundle import Bundle
from fewatoms.oracles.conditional_gradient import ConditionalGradient
from fewatoms.oracles.corrective import Corrective
from fewatoms.oracles.from_iterates import FromIterates
from fewatoms.oracles.level_set import Bisection, LevelSet, Newton
from fewatoms.oracles.proximal_gradient import Continuation, ProximalGradient

__all__ = [
    "Bisection",
    "Bundle",
    "ConditionalGradient",
    "Continuation",
    "Corrective",
    "FromIterates",
    "LevelSet",
    "Newton",
    "Oracle",
    "ProximalGradient",
]
