"""Parts of orthonormal atoms: told apart, whatever is said about their numbers, and no part has more than allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import ledger
from fewatoms.atoms import Sum, Union
from fewatoms.datasets import DCTSynthesis, HaarSynthesis
from fewatoms.methods import Demixing
from fewatoms.operators import as_operator
from methods.separation.mixed import assert_honest

# Parts of orthonormal atoms -------------------------------------------------------------------------------------------

N = 256


def dct(n=N):
    return fa.Mapped(DCTSynthesis(n), fa.SignedOneHot(n))


def steps():
    """Coarse steps: maps of maps are maps."""
    return fa.Mapped(HaarSynthesis(N, 5), fa.Mapped(np.eye(N)[:, :32], fa.SignedOneHot(32)))


def smooth():
    return fa.Mapped(np.linalg.qr(np.vander(np.linspace(-1, 1, N), 6))[0], fa.SignedOneHot(6))


def mixture():
    return fa.Mapped(np.linalg.qr(np.random.default_rng(0).standard_normal((N, 64)))[0], fa.SignedOneHot(64))


def block_map(p, q, rows, cols):
    """A block of a p x q matrix as a map into it, matrix-free."""
    shape = len(rows), len(cols)

    def forward(w):
        X = np.zeros((p, q))
        X[np.ix_(rows, cols)] = w.reshape(shape)
        return X.ravel()

    def backward(z):
        return z.reshape(p, q)[np.ix_(rows, cols)].ravel()

    return LinearOperator((p * q, shape[0] * shape[1]), matvec=forward, rmatvec=backward, dtype=np.float64)


VECTORS = {  # sets, and how many atoms of each
    "spikes and cosines": ([fa.SignedOneHot(N), dct()], [8, 8]),
    "spikes and steps": ([fa.SignedOneHot(N), steps()], [6, 5]),
    "groups and cosines": ([fa.Groups(np.arange(N) // 4), dct()], [4, 8]),
    "rows and cosines": ([fa.NonnegativeOneHot(N), dct()], [8, 8]),
    "below and cosines": ([-1.0 * fa.NonnegativeOneHot(N), -2.0 * dct()], [8, 8]),
    "in other units": ([0.5 * fa.SignedOneHot(N), -3.0 * dct()], [8, 8]),
    "three": ([fa.SignedOneHot(N), dct(), mixture()], [5, 5, 5]),
    "few columns": ([fa.SignedOneHot(N), smooth()], [8, 3]),
}


def superposed(sets, counts, seed, noise=0.0):
    """Parts drawn at random, with coefficients between 2 and 4 in the units of the atoms, and their noisy sum."""
    rng, parts = np.random.default_rng(seed), []
    for atoms, count in zip(sets, counts, strict=True):
        face = atoms.expose(rng.standard_normal(atoms.shape), count)
        c = rng.uniform(2.0, 4.0, face.dim) / abs(atoms.unwrapped().scale)
        if face.cone is not fa.faces.Cone.NONNEGATIVE:
            c = c * rng.choice([-1.0, 1.0], face.dim)
        parts.append(face.point(c))
    x = sum(p.reshape(parts[0].shape) for p in parts)
    return parts, x + noise * rng.standard_normal(x.shape)


def assert_found(s, parts, noise, counts):
    """Every part within a few times the noise that its atoms catch."""
    for part, truth, count in zip(s.parts, parts, counts, strict=True):
        assert part.cardinality <= count
        error = np.linalg.norm(np.ravel(part.x) - np.ravel(truth))
        assert error <= 1e-8 * np.linalg.norm(truth) + 8 * noise * math.sqrt(16 * count)
    np.testing.assert_allclose(sum(np.ravel(p.x) for p in s.parts), np.ravel(s.x), atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("name", VECTORS)
def test_superposed_parts_are_told_apart(name, kind, noise):
    sets, counts = VECTORS[name]
    for seed in range(2):
        parts, b = superposed(sets, counts, seed, noise)
        s = fa.fit(fa.Identity(N), b, atoms=kind(*sets), k=tuple(counts))
        assert_found(s, parts, noise, counts)
        assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("name", [n for n in VECTORS if n != "rows and cosines" and n != "below and cosines"])
def test_one_budget_a_bound_or_nothing_at_all(name, kind):
    """The same parts are found when less is said."""
    sets, counts = VECTORS[name]
    noise = 0.02
    parts, b = superposed(sets, counts, 3, noise)
    misfit = 1.1 * noise * math.sqrt(N) / np.linalg.norm(b)
    first = (counts[0], *(None,) * (len(counts) - 1))
    for options in (
        {"k": sum(counts)},
        {"k": first, "misfit": misfit},
        {"misfit": misfit},
        {"k": first},
        {"k": (None,) * len(counts)},
        {},
    ):
        s = fa.fit(fa.Identity(N), b, atoms=kind(*sets), **options)
        assert s.success
        assert_found(s, parts, noise, [3 * n for n in counts])
        if "misfit" in options:
            assert_honest(s, misfit)
        if isinstance(options.get("k"), int):
            assert s.cardinality <= sum(counts)


def test_noise_alone_is_not_taken_for_atoms():
    """Groups and matrices catch more of it than entries do: nothing is fitted, not everything."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(16), 16)
    for atoms in (fa.Groups(rows) + dct(), fa.RankOne(16, 16) + fa.Groups(rows), fa.RankOne(16, 16) | dct()):
        sizes = []
        for _ in range(4):
            b = rng.standard_normal(N)
            s = fa.fit(fa.Identity(atoms.shape if len(atoms.shape) > 1 else N), b, atoms=atoms)
            assert s.misfit >= 0.5
            sizes.append(s.cardinality)
        assert np.median(sizes) <= 1


def test_spikes_and_groups():
    """Spikes outside groups are told from groups; a group is worth more than spikes that would make it up."""
    rng = np.random.default_rng(0)
    labels, groups, spikes = np.arange(N) // 8, np.zeros(N), np.zeros(N)
    groups[labels == 3], groups[labels == 17] = rng.uniform(1, 3, 8), -rng.uniform(1, 3, 8)
    spikes[rng.permutation(np.flatnonzero(groups == 0))[:6]] = rng.choice([-2.0, 2.0], 6)
    for noise in (0.0, 0.02):
        b = groups + spikes + noise * rng.standard_normal(N)
        for atoms in (fa.Groups(labels) + fa.SignedOneHot(N), fa.Groups(labels) | 2.0 * fa.SignedOneHot(N)):
            s = fa.fit(fa.Identity(N), b, atoms=atoms, k=(2, 6))
            assert_found(s, [groups, spikes], noise, [2, 6])
            assert set(s.parts[0].indices) == {3, 17}


def test_cones_keep_their_signs():
    """Also where data ask for the opposite, and under negative units."""
    rng = np.random.default_rng(0)
    for sign in (1.0, -1.0, 2.0, -0.5):
        atoms = sign * fa.NonnegativeOneHot(N) | dct()
        for b in (rng.standard_normal(N), -np.ones(N) * sign, np.ones(N) * sign):
            for options in ({"k": (5, 3)}, {"k": 8}, {"misfit": 0.3}, {}):
                s = fa.fit(fa.Identity(N), b, atoms=atoms, **options)
                assert (s.parts[0].x * sign >= 0).all()
                assert s.parts[0].gauge == pytest.approx(np.abs(s.parts[0].x).sum() / abs(sign))


def test_vectors_of_any_length_without_a_matrix():
    n = 4096
    sets, counts = [fa.SignedOneHot(n), dct(n)], [60, 60]
    parts, b = superposed(sets, counts, 0)
    s = fa.fit(fa.Identity(n), b, atoms=sets[0] | sets[1], k=tuple(counts))
    assert_found(s, parts, 0.0, counts)
    assert s.misfit <= 1e-9


ROWS = np.repeat(np.arange(24)[:, None], 16, axis=1)  # one group per row
MATRIX_SETS = {
    "low rank and rows": ([fa.RankOne(24, 16), fa.Groups(ROWS)], [1, 2]),
    "low rank and cosines": ([fa.RankOne(24, 16), dct(24 * 16)], [1, 6]),
    "low rank, entries and rows": ([fa.RankOne(24, 16), fa.SignedOneHot((24, 16)), fa.Groups(ROWS)], [1, 8, 2]),
    "low rank and entries above": ([fa.RankOne(24, 16), fa.NonnegativeOneHot((24, 16))], [1, 10]),
    "low rank in a block": (
        [fa.RankOne(24, 16), fa.Mapped(block_map(24, 16, range(4, 12), range(2, 9)), fa.RankOne(8, 7))],
        [1, 1],
    ),
    "low rank in scattered entries": (
        [fa.RankOne(24, 16), fa.Mapped(block_map(24, 16, [1, 7, 9, 20, 21], range(0, 16, 2)), fa.RankOne(5, 8))],
        [1, 1],
    ),
}


def planted_matrices(sets, counts, seed):
    """Like `superposed`, with low-rank parts of entries about 1 and other atoms that stand out of them."""
    rng, parts = np.random.default_rng(seed), []
    for atoms, count in zip(sets, counts, strict=True):
        face = atoms.expose(rng.standard_normal(atoms.shape), count)
        if face.turning() is not None:
            w = atoms.unwrapped().inner
            c = np.diag(np.full(count, 1.5 * math.sqrt(w.n))).ravel()
        else:
            c = rng.uniform(4.0, 6.0, face.dim) if isinstance(atoms, fa.Groups) else rng.uniform(6.0, 9.0, face.dim)
            c = c if face.cone is fa.faces.Cone.NONNEGATIVE else c * rng.choice([-1.0, 1.0], face.dim)
        parts.append(face.point(c).reshape(24, 16))
    return parts


@pytest.mark.parametrize("share", [1.0, 0.85])
@pytest.mark.parametrize("name", MATRIX_SETS)
def test_matrices_of_several_scales(name, share):
    sets, counts = MATRIX_SETS[name]
    seed = int(share < 1)
    rng = np.random.default_rng(100 + seed)
    parts = planted_matrices(sets, counts, seed)
    X = sum(parts)
    seen = rng.random(X.shape) < share
    M, b = (fa.Identity(X.shape), X) if seen.all() else (fa.Sampling(*np.nonzero(seen), X.shape), X[seen])
    s = fa.fit(M, b, atoms=(Sum, Union)[seed](*sets), k=tuple(counts))
    clear = seen.copy()
    for atoms, truth in zip(sets, parts, strict=True):
        if isinstance(atoms, fa.Groups):  # a row of its own leaves nothing to tell about the other parts there
            clear[truth.any(axis=1)] = False
    for atoms, part, truth, count in zip(sets, s.parts, parts, counts, strict=True):
        assert part.cardinality <= count
        if isinstance(atoms, fa.Groups):
            assert set(part.indices) == set(np.flatnonzero(truth.any(axis=1)))
        else:
            error = np.linalg.norm((part.x.reshape(X.shape) - truth)[clear])
            assert error <= 0.05 * np.linalg.norm(truth)
    assert s.misfit <= 0.02


@pytest.mark.parametrize("seed", range(4))
def test_any_parts_any_budgets_any_data(seed):
    """What is said holds for data that no parts explain, too."""
    rng = np.random.default_rng(seed)
    sets = [
        fa.SignedOneHot(64), 2.0 * fa.NonnegativeOneHot(64), dct(64), fa.Groups(np.arange(64) % 9),
        fa.Mapped(HaarSynthesis(64, 3), fa.SignedOneHot(64)),
    ]  # fmt: skip
    for trial in range(8):
        chosen = [sets[i] for i in rng.permutation(5)[: 2 + trial % 2]]
        b = (rng.standard_normal(64), np.ones(64), np.eye(64)[5], rng.integers(-1, 2, 64) + 0.0)[trial % 4]
        each = tuple(int(rng.integers(1, 6)) for _ in chosen)
        for k in (each, sum(each), (None, *each[1:])):
            misfit = (None, 0.5, 0.05)[int(rng.integers(3))]
            s = fa.fit(fa.Identity(64), b, atoms=(Sum, Union)[trial % 2](*chosen), k=k, misfit=misfit)
            assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b), rel=1e-7, abs=1e-13)
            np.testing.assert_allclose(sum(p.x for p in s.parts), s.x, atol=1e-12)
            if isinstance(k, int):
                assert s.cardinality <= k
            else:
                assert all(j is None or p.cardinality <= j for p, j in zip(s.parts, k, strict=True))
            if misfit is not None:
                assert_honest(s, misfit)


# Whose a problem is, whatever it is wrapped in ------------------------------------------------------------------------


def opened(M, b, atoms, k, **wishes):
    problem = fa.Problem.of(M, b, atoms=atoms, k=k, **wishes)
    return Demixing().open(problem, [problem.budget])


def test_sums_of_orthonormal_atoms_over_entries():
    b, spikes, w = np.arange(1.0, N + 1), fa.SignedOneHot(N), np.arange(1.0, N + 1)
    for mine in [
        opened(fa.Identity(N), b, spikes + dct(), (1, 1)),
        opened(np.eye(N), b, spikes | dct(), 2),
        opened(np.eye(N)[::-2], b[::-2], spikes + dct(), (1, None)),
        opened(fa.Identity(N), b, spikes + dct(), None, misfit=0.1),
        opened(fa.Identity(N), b, spikes.restricted(exclude=[3]) + dct(), (1, 1)),
        opened(fa.Identity(N), b, spikes + dct(), (1, None), loss=fa.LeastSquares(w)),
        opened(fa.Identity(N), b, spikes + dct(), 3, loss=fa.LeastSquares(w)),
    ]:
        assert mine is not None
    skewed = fa.Mapped(np.triu(np.ones((N, N))), spikes)
    for other in [
        opened(fa.Identity(N), b, spikes, 1),
        opened(fa.Identity(N), b, spikes + skewed, (1, 1)),
        opened(2.0 * np.eye(N), b, spikes + dct(), (1, 1)),
        opened(fa.Identity(N), b, spikes + dct(), (1, 1), loss=fa.Huber(1.0)),
        opened(fa.Identity(N), b, spikes + dct(), (1, 1), loss=fa.LeastSquares(w)),
        opened(fa.Identity(N), b, spikes + dct(), (1, 1), free="intercept"),
    ]:
        assert other is None


@pytest.mark.parametrize("name", ["array", "sparse", "counted", "rows", "weights", "multiple"])
def test_wrappers_do_not_change_the_way(name):
    sets, counts = VECTORS["spikes and cosines"]
    _, b = superposed(sets, counts, 0, 0.02)
    plain = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), k=tuple(counts))
    M = {
        "array": np.eye(N),
        "sparse": sp.eye_array(N),
        "counted": fa.Counting(fa.Identity(N)),
        "rows": as_operator(fa.Identity(N)).subset(np.arange(N)),
    }.get(name, fa.Identity(N))
    loss = fa.LeastSquares(np.full(N, 2.0)) if name == "weights" else fa.LeastSquares()
    s = fa.fit(M, b, atoms=2.0 * Sum(*sets) if name == "multiple" else Sum(*sets), k=tuple(counts), loss=loss)
    np.testing.assert_allclose(s.x, plain.x, atol=1e-9)
    assert s.products == plain.products
    assert s.iterations == plain.iterations
    if name == "counted":
        assert s.products == M.products


def test_what_is_left_out_is_not_used():
    sets, counts = VECTORS["spikes and cosines"]
    _, b = superposed(sets, counts, 0, 0.02)
    used = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), k=tuple(counts)).parts[0].indices
    atoms = sets[0].restricted(exclude=used[:2]) + sets[1]
    s = fa.fit(fa.Identity(N), b, atoms=atoms, k=tuple(counts))
    assert not np.isin(used[:2], s.parts[0].indices).any()
    assert np.isin(used[2:], s.parts[0].indices).all()


@pytest.mark.parametrize("spread", [5.0])
def test_weights_that_differ(spread):
    """With numbers the general method tells the parts apart; what is left open is found; nothing is made up."""
    sets, counts = VECTORS["groups and cosines"]
    w = np.exp(np.random.default_rng(5).uniform(-math.log(spread), math.log(spread), N))
    loss = fa.LeastSquares(w)
    parts, b = superposed(sets, counts, 1)
    b = b + 0.02 * np.random.default_rng(6).standard_normal(N) / np.sqrt(w)
    s = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), k=tuple(counts), loss=loss)
    assert_found(s, parts, 0.02 * math.sqrt(spread), counts)
    assert s.loss == pytest.approx(loss.value(b - s.x), rel=1e-9)
    assert s.loss <= loss.value(b - sum(parts))
    for k in ((counts[0], None), 12, None):
        s = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), k=k, loss=loss)
        assert s.loss == pytest.approx(loss.value(b - s.x), rel=1e-9)
        assert s.misfit < 0.1 * spread
        assert k != 12 or s.cardinality <= 12


# Paths and stops ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spikes and cosines", "three"])
def test_paths_are_fits_side_by_side(name):
    sets, counts = VECTORS[name]
    _, b = superposed(sets, counts, 0)
    budgets = [tuple(counts), (None, *counts[1:]), sum(counts), (1,) * len(counts)]
    path = fa.fit_path(fa.Identity(N), b, atoms=Sum(*sets), k=budgets, method=Demixing())
    for k in budgets:
        alone = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), k=k, method=Demixing())
        np.testing.assert_array_equal(path[k].x, alone.x)
        assert path[k].products == alone.products
    assert path[tuple(counts)].misfit <= 1e-9


@pytest.mark.parametrize("options", [{"k": (8, 8)}, {"k": 16}, {"k": (8, None)}, {"misfit": 0.05}, {}], ids=str)
def test_runs_may_be_stopped_at_any_pass(options, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0)
    sets, counts = VECTORS["spikes and cosines"]
    _, b = superposed(sets, counts, 0, 0.02)
    answers, whole, stop = [], None, 0
    while whole is None:
        left = [stop]

        def callback(progress, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise StopIteration

        s = fa.fit(fa.Identity(N), b, atoms=Sum(*sets), callback=callback, **options)
        if s.status is fa.Status.STOPPED:
            answers.append(s)
        else:
            whole = s
        stop += 1
    assert len(answers) >= 8  # every rung of the ladder, every fit
    misfits = [s.misfit for s in answers]
    # equal atoms fitted once more differ by their last digit, on some machines
    assert np.round(misfits, 15).tolist() == sorted(np.round(misfits, 15).tolist(), reverse=True)
    assert answers[2].misfit < 0.9
    assert answers[-1].misfit == pytest.approx(whole.misfit, rel=1e-6)
    for s in answers:
        assert s.misfit == pytest.approx(np.linalg.norm(b - s.x) / np.linalg.norm(b), rel=1e-9)
        k = options.get("k")
        assert k != 16 or s.cardinality <= 16
        assert not isinstance(k, tuple) or all(j is None or p.cardinality <= j for p, j in zip(s.parts, k, strict=True))
