"""What is proven about all other choices of k atoms, as users read it, keep it and check it again."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, files, kept, ledger, words
from fewatoms._types import FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.figures import Decided
from fewatoms.kept import Kept, Plain
from fewatoms.losses import Loss
from fewatoms.proofs.base import MARGIN, Checked, Checker, Question, Tampered, Tree, relative
from fewatoms.proofs.paying import nothing
from fewatoms.proofs.question import gap_of, posed, subject_of, what_of
from fewatoms.solution import Solution, restored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.display import ProofDisplay

SAME_OBJECTIVE = 1e-9  # share by which objectives that are computed again may differ
AGAIN_OFF = 1e-12  # the same of bounds, beside what was left to rounding
SMALL_GAP = 1e-3  # larger ones leave rounding no more room than this one
BROKEN = (IndexError, KeyError, TypeError, ValueError, OverflowError, FloatingPointError)


@dataclass(frozen=True)
class Verified:
    """What checking a proof again has come to.

    lower : the bound that the part looked at proves, from M, b and what the proof keeps alone
    upper : the objective of the answer, recomputed
    proven : whether all of it was looked at, and the gap is the one asked for at most
    share : of the proof that was looked at
    """

    lower: float
    upper: float
    proven: bool
    share: float


@dataclass(frozen=True, eq=False)
class Proof:
    """What `prove` has found out. `print(proof)` says it in words; `save` keeps it, `verify` checks it again.

    lower : no choice of k atoms has a lower objective (the loss, and what coefficients pay); rounded downwards
    upper : the objective of the answer, recomputed and rounded upwards
    gap : (upper - lower) / upper; 0 where the objective is 0, but for rounding
    proven : whether that is at most what was asked for
    nodes : of the search tree, or choices, that were looked at
    seconds : that it took
    solution : the answer that it is about, whose certificate knows the proof: the one that was given, or a better one
        that was found on the way
    improved : whether it is a better one
    asked : the gap that was asked for
    ended : why it is over: "proven", "searched" (all that the search can do), "deadline", "interrupt" or "callback"
    subject, what : what there is none of that is better, "choice of 8 of the 64 features", and in what, "loss"
    remedy : where little was proven, what to do; ""
    trace : (seconds, lower, upper), a row for each time that one of the bounds has moved
    tree : what is kept to see again why it holds
    cap, frobenius : as they were given
    """

    lower: float
    upper: float
    nodes: int
    seconds: float
    solution: Solution
    asked: float
    ended: str
    improved: bool
    trace: FloatArray
    tree: Tree
    cap: float | None = None
    frobenius: float | None = None

    @property
    def gap(self) -> float:
        known = relative(self.upper, self.lower)
        return 0.0 if self.proven and known > self.asked else known  # an objective of 0, but for rounding

    @property
    def decided(self) -> Decided:
        """What the certificate of the answer tells of it."""
        found = self.solution.certificate.decided
        assert found is not None
        return found

    @property
    def proven(self) -> bool:
        return self.decided.proven

    @property
    def subject(self) -> str:
        return self.decided.subject

    @property
    def what(self) -> str:
        """What is bounded: "loss", or "objective" where coefficients pay."""
        return self.decided.what

    @property
    def remedy(self) -> str:
        return self.decided.remedy

    def __str__(self) -> str:
        return words.proof(self)

    def __repr__(self) -> str:
        how = f"proven to {words.tolerance(self.asked)}" if self.proven else f"gap {self.gap:.3g}"
        low, high = words.between(self.lower, self.upper)
        return f"Proof({how}, lower={low}, upper={high}, nodes={self.nodes}, seconds={self.seconds:.3g})"

    def plot(self, ax: Axes | None = None) -> ProofDisplay:
        """Draw both bounds against time; needs matplotlib."""
        drawn: ProofDisplay = import_module("fewatoms.display").ProofDisplay.from_proof(self)
        return drawn.plot(ax)

    # A value ----------------------------------------------------------------------------------------------------------

    def kept(self) -> Kept:
        """All of it but M and b, for files and pickles."""
        told: dict[str, Plain] = {
            "lower": float(self.lower),
            "upper": float(self.upper),
            "nodes": int(self.nodes),
            "seconds": float(self.seconds),
            "asked": float(self.asked),
            "ended": self.ended,
            "improved": bool(self.improved),
            "cap": None if self.cap is None else float(self.cap),
            "frobenius": None if self.frobenius is None else float(self.frobenius),
        }
        return Kept("proof", told, {"trace": self.trace}, (self.solution.kept(), self.tree.kept()))

    def __reduce__(self) -> tuple[object, ...]:
        return read, (self.kept(),)

    def save(self, file: files.PathLike) -> None:
        """Write to a file, all or nothing; M and b are not in it. `fewatoms.load` reads it."""
        files.save(file, self.kept())

    # Seen again -------------------------------------------------------------------------------------------------------

    def verify(
        self,
        M: object = None,
        b: npt.ArrayLike | None = None,
        *,
        share: float = 1.0,
        atoms: AtomicSet | None = None,
        loss: Loss | None = None,
        free: object = None,
        rng: object = None,
    ) -> Verified:
        """See again why the proof holds, without trusting whoever searched: from M, b and what is kept alone.

        Every leaf of the tree is looked at, and that no choice of k atoms is left out by them. Those with a dual vector
        are bounded by it once more, those that were listed are listed again. A proof that does not say what it claims
        raises `Tampered`, a ValueError; so do other M or b.

        Parameters
        ----------
        M, b : as for `attach`, whose atoms, loss and free may have to be given as well
            May be left out where the proof has its problem still.
        share : float
            Of the leaves, drawn at random: a part of the work says no more than that nothing was found in it.
        rng : seed or numpy Generator, optional
            By which they are drawn.

        Returns
        -------
        Verified
            proven, lower, upper, share; with a share below 1 `proven` is False.
        """
        share = _checks.number("share", share, positive=True)
        if share > 1:
            raise ValueError(f"share must be at most 1; got {share:g}")
        draw = _checks.generator(rng)
        question = self._posed_again(M, b, atoms, loss, free)
        self._agree(question)
        least = nothing(question.problem)
        with ledger.opened():  # what holds anyhow needs no tree
            found = Checked(least) if self.lower <= least else _checked(question, self.tree, share, draw)
        whole, slack = found.share >= 1.0, (MARGIN * min(self.asked, SMALL_GAP) + AGAIN_OFF) * abs(question.upper)
        if not self.lower <= found.lower + slack:  # of a part of the leaves as well
            claims = f"it claims {self.lower:.9g}, and its leaves prove {found.lower:.9g} at most"
            raise Tampered(f"the proof does not hold: {claims}")
        lower = min(found.lower, question.upper)
        close = relative(question.upper, lower) <= self.asked * (1 + 2 * MARGIN) or question.enough() <= 0 <= lower
        proven = bool(whole and self.proven and close)
        return Verified(float(lower), float(question.upper), proven, float(min(1.0, found.share)))

    def _posed_again(
        self, M: object, b: npt.ArrayLike | None, atoms: AtomicSet | None, loss: Loss | None, free: object
    ) -> Question:
        answer = self.solution
        if M is None or b is None:
            if M is not None or b is not None:
                raise TypeError(f"M and b must be given together, or neither; got {'M' if b is None else 'b'} alone")
            if not answer.certificate.attached:
                raise ValueError("M and b must be given where the proof has lost its problem: proof.verify(M, b)")
        else:
            try:
                answer = answer.attach(M, b, atoms=atoms, loss=loss, free=free)
            except ValueError as error:
                raise ValueError(str(error).replace("s.attach(M, b", "proof.verify(M, b")) from error
        try:
            return posed(answer, gap=gap_of(self.asked), seconds=math.inf, cap=self.cap, frobenius=self.frobenius)
        except ValueError as error:
            raise Tampered(f"the proof is about no question that there is: {error}") from error

    def _agree(self, question: Question) -> None:
        """What is claimed, against what the answer itself says."""
        known = self.solution.certificate.decided
        if known is None or (known.lower, known.upper, known.gap) != (self.lower, self.upper, self.asked):
            raise Tampered("the certificate of the answer tells of another proof")
        if not self.lower <= self.upper:
            raise Tampered(f"a lower bound must not be above the answer; got {self.lower:.9g} above {self.upper:.9g}")
        family = _family(self.tree)
        told = ((family and family.about(question)) or subject_of(question), what_of(question))
        if (known.subject, known.what) != told:
            raise Tampered(
                f"the proof is about a {told[1]} of a {told[0]}; it claims a {known.what} of a {known.subject}"
            )
        if not abs(question.upper - self.upper) <= SAME_OBJECTIVE * question.upper + 1e-12 * question.problem.reference:
            raise Tampered(f"the answer has an objective of {question.upper:.9g}; the proof claims {self.upper:.9g}")
        if known.proven and not (
            relative(self.upper, self.lower) <= self.asked or question.enough() <= 0 <= self.lower
        ):
            raise Tampered(f"a gap of {relative(self.upper, self.lower):.3g} is more than {self.asked:.3g}")


def _family(tree: Tree) -> Checker | None:
    """Who checks it; families are imported when somebody asks."""
    from fewatoms.proofs import families

    return families.CHECKERS.get(tree.name)


def _checked(question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
    """What a tree proves; whatever is wrong in it is told in one way."""
    known = _family(tree)
    if known is None:
        raise Tampered(f"the proof does not hold: nobody knows trees of the kind {tree.name!r}")
    try:
        found = known.check(question, tree, share, rng)
    except Tampered as error:
        raise Tampered(f"the proof does not hold: {error}") from error
    except BROKEN as error:
        raise Tampered(f"the proof does not hold: its tree is none, {error!r}") from error
    if math.isnan(found.lower):
        raise Tampered("the proof does not hold: its leaves prove nothing")
    return found


def read(it: Kept) -> Proof:
    """The proof that was kept, without M and b."""
    told, (answer, tree) = it.told, it.inner
    trace = kept.finite(it.arrays["trace"])
    if trace.ndim != 2 or trace.shape[1] != 3:
        raise ValueError(f"the trace must have three columns; got shape {trace.shape}")
    found = Proof(
        kept.real(told["lower"]),
        kept.real(told["upper"]),
        kept.whole(told["nodes"]),
        kept.real(told["seconds"]),
        restored(answer),
        kept.real(told["asked"]),
        str(told["ended"]),
        told["improved"] is True,
        trace,
        Tree.read(tree),
        kept.maybe(told["cap"]),
        kept.maybe(told["frobenius"]),
    )
    if found.solution.certificate.decided is None:
        raise ValueError("the answer of a proof must know it")
    return found


def about(proof: Proof, solution: Solution) -> Proof:
    """The same with an answer that has, or has lost, its problem."""
    return replace(proof, solution=solution)


files.READERS["proof"] = read
