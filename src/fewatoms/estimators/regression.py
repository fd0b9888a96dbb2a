"""Numbers from few features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from sklearn.base import RegressorMixin

from fewatoms import _checks
from fewatoms._types import FloatArray
from fewatoms.doors import Words
from fewatoms.estimators.base import Data, FewFeatures, answer, checked, weights_of
from fewatoms.estimators.folds import Comparing
from fewatoms.estimators.hearing import with_callbacks
from fewatoms.losses import Huber, LeastSquares, Loss
from fewatoms.losses.huber import usual_delta
from fewatoms.solution import Solution


class Regressor(RegressorMixin, FewFeatures):
    """What both regressors share."""

    loss: str
    delta: float | None

    def _fit(self, X: object, y: object, sample_weight: object, settle: Callable[[Data, Words], Solution]) -> Self:
        values, target = checked(self, X, y, numeric=True)
        data = Data.of(values, target, weights_of(sample_weight, target.size), X)
        return self._fitted(data, lambda words: self._loss(data, words, settle), lambda w: settle(data, w), X, y)

    def _keep(self, solution: Solution) -> None:
        self.coef_, self.intercept_ = solution.x.copy(), solution.intercept

    def _loss(self, data: Data, words: Words, settle: Callable[[Data, Words], Solution]) -> Loss:
        """As said; where deltas are left to us, in scales of the residual of a first fit by least squares."""
        if self.loss == "squared":
            if self.delta is not None:
                raise ValueError(f"delta must be None unless loss is 'huber'; got {_checks.came(self.delta)}")
            return LeastSquares(data.weights)
        if self.loss != "huber":
            raise ValueError(f"loss must be 'squared' or 'huber'; got {self.loss!r}")
        if self.delta is not None:
            return Huber(self.delta, data.weights)
        first = settle(data, Words(**{**words, "loss": LeastSquares(data.weights)}))
        return Huber(usual_delta(data.y - first.predict(data.M), data.weights), data.weights)

    def predict(self, X: object) -> FloatArray:
        """X : (rows, features) array, sparse matrix or data frame. Returns a number for each row."""
        return self._linear(X)


class SparseRegressor(Regressor):
    """Least squares, or Huber's loss, with at most k features.

    Parameters
    ----------
    k : int, optional
        Features (groups) at most. Where neither k nor misfit is given, the k from 1 to 40 that predicts rows left out
        best is taken.
    misfit : float, optional
        Bound on |y - prediction| / |y|: with k, the first answer that meets both; alone, as few features as were found.
    effort : "quick", "normal" or "thorough"
    ridge : float or "auto"
        What coefficients pay, as for `fewatoms.fit`; "auto" takes what predicts rows left out best.
    loss : "squared" or "huber"
    delta : float, optional
        Where Huber's loss turns linear, for loss="huber" alone; without one, 1.35 robust scales of the residual of a
        first least-squares fit.
    positive : bool
        Coefficients are not negative.
    groups : labels of all features, or a mapping or list of groups of their names or numbers, optional
        Whole groups enter or stay out, and k counts them; features in none of a list are groups of their own.
    fit_intercept : bool
    random_state : None, int, RandomState or Generator
        None is a fixed seed.

    Attributes
    ----------
    coef_, intercept_ : predictions are X @ coef_ + intercept_
    solution_ : the Solution of `fewatoms.fit`; `solution_.certificate` says what is proven. It keeps X until pickled
    k_, ridge_ : as given, or as chosen
    selected_ : numbers of the features with coefficients, in increasing order
    n_iter_ : dual vectors used
    n_features_in_, feature_names_in_ : of X
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        misfit: float | None = None,
        effort: str = "normal",
        ridge: float | str = 0.0,
        loss: str = "squared",
        delta: float | None = None,
        positive: bool = False,
        groups: object = None,
        fit_intercept: bool = True,
        random_state: object = None,
    ) -> None:
        self.k = k
        self.misfit = misfit
        self.effort = effort
        self.ridge = ridge
        self.loss = loss
        self.delta = delta
        self.positive = positive
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """X : (rows, features) array, sparse matrix or data frame; y : a number for each row; sample_weight : for each
        row, 0 to leave it out."""
        return self._fit(X, y, sample_weight, self._settle)

    def _settle(self, data: Data, words: Words) -> Solution:
        return answer(data, words, self.k, self.ridge, self.misfit)


class SparseRegressorCV(Comparing, Regressor):
    """Least squares, or Huber's loss, with the number of features and the ridge that predict rows left out best.

    Parameters
    ----------
    ks : iterable of int, optional
        Numbers of features (groups) to compare; 1 to 40, or to what features and rows allow.
    ridges : float or list of floats, optional
        Ridges to compare; the grid of `fewatoms.fit_path(ridge="auto")`.
    cv : int, splitter of scikit-learn, or iterable of (rows fitted to, rows left out)
        A number of folds is drawn as `fewatoms.choose_k` does, three times anew where ridges are compared.
    rule : "best" or "1se"
        "1se" takes the fewest features within one standard error of the best score.
    effort, loss, delta, positive, groups, fit_intercept, random_state : as for SparseRegressor

    Attributes
    ----------
    path_ : the Path with the answers for all ks and ridges
    scores_ : (ridges, ks) array, the loss on rows left out, summed; lower is better
    coef_, intercept_, solution_, k_, ridge_, selected_, n_iter_, ... : as for SparseRegressor, of the best one
    """

    def __init__(
        self,
        ks: Iterable[int] | None = None,
        ridges: object = None,
        cv: object = 5,
        rule: str = "best",
        *,
        effort: str = "normal",
        loss: str = "squared",
        delta: float | None = None,
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
        self.loss = loss
        self.delta = delta
        self.positive = positive
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: object, y: object, sample_weight: object = None, **params: object) -> Self:
        """As for SparseRegressor; what else is given goes to the splitter, where metadata routing is enabled."""
        split = self._splitting(params, X, y)
        return self._fit(X, y, sample_weight, lambda data, words: self._settle(data, words, split))
