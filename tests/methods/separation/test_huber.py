"""Low rank plus sparse with Huber's loss: what it says adds up, and no other method does better."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods import General
from fewatoms.methods.separation.matrix import Separated
from methods.separation.mixed import mix


def recomputed(m, s, loss):
    return loss.value(m.left(s.x)[m.seen])


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("k", [(2, 30), (2, None), (None, 30), (None, None)], ids=str)
def test_what_is_said_adds_up(k, share, weighted):
    m = mix(0, 40, 30, 2, 30, noise=0.1, share=share)
    w = np.random.default_rng(1).uniform(0.5, 2.0, m.b.size) if weighted else None
    loss = fa.Huber(0.15, w)
    s, L, S = m.fit(k, loss=loss)
    assert L.cardinality == 2
    assert s.loss == pytest.approx(recomputed(m, s, loss), rel=1e-9)
    assert (S.x[m.sparse != 0] != 0).mean() >= 0.97
    np.testing.assert_allclose(L.x, m.low, atol=0.6)


def test_no_worse_than_the_general_method():
    m = mix(1, 14, 10, 1, 6, noise=0.2)
    loss = fa.Huber(0.2)
    s, _, _ = m.fit(m.k, loss=loss)
    general, _, _ = m.fit(m.k, loss=loss, method=General(), max_iterations=40)
    assert s.loss <= general.loss * (1 + 1e-3)
    # A minimum over L: no direction of small rank lowers the loss.
    L = s.parts[0]
    y = loss.gradient(m.left(s.x)[m.seen]).reshape(m.shape)
    inside = np.abs(y.T @ L.left).max() + np.abs(y @ L.right).max()
    assert inside <= 0.02 * np.abs(y).max() * (np.abs(L.left).sum() + np.abs(L.right).sum())


def test_a_bound_is_met():
    m = mix(2, 30, 20, 2, 20, noise=0.1)
    s, _, _ = m.fit((2, None), loss=fa.Huber(0.1), alpha=2.0)
    assert s.success
    assert recomputed(m, s, fa.Huber(0.1)) <= 2.0 * (1 + 1e-9)


def test_squares_of_what_is_priced_are_twice_the_loss():
    rng = np.random.default_rng(0)
    for weights in (None, rng.uniform(0.2, 3.0, 60)):
        data = Separated(rng.standard_normal(60), (10, 6), None, weights, 0.4)
        R = data.left(np.zeros((10, 1)), np.zeros((6, 1)))
        b = data.as_data(R)
        loss = fa.Huber(0.4, weights)
        assert 0.5 * data.unit * float(np.sum(data.priced(R) ** 2)) == pytest.approx(loss.value(b))
        np.testing.assert_allclose(data.unit * data.pulled(R.copy()).ravel(), loss.gradient(b))
