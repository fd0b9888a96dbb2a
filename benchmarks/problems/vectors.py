"""Sparse vectors: Sparco, planted regressions, gene expression, words, and large ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers.answers import Support, Vector
from benchmarks.peers.refits import logistic_loss
from fewatoms import datasets

SLACK = 1e-9  # relative; what rounding may add to a number that is compared
PEER_SLACK = 0.01  # the peers' own stopping rules let the misfit end a little above what was asked
Judged = tuple[dict[str, float], Any]


@dataclass(frozen=True, eq=False)
class Linear:
    """b = M x + noise with few atoms.

    truth : the true atoms, where known; noise : the norm of the noise, None where nobody knows it
    misfit : what is asked for, instead of k or beside it; free : "intercept", or nothing
    """

    M: Any
    b: Vector
    k: int
    truth: Any = None
    noise: float | None = None
    misfit: float | None = None
    free: str = ""
    size: int = 0  # bytes of M

    @cached_property
    def unit(self) -> Any:
        """For peers, which are not charged for it: a matrix with unit columns, in the order that all take without a
        copy, centred where there is an intercept. Matrices made with such columns are left alone."""
        if isinstance(self.M, LinearOperator):
            return np.asfortranarray(self.M @ np.eye(self.M.shape[1]))
        if self.truth is not None:
            return self.M
        M = self.M - self.M.mean(axis=0) if self.free else self.M
        norms = np.linalg.norm(M, axis=0)
        return np.asfortranarray(M / np.where(norms > 0, norms, 1.0))

    @property
    def target(self) -> Vector:
        """The data that go with `unit`: for the peers, centring is the intercept."""
        return self.b - self.b.mean() if self.free else self.b

    def judge(self, answer: Support) -> Judged:
        figures = dict(answer.facts)
        ours = "iterations" in figures
        if answer.unit:  # |b| is the same for all
            r = self.target - answer.image(self.unit)
        else:
            r = self.b - answer.image(self.M) - (answer.free if self.free else 0.0)
        figures["misfit"] = float(np.linalg.norm(r) / np.linalg.norm(self.b))
        figures["atoms"] = answer.counted()
        if self.misfit is not None and figures["misfit"] > self.misfit * (1 + (SLACK if ours else PEER_SLACK)):
            figures |= {"atoms": math.inf, "products": math.inf}
        if self.truth is not None and self.misfit is None:
            figures["share"] = float(np.isin(self.truth, answer.indices).mean())
            figures["exact"] = float(np.array_equal(np.sort(self.truth), answer.indices))
        return figures, None

    def memory(self, extra: int) -> dict[str, float]:
        return {"of_data": extra / self.size, "n_vectors": extra / (8 * self.M.shape[1])}


def small(name: str) -> Any:
    if name == "newsgroups":
        rng = np.random.default_rng(0)
        X = sparse.random_array((200, 60), density=0.2, rng=rng, format="csc")
        return Words(X, np.where(rng.random(200) < 0.4, 1.0, -1.0), 3, 100.0)
    d = datasets.sparse_regression(40, 80, 4, noise=0.1, rng=0)
    free = "intercept" if name == "expression" else ""
    M = sparse.csc_array(d.M) if name in ("wide_sparse", "giant_sparse") else np.asfortranarray(d.M)
    if name in ("sparco", "dct"):
        M = LinearOperator(d.M.shape, matvec=lambda x: d.M @ x, rmatvec=lambda y: d.M.T @ y, dtype=np.float64)
    truth = None if name == "expression" else np.flatnonzero(d.x)
    misfit = 0.2 if name in ("sparco", "authors") else None
    return Linear(M, d.b, 4, truth, 0.1, misfit, free, d.M.nbytes)


def sparco(name: str, k: int, misfit: float, seed: int) -> Linear:
    d = datasets.SPARCO[name](rng=seed)
    return Linear(d.M, d.b, k, misfit=misfit)


def authors(name: str, k: int, misfit: float, folder: Path, seed: int) -> Linear:
    """The data of the paper's authors."""
    found = np.load(folder / "sparco_authors.npz")
    operators = {
        "blocksig": lambda: datasets.HaarSynthesis(1024, 5),
        "cosspike": lambda: datasets.CosinesAndSpikes(1024),
        "spiketrn": lambda: datasets.CausalConvolution(found["kernel"], 1024),
    }
    return Linear(operators[name](), np.ravel(found[name]).astype(np.float64), k, misfit=misfit)


def regression(
    m: int, n: int, k: int, noise: float, seed: int, *, correlation: float = 0.0, coefficients: Any = "signs",
    draw: int = 0,
) -> Linear:  # fmt: skip
    d = datasets.sparse_regression(
        m, n, k, noise=noise, correlation=correlation, coefficients=coefficients, rng=[seed, draw]
    )
    assert d.x is not None
    level = float(np.linalg.norm(d.b - d.M @ d.x)) if noise else 0.0
    return Linear(d.M, d.b, k, np.flatnonzero(d.x), level, size=d.M.nbytes)


def table(m: int, n: int, k: int, noise: float, seed: int, *, coefficients: str) -> Linear:
    """Rows and columns as they come from a file: no unit columns, row after row; nobody is told the truth."""
    rng = np.random.default_rng(seed)
    M, places = rng.standard_normal((m, n)), rng.choice(n, k, replace=False)
    sizes = {"signs": np.ones(k), "sizes": rng.uniform(1, 2, k), "gaussian": np.abs(rng.standard_normal(k))}
    clean = M[:, places] @ (rng.choice([-1.0, 1.0], k) * sizes[coefficients])
    e = rng.standard_normal(m)
    return Linear(M, clean + noise * np.linalg.norm(clean) / np.linalg.norm(e) * e, k)


def expression(file: str, keys: tuple[str, str], k: int, folder: Path, seed: int, *, free: str = "") -> Linear:
    """Few genes out of thousands, the data as they come for us."""
    data = np.load(folder / file)
    X, y = (np.asarray(data[key], dtype=np.float64) for key in keys)
    return Linear(X, y, k, free=free)


@dataclass(frozen=True, eq=False)
class Words:
    """Logistic regression on words: M = diag(t) X has the labels t in it, so the intercept's column is t."""

    X: Any
    t: Vector
    k: int
    cap: float

    @cached_property
    def M(self) -> Any:
        return sparse.csc_array(sparse.diags_array(self.t) @ self.X)

    @property
    def b(self) -> Vector:
        return np.zeros(self.t.size)

    @property
    def free(self) -> Vector:
        return self.t[:, None]

    def judge(self, answer: Support) -> Judged:
        loss = logistic_loss(answer.image(self.M) + self.t * answer.free)
        largest = float(np.abs(answer.coefficients).max(initial=0.0))
        return {**answer.facts, "loss": loss, "atoms": answer.counted(0.0), "largest": largest}, None


def newsgroups(index: int, k: int, cap: float, folder: Path, seed: int, *, rows: int | None = None) -> Words:
    """One class against the rest."""
    t = np.where(np.load(folder / "newsgroups20_labels.npz")["y_train"] == index, 1.0, -1.0)
    X = sparse.csr_array(sparse.load_npz(folder / "newsgroups20_train_tfidf.npz"), dtype=np.float64)
    return Words(X[:rows].tocsc(), t[:rows], k, cap)


# Large


class SubsampledDCT(LinearOperator):  # type: ignore[misc]
    """Some entries of the orthonormal discrete cosine transform; holds the list of the entries and nothing else."""

    def __init__(self, n: int, rows: NDArray[np.intp]) -> None:
        self.rows = rows
        super().__init__(np.dtype(np.float64), (rows.size, n))

    def _matvec(self, x: Vector) -> Vector:
        return fft.dct(np.ravel(x), norm="ortho")[self.rows]

    def _rmatvec(self, y: Vector) -> Vector:
        spread = np.zeros(self.shape[1])
        spread[self.rows] = np.ravel(y)
        return fft.idct(spread, norm="ortho", overwrite_x=True)


def wide_dense(m: int, n: int, k: int, seed: int) -> Linear:
    rng = np.random.default_rng(seed)
    columns = np.empty((n, m))
    rng.standard_normal(out=columns)  # in place: nothing but M itself is ever held
    columns /= np.sqrt(m)
    return _plant(columns.T, rng, k, 0.01, "signs", columns.nbytes)


def wide_sparse(m: int, n: int, entries: int, k: int, seed: int) -> Linear:
    rng = np.random.default_rng(seed)
    places = rng.integers(m, size=entries), rng.integers(n, size=entries)
    M = sparse.csc_array((rng.standard_normal(entries), places), shape=(m, n))
    M.indices, M.indptr = M.indices.astype(np.int32), M.indptr.astype(np.int32)  # celer takes no others
    entries_of = np.diff(M.indptr)
    M.data /= np.repeat(sparse.linalg.norm(M, axis=0), entries_of)  # the peers need unit columns to do well
    size = M.data.nbytes + M.indices.nbytes + M.indptr.nbytes
    # A column with one entry is a multiple of others with one entry in that row: nobody could tell which was planted.
    return _plant(M, rng, k, 0.01, "signs", size, among=np.flatnonzero(entries_of > 1))


def giant_sparse(m: int, n: int, entries: int, k: int, by: str, kind: str, seed: int) -> Linear:
    """As many entries in each row, or each column, at places of any kind; noise of a tenth."""
    rng = np.random.default_rng(seed)
    lines, across = (m, n) if by == "csr" else (n, m)
    places = rng.integers(across, size=(lines, entries // lines), dtype=np.int32)
    places.sort(axis=1)
    starts = np.arange(lines + 1, dtype=np.int32) * np.int32(places.shape[1])
    make = sparse.csr_array if by == "csr" else sparse.csc_array
    values = rng.standard_normal(places.size).astype(kind)
    M = make((values, places.ravel(), starts), shape=(m, n))
    return _plant(M, rng, k, 0.1, "signs", values.nbytes + places.nbytes + starts.nbytes)


def dct(n: int, k: int, seed: int, *, coefficients: str = "signs", share: float = 1 / 8, noise: float = 0.0) -> Linear:
    """Some of n cosines, at random."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, int(share * n), replace=False))
    return _plant(SubsampledDCT(n, rows), rng, k, noise, coefficients, rows.nbytes)


def _plant(M: Any, rng: Any, k: int, noise: float, coefficients: str, size: int, among: Any = None) -> Linear:
    truth = np.sort(rng.choice(M.shape[1] if among is None else among, k, replace=False))
    c = rng.choice([-1.0, 1.0], k) if coefficients == "signs" else rng.standard_normal(k)
    b = Support.of(truth, c).image(M)
    error = rng.standard_normal(b.size)
    level = noise * float(np.linalg.norm(b))
    return Linear(M, b + level / np.linalg.norm(error) * error, k, truth, level, size=size)
