"""Where we stand: ours beside the best peer's, case by case and figure by figure, from what is kept alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.records import FIGURES, Record

OURS = "fewatoms"
NO_PEERS = (OURS, "truth", "floor")
SAME, SAME_TIME = 1.001, 1.1  # ratios up to these are no difference
AS_GOOD = 1.01  # a peer that is worse than ours by more is no rival in time

Outcome = Literal["ours", "equal", "peer", "peer, but worse"]


@dataclass(frozen=True)
class Compared:
    """A figure of one case: ours, the best peer's and whose that is; ratio : ours over theirs, above one where they are
    better."""

    part: str
    case: str
    figure: str
    who: str
    value: float | None
    peer: str
    theirs: float
    ratio: float
    outcome: Outcome


def compared(part: Record) -> list[Compared]:
    """All cases of a part that somebody else answered too."""
    return [found for case in dict.fromkeys(a["case"] for a in part["answers"]) for found in _of_case(part, case)]


def _of_case(part: Record, case: str) -> Iterator[Compared]:
    answers = [a for a in part["answers"] if a["case"] == case]
    mine = [a for a in answers if a["who"].startswith(OURS)]
    ours = next((a for a in mine if a["who"] == OURS), mine[0] if mine else None)
    peers = [a for a in answers if not a["who"].startswith(NO_PEERS) and a["cpu"] is not None]
    if ours is None or not peers:
        return
    for figure in part["judged"]:
        theirs = [p for p in peers if p["figures"].get(figure) is not None]
        if theirs and figure in ours["figures"]:
            best = min(theirs, key=lambda p: _badness(figure, p["figures"][figure]))
            value = ours["figures"][figure]
            yield _found(part, case, figure, ours, value, best, best["figures"][figure], SAME)
    yield from _time(part, case, ours, peers)


def _time(part: Record, case: str, ours: Record, peers: Sequence[Record]) -> Iterator[Compared]:
    """Beside the fastest who is as good; where nobody is, beside the fastest, who is worse."""
    if ours["cpu"] is None:
        return
    good = [p for p in peers if _as_good(part["judged"], ours["figures"], p["figures"])]
    best = min(good or peers, key=lambda p: p["cpu"])
    found = _found(part, case, "cpu", ours, ours["cpu"], best, best["cpu"], SAME_TIME)
    if found.outcome == "peer" and not good:
        found = Compared(**{**vars(found), "outcome": "peer, but worse"})
    yield found


def _as_good(judged: Sequence[str], ours: Mapping[str, float | None], theirs: Mapping[str, float | None]) -> bool:
    """In all figures that are judged: what a peer does not say counts as worse where we say it."""
    said = [name for name in judged if name in ours and name != "products"]
    return all(theirs.get(name) is not None and _ratio(name, theirs[name], ours[name]) <= AS_GOOD for name in said)


def _found(
    part: Record, case: str, figure: str, ours: Record, value: float | None, peer: Record, theirs: float, same: float
) -> Compared:
    ratio = _ratio(figure, value, theirs)
    outcome: Outcome = "peer" if ratio > same else "ours" if ratio < 1 / same else "equal"
    return Compared(part["name"], case, figure, ours["who"], value, peer["who"], theirs, ratio, outcome)


def _ratio(figure: str, mine: float | None, theirs: float | None) -> float:
    """Above one where theirs is better; an answer that is missing is the worst."""
    if mine is None or theirs is None:
        return float("inf") if mine is None else 0.0
    floor = FIGURES[figure].floor
    less, more = max(mine, floor), max(theirs, floor)
    return more / less if FIGURES[figure].better == "more" else less / more


def _badness(figure: str, value: float) -> float:
    return -value if FIGURES[figure].better == "more" else value


def counts(found: Sequence[Compared]) -> dict[Outcome, int]:
    outcomes: tuple[Outcome, ...] = ("ours", "equal", "peer", "peer, but worse")
    return {outcome: sum(f.outcome == outcome for f in found) for outcome in outcomes}


@dataclass(frozen=True)
class Together:
    """A figure of one part: the cases with one outcome, how many there are in all, and the one farthest from equal."""

    cases: Sequence[Compared]
    of: int
    farthest: Compared


def together(found: Sequence[Compared], outcome: Outcome) -> list[Together]:
    """Part by part and figure by figure, where any case has that outcome."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for f in found:
        groups.setdefault((f.part, f.figure), []).append(f)
    farthest = max if outcome == "peer" else min
    return [
        Together(cases, len(some), farthest(cases, key=lambda f: f.ratio))
        for some in groups.values()
        if (cases := [f for f in some if f.outcome == outcome])
    ]


def middle(found: Sequence[Compared]) -> float | None:
    """The median ratio of times, beside peers that are as good; None where there is none."""
    ratios = [f.ratio for f in found if f.outcome != "peer, but worse"]
    return median(ratios) if ratios else None
