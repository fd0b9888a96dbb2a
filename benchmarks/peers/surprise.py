"""scikit-surprise: stochastic gradients on factors and biases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Factors


@dataclass(frozen=True, eq=False)
class _Trainset:
    inner: Any
    unit: float
    shape: tuple[int, int]


def _trainset(problem: Any, *, standardise: bool = False, **words: Any) -> _Trainset:
    """The package's own form. Its step length suits ratings: other data are given to it with variance one."""
    import pandas as pd
    from surprise import Dataset, Reader

    e = problem.train
    unit = float(e.values.std()) if standardise else 1.0
    values = e.values / unit
    frame = pd.DataFrame({"row": e.rows, "col": e.cols, "value": values})
    reader = Reader(rating_scale=(float(values.min()), float(values.max())))
    return _Trainset(Dataset.load_from_df(frame, reader).build_full_trainset(), unit, e.shape)


@needs("surprise", _trainset)
def svd(problem: Any, data: _Trainset, *, setting: int | None = None, standardise: bool = False) -> Factors:
    """Rows and columns without entries get zeros; `setting` is the epochs. Ratings get its own defaults."""
    from surprise import SVD

    wishes = {"n_factors": problem.k, "n_epochs": setting, "reg_all": 0.0} if setting else {}
    model, train = SVD(random_state=0, **wishes), data.inner
    model.fit(train)
    rows = np.array([train.to_raw_uid(u) for u in range(train.n_users)])
    cols = np.array([train.to_raw_iid(i) for i in range(train.n_items)])
    left, right = (np.zeros((n, model.pu.shape[1])) for n in data.shape)
    row, col = (np.zeros(n) for n in data.shape)
    left[rows], right[cols], row[rows], col[cols] = model.pu, model.qi, model.bu, model.bi
    return Factors(left, right, train.global_mean, row, col, unit=data.unit)
