"""As few leading singular vectors as meet a bound, where all entries of a matrix are seen."""

import numpy as np
import pytest

import fewatoms as fa

SHAPE = (24, 18)


def falling(seed, rate=0.8):
    """A matrix of full rank with falling singular values."""
    rng = np.random.default_rng(seed)
    u, _, vt = np.linalg.svd(rng.standard_normal(SHAPE), full_matrices=False)
    return (u * 5 * rate ** np.arange(SHAPE[1])) @ vt


def fewest(singular_values, misfit):
    """How many of these it takes: the slow obvious twin."""
    s = np.sort(singular_values)[::-1]
    left = [np.sqrt((s[k:] ** 2).sum() / (s**2).sum()) for k in range(s.size + 1)]
    return next(k for k, value in enumerate(left) if value <= misfit * (1 + 1e-12))


def of_blocks(X, block):
    p, q = block
    rows, cols = (range(0, size, step) for size, step in zip(X.shape, block, strict=True))
    return np.concatenate([np.linalg.svd(X[i : i + p, j : j + q], compute_uv=False) for i in rows for j in cols])


@pytest.mark.parametrize("misfit", [0.7, 0.3, 0.05, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_alone_takes_as_few_singular_vectors_as_meet_it(seed, misfit):
    X, p = falling(seed), np.random.default_rng(seed).permutation(SHAPE[0] * SHAPE[1])
    whole = fewest(np.linalg.svd(X, compute_uv=False), misfit)
    asked = {
        "identity": (fa.Identity(SHAPE), X),
        "entries": fa.Sampling.from_array(X),
        "out of order": (fa.Sampling(*np.divmod(p, SHAPE[1]), SHAPE), X.ravel()[p]),
    }
    for M, b in asked.values():
        for atoms in (fa.RankOne(*SHAPE), -2.0 * fa.RankOne(*SHAPE)):
            s = fa.fit(M, b, atoms=atoms, misfit=misfit)
            assert (s.status.name, s.cardinality) == ("BOUND_MET", whole)
            assert np.linalg.norm(s.x - X) <= misfit * np.linalg.norm(X) * (1 + 1e-9)
    s = fa.fit(fa.Identity(SHAPE), X, atoms=fa.BlockRankOne(SHAPE, (8, 6)), misfit=misfit)
    assert s.cardinality == fewest(of_blocks(X, (8, 6)), misfit)
    assert s.misfit == pytest.approx(np.linalg.norm(s.x - X) / np.linalg.norm(X))
    assert "smallest number that can" in s.message


def test_no_misfit_at_all_takes_full_rank_at_once():
    X = np.random.default_rng(0).standard_normal((60, 50))
    for M, b in ((fa.Identity(X.shape), X), fa.Sampling.from_array(X)):
        s = fa.fit(M, b, atoms=fa.RankOne(*X.shape), misfit=0)
        assert s.success
        assert s.cardinality == 50
        assert s.products < 5 * 50
    low = X[:, :3] @ X[:3]
    assert fa.fit(fa.Identity(low.shape), low, atoms=fa.RankOne(*low.shape), misfit=1e-9).cardinality == 3


def test_its_certificate_bounds_the_gauge():
    X = falling(1)
    s = fa.fit(fa.Identity(SHAPE), X, atoms=fa.RankOne(*SHAPE), misfit=0.2)
    assert s.certificate.gap >= 0
    assert s.certificate.tau_lower <= s.gauge * (1 + 1e-9)


@pytest.mark.parametrize("wish", [{}, {"ridge": 0.5}], ids=str)
def test_weights_and_ridges_have_a_bound_alone_as_well(wish):
    """They are no matter of singular values: ranks grow until one meets it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3)) @ rng.standard_normal((3, 18)) + 0.01 * rng.standard_normal((24, 18))
    w = rng.uniform(0.5, 2.0, X.size)
    s = fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(24, 18), misfit=0.05, loss=fa.LeastSquares(w), **wish)
    assert s.success
    assert s.cardinality == 3
    assert s.misfit == pytest.approx(np.sqrt(w @ (X - s.x).ravel() ** 2 / (w @ X.ravel() ** 2)))


@pytest.mark.parametrize("loss", [None, fa.Huber(0.1)], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_blocks_and_other_losses_have_a_bound_alone_as_well(seed, loss):
    rng = np.random.default_rng(seed)
    X = np.zeros((32, 24))
    for i, j in ((0, 0), (16, 8), (8, 16)):
        X[i : i + 8, j : j + 8] = np.outer(rng.standard_normal(8), rng.standard_normal(8))
    seen = rng.random(X.shape) < 0.8
    M = fa.Sampling(*np.nonzero(seen), X.shape)
    s = fa.fit(M, X[seen], atoms=fa.BlockRankOne(X.shape, (8, 8)), alpha=1e-3, loss=loss)
    assert s.success
    assert s.cardinality == 3


# Nonnegative factors of a matrix that is seen in full ----------------------------------------------------------------


@pytest.mark.parametrize(
    "wish", [{"k": 3}, {"misfit": 0.2}, {"k": 3, "ridge": 2.0}, {"k": 3, "ridge": "auto"}], ids=str
)
def test_nonnegative_factors_of_all_entries(wish):
    rng = np.random.default_rng(0)
    X = rng.poisson(5 * rng.gamma(1, 1, (60, 3)) @ rng.gamma(1, 1, (3, 40))).astype(float)
    atoms = fa.RankOne(60, 40, nonnegative=True)
    whole, sampled = (
        fa.fit(fa.Identity(X.shape), X, atoms=atoms, **wish),
        fa.fit(*fa.Sampling.from_array(X), atoms=atoms, **wish),
    )
    assert min(whole.left.min(), whole.right.min()) >= 0
    assert whole.loss == pytest.approx(0.5 * np.sum((X - whole.left @ whole.right.T) ** 2))
    assert whole.objective == pytest.approx(sampled.objective, rel=1e-9)
    assert whole.cardinality == sampled.cardinality
    flat = fa.fit(np.eye(X.size)[::-1], X.ravel()[::-1], atoms=atoms, **wish) if X.size < 3000 else whole
    assert flat.loss == pytest.approx(whole.loss, rel=1e-3)


def test_pursuit_with_another_loss_is_refused_in_one_word():
    X = np.random.default_rng(0).standard_normal((12, 10))
    union = fa.RankOne(12, 10) | fa.SignedOneHot((12, 10))
    for bound in ({"misfit": 0.1}, {"alpha": 1.0}, {}):
        with pytest.raises(ValueError, match=r"k.* one budget for each .*pursuit.* takes least squares only"):
            fa.fit(fa.Identity(X.shape), X, atoms=union, loss=fa.Huber(1.0), **bound)
    assert fa.fit(fa.Identity(X.shape), X, atoms=union, loss=fa.Huber(1.0), k=(2, 5)).success
