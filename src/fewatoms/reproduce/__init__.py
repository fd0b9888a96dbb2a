"""The paper's experiments and statements again: its method and its rule as written beside our default, and both beside
the figures that were published. `fewatoms reproduce` runs them and writes a page."""

from __future__ import annotations

from fewatoms.reproduce import completion, rpca, sparco, theory
from fewatoms.reproduce.contract import Experiment

PARTS: dict[str, tuple[Experiment, ...]] = {
    "sparco": (sparco.experiment,),
    "completion": (completion.experiment,),
    "rpca": (rpca.experiment,),
    "theory": theory.EXPERIMENTS,
}


def chosen(part: str) -> tuple[Experiment, ...]:
    """The experiments of a part, or all of them."""
    return tuple(one for parts in PARTS.values() for one in parts) if part == "all" else PARTS[part]


__all__ = ["PARTS", "chosen"]
