"""Calls of a door as a journal knows them: what was asked, by which a checkpoint is known to be of the same call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import journal, kept, ledger, linalg
from fewatoms._types import Array
from fewatoms.asked import Asked, Fingerprint, plain_budget
from fewatoms.budget import Budget
from fewatoms.journal import Step
from fewatoms.kept import Kept, Plain
from fewatoms.problem import Problem

if TYPE_CHECKING:
    from fewatoms.run import Way

BEGUN_WITH = "must be the one that the run was begun with"
SAID_AS = {
    "atoms_told": "atoms",
    "loss_told": "loss",
    "shrink": "free",
    "budgets": "k",
    "ridges": "ridge",
    "rows": "folds",
}
NOT_ASKED = ("called", "slack", "mark")  # of what was asked: what says nothing of the call, or only roughly


def facts(door: str, problem: Problem, way: Way, more: Mapping[str, Plain]) -> dict[str, Plain]:
    """What was asked, in words and numbers."""
    asked = kept.section(Asked.of(problem).plain())
    biases = problem.beside.biases
    asked["ridge"] = problem.price.ridge
    asked["biases"] = None if biases is None else "auto" if biases.shrink is None else float(biases.shrink)
    return {
        "door": door,
        "asked": asked,
        "fingerprint": Fingerprint.of(problem).plain(),
        "method": None if len(way.methods) != 1 else repr(way.methods[0]),
        "effort": way.effort.name,
        "max_iterations": way.max_iterations,
        "rng": kept.plain_rng(way.rng),
        **more,
    }


def digest_of_all(data: Array) -> str:
    """Of all data vectors; of labels, of what they are called."""
    if data.dtype.kind in "biuf":
        return linalg.digest(data)
    return hashlib.blake2b(repr(data.tolist()).encode(), digest_size=16).hexdigest()


def _nothing() -> tuple[dict[str, Plain], None]:
    return {}, None


@contextmanager
def call(
    door: str,
    problem: Problem,
    way: Way,
    tell: Callable[[], tuple[dict[str, Plain], Kept | None]] = _nothing,
    *,
    budgets: Sequence[Budget] | None = None,
) -> Iterator[Step]:
    """A call of a door. Where a checkpoint is gone on with that was made by another one, it is refused.

    tell : what else was asked, and whatever is needed for it that has arrays
    """
    book = journal.current()
    if book is None or book.frozen:
        yield journal.NOWHERE
        return
    more, given = tell()
    if budgets is not None:
        more["budgets"] = [plain_budget(budget) for budget in budgets]
    now = facts(door, problem, way, more)
    with ledger.step("call") as here:
        if here.facts is not None:
            try:
                refuse(kept.section(here.facts), now)
            except ValueError:
                book.refused = True
                raise
        else:
            here.given = way.start.kept() if given is None and way.start is not None else given
            here.facts = now
        yield here


def refuse(known: Mapping[str, Plain], now: Mapping[str, Plain]) -> None:
    """Say what is not as it was when the run was begun."""
    was, of = "the checkpoint is of a run that was begun with", "another call made the checkpoint"
    if known["door"] != now["door"]:
        raise ValueError(f"{of}: {known['door']} instead of {now['door']}")
    Fingerprint.read(known["fingerprint"]).refuse(Fingerprint.read(now["fingerprint"]), BEGUN_WITH)
    before, after = kept.section(known["asked"]), kept.section(now["asked"])
    # a misfit is told before the bound that it means
    for name in sorted((name for name in after if name not in NOT_ASKED), key=lambda name: name == "alpha"):
        if before.get(name) != after[name]:
            word = SAID_AS.get(name, name)
            raise ValueError(f"{word} must be as it was: {was} {before.get(name)!r}; got {after[name]!r}")
    mark, other = before.get("mark"), after["mark"]
    if mark is not None and other is not None and not np.isclose(kept.real(mark), kept.real(other), rtol=1e-8):
        raise ValueError(f"atoms must be as they were: {was} others of the kind {before['atoms_told']}")
    for name in [name for name in now if name not in ("asked", "fingerprint")]:
        if known.get(name) != now[name]:
            raise ValueError(
                f"{SAID_AS.get(name, name)} must be as it was: {was} {known.get(name)!r}; got {now[name]!r}"
            )


__all__ = ["call", "digest_of_all", "facts", "refuse"]
