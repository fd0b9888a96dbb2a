"""One small answer of every kind, by name: what the tests of values, files, clocks and tallies run over."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms.faces import Cone, Explicit
from fewatoms.methods.exposed import Exposed


class Corners(fa.AtomicSet):
    """A set of one's own with the contract alone: the vectors of entries +1 and -1."""

    centrosymmetric = attained = True

    def __init__(self, n):
        self.shape = (n,)

    @property
    def count(self):
        return self.shape[0]

    def support(self, z):
        return float(np.abs(z).sum())

    def expose(self, z, k):
        atoms = [np.where(np.asarray(z).ravel() < 0, -1.0, 1.0)] if k else []
        return Explicit.of(atoms, self.shape, cone=Cone.FREE)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem: M, b and the words of `fit`; `again` are those that attach has to be told once more."""

    M: object
    b: np.ndarray
    words: dict
    again: tuple = ()

    def fit(self, M=None, **more):
        return fa.fit(self.M if M is None else M, self.b, **{**self.words, **more})

    def attach(self, answer, M=None, b=None):
        words = {name: self.words[name] for name in self.again}
        return answer.attach(self.M if M is None else M, self.b if b is None else b, **words)


def _vector(m=30, n=20, k=3, seed=0, signed=True):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n)) * np.linspace(0.5, 2.0, n)
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.uniform(1, 2, k) * (rng.choice([-1.0, 1.0], k) if signed else 1.0)
    return M, M @ x + 0.05 * rng.standard_normal(m), rng


def _entries(p=12, q=10, rank=2, seed=0, share=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((q, rank)).T
    i, j = np.nonzero(rng.random((p, q)) < share)
    return fa.Sampling(i, j, (p, q)), X[i, j] + 0.05 * rng.standard_normal(i.size)


def _groups(labels):
    M, b, _ = _vector()
    return Case(M, b, {"atoms": fa.Groups(labels), "k": 2}, ("atoms",))


def _objects():
    labels = np.empty(20, dtype=object)
    labels[:] = [("a", i // 4) for i in range(20)]
    return labels


def _quadratic(complex_):
    rng = np.random.default_rng(3)
    n, m = 5, 40
    A = rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if complex_ else 0.0)
    v = rng.standard_normal(n) + (1j * rng.standard_normal(n) if complex_ else 0.0)
    return Case(fa.Quadratic(A), np.abs(A @ v) ** 2, {"atoms": fa.PSDRankOne(n), "k": 1, "misfit": 1e-6})


def _mixture():
    rng = np.random.default_rng(4)
    L = rng.standard_normal((10, 1)) @ rng.standard_normal((1, 8))
    S = np.zeros((10, 8))
    S.flat[rng.choice(80, 5, replace=False)] = 5.0
    return L + S + 0.01 * rng.standard_normal((10, 8))


def _demixed():
    rng = np.random.default_rng(5)
    D = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    b = 3.0 * np.eye(24)[5] - 2.0 * np.eye(24)[11] + 4.0 * D[:, 3] + 0.01 * rng.standard_normal(24)
    return D, b


def _labelled():
    M, _, rng = _vector()
    t = np.where(M[:, 2] + 0.3 * rng.standard_normal(30) > 0, 1.0, -1.0)
    return M * t[:, None], t


def _cases():
    M, b, rng = _vector()
    P, bp, _ = _vector(signed=False)
    entries, values = _entries()
    D = rng.standard_normal((20, 40))
    B = M @ np.diag(np.arange(20) % 7 == 3) @ rng.standard_normal((20, 3)) + 0.1 * rng.standard_normal((30, 3))
    weights = rng.uniform(0.5, 2.0, 30)
    basis, mixed = _demixed()
    labelled, t = _labelled()
    noisy = M[:, 2] + rng.standard_normal(30)
    said, more = np.where(noisy > 0, "yes", "no"), np.digitize(noisy, [-0.7, 0.7])
    both = np.column_stack([noisy > 0.3, more == 1])
    one, sum_, union = fa.SignedOneHot(20), fa.RankOne(10, 8), fa.SignedOneHot((10, 8))
    return {
        "signed": Case(M, b, {"atoms": one, "k": 3}),
        "bound": Case(M, b, {"atoms": one, "k": 4, "misfit": 0.05}),
        "fewest": Case(M, b, {"atoms": one, "misfit": 0.05}),
        "unreachable": Case(M, b, {"atoms": one, "k": 3, "alpha": 0.0}),
        "nothing": Case(M, np.zeros(30), {"atoms": one, "k": 3}),
        "sparse": Case(sp.csc_array(M), b, {"atoms": one, "k": 3}),
        "box": Case(aslinearoperator(M), b, {"atoms": one, "k": 3}),
        "box, free": Case(aslinearoperator(M), b, {"atoms": one, "k": 3, "free": "intercept"}),
        "nonnegative": Case(P, bp, {"atoms": fa.NonnegativeOneHot(20), "k": 3}),
        "cone": Case(np.abs(P), bp, {"atoms": fa.NonnegativeCone(20), "k": 3}),
        "groups, numbers": _groups(np.arange(20) // 4),
        "groups, strings": _groups([f"g{i // 4}" for i in range(20)]),
        "groups, tuples": _groups(_objects()),
        "groups of many sizes": _groups(np.minimum(np.arange(20) // 3, 4)),
        "dictionary": Case(M, b, {"atoms": fa.Dictionary(D, symmetric=True), "k": 3}, ("atoms",)),
        "mapped": Case(M, b, {"atoms": fa.Mapped(np.tril(np.ones((20, 20))), fa.SignedOneHot(20)), "k": 3}, ("atoms",)),
        "restricted": Case(M, b, {"atoms": one.restricted(include=[1], exclude=[2]), "k": 3}, ("atoms",)),
        "multiple": Case(M, b, {"atoms": 2.5 * one, "k": 3}),
        "weights": Case(M, b, {"atoms": one, "k": 3, "loss": fa.LeastSquares(weights)}, ("loss",)),
        "columns": Case(M, b, {"atoms": one, "k": 3, "free": rng.standard_normal((30, 2))}, ("free",)),
        "huber": Case(M, b, {"atoms": one, "k": 3, "loss": fa.Huber(0.1), "free": "intercept"}),
        "logistic": Case(
            labelled, np.zeros(30), {"atoms": one, "k": 2, "loss": fa.Logistic(), "free": t, "alpha": 5.0}, ("free",)
        ),
        "labels": Case(M, said, {"atoms": one, "k": 2, "loss": fa.Logistic(), "free": "intercept"}),
        "labels, joint": Case(M, both, {"atoms": fa.Joint(one), "k": 2, "loss": fa.Logistic(), "alpha": 30.0}),
        "classes": Case(M, more, {"atoms": one, "k": 2, "loss": fa.Multinomial(), "free": "intercept"}),
        "cap": Case(M, b, {"atoms": one, "k": 3, "cap": 1.0}),
        "ridge": Case(M, b, {"atoms": 2.0 * one, "k": 3, "ridge": 0.3, "free": "intercept"}),
        "ridge, bound": Case(M, b, {"atoms": one, "k": 4, "ridge": 0.1, "misfit": 0.4}),
        "ridge, groups": Case(M, b, {"atoms": fa.Groups(np.arange(20) // 4), "k": 2, "ridge": 0.3}, ("atoms",)),
        "ridge, huber": Case(M, b, {"atoms": one, "k": 3, "loss": fa.Huber(0.1), "free": "intercept", "ridge": 0.2}),
        "joint": Case(M, B, {"atoms": fa.Joint(one), "k": 3, "free": "intercept"}),
        "completion": Case(entries, values, {"atoms": fa.RankOne(12, 10), "k": 2}),
        "completion, ridge": Case(entries, values, {"atoms": fa.RankOne(12, 10), "k": 2, "ridge": 0.5}),
        "completion, auto": Case(entries, values, {"atoms": fa.RankOne(12, 10), "k": 2, "ridge": "auto"}),
        "completion, bound": Case(entries, values, {"atoms": fa.RankOne(12, 10), "k": 2, "misfit": 0.2}),
        "biases": Case(entries, values + 3.0, {"atoms": fa.RankOne(12, 10), "k": 1, "free": "biases"}),
        "nonnegative factors": Case(
            entries, np.abs(values), {"atoms": fa.RankOne(12, 10, nonnegative=True), "k": 2, "ridge": 0.1}
        ),
        "low rank": Case(rng.standard_normal((90, 120)), None, {"atoms": fa.RankOne(12, 10), "k": 2}),
        "blocks": Case(entries, values, {"atoms": fa.BlockRankOne((12, 10), (5, 4)), "k": 4}),
        "two scales": Case(
            fa.Identity((10, 8)), _mixture(), {"atoms": sum_ + fa.BlockRankOne((10, 8), (4, 4)), "k": (1, 3)}
        ),
        "robust": Case(fa.Identity((10, 8)), _mixture(), {"atoms": sum_ + union, "k": (1, 5)}),
        "pursuit": Case(fa.Identity((10, 8)), _mixture(), {"atoms": sum_ | union, "misfit": 0.05}),
        "demixing": Case(
            fa.Identity(24),
            mixed,
            {"atoms": fa.SignedOneHot(24) + fa.Dictionary(basis, symmetric=True), "k": (2, 1)},
            ("atoms",),
        ),
        "psd": _quadratic(False),
        "psd, complex": _quadratic(True),
        "own set": Case(
            M[:, :8], b, {"atoms": Corners(8), "k": 2, "method": Exposed(), "max_iterations": 3}, ("atoms",)
        ),
    }


@cache
def cases():
    found = _cases()
    measured = found["low rank"].M
    X = np.outer(np.arange(12.0) - 5, np.ones(10)) / 6
    found["low rank"] = Case(measured, measured @ X.ravel(), found["low rank"].words)
    return found


NAMES = tuple(_cases())


@cache
def answer(name):
    """The answer of a case, made once."""
    return cases()[name].fit()


# Comparing -----------------------------------------------------------------------------------------------------------

MAPPED = {"dictionary", "mapped", "demixing"}  # x = B w, whose sum is taken in another order


def assert_same_arrays(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert (a.shape, a.dtype.kind) == (b.shape, b.dtype.kind)
    if a.dtype.kind == "O":
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    else:
        np.testing.assert_array_equal(a, b)


def assert_same_point(s, t, exact=True):
    """Two points, or parts of them, read alike."""
    for name in ("indices", "coefficients", "left", "right"):
        try:
            expected = getattr(t, name)
        except AttributeError:
            with pytest.raises(AttributeError):
                getattr(s, name)
            continue
        assert_same_arrays(getattr(s, name), expected)
    assert (s.cardinality, s.gauge) == (t.cardinality, t.gauge)
    if exact:
        assert_same_arrays(s.x, t.x)
    else:
        np.testing.assert_allclose(s.x, t.x, rtol=0, atol=1e-14 * max(1.0, np.abs(t.x).max()))


def assert_same_answer(s, t, exact=True):
    """Two answers read alike, but for M and b."""
    assert_same_point(s, t, exact)
    assert len(s.parts) == len(t.parts)
    for a, b in zip(s.parts, t.parts, strict=True):
        assert_same_point(a, b, exact)
    for name in ("status", "success", "message", "loss", "objective", "ridge", "iterations", "products", "held_out"):
        assert getattr(s, name) == getattr(t, name), name
    assert s.svd_products == t.svd_products
    assert s.misfit == t.misfit or (np.isnan(s.misfit) and np.isnan(t.misfit))
    assert repr(s) == repr(t)
    assert_same_arrays(s.free_coefficients, t.free_coefficients)
    assert (s.biases is None) == (t.biases is None)
    if s.biases is not None:
        assert s.biases.center == t.biases.center
        assert_same_arrays(s.biases.rows, t.biases.rows)
        assert_same_arrays(s.biases.cols, t.biases.cols)
    for name in ("loss", "gauge", "cardinality", "meets_bound", "within_budget"):
        assert getattr(s.certificate, name) == getattr(t.certificate, name), name
