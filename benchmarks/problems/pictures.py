"""Pictures with holes: some pixels are seen, atoms are cosines in two directions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers.answers import Vector
from benchmarks.problems.phase import picture

Judged = tuple[dict[str, Any], Any]


class SeenCosines(LinearOperator):  # type: ignore[misc]
    """From the coefficients of the orthonormal cosine transform of a picture to some of its pixels."""

    def __init__(self, side: int, seen: NDArray[np.intp]) -> None:
        self.side, self.seen = side, seen
        super().__init__(np.dtype(np.float64), (seen.size, side * side))

    def whole(self, x: Vector) -> Vector:
        return fft.idctn(np.reshape(x, (self.side, self.side)), norm="ortho").ravel()

    def _matvec(self, x: Vector) -> Vector:
        return self.whole(x)[self.seen]

    def _rmatvec(self, y: Vector) -> Vector:
        spread = np.zeros(self.side**2)
        spread[self.seen] = np.ravel(y)
        return fft.dctn(spread.reshape(self.side, self.side), norm="ortho").ravel()


@dataclass(frozen=True, eq=False)
class Holes:
    """b are the pixels of `image` that are seen."""

    M: SeenCosines
    b: Vector
    image: Vector
    k: int
    misfit: float

    def judge(self, answer: Any) -> Judged:
        """The error is that of the picture, seen or not."""
        x = np.asarray(answer.x)
        whole = self.M.whole(x)
        figures = {
            "error": float(np.linalg.norm(whole - self.image) / np.linalg.norm(self.image)),
            "misfit": float(np.linalg.norm(whole[self.M.seen] - self.b) / np.linalg.norm(self.b)),
            "atoms": int(np.count_nonzero(x)),
        }
        return {**answer.facts, **figures}, None


def small(name: str) -> Holes:
    return _seen(picture(16), 0.4, 20, 0.2, 0)


def drawn(side: int, share: float, k: int, misfit: float, seed: int) -> Holes:
    """Sky, hills, a house."""
    return _seen(picture(side), share, k, misfit, seed)


def photograph(name: str, side: int, share: float, k: int, misfit: float, seed: int) -> Holes:
    """One of the two that come with scikit-learn: the middle of it, in grey."""
    from sklearn.datasets import load_sample_image

    return _seen(_shrunk(load_sample_image(name).mean(axis=2), side), share, k, misfit, seed)


def face(side: int, share: float, k: int, misfit: float, folder: Path, seed: int) -> Holes:
    faces = np.load(folder / "faces_64_lights.npz")["faces"]
    return _seen(_shrunk(faces[seed % len(faces)].astype(np.float64), side), share, k, misfit, seed)


def _shrunk(image: Vector, side: int) -> Vector:
    """The middle square, in means over blocks of pixels."""
    factor = min(image.shape) // side
    size = factor * side
    top, left = ((n - size) // 2 for n in image.shape)
    square = image[top : top + size, left : left + size]
    return square.reshape(side, factor, side, factor).mean(axis=(1, 3)) / 255


def _seen(image: Vector, share: float, k: int, misfit: float, seed: int) -> Holes:
    rng = np.random.default_rng(seed)
    seen = np.sort(rng.choice(image.size, round(share * image.size), replace=False))
    return Holes(SeenCosines(len(image), seen), image.ravel()[seen], image.ravel(), k, misfit)
