"""Which problems Completion opens, wrapped or not, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from sampled import (
    plant,
)

# Bad input ------------------------------------------------------------------------------------------------------------

FEW = plant(0, 5, 4, 1, share=0.8)
ONLY = "is for RankOne atoms, Sampling and least squares without free columns; got "


def ask(M=None, b=None, **options):
    return fa.fit(FEW.M if M is None else M, FEW.b if b is None else b, **{"atoms": FEW.atoms, "k": 1, **options})


BAD_POSITIONS = [
    ([0, 1, 0], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; 1 repeat.*\(0, 1\)"),
    ([0, 0, 1], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; .*duplicates='mean'"),
    ([0, 2], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got 2$"),
    ([0, 1], [0, 5], (2, 2), ValueError, r"^cols must lie between 0 and 1; got 5$"),
    ([0, -1], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got -1$"),
    ([0, 1.0], [0, 0], (2, 2), TypeError, r"^rows must hold integers; got an array of float64$"),
    ([0], ["a"], (2, 2), TypeError, r"^cols must hold integers; got an array of <U1$"),
    ([True], [0], (2, 2), TypeError, r"^rows must hold integers; got an array of bool$"),
    ([0, 1], [0], (2, 2), ValueError, r"^rows and cols must have the same length; got 2 and 1$"),
    ([], [], (2, 2), ValueError, r"^rows and cols must name at least one entry; got none$"),
    ([0], [0], 4, TypeError, r"^shape must be a pair of integers \(rows, columns\); got 4$"),
    ([0], [0], (0, 4), ValueError, r"^shape\[0\] must be an integer of at least 1; got 0$"),
    ([0], [0], (4, 1.5), TypeError, r"^shape\[1\] must be an integer of at least 1; got 1.5$"),
]


@pytest.mark.parametrize(
    ("rows", "cols", "shape", "kind", "message"), BAD_POSITIONS, ids=[str(case[:3]) for case in BAD_POSITIONS]
)
def test_bad_positions(rows, cols, shape, kind, message):
    with pytest.raises(kind, match=message):
        fa.Sampling(rows, cols, shape)


def test_entries_given_twice_are_merged_if_asked():
    rows, cols, values = [2, 0, 2, 1, 2], [1, 0, 1, 1, 1], [1.0, 5.0, 4.0, -1.0, 10.0]
    with pytest.raises(ValueError, match=r"^rows and cols must name each entry once; 2 repeat another, \(2, 1\)"):
        fa.Sampling.from_triplets(rows, cols, values)
    with pytest.raises(ValueError, match=r"^duplicates must be 'error', 'mean' or 'last'; got 'sum'$"):
        fa.Sampling.from_triplets(rows, cols, values, duplicates="sum")
    for how, merged in (("mean", 5.0), ("last", 10.0)):
        M, b = fa.Sampling.from_triplets(rows, cols, values, duplicates=how)
        assert {(2, 1): merged, (0, 0): 5.0, (1, 1): -1.0} == {
            (int(i), int(j)): float(v) for i, j, v in zip(M.rows, M.cols, b, strict=True)
        }
        s = fa.fit(M, b, atoms=fa.RankOne(3, 2), k=2)
        assert s.predict(2, 1) == pytest.approx(merged, rel=1e-2)


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


RIDGE = r"^ridge must be a .*pair.*; got "


BAD_DEMANDS = [
    (
        {"k": 5},
        ValueError,
        r"^k must be an integer between 1 and 4, the number of atoms of RankOne\(5, 4\); got 5$",
    ),
    ({"k": 0}, ValueError, r"^k must be an integer between 1 and 4, .*; got 0$"),
    ({"k": 1.5}, TypeError, r"^k must be an integer between 1 and 4, .*; got 1.5$"),
    ({"k": None}, TypeError, r"^k must say how many atoms are allowed.*; got None$"),
    ({"k": None, "misfit": 0.1}, TypeError, r"^k must be given for RankOne\(5, 4\), .*; got None$"),
    ({"ridge": -1}, ValueError, r"^ridge must be a nonnegative .*; got -1$"),
    ({"ridge": np.nan}, ValueError, r"^ridge must be a nonnegative .*; got nan$"),
    ({"ridge": np.inf}, ValueError, r"^ridge must be a nonnegative .*; got inf$"),
    ({"ridge": (1, -2)}, ValueError, r"^ridge\[1\] must be a nonnegative finite number; got -2$"),
    ({"ridge": (1, "auto")}, TypeError, r"^ridge\[1\] must be a nonnegative finite number; got 'auto'$"),
    (
        {"ridge": (0.0, 1.0), "free": "biases", "misfit": 0.1},
        ValueError,
        r"^ridge\[1\] must be 0 where there is a bound.*; got 1.0$",
    ),
    ({"ridge": "auto", "misfit": 0.1}, ValueError, r'^ridge must be a number where there is a bound; got "auto"$'),
    ({"ridge": "x"}, ValueError, RIDGE + "'x'$"),
    ({"ridge": (1, 2, 3)}, (TypeError, ValueError), RIDGE + r"\(1, 2, 3\)$"),
    ({"ridge": [1]}, (TypeError, ValueError), RIDGE + r"\[1\]$"),
    ({"ridge": True}, TypeError, r"^ridge must be .*; got True$"),
    ({"biases": "yes"}, TypeError, r"^biases must be True or False; got 'yes'$"),
    ({"biases": 1}, TypeError, r"^biases must be True or False; got 1$"),
    ({"nonnegative": None}, TypeError, r"^nonnegative must be True or False; got None$"),
    ({"misfit": -0.1}, ValueError, r"^misfit must be a nonnegative finite number; got -0.1$"),
    ({"misfit": 0.1, "alpha": 1.0}, ValueError, r"^alpha and misfit bound the same thing, give one; got"),
    ({"include": [0]}, ValueError, r"^include is for sets whose atoms can be listed; got RankOne\(5, 4\)$"),
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


@pytest.mark.parametrize("name", ["biases", "ridge", "auto", "nonnegative"])
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"M": np.eye(3), "b": np.ones(3), "atoms": fa.SignedOneHot(3)}, r"SignedOneHot\(3\)"),
        ({"M": DENSE, "b": np.ones(8)}, r"RankOne\(5, 4\)"),
        ({"atoms": fa.SignedOneHot((5, 4))}, r"SignedOneHot\(\(5, 4\)\)"),
        ({"atoms": 2.0 * FEW.atoms}, r"2 \* RankOne\(5, 4\)"),
        ({"M": fa.Sampling([0, 1], [0, 1], (4, 4)), "b": np.ones(2), "atoms": fa.PSDRankOne(4)}, r"PSDRankOne\(4\)"),
        ({"M": fa.Identity((5, 4)), "b": np.ones((5, 4))}, r".*Identity"),
        ({"loss": fa.Huber(1.0)}, r".*Huber\(delta=1\)"),
        ({"free": "intercept"}, r".*free columns"),
        ({"free": np.arange(1.0, FEW.b.size + 1)}, r".*free columns"),
        ({"atoms": FEW.atoms + fa.SignedOneHot((5, 4)), "k": (1, 1)}, r"\(RankOne"),
    ],
    ids=["one-hot", "dense", "one-hot entries", "scaled", "psd", "identity", "huber", "intercept", "free", "sum"],
)
def test_what_is_for_sampled_low_rank_matrices_only(name, options, shown):
    asked = {"ridge": {"ridge": 1.0}, "auto": {"ridge": "auto"}}.get(name, {name: True})
    named = "ridge" if name == "auto" else name
    with pytest.raises(ValueError, match=f"^{named} {ONLY}{shown}") as caught:
        ask(**options, **asked)
    assert "object at 0x" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"ridge": 1.0}, {"ridge": "auto"}, {"free": "biases"}, {"nonnegative": True}], ids=str
)
@pytest.mark.parametrize("expert", [{"oracle": fa.LevelSet()}, {"retrieval": fa.paper_rule()}], ids=["oracle", "rule"])
def test_demands_on_factors_are_for_the_default_way(options, expert):
    (given,) = expert
    message = f"^{given} must be left out with biases, ridge or nonnegative, which need the default; got [A-Z]"
    with pytest.raises(ValueError, match=message):
        ask(**options, **expert)
    with pytest.raises(ValueError, match=message):
        fa.fit_path(FEW.M, FEW.b, atoms=FEW.atoms, k=(1, 2), **options, **expert)
