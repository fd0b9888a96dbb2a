"""Who solves what: one method per family, asked in turn."""

from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.general import General

METHODS: tuple[Method, ...] = (General(),)

__all__ = ["METHODS", "General", "Job", "Method", "Pace"]
