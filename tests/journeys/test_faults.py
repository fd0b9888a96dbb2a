"""Operators that fail in the middle of a run: what they raise passes through, what they return is refused by its name
or, where nothing was noticed, the answer holds what it says. The next fit is as if nothing had been."""

import warnings

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger

N, P, Q = 24, 6, 5


class Broken(Exception):
    """What an operator of somebody's own may raise."""


class Faulty:
    """A matrix that can only be multiplied by, and at its call `at`, of either kind, does something else."""

    def __init__(self, A, fault, at):
        self.A, self.fault, self.at, self.calls, self.failed = A, fault, at, 0, False
        self.shape = A.shape

    def _told(self, result):
        self.calls += 1
        if self.calls != self.at:
            return result
        self.failed = True
        return FAULTS[self.fault](result)

    def apply(self, x):
        return self._told(self.A @ np.ravel(x))

    def adjoint(self, y):
        return self._told(self.A.T @ y)


def breaks(result):
    raise Broken("the machine is on fire")


def spoiled(result, value):
    found = result.copy()
    found[len(found) // 2] = value
    return found


FAULTS = {
    "raises": breaks,
    "nan": lambda result: spoiled(result, np.nan),
    "infinite": lambda result: spoiled(result, np.inf),
    "shorter": lambda result: result[:-1],
    "longer": lambda result: np.append(result, 0.0),
    "matrix": lambda result: np.outer(result, result),
    "words": lambda result: result.astype(str),
    "objects": lambda result: np.array([None] * len(result)),
    "complex": lambda result: result + 1j,
    "nothing": lambda result: None,
    "a number": lambda result: 0.5,
    "single": lambda result: result.astype(np.float32),
    "read-only": lambda result: np.lib.stride_tricks.as_strided(result, writeable=False),
    "backwards": lambda result: result[::-1].copy()[::-1],
}
SOUND = {"read-only", "backwards", "single"}

rng = np.random.default_rng(5)
VECTORS = rng.standard_normal((16, N))
MATRICES = rng.standard_normal((26, P * Q))
DATA = VECTORS[:, 3] - 2 * VECTORS[:, 9] + 0.1 * rng.standard_normal(16)
PAIRS = MATRICES @ np.outer(np.arange(P), np.ones(Q)).ravel() + 0.1 * rng.standard_normal(26)
LABELS = np.where(DATA > 0, 1.0, -1.0)
GRADIENTS = fa.General(fa.oracles.ProximalGradient())
FAMILIES = {
    "listed": (VECTORS, DATA, {"atoms": fa.SignedOneHot(N), "k": 2}),
    "listed, bound": (VECTORS, DATA, {"atoms": fa.SignedOneHot(N), "misfit": 0.3}),
    "nonnegative, Huber": (VECTORS, DATA, {"atoms": fa.NonnegativeOneHot(N), "k": 2, "loss": fa.Huber(1.0)}),
    "logistic": (VECTORS, LABELS, {"atoms": fa.SignedOneHot(N), "k": 2, "loss": fa.Logistic(), "ridge": 0.1}),
    "groups": (VECTORS, DATA, {"atoms": fa.Groups(np.arange(N) // 3), "k": 2}),
    "rank one": (MATRICES, PAIRS, {"atoms": fa.RankOne(P, Q), "k": 1}),
    "sum": (VECTORS, DATA, {"atoms": fa.SignedOneHot(N) + fa.Groups(np.arange(N) // 3), "k": (1, 1)}),
    "general": (VECTORS, DATA, {"atoms": fa.SignedOneHot(N), "k": 2, "method": GRADIENTS}),
}  # fmt: skip


def asked(A, b, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return fa.fit(A, b, max_iterations=60, **words)


def tried(A, b, words):
    """The answer, or what was raised."""
    try:
        return asked(A, b, words), None
    except (Broken, ValueError, TypeError) as error:
        return None, error


def honest(s, A, b, words, rel):
    """Recomputed from what the reader has."""
    x = np.ravel(s.x)
    assert np.isfinite(x).all()
    assert np.isfinite(s.loss)
    loss = words.get("loss", fa.LeastSquares())
    if not isinstance(loss, fa.Logistic):
        assert s.loss == pytest.approx(loss.value(b - A @ x), rel=rel, abs=rel * loss.value(b))
    if s.success and "misfit" in words:
        assert np.linalg.norm(b - A @ x) <= words["misfit"] * np.linalg.norm(b) * (1 + rel)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("at", [1, 2, 5, 17, 40])
def test_what_an_operator_does_wrong_is_named(family, fault, at):
    A, b, words = FAMILIES[family]
    M = Faulty(A, fault, at)
    s, error = tried(M, b, words)
    if error is None:
        assert fault in SOUND or not M.failed
        honest(s, A, b, words, 1e-4 if fault == "single" else 1e-6)
    else:
        assert M.failed
        assert fault not in SOUND
        assert isinstance(error, Broken) == (fault == "raises")
        assert fault == "raises" or "M." in str(error)
        assert "\n" not in str(error)
    assert ledger.current() is not None
    again, plain = asked(Faulty(A, fault, 0), b, words), asked(Faulty(A, fault, 0), b, words)
    np.testing.assert_array_equal(again.x, plain.x)
    assert again.products == plain.products
