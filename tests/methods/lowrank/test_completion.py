"""Which problems Completion opens, wrapped or not, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.effort import QUICK
from fewatoms.methods import Completion
from sampled import (
    plant,
    relaxation,
)

# Bad input ------------------------------------------------------------------------------------------------------------

FEW = plant(0, 5, 4, 1, share=0.8)
ONLY = "for RankOne atoms, sampled entries and least squares without free columns, by the default method; got "


def ask(M=None, b=None, **options):
    return fa.fit(FEW.M if M is None else M, FEW.b if b is None else b, **{"atoms": FEW.atoms, "k": 1, **options})


@pytest.mark.parametrize(
    ("b", "kind", "message"),
    [
        (np.where(np.arange(FEW.b.size) == 3, np.nan, FEW.b), ValueError, r"^b must hold finite numbers .* nan$"),
        (np.where(np.arange(FEW.b.size) == 3, -np.inf, FEW.b), ValueError, r"^b must hold finite numbers .* -inf$"),
        (FEW.b[:-1], ValueError, rf"^b must have {FEW.b.size} entries .*; got shape \({FEW.b.size - 1},\)$"),
        (FEW.truth, ValueError, rf"^b must be a vector of length m = {FEW.b.size}; got shape \(5, 4\)"),
        (1j * FEW.b, TypeError, r"^b must be real; got an array of complex128$"),
        (FEW.b.astype(str), TypeError, r"^b must hold real numbers; got an array of <U"),
        (np.ma.array(FEW.b, mask=FEW.b > 0), ValueError, r"^b must not have masked entries"),
    ],
    ids=["nan", "inf", "short", "matrix", "complex", "text", "masked"],
)
@pytest.mark.parametrize("options", [{}, {"free": "biases"}], ids=["", "biases"])
def test_bad_values(b, kind, message, options):
    with pytest.raises(kind, match=message):
        ask(b=b, **options)


RIDGE = r"^ridge must be a nonnegative number or \"auto\"; got "


BAD_DEMANDS = [
    (
        {"k": 5},
        ValueError,
        r"^k must be an integer between 1 and 4, the number of atoms of RankOne\(5, 4\); got 5$",
    ),
    ({"k": 0}, ValueError, r"^k must be an integer between 1 and 4, .*; got 0$"),
    ({"k": 1.5}, TypeError, r"^k must be an integer between 1 and 4, .*; got 1.5$"),
    *(
        ({"k": None, **beside}, TypeError, r"^k must say how many atoms are allowed.*; got None$")
        for beside in ({}, {"ridge": 0.1}, {"ridge": "auto"}, {"free": "biases"})
    ),
    ({"ridge": -1}, ValueError, RIDGE + "-1$"),
    ({"ridge": np.nan}, ValueError, RIDGE + "nan$"),
    ({"ridge": np.inf}, ValueError, RIDGE + "inf$"),
    (
        {"free": fa.Biases(ridge=1.0), "misfit": 0.1},
        ValueError,
        r"^ridge of the biases must be 0 where there is a bound.*; got 1.0$",
    ),
    ({"ridge": "auto", "misfit": 0.1}, ValueError, r'^ridge must be a number where there is a bound; got "auto"$'),
    ({"ridge": "x"}, ValueError, RIDGE + "'x'$"),
    ({"ridge": (1, 2)}, TypeError, RIDGE + r"\(1, 2\): that of biases is told by free=fa.Biases"),
    ({"ridge": [1]}, TypeError, RIDGE + r"\[1\]"),
    ({"ridge": True}, TypeError, r"^ridge must be .*; got True$"),
    ({"free": "yes"}, ValueError, r'^free must be "intercept", "biases".*; got \'yes\'$'),
    ({"misfit": -0.1}, ValueError, r"^misfit must be a nonnegative finite number; got -0.1$"),
    ({"misfit": 0.1, "alpha": 1.0}, ValueError, r"^alpha and misfit bound the same thing, give one; got"),
    ({"rng": "x", "ridge": "auto"}, (TypeError, ValueError), r"^rng must be None, a seed or a generator"),
    ({"max_iterations": 0, "ridge": "auto"}, ValueError, r"^max_iterations must be an integer of at least 1"),
    ({"loss": fa.LeastSquares(np.ones(3))}, ValueError, r"^weights of the loss must have \d+ entries.*; got 3$"),
    (
        {"loss": fa.LeastSquares(np.ones(3)), "free": "biases"},
        ValueError,
        r"^weights of the loss must have \d+ entries.*; got 3$",
    ),
    (
        {"atoms": fa.RankOne(4, 5)},
        ValueError,
        r"^atoms must have the shape that M takes, \(5, 4\); RankOne\(4, 5\)",
    ),
    ({"atoms": fa.RankOne(3, 3)}, ValueError, r"^atoms must live in the space that M takes, 20 entries"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD_DEMANDS, ids=[str(case[0]) for case in BAD_DEMANDS])
def test_bad_demands(options, kind, message):
    with pytest.raises(kind, match=message):
        ask(**options)
    if "k" not in options:
        with pytest.raises(kind, match=message):
            fa.fit_path(FEW.M, FEW.b, **{"atoms": FEW.atoms, "k": (1, 2), **options})


DENSE = np.random.default_rng(0).standard_normal((8, 20))
WISHES = {
    "biases": ({"free": "biases", "ridge": 1.0}, False, "free: biases are "),
    "ridge": ({"ridge": 1.0}, False, "ridge is "),
    "auto": ({"ridge": "auto"}, False, "ridge is "),
    "nonnegative": ({}, True, "nonnegative is "),
}


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize(
    ("M", "b", "loss", "free"),
    [
        (DENSE, np.ones(8), fa.LeastSquares(), None),
        (fa.Identity((5, 4)), np.ones((5, 4)), fa.LeastSquares(), None),
        (FEW.M, FEW.b, fa.Huber(1.0), None),
        (FEW.M, FEW.b, fa.LeastSquares(), "intercept"),
        (FEW.M, FEW.b, fa.LeastSquares(), np.arange(1.0, FEW.b.size + 1)),
    ],
    ids=["dense", "identity", "huber", "intercept", "free"],
)
def test_what_is_for_sampled_low_rank_matrices_only(name, M, b, loss, free):
    wish, nonnegative, named = WISHES[name]
    if "free" in wish and free is not None:
        return  # only one thing can be free
    if isinstance(M, fa.Identity) and "free" not in wish:  # all entries are some entries
        s = fa.fit(M, b, atoms=fa.RankOne(5, 4, nonnegative=nonnegative), k=1, loss=loss, **wish)
        entries = fa.fit(*fa.Sampling.from_array(b), atoms=fa.RankOne(5, 4, nonnegative=nonnegative), k=1, **wish)
        assert s.objective == pytest.approx(entries.objective, abs=1e-12)
        return
    wish = wish if free is None else {**wish, "free": free}
    alone = r"free: biases are for sampled entries of a matrix and least squares; got "  # said where they are read
    if nonnegative or wish.get("ridge") != "auto":  # a bound does not change that
        with pytest.raises(ValueError, match=f"^({named}{ONLY}RankOne|ridge of the biases|{alone})"):
            fa.fit(M, b, atoms=fa.RankOne(5, 4, nonnegative=nonnegative), alpha=0.1, loss=loss, **wish)
    with pytest.raises(ValueError, match=f"^({named}{ONLY}RankOne|{alone})") as caught:
        fa.fit(M, b, atoms=fa.RankOne(5, 4, nonnegative=nonnegative), k=1, loss=loss, **wish)
    assert "object at 0x" not in str(caught.value)


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize(
    "method",
    [fa.General(fa.LevelSet()), fa.General(retrieval=fa.paper_rule()), fa.Paper()],
    ids=["oracle", "rule", "paper"],
)
def test_demands_on_factors_are_for_the_default_method(name, method):
    wish, nonnegative, named = WISHES[name]
    for call, k in ((fa.fit, 1), (fa.fit_path, (1, 2))):
        bound = {"alpha": 1.0} if isinstance(method, fa.Paper) and wish.get("ridge") != "auto" else {}
        with pytest.raises(ValueError, match=f"^({named}|ridge |free |atoms must not be nonnegative)"):
            call(FEW.M, FEW.b, atoms=fa.RankOne(5, 4, nonnegative=nonnegative), k=k, method=method, **wish, **bound)


# Wrapped, it is the same problem --------------------------------------------------------------------------------------

ASKED = {
    "plain": {},
    "ridge": {"ridge": 0.5},
    "biases": {"free": fa.Biases(ridge=0.7), "ridge": 0.5},
    "bound": {"misfit": 0.3},
    "auto": {"free": "biases"},
}


class Own(fa.RankOne):
    """A set of one's own that is one of ours."""


class Scaling(fa.operators.Counting):
    """A wrapper of one's own."""


def wrapped(e, name):
    """M, b, atoms of the same problem in another form, and what a coefficient is in the units of the plain set."""
    some = np.sort(np.random.default_rng(0).permutation(2 * e.b.size)[: e.b.size])
    rows, cols, b = np.zeros(2 * e.b.size, dtype=int), np.zeros(2 * e.b.size, dtype=int), np.zeros(2 * e.b.size)
    hidden = np.flatnonzero(~np.isin(np.arange(2 * e.b.size), some))
    rows[some], cols[some], b[some] = e.rows, e.cols, e.b
    free = np.argwhere(np.ones(e.shape)) if name in ("rows", "subset") else None
    if free is not None:  # other entries in between, left out again
        rows[hidden], cols[hidden] = e.shape[0], np.arange(hidden.size)
        wide = fa.Sampling(rows, cols, (e.shape[0] + 1, max(e.shape[1], hidden.size)))
        M = fa.operators.Rows(wide, some) if name == "rows" else wide.subset(some)
        return M, b[some], fa.RankOne(*wide.matrix_shape), 1.0
    return {
        "counting": (fa.Counting(e.M), e.b, e.atoms, 1.0),
        "counting twice": (fa.Counting(fa.Counting(e.M)), e.b, e.atoms, 1.0),
        "own wrapper": (Scaling(e.M), e.b, e.atoms, 1.0),
        "scaled": (e.M, e.b, 2.0 * e.atoms, 2.0),
        "negative": (e.M, e.b, -1.0 * e.atoms, 1.0),
        "subclass": (e.M, e.b, Own(*e.shape), 1.0),
        "all at once": (fa.Counting(e.M), e.b, -0.5 * Own(*e.shape), 0.5),
    }[name]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    "how",
    ["counting", "counting twice", "own wrapper", "scaled", "negative", "subclass", "all at once", "rows", "subset"],
)
def test_the_fast_method_is_taken_however_the_problem_is_wrapped(name, how):
    """With the same answer, the same products for each sweep, and the same certificate."""
    e = plant(1, 9, 8, 2, noise=0.3, offsets=True)
    M, b, atoms, unit = wrapped(e, how)
    wide = fa.Sampling(e.rows, e.cols, atoms.shape)
    plain = fa.fit(wide, e.b, atoms=fa.RankOne(*atoms.shape), k=2, **ASKED[name])
    wish = dict(ASKED[name])
    if "ridge" in wish:
        wish["ridge"] = unit * wish["ridge"]
    s = fa.fit(M, b, atoms=atoms, k=2, **wish)
    assert s.loss == pytest.approx(plain.loss, rel=1e-9)
    assert (s.products, s.iterations, s.status) == (plain.products, plain.iterations, plain.status)
    assert unit * s.gauge == pytest.approx(plain.gauge, rel=1e-9)
    assert s.ridge == pytest.approx((unit * plain.ridge[0], plain.ridge[1]), rel=1e-9)
    np.testing.assert_allclose(s.x, plain.x, atol=1e-9 * np.abs(plain.x).max())
    np.testing.assert_allclose(s.predict(e.rows, e.cols), plain.predict(e.rows, e.cols), atol=1e-9 * np.abs(b).max())
    assert s.certificate.products == plain.certificate.products
    scale = 1.0 if "misfit" not in wish else unit
    assert scale * s.certificate.gap == pytest.approx(plain.certificate.gap, rel=1e-6)


def test_who_counts_from_outside_agrees():
    e = plant(1, 9, 8, 2, noise=0.3, offsets=True)
    for wish in ASKED.values():
        M = fa.Counting(e.M)
        s = fa.fit(M, e.b, atoms=e.atoms, k=2, **wish)
        assert M.products == s.products
        before = s.certificate.gap  # counted apart
        assert M.products == s.products + s.certificate.products
        assert before >= 0


def test_it_may_be_asked_for_by_name():
    e = plant(1, 9, 8, 2, noise=0.3)
    named, plain = e.fit(2, ridge=0.5, method=Completion()), e.fit(2, ridge=0.5)
    np.testing.assert_array_equal(named.x, plain.x)
    rough = e.fit(2, ridge=0.5, method=Completion(tol=1e-2))
    assert rough.iterations < plain.iterations
    assert Completion().at(QUICK).tol > Completion().tol
    with pytest.raises(ValueError, match="method must be one for this problem"):
        fa.fit(np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1, method=Completion())
    with pytest.raises(ValueError, match=r"^tol must be a nonnegative finite number; got -1"):
        Completion(tol=-1)
    with pytest.raises(TypeError, match=r"^lift must be True or False; got 1"):
        Completion(lift=1)


# Factors that may grow -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", [{"ridge": 2.0}, {"misfit": 0.2}], ids=["ridge", "bound"])
def test_lifted_streams_solve_the_relaxation(wish):
    """And answers are the leading atoms of its points, no worse by much than those of the plain stream."""
    e = plant(0, 8, 7, 2, noise=0.3)
    s, plain = e.fit(2, method=Completion(lift=True), **wish), e.fit(2, **wish)
    assert s.cardinality <= 2
    assert s.success == plain.success
    if "ridge" in wish:
        optimum, _ = relaxation(e, 2.0)
        assert s.certificate.primal <= optimum * (1 + 1e-4)
        assert s.certificate.gap <= 1e-3 * optimum
        assert s.loss + 2.0 * s.gauge <= (plain.loss + 2.0 * plain.gauge) * (1 + 1e-3)


def test_lifting_needs_a_relaxation():
    with pytest.raises(ValueError, match=r"^lift needs a relaxation to solve: give a ridge or a bound"):
        plant(0, 8, 7, 2).fit(2, method=Completion(lift=True))


# One clock ------------------------------------------------------------------------------------------------------------


class Stop:
    """Stops at the n-th look; keeps what it saw."""

    def __init__(self, n):
        self.n, self.seen = n, []

    def __call__(self, progress):
        self.seen.append((progress.stage, progress.iteration, progress.products))
        if len(self.seen) >= self.n:
            raise StopIteration


@pytest.mark.parametrize(
    "wish", [{"free": "biases"}, {"ridge": "auto"}, {"free": "biases", "nonnegative": True}], ids=str
)
def test_a_callback_that_stops_at_once_has_paid_little(wish):
    e = plant(1, 14, 12, 2, noise=0.3, offsets="free" in wish)
    stop = Stop(1)
    s = e.fit(2, callback=stop, **wish)
    assert s.status is fa.Status.STOPPED
    assert len(stop.seen) == 1
    assert s.products <= 20
    assert np.isfinite(s.loss)
    assert s.misfit <= 1.0
    if "free" in wish:  # the biases alone explain much
        assert s.biases is not None
        assert s.misfit <= 0.5


@pytest.mark.parametrize("wish", [{"free": "biases"}, {"ridge": "auto"}], ids=str)
def test_the_choice_of_a_ridge_is_heard(wish, monkeypatch):
    """Every pass ticks: whoever stops in the middle has paid for the passes so far, and gets the best point of them."""
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    e = plant(1, 14, 12, 2, noise=0.3, offsets="free" in wish)
    whole = Stop(10**9)
    full = e.fit(2, callback=whole, **wish)
    choosing = [products for stage, iteration, products in whole.seen if stage == "choosing the ridge"]
    assert len(choosing) >= 100  # five folds, several penalties, three sweeps
    assert {iteration for stage, iteration, _ in whole.seen if stage == "choosing the ridge"} == {0}
    assert (np.diff(choosing) >= 0).all()
    for n in (len(choosing) // 2, len(choosing) - 2):
        stop = Stop(n)
        s = e.fit(2, callback=stop, **wish)
        assert len(stop.seen) == n
        assert s.status is fa.Status.STOPPED
        assert s.products <= choosing[n - 1] + 10
        assert 0 < s.cardinality <= 2
        assert s.misfit <= (0.8 if n < len(choosing) - 2 else 2 * full.misfit + 0.1)  # penalties fall on the way
    assert full.status is fa.Status.SMALLEST_LOSS
