"""One dictionary and many signals: mixtures of mineral spectra, Gaussian atoms, cosines in two directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]
ANGLE = 3.0  # degrees; a spectrum nearer than this to one that is kept is left out
DECIBELS = (30.0, 40.0)


@dataclass(frozen=True, eq=False)
class Signals:
    """B = D X + noise, each column of X with k nonzeros at the places in `truth`, k x p."""

    D: Vector
    B: Vector
    k: int
    truth: Any
    nonnegative: bool = False

    @cached_property
    def unit(self) -> tuple[Vector, Vector]:
        """For peers, which are not charged for it: unit columns, and the lengths that they had."""
        lengths = np.linalg.norm(self.D, axis=0)
        return np.asfortranarray(self.D / lengths), lengths

    @cached_property
    def data(self) -> Vector:
        return np.asfortranarray(self.B)

    @cached_property
    def planted(self) -> Vector:
        """Misfits of the planted atoms, fitted: what noise leaves."""
        return self.misfits(planted(self))

    def misfits(self, X: Any) -> Vector:
        return np.linalg.norm(self.B - self.D @ X, axis=0) / np.linalg.norm(self.B, axis=0)

    def judge(self, answer: Any) -> Judged:
        X = np.asarray(answer.x)
        assert np.count_nonzero(X, axis=0).max() <= self.k
        assert not (self.nonnegative and X.min() < 0)
        misfits = self.misfits(X)
        found = np.take_along_axis(X, self.truth, axis=0) != 0
        figures = {
            "signal": 1e6 * answer.spent / self.B.shape[1],
            "misfit": float(misfits.mean()),
            "over_truth": float((misfits / self.planted).mean()),
            "share": float(found.mean()),
        }
        return figures, None


def planted(signals: Signals) -> Vector:
    """The planted atoms, fitted."""
    X = np.zeros((signals.D.shape[1], signals.B.shape[1]))
    for i, atoms in enumerate(signals.truth.T):
        A, b = signals.D[:, atoms], signals.B[:, i]
        X[atoms, i] = nnls(A, b)[0] if signals.nonnegative else np.linalg.lstsq(A, b)[0]
    return X


def small(name: str) -> Signals:
    rng = np.random.default_rng(0)
    D = np.abs(rng.standard_normal((20, 40)))
    return _mixed(D, 30, 2, rng, np.full(30, 0.01), nonnegative=name == "minerals")


def minerals(count: int, k: int, folder: Path, seed: int) -> Signals:
    """Mixtures of a few minerals, their shares adding up to one, seen at 30 to 40 dB."""
    spectra = np.load(folder / "usgs_spectra.npz")["datalib"][:, 3:]  # after wavelength, resolution, channel
    rng = np.random.default_rng(seed)
    noise = 10 ** (-rng.uniform(*DECIBELS, count) / 20)
    return _mixed(_apart(spectra), count, k, rng, noise, nonnegative=True)


def _apart(spectra: Vector) -> Vector:
    """One after the other, unless it is too near to one before."""
    unit = spectra / np.linalg.norm(spectra, axis=0)
    close = unit.T @ unit > np.cos(np.radians(ANGLE))
    kept: list[int] = []
    for j in range(spectra.shape[1]):
        if not close[j, kept].any():
            kept.append(j)
    return spectra[:, kept]


def gaussian(m: int, n: int, count: int, k: int, noise: float, seed: int) -> Signals:
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, n))
    return _mixed(D / np.linalg.norm(D, axis=0), count, k, rng, np.full(count, noise))


def cosines(side: int, across: int, count: int, k: int, noise: float, seed: int) -> Signals:
    """Patches of side x side pixels; products of cosines, `across` frequencies in each direction, of mean zero but for
    the first: the usual dictionary to begin K-SVD with."""
    C = np.cos(np.pi * np.outer(np.arange(side), np.arange(across)) / across)
    C[:, 1:] -= C[:, 1:].mean(axis=0)
    C /= np.linalg.norm(C, axis=0)
    rng = np.random.default_rng(seed)
    return _mixed(np.kron(C, C), count, k, rng, np.full(count, noise))


def _mixed(D: Vector, count: int, k: int, rng: Any, noise: Vector, *, nonnegative: bool = False) -> Signals:
    n = D.shape[1]
    truth = np.stack([rng.choice(n, k, replace=False) for _ in range(count)], axis=1)
    c = rng.dirichlet(np.ones(k), count).T if nonnegative else rng.standard_normal((k, count))
    clean = np.einsum("ikp,kp->ip", D[:, truth], c)
    e = rng.standard_normal(clean.shape)
    B = clean + noise * np.linalg.norm(clean, axis=0) / np.linalg.norm(e, axis=0) * e
    return Signals(np.ascontiguousarray(D), B, k, truth, nonnegative)
