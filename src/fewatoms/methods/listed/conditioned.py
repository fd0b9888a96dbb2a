"""How well the coefficients of an answer are determined: the condition of its images, from a triangular factor."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.methods.listed.view import View
from fewatoms.words import nearly_dependent

NOTABLE = 1e6  # a condition from which on fewer than ten digits of coefficients are sure
BLURRED = 1e5  # one that the Gram matrix, which squares it, still tells to a few digits
ESTIMATED = 400  # coefficients of which the condition is estimated


def notes(view: View, classes: IntArray, ridge: float) -> list[str]:
    """What has to be said of coefficients that are hardly determined by the images of these classes."""
    coordinates = int(view.sizes(classes).sum())
    if not 1 < coordinates <= ESTIMATED or not view.images.fits(classes):
        return []
    known = condition(view, classes, ridge)
    return [nearly_dependent(known, grouped=view.blocks is not None)] if known > NOTABLE else []


def condition(view: View, classes: IntArray, ridge: float) -> float:
    """That of images of length 1, above the rows that a ridge adds: of the Cholesky factor of their Gram matrix, or of
    a QR factorisation where that is a blur."""
    images = view.images
    slots = images.slots(classes)
    if images.squares:
        G = images.gram[slots[:, None], slots]
        lengths = np.sqrt(np.maximum(G.diagonal(), 0.0))
        units = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
        G = units[:, None] * G * units
        G[np.diag_indices_from(G)] += ridge + (lengths == 0)
        factor, bad = lapack.dpotrf(G)
        known = math.inf if bad else _of_triangle(factor)
        if known < BLURRED:
            return known
    A = linalg.dense(images.columns(slots))
    A = A if view.free is None else np.concatenate([A, view.free], axis=1)
    lengths = np.linalg.norm(A, axis=0)
    A = A / np.where(lengths > 0, lengths, 1.0)
    A = A[:, lengths > 0]
    paid = math.sqrt(ridge) * np.eye(A.shape[1]) if ridge else np.zeros((0, A.shape[1]))
    return _of_triangle(np.asarray(np.linalg.qr(np.concatenate([A, paid]), mode="r")))


def _of_triangle(R: FloatArray) -> float:
    """The condition in the norm of the largest column; infinite where a diagonal entry is rounding."""
    if len(R) < R.shape[1]:
        return math.inf
    inverse, bad = lapack.dtrtri(R)
    if bad:
        return math.inf
    return float(np.linalg.norm(np.triu(R), 1) * np.linalg.norm(np.triu(inverse), 1))


__all__ = ["condition", "notes"]
