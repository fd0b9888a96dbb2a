"""The k that is best for data, at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Unpack, cast

import numpy.typing as npt

from fewatoms import _checks, callbacks, journal, kept
from fewatoms._renamed import renamed
from fewatoms._types import BudgetLike
from fewatoms.calls import call
from fewatoms.choosing import budgets_of, split
from fewatoms.doors import Words, posed_path
from fewatoms.kept import Kept
from fewatoms.path import fit_path
from fewatoms.splits import digest_of_rows, rows_kept


class Chosen(NamedTuple):
    """What was chosen where ridges were compared as well."""

    k: BudgetLike
    ridge: float


@renamed
def choose_k(
    M: object,
    b: npt.ArrayLike,
    *,
    k: Iterable[object],
    by: str = "cv",
    folds: int | Iterable[object] = 5,
    repeats: int | None = None,
    rule: str = "best",
    **words: Unpack[Words],
) -> BudgetLike | Chosen:
    """The k that `by` prefers among those of an iterable: `fit_path(M, b, ...).choose_k(by)`. With several ridges, or
    "auto", both: a tuple with `k` and `ridge`.

    Parameters
    ----------
    M, b, k : as for `fit_path`
    by, folds, repeats, rule : as for `Path.choose_k`
    **words : as for `fit_path`
    """
    words["callback"] = callback = callbacks.read(words.get("callback"))
    with callbacks.entered(callback):
        if journal.current() is None:
            return _told(*_chosen(M, b, k, words, by=by, folds=folds, repeats=repeats, rule=rule))
        several = _checks.several(folds)
        k, folds = list(k), list(cast("Iterable[object]", folds)) if several else folds
        problem, way, ridges = posed_path(M, b, {**words})
        budgets = budgets_of(problem, k)

        def told() -> tuple[dict[str, kept.Plain], Kept]:
            splits = split(problem, folds, None, 1, None)[0] if several else None
            asked: dict[str, kept.Plain] = {
                "ridges": None if ridges is None else [*ridges], "by": by, "repeats": repeats, "rule": rule,
                "folds": None if several else _checks.integer("folds", folds, 2), "rows": digest_of_rows(splits),
            }  # fmt: skip
            start = () if way.start is None else (way.start.kept(),)
            return asked, Kept("folds", {}, rows_kept(splits), start)

        with call("choose_k", problem, way, told, budgets=budgets) as here:
            if here.found is not None:
                ridge = kept.maybe(here.found.told["ridge"])
                return _told(budgets[kept.whole(here.found.told["place"])].k, ridge)
            found, ridge = _chosen(M, b, k, words, by=by, folds=folds, repeats=repeats, rule=rule)
            place = [budget.k for budget in budgets].index(found)
            here.mark(lambda: Kept("choice", {"place": place, "ridge": ridge}))
            return _told(found, ridge)


def _told(k: BudgetLike, ridge: float | None) -> BudgetLike | Chosen:
    return k if ridge is None else Chosen(k, ridge)


def _chosen(
    M: object, b: npt.ArrayLike, k: Iterable[object], words: Words, **how: Any
) -> tuple[BudgetLike, float | None]:
    path = fit_path(M, b, k=k, **words)
    by, rng, callback = how.pop("by"), words.get("rng"), words.get("callback")
    path.choose_k(by, rng=rng, callback=callback, **how)
    return path.chosen, None if len(path.ridges) == 1 else path.ridge
