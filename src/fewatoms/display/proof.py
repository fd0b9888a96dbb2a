"""How a proof came nearer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fewatoms.display.base import BLUE, ORANGE, QUIET, Display
from fewatoms.drawn.bounds import Bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.proofs.proof import Proof


class ProofDisplay(Display):
    """The best answer known and what is proven of all others, against seconds.

    ProofDisplay.from_proof(prove(s)).plot(), or proof.plot()

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was; upper_, lower_ : the curves
    """

    def __init__(self, drawn: Bounds) -> None:
        self.drawn = drawn

    @classmethod
    def from_proof(cls, proof: Proof) -> Self:
        """Of a proof, loaded ones too."""
        return cls(Bounds.of(proof))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it: what is still open is between the curves."""
        ax, drawn = self._axes(ax), self.drawn
        (self.upper_,) = ax.step(drawn.seconds, drawn.upper, where="post", color=BLUE, label="best answer known")
        (self.lower_,) = ax.step(drawn.seconds, drawn.lower, where="post", color=ORANGE, label="no choice is below")
        ax.fill_between(drawn.seconds, drawn.lower, drawn.upper, step="post", color=QUIET, alpha=0.12, linewidth=0)
        ax.axhline(drawn.close, color=QUIET, linestyle="--", linewidth=1, label="proven from here on")
        ax.set_xlabel("seconds")
        ax.set_ylabel(drawn.label)
        ax.legend(frameon=False)
        return self
