"""Classes that a model separates: its loss falls for ever as coefficients grow, and no coefficients are the best.

Proven by a direction of recession: coefficients whose margins are all positive, or none of them negative and some
positive. Of those, multiples fit better and better.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fewatoms._types import FloatArray, Matrix
from fewatoms.candidates import Candidate
from fewatoms.faces import Face
from fewatoms.problem import Problem

NO_MARGIN = 1e-10  # margins within this share of the largest one are 0
FAR = 16.0  # margins beyond this size may be on their way to infinity
NULL = 1e-9  # singular values below this share of the largest one are 0


def separates(problem: Problem, answer: Candidate, beside: FloatArray) -> bool:
    """Whether the atoms of an answer, and what stands beside them, have coefficients along which the loss falls for
    ever, and nothing keeps it from doing so: a proof, to working precision, or False where none was found."""
    loss, face = problem.base_loss, answer.face
    held = problem.alpha is not None or bool(problem.ridge) or problem.price.cap is not None
    if held or not loss.labelled:
        return False
    margins = loss.margins(problem.data - problem.seen.left(answer.residual))
    if _positive(margins):
        return True
    far = margins > FAR
    if not far.any() or problem.atoms.listing() is None or not (face.dim + beside.size):
        return False
    A = _columns(problem, face)
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    rows, c = loss.margins(A / scale), np.concatenate([answer.c, beside]) * scale
    direction = _rest(rows[~far], c)
    moved, along = rows @ direction, (direction / scale)[: face.dim]
    falls = moved.min() >= -NO_MARGIN * moved.max() and moved.max() > NO_MARGIN * np.abs(c).max()
    off = np.abs(face.project(along) - along).max(initial=0.0)  # where signs do not allow it
    return bool(falls and off <= NO_MARGIN * np.abs(along).max(initial=0.0))


def _positive(margins: FloatArray) -> bool:
    return bool(margins.size and margins.min() > NO_MARGIN * margins.max())


def _columns(problem: Problem, face: Face) -> FloatArray:
    """The images of the atoms, and the columns beside them."""
    blocks: list[Matrix] = [problem.measured.images(face)] if face.dim else []
    blocks += [] if problem.beside.columns is None else [problem.beside.columns]
    return np.concatenate([block.toarray() if sp.issparse(block) else block for block in blocks], axis=1)


def _rest(rows: FloatArray, c: FloatArray) -> FloatArray:
    """What is left of coefficients without what these rows see of them: where some margins go to infinity and others
    stay, it is along this that they grow."""
    if not rows.size:
        return c
    squares, directions = np.linalg.eigh(rows.T @ rows)
    unseen = directions[:, squares <= NULL * squares[-1]]  # or hardly seen: a look that costs little
    if np.linalg.norm(unseen.T @ c) <= NO_MARGIN**0.5 * np.linalg.norm(c):
        return np.zeros_like(c)
    _, sizes, directions = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)
    seen = directions[sizes > NULL * sizes.max()]
    return np.asarray(c - seen.T @ (seen @ c))
