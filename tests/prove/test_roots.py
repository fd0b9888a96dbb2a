"""Matrices: one dual vector bounds all of rank k, as far as a price on singular values goes."""

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.proofs.base import Tampered

cp = pytest.importorskip("cvxpy")


def completion(seed, p=7, q=6, rank=2, noise=0.3, share=0.8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q)) + noise * rng.standard_normal((p, q))
    rows, cols = np.nonzero(rng.random((p, q)) < share)
    return fa.Sampling(rows, cols, (p, q)), X[rows, cols], (rows, cols)


def lowest(M, b, shape, k, *, cap=None, rho=0.0, lam=0.0, tries=20):
    """Descents over matrices of rank k from many places: from above."""
    rng, best = np.random.default_rng(0), np.inf
    A = np.stack([M.apply(e.reshape(shape)) for e in np.eye(shape[0] * shape[1])], axis=1)
    step = 1.0 / (np.linalg.norm(A, 2) ** 2 + rho)
    for _ in range(tries):
        X = 3 * rng.standard_normal((shape[0], k)) @ rng.standard_normal((k, shape[1]))
        for _ in range(200):
            u, s, vt = np.linalg.svd(X + step * (A.T @ (b - A @ X.ravel())).reshape(shape) - step * rho * X)
            s = np.clip(s[:k] - step * lam, 0.0, np.inf if cap is None else cap)
            X = (u[:, :k] * s) @ vt[:k]
        best = min(best, 0.5 * np.sum((b - A @ X.ravel()) ** 2) + 0.5 * rho * s @ s + lam * s.sum())
    return best


@pytest.mark.parametrize("seed", range(4))
def test_no_descent_goes_below(seed):
    M, b, _ = completion(seed)
    s = fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2, ridge=[None, 0.5][seed % 2])
    top = float(np.max(s.coefficients))
    for words in ({"cap": 1.1 * top}, {"frobenius": 0.4}, {"cap": 1.05 * top, "frobenius": 0.2}):
        proof = fa.prove(s, seconds=0.3, **words)
        v = lowest(M, b, (7, 6), 2, cap=words.get("cap"), rho=words.get("frobenius", 0.0), lam=s.ridge[0], tries=3)
        assert (0 if "frobenius" not in words else 1e-3 * v) <= proof.lower <= v * (1 + 1e-6)
        assert proof.upper >= v * (1 - 1e-3)
        paid = s.ridge[0] * np.sum(s.coefficients) + 0.5 * words.get("frobenius", 0.0) * np.sum(s.coefficients**2)
        assert proof.upper == pytest.approx(s.loss + paid, rel=1e-9)
        assert proof.verify().lower == pytest.approx(proof.lower, rel=1e-9)
        assert "matrix of rank 2 at most" in proof.subject


@pytest.mark.parametrize("seed", range(3))
def test_as_good_as_the_relaxation(seed):
    """With a cap alone the best bound is the least loss of matrices with a spectral norm of at most C and a nuclear
    norm of at most k C."""
    M, b, (rows, cols) = completion(seed)
    s = fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2)
    cap = 1.02 * float(np.max(s.coefficients))
    X = cp.Variable((7, 6))
    entries = cp.hstack([X[i, j] for i, j in zip(rows, cols, strict=True)])
    limits = [cp.sigma_max(X) <= cap, cp.normNuc(X) <= 2 * cap]
    value = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(b - entries)), limits).solve(solver="CLARABEL")
    proof = fa.prove(s, seconds=3, cap=cap)
    assert proof.lower <= value * (1 + 1e-6) + 1e-8
    assert proof.lower >= value - 0.02 * proof.upper


@pytest.mark.parametrize("seed", range(3))
def test_semidefinite_matrices(seed):
    rng = np.random.default_rng(seed)
    A, V = rng.standard_normal((40, 5)), rng.standard_normal((5, 2))
    b = np.sum((A @ V) ** 2, axis=1) + 0.5 * rng.standard_normal(40)
    s = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(5), k=2)
    cap = 1.05 * float(np.max(s.coefficients))
    proof = fa.prove(s, seconds=1, cap=cap, frobenius=0.5)
    X = cp.Variable((5, 5), PSD=True)
    images = cp.hstack([A[i] @ X @ A[i] for i in range(40)])
    everything = 0.5 * cp.sum_squares(b - images) + 0.25 * cp.sum_squares(X)
    least = cp.Problem(cp.Minimize(everything), [cp.lambda_max(X) <= cap]).solve(solver="CLARABEL")
    assert 0 < proof.lower <= proof.upper
    assert (
        proof.lower >= 0.9 * least
    )  # of all ranks, which the bound for two is above, up to what is left of its ascent
    assert proof.verify().lower == pytest.approx(proof.lower, rel=1e-9)


@pytest.mark.parametrize(
    "atoms", [fa.RankOne(9, 7), fa.BlockRankOne((9, 7), (3, 4)), fa.RankOne(9, 7, nonnegative=True)]
)
def test_where_all_entries_are_seen_the_bound_is_attained(atoms):
    B = np.abs(np.random.default_rng(0).standard_normal((9, 7)))
    s = fa.fit(fa.Identity((9, 7)), B, atoms=atoms, k=2)
    proof = fa.prove(s)
    if getattr(atoms, "nonnegative", False):
        assert proof.lower <= s.loss
    else:
        assert proof.proven
        assert proof.verify().proven
    if isinstance(atoms, fa.RankOne):
        values = np.linalg.svd(B, compute_uv=False)
        assert proof.lower == pytest.approx(0.5 * np.sum(values[2:] ** 2), rel=1e-10)
        assert proof.lower <= 0.5 * np.sum(values[2:] ** 2)


def test_semidefinite_where_all_entries_are_seen():
    rng = np.random.default_rng(1)
    B = rng.standard_normal((6, 6))
    s = fa.fit(fa.Identity((6, 6)), B, atoms=fa.PSDRankOne(6), k=2)
    values = np.linalg.eigvalsh(0.5 * (B + B.T))[::-1]
    proof = fa.prove(s)
    assert proof.proven
    assert proof.lower == pytest.approx(0.5 * np.sum(B**2) - 0.5 * np.sum(np.maximum(values[:2], 0) ** 2), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_ridge_is_p1_over_all_ranks(seed):
    M, b, (rows, cols) = completion(seed, noise=0.6)
    s = fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2, ridge=0.8)
    X = cp.Variable((7, 6))
    entries = cp.hstack([X[i, j] for i, j in zip(rows, cols, strict=True)])
    value = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(b - entries) + 0.8 * cp.normNuc(X))).solve(solver="CLARABEL")
    proof = fa.prove(s, seconds=3)
    assert proof.lower <= value * (1 + 1e-7)
    assert proof.lower >= value - 1e-3 * proof.upper
    assert proof.subject == "matrix, of whatever rank,"
    assert "no matrix, of whatever rank, has an objective below" in str(proof.solution.certificate)
    assert proof.proven == (proof.gap <= 1e-4)
    assert proof.verify().lower == pytest.approx(proof.lower, rel=1e-9)


def test_where_nothing_can_be_proven_the_remedy_is_named():
    M, b, _ = completion(0)
    proof = fa.prove(fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2))
    assert (proof.lower, proof.proven) == (0.0, False)
    assert "prove(..., cap=) bounds the largest one" in str(proof)
    assert "prove(..., cap=) bounds the largest one" in str(proof.solution.certificate)


def test_prices_that_contradict_the_answer():
    M, b, _ = completion(0)
    s = fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2)
    with pytest.raises(ValueError, match=r"cap must be at least the answer's largest singular value, [\d.]+; got 0.1"):
        fa.prove(s, cap=0.1)
    with pytest.raises(ValueError, match="frobenius must be a nonnegative finite number; got -1"):
        fa.prove(s, frobenius=-1)


def test_a_background_is_no_question():
    rng = np.random.default_rng(0)
    rows, cols = np.divmod(rng.choice(72, 30, replace=False), 8)
    M = fa.Sampling(rows, cols, (9, 8), background=0.1)
    s = fa.fit(M, np.ones(30), atoms=fa.RankOne(9, 8), k=2, ridge=0.1)
    with pytest.raises(ValueError, match="solution must be one whose dual vectors are arrays"):
        fa.prove(s, cap=100.0)


def test_tampered_with():
    M, b, _ = completion(0)
    s = fa.fit(M, b, atoms=fa.RankOne(7, 6), k=2)
    proof = fa.prove(s, frobenius=0.4, seconds=0.2)
    tree = proof.tree
    rng = np.random.default_rng(0)
    others = [
        {"y": tree.arrays["y"] * 0.5},
        {"y": tree.arrays["y"] + 0.1 * rng.standard_normal(b.size)},
        {"y": tree.arrays["y"][:-1]},
        {"y": np.full(b.size, np.nan)},
        {"y": np.zeros(0)},
        {},
    ]
    for arrays in others:
        with pytest.raises(Tampered):
            _with(proof, type(tree)(tree.name, tree.told, arrays)).verify()
    with pytest.raises(Tampered, match="must rest on 'ranks'"):
        _with(proof, type(tree)(tree.name, {"kind": "seen"}, tree.arrays)).verify()
    with pytest.raises(Tampered):
        replace(proof, frobenius=0.8).verify()
    with pytest.raises(Tampered):
        replace(proof, cap=0.01).verify()


def _with(proof, tree):
    return replace(proof, tree=tree)
