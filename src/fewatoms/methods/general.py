"""Any problem: dual vectors from an oracle, atoms read off them by a retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fewatoms import _checks, kept
from fewatoms.atoms import AtomicSet
from fewatoms.atoms.pursuit import least_squares_only, pursues
from fewatoms.budget import Budget, none_of
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import Prox, RankOnePairs, SeenAsIs, Semidefinite
from fewatoms.faces import Face
from fewatoms.goals import FewestAtoms, Goal
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.oracles import Continuation, Corrective, Oracle
from fewatoms.problem import Problem
from fewatoms.retrieval import Active, Exchange, Retrieval, Retrieving, reduced_fit
from fewatoms.retrieval.by_forms import FormTurn
from fewatoms.retrieval.forms import enough, reads_pairs
from fewatoms.solution import Solution
from fewatoms.words import asymmetric, same_parts

SKEW = 1e-12  # of the largest entry: by less than this entries (i, j) and (j, i) do not differ


@dataclass(frozen=True, eq=False)
class General(Method):
    """One stream of dual vectors for all budgets, and a retrieval that turns each into a candidate.

    Parameters
    ----------
    oracle : where dual vectors come from, anything with iterates(problem); by default (P1) down a ladder of penalties,
        or, for sets without a proximal map, atoms added one by one
    retrieval : anything with retrieve(problem, dual); by default identify, fit, prune, polish. With an oracle of your
        own and no retrieval, atoms that can be listed are retrieved as `Listed` does, factors as `Phases` does

    Notes
    -----
    With a bound and no k, over a set that is no sum: each dual vector is asked for 1, 2, 4, ...
    atoms until the bound is met, then for fewer by halving; later ones are asked for fewer than the best answer has.
    """

    oracle: Oracle | None = None
    retrieval: Retrieving | None = None

    def __post_init__(self) -> None:
        for name, value, verb in (("oracle", self.oracle, "iterates"), ("retrieval", self.retrieval, "retrieve")):
            if isinstance(value, type):
                raise TypeError(
                    f"{name} must be an object with a method {verb}(...), not a class; got {value.__name__}"
                )
            if value is not None and not callable(getattr(value, verb, None)):
                raise TypeError(f"{name} must have a method {verb}(...); got {value!r}")

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        if self.oracle is not None and self.retrieval is None:
            from fewatoms.methods.listed import Listed
            from fewatoms.methods.phases import Phases

            for method in (Phases(oracle=self.oracle), Listed(oracle=self.oracle)):
                job = method.open(problem, budgets)
                if job is not None:
                    return job
        _refuse(problem, budgets)
        require_faces(problem)
        return GeneralJob(problem, budgets, self)


class GeneralJob(Job):
    """The oracle's stream as it comes."""

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: General) -> None:
        super().__init__(problem, budgets)
        self.oracle = default_oracle(problem) if method.oracle is None else method.oracle
        self.retrieval = default_retrieval(problem) if method.retrieval is None else method.retrieval
        self.pace = Pace(getattr(self.oracle, "patience", Pace.patience))
        self.few = Growing(problem)
        self._reads = method.retrieval is None and reads_pairs(problem)

    def needs(self) -> dict[str, float]:
        """M written out once more for descents on factors, and the copy that this takes."""
        return {"M as forms of the factors": 16.0 * self.problem.m * self.problem.M.shape[1]} if self._reads else {}

    def goal(self, problem: Problem) -> Goal:
        return FewestAtoms(problem) if problem.budget.nothing_said else super().goal(problem)

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        return streamed(self.oracle, self.problem)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        dual = iterate.dual
        assert dual is not None
        if budget.nothing_said:
            return self.few.retrieve(lambda k: self.retrieval.retrieve(self.asked(Budget(k)), dual))
        return self.retrieval.retrieve(self.asked(budget), dual)

    def asked(self, budget: Budget) -> Problem:
        """The problem for as many atoms; of semidefinite ones for no more than suffice: others would be anything."""
        problem = self.problem
        if problem.atoms.unwrapped().inner.offers(Semidefinite) is None or budget.open:
            return problem.with_budget(budget)
        most = enough(problem.m, problem.atoms.shape[0], problem.M.complex)
        return problem.with_budget(Budget(min(budget.single, most)))

    def noted(self) -> Callable[[], Kept]:
        told: dict[str, Plain] = {"asks": self.few.asks, "met": self.few.met}
        return lambda: Kept("few", told)

    def go_on(self, it: Kept) -> None:
        self.few.asks, self.few.met = kept.whole(it.told["asks"]), it.told["met"] is True

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        face, c = start.compact
        return reduced_fit(problem, face if problem.budget.allows(face) else face.prune(c, problem.k)[0])

    def notes(self, problem: Problem, face: Face) -> list[str]:
        return [*twin_parts(problem), *skew_entries(problem)]


def require_faces(problem: Problem) -> None:
    """Refuse a set of one's own whose exposed atoms are no face: what it says of no atoms tells that."""
    _checks.face(problem.atoms.expose(np.zeros(problem.atoms.shape), none_of(problem.atoms).k))


class Growing:
    """As few atoms as meet a bound, by a retrieval for a number of atoms: what one dual vector has shown is where the
    next begins."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.most = max(1, min(problem.atoms.count, problem.m))
        self.asks, self.met = 1, False

    def retrieve(self, with_most: Callable[[int], Candidate]) -> Candidate:
        """A candidate of few atoms that meets the bound; one that comes near where none does."""
        meets, low = self.problem.meets, 0
        best = with_most(self.asks)
        while not meets(best.loss) and not self.met and self.asks < self.most:
            low, self.asks = self.asks, min(2 * self.asks, self.most)
            best = with_most(self.asks)
        if not meets(best.loss):
            return best
        while best.face.size - low > 1:
            middle = (low + best.face.size) // 2
            trial = with_most(middle)
            low, best = (low, trial) if meets(trial.loss) else (middle, best)
        self.met, self.asks = True, max(1, best.face.size - 1)
        return best


def streamed(oracle: Oracle, problem: Problem) -> Iterator[Iterate]:
    """What an oracle yields, checked."""
    for dual in oracle.iterates(problem):
        if not isinstance(dual, DualPoint):
            raise TypeError(f"oracle must yield DualPoints (FromIterates makes them of vectors); got {dual!r}")
        yield Iterate(dual, dual.primal)


def default_oracle(problem: Problem) -> Oracle:
    """What needs neither alpha nor tau."""
    return Corrective() if problem.atoms.offers(Prox) is None else Continuation()


def default_retrieval(problem: Problem) -> Retrieving:
    """Ties are told apart where more than the k best aligned atoms are exposed; elsewhere by the oracle's own point."""
    if FormTurn.suits(problem):
        return Retrieval(polish=Exchange(turn=FormTurn(problem=problem)))
    return Retrieval(identify=Active()) if problem.atoms.offers(Prox) is None else Retrieval()


def twin_parts(problem: Problem) -> list[str]:
    """Parts that nothing tells apart."""
    parts = [part.unwrapped() for part in problem.atoms.parts]
    alike = (
        (i, j)
        for j, b in enumerate(parts)
        for i, a in enumerate(parts[:j])
        if a.inner.same_as(b.inner)
        and len(a.maps) == len(b.maps)
        and all(f.same_as(g) for f, g in zip(a.maps, b.maps, strict=True))
    )
    return [same_parts(i, j) for i, j in alike]


def skew_entries(problem: Problem) -> list[str]:
    """Entries of a semidefinite matrix, seen as they are, that contradict each other."""
    seen = problem.measured.offers(SeenAsIs)
    if seen is None or problem.atoms.offers(Semidefinite) is None:
        return []
    n, places = problem.atoms.shape[0], seen.places()
    rows, cols = np.divmod(np.arange(n * n) if places is None else places, n)
    order = np.argsort(rows * n + cols)
    keys, mirrored = (rows * n + cols)[order], cols * n + rows
    spots = np.minimum(np.searchsorted(keys, mirrored), keys.size - 1)
    both = keys[spots] == mirrored
    off = np.abs(problem.data - problem.data[order[spots]])[both] > SKEW * np.abs(problem.data).max()
    pairs = int(np.count_nonzero(off)) // 2
    return [asymmetric(pairs)] if pairs else []


def _refuse(problem: Problem, budgets: Sequence[Budget]) -> None:
    """What only other methods can do, with the argument that asks for it."""
    atoms, price = problem.atoms, problem.price
    _refuse_nothing(problem, budgets)
    named = _on_factors(problem)
    if named:
        beside = " with free columns" if problem.beside.count and problem.beside.biases is None else ""
        also = ": a ridge is also for sets whose atoms can be listed" if price.ridge != 0 else ""
        raise ValueError(
            f"{named} for RankOne atoms, sampled entries and least squares without free columns, by the default "
            f"method; got {atoms!r}, {problem.measured!r} and {problem.base_loss!r}{beside}{also}"
        )
    listing = atoms.listing()
    chosen = listing is not None and listing.forced.size + listing.barred.size
    if chosen or price.cap is not None or price.ridge != 0:
        name = "cap" if price.cap is not None else "atoms.restricted(...)" if price.ridge == 0 else "ridge"
        raise ValueError(f"{name} needs a vector model, the default method and room for images; got {problem!r}")
    for budget in budgets:
        if budget.nothing_said and atoms.parts and listing is None:
            raise TypeError(f"k must be given for {atoms!r}, whose atoms cannot be listed; got None")
        if budget.nothing_said and atoms.parts:
            raise TypeError(f"k must give one budget for each of the {len(atoms.parts)} parts of {atoms!r}; got None")
        if budget.nothing_said:
            continue
        shared = budget.shared_by(atoms)
        if shared is not None:
            joined, k = shared
            raise TypeError(f"k must give one budget for each of the {len(joined.parts)} parts of {joined!r}; got {k}")
        if budget.open:
            raise ValueError(
                f"k must give a number for each of the {len(atoms.parts)} parts of {atoms!r}; None is for data seen as "
                f"they are, least squares without free columns (Huber's loss for rank-one matrices and entries), and "
                f"parts of orthonormal atoms; got {budget.k!r}"
            )


def _refuse_nothing(problem: Problem, budgets: Sequence[Budget]) -> None:
    """Neither a number of atoms nor a bound: whatever else was asked for, that is what lacks."""
    if not any(budget.nothing_said for budget in budgets):
        return
    if pursues(problem.atoms) and not problem.base_loss.squares:
        least_squares_only(problem.atoms, problem.base_loss)
    if problem.alpha is None:
        raise TypeError("k must say how many atoms are allowed, unless a bound (alpha or misfit) is given; got None")


def _on_factors(problem: Problem) -> str | None:
    """The argument that asks for something about factors of matrices, if one does, and its verb."""
    if problem.beside.biases is not None:
        return "free: biases are"
    if nonnegative_pairs(problem.atoms):
        return "nonnegative is"
    return "ridge is" if problem.price.ridge != 0 and problem.atoms.listing() is None else None


def nonnegative_pairs(atoms: AtomicSet) -> bool:
    """Whether factors of a set, or of a part of it, must not be negative."""
    pairs = atoms.unwrapped().inner.offers(RankOnePairs)
    return (pairs is not None and pairs.nonnegative) or any(nonnegative_pairs(part) for part in atoms.parts)
