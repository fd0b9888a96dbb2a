"""Coded diffraction patterns: Fourier transforms of a masked signal, through the FFT."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks
from fewatoms._types import Array, FloatArray


class CodedDiffraction(LinearOperator):  # type: ignore[misc]
    """x -> (F(d_1 x), ..., F(d_L x)), one pattern after the other, for `Quadratic`: its data are |F(d_l x)|^2.

    Parameters
    ----------
    masks : (L, n) or (L, h, w) array, real or complex
        The modulations d_l. With two axes F is the transform of vectors of length n, with three that of pictures of
        h x w pixels, given flat in C order: n = h w.

    Notes
    -----
    F is unitary (the FFT divided by sqrt(n)), so that for masks of modulus 1 the operator is sqrt(L) times an isometry;
    data in the units of the plain FFT are to be divided by n. Nothing larger than the data is formed.
    """

    def __init__(self, masks: Any) -> None:
        masks = np.asarray(masks)
        if masks.ndim not in (2, 3) or 0 in masks.shape:
            raise ValueError(f"masks must have shape (L, n) or (L, h, w), with L of at least 1; got {masks.shape}")
        if masks.dtype.kind not in "biufc":
            raise TypeError(f"masks must hold numbers; got an array of {masks.dtype}")
        _checks.finite("masks", masks)
        self.masks: Array = masks.astype(np.complex128 if masks.dtype.kind == "c" else np.float64)
        self.signal_shape: tuple[int, ...] = self.masks.shape[1:]
        n = math.prod(self.signal_shape)
        self._axes = tuple(range(-len(self.signal_shape), 0))
        super().__init__(np.dtype(np.complex128), (len(masks) * n, n))

    def __repr__(self) -> str:
        size = " x ".join(str(s) for s in self.signal_shape)
        return f"CodedDiffraction({len(self.masks)} patterns of {size})"

    @classmethod
    def random(cls, shape: Any, patterns: int, *, rng: Any = None) -> CodedDiffraction:
        """Octanary masks: independent entries, a random one of 1, -1, i, -i times sqrt(1/2) four times out of five and
        sqrt(3) else.

        shape : n, or (h, w) for pictures; patterns : how many masks; rng : seed or Generator, a fixed seed by default

        Reference: Candes, Li, Soltanolkotabi, "Phase retrieval from coded diffraction patterns", Applied and
        Computational Harmonic Analysis 39 (2015).
        """
        sides = (shape,) if np.ndim(shape) == 0 else tuple(shape)
        if len(sides) not in (1, 2):
            raise ValueError(f"shape must be n or (h, w); got {shape!r}")
        sides = tuple(_checks.integer("shape", side, 1) for side in sides)
        size = (_checks.integer("patterns", patterns, 1), *sides)
        generator = _checks.generator(rng)
        phase = generator.choice(np.array([1, -1, 1j, -1j]), size)
        return cls(phase * np.where(generator.random(size) < 0.8, math.sqrt(0.5), math.sqrt(3.0)))

    def _matmat(self, X: Array) -> Array:
        signals = np.moveaxis(np.asarray(X), 1, 0).reshape(-1, 1, *self.signal_shape)
        patterns = np.fft.fftn(self.masks * signals, axes=self._axes, norm="ortho")
        return patterns.reshape(len(signals), -1).T

    def _matvec(self, x: Array) -> Array:
        return self._matmat(np.reshape(x, (-1, 1)))[:, 0]

    def _rmatmat(self, Y: Array) -> Array:
        patterns = np.moveaxis(np.asarray(Y), 1, 0).reshape(-1, *self.masks.shape)
        signals = np.fft.ifftn(patterns, axes=self._axes, norm="ortho")
        np.multiply(signals, self.masks.conj(), out=signals)
        return signals.sum(axis=1).reshape(len(patterns), -1).T

    def _rmatvec(self, y: Array) -> Array:
        return self._rmatmat(np.reshape(y, (-1, 1)))[:, 0]

    def row_squares(self) -> FloatArray:
        """|a_i|^2 for all rows: those of one pattern have one length."""
        n = self.shape[1]
        return np.repeat((np.abs(self.masks) ** 2).reshape(-1, n).mean(axis=1), n)

    def spectral_norm(self) -> float:
        """|A|_2: A^H A is diagonal, with the sums of |d_l|^2 over the patterns."""
        return math.sqrt(float((np.abs(self.masks) ** 2).sum(axis=0).max()))


__all__ = ["CodedDiffraction"]
