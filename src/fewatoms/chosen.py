"""The k that is best for data, at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Unpack

import numpy.typing as npt

from fewatoms import callbacks
from fewatoms._renamed import renamed
from fewatoms._types import BudgetLike
from fewatoms.doors import Words
from fewatoms.path import fit_path


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
        path = fit_path(M, b, k=k, **words)
        path.choose_k(by, folds=folds, repeats=repeats, rule=rule, rng=words.get("rng"), callback=callback)
    return path.chosen if len(path.ridges) == 1 else Chosen(path.chosen, path.ridge)
