"""Algorithm 1: dual vectors in, few atoms out, a certificate with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import _checks, linalg
from fewatoms._types import FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.certificates import Certificate, Evidence
from fewatoms.faces import Coordinates, GroupCoordinates
from fewatoms.losses import LeastSquares, Loss
from fewatoms.oracles import Continuation, Oracle
from fewatoms.problem import Problem
from fewatoms.relaxations import P3
from fewatoms.retrieval import Retrieval
from fewatoms.solution import Candidate, DualPoint, Progress, Solution, Status

PATIENCE = 200  # iterates without a better candidate before the run ends, for oracles that do not say
HOPELESS = 1e12  # times the gauge of the first Newton step: what no x needs, whatever the units of its atoms
PROOF = 100  # steps of LSMR at most, at the end of a run that failed, to prove that the bound cannot be met


def fit(
    M: Any,
    b: Any,
    *,
    atoms: AtomicSet,
    k: Any,
    alpha: float | None = None,
    misfit: float | None = None,
    loss: Loss = LeastSquares(),
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
        Bound on |b - Mx| / |b|, least squares only (in the weighted norm if it has weights); not together with alpha.
    loss : Loss
        LeastSquares(), Huber(delta), Logistic(), or your own.
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
    oracle = Continuation() if oracle is None else oracle
    retrieval = Retrieval() if retrieval is None else retrieval
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable; got {callback!r}")
    _need(oracle, "oracle", "iterates")
    _need(retrieval, "retrieval", "retrieve")
    run = _Run(problem, callback, patience=getattr(oracle, "patience", PATIENCE))
    with linalg.session(rng) as decompositions:
        status = Status.ZERO if problem.zero_suffices else None
        stream = oracle.iterates(problem) if status is None else iter(())
        for dual in islice(stream, max_iterations):  # y <- oracle
            if not isinstance(dual, DualPoint):
                raise TypeError(f"oracle must yield DualPoints (FromIterates makes them of vectors); got {dual!r}")
            candidate = retrieval.retrieve(problem, dual)  # x <- solution to (PR), at most k atoms
            status = run.see(dual, candidate)  # keep the best; f(b - Mx) <= alpha?
            if status is not None:
                break
        if status is Status.NOT_REACHED and run.proves_unreachable():
            status = Status.UNREACHABLE
        if status is None:
            status = Status.ITERATION_LIMIT if run.iterations == max_iterations else Status.STREAM_ENDED
        return run.answer(status, decompositions)


class _Run:
    """What the loop keeps: the best candidate, what is proven so far, and for how long nothing better came."""

    def __init__(self, problem: Problem, callback: Callable[[Progress], object] | None, patience: int) -> None:
        self.problem, self.callback = problem, callback
        self.patience = patience if problem.alpha is None else 3 * patience  # a bound is worth a longer search
        self.evidence = Evidence(problem)
        self.best: Candidate | None = None
        self.iterations = self.since = 0

    def see(self, dual: DualPoint, candidate: Candidate) -> Status | None:
        """Take one iterate; the status if the run ends with it."""
        self.iterations += 1
        self.evidence.see(dual)
        self.evidence.see_candidate(candidate)
        before = math.inf if self.best is None else self.best.loss
        if candidate.loss < before * (1 - 1e-6):
            self.since = 0
        else:  # factors that descend to the same loss from another start say more than a worse candidate
            again = candidate.face.turns and candidate.loss <= before * (1 + 1e-6)
            self.since += 3 if again else 1
        if self.best is None or candidate.loss < before:
            self.best = candidate
        if self.callback is not None:
            try:
                self.callback(self._progress(dual, candidate, self.best))
            except StopIteration:
                return Status.STOPPED
        if self.problem.meets(self.best.loss):
            return Status.BOUND_MET
        if self._hopeless():
            return Status.UNREACHABLE
        if self.since >= self.patience or self.problem.exact(self.best.loss):  # no better answer can turn up
            return Status.SMALLEST_LOSS if self.problem.alpha is None else Status.NOT_REACHED
        return None

    def _hopeless(self) -> bool:
        """Whether every x that meets alpha is proven to be larger than any sensible one."""
        levels = self.evidence.levels
        return levels.first_step is not None and levels.tau_low > HOPELESS * levels.first_step

    def proves_unreachable(self) -> bool:
        """Whether the residual of a fit with all atoms, by LSMR, proves that the bound is out of reach for any x.

        Least squares over sets with free coefficients only; elsewhere the oracle's own dual vectors have to do.
        """
        problem = self.problem
        loss, M = problem.loss, problem.M
        if not (isinstance(loss, LeastSquares) and problem.atoms.centrosymmetric and M.model_shape == (M.shape[1],)):
            return False
        root = 1.0 if loss.weights is None else np.sqrt(loss.weights)
        whole = LinearOperator(
            M.shape, matvec=lambda x: root * M.apply(x), rmatvec=lambda r: M.adjoint(root * r), dtype=np.float64
        )
        x, *_ = lsmr(whole, root * problem.b, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=min(PROOF, *M.shape))
        y = loss.gradient(problem.b - M.apply(x))
        z = M.adjoint(y)
        self.evidence.levels.see_dual(DualPoint(y, z, problem.atoms.support(z), P3(problem)))
        return self._hopeless()

    def _progress(self, dual: DualPoint, candidate: Candidate, best: Candidate) -> Progress:
        return Progress(
            iteration=self.iterations,
            loss=best.loss,
            misfit=self.problem.misfit_of(best.loss, best.residual),
            cardinality=sum(f.size for f in best.face.parts),
            candidate_loss=candidate.loss,
            gap=self.evidence.gap,
            products=self.problem.M.products,
            problem=self.problem,
            candidate=best,
            dual=dual,
        )

    def answer(self, status: Status, decompositions: linalg.Session) -> Solution:
        """The answer in its final form, with loss and cardinality recomputed from the compact point alone."""
        problem, note = self.problem, ""
        if self.best is None:
            face, c = problem.atoms.expose(np.zeros(problem.atoms.shape), 0), np.zeros(0)
        else:
            face, c = self.best.face.prune(self.best.c, problem.k, self._norms(self.best))
            note = self.best.note
        residual = problem.b - face.measure(problem.M, c) if face.dim else problem.b
        final = Candidate(face, c, residual, problem.loss.value(residual))
        self.evidence.see_candidate(final)
        if status is Status.BOUND_MET and not problem.meets(final.loss):  # rounding took it back
            status = Status.NOT_REACHED
        success = status is Status.ZERO or (
            self.best is not None if problem.alpha is None else problem.meets(final.loss)
        )
        cardinality = sum(f.size for f in face.parts)
        misfit = problem.misfit_of(final.loss, residual)
        return Solution(
            face,
            c,
            status=status,
            success=success,
            message=self._message(status, cardinality, final.loss, misfit, note),
            loss=final.loss,
            misfit=misfit,
            iterations=self.iterations,
            products=problem.M.products,
            svd_products=decompositions.products,
            certificate=Certificate(problem, final, self.evidence, cardinality=cardinality),
        )

    def _norms(self, best: Candidate) -> FloatArray | None:
        """|M a_i| for the order of the atoms, where it is known or costs no product."""
        at_hand = self.problem.M.explicit and isinstance(best.face, (Coordinates, GroupCoordinates))
        if best.norms is not None or not at_hand:
            return best.norms
        return self.problem.M.inner.restrict(best.face).norms()

    def _message(self, status: Status, cardinality: int, loss: float, misfit: float, note: str) -> str:
        problem = self.problem
        bound = "" if problem.alpha is None else f" and a loss of at most {problem.alpha:.6g}"
        shown = "" if math.isnan(misfit) else f" (misfit {misfit:.3g})"
        message = (
            f"Asked: at most {_atoms(problem.k)}{bound}. Found: {_atoms(cardinality)} with loss {loss:.6g}{shown}. "
            f"{status.value[0].upper()}{status.value[1:]}"
        )
        if status is Status.UNREACHABLE:
            size = self.evidence.levels.tau_low
            message += " Proved: " + (
                "no atom is aligned, to working precision, with a dual vector that excludes it."
                if math.isinf(size)
                else f"any x that reaches it has a gauge of at least {size:.3g}."
            )
        return f"{message} Note: {note}." if note else message


def _atoms(k: Any) -> str:
    return "1 atom" if k == 1 else f"{k} atoms"


def _given(k: Any) -> Any:
    if k is None:
        raise TypeError("k must say how many atoms are allowed; got None")
    return k


def _need(thing: object, name: str, method: str) -> None:
    if isinstance(thing, type):
        raise TypeError(f"{name} must be an object with a method {method}(...), not a class; got {thing.__name__}")
    if not callable(getattr(thing, method, None)):
        raise TypeError(f"{name} must have a method {method}(...); got {thing!r}")
