"""Principal component pursuit: against a convex program, in any units, after any number of steps."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Union
from fewatoms.methods import Separation
from fewatoms.methods.separation import Splitting
from methods.separation.mixed import assert_adds_up, assert_encloses, assert_honest, mix, of, pursuit


def separation(**settings):
    return Separation(splitting=Splitting(**settings))


MATRICES = {
    "planted": lambda seed: mix(seed, 8, 7, 1, 5),
    "planted, missing": lambda seed: mix(seed, 9, 7, 1, 4, share=0.8),
    "noisy, wide": lambda seed: mix(seed, 5, 9, 2, 6, noise=0.3),
    "noise, tall, missing": lambda seed: of(*halved(np.random.default_rng(seed), (9, 4))),
    "integers, missing": lambda seed: of(*halved(np.random.default_rng(seed), (6, 6), integers=True)),
    "diagonal": lambda seed: of(np.eye(5, 6)),
    "one entry": lambda seed: of(np.eye(6, 5) * (np.arange(5) == seed)),
    "low rank": lambda seed: mix(seed, 6, 8, 1, 0),
    "one row": lambda seed: of(np.random.default_rng(seed).standard_normal((1, 6))),
    "one number": lambda seed: of(np.full((1, 1), -3.0)),
}


def halved(rng, shape, integers=False):
    seen = rng.random(shape) < 0.7
    seen[0, 0] = True
    X = rng.integers(-2, 3, shape).astype(float) if integers else rng.standard_normal(shape)
    X[0, 0] = 1.0
    return X, seen


@pytest.mark.parametrize("misfit", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("name", MATRICES)
def test_pursuit_against_a_convex_program(name, misfit):
    for seed in range(2):
        m = MATRICES[name](seed)
        turned = bool(seed)
        low, sparse = ((1.0, 1.7), (-2.0, 3.0))[seed]
        s, L, S = m.fit(
            kind=Union,
            turned=turned,
            low=low,
            sparse=sparse,
            misfit=misfit,
            method=separation(tol=1e-6, steps=300),
        )
        optimum = pursuit(m, abs(sparse / low), misfit * np.linalg.norm(m.b)) / abs(low)
        assert_adds_up(m, s, L, S)
        assert_honest(s, misfit)
        assert s.success
        gauge = np.linalg.norm(L.x, "nuc") / abs(low) + np.abs(S.x).sum() / abs(sparse)
        assert s.gauge == pytest.approx(gauge, rel=1e-9, abs=1e-14)
        assert s.certificate.relaxation.name == "P3"
        assert s.certificate.primal == pytest.approx(gauge, rel=1e-7)
        assert_encloses(s.certificate, optimum)
        assert gauge <= optimum + s.certificate.gap + 3e-6 * optimum


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (8, 8)], ids=str)
def test_pursuit_with_nothing_but_the_data(shape, turned, share):
    """Neither k nor a bound: the usual weight, and the data are met."""
    m = mix(3, *shape, 1, 5, noise=0.1, share=share)
    s, L, S = m.fit(kind=Union, turned=turned)
    assert_adds_up(m, s, L, S)
    optimum = pursuit(m, math.sqrt(max(shape)), 1e-6 * np.linalg.norm(m.b))
    assert s.success
    assert s.misfit <= 1e-6 * (1 + 1e-9)
    assert_encloses(s.certificate, optimum)
    assert optimum * (1 - 1e-5) <= s.gauge <= 1.003 * optimum


@pytest.mark.parametrize("share", [1.0, 0.85])
@pytest.mark.parametrize("shape", [(40, 40), (30, 60), (60, 30)], ids=str)
def test_pursuit_finds_what_was_planted(shape, share):
    """Up to what the default bound leaves open."""
    for seed in [int(share < 1)]:
        m = mix(seed, *shape, 1, shape[0] * shape[1] // 50, size=(3.0, 50.0), share=share)
        s, L, S = m.fit(kind=Union)
        assert s.success
        np.testing.assert_allclose(L.x, m.low, atol=1e-4 * np.abs(m.X).max())
        np.testing.assert_allclose(S.x, m.sparse, atol=1e-4 * np.abs(m.X).max())
        assert L.cardinality == 1
        assert s.certificate.gap <= 2e-3 * s.gauge


@pytest.mark.parametrize("misfit", [1e-12, 1e-8, 1e-6])
@pytest.mark.parametrize("name", MATRICES)
def test_rounding_does_not_take_an_answer_out_of_the_bound(name, misfit):
    s, *_ = MATRICES[name](int(misfit < 1e-7)).fit(kind=Union, sparse=1.5, misfit=misfit)
    assert s.status is fa.Status.BOUND_MET
    assert s.misfit <= misfit * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8, 1e100])
def test_pursuit_has_the_units_of_the_data(factor):
    m = mix(1, 8, 7, 1, 4, noise=0.1)
    plain, *_ = m.fit(kind=Union, misfit=0.1)
    s, *_ = m.fit(kind=Union, misfit=0.1, b=factor * m.b)
    np.testing.assert_allclose(s.x, factor * plain.x, atol=1e-8 * factor * np.abs(m.X).max())
    assert s.certificate.gap == pytest.approx(factor * plain.certificate.gap, rel=1e-4, abs=1e-9 * factor)


def test_first_steps_in_single_precision_lead_to_the_same_answer():
    m = mix(2, 40, 20, 2, 30, noise=0.05)
    double, *_ = m.fit(kind=Union, misfit=0.05, method=separation(tol=1e-6))
    single, *_ = m.fit(kind=Union, misfit=0.05, method=separation(tol=1e-6, large=0))
    assert single.gauge == pytest.approx(double.gauge, rel=1e-5)
    assert single.certificate.gap <= 1e-5 * single.gauge


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("steps", [1, 7, 18])
def test_few_steps_end_with_an_answer(steps, single):
    m = mix(2, 12, 9, 2, 8)
    s, *_ = m.fit(kind=Union, misfit=0.1, method=separation(steps=steps, large=0 if single else 10**9))
    assert s.status is fa.Status.BOUND_MET
    assert s.misfit <= 0.1 * (1 + 1e-9)
    assert s.certificate.gap < math.inf


def test_the_weight_decides_which_part_is_used():
    """A small unit of the sparse part makes it dear, a large one cheap: beyond the ends one part is left alone."""
    m = of(np.random.default_rng(0).standard_normal((6, 5)))
    for sparse, empty in ((0.9, 1), (100.0, 0)):
        s, *parts = m.fit(kind=Union, sparse=sparse, misfit=0.1, method=separation(tol=1e-6))
        assert s.success
        assert np.abs(parts[empty].x).max() <= 1e-4


def test_all_a_certificate_of_a_pursuit_says_in_words():
    s, *_ = mix(0, 8, 7, 1, 4, noise=0.1).fit(kind=Union, misfit=0.1)
    told = re.search(r"gauge .*?at least ([\d.e+]+).* lies between that and ([\d.e+]+)", str(s.certificate), flags=re.S)
    assert told[2].rstrip(".") == f"{s.certificate.primal:.6g}"
    assert (
        s.certificate.primal - s.certificate.gap
        <= float(told[1].rstrip(".")) * (1 + 1e-5)
        <= (1 + 2e-5) * s.certificate.primal
    )
    assert "The bound alpha" in str(s.certificate)
    assert "a small gauge with a loss of at most" in s.message


@pytest.mark.parametrize("misfit", [0.0, 0.1])
@pytest.mark.parametrize("name", ["planted", "planted, missing", "noisy, wide", "noise, tall, missing", "diagonal"])
def test_partial_decompositions_prove_both_ends(name, misfit):
    """Whatever they miss: the least lies between."""
    for seed, low in ((0, 1.0), (1, 0.5)):
        m = MATRICES[name](seed)
        s, L, S = m.fit(kind=Union, sparse=1.7, misfit=misfit, method=separation(full=0, low=low, steps=60))
        optimum = pursuit(m, 1.7, misfit * np.linalg.norm(m.b))
        assert_adds_up(m, s, L, S)
        assert_honest(s, misfit)
        assert_encloses(s.certificate, optimum)


def test_partial_decompositions_find_what_all_of_them_find():
    m = mix(0, 150, 120, 3, 900)
    whole, _, _ = m.fit(kind=Union, misfit=1e-4)
    s, L, _ = m.fit(kind=Union, misfit=1e-4, method=separation(full=0))
    assert s.success
    assert s.gauge == pytest.approx(whole.gauge, rel=2e-3)
    assert s.certificate.gap <= 2e-3 * s.gauge
    assert L.cardinality == 3
    assert "as far as is proven" not in s.message
    np.testing.assert_allclose(L.x, m.low, atol=0.01)


def test_says_where_its_tolerance_was_missed():
    m = mix(0, 30, 20, 2, 30, noise=0.3)
    s, _, _ = m.fit(kind=Union, misfit=1e-3, method=separation(steps=3))
    gap = s.certificate.gap / s.gauge
    assert gap > 2e-3
    (told,) = re.findall(r"within ([0-9.e+-]+) % of the least, as far as is proven, not within 0.2 %", s.message)
    assert float(told) == pytest.approx(100 * gap, rel=0.06)


def test_ends_early_where_nothing_is_of_low_rank():
    X = np.random.default_rng(0).standard_normal((120, 100))
    s, _, _ = of(X).fit(kind=Union, misfit=1e-3, method=separation(full=0))
    assert s.success
    assert "nothing of low rank was found" in s.message
    whole, _, _ = of(X).fit(kind=Union, misfit=1e-3)
    assert s.certificate.primal - s.certificate.gap <= whole.gauge * (1 + 1e-9)
    assert whole.certificate.primal - whole.certificate.gap <= s.gauge * (1 + 1e-9)
