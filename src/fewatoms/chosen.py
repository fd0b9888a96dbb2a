"""The k that is best for data, at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Unpack

import numpy.typing as npt

from fewatoms import _checks, callbacks, journal, kept
from fewatoms._renamed import renamed
from fewatoms._types import BudgetLike
from fewatoms.asked import read_budget
from fewatoms.calls import call
from fewatoms.choosing import budgets_of, digest_of_rows, rows_kept, split
from fewatoms.doors import Words
from fewatoms.kept import Kept
from fewatoms.path import fit_path, posed_path


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
            return _chosen(M, b, k, words, by=by, folds=folds, repeats=repeats, rule=rule)
        k, folds = list(k), folds if isinstance(folds, int) else list(folds)
        problem, way, ridges = posed_path(M, b, {**words})

        def told() -> tuple[dict[str, kept.Plain], Kept]:
            several = _checks.several(folds)
            splits = split(problem, folds, None, 1, None)[0] if several else None
            asked: dict[str, kept.Plain] = {
                "ridges": None if ridges is None else [*ridges], "by": by, "repeats": repeats, "rule": rule,
                "folds": folds if isinstance(folds, int) else None, "rows": digest_of_rows(splits),
            }  # fmt: skip
            start = () if way.start is None else (way.start.kept(),)
            return asked, Kept("folds", {}, rows_kept(splits), start)

        with call("choose_k", problem, way, told, budgets=budgets_of(problem, k)) as here:
            if here.found is None:
                found = _chosen(M, b, k, words, by=by, folds=folds, repeats=repeats, rule=rule)
                here.mark(lambda: _kept(found))
                return found
            return _again(here.found)


def _chosen(M: object, b: npt.ArrayLike, k: Iterable[object], words: Words, **how: Any) -> BudgetLike | Chosen:
    path = fit_path(M, b, k=k, **words)
    by, rng, callback = how.pop("by"), words.get("rng"), words.get("callback")
    path.choose_k(by, rng=rng, callback=callback, **how)
    return path.chosen if len(path.ridges) == 1 else Chosen(path.chosen, path.ridge)


def _kept(found: BudgetLike | Chosen) -> Kept:
    k, ridge = found if isinstance(found, Chosen) else (found, None)
    return Kept("choice", {"k": _plain(k), "ridge": ridge})


def _plain(k: BudgetLike) -> kept.Plain:
    return [_plain(part) for part in k] if isinstance(k, tuple) else k


def _again(it: Kept) -> BudgetLike | Chosen:
    k, ridge = read_budget(it.told["k"]).k, kept.maybe(it.told["ridge"])
    return k if ridge is None else Chosen(k, ridge)
