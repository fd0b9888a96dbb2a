"""What a proof has found out, bound by bound, while it went on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fewatoms._types import FloatArray
from fewatoms.figures import Decided

if TYPE_CHECKING:
    from fewatoms.solution import Solution


class Proven(Protocol):
    """What is read of a proof."""

    @property
    def trace(self) -> FloatArray: ...

    @property
    def upper(self) -> float: ...

    @property
    def asked(self) -> float: ...

    @property
    def what(self) -> str: ...

    @property
    def decided(self) -> Decided: ...

    @property
    def solution(self) -> Solution: ...


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower and upper bound against seconds.

    seconds, lower, upper : from the first bound to the end; each holds until the next
    label : what they bound, "loss" or "objective"
    close : the lower bound from which on it counts as proven
    """

    seconds: FloatArray
    lower: FloatArray
    upper: FloatArray
    label: str
    close: float

    @classmethod
    def of(cls, proof: Proven) -> Bounds:
        """Of a proof."""
        seconds, lower, upper = proof.trace.T
        return cls(seconds, lower, upper, proof.what, proof.upper * (1.0 - proof.asked))
