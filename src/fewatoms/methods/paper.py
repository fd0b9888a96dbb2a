"""The paper's method as its authors ran it: Newton steps on tau, dual conditional-gradient steps, the top-k rule."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import _checks, kept, ledger
from fewatoms._types import FloatArray, ModelDual
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget, none_of
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.continued import candidate_again, candidate_kept
from fewatoms.faces import Face
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.general import nonnegative_pairs
from fewatoms.problem import Problem
from fewatoms.relaxations import P3

STATE_OF_WALK = ("tau", "newton", "iterations", "promise", "lower")  # of a walk, beside its images
UNPROMISING = math.sqrt(np.finfo(np.float64).eps)  # a step that promises less than this is not taken


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the dual conditional-gradient method, seen from where it ended.

    iteration : which step this is, from 1
    newton : which Newton step it belongs to, from 1
    tau : the gauge allowed; that of the walk's own point is no larger
    y : (m,) array, the dual vector r = b - Mx
    z : M*y, on loan until the next product with M or M*
    support : support(z)
    loss : u = |r|^2 / 2
    promise : <tau Ma - Mx, r> before the step, the authors' gap
    lower : l = max(alpha, u - promise), what Newton's method takes for a lower bound of v(tau)
    gap : tau support(z) - <Mx, r>, the duality gap of (P2) at this point: u - gap <= v(tau) is proven
    closes : whether this Newton step ends here, so that atoms are retrieved
    """

    iteration: int
    newton: int
    tau: float
    y: FloatArray = field(repr=False)
    z: ModelDual = field(repr=False)
    support: float
    loss: float
    promise: float
    lower: float
    gap: float
    closes: bool


@dataclass(frozen=True)
class Paper(Method):
    """The level-set method for (P3) with the dual conditional-gradient method inside, and the top-k rule outside.

    v(tau) = min |b - Mx|^2 / 2 subject to gauge(x) <= tau. From tau = 0, a lower bound l of v(tau) with slope -s,
    s = support(M*r), moves tau to tau + (l - alpha) / s, and the point with it: Mx <- Mx tau' / tau. At fixed tau
    Mx <- Mx + theta (tau Ma - Mx), for the atom a that M*r exposes and the best theta in [0, 1], until
    l > alpha + epsilon. Then, once, the k atoms best aligned with M*r are fitted to b - e, e = r sqrt(2 alpha) / |r|.
    For a sum of sets each part has its own Mx, a and theta.

    Parameters
    ----------
    epsilon : float
        Slack on the loss: the walk ends when retrieved atoms have a loss of at most alpha + epsilon.
        The authors' is (tol |b|)^2 / 2.
    tie : float
        Of sets whose atoms can be listed, all atoms within this share of the best are averaged.

    Notes
    -----
    Not done: l is no proven bound. It takes u from after a step and the gap from before it, that of an average where
    atoms tie, and the first step of all is made at full length: tau may pass the root of v(tau) = alpha, and does so by
    a little with ties. What is proven is in `Step.gap`. A step that promises less than sqrt(eps), in the units of the
    loss, is not taken. The reduced fit is LSMR at its default tolerances; coefficients that must not be negative are
    projected after it. No weights, other losses, cones, ridges, caps, atoms forced in or out; nothing is polished.

    Reference: Z. Fan, H. Fang, M. P. Friedlander, "Cardinality-constrained structured data-fitting problems",
    Algorithm 1, and the level-set method of its experiments.
    """

    epsilon: float = 0.0
    tie: float = 0.01

    def __post_init__(self) -> None:
        _checks.number("epsilon", self.epsilon)
        _checks.require(_checks.number("tie", self.tie) < 1, "tie", "smaller than 1", self.tie)

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> PaperJob:
        _check(problem, budgets)
        return PaperJob(replace(problem, slack=self.epsilon), budgets, self)

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Every step of the walk: without end, unless tau can grow no more or the root is reached up to epsilon."""
        walk = Walk(problem, self)
        with ledger.step("walk") as here:
            if here.found is not None:
                walk.go_on(here.found)
            while not walk.closes or (not walk.solved and walk.grow()):
                walk.step()
                yield walk.seen()
                if here.live:
                    here.mark(walk.noted())

    def retrieve(self, problem: Problem, step: Step) -> Candidate:
        """The k atoms best aligned with M*r, fitted to b less a residual of loss alpha that points as r does."""
        M, face = problem.M, problem.atoms.expose(step.z, problem.k)

        def measure(c: FloatArray) -> FloatArray:
            ledger.tick()
            return face.measure(M, c)

        columns = LinearOperator(
            (problem.m, face.dim),
            matvec=measure,
            rmatvec=lambda r: face.adjoint(M.adjoint(r)),
            dtype=np.float64,
        )
        size = float(np.linalg.norm(step.y))
        left = math.sqrt(2.0 * _alpha(problem)) / size if size > 0 else 0.0
        c = face.project(lsmr(columns, problem.b - left * step.y)[0])
        residual = problem.b - face.measure(M, c)
        return Candidate.of(face, c, residual, problem.loss.value(residual))


class PaperJob(Job):
    """The walk as a stream, each step an iterate; atoms are retrieved where a Newton step ends."""

    pace = Pace(patience=sys.maxsize, complete=True)

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Paper) -> None:
        super().__init__(problem, budgets)
        self.method = method
        self.latest: dict[Budget, Candidate] = {}
        self.step: Step | None = None

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        relaxation = P3(self.problem)
        for step in self.method.steps(self.problem):
            ledger.tick()
            self.step = step
            dual = DualPoint(step.y, step.z, step.support, relaxation, step.loss, step.tau)
            yield Iterate(dual, at=step)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        """What the last Newton step retrieved: nothing, before the first one has ended."""
        problem, step = self.problem.with_budget(budget), iterate.at
        assert isinstance(step, Step)
        if step.closes:
            self.latest[budget] = self.method.retrieve(problem, step)
        elif budget not in self.latest:
            nothing = problem.atoms.expose(step.z, none_of(problem.atoms).k)  # z may be no matrix that is written out
            self.latest[budget] = Candidate.of(nothing, np.zeros(0), problem.b, problem.at_zero)
        return self.latest[budget]

    def noted(self) -> Callable[[], Kept] | None:
        """What was retrieved last."""
        latest = dict(self.latest)
        return lambda: Kept(
            "latest", {"k": [plain_budget(k) for k in latest]}, {}, tuple(map(candidate_kept, latest.values()))
        )

    def go_on(self, it: Kept) -> None:
        for k, known in zip(kept.rows(it.told["k"]), it.inner, strict=True):
            budget = read_budget(k)
            self.latest[budget] = candidate_again(known, self.problem.with_budget(budget))

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        """A walk that was cut off in the middle of a Newton step has one more look at its last point."""
        if self.step is None or self.step.closes:
            return leaders[0]
        return min([*leaders, self.method.retrieve(problem, self.step)], key=lambda candidate: candidate.loss)


class Walk:
    """The moving state: tau, Mx with a row for each part of a sum, and at this point r, its loss, M*r, what it exposes.

    Vectors of the data's length: one for each part, and r. x is not formed.
    """

    def __init__(self, problem: Problem, method: Paper) -> None:
        self.problem, self.tie, self.epsilon = problem, method.tie, method.epsilon
        self.alpha = _alpha(problem)
        self.parts = problem.atoms.summands
        self.images: FloatArray = np.zeros((len(self.parts), problem.m))
        self.tau, self.newton, self.iterations = 0.0, 0, 0
        self.promise = 0.0
        self._look()
        self.lower = self.loss

    def _look(self) -> None:
        """Evaluate what belongs to the present point: one product with M*."""
        problem = self.problem
        self.y: FloatArray = problem.b - self.images.sum(axis=0)
        self.loss = problem.loss.value(self.y)
        self.z: ModelDual = problem.M.adjoint(self.y)
        exposed = [part.extreme(self.z, self.tie) for part in self.parts]
        self.support = sum(value for value, _ in exposed)
        self.faces = [face for _, face in exposed]

    def noted(self) -> Callable[[], Kept]:
        """Note where it is, for a checkpoint."""
        images = self.images.copy()
        told: dict[str, Plain] = {name: vars(self)[name] for name in STATE_OF_WALK}
        return lambda: Kept("walk", told, {"images": images})

    def go_on(self, it: Kept) -> None:
        """Be there again."""
        self.images = np.array(kept.numbers(it.arrays["images"], 2))
        self.newton, self.iterations = kept.whole(it.told["newton"]), kept.whole(it.told["iterations"])
        self.tau, self.promise, self.lower = (kept.real(it.told[name]) for name in ("tau", "promise", "lower"))
        with ledger.elsewhere():  # it was paid for
            self._look()

    def grow(self) -> bool:
        """A Newton step on tau, the point growing with it; False where the bound's slope leads nowhere."""
        if not self.support > 0:
            return False  # no atom points along r: v is at its least, above alpha
        tau = self.tau + (self.lower - self.alpha) / self.support
        if not self.tau < tau < math.inf:
            return False
        self.newton += 1
        if self.tau > 0:
            self.images *= tau / self.tau
            self._look()
        self.tau = tau
        return True

    def step(self) -> None:
        """A conditional-gradient step at this tau: one product with M for each part, one with M*."""
        towards = np.stack([self._image(face) for face in self.faces])
        towards *= self.tau
        direction = towards - self.images
        self.promise = float((direction @ self.y).sum())
        if self.promise >= UNPROMISING:
            if self.images.any():
                self.images += _lengths(direction, self.y)[:, None] * direction
            else:
                self.images = towards
            self._look()
        self.iterations += 1
        self.lower = max(self.alpha, self.loss - self.promise)

    def _image(self, face: Face) -> FloatArray:
        """The image of the average of the atoms exposed; 0 where all atoms point away."""
        return face.measure(self.problem.M, face.mean_atom()) if face.dim else np.zeros(self.problem.m)

    @property
    def above(self) -> bool:
        """Whether the bound is high enough for a Newton step."""
        return self.lower > self.alpha + self.epsilon

    @property
    def solved(self) -> bool:
        """Whether (P2) is solved at this tau without such a bound: the root is reached, as far as epsilon can tell."""
        return not self.above and self.promise <= max(UNPROMISING, 0.5 * self.epsilon)

    @property
    def closes(self) -> bool:
        """Whether the Newton step ends here."""
        return self.above or self.solved

    def seen(self) -> Step:
        """The present point as others see it."""
        gap = self.tau * self.support - float(np.dot(self.problem.b - self.y, self.y))
        return Step(
            iteration=self.iterations,
            newton=self.newton,
            tau=self.tau,
            y=self.y,
            z=self.z,
            support=self.support,
            loss=self.loss,
            promise=self.promise,
            lower=self.lower,
            gap=max(0.0, gap),  # below 0 it is rounding
            closes=self.closes,
        )


def _lengths(directions: FloatArray, r: FloatArray) -> FloatArray:
    """The theta in [0, 1], one for each direction, that minimise |r - sum theta_i d_i|."""
    if len(directions) == 1:
        d = directions[0]
        return np.array([min(1.0, float(np.dot(d, r)) / float(np.dot(d, d)))])
    from scipy.optimize import lsq_linear

    # Data are long and parts few: least squares with a square root of the Gram matrix has the same answer.
    values, vectors = np.linalg.eigh(directions @ directions.T)
    kept = values > np.finfo(np.float64).eps * values[-1]
    roots = np.sqrt(values[kept])
    target = (vectors[:, kept].T @ (directions @ r)) / roots
    found = lsq_linear(roots[:, None] * vectors[:, kept].T, target, bounds=(0.0, 1.0), method="bvls")
    return np.clip(found.x, 0.0, 1.0)  # it may be outside by rounding


def _alpha(problem: Problem) -> float:
    if problem.alpha is None:
        raise ValueError("alpha (or misfit) must be given for Paper, whose Newton steps aim at it; got None")
    return problem.alpha


def _check(problem: Problem, budgets: Sequence[Budget]) -> None:
    """Refuse what the method cannot do."""
    loss, atoms, listing = problem.base_loss, problem.atoms, problem.atoms.listing()
    if not loss.squares or loss.weights is not None:
        raise ValueError(f"loss must be LeastSquares() without weights for Paper; got {loss!r}")
    if not problem.plain:
        raise ValueError(f"free must be left out for Paper; got {problem.beside.count} numbers beside the atoms")
    if not atoms.bounded:
        raise ValueError(f"atoms must be a bounded set for Paper, which walks to tau times an atom; got {atoms!r}")
    for k in budgets:
        if k.open or k.shared_by(atoms) is not None:
            raise ValueError(f"k must be a number of atoms for Paper, one for each part of a sum; got {k.k!r}")
    if problem.price.ridge != 0 or problem.price.cap is not None:
        raise ValueError(f"ridge and cap must be left out for Paper; got {problem.price!r}")
    if listing is not None and listing.forced.size + listing.barred.size:
        raise ValueError(f"atoms must not be restricted for Paper; got {atoms!r}")
    if nonnegative_pairs(atoms):
        raise ValueError(f"atoms must not be nonnegative factors for Paper, which would give them signs; got {atoms!r}")
    _alpha(problem)


__all__ = ["Paper", "Step", "Walk"]
