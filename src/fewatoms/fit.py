"""Algorithm 1: dual vectors in, few atoms out, a certificate with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms.atoms import AtomicSet
from fewatoms.certificates import Certificate, Evidence
from fewatoms.losses import Loss
from fewatoms.oracles import Oracle, default_oracle
from fewatoms.problem import Problem
from fewatoms.retrieval import Retrieval
from fewatoms.solution import Candidate, Progress, Solution, Status

PATIENCE = 200  # iterates without a better candidate before the run ends, for oracles that do not say
HOPELESS = 1e7  # times the gauge of the first Newton step: what no sensible x needs


def fit(
    M: Any,
    b: Any,
    *,
    atoms: AtomicSet,
    k: Any,
    alpha: float | None = None,
    misfit: float | None = None,
    loss: Loss | None = None,
    oracle: Oracle | None = None,
    retrieval: Retrieval | None = None,
    max_iterations: int = 1000,
    callback: Callable[[Progress], object] | None = None,
    rng: Any = None,
) -> Solution:
    """Find x with f(b - Mx) <= alpha made of at most k atoms.

    With k and a bound: the first answer that meets both. With k alone: the smallest loss found with at most k atoms.
    A bound that is not reached is a status with the best answer, not an exception.

    Parameters
    ----------
    M : (m, n) array, sparse matrix, LinearOperator, PyLops operator, or Sampling, Quadratic, Identity
    b : (m,) array of data (Identity takes its own shape too)
    atoms : AtomicSet
        SignedOneHot(n), NonnegativeOneHot(n), Groups(labels), RankOne(p, q), PSDRankOne(n), Dictionary(D, ...), sums,
        unions, multiples and linear images of these.
    k : int, or one per part of a sum or union
    alpha : float, optional
        Bound on the loss.
    misfit : float, optional
        Bound on |b - Mx| / |b|, least squares only; not together with alpha.
    loss : Loss, optional
        LeastSquares() unless given.
    oracle, retrieval : optional
        Where dual vectors come from, and how atoms are read off them. The defaults serve everyone; experts and
        reproductions of the paper choose, e.g. LevelSet() and paper_rule().
    max_iterations : int
        Dual vectors at most.
    callback : callable(intermediate_result), optional
        Called after each iterate with a Progress; raising StopIteration ends the run, other exceptions pass through.
    rng : seed or numpy Generator, optional
        Start vectors of partial decompositions. The default is a fixed seed: same input, same answer.

    Returns
    -------
    Solution

    References
    ----------
    Fan, Fang, Friedlander, "Cardinality-constrained structured data-fitting problems", Algorithm 1.
    """
    problem = Problem(M, b, atoms=atoms, k=_given(k), alpha=alpha, misfit=misfit, loss=loss)
    max_iterations = _checks.integer("max_iterations", max_iterations, 1)
    oracle = default_oracle(problem) if oracle is None else oracle
    retrieval = Retrieval() if retrieval is None else retrieval
    _need(oracle, "oracle", "iterates")
    _need(retrieval, "retrieval", "retrieve")
    patience = getattr(oracle, "patience", PATIENCE)
    evidence = Evidence(problem)
    best, status, t, since = None, Status.STREAM_ENDED, 0, 0
    with linalg.session(rng) as decompositions:
        if problem.zero_suffices:
            return _answer(problem, None, evidence, Status.ZERO, 0, 0)
        for t, dual in enumerate(islice(oracle.iterates(problem), max_iterations), start=1):  # y <- oracle
            candidate = retrieval.retrieve(problem, dual)  # x <- solution to (PR)
            evidence.see(dual)
            evidence.see_candidate(candidate)
            if best is None or candidate.loss < best.loss:  # keep the best
                since = 0 if best is None or candidate.loss < best.loss * (1 - 1e-6) else since + 1
                best = candidate
            else:
                since += 1
            if callback is not None:
                try:
                    callback(_progress(problem, t, best, candidate, evidence, dual))
                except StopIteration:
                    status = Status.STOPPED
                    break
            if problem.meets(best.loss):
                status = Status.BOUND_MET
                break
            if _hopeless(problem, evidence):
                status = Status.UNREACHABLE
                break
            if since >= patience:
                status = Status.SMALLEST_LOSS if problem.alpha is None else Status.NOT_REACHED
                break
        else:
            if t == max_iterations:
                status = Status.ITERATION_LIMIT
        return _answer(problem, best, evidence, status, t, decompositions.products)


def _given(k: Any) -> Any:
    if k is None:
        raise TypeError("k must say how many atoms are allowed; got None")
    return k


def _need(thing: object, name: str, method: str) -> None:
    if not callable(getattr(thing, method, None)):
        raise TypeError(f"{name} must have a method {method}(...); got {thing!r}")


def _progress(
    problem: Problem, t: int, best: Candidate, candidate: Candidate, evidence: Evidence, dual: Any
) -> Progress:
    return Progress(
        iteration=t,
        loss=best.loss,
        misfit=problem.misfit_of(best.loss, best.residual),
        cardinality=best.face.size,
        candidate_loss=candidate.loss,
        gap=evidence.gap,
        products=problem.M.products,
        problem=problem,
        candidate=best,
        dual=dual,
    )


def _hopeless(problem: Problem, evidence: Evidence) -> bool:
    """Whether every x that meets alpha is proven to be larger than any sensible one."""
    if problem.alpha is None or evidence.levels.first_step is None:
        return False
    return evidence.levels.tau_low > HOPELESS * evidence.levels.first_step


def _answer(
    problem: Problem, best: Candidate | None, evidence: Evidence, status: Status, iterations: int, svd_products: int
) -> Solution:
    """The answer in its final form, with loss and cardinality recomputed from the compact point alone."""
    if best is None:
        empty = problem.atoms.expose(np.zeros(problem.atoms.shape), 0)
        face, c, note = empty, np.zeros(0), ""
        residual = problem.b
    else:
        face, c = best.face.prune(best.c, problem.k, best.norms)
        residual = problem.b - (face.measure(problem.M, c) if face.dim else 0.0)
        note = best.note
    final = Candidate(face, c, residual, problem.loss.value(residual))
    evidence.see_candidate(final)
    cardinality = sum(f.size for f in face.parts)
    if status is Status.BOUND_MET and not problem.meets(final.loss):  # rounding took it back
        status = Status.NOT_REACHED
    success = status is Status.ZERO or (problem.meets(final.loss) if problem.alpha is not None else best is not None)
    misfit = problem.misfit_of(final.loss, residual)
    asked = f"at most {problem.k} atoms" + (
        "" if problem.alpha is None else f" and a loss of at most {problem.alpha:.6g}"
    )
    got = f"{cardinality} atoms with loss {final.loss:.6g}" + ("" if math.isnan(misfit) else f" (misfit {misfit:.3g})")
    message = f"Asked: {asked}. Found: {got}. {status.value[0].upper()}{status.value[1:]}"
    if status is Status.UNREACHABLE:
        message += f" Proved: any x that reaches it has a gauge of at least {evidence.levels.tau_low:.3g}."
    if note:
        message += f" Note: {note}."
    certificate = Certificate(problem, final, evidence, cardinality=cardinality, within_budget=True)
    return Solution(
        face,
        c,
        status=status,
        success=success,
        message=message,
        loss=final.loss,
        misfit=misfit,
        iterations=iterations,
        products=problem.M.products,
        svd_products=svd_products,
        certificate=certificate,
    )
