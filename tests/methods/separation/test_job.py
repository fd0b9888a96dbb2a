"""Whose a problem is, whatever it is wrapped in; callbacks, stops and certificates of low rank plus sparse."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import ledger
from fewatoms.atoms import Union
from fewatoms.methods import METHODS, Demixing, General, Separation
from fewatoms.operators import as_operator
from methods.separation.mixed import assert_adds_up, assert_encloses, mix, of, pursuit

SHAPE = 14, 11
LOW, SPARSE = fa.RankOne(*SHAPE), fa.SignedOneHot(SHAPE)


class Pairs(fa.RankOne):
    """A set of one's own, made of ours."""


def opened(M, b, atoms, k=(1, 1), method=Separation(), **wishes):  # noqa: B008
    problem = fa.Problem.of(M, b, atoms=atoms, k=k, **wishes)
    return method.open(problem, [problem.budget])


# Whose a problem is ---------------------------------------------------------------------------------------------------


def test_rank_one_matrices_and_entries_seen_as_they_are():
    m, half = mix(0, *SHAPE, 1, 5), mix(0, *SHAPE, 1, 5, share=0.6)
    entries = fa.SignedOneHot(154)
    for mine in [
        opened(m.M, m.b, LOW + SPARSE),
        opened(m.M, m.b, SPARSE | -2.0 * LOW),
        opened(m.M, m.b, LOW + entries, k=(1, None)),
        opened(m.M, m.b, Pairs(*SHAPE) | SPARSE, k=None),
        opened(half.M, half.b, LOW + SPARSE, misfit=0.1),
        opened(fa.Counting(half.M), half.b, LOW + SPARSE),
        opened(m.M, m.b, LOW + SPARSE, loss=fa.LeastSquares(np.arange(1.0, 155.0))),
        opened(m.M, m.b, LOW + SPARSE, loss=fa.Huber(1.0)),
    ]:
        assert mine is not None
    assert sum(isinstance(method, Separation) for method in METHODS) == 1


def test_other_problems_are_not():
    m, rng = mix(0, *SHAPE, 1, 5), np.random.default_rng(0)
    few = fa.Sampling(np.arange(7), np.zeros(7, dtype=int), SHAPE)
    for other in [
        opened(rng.standard_normal((154, 154)), m.b, LOW + SPARSE),
        opened(2.0 * np.eye(154), m.b, LOW + SPARSE),
        opened(few, np.ones(7), LOW + SPARSE),
        opened(m.M, m.b, LOW, k=1),
        opened(m.M, m.b, LOW + LOW),
        opened(m.M, m.b, LOW + SPARSE + SPARSE, k=(1, 1, 1)),
        opened(m.M, m.b, LOW + SPARSE.restricted(exclude=[0])),
        opened(m.M, m.b, fa.RankOne(*SHAPE, nonnegative=True) + SPARSE),
        opened(m.M, m.b, LOW + fa.NonnegativeOneHot(SHAPE)),
        opened(m.M, m.b, LOW + fa.Groups(np.arange(154) // 5)),
        opened(m.M, m.b, LOW | SPARSE, k=None, loss=fa.Huber(1.0)),
        opened(m.M, m.b, LOW + SPARSE, free="intercept"),
        opened(m.M, m.b, LOW + SPARSE, ridge=0.1),
        opened(m.M, m.b, LOW + SPARSE, method=Separation(narrow=10)),
    ]:
        assert other is None
    assert opened(few, np.ones(7), LOW + SPARSE, method=Separation(empty=22)) is not None
    for method, atoms, k in ((Separation(), LOW, 1), (Demixing(), LOW, 1)):
        with pytest.raises(ValueError, match=f"method must be one for this problem; {type(method).__name__}"):
            fa.fit(m.M, m.b, atoms=atoms, k=k, method=method)


WAYS = {
    "an array": lambda m: (np.eye(154), LOW, {}),
    "single precision": lambda m: (np.eye(154, dtype=np.float32), LOW, {}),
    "a sparse array": lambda m: (sp.eye_array(154, format="csr"), LOW, {}),
    "integers": lambda m: (sp.eye_array(154, format="coo", dtype=int), LOW, {}),
    "counted": lambda m: (fa.Counting(m.M), LOW, {}),
    "counted array": lambda m: (fa.Counting(np.eye(154)), LOW, {}),
    "all of its rows": lambda m: (as_operator(m.M).subset(np.arange(154)), LOW, {}),
    "entries one by one": lambda m: (fa.Sampling(*np.divmod(np.arange(154), 11), SHAPE), LOW, {}),
    "a subclass": lambda m: (m.M, Pairs(*SHAPE), {}),
    "equal weights": lambda m: (m.M, LOW, {"loss": fa.LeastSquares(np.full(154, 3.0))}),
}


@pytest.mark.parametrize("name", WAYS)
def test_wrappers_do_not_change_the_way(name):
    """The same answer after as many products, and what counts from outside agrees."""
    m = mix(9, *SHAPE, 2, 10, noise=0.05)
    M, low, words = WAYS[name](m)
    for union, wishes in ((False, {"k": (2, 10)}), (False, {"k": (2, None)}), (True, {"misfit": 0.05})):
        plain = fa.fit(m.M, m.X, atoms=LOW | SPARSE if union else LOW + SPARSE, **wishes)
        before = getattr(M, "products", 0)
        s = fa.fit(M, m.X.ravel(), atoms=low | SPARSE if union else low + SPARSE, **wishes, **words)
        np.testing.assert_allclose(s.x, plain.x, atol=1e-9)
        assert s.status is plain.status
        assert s.iterations == plain.iterations
        assert abs(s.products - plain.products) <= 2  # entries one by one are measured once more at the end
        if "counted" in name:
            assert s.products == M.products - before
        unit = 3.0 if name == "equal weights" and not union else 1.0  # of the loss; pursuit's gap is one of gauges
        assert s.certificate.gap == pytest.approx(unit * plain.certificate.gap, rel=1e-3)


@pytest.mark.parametrize("scale", [2.0, -0.5])
def test_multiples_do_not_change_the_way(scale):
    m = mix(9, *SHAPE, 2, 10, noise=0.05)
    plain = fa.fit(m.M, m.X, atoms=LOW + SPARSE, k=(2, 10))
    for atoms in (scale * LOW + SPARSE, LOW + scale * SPARSE, scale * (LOW + SPARSE)):
        s = fa.fit(m.M, m.X, atoms=atoms, k=(2, 10))
        np.testing.assert_allclose(s.x, plain.x, atol=1e-9)
        assert s.products == plain.products


# Weights that differ --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [5.0])
@pytest.mark.parametrize("k", [(2, 12), (2, None), (None, 12)], ids=str)
def test_weights_say_how_much_data_count(k, spread):
    """Noise that is weighed as it should be: the parts are found, as well as by the general method or better."""
    rng = np.random.default_rng(1)
    w = np.exp(rng.uniform(-math.log(spread), math.log(spread), (24, 18)))
    m = mix(3, 24, 18, 2, 12, size=(6.0, 12.0))
    X = m.X + 0.05 * rng.standard_normal(m.shape) / np.sqrt(w)
    loss = fa.LeastSquares(w.ravel())
    s, L, S = of(X).fit(k, loss=loss)
    assert s.loss == pytest.approx(loss.value((X - s.x).ravel()), rel=1e-9)
    np.testing.assert_allclose(L.x, m.low, atol=0.25)
    assert (S.x[m.sparse != 0] != 0).all()
    assert S.cardinality <= 12 if k[1] else 12 <= S.cardinality <= 18
    if None not in k:
        assert s.loss <= fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(24, 18) + fa.SignedOneHot((24, 18)), k=k,
                                loss=loss, method=General()).loss * (1 + 1e-3)  # fmt: skip


def test_data_that_hardly_count_are_not_explained():
    m = mix(4, 20, 16, 1, 8)
    X, w = m.X.copy(), np.ones(m.shape)
    X[3, 5], w[3, 5] = 1e3, 1e-12
    s, L, S = of(X).fit((1, 8), loss=fa.LeastSquares(w.ravel()))
    np.testing.assert_allclose(L.x, m.low, atol=1e-4)
    np.testing.assert_array_equal(S.x != 0, m.sparse != 0)
    assert s.misfit < 1e-3


def test_pursuit_refuses_weights_that_differ():
    m = mix(9, *SHAPE, 2, 10)
    loss = fa.LeastSquares(np.arange(1.0, 155.0))
    with pytest.raises(ValueError, match=r"k must give one budget .* where data have weights.*equal weight; got None"):
        m.fit(kind=Union, loss=loss)
    assert m.fit((2, 10), kind=Union, loss=loss)[0].misfit < 1e-6


# Callbacks, stops, certificates ---------------------------------------------------------------------------------------

RUNS = {
    "pursuit": {"kind": Union, "misfit": 0.05},
    "budgets": {"k": (2, 10)},
    "budgets and a bound": {"k": (2, 10), "misfit": 1e-3},
    "entries open": {"k": (2, None)},
    "entries open, bound": {"k": (2, None), "misfit": 0.05},
    "rank open": {"k": (None, 10)},
    "nothing said": {},
    "peeling": {"k": (2, 10), "method": Demixing()},
}


@pytest.mark.parametrize("name", RUNS)
def test_callbacks_see_gaps_and_change_nothing(name, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", math.inf)  # iterates alone
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    seen = []

    def look(progress):
        seen.append((progress.iteration, progress.gap, progress.loss, progress.cardinality, progress.misfit))

    blind, s = m.fit(**RUNS[name])[0], m.fit(callback=look, **RUNS[name])[0]
    np.testing.assert_array_equal(s.x, blind.x)
    assert s.products == blind.products
    assert [row[0] for row in seen] == list(range(1, s.iterations + 1))
    assert all(gap >= -1e-9 for _, gap, *_ in seen)
    assert math.isfinite(seen[-1][1]) or not s.success
    assert seen[-1][2] == pytest.approx(s.loss, rel=1e-6, abs=1e-20)
    if name == "pursuit":
        assert s.certificate.gap <= seen[-1][1] * (1 + 1e-9)
        gaps = [row[1] for row in seen[:-1]]  # the last point stands alone
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("stop", [1, 2])
@pytest.mark.parametrize("name", RUNS)
def test_runs_may_be_stopped_after_any_iterate(name, stop, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", math.inf)
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    whole = m.fit(**RUNS[name])[0].iterations

    def callback(progress):
        if progress.iteration == stop:
            raise StopIteration

    (s, L, S), (limited, *_) = m.fit(callback=callback, **RUNS[name]), m.fit(max_iterations=stop, **RUNS[name])
    assert s.iterations == limited.iterations == min(stop, whole)
    if stop <= whole:
        assert s.status is fa.Status.STOPPED
    assert limited.status is fa.Status.ITERATION_LIMIT or stop >= whole
    assert_adds_up(m, s, L, S, RUNS[name].get("k") or (None, None))
    np.testing.assert_array_equal(s.x, limited.x)
    if name == "pursuit":
        assert_encloses(s.certificate, pursuit(m, math.sqrt(14), 0.05 * np.linalg.norm(m.b)))


def looked_at(m, name, stop=math.inf):
    """The answer of a run that is stopped at a tick, and what its callback saw."""
    seen = []

    def callback(progress):
        seen.append((progress.iteration, progress.products, progress.stage))
        if len(seen) > stop:
            raise StopIteration

    return m.fit(callback=callback, **RUNS[name]), seen


@pytest.mark.parametrize("name", [name for name in RUNS if name != "peeling"])
def test_every_pass_ticks_and_a_stop_there_answers(name, monkeypatch):
    """In every stage: in the ladder, in descents, while starts are compared, between looks at the gap."""
    monkeypatch.setattr(ledger, "EVERY", 0)
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    (whole, *_), seen = looked_at(m, name)
    products = [0, *(row[1] for row in seen)]
    assert max(later - sooner for sooner, later in pairwise(products)) <= 16  # a pass over all columns of L
    assert len(seen) > 2 * whole.iterations
    misfits = []
    for stop in sorted({0, 1, 2, 5, *(round(share * (len(seen) - 2)) for share in (0.1, 0.4, 0.8, 1.0))}):
        (s, L, S), _ = looked_at(m, name, stop)
        assert s.status is fa.Status.STOPPED
        assert s.products <= whole.products
        assert_adds_up(m, s, L, S, RUNS[name].get("k") or (None, None))
        misfits.append(s.misfit)
    assert max(misfits) < 0.6
    assert misfits[-1] == pytest.approx(whole.misfit, rel=0.02, abs=1e-9)
    if name == "pursuit":
        assert max(misfits) <= 0.05 * (1 + 1e-9)
    if name == "rank open":
        assert [L.cardinality] == [whole.parts[0].cardinality]  # not the rank that was tried last


@pytest.mark.parametrize("name", RUNS)
def test_answers_may_be_pickled(name):
    m = mix(9, 14, 11, 2, 10, noise=0.05)
    s = m.fit(**RUNS[name])[0]
    attached = pickle.loads(pickle.dumps(s)).attach(m.M, m.X)
    assert attached.certificate.gap >= 0
    assert s.certificate.gap >= 0
    other = pickle.loads(pickle.dumps(s))  # what was computed is kept
    np.testing.assert_array_equal(other.x, s.x)
    assert other.certificate.gap == pytest.approx(s.certificate.gap, rel=1e-9)
    assert str(other.certificate) == str(s.certificate)


@pytest.mark.parametrize("name", ["pursuit", "budgets", "nothing said"])
def test_certificates_of_penalised_and_bounded_problems_hold(name):
    """Whatever relaxation a certificate is about, its optimum lies where it says."""
    m = mix(10, 7, 6, 1, 4, noise=0.2)
    options = {**RUNS[name], **({"k": (1, 4)} if "k" in RUNS[name] else {})}
    s, *_ = m.fit(**options)
    certificate = s.certificate
    L, S = cp.Variable(m.shape), cp.Variable(m.shape)
    fit = 0.5 * cp.sum_squares(m.X - L - S)
    if certificate.relaxation.name == "P3":
        optimum = pursuit(m, math.sqrt(7), 0.05 * np.linalg.norm(m.b))
    else:
        gauge = cp.maximum(cp.normNuc(L), cp.sum(cp.abs(S)))
        optimum = cp.Problem(cp.Minimize(fit + certificate.relaxation.parameter * gauge)).solve(solver=cp.CLARABEL)
    slack = 1e-5 * (optimum + 1e-6)
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack
