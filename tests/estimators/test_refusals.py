"""What estimators refuse, each in one line that names the argument, the demand and what came."""

from __future__ import annotations

import pandas as pd
import pytest

from estimators.tables import NAMES, rows
from fewatoms.estimators import RobustPCA, SparseCoder, SparseRegressor

X, Y = rows()
FRAME = pd.DataFrame(X, columns=NAMES)


@pytest.mark.parametrize("words", [{}, {"loss": "huber", "delta": 1.0}, {"groups": [0, 0, 1, 1, 2, 2, 3, 3]}], ids=str)
def test_columns_too_large_to_be_measured_are_refused_beside_an_intercept(words):
    with pytest.raises(ValueError, match=r"^X must be in units in which .* too large here: rescale it$"):
        SparseRegressor(2, **words).fit(FRAME.assign(age=1e200 * FRAME["age"]), Y)


@pytest.mark.parametrize("model", [SparseRegressor(2), RobustPCA(1), SparseCoder(X, 2)], ids=lambda m: type(m).__name__)
def test_columns_that_are_called_the_same_are_refused(model):
    twice = FRAME.rename(columns={"bmi": "age"})
    with pytest.raises(ValueError, match=r"^X must have columns of different names; 'age' is there more than once"):
        model.fit(twice, Y)
