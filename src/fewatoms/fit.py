"""Algorithm 1: dual vectors in, few atoms out, a certificate with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import _checks, linalg
from fewatoms._types import FloatArray
from fewatoms.atoms import AtomicSet, Groups, PSDRankOne, SignedOneHot
from fewatoms.atoms.sums import Sum, Union
from fewatoms.certificates import Certificate, Evidence
from fewatoms.faces import Coordinates, Face, GroupCoordinates, within
from fewatoms.held_out import choose_ridge
from fewatoms.losses import Biased, LeastSquares, Loss
from fewatoms.lowrank import Biases
from fewatoms.operators import Identity, Operator, Projected, Quadratic, Sampling, Several, as_operator
from fewatoms.oracles import Alternating, Continuation, Oracle, Peeling, Splitting, Trimming, WorkingSet
from fewatoms.problem import Problem
from fewatoms.relaxations import P3
from fewatoms.retrieval import ISOLATED, Retrieval, default_retrieval, reduced_fit, settled, support_of
from fewatoms.separated import weighed
from fewatoms.solution import Candidate, DualPoint, Progress, Solution, Solutions, Status

PATIENCE = 200  # iterates without a better candidate before the run ends, for oracles that do not say
HOPELESS = 1e12  # times the gauge of the first Newton step: what no x needs, whatever the units of its atoms
LEADERS = 3  # candidates kept for a last polish
ROOMY = 64  # images that must have room for the working set to be the default
SETTLED, QUICK = 1e-6, 1e-4  # tolerances of fits on factors; the second for fits that are compared with each other
SCARCE = 2  # entries per unknown below which an answer without a ridge fits much of the noise
PURSUED = 1e-6  # the misfit of principal component pursuit where nobody says: an equation, for all that matters
PROOF = 100  # steps of LSMR at most, at the end of a run that failed, to prove that the bound cannot be met


def fit(
    M: Any,
    b: Any,
    *,
    atoms: AtomicSet,
    k: Any = None,
    alpha: float | None = None,
    misfit: float | None = None,
    loss: Loss = LeastSquares(),
    free: Any = None,
    include: Any = None,
    exclude: Any = None,
    cap: float | None = None,
    biases: bool = False,
    ridge: Any = None,
    nonnegative: bool = False,
    joint: bool = False,
    start: Solution | None = None,
    oracle: Oracle | None = None,
    retrieval: Retrieval | None = None,
    max_iterations: int = 1000,
    callback: Callable[[Progress], object] | None = None,
    rng: Any = None,
) -> Any:
    """Find x with f(b - Mx) <= alpha made of at most k atoms.

    With k and a bound: the first answer that meets both. With k alone: the smallest loss found with at most k atoms.
    With a bound alone: as few atoms as were found to meet it. A bound that is not reached is a status with the best
    answer, not an exception.

    Sums A + B have a budget per part, `k=(5, 200_000)`, and `s.parts` has one answer for each. Where data are seen as
    they are (Identity, Sampling) and atoms of each part are orthonormal, a budget may be None: with a bound, as few as
    meet it; without, what stands out of the noise. One number is a budget for all parts together (sets that can be
    listed); no k at all leaves everything open. No relative weights are needed. A union RankOne | SignedOneHot without
    k is principal component pursuit: (P3) itself is solved, with the weight 1 / sqrt(max(p, q)) unless a part is
    scaled, down to `misfit` (1e-6 if there is none).

    Parameters
    ----------
    M : (m, n) array, sparse matrix, LinearOperator, PyLops operator, or Sampling, Quadratic, Identity
    b : (m,) array of data (Identity takes its own shape too), or (m, p) for p data vectors
    atoms : AtomicSet
        SignedOneHot(n), NonnegativeOneHot(n), Groups(labels), RankOne(p, q), PSDRankOne(n), Dictionary(D, ...), sums,
        unions, multiples and linear images of these.
    k : int, or one per part of a sum or union (None for parts left open); optional where there is a bound and atoms
        can be listed, and for the sums above
    alpha : float, optional
        Bound on the loss.
    misfit : float, optional
        Bound on |b - Mx| / |b|, least squares only (in the weighted norm if it has weights); not together with alpha.
    loss : Loss
        LeastSquares(), Huber(delta), Logistic(), or your own.
    free : "intercept", or (m,) or (m, q) array, optional
        Columns beside M whose coefficients neither count as atoms nor are penalised: `solution.free_coefficients`.
    include, exclude : indices (labels, for groups), optional
        Atoms that must be in the answer (they count) and atoms that must not, for sets whose atoms can be listed.
    cap : float, optional
        The largest size that a coefficient may have, for sets whose atoms can be listed. Separable classes need one.
    biases : bool
        For RankOne with Sampling: row and column biases and a centre beside the k atoms, `solution.biases`.
    ridge : float, a pair of them, or "auto"; optional
        For RankOne with Sampling: minimise the loss plus ridge times the nuclear norm (ridge / 2 times the squares of
        the factors), and as much for the biases (a pair: one for each). "auto" holds entries out and takes what
        predicts them best; it is the default with biases and no bound. Otherwise the default is 0. The loss then holds
        the biases' share; with a bound biases are not shrunk.
    nonnegative : bool
        For RankOne with Sampling: factors without negative entries.
    joint : bool
        Whether p data vectors share their atoms: x is n x p and an atom one of its rows. For SignedOneHot and Groups.
    start : Solution, optional
        An earlier answer to begin with: of the same problem with another k or bound, or of similar data.
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
    Solution; Solutions, a sequence of them, for several data vectors that are not fitted jointly

    References
    ----------
    Fan, Fang, Friedlander, "Cardinality-constrained structured data-fitting problems", Algorithm 1.
    """
    asked = {
        "k": k, "alpha": alpha, "misfit": misfit, "loss": loss, "free": free,
        "include": include, "exclude": exclude, "cap": cap,
        "biases": biases, "ridge": default_ridge(ridge, biases, alpha, misfit), "nonnegative": nonnegative,
    }  # fmt: skip
    how = {"max_iterations": max_iterations, "callback": callback, "rng": rng, "start": start}
    operator, atoms = as_operator(M), weighed(atoms)
    columns = several(operator, b)
    if columns is not None and not joint:
        first = Problem(operator, columns[0], atoms=atoms, **asked)
        problems = [first, *(first.with_data(column) for column in columns[1:])]
        answers = []
        for problem in problems:
            problem.aim()
            answers.append(_alone(problem, oracle, retrieval, {**how, "keep_images": True}))
        first.forget()
        return Solutions(answers)
    if joint:
        problem = joint_problem(operator, b, atoms, asked)
    else:
        problem = Problem(operator, b, atoms=atoms, **asked)
    return _alone(problem, oracle, retrieval, how)


def default_ridge(ridge: Any, biases: bool, alpha: float | None, misfit: float | None) -> Any:
    """Without a bound, biases are for predictions, and those need shrinkage."""
    return "auto" if ridge is None and biases and alpha is None and misfit is None else ridge


def several(M: Operator, b: Any) -> Any:
    """The columns of b where it holds several data vectors, None where it is one."""
    if len(M.model_shape) > 1 or sp.issparse(b) or np.ndim(b) != 2:
        return None
    if np.shape(b)[0] != M.shape[0] or np.size(b) == 0:
        raise ValueError(f"b must have m = {M.shape[0]} rows, one column per data vector; got shape {np.shape(b)}")
    return np.asarray(b).T


def joint_problem(M: Operator, b: Any, atoms: AtomicSet, asked: dict[str, Any]) -> Problem:
    """Several data vectors with one support: an atom is a row of X, or the rows of a group."""
    if several(M, b) is None:
        raise ValueError(f"joint: b must have a column per data vector; got shape {np.shape(b)}")
    p = np.shape(b)[1]
    free = asked["free"]
    if free is not None:
        columns = np.ones((M.shape[0], 1)) if isinstance(free, str) and free == "intercept" else np.asarray(free)
        if columns.ndim not in (1, 2) or columns.shape[0] != M.shape[0]:
            raise ValueError(f"free must have {M.shape[0]} rows; got shape {columns.shape}")
        free = np.kron(columns.reshape(M.shape[0], -1), np.eye(p))
    if isinstance(atoms, SignedOneHot):
        rows = Groups(np.repeat(np.arange(atoms.n)[:, None], p, axis=1))
    elif isinstance(atoms, Groups) and len(atoms.shape) == 1:
        rows = Groups(np.repeat(atoms.labels[:, None], p, axis=1), atoms.weights)
    else:
        raise ValueError(f"joint supports are for SignedOneHot(n) and Groups(labels); got {atoms!r}")
    if atoms.n != M.shape[1]:
        raise ValueError(f"atoms must live in the space that M takes, {M.shape[1]} entries; {atoms!r} has {atoms.n}")
    problem = Problem(Several(M, p), b, atoms=rows, **{**asked, "free": free})
    problem.intercept = isinstance(asked["free"], str)
    return problem


def _alone(problem: Problem, oracle: Oracle | None, retrieval: Retrieval | None, how: dict[str, Any]) -> Solution:
    """One problem with one budget."""
    pursuit = problem.separable and isinstance(problem.atoms, Union)  # the relaxation itself is what is asked for
    if problem.k is None and (problem.demixable or problem.separable) and not pursuit:
        problem = problem.with_budget((None,) * len(problem.atoms.parts))  # type: ignore[attr-defined]
    if problem.k is None and pursuit and problem.alpha is None:
        problem = problem.with_bound(misfit=PURSUED)
    if problem.k is None and problem.alpha is None:
        raise TypeError("k must say how many atoms are allowed, unless a bound (alpha or misfit) is given; got None")
    if problem.k is None and problem.listed is None and not pursuit:
        raise TypeError(f"k must be given for {problem.atoms!r}, whose atoms cannot be listed; got None")
    (solution,) = solve(problem, [problem.k], oracle, retrieval, **how)
    return solution


def solve(
    problem: Problem,
    budgets: Sequence[Any],
    oracle: Oracle | None = None,
    retrieval: Retrieval | None = None,
    *,
    max_iterations: int = 1000,
    callback: Callable[[Progress], object] | None = None,
    rng: Any = None,
    start: Solution | None = None,
    quick: bool = False,
    keep_images: bool = False,
) -> list[Solution]:
    """One dual run that serves several budgets, each as if it were alone."""
    max_iterations = _checks.integer("max_iterations", max_iterations, 1)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable; got {callback!r}")
    if problem.choosy and not (oracle is None and retrieval is None):
        raise ValueError("include, exclude and cap are for the default oracle and retrieval; leave those two out")
    if problem.on_factors and (retrieval is not None or not (oracle is None or isinstance(oracle, Alternating))):
        given = "retrieval" if retrieval is not None else "oracle"
        came = retrieval if retrieval is not None else oracle
        raise ValueError(
            f"{given} must be left out with biases, ridge or nonnegative, which need the default; "
            f"got {type(came).__name__}"
        )
    how: dict[str, Any] = {"max_iterations": max_iterations, "callback": callback, "start": start}
    defaults = oracle is None and retrieval is None
    if problem.factorable and budgets[0] is not None and (defaults or isinstance(oracle, Alternating)):
        last = len(budgets) - 1  # the entries are kept for the next budget, if there is one
        return [
            _factored(
                problem.with_budget(k), oracle, retrieval, rng=_fresh(rng), quick=quick,
                keep_images=keep_images or i < last, **how,
            )
            for i, k in enumerate(budgets)
        ]  # fmt: skip
    if oracle is None and (problem.separable or problem.demixable) and budgets[0] is not None:  # each has its own run
        how |= {"quick": quick, "keep_images": keep_images}
        owns = [problem.with_budget(k) for k in budgets]
        return [_solved(own, [own.k], _default_oracle(own), retrieval, rng=_fresh(rng), **how)[0] for own in owns]
    oracle = _default_oracle(problem) if oracle is None else oracle
    return _solved(problem, budgets, oracle, retrieval, rng=rng, quick=quick, keep_images=keep_images, **how)


def _fresh(rng: Any) -> Any:
    """A generator in the same state for every budget: each is answered as if it were alone."""
    return deepcopy(rng) if isinstance(rng, np.random.Generator) else rng


def _factored(
    problem: Problem,
    oracle: Oracle | None,
    retrieval: Retrieval | None,
    *,
    rng: Any,
    start: Solution | None,
    quick: bool,
    **how: Any,
) -> Solution:
    """One budget of a problem on factors. A ridge left to us is chosen first; the fit begins where that ended."""
    tol, begin, held_out, spent = (QUICK if quick else SETTLED), None, None, 0
    with linalg.session(rng):
        if problem.ridge is None and problem.zero_suffices:
            problem, held_out = problem.with_ridge(0.0, 0.0), 0.0
        elif problem.ridge is None:
            choice = choose_ridge(problem, problem.k)
            problem = problem.with_ridge(choice.ridge, choice.shrink)
            tol, begin, held_out, spent = 10 * tol, choice.start, choice.score, choice.products
        if start is not None:
            check_start(problem, start)
            if start.cardinality:
                begin = problem.factored.of(start._face, start._c, problem.shrink or 0.0)
    oracle = Alternating(tol=tol, start=begin) if oracle is None else oracle
    (solution,) = _solved(problem, [problem.k], oracle, retrieval, rng=rng, **how)
    solution.held_out = held_out
    solution.products += spent
    return solution


def _solved(
    problem: Problem,
    budgets: Sequence[Any],
    oracle: Oracle,
    retrieval: Retrieval | None,
    *,
    max_iterations: int,
    callback: Callable[[Progress], object] | None,
    rng: Any,
    start: Solution | None = None,
    quick: bool = False,
    keep_images: bool = False,
) -> list[Solution]:
    """The loop."""
    _need(oracle, "oracle", "iterates")
    runs = []
    for k in budgets:
        own = problem if k == problem.k else problem.with_budget(k)
        chosen = default_retrieval(own, quick=quick) if retrieval is None else retrieval
        _need(chosen, "retrieval", "retrieve")
        runs.append(_Run(own, chosen, callback, patience=_patience(oracle, own)))
    with linalg.session(rng) as decompositions:
        for run in runs:
            run.begin(start)
        live = [run for run in runs if run.status is None]
        stream = oracle.iterates(problem) if live else iter(())
        for dual in islice(stream, max_iterations):  # y <- oracle
            if not isinstance(dual, DualPoint):
                raise TypeError(f"oracle must yield DualPoints (FromIterates makes them of vectors); got {dual!r}")
            for run in live:
                run.take(dual)  # x <- solution to (PR), at most k atoms; keep the best; f(b - Mx) <= alpha?
            live = [run for run in live if run.status is None]
            if not live:
                break
        for run in live:
            run.end(max_iterations, exhaustive=getattr(oracle, "exhaustive", False))
        del stream
        if not keep_images and problem.factorable:
            problem.forget()  # what an answer needs is less than that
        answers = [run.answer(decompositions) for run in runs]
    if not keep_images:
        problem.forget()
    return answers


def _patience(oracle: Oracle, problem: Problem) -> int:
    """Iterates without a better answer before a run ends."""
    patience = getattr(oracle, "patience", PATIENCE)
    return patience if isinstance(problem.loss, LeastSquares) else getattr(oracle, "patience_smooth", patience)


def _default_oracle(problem: Problem) -> Oracle:
    """Atoms that can be listed are worked on in the small space of those that matter, if their images have room."""
    if problem.k is None and problem.separable and isinstance(problem.atoms, Union):
        return Splitting()
    if problem.separable:
        return Trimming()
    if problem.demixable:
        return Peeling()
    if problem.listed is not None and problem.listed.images.room >= min(ROOMY, problem.listed.M.shape[1]):
        return WorkingSet()
    return Continuation()


class _Run:
    """What the loop keeps for one budget: the best candidate, what is proven, for how long nothing better came."""

    def __init__(
        self, problem: Problem, retrieval: Any, callback: Callable[[Progress], object] | None, patience: int
    ) -> None:
        self.problem, self.retrieval, self.callback = problem, retrieval, callback
        self.patience = patience if problem.alpha is None else 3 * patience  # a bound is worth a longer search
        self.evidence = Evidence(problem)
        self.best: Candidate | None = None
        self.leaders: list[Candidate] = []
        self.status: Status | None = None
        self.iterations = self.since = 0
        self.before = problem.M.products

    @property
    def relaxed(self) -> bool:
        """Whether nothing is asked of the number of atoms, and they cannot be listed: (P3) itself is to be solved."""
        return self.problem.k is None and self.problem.listed is None

    @property
    def open(self) -> bool:
        """Whether the budget of some part is left open."""
        return isinstance(self.problem.k, tuple) and None in self.problem.k

    def begin(self, start: Solution | None) -> None:
        """Before the first iterate: nothing to do, or an earlier answer to start from."""
        problem = self.problem
        if problem.zero_suffices:
            self.status = Status.ZERO
        elif start is not None:
            self.best = _restarted(problem, self.retrieval, start)
            self.evidence.see_candidate(self.best)
            self._rank(self.best)
            if problem.k is not None and problem.meets(self.best.loss):
                self.status = Status.BOUND_MET

    def take(self, dual: DualPoint) -> None:
        """Retrieve from one dual point, and judge."""
        self.status = self._see(dual, self.retrieval.retrieve(self.problem, dual))

    def end(self, limit: int, *, exhaustive: bool) -> None:
        """The stream is over."""
        if self.iterations == limit:
            self.status = Status.ITERATION_LIMIT
        elif not exhaustive:
            self.status = Status.STREAM_ENDED
        else:
            self.status = self._settled()

    def _settled(self) -> Status:
        """What the end of the search means."""
        if self.problem.alpha is None:
            return Status.SMALLEST_LOSS
        return Status.BOUND_MET if self.best is not None and self.problem.meets(self.best.loss) else Status.NOT_REACHED

    def _rank(self, candidate: Candidate) -> None:
        """Keep the best few candidates, the best first, for a retrieval that has a use for them."""
        if getattr(self.retrieval, "last", None) is None:
            return
        known = [candidate.face.key(), *(c.face.key() for c in self.leaders)]
        if known[0] is None or known[0] not in known[1:]:
            self.leaders = sorted([*self.leaders, candidate], key=self.problem.objective)[:LEADERS]

    def _better(self, candidate: Candidate) -> bool:
        """Whether a candidate is an improvement that counts."""
        best, problem = self.best, self.problem
        if best is None:
            return True
        if self.relaxed and problem.meets(best.loss):  # a smaller gauge
            return problem.meets(candidate.loss) and candidate.gauge < best.gauge
        if self.open and problem.alpha is None:  # the oracle decides
            return True
        if self.open and problem.meets(best.loss):  # fewer numbers that still meet the bound
            return problem.meets(candidate.loss) and candidate.freedom < best.freedom
        if problem.k is None and problem.meets(best.loss):  # fewer atoms that still meet the bound
            return problem.meets(candidate.loss) and candidate.face.size < best.face.size
        return problem.objective(candidate) < problem.objective(best) * (1 - 1e-6)

    def _see(self, dual: DualPoint, candidate: Candidate) -> Status | None:
        """Take one iterate; the status if the run ends with it."""
        self.iterations += 1
        self.evidence.see(dual)
        self.evidence.see_candidate(candidate)
        before = math.inf if self.best is None else self.problem.objective(self.best)
        if self._better(candidate):
            self.since, self.best = 0, candidate
        else:  # factors that descend to the same loss from another start say more than a worse candidate
            reached = self.problem.objective(candidate)
            again = reached <= before * (1 + 1e-6) and candidate.face.turning() is not None
            tried = candidate is not dual.primal  # or it was not worth a fit of its own
            self.since += 3 if again else int(tried)
            if self.problem.k is not None and reached < before:
                self.best = candidate
        best, problem = self.best, self.problem
        assert best is not None
        self._rank(candidate)
        if self.callback is not None:
            try:
                self.callback(self._progress(dual, candidate, best))
            except StopIteration:
                return Status.STOPPED
        decided = not (self.relaxed or self.open) and (problem.k is not None or not problem.M.explicit)
        if problem.meets(best.loss) and decided:
            return Status.BOUND_MET
        if self._hopeless():
            return Status.UNREACHABLE
        if problem.alpha is None and best is candidate and best.margin >= ISOLATED:
            return Status.SMALLEST_LOSS
        if problem.exact(best.loss) and problem.k is not None and not self.open:  # no better answer can turn up
            return self._settled()
        if self.since >= (self.patience if problem.k is not None else self.patience // 3):
            return self._settled()
        return None

    def _hopeless(self) -> bool:
        """Whether every x that meets alpha is proven to be larger than any sensible one."""
        levels = self.evidence.relaxed  # in units in which atoms are of one size, where those are known
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
        levels = self.evidence.relaxed
        levels.see_dual(DualPoint(y, z, levels.problem.atoms.support(z), P3(levels.problem)))
        return self._hopeless()

    def _progress(self, dual: DualPoint, candidate: Candidate, best: Candidate) -> Progress:
        return Progress(
            iteration=self.iterations,
            loss=best.loss,
            misfit=self.problem.misfit_of(best.loss, best.residual),
            cardinality=sum(f.size for f in best.face.parts),
            candidate_loss=candidate.loss,
            products=self.problem.M.products - self.before,
            problem=self.problem,
            candidate=best,
            dual=dual,
            evidence=self.evidence,
            best_gap=math.nan if dual.dear else self.evidence.gap,
        )

    def answer(self, decompositions: linalg.Session) -> Solution:
        """The answer in its final form, with loss and cardinality recomputed from the compact point alone."""
        problem, note, status = self.problem, "", self.status
        assert status is not None
        if status is Status.NOT_REACHED and self.proves_unreachable():
            status = Status.UNREACHABLE
        if self.best is not None and problem.alpha is None and status is not Status.STOPPED:
            further = getattr(self.retrieval, "last", None)
            self.best = self.best if further is None else further(problem, self.leaders)
        self.best = None if self.best is None else settled(problem, self.best)
        if self.best is None:
            face, c = problem.atoms.expose(np.zeros(problem.atoms.shape), 0), np.zeros(0)
        else:
            face, c = self.best.face, self.best.c
            if not self.relaxed:
                face, c = face.prune(c, face.size if problem.k is None else problem.k, self._norms(self.best))
            note = self.best.note
        image = face.measure(problem.M, c) if face.dim else np.zeros(problem.m)
        residual = np.subtract(problem.b, image, out=image if problem.free is None else None)  # none to spare
        final = Candidate(face, c, residual, problem.loss.value(residual))
        self.evidence.see_candidate(final)
        if status is Status.BOUND_MET and not problem.meets(final.loss):  # rounding took it back
            status = Status.NOT_REACHED
        success = status is Status.ZERO or (
            self.best is not None if problem.alpha is None else problem.meets(final.loss)
        )
        note = self._note(note, face)
        cardinality = sum(f.size for f in face.parts)
        misfit = problem.misfit_of(final.loss, residual)
        return Solution(
            face,
            c,
            status=status,
            success=success,
            message=self._message(status, tuple(f.size for f in face.parts), final.loss, misfit, note),
            loss=final.loss,
            misfit=misfit,
            free_coefficients=self._free_coefficients(face, c, image),
            intercept=problem.intercept,
            several=problem.M.by_columns,
            iterations=self.iterations,
            products=problem.M.products - self.before,
            svd_products=decompositions.products,
            certificate=Certificate(problem, final, self.evidence, cardinality=cardinality),
            biases=self._biases(residual),
            ridge=(problem.ridge or 0.0, problem.shrink or 0.0),
        )

    def _biases(self, residual: FloatArray) -> Biases | None:
        """Those that go best with the answer."""
        problem = self.problem
        if not isinstance(problem.loss, Biased):
            return None
        v, p = problem.loss.best_free(residual), problem.atoms.shape[0]
        return Biases(problem.center, v[:p], v[p:])

    def _note(self, note: str, face: Face) -> str:
        """What has to be said beside the status."""
        notes, problem = [note] if note else [], self.problem
        if problem.factorable and problem.k is not None:
            return "; ".join([*notes, *_blind_spots(problem, face.size)])
        if isinstance(problem.atoms, (Sum, Union)):
            return "; ".join([*notes, *_twins(problem.atoms)])
        if isinstance(problem.atoms, PSDRankOne):
            return "; ".join([*notes, *_semidefinite_spots(problem, face)])
        if problem.listed is None or not face.dim:
            return note
        classes = problem.listed.classes_of(face)
        idle = np.setdiff1d(problem.forced, classes)
        if idle.size:
            notes.append(
                f"{idle.size} of the atoms to include add nothing and have coefficient 0, number {idle[0]} for one"
            )
        pair = problem.listed.images.twins(classes)
        if pair is not None:
            notes.append(
                f"atoms {pair[0]} and {pair[1]}, for one pair, have the same image: which one is used is arbitrary"
            )
        return "; ".join(notes)

    def _free_coefficients(self, face: Face, c: FloatArray, image: FloatArray) -> FloatArray:
        """Of the columns beside M. Least squares has projected them out of M: its image is measured anew."""
        problem = self.problem
        if isinstance(problem.M.inner, Projected):
            image = face.measure(problem.M.inner.M, c) if face.dim else image
        v = problem.free_coefficients(image)
        return v.reshape(-1, problem.atoms.shape[1]) if problem.M.by_columns else v

    def _norms(self, best: Candidate) -> FloatArray | None:
        """|M a_i| for the order of the atoms, where it is known or costs no product."""
        at_hand = self.problem.M.explicit and isinstance(best.face, (Coordinates, GroupCoordinates))
        if best.norms is not None or not at_hand:
            return best.norms
        return self.problem.M.inner.restrict(best.face).norms()

    def _message(self, status: Status, sizes: tuple[int, ...], loss: float, misfit: float, note: str) -> str:
        problem = self.problem
        bound = "" if problem.alpha is None else f"a loss of at most {problem.alpha:.6g}"
        asked = (
            f"at most {_atoms(problem.k)}{bound and ' and '}{bound}"
            if problem.k is not None
            else f"{'a small gauge' if self.relaxed else 'few atoms'} with {bound}"
        )
        if problem.ridge:
            asked += f", the loss plus {problem.ridge:.4g} times the gauge to be small"
        shown = "" if math.isnan(misfit) else f" (misfit {misfit:.3g})"
        ending = status.value
        if problem.ridge and status is Status.SMALLEST_LOSS:
            ending = "this is the smallest loss + ridge times gauge found with at most k atoms."
        elif self.open and status is Status.SMALLEST_LOSS:
            ending = "this is the smallest loss found where what stands out of the noise is left to the open part."
        elif problem.ridge and status is Status.NOT_REACHED:
            ending = (
                "the bound was not reached with the ridge and the atoms allowed, and progress has stopped: give a "
                "smaller ridge (0 leaves it to the bound), more atoms or a larger bound."
            )
        message = (
            f"Asked: {asked}. Found: {_atoms(sizes if len(sizes) > 1 else sizes[0])} with loss {loss:.6g}{shown}. "
            f"{ending[0].upper()}{ending[1:]}"
        )
        if status is Status.UNREACHABLE:
            size = self.evidence.relaxed.tau_low
            units = "" if self.evidence.relaxed is self.evidence.levels else " over atoms in units of their images"
            message += " Proved: " + (
                "no atom is aligned, to working precision, with a dual vector that excludes it."
                if math.isinf(size)
                else f"any x that reaches it has a gauge of at least {size:.3g}{units}."
            )
        return f"{message} Note: {note}." if note else message


def _twins(atoms: Sum | Union) -> list[str]:
    """Parts that nothing tells apart."""
    pairs = [(i, j) for j in range(len(atoms.parts)) for i in range(j) if _alike(atoms.parts[i], atoms.parts[j])]
    return [f"parts {i} and {j} are the same set: how their atoms are shared out is arbitrary" for i, j in pairs]


def _alike(one: AtomicSet, other: AtomicSet) -> bool:
    """Whether two sets are the same up to a scale, as far as that can be seen without products."""
    (a, maps, _), (b, others, _) = one.unwrapped(), other.unwrapped()
    if type(a) is not type(b) or a.shape != b.shape or len(maps) != len(others) or isinstance(a, (Sum, Union)):
        return False
    if isinstance(a, Groups) and isinstance(b, Groups) and not np.array_equal(a.labels, b.labels):
        return False
    return all(
        f.op is g.op or (isinstance(f.matrix, np.ndarray) and np.array_equal(f.matrix, g.matrix))
        for f, g in zip(maps, others, strict=True)
    )


def _semidefinite_spots(problem: Problem, face: Face) -> list[str]:
    """What is odd about data of a positive semidefinite matrix."""
    M, b, notes = problem.M.inner, problem.data, []
    if isinstance(M, Quadratic):
        negative = int(np.count_nonzero(b < 0))
        if negative:
            verb = "is" if negative == 1 else "are"
            notes.append(f"{negative} of {b.size} intensities {verb} negative, which only noise explains")
        if face.freedom > problem.m:
            notes.append(f"{face.freedom} unknowns are more than {problem.m} measurements can determine")
    elif isinstance(M, (Sampling, Identity)):
        given, seen = sp.csr_array(M.adjoint(b)), sp.csr_array(M.adjoint(np.ones(b.size)))
        both = seen.multiply(seen.T)
        pairs = np.count_nonzero(abs((given - given.T) * both).data > 1e-12 * np.abs(b).max()) // 2
        if pairs:
            notes.append(f"{pairs} pairs of entries (i, j) and (j, i) differ: a symmetric matrix fits their means")
    return notes


def _blind_spots(problem: Problem, size: int) -> list[str]:
    """What sampled entries do not tell about a matrix of so many atoms."""
    M = problem.M.inner
    assert isinstance(M, Sampling)
    notes = []
    for name, counts, other in zip(("row", "column"), M.counts, ("column", "row"), strict=True):
        empty = np.flatnonzero(counts == 0)
        if empty.size:
            instead = f"the biases of the {other}s" if problem.biases else "zero"
            many, are = (f"{empty.size} {name}s have", "are") if empty.size > 1 else (f"1 {name} has", "is")
            notes.append(f"{many} no entries (number {empty[0]} for one) and {are} predicted by {instead}")
    unknowns, entries = size * (sum(M.matrix_shape) - size), "1 entry" if problem.m == 1 else f"{problem.m} entries"
    if unknowns > problem.m and not problem.ridge:
        notes.append(f"{unknowns} unknowns are more than {entries} can determine: a smaller k or a ridge would help")
    elif SCARCE * unknowns > problem.m and not problem.ridge:
        notes.append(
            f"{entries} are few for {unknowns} unknowns: noise in them is fitted too, a smaller k or a ridge would help"
        )
    return notes


def _atoms(k: Any) -> str:
    """A budget in words; those of a sum's parts side by side."""
    if isinstance(k, tuple):
        return " + ".join("any" if j is None else str(j) for j in k) + " atoms"
    return "1 atom" if k == 1 else f"{k} atoms"


def check_start(problem: Problem, start: Any) -> None:
    """Refuse a start that is no answer over the same set."""
    if not isinstance(start, Solution):
        raise TypeError(f"start must be the Solution of an earlier fit; got {type(start).__name__}")
    theirs = start.certificate.problem.atoms
    if _kind(theirs) != _kind(problem.atoms) or theirs.shape != problem.atoms.shape:
        raise ValueError(f"start must be a model made of {problem.atoms!r}; got one made of {theirs!r}")


def _restarted(problem: Problem, retrieval: Any, start: Solution) -> Candidate:
    """An earlier answer, brought to this problem's budget and demands, and polished."""
    check_start(problem, start)
    face, c = start._face, start._c
    if problem.listed is None:
        if problem.k is not None and not within(face, problem.k):
            face, c = face.prune(c, problem.k)
        candidate = reduced_fit(problem, face)
    else:
        classes = problem.listed.classes_of(face)  # the largest contributions first
        classes = classes[~np.isin(classes, np.concatenate([problem.forced, problem.barred]))]
        room = classes.size if problem.k is None else problem.k - problem.forced.size
        candidate = support_of(problem, np.concatenate([problem.forced, classes[:room]]))
    polish = getattr(retrieval, "polish", None)
    return candidate if polish is None else polish(problem, candidate)


def _kind(atoms: AtomicSet) -> Any:
    """What makes answers over two sets comparable."""
    inner = getattr(atoms, "inner", None)
    parts = getattr(atoms, "parts", ())
    return type(atoms), getattr(atoms, "scale", None), inner and _kind(inner), tuple(_kind(p) for p in parts)


def _need(thing: object, name: str, method: str) -> None:
    if isinstance(thing, type):
        raise TypeError(f"{name} must be an object with a method {method}(...), not a class; got {thing.__name__}")
    if not callable(getattr(thing, method, None)):
        raise TypeError(f"{name} must have a method {method}(...); got {thing!r}")
