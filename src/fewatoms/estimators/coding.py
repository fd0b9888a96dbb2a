"""Signals as sums of few atoms of a dictionary: sparse codes, unmixing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fewatoms import _checks, frames, names
from fewatoms._types import Array, Foreign, Matrix
from fewatoms.atoms import NonnegativeOneHot, SignedOneHot
from fewatoms.doors import fit_many
from fewatoms.estimators.base import at_most, new_rows, numbers, real, remembered
from fewatoms.solutions import Solutions

Dictionary: TypeAlias = "npt.ArrayLike | Matrix | Callable[[int], npt.ArrayLike]"


class SparseCoder(TransformerMixin, BaseEstimator):
    """Each signal, a row of X, as a sum of at most k atoms of a dictionary.

    Parameters
    ----------
    dictionary : (atoms, features) array, sparse matrix or data frame, or a function
        An atom is a row, of any length; the row labels of a pandas frame name them. Columns that have names are put in
        the order of those of X. A function is called with the number of features and gives the array.
    k : int
        Atoms per signal at most; None where there is a misfit, for as few as were found to meet it.
    positive : bool
        Coefficients are not negative, as shares in a mixture are.
    misfit : float, optional
        Bound on |x - code @ dictionary| / |x|; with k, the first answer that meets both is taken.
    effort : "quick", "normal" or "thorough"
    sparse_output : bool
        Codes as a sparse array.

    Attributes
    ----------
    dictionary_ : the array, its columns in the order of those of X
    n_features_in_, feature_names_in_ : of X

    Nothing is learned: `fit` reads the dictionary. `answers(X)` has misfits and statuses beside the codes.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        k: int | None,
        positive: bool = False,
        *,
        misfit: float | None = None,
        effort: str = "normal",
        sparse_output: bool = False,
    ) -> None:
        self.dictionary = dictionary
        self.k = k
        self.positive = positive
        self.misfit = misfit
        self.effort = effort
        self.sparse_output = sparse_output

    def fit(self, X: object, y: object = None) -> Self:
        """X : (signals, features) array or data frame, looked at for the names and number of its columns: the
        dictionary itself will do."""
        check_array(numbers("X", X), dtype=(np.float64, np.float32), estimator=self, input_name="X")
        remembered(self, X, reset=True)
        count = int(self.n_features_in_)
        given = self.dictionary(count) if callable(self.dictionary) else self.dictionary
        placed = _placed(given, X)
        D = check_array(numbers("dictionary", placed), accept_sparse=True, dtype=np.float64, input_name="dictionary")
        if D.shape[1] != count:
            raise ValueError(f"dictionary must have atoms as long as signals, {count} features; got shape {D.shape}")
        self.dictionary_, self._called = D, _called(given)
        return self

    def answers(self, X: object) -> Solutions:
        """The answer for each signal, in the order of the rows: `sparse`, `misfit`, `status`, `cardinality` for all,
        `answers[i]` a Solution. Signals with NaN or infinity get the status BAD_DATA and stop nobody."""
        check_is_fitted(self)
        values = check_array(
            real("X", frames.table("X", X)), dtype=(np.float64, np.float32), ensure_all_finite=False, estimator=self,
            input_name="X",
        )  # fmt: skip
        remembered(self, X, reset=False)
        return self._coded(values)

    def _coded(self, values: Array) -> Solutions:
        count = self.dictionary_.shape[0]
        atoms = NonnegativeOneHot(count) if _checks.flag("positive", self.positive) else SignedOneHot(count)
        k = None if self.k is None and self.misfit is not None else at_most(self.k, count, "atoms")
        with _checks.told_of("B", "X"), _checks.told_of("M", "dictionary"):
            return fit_many(
                self.dictionary_.T, values.T, atoms=atoms, k=k, misfit=self.misfit,
                effort=self.effort,
            )  # fmt: skip

    def transform(self, X: object) -> Matrix:
        """The codes, (signals, atoms): X is about `codes @ dictionary`."""
        codes = sp.csr_array(self._coded(new_rows(self, X)).sparse.T)
        return codes if _checks.flag("sparse_output", self.sparse_output) else codes.toarray()

    def inverse_transform(self, codes: Matrix) -> Array:
        """The signals that codes stand for, (signals, features)."""
        check_is_fitted(self)
        read = check_array(numbers("codes", codes), accept_sparse=True, estimator=self, input_name="codes")
        if read.shape[1] != self.dictionary_.shape[0]:
            count = self.dictionary_.shape[0]
            raise ValueError(f"codes must have {count} columns, one per atom of the dictionary; got shape {read.shape}")
        signals = read @ self.dictionary_
        return signals.toarray() if sp.issparse(signals) else np.asarray(signals)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """What the atoms are called: by the row labels of a pandas frame, or sparsecoder0 and so on."""
        check_is_fitted(self)
        numbered = [f"sparsecoder{i}" for i in range(self.dictionary_.shape[0])]
        return np.array(numbered if self._called is None else self._called, dtype=object)

    def __sklearn_tags__(self) -> Foreign:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _placed(dictionary: object, X: object) -> object:
    """The dictionary with its columns in the order of those of X, where both have names."""
    mine, theirs = frames.names_of("X", X), frames.names_of("dictionary", dictionary)
    if mine is None or theirs is None:
        return dictionary
    if set(mine) != set(theirs):
        odd = [name for name in (*mine, *theirs) if (name in mine) != (name in theirs)]
        raise ValueError(
            f"dictionary must have the columns of X, whatever their order; {names.told(odd)} {names.are(odd)} in one "
            "of them alone: rename them, or pass an array"
        )
    return frames.arranged("dictionary", dictionary, mine)


def _called(dictionary: object) -> names.Names | None:
    """What the rows of a data frame are called; None where they are only numbered, as those of others are."""
    index = getattr(dictionary, "index", None)
    told = frames.framed("dictionary", dictionary) is not None and index is not None
    return names.of_labels("dictionary", list(index), "rows") if told and index is not None else None
