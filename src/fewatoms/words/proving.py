"""A proof in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewatoms.words.decided import decided, undecided

if TYPE_CHECKING:
    from fewatoms.proofs.proof import Proof

# Why a proof is over, for those that are not done.
ENDED = {
    "proven": "",
    "searched": "",
    "deadline": "The time was over first.",
    "interrupt": "Ctrl-C ended it.",
    "callback": "The callback ended it.",
}


def proof(found: Proof, where: str = "it is proof.solution") -> str:
    """What is proven, what is not, whether a better answer was found, and what it took."""
    known = found.decided
    better = f"A better answer was found on the way: {where}." if found.improved else ""
    nodes = "1 node" if found.nodes == 1 else f"{found.nodes:,} nodes"
    took = f"{nodes} in {found.seconds:.3g} s. {'' if found.proven else ENDED[found.ended]}".strip()
    return " ".join(part for part in (decided(known), better, undecided(known), took) if part)
