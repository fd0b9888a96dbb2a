"""What estimators share with scikit-learn: callbacks, routing, and what is said where it is missing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.tables import rows
from fewatoms.estimators import SparseClassifier, SparseRegressor, SparseRegressorCV

X, Y = rows()


# Without scikit-learn -------------------------------------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import fewatoms
try:
    import fewatoms.estimators
except ImportError as error:
    print(error)
"""


def test_without_scikit_learn_one_line_says_what_to_install():
    told = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True).stdout
    assert told == "fewatoms.estimators needs scikit-learn 1.6 or newer: pip install 'fewatoms[sklearn]'\n"


# Routing --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routed")
def test_weights_are_routed():
    weights = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    model = SparseRegressor(2).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipe.fit(X, Y, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    plain = SparseRegressor(2).fit(scaled, Y, sample_weight=weights)
    np.testing.assert_array_equal(pipe[-1].coef_, plain.coef_)
    found = cross_validate(model, X, Y, params={"sample_weight": weights}, cv=2, return_estimator=True)
    first = SparseRegressor(2).fit(X[30:], Y[30:], sample_weight=weights[30:])
    np.testing.assert_array_equal(found["estimator"][0].coef_, first.coef_)


@pytest.mark.usefixtures("routed")
def test_groups_are_routed_to_the_splitter():
    own = np.repeat(np.arange(6), 10)
    model = SparseRegressorCV([1, 2], 0.0, cv=GroupKFold(3)).fit(X, Y, groups=own)
    splits = [*GroupKFold(3).split(X, Y, own)]
    np.testing.assert_array_equal(model.scores_, SparseRegressorCV([1, 2], 0.0, cv=splits).fit(X, Y).scores_)
    folded = make_pipeline(StandardScaler(), SparseRegressorCV([1, 2], 0.0, cv=GroupKFold(3))).fit(X, Y, groups=own)
    assert folded[-1].k_ == 2


# Callbacks of scikit-learn 1.9 ----------------------------------------------------------------------------------------

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


class Listener:
    """Counts tasks, and asks for an end after some of them."""

    def __init__(self, after=None):
        self.after, self.calls, self.ended, self.heard = after, 0, False, []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.calls += 1

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        if context.parent is None:
            self.ended = fitted_estimator.predict(X).shape == y.shape
        return self.after is not None and self.calls > self.after


@pytest.mark.parametrize(
    "model", [SparseRegressor(2), SparseRegressorCV([1, 2], 0.0), SparseClassifier(2, 0.1)], ids=repr
)
def test_callbacks_hear_of_the_work_and_change_nothing(model):
    labels = (Y > 5).astype(int)
    quiet = sklearn.clone(model).fit(X, labels)
    listener = Listener()
    heard = sklearn.clone(model).set_callbacks(listener).fit(X, labels)
    assert listener.heard == ["setup", "teardown"]
    assert listener.calls >= 2
    assert listener.ended
    np.testing.assert_array_equal(heard.coef_, quiet.coef_)


def test_a_callback_may_end_the_work():
    listener = Listener(after=1)
    stopped = SparseRegressorCV([1, 2, 3], [0.0, 0.1]).set_callbacks(listener).fit(X, Y)
    assert listener.calls == 2
    assert stopped.predict(X).shape == (60,)


def test_callbacks_are_torn_down_after_an_error():
    listener = Listener()
    with pytest.raises(ValueError, match="loss must be"):
        SparseRegressor(2, loss="l1").set_callbacks(listener).fit(X, Y)
    assert listener.heard == ["setup", "teardown"]


def test_bars_of_scikit_learn_hear():
    pytest.importorskip("rich")
    heard = SparseRegressor(2).set_callbacks(callback.ProgressBar()).fit(X, Y)
    np.testing.assert_array_equal(heard.coef_, SparseRegressor(2).fit(X, Y).coef_)
