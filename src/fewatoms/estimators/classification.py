"""Classes from few features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.classes import Classes, read
from fewatoms.doors import Words
from fewatoms.estimators.base import Data, FewFeatures, answer, checked, weights_of
from fewatoms.estimators.folds import Comparing
from fewatoms.estimators.hearing import with_callbacks
from fewatoms.losses import Logistic, Loss, Multinomial
from fewatoms.solution import Solution


class Classifier(ClassifierMixin, FewFeatures):
    """What both classifiers share."""

    class_weight: Mapping[object, float] | str | None

    def _fit(self, X: object, y: object, sample_weight: object, settle: Callable[[Data, Words], Solution]) -> Self:
        values, came = checked(self, X, y, numeric=False)
        labels = plain(came)
        weights = weighed(weights_of(sample_weight, labels.size), labels, self.class_weight)
        data = Data.of(values, labels, weights, X)
        loss: Loss = (Logistic if coded(data.y)[1].size == 2 else Multinomial)(data.weights)
        return self._fitted(data, lambda words: loss, lambda words: settle(data, words), X, y)

    def _keep(self, solution: Solution) -> None:
        self.classes_ = np.asarray(solution.classes)
        self.coef_ = np.atleast_2d(solution.x.T.copy())
        self.intercept_ = np.atleast_1d(solution.intercept)

    def decision_function(self, X: object) -> FloatArray:
        """With two classes the logarithm of the odds of the second one; with more a column for each, the largest of
        which is that of the likeliest."""
        return self._linear(X)

    def predict(self, X: object) -> Array:
        """The likeliest class of each row."""
        margins = self._linear(X)
        return np.asarray(self.classes_[margins.argmax(axis=1) if margins.ndim == 2 else (margins > 0).astype(int)])

    def predict_proba(self, X: object) -> FloatArray:
        """The probabilities of the classes, in the order of `classes_`."""
        margins = self._linear(X)
        return Classes((self.classes_,), margins.ndim == 2).probabilities(margins)

    def predict_log_proba(self, X: object) -> FloatArray:
        """Their logarithms."""
        margins = self._linear(X)
        return np.asarray(log_softmax(margins if margins.ndim == 2 else np.stack([0 * margins, margins], 1), axis=1))


class SparseClassifier(Classifier):
    """Logistic regression with at most k features; of more than two classes, with a coefficient for each of them.

    Parameters
    ----------
    k : int, optional
        Features (groups) at most; without one, the k from 1 to 40 that predicts rows left out best.
    ridge : float or "auto"
        What coefficients pay, as for `fewatoms.fit`: .001 to .3 is usual. "auto" takes what predicts rows left out
        best. With 0, classes that k features separate have no best coefficients (`solution_.status`).
    effort : "quick", "normal" or "thorough"
    class_weight : mapping from class to weight, or "balanced", optional
    positive : bool
        Coefficients are not negative; for two classes.
    groups, fit_intercept, random_state : as for SparseRegressor

    Attributes
    ----------
    classes_ : the labels, sorted
    coef_, intercept_ : (1, features) and (1,) with two classes, a row for each with more
    solution_, k_, ridge_, selected_, n_iter_, n_features_in_, feature_names_in_ : as for SparseRegressor
    """

    def __init__(
        self,
        k: int | None = None,
        ridge: float | str = "auto",
        *,
        effort: str = "normal",
        class_weight: Mapping[object, float] | str | None = None,
        positive: bool = False,
        groups: object = None,
        fit_intercept: bool = True,
        random_state: object = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.effort = effort
        self.class_weight = class_weight
        self.positive = positive
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """X : (rows, features) array, sparse matrix or data frame; y : a label for each row; sample_weight : for each
        row, 0 to leave it out."""
        return self._fit(X, y, sample_weight, self._settle)

    def _settle(self, data: Data, words: Words) -> Solution:
        return answer(data, words, self.k, self.ridge)


class SparseClassifierCV(Comparing, Classifier):
    """Logistic regression with the number of features and the ridge that predict rows left out best.

    Parameters
    ----------
    ks, ridges, cv, rule : as for SparseRegressorCV
    effort, class_weight, positive, groups, fit_intercept, random_state : as for SparseClassifier

    Attributes
    ----------
    path_, scores_ : as for SparseRegressorCV
    classes_, coef_, intercept_, solution_, ... : as for SparseClassifier, of the best one
    """

    def __init__(
        self,
        ks: Iterable[int] | None = None,
        ridges: object = None,
        cv: object = 5,
        rule: str = "best",
        *,
        effort: str = "normal",
        class_weight: Mapping[object, float] | str | None = None,
        positive: bool = False,
        groups: object = None,
        fit_intercept: bool = True,
        random_state: object = None,
    ) -> None:
        self.ks = ks
        self.ridges = ridges
        self.cv = cv
        self.rule = rule
        self.effort = effort
        self.class_weight = class_weight
        self.positive = positive
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: object, y: object, sample_weight: object = None, **params: object) -> Self:
        """As for SparseClassifier; what else is given goes to the splitter, where metadata routing is enabled."""
        split = self._splitting(params, X, y)
        return self._fit(X, y, sample_weight, lambda data, words: self._settle(data, words, split))


def plain(labels: Array) -> Array:
    """Numbers and truth values that are kept as objects, as an array of numbers; other labels as they are."""
    numbers = labels.dtype.kind == "O" and {type(label) for label in labels.tolist()} <= {bool, int, float}
    return np.array(labels.tolist()) if numbers else labels


def coded(labels: Array) -> tuple[IntArray, Array]:
    """The class of each row, by its number, and the classes; refused where one is missing, or there is only one."""
    if labels.dtype.kind in "fc":
        check_classification_targets(labels)  # numbers that are no labels
    if (labels == labels[0]).all():
        raise ValueError(f"y must hold labels of two classes or more; got one class, {labels.tolist()[0]!r}")
    with _checks.told_of("b", "y"):
        return read(labels, Multinomial())


def weighed(weights: FloatArray, labels: Array, class_weight: Mapping[object, float] | str | None) -> FloatArray:
    """Weights of rows times those of their classes; balanced ones make the sums of all classes equal."""
    if class_weight is None:
        return weights
    if not isinstance(class_weight, str):
        codes, kinds = coded(labels)
        return np.asarray(weights * compute_class_weight(dict(class_weight), classes=kinds, y=labels)[codes])
    if class_weight != "balanced":
        raise ValueError(f"class_weight must be a mapping from class to weight, or 'balanced'; got {class_weight!r}")
    sums = np.bincount(codes := coded(labels)[0], weights)
    shares = sums.sum() / (np.count_nonzero(sums) * np.where(sums > 0, sums, 1.0))
    return np.asarray(weights * shares[codes])
