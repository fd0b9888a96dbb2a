"""Choosing k and the ridge by rows left out, with scikit-learn's splitters or the library's own folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral
from typing import TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from fewatoms._types import Foreign
from fewatoms.choosing import FOLDS
from fewatoms.doors import Words
from fewatoms.estimators.base import Data, Folds, compared
from fewatoms.path import Path
from fewatoms.solution import Solution

Splitting: TypeAlias = Callable[[Data], Folds]


class Comparing:
    """What the estimators share that choose k and the ridge themselves."""

    ks: Iterable[int] | None
    ridges: object
    cv: object
    rule: str
    path_: Path

    def _splitting(self, params: dict[str, object], X: object, y: object) -> Splitting:
        """How rows are split, once it is known which of them count: the library's way where there is only a number."""
        cv = FOLDS if self.cv is None else self.cv
        if isinstance(cv, Integral):
            if params:
                raise TypeError(f"fit takes {', '.join(params)} where cv is a splitter to give it to; got cv={cv!r}")
            return lambda data: int(cv)
        routed = process_routing(self, "fit", **params).splitter.split if params and routing() else params

        @cache  # a splitter may give others the next time, an iterable none
        def split(data: Data) -> Folds:
            splits = check_cv(cv, y, classifier=is_classifier(self)).split(X, y, **routed)
            return [(data.placed(np.asarray(some)), data.placed(np.asarray(held))) for some, held in splits]

        return split

    def _settle(self, data: Data, words: Words, split: Splitting) -> Solution:
        ridges = "auto" if self.ridges is None else self.ridges
        self.path_ = compared(data, words, self.ks, ridges, split(data), self.rule)
        self.scores_ = np.atleast_2d(self.path_.scores["cv"])
        return self.path_.best

    def get_metadata_routing(self) -> Foreign:
        """Weights are for this estimator, groups and the like for the splitter, if cv is one."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router


def routing() -> bool:
    """Whether scikit-learn sends metadata where they were requested."""
    return bool(get_config()["enable_metadata_routing"])
