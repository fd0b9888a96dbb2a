"""Models as `fewatoms fit` writes them, asked about new tables and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp

from fewatoms import io
from fewatoms.cli import models
from fewatoms.cli.design import Recipe, as_written
from fewatoms.cli.pairs import Pairs
from fewatoms.io.endings import SVM
from fewatoms.lowrank import LowRank
from fewatoms.solution import Solution

if TYPE_CHECKING:
    from fewatoms._types import Array, Matrix
    from fewatoms.cli.session import Session


def read(name: str) -> OfTable | OfMatrix | Pairs:
    """The model of a file; refused in one line where it is not as it was written."""
    answer, how, arrays = models.read(name)
    with models.damaged(name):
        if how["kind"] == "pairs":
            return Pairs.read(cast(LowRank, answer), how, arrays)
        if how["kind"] != "table":
            raise ValueError(f"there must be a model of a table or of pairs; got {how['kind']!r}")
        answer = cast(Solution, answer)
        recipe = None if how["recipe"] is None else Recipe.read(how["recipe"])
        known = answer.called.columns if recipe is None else recipe.made
        if known is None or len(known) != answer.compact[0].shape[0]:
            raise ValueError("there must be as many columns as the answer has")
        return OfMatrix(answer) if recipe is None else OfTable(answer, recipe)


@dataclass(frozen=True, eq=False)
class OfTable:
    """A model of a table, whose columns are known by their names."""

    answer: Solution
    recipe: Recipe

    def about(self, session: Session, path: str, id: str | None) -> dict[str, Array]:
        """The target, or classes with their probabilities; nothing for rows in which something is missing. Beside them
        what rows are called, in the column asked for or in that of `fit --id`."""
        with session.timed("read"):
            table = io.read_table(path)
            table = as_written(table, [name for name in self.recipe.categorical if name in table.columns])
            ids = _ids(path, self.recipe.id if id is None and self.recipe.id in table.columns else id)
        with session.timed("work"):
            x = self.answer.x
            X, whole = self.recipe.design(table, (x != 0).reshape(x.shape[0], -1).any(axis=1))
            found = dict(_predicted(self.answer, np.where(whole[:, None], X, 0.0), whole, self.recipe.target))
        if not whole.all():
            session.note(f"{int((~whole).sum())} of {table.rows} rows have no prediction: something is missing there")
        return _beside(ids, found)


@dataclass(frozen=True, eq=False)
class OfMatrix:
    """A model of a sparse matrix, whose columns are known by their names, or else by their places."""

    answer: Solution

    def about(self, session: Session, path: str, id: str | None) -> dict[str, Array]:
        """The target, or classes with their probabilities; a target beside the matrix is not looked at."""
        with session.timed("read"):
            X, ids = self._arranged(io.read_grid(path)), _ids(path, id)
            if not np.isfinite(X.data if sp.issparse(X) else X).all():
                raise io.Refused(f"{path}: must hold finite numbers, with none missing")
        with session.timed("work"):
            found = dict(_predicted(self.answer, X, np.ones(X.shape[0], dtype=bool), "target"))
        return _beside(ids, found)

    def _arranged(self, grid: io.Grid) -> Matrix:
        known, X = self.answer.called.columns or (), grid.values
        if grid.names is not None and {*known} <= {*grid.names}:
            places = {name: i for i, name in enumerate(grid.names)}
            return X[:, [places[name] for name in known]]
        beyond = len(known) - X.shape[1]
        if beyond > 0 and io.ending(grid.source) in SVM:  # such a file ends with the last column that is not zero
            return sp.hstack([X, sp.csr_array((X.shape[0], beyond))], format="csr")
        if beyond:
            raise io.Refused(f"{grid.source}: must have {len(known)} columns, as the model has; got {X.shape[1]}")
        return X


def _ids(path: str, name: str | None) -> dict[str, Array]:
    """The column that says what rows are called, as it is written."""
    return {} if name is None else io.read_table(path, columns=[name], as_text=[name]).columns


def _beside(ids: dict[str, Array], found: dict[str, Array]) -> dict[str, Array]:
    """What rows are called, and what is said of them; refused where one would be lost for the other."""
    for name in ids.keys() & found.keys():
        raise io.Refused(f"--id must not be {name!r}, as a column of predictions is called: name another")
    return {**ids, **found}


def _predicted(answer: Solution, X: Matrix, whole: Array, target: str) -> Iterator[tuple[str, Array]]:
    """Columns of predictions for the rows that are whole."""
    if answer.classes is None:
        yield target, np.where(whole, answer.predict(X), np.nan)
        return
    P = answer.predict_proba(X)
    P[~whole] = np.nan
    classes = np.array([str(c) for c in np.asarray(answer.classes).tolist()], dtype=object)
    likeliest = classes[P.argmax(axis=1)]
    likeliest[~whole] = None
    yield target, likeliest
    heads = [f"p({c})" for c in classes]
    if target in heads:
        heads = [f"probability of {c}" for c in classes]
    yield from zip(heads, P.T, strict=True)
