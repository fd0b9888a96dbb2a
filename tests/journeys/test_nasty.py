"""Random combinations of sets, operators and losses on nasty data: whatever comes out must be what it says it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms import oracles
from journeys.planting import huber, logistic, squares


def simple_set(rng, p, q):
    """One set over p x q entries."""
    n = p * q
    labels = rng.integers(0, max(2, n // 3), n)
    choices = [
        lambda: fa.SignedOneHot(n),
        lambda: fa.SignedOneHot((p, q)),
        lambda: fa.NonnegativeOneHot(n),
        lambda: fa.NonnegativeCone(n),
        lambda: fa.Groups(labels),
        lambda: fa.Groups(labels, np.exp(rng.standard_normal(np.unique(labels).size))),
        lambda: fa.RankOne(p, q),
        lambda: fa.PSDRankOne(p) if p == q else fa.RankOne(p, q),
        lambda: fa.Dictionary(rng.standard_normal((n, rng.integers(1, 2 * n))), symmetric=bool(rng.integers(2))),
        lambda: fa.Dictionary(np.repeat(rng.standard_normal((n, 3)), 2, axis=1), symmetric=True),  # twins
        lambda: fa.Mapped(aslinearoperator(rng.standard_normal((n, 6))), fa.Groups([0, 0, 1, 1, 2, 2])),
        lambda: fa.Mapped(rng.standard_normal((n, 6)), fa.RankOne(3, 2)),
        lambda: fa.Mapped(rng.standard_normal((n, 4)), fa.PSDRankOne(2)),
    ]
    return choices[rng.integers(len(choices))]()


def any_set(rng, p, q, depth=0):
    """Sums of unions of multiples of images."""
    kind = rng.random()
    if depth < 2 and kind < 0.3:
        left, right = any_set(rng, p, q, depth + 1), any_set(rng, p, q, depth + 1)
        return left + right if kind < 0.15 else left | right
    atoms = simple_set(rng, p, q)
    return float(rng.choice([-1, 1]) * np.exp(2 * rng.standard_normal())) * atoms if kind < 0.5 else atoms


def any_budget(rng, atoms):
    if atoms.parts:
        return tuple(any_budget(rng, part) for part in atoms.parts)
    return int(rng.integers(1, min(atoms.count, 5) + 1)) if rng.random() < 0.9 else atoms.count


def any_operator(rng, p, q):
    """What is passed as M, and the same as a dense matrix."""
    n = p * q
    m = int(rng.integers(1, 2 * n + 2))
    D = rng.standard_normal((m, n))
    flaw = rng.integers(6)
    if flaw == 0:
        D[:, rng.integers(0, n, max(1, n // 3))] = 0.0  # columns of zeros
    elif flaw == 1:
        D = D[:, rng.integers(0, max(1, n // 2), n)]  # repeated columns
    elif flaw == 2:
        D = D * np.exp(4 * rng.standard_normal(n))  # columns of all sizes
    elif flaw == 3:
        D = np.round(D)  # ties
    elif flaw == 4:
        D = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))  # rank two
    kind = rng.integers(7)
    seen = rng.permutation(n)[: max(1, min(m, n))]
    if kind == 0:
        return fa.Sampling(seen // q, seen % q, (p, q)), np.eye(n)[seen]
    if kind == 1:
        return fa.Identity((p, q)), np.eye(n)
    if kind == 2 and p == q:
        A = rng.standard_normal((m, p))
        form = (np.asarray, sp.csr_array, aslinearoperator)[rng.integers(3)]
        return fa.Quadratic(form(A)), np.einsum("ij,il->ijl", A, A).reshape(m, n)
    return (np.asarray, sp.csc_array, aslinearoperator, np.asfortranarray)[rng.integers(4)](D), D


def any_oracle(rng, m, bound):
    size = float(np.exp(rng.standard_normal()))
    choices = [None, None, None, oracles.ConditionalGradient(size), oracles.ProximalGradient(size)]
    choices.append(fa.FromIterates([rng.standard_normal(m) for _ in range(4)]))
    if bound:
        choices += [fa.LevelSet(), fa.LevelSet(oracles.Bisection(), oracles.Bundle())]
    return choices[rng.integers(len(choices))]


def cardinalities(point, k):
    return tuple(map(cardinalities, point.parts, k)) if isinstance(k, tuple) else point.cardinality


def within(counted, k):
    return all(map(within, counted, k)) if isinstance(k, tuple) else counted <= k


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(2, 122))
def test_whatever_comes_out_is_what_it_says(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 6))
    q = p if rng.random() < 0.4 else int(rng.integers(1, 6))
    atoms, (M, D) = any_set(rng, p, q), any_operator(rng, p, q)
    k = any_budget(rng, atoms)
    b = D @ (rng.standard_normal(p * q) * (rng.random(p * q) < 0.4))
    b = b + rng.choice([0, 1e-8, 0.1, 1]) * rng.standard_normal(b.size)
    loss, value = [(fa.LeastSquares(), squares), (fa.Huber(0.5), lambda r: huber(r, 0.5)), (fa.Logistic(), logistic)][
        rng.choice(3, p=[0.6, 0.25, 0.15])
    ]
    if isinstance(loss, fa.Logistic) and np.unique(b).size == 2:  # labels
        signs, value = np.where(b > b.min(), 1.0, -1.0), lambda r, b=b: logistic(signs * (r - b))
    at_zero = value(b)
    alpha = float(at_zero * rng.choice([0, 1e-12, 1e-4, 0.1, 0.5, 0.9])) if rng.random() < 0.6 else None
    oracle = any_oracle(rng, b.size, alpha is not None)
    arguments = {"atoms": atoms, "k": k, "alpha": alpha, "loss": loss}
    if oracle is not None:
        arguments["method"] = fa.General(oracle=oracle)
    if not atoms.bounded and isinstance(oracle, (fa.LevelSet, oracles.ConditionalGradient)):
        with pytest.raises(ValueError, match=r"needs a bounded set of atoms; .*NonnegativeCone.* is a cone"):
            fa.fit(M, b, **arguments)
        return
    s = fa.fit(M, b, **arguments, max_iterations=int(rng.choice([1, 3])))
    recomputed = value(b - D @ np.ravel(s.x))
    assert s.loss == pytest.approx(recomputed, rel=1e-7, abs=1e-10 * at_zero + 1e-13)
    assert recomputed <= at_zero * (1 + 1e-9)  # never worse than no atoms at all
    assert within(cardinalities(s, k), k)
    if s.success and alpha is not None:
        assert recomputed <= alpha * (1 + 1e-7) + 1e-10 * at_zero
    certificate = s.certificate
    assert certificate.gap >= 0
    assert certificate.epsilon is None or certificate.epsilon >= 0
    assert str(certificate).startswith(("Recomputed", "Proven: no x, with any number of atoms, meets alpha"))
    if alpha is not None and certificate.relaxation is not None and s.success and math.isfinite(certificate.tau_lower):
        assert certificate.tau_lower <= s.gauge * (1 + 1e-6) + 1e-12  # the answer meets the bound, so it is no smaller


@pytest.mark.parametrize("count", [3, 4, 5])
def test_sums_of_many_parts(count):
    """Five parts share a threshold as easily as two."""
    rng = np.random.default_rng(count)
    parts = [fa.SignedOneHot(8), fa.Groups(np.arange(8) // 2), fa.NonnegativeOneHot(8), -1.0 * fa.NonnegativeOneHot(8)]
    atoms = sum(parts[1:][: count - 1], start=parts[0]) if count < 5 else sum(parts, start=3.0 * fa.SignedOneHot(8))
    D = rng.standard_normal((20, 8))
    b = D @ rng.standard_normal(8)
    s = fa.fit(D, b, atoms=atoms, k=(1,) * count, max_iterations=4)
    assert len(s.parts) == count
    assert s.cardinality <= count
    assert s.loss == pytest.approx(squares(b - D @ s.x))
    best_single = min(squares(b - d * (d @ b) / (d @ d)) for d in D.T)
    assert s.loss <= best_single


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(1.0)], ids=repr)
@pytest.mark.parametrize("kind", ["signed", "cone", "psd", "rank-one"])
def test_descent_to_rounding_comes_to_an_end(kind, loss):
    """Without noise the loss falls to rounding, where no step length passes a naive test of descent."""
    from itertools import islice

    rng = np.random.default_rng(1)
    atoms = {"signed": fa.SignedOneHot(25), "cone": fa.NonnegativeCone(25), "psd": fa.PSDRankOne(5)}.get(kind)
    atoms = atoms or fa.RankOne(5, 5)
    v = rng.random(5)
    D = rng.standard_normal((30, 25))
    b = D @ np.outer(v, v).ravel()
    problem = fa.Problem.of(D, b, atoms=atoms, k=1, loss=loss)
    points = list(islice(oracles.ProximalGradient(1e-13).iterates(problem), 700))
    assert points[-1].loss <= 1e-9 * loss.value(b)


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.5)], ids=repr)
def test_semidefinite_fits_are_frugal(loss):
    """Constrained fits take their many steps on columns that were formed once, not on the operator."""
    rng = np.random.default_rng(5)
    D = rng.standard_normal((20, 25))
    s = fa.fit(aslinearoperator(D), D @ rng.random(25), atoms=fa.PSDRankOne(5), k=2, loss=loss, max_iterations=4)
    assert s.products < 4000
    assert np.linalg.eigvalsh(s.x)[0] >= -1e-12


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_units_of_the_operator_do_not_matter_to_huber(scale):
    rng = np.random.default_rng(6)
    D = rng.standard_normal((25, 12))
    b = D @ np.r_[2.0, -3.0, np.zeros(10)] + 0.1 * rng.standard_normal(25)
    b[4] += 30.0
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(12), k=2, loss=fa.Huber(0.3), max_iterations=3)
    s = fa.fit(scale * D, b, atoms=fa.SignedOneHot(12), k=2, loss=fa.Huber(0.3), max_iterations=3)
    np.testing.assert_allclose(scale * s.x, plain.x, rtol=1e-5, atol=1e-9)


def test_separable_classes_end_soon_and_say_so():
    """The logistic loss falls for ever there; the answer says so."""
    s = fa.fit(np.eye(4), np.zeros(4), atoms=fa.SignedOneHot(4), k=4, loss=fa.Logistic())
    assert s.loss <= 1e-12
    assert np.abs(s.x).max() < 1e3
    assert "separable" in s.message
    assert (s.status, s.success) == (fa.Status.SEPARABLE, False)
    b = np.array([[-1.0, -1.5], [-1.5, -1.0]])  # three of these and they were no labels
    b[1, 1] = -1.2
    s = fa.fit(fa.Identity((2, 2)), b, atoms=fa.PSDRankOne(2), k=1, loss=fa.Logistic(), max_iterations=8)
    assert s.loss < logistic(b)


def test_no_entries_asked_for():
    s = fa.fit(fa.Identity((3, 2)), np.eye(3, 2), atoms=fa.SignedOneHot((3, 2)), k=2, misfit=1e-9)
    assert s.predict([], []).size == 0
    zero = fa.fit(fa.Identity((3, 2)), np.zeros((3, 2)), atoms=fa.RankOne(3, 2), k=1)
    assert zero.predict([0, 2], [1, 1]).tolist() == [0.0, 0.0]
    assert zero.left.shape == (3, 0)
