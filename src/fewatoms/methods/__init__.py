"""Who solves what: one method per family, asked in turn."""

from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.general import General
from fewatoms.methods.paper import Paper
from fewatoms.methods.phases import Phases

METHODS: tuple[Method, ...] = (Phases(), General())

__all__ = ["METHODS", "General", "Job", "Method", "Pace", "Paper", "Phases"]
