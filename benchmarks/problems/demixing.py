"""Sums of two parts: low rank plus sparse (faces, a video, planted), pixels plus waves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers.answers import Vector
from benchmarks.peers.plain import alternating_projection, default_weight, largest_entries
from fewatoms import datasets

Judged = tuple[dict[str, float], Any]
FAR = 20  # grey levels


def relative(difference: Vector, reference: Vector) -> float:
    """To nothing, in units of its own."""
    return float(np.linalg.norm(difference) / (np.linalg.norm(reference) or 1.0))


@dataclass(frozen=True, eq=False)
class Matrix:
    """X = L + S + noise, the longer side as rows.

    k : the rank of L and the number of entries of S; misfit : what is asked of pursuit
    truth : L and S, where known; background : of a video; picture : the shape of a column
    seen : which entries are given, if not all
    lit : whether the brightness of every column of L is compared with that of our L of rank k[0]
    """

    X: Vector
    k: tuple[int, int]
    misfit: float = 1e-4
    truth: tuple[Vector, Vector] | None = None
    background: Vector | None = None
    picture: tuple[int, ...] = ()
    seen: Vector | None = None
    lit: bool = False

    @cached_property
    def brightness(self) -> Vector:
        """Of the columns of L of a rank that is told."""
        import fewatoms as fa

        atoms = fa.RankOne(*self.X.shape) + fa.SignedOneHot(self.X.shape)
        return fa.fit(fa.Identity(self.X.shape), self.X, atoms=atoms, k=(self.k[0], None)).parts[0].x.mean(axis=0)

    def memory(self, extra: int) -> dict[str, float]:
        return {"of_data": extra / self.X.nbytes}

    @cached_property
    def gauges(self) -> tuple[float, float]:
        """Of the two parts; where nobody knows them, of what alternating projection finds."""
        L, S = self.truth or alternating_projection.solve(self, None).pair
        return float(np.linalg.svd(L, compute_uv=False).sum()), float(np.abs(S).sum())

    def judge(self, answer: Any) -> Judged:
        L, S = answer.pair
        figures = dict(answer.facts)
        if self.background is not None:
            off = np.abs(L.mean(axis=1) - self.background.ravel())
            figures |= {"error": float(off.mean()), "far": float(np.mean(off > FAR))}
        else:
            s = np.sqrt(np.maximum(np.linalg.eigvalsh(L.T @ L), 0.0))
            figures["objective"] = float(s.sum() + default_weight(self.X) * np.abs(S).sum())
            # Singular values by the Gram matrix are known to 1e-8 of the largest.
            figures["rank"] = int(np.count_nonzero(s > 1e-6 * s.max()))
            R = self.X - L
            figures["trimmed"] = relative(R - largest_entries(R, self.k[1]), self.X)
        figures |= {"residual": relative(self.X - L - S, self.X), "entries": float(np.count_nonzero(S) / S.size)}
        if self.truth is not None:
            figures["right_rank"] = float(figures.get("rank") == self.k[0])
            figures |= _overlap(S != 0, self.truth[1] != 0)
            figures |= {n: relative(a - t, t) for n, a, t in zip(("low", "sparse"), (L, S), self.truth, strict=True)}
        if self.lit:
            figures["dimmed"] = float(np.abs(L.mean(axis=0) / self.brightness - 1).max())
        if answer.certified:
            figures |= answer.proven()
        pictures = (L, S, self.X, self.picture, self.background) if self.picture else None
        return figures, {"trace": answer.trace, "pictures": pictures}


def _overlap(found: Vector, true: Vector) -> dict[str, float]:
    """How many of the entries found are true, and of the true ones found; 1 where there are none to ask about."""
    both = np.count_nonzero(found & true)
    return {
        "precision": both / max(1, np.count_nonzero(found)) if found.any() else 1.0,
        "recall": both / max(1, np.count_nonzero(true)) if true.any() else 1.0,
    }


def small(name: str) -> Any:
    if name == "sky":
        return sky(32, 20, 10, 0.0, 0)
    if name in ("drawn", "stack", "planted"):
        return planted(60, 20, 2, 0.1, 0)
    return planted(2000, 64, 2, 0.05, 0)  # enough that loops are compiled which would not be for fewer


def faces(file: str, rank: int, share: float, folder: Path, seed: int, *, every: int = 1, lit: bool = False) -> Matrix:
    """One face under many lights, one column for each; values from 0 to 1."""
    pictures = np.load(folder / file)["faces"][::every, ::every, ::every]
    X = np.ascontiguousarray(pictures.reshape(len(pictures), -1).T, dtype=np.float64) / 255
    return Matrix(X, (rank, round(share * X.size)), picture=pictures.shape[1:], lit=lit)


def video(file: str, folder: Path, seed: int, *, rank: int = 1, every: int = 1, frames: int = 1) -> Matrix:
    """One column per frame; `every` pixel and so many frames apart."""
    data = np.load(folder / file)
    seen, truth = data["frames"][::frames, ::every, ::every], data["background"][::every, ::every].astype(np.float64)
    X = np.ascontiguousarray(seen.reshape(len(seen), -1).T, dtype=np.float64)
    return Matrix(X, (rank, 0), background=truth, picture=truth.shape)


def planted(p: int, q: int, rank: int, share: float, seed: int, *, misfit: float = 1e-3) -> Matrix:
    d = datasets.low_rank_plus_sparse(p, q, rank, corrupted=share, rng=seed)
    L, S = d.low_rank_left @ d.low_rank_right.T, d.sparse.toarray()
    return Matrix(d.X, (rank, int(np.count_nonzero(S))), misfit, (L, S))


def drawn(seed: int, *, share: float = 1.0, errors: float | None = None) -> Matrix:
    """A small table: 20 to 60 rows, 10 to 40 columns, rank 1 to 3, 5 to 10 % gross errors if nothing else is said,
    little noise."""
    rng = np.random.default_rng([seed, 1])
    p, q, rank = int(rng.integers(20, 61)), int(rng.integers(10, 41)), int(rng.integers(1, 4))
    noise, wrong = rng.uniform(0.01, 0.1), rng.uniform(0.05, 0.1)
    wrong = wrong if errors is None else errors
    L = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q))
    seen = rng.random(L.shape) < share
    S = np.where(seen & (rng.random(L.shape) < wrong), rng.choice([-1.0, 1.0], L.shape), 0.0)
    S *= rng.uniform(2.0, 10.0, L.shape)
    E = noise * rng.standard_normal(L.shape)
    X = np.where(seen, L + S + E, 0.0)
    misfit = relative(E[seen], X)
    return Matrix(X, (rank, int(np.count_nonzero(S))), misfit, (L, S), seen=None if share == 1 else seen)


STACKS = ("moving", "lingering", "light", "shade", "still")


def stack(kind: str, side: int, frames: int, seed: int, *, stay: float = 0.3) -> Matrix:
    """A film of a still wall, one column per frame, grey levels as integers.

    moving : a block crosses it. lingering : it stops for a share `stay` of the frames. light : besides, a lamp on one
    side goes up and down. shade : the block, and a soft shade around it. still : nothing moves
    """
    rng = np.random.default_rng([seed, STACKS.index(kind)])
    y, x = np.mgrid[:side, :side] / side
    wall = 120 + 40 * np.sin(5 * x + 1) * np.cos(4 * y) + 20 * rng.standard_normal((side, side))
    lamp = np.zeros(frames) if kind != "light" else np.sin(2 * np.pi * np.arange(frames) / frames)
    L = wall[:, :, None] + 40 * x[:, :, None] * lamp
    S, size = np.zeros_like(L), side // 5
    for t in range(frames if kind != "still" else 0):
        at = t / (frames - 1)
        stop = 0.5 * (1 - stay)
        at = (min(at, stop) + max(at - stop - stay, 0.0)) / (1 - stay) if kind == "lingering" else at
        left, top = round(at * (side - size)), side // 3
        if kind == "shade":
            S[top + size : top + 2 * size, left : left + size, t] = -30.0
        S[top : top + size, left : left + size, t] = 230.0 - L[top : top + size, left : left + size, t]
    X = np.clip(np.round(L + S + 2.0 * rng.standard_normal(L.shape)), 0, 255).reshape(-1, frames)
    L, S = L.reshape(X.shape), S.reshape(X.shape)
    misfit = 2.0 * math.sqrt(X.size) / float(np.linalg.norm(X))
    return Matrix(X, (2 if kind == "light" else 1, int(np.count_nonzero(S))), misfit, (L, S))


# Pixels plus waves


@dataclass(frozen=True, eq=False)
class Sky:
    """Stars in single pixels, of log-normal brightness; a texture of few waves; white noise."""

    side: int
    k: tuple[int, int]
    b: Vector
    stars: Vector
    texture: Vector
    misfit: float

    @cached_property
    def waves(self) -> LinearOperator:
        """Synthesis by the orthonormal cosine transform of a square picture."""
        square = (self.side, self.side)
        return LinearOperator(
            (self.b.size, self.b.size),
            matvec=lambda w: idctn(w.reshape(square), norm="ortho").ravel(),
            rmatvec=lambda x: dctn(x.reshape(square), norm="ortho").ravel(),
            dtype=np.float64,
        )

    def errors(self, stars: Vector, texture: Vector) -> dict[str, float]:
        return {
            "stars": relative(stars - self.stars, self.stars),
            "texture": relative(texture - self.texture, self.texture),
        }

    def judge(self, answer: Any) -> Judged:
        u, w = answer.vectors
        worst = self.errors(u, w)
        return {**answer.facts, **worst, "error": max(worst.values())}, {
            "sky": (self.side, self.stars, self.texture, self.b, u, w)
        }

    def memory(self, extra: int) -> dict[str, float]:
        return {"n_vectors": extra / (8 * self.b.size)}


def sky(side: int, stars: int, waves: int, noise: float, seed: int) -> Sky:
    rng = np.random.default_rng([seed, side, stars, waves])
    n = side * side
    pixels, w = np.zeros(n), np.zeros(n)
    pixels[rng.choice(n, stars, replace=False)] = rng.lognormal(0.0, 0.4, stars)
    band = side // 2  # of frequencies in each direction
    rows, cols = np.divmod(rng.choice(band * band, waves, replace=False), band)
    w[rows * side + cols] = rng.choice([-1.0, 1.0], waves) * rng.lognormal(0.0, 0.4, waves)
    # Most of what is seen is texture: twice as long as the stars.
    texture = 2 * math.sqrt(stars / waves) * idctn(w.reshape(side, side), norm="ortho").ravel()
    clean, e = pixels + texture, rng.standard_normal(n)
    b = clean + noise * np.linalg.norm(clean) * e / np.linalg.norm(e)
    return Sky(side, (stars, waves), b, pixels, texture, max(noise, 1e-6))
