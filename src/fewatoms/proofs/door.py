"""The door: is there any choice of k atoms that is better than this one?"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, callbacks, journal, ledger
from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate
from fewatoms.evidence import Evidence
from fewatoms.interrupts import Presses
from fewatoms.proofs.base import Question, Search, Standing, Tree, choose, relative
from fewatoms.proofs.better import better
from fewatoms.proofs.first import first
from fewatoms.proofs.proof import Proof, about
from fewatoms.proofs.question import attached, decided, gap_of, posed
from fewatoms.records import Progress
from fewatoms.run import Callback
from fewatoms.solution import Solution

UNBEGUN = "No node was looked at in that time: machine code of the search is made when it is first needed, and kept."

LEFT_OVER = (
    "The search has ended, and what is left between both bounds is rounding, as where columns are nearly dependent."
)


def prove(
    solution: Solution,
    M: object = None,
    b: npt.ArrayLike | None = None,
    *,
    seconds: float = 60.0,
    gap: float = 1e-4,
    cap: float | None = None,
    frobenius: float | None = None,
    callback: Callback | Sequence[Callback] | None = None,
) -> Proof:
    """Prove that no other choice of k atoms is better, or bound by how much others could be.

    `fit` looks for the best k atoms and says what it found; this looks at all the others, most of them many at a time,
    by what dual vectors prove of them, and tells a number that no choice of k atoms goes below. What it says holds
    whenever it ends, be it by a deadline, Ctrl-C or a callback: it has gone on for longer then, and the bound is
    lower. A better answer that turns up on the way takes the place of the one that was given.

    Parameters
    ----------
    solution : Solution
        The answer of `fit`, `fit_path` (`path[k]`) or `fit_many` (`answers[i]`), over one set, with a number of atoms.
        Of matrices (RankOne, PSDRankOne) there is one bound, with no search behind it.
    M, b : as for `fit`, optional
        For an answer that has lost them: it was loaded from a file. Where more has to be given again (free columns, a
        loss with weights, a dictionary), `solution.attach` takes all of it.
    seconds : float
        To stop after. The first Ctrl-C stops it as well; the second one raises KeyboardInterrupt.
    gap : float
        (upper - lower) / upper at which it is proven. Smaller ones take longer.
    cap : float, optional
        For matrices: the largest singular value that they may have. Caps of listed atoms belong to `fit`.
    frobenius : float, optional
        For matrices: rho, where (rho / 2) |X|^2 is to be part of what is minimised, of the answer too.
    callback : callable(intermediate_result), or a list of them, optional
        Called every tenth of a second with a Progress, whose `lower`, `upper` and `nodes` say how far it is; raising
        StopIteration ends it.

    Returns
    -------
    Proof
        `lower`, `upper`, `gap`, `proven`, `nodes`, `seconds`, `solution`; `print(proof)` tells it, `proof.save`,
        `proof.verify(M, b)`, `proof.plot()`. The certificate of `proof.solution` knows it.

    Notes
    -----
    For any y in the domain of f*, with z = M*y, no choice of k atoms has an objective below <b, y> - f*(y) less the k
    largest h(z_i), where h is the conjugate of what one coefficient pays: z^2 / (2 ridge), cap |z|, or both. So a ridge
    or a cap makes every dual vector a bound. Without either, least squares with independent columns can still be
    proven; elsewhere the proof says what to do.

    Examples
    --------
    >>> import numpy as np, fewatoms as fa
    >>> rng = np.random.default_rng(0)
    >>> M, noise = rng.standard_normal((100, 30)), rng.standard_normal(100)
    >>> s = fa.fit(M, M[:, :3].sum(axis=1) + noise, atoms=fa.SignedOneHot(30), k=3, ridge=0.1)
    >>> proof = fa.prove(s, seconds=10)
    >>> proof.proven, proof.lower <= s.objective
    (True, True)
    """
    from fewatoms.proofs import families

    seconds = _checks.number("seconds", seconds, positive=True, infinite=True)
    gap = gap_of(gap)
    listens = callbacks.read(callback)
    _checked(callback)
    began = time.monotonic()
    answer = attached(solution, M, b)
    with ledger.opened():
        question = posed(answer, gap=gap, seconds=seconds, cap=cap, frobenius=frobenius)
        search = choose(families.PROVERS, question)
    if search is None:
        raise ValueError(
            f"solution must be one whose other choices can be bounded; nobody can for {question.problem!r}: "
            "solution.certificate tells what the relaxation proves"
        )
    with callbacks.entered(listens), journal.keeping(None):
        run = _Run(question, answer, search, began + seconds, listens)
        run.through()
        return run.told(began, cap, frobenius)


def _checked(callback: object) -> None:
    for one in _checks.heard(callback):
        if isinstance(one, callbacks.Checkpoint):
            raise ValueError("callback must be no Checkpoint: a proof is not gone on with after a kill; got one")


@dataclass(eq=False)
class _Run:
    """One proof under way.

    until : by the monotonic clock
    """

    question: Question
    answer: Solution
    search: Search
    until: float
    callback: Callback | None
    ended: str = ""
    presses: Presses = field(default_factory=Presses)
    rows: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.now = Standing(-math.inf, self.question.upper, self.question.best, 0)
        self.first: tuple[float, Tree] | None = None

    def through(self) -> None:
        """Until it is done, or somebody says stop."""
        with ledger.opened(hear=self.hear) as spent, self.presses, suppress(ledger.Stopped):
            self.first = first(self.question, *self.answer.compact)
            if self.first is not None:
                self.see(replace(self.now, lower=self.first[0]))
            with closing(self.search.standings()) as standings:
                for standing in standings:
                    self.see(standing)
                    spent.tick()
                    if standing.ended:
                        break
                    self.listen()
            self.ended = "searched"

    def see(self, standing: Standing) -> None:
        """Bounds only ever come nearer."""
        before = self.now
        lower, upper = max(before.lower, standing.lower), min(before.upper, standing.upper)
        self.now = replace(standing, lower=lower, upper=upper)
        if (lower, upper) != (before.lower, before.upper):
            self.rows.append((time.monotonic() - self.began, lower, upper))

    def listen(self) -> None:
        """To the clock and to Ctrl-C."""
        if self.presses.heard or time.monotonic() >= self.until:
            self.ended = "interrupt" if self.presses.heard else "deadline"
            raise ledger.Stopped

    def hear(self) -> None:
        """Called by the clock, every tenth of a second at most."""
        self.listen()
        if self.callback is not None:
            try:
                self.callback(self.progress())
            except StopIteration:
                self.ended = "callback"
                raise ledger.Stopped from None

    def progress(self) -> Progress:
        problem, spent = self.question.problem, ledger.current()
        face, c = self.answer.compact
        loss = self.answer.loss
        candidate = Candidate(loss, face.gauge(c), lambda: (face, c), lambda: problem.b)
        evidence, counts = Evidence(problem), ledger.counts()
        return Progress(
            spent.stage, self.now.nodes, loss, spent.products, problem, candidate, None, evidence, counts,
            self.now.lower, self.now.upper, self.now.nodes,
        )  # fmt: skip

    def told(self, began: float, cap: float | None, frobenius: float | None) -> Proof:
        """What was found out, with its bounds evaluated anew."""
        with ledger.opened():
            final, tree = self.search.final(), self.search.tree()
            if self.first is not None and self.first[0] > final.lower and not final.nodes:  # it has not begun
                final, tree = replace(final, lower=self.first[0]), self.first[1]
            question, answer, improved = self.question, self.answer, False
            if final.upper < question.upper and not np.array_equal(final.best, question.best):
                found = better(question, answer, final.best)
                if found is not None:
                    question, answer, improved = *found, True
        upper, lower = float(question.upper), float(min(final.lower, question.upper))
        close = relative(upper, lower) <= question.gap or question.enough() <= 0 <= lower
        remedy = "" if close else self.search.remedy() or self.waited(final)
        known = decided(question, lower, self.search.about, remedy, proven=bool(close))
        took = time.monotonic() - began
        proof = Proof(
            lower, upper, final.nodes, took, answer, question.gap, "proven" if known.proven else self.ended, improved,
            self.trace(took, lower, upper), tree, cap, frobenius,
        )  # fmt: skip
        return about(proof, answer.decided_by(known))

    def waited(self, final: Standing) -> str:
        """What to do where the search does not say it: it has not begun in that time, or it has ended."""
        if self.now.ended:
            return LEFT_OVER
        return UNBEGUN if self.ended == "deadline" and not final.nodes else ""

    def trace(self, took: float, lower: float, upper: float) -> FloatArray:
        rows = [row for row in self.rows if math.isfinite(row[1])]
        return np.array([*rows, (took, lower, upper)], dtype=np.float64)


__all__ = ["prove"]
