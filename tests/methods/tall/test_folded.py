"""k chosen by rows left out, over blocks: by Gram matrices of the folds, in one pass, and by rows picked out."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.operators import RowBlocks, passes

N = 9
CUTS = (0, 80, 81, 210, 300)


@pytest.fixture
def went(monkeypatch):
    """How often all blocks were gone through."""
    count = [0]

    def counted(method):
        def again(*args, **words):
            count[0] += 1
            return method(*args, **words)

        return again

    for name in ("over_rows", "apply_block", "adjoint", "adjoint_block", "columns"):
        monkeypatch.setattr(RowBlocks, name, counted(getattr(RowBlocks, name)))
    return count


def draw(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((CUTS[-1], N)) + 2.0
    A[:, 5] *= 1e3
    x = np.zeros(N)
    x[[1, 4, 5]] = [1.0, -0.6, 5e-4]
    return A, A @ x + 3.0 + rng.standard_normal(len(A)), rng.uniform(0.5, 2.0, len(A))


def blocks(A):
    return RowBlocks.of([A[a:b] for a, b in pairwise(CUTS)], engine="serial")


WAYS = {
    "plain": {},
    "intercept": {"free": "intercept"},
    "ridges": {"free": "intercept", "ridge": [0.0, 0.3, 3.0]},
    "auto": {"ridge": "auto"},
    "weights": {"loss": fa.LeastSquares(weights=draw()[2]), "free": "intercept"},
    "columns beside": {"free": np.random.default_rng(9).standard_normal((CUTS[-1], 2))},
    "nonnegative": {"nonnegative": True},
}


def path(M, b, nonnegative=False, **words):
    atoms = fa.NonnegativeOneHot(N) if nonnegative else fa.SignedOneHot(N)
    return fa.fit_path(M, b, atoms=atoms, k=range(1, 7), **words)


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_those_of_rows_in_memory(way, went):
    A, b, _ = draw()
    whole, cut = path(A, b, **WAYS[way]), path(blocks(A), b, **WAYS[way])
    went[0] = 0
    assert cut.choose_k("cv") == whole.choose_k("cv")
    rounds = 3 if len(cut.ridges) > 1 else 1
    assert went[0] <= rounds + 2  # one for the folds of each round; the answer chosen is searched and looked at again
    np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-9)
    np.testing.assert_allclose(cut.errors["cv"], whole.errors["cv"], rtol=1e-6, atol=1e-12)
    assert cut.ridge == whole.ridge
    went[0] = 0
    assert cut.choose_k("held-out") == whole.choose_k("held-out") if len(cut.ridges) == 1 else True
    np.testing.assert_allclose(cut.best.loss, whole.best.loss, rtol=1e-9)


def test_rows_left_out_as_they_are_given():
    A, b, _ = draw(1)
    whole, cut = path(A, b, free="intercept"), path(blocks(A), b, free="intercept")
    overlapping = [np.arange(0, 90), np.arange(60, 150), np.array([299])]
    pairs = [(np.arange(0, 100), np.arange(120, 200)), (np.arange(50, 250), np.arange(250, 290))]
    for folds in (overlapping, pairs):
        assert cut.choose_k("cv", folds=folds) == whole.choose_k("cv", folds=folds)
        np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-9)


def test_few_folds_at_a_time_where_matrices_are_large(monkeypatch, went):
    from fewatoms.methods.tall import folded

    A, b, _ = draw(2)
    whole, cut = path(A, b), path(blocks(A), b)
    monkeypatch.setattr(folded, "FOLDS_ROOM", 3 * (N + 1) ** 2)
    went[0] = 0
    assert cut.choose_k("cv") == whole.choose_k("cv")
    assert went[0] <= 3 + 2  # two folds in a pass
    np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-9)


def test_sparse_blocks():
    A, b, _ = draw(3)
    A[np.random.default_rng(3).random(A.shape) < 0.5] = 0.0
    pieces = [sp.csr_array(A[a:b]) for a, b in pairwise(CUTS)]
    whole, cut = path(A, b), path(RowBlocks.of(pieces, engine="serial"), b)
    assert cut.choose_k("cv") == whole.choose_k("cv")
    np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-9)


def test_what_a_gram_matrix_does_not_see_is_left_to_the_rows(went):
    A, b, _ = draw(4)
    A[:, 8] = A[:, 7] + 1e-7 * np.random.default_rng(4).standard_normal(len(A))
    whole, cut = path(A, b), path(blocks(A), b)
    went[0] = 0
    cut.choose_k("cv"), whole.choose_k("cv")
    assert went[0] > 3
    np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-4)


def test_a_choice_that_is_stopped_tells_the_folds_done():
    A, b, _ = draw(5)
    cut = path(blocks(A), b)

    def stop(_):
        raise StopIteration

    cut.choose_k("cv", callback=stop)
    assert cut.chosen_by == "bic"
    assert cut.folds == (0, 5)


# Rows picked out of blocks --------------------------------------------------------------------------------------------


def test_rows_that_are_too_many_to_be_read_are_picked(monkeypatch):
    A, _, _ = draw(6)
    rng = np.random.default_rng(6)
    monkeypatch.setattr(passes, "READ_AT_MOST", 10)
    for rows in (
        np.arange(80, 81),
        np.arange(90, 300),
        np.sort(rng.choice(300, 200, replace=False)),
        rng.permutation(300),
    ):
        part, whole = blocks(A).subset(rows), A[rows]
        assert part.shape == whole.shape
        x, y = rng.standard_normal(N), rng.standard_normal(len(rows))
        np.testing.assert_allclose(part.apply(x), whole @ x, rtol=1e-12)
        np.testing.assert_allclose(part.adjoint(y), whole.T @ y, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(part.columns(np.array([3, 5])), whole[:, [3, 5]], rtol=1e-14)
        if isinstance(part, RowBlocks):
            np.testing.assert_allclose(part.column_lengths(), np.linalg.norm(whole, axis=0), rtol=1e-12)
        some = np.sort(rng.choice(len(rows), max(1, len(rows) // 2), replace=False))
        np.testing.assert_allclose(part.subset(some).apply(x), whole[some] @ x, rtol=1e-12)


@pytest.mark.parametrize("loss", [fa.Logistic(), fa.Huber(100.0), fa.LeastSquares()])
def test_folds_of_picked_rows_are_those_of_rows_in_memory(monkeypatch, loss):
    A, b, _ = draw(7)
    b = (b > np.median(b)).astype(int) if isinstance(loss, fa.Logistic) else b
    monkeypatch.setattr(passes, "READ_AT_MOST", 10)
    words = {"atoms": fa.SignedOneHot(N), "k": range(1, 4), "loss": loss}
    whole, cut = fa.fit_path(A, b, **words), fa.fit_path(blocks(A), b, **words)
    assert cut.choose_k("cv", folds=3) == whole.choose_k("cv", folds=3)
    np.testing.assert_allclose(cut.scores["cv"], whole.scores["cv"], rtol=1e-4)
