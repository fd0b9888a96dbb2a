"""How hard to look: never another problem, only more or less of the same search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """What a search over supports may spend.

    name : as users say it
    ladders : whether supports are also taken from ladders of penalties and of ridges
    shakes, idle : tries to leave an answer by replacing some of its atoms at random, at most, and in a row in vain
    pairs : atoms that exchanges of two at a time begin with, where those pay
    trials : exchanges tried for each one made, where coefficients have signs
    """

    name: str
    ladders: bool
    shakes: int
    idle: int
    pairs: int
    trials: int


QUICK = Effort("quick", ladders=False, shakes=0, idle=0, pairs=0, trials=10)
NORMAL = Effort("normal", ladders=True, shakes=40, idle=20, pairs=48, trials=20)
THOROUGH = Effort("thorough", ladders=True, shakes=400, idle=200, pairs=1000, trials=100)
EFFORTS = {effort.name: effort for effort in (QUICK, NORMAL, THOROUGH)}


def effort(said: object) -> Effort:
    """The effort that a user asked for."""
    if isinstance(said, str) and said in EFFORTS:
        return EFFORTS[said]
    raise ValueError(f"effort must be one of {', '.join(map(repr, EFFORTS))}; got {said!r}")


RANKS = (1, 2, 3, 5, 8, 12, 20)  # of a matrix, tried in turn where nobody says one
