"""Penalties that were chosen by entries held out, and how far a ladder of them has been gone down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fewatoms import kept
from fewatoms.kept import Kept, Plain
from fewatoms.methods.lowrank.entries import Triple


@dataclass(frozen=True, eq=False)
class Choice:
    """The penalties that predict held-out entries best, with what they reach there.

    lam, shrink : on the nuclear norm, on the biases
    score : root of the (weighted) mean square of the errors on the entries held out; of clicks, 1 - NDCG
    points : those at these penalties, each fitted to the other entries
    """

    lam: float
    shrink: float
    score: float
    points: list[Triple]

    def kept(self, **more: Plain) -> Kept:
        """For a checkpoint."""
        told = {"lam": self.lam, "shrink": self.shrink, "score": self.score, **more}
        return Kept("choice", told, {}, tuple(at.kept() for at in self.points))

    @classmethod
    def read(cls, it: Kept) -> Choice:
        """What was kept."""
        lam, shrink, score = (kept.real(it.told[name]) for name in ("lam", "shrink", "score"))
        return cls(lam, shrink, score, [Triple.read(at) for at in it.inner])

    @property
    def start(self) -> Triple | None:
        """Where a fit to all entries may begin, if not at nothing."""
        return self.points[0] if self.points[0].rank else None


def walked(scores: Sequence[float], since: int, sweeps: int, here: Choice, best: Choice) -> Kept:
    """How far down a ladder, for a checkpoint."""
    told: dict[str, Plain] = {"scores": [*scores], "since": since, "sweeps": sweeps}
    return Kept("ladder", told, {}, (here.kept(), best.kept()))


def walk_of(it: Kept) -> tuple[list[float], int, int, Choice, Choice]:
    """What was kept: the scores, how many since the best, sweeps for each penalty, the last point and the best one."""
    here, best = map(Choice.read, it.inner)
    scores = [kept.real(score) for score in kept.rows(it.told["scores"])]
    return scores, kept.whole(it.told["since"]), kept.whole(it.told["sweeps"]), here, best


__all__ = ["Choice", "walk_of", "walked"]
