"""Where dual vectors come from: one dual method per file, each a generator."""

from fewatoms.oracles.alternating import Alternating
from fewatoms.oracles.base import Oracle
from fewatoms.oracles.bundle import Bundle
from fewatoms.oracles.conditional_gradient import ConditionalGradient
from fewatoms.oracles.from_iterates import FromIterates
from fewatoms.oracles.level_set import Bisection, LevelSet, Newton
from fewatoms.oracles.peeling import Peeling
from fewatoms.oracles.proximal_gradient import Continuation, ProximalGradient
from fewatoms.oracles.splitting import Splitting
from fewatoms.oracles.trimming import Trimming
from fewatoms.oracles.working_set import WorkingSet

__all__ = [
    "Alternating",
    "Bisection",
    "Bundle",
    "ConditionalGradient",
    "Continuation",
    "FromIterates",
    "LevelSet",
    "Newton",
    "Oracle",
    "Peeling",
    "ProximalGradient",
    "Splitting",
    "Trimming",
    "WorkingSet",
]
