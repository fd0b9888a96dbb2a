"""Who solves what: one method per family, asked in turn."""

from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.demixing import Demixing
from fewatoms.methods.exposed import Exposed
from fewatoms.methods.general import General
from fewatoms.methods.leading import Leading
from fewatoms.methods.listed import Listed, WorkingSet
from fewatoms.methods.listed.many import ManyAtoms
from fewatoms.methods.lowrank import Completion
from fewatoms.methods.paper import Paper
from fewatoms.methods.phases import Phases
from fewatoms.methods.phases.small import SmallSemidefinite
from fewatoms.methods.separation import Separation
from fewatoms.methods.tall import Tall

METHODS: tuple[Method, ...] = (
    Separation(),
    Demixing(),
    Leading(),
    Completion(),
    SmallSemidefinite(),
    Phases(),
    Tall(),
    ManyAtoms(),
    Listed(),
    Exposed(),
    General(),
)

__all__ = [
    "METHODS",
    "Completion",
    "Demixing",
    "Exposed",
    "General",
    "Job",
    "Leading",
    "Listed",
    "ManyAtoms",
    "Method",
    "Pace",
    "Paper",
    "Phases",
    "Separation",
    "SmallSemidefinite",
    "Tall",
    "WorkingSet",
]
