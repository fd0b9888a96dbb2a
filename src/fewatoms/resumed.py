"""Going on with a run that was killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, checkpoints, frames, kept
from fewatoms._types import BudgetLike
from fewatoms.asked import Asked, Fingerprint, read_budget
from fewatoms.atoms import AtomicSet
from fewatoms.beside import Biases
from fewatoms.calls import BEGUN_WITH
from fewatoms.checkpoints import Checkpoint
from fewatoms.chosen import Chosen, choose_k
from fewatoms.doors import Words, fit, fit_many, posed_path
from fewatoms.files import PathLike
from fewatoms.journal import Step
from fewatoms.kept import Kept, Plain
from fewatoms.losses import Loss
from fewatoms.methods import Method
from fewatoms.operators import as_operator
from fewatoms.path import Path, fit_path
from fewatoms.path import restored as path_of
from fewatoms.ranks import Ranked, best_rank
from fewatoms.run import Callback
from fewatoms.solution import Solution
from fewatoms.solution import restored as answer_of
from fewatoms.solutions import Solutions
from fewatoms.splits import rows_again

if TYPE_CHECKING:
    from fewatoms.operators import Sampling

T = TypeVar("T")
Resumed: TypeAlias = "Solution | Solutions | Path | BudgetLike | Chosen | Ranked"


def resume(
    file: PathLike,
    M: object,
    b: npt.ArrayLike,
    *,
    atoms: AtomicSet | None = None,
    loss: Loss | None = None,
    free: object = None,
    method: Method | None = None,
    callback: Callback | Sequence[Callback] | None = None,
    every: float = 30.0,
) -> Resumed:
    """Go on with the call that wrote a checkpoint, and return what it would have returned.

    Work that was done is not done again, and the answer is the one that the call would have come to by itself: the same
    atoms and loss. (What is certified about answers that were found before the kill rests on a dual vector made from
    them, as after `attach`.) A run that was over is answered at once. Refused unless M, b and what goes with them are
    the same; the checkpoint stays as it is then.

    Parameters
    ----------
    file : str or path
        What `callbacks.Checkpoint` wrote. It is kept up to date meanwhile.
    M, b : as they were given to the call; for `fit_many` B instead of b
    atoms, loss, free, method : as they were given to the call
        Needed where they are as long as the data or the model, or your own: a loss with weights, free columns, sets but
        for single entries, rank-one matrices, their multiples, sums and unions; any method but the default.
    callback : as for `fit`, beside the checkpoint
        Callbacks of the call are not kept: say them again.
    every : float
        Seconds at least from one writing of the checkpoint to the next.

    Returns
    -------
    Solution, Solutions, Path, or what `choose_k` gives
    """
    book = checkpoints.read(file)
    if not book.root.begun:
        raise ValueError(f"file must be a checkpoint of a run that was begun; {_checks.file_name(file)!r} is of none")
    (m, n), known = as_operator(M).shape, Fingerprint.read(kept.section(book.root.begun[-1].facts)["fingerprint"])
    if known.shape != (max(1, known.shape[0] // m) * m, max(1, known.shape[0] // m) * n):  # once for each data vector
        known.refuse(replace(known, shape=(m, n)), BEGUN_WITH)
    book.root.met = len(book.root.begun) - 1  # of several calls the last
    step = book.root.begun[-1]
    heard: list[Callback] = [Checkpoint.of(file, every, book), *_checks.heard(callback)]
    return _called(step, M, b, _words(step, M, atoms, loss, free, method), heard)


def _called(step: Step, M: object, b: npt.ArrayLike, words: Words, heard: list[Callback]) -> Resumed:
    facts = kept.section(step.facts)
    door, asked = facts["door"], kept.section(facts["asked"])
    M = frames.arranged("M", M, Asked.read({**asked, "ridge": 0.0}).called.columns)
    ks = [read_budget(k).k for k in kept.rows(facts.get("budgets", []))]
    words["callback"] = heard
    if door == "fit":
        return fit(M, b, k=read_budget(asked["k"]).k, **words)
    if door == "fit_many":
        return fit_many(M, b, k=read_budget(asked["k"]).k, **words)
    if door == "best_rank":
        return best_rank(
            cast("Sampling", M),
            np.asarray(b, dtype=np.float64),
            [kept.whole(k) for k in kept.rows(facts["budgets"])],
            **words,
        )
    if facts.get("ridges") is not None:
        words["ridge"] = kept.rows(facts["ridges"])
    if door == "fit_path":
        return fit_path(M, b, k=ks, **words)
    assert step.given is not None
    if door == "choose_k":
        rows, repeats = rows_again(step.given.arrays), facts["repeats"]
        folds = kept.whole(facts["folds"]) if rows is None else [(s.rest(0), s.held) for s in rows]
        times = None if repeats is None else kept.whole(repeats)
        by, rule = str(facts["by"]), str(facts["rule"])
        return choose_k(M, b, k=ks, by=by, folds=folds, repeats=times, rule=rule, **words)
    return _chosen(step.given, facts, M, b, words)


def _chosen(given: Kept, facts: dict[str, Plain], M: object, b: npt.ArrayLike, words: Words) -> BudgetLike:
    """The choice on a path, which was there before."""
    problem, way, _ = posed_path(M, b, words)
    path = path_of(given.inner[0]).over(problem, replace(way, callback=None))
    return path.choose(
        str(facts["by"]), str(facts["rule"]), kept.real(facts["gamma"]), rows_again(given.arrays),
        kept.whole(facts["times"]), way,
    )  # fmt: skip


def _words(
    step: Step, M: object, atoms: AtomicSet | None, loss: Loss | None, free: object, method: Method | None
) -> Words:
    """What was said to the call, with what was not kept."""
    facts = kept.section(step.facts)
    plain = kept.section(facts["asked"])
    asked = Asked.read({**plain, "ridge": 0.0})
    given = _given("loss", loss, asked.loss, asked.loss_told)
    words: Words = {
        "atoms": _given("atoms", atoms, asked.atoms, asked.atoms_told),
        "loss": given,
        "alpha": asked.alpha if asked.misfit is None else None,
        "misfit": asked.misfit,
        "ridge": "auto" if plain["ridge"] is None else kept.real(plain["ridge"]),
        "cap": asked.cap,
        "effort": str(facts["effort"]),
        "max_iterations": kept.whole(facts["max_iterations"]),
        "rng": kept.rng_of(facts["rng"]),
    }
    if asked.free == "columns" and free is None:
        raise ValueError("free must be given again, resume(file, M, b, free=...): free columns are data and not kept")
    biases = "auto" if plain["biases"] == "auto" else kept.maybe(plain["biases"])
    known = Biases(biases) if asked.free == "biases" else None
    words["free"] = free if free is not None else known or asked.free or None
    if facts["method"] is not None and method is None:
        raise ValueError(f"method must be given again, resume(file, M, b, method=...): it was {facts['method']}")
    words["method"] = method
    start = step.given if step.given is not None and step.given.kind == "answer" else None
    if step.given is not None and step.given.kind == "folds":
        start = next(iter(step.given.inner), None)
    words["start"] = None if start is None else answer_of(start)
    return words


def _given(name: str, value: T | None, known: T | None, told: str) -> T:
    found = known if value is None else value
    if found is None:
        raise ValueError(
            f"{name} must be given again, resume(file, M, b, {name}=...): only a few words were kept of {told}"
        )
    return found


__all__ = ["resume"]
