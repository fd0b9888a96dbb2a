"""Classes that a model separates: its loss falls for ever as coefficients grow, and no coefficients are the best.

Proven by a direction of recession: coefficients whose margins are all positive, or none of them negative and some
positive. Of those, multiples fit better and better.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate
from fewatoms.problem import Problem

ROUNDED = 1e-10  # margins within this share of the largest one are 0
FAR = 12.0  # margins beyond this size may be on their way to infinity
NULL = 1e-9  # singular values below this share of the largest one are 0


def separates(problem: Problem, answer: Candidate, beside: FloatArray) -> bool:
    """Whether the atoms of an answer, and what stands beside them, have coefficients along which the loss falls for
    ever: a proof, to working precision, or False where none was found."""
    loss = problem.base_loss
    if not loss.labelled:
        return False
    margins = loss.margins(problem.data - problem.seen.left(answer.residual))
    if _positive(margins):
        return True
    far = margins > FAR
    if not far.any() or problem.atoms.listing() is None or not (answer.face.dim + beside.size):
        return False
    A = _columns(problem, answer)
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    rows, c = loss.margins(A / scale), np.concatenate([answer.c, beside]) * scale
    direction = _rest(rows[~far], c)
    moved, dim = rows @ direction, answer.face.dim
    falls = moved.min() >= -ROUNDED * moved.max() and moved.max() > ROUNDED * np.abs(c).max()
    along = direction[:dim] / scale[:dim]
    size = float(np.abs(along).max(initial=0.0))
    return bool(
        falls and np.abs(answer.face.project(along) - along).max(initial=0.0) <= ROUNDED * size
    )  # signs allow it


def _positive(margins: FloatArray) -> bool:
    return bool(margins.size and margins.min() > ROUNDED * margins.max())


def _columns(problem: Problem, answer: Candidate) -> FloatArray:
    """The images of the atoms, and the columns beside them."""
    face, F = answer.face, problem.beside.columns
    images = problem.measured.images(face) if face.dim else np.zeros((problem.m, 0))
    dense = images.toarray() if sp.issparse(images) else np.asarray(images)
    return dense if F is None else np.concatenate([dense, F], axis=1)


def _rest(rows: FloatArray, c: FloatArray) -> FloatArray:
    """What is left of coefficients without what these rows see of them: where some margins go to infinity and others
    stay, it is along this that they grow."""
    if not rows.size:
        return c
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    seen = directions[sizes > NULL * sizes.max()]
    return np.asarray(c - seen.T @ (seen @ c))
