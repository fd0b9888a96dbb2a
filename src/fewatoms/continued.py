"""Where a run goes on after a kill: answers and candidates as they are kept in its journal, and made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fewatoms import files, kept, ledger
from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate
from fewatoms.kept import Kept, Plain
from fewatoms.problem import Problem
from fewatoms.solution import Solution, restored

FIT_GONE = "kept"  # in place of the fit behind a candidate, which is not known any more


def answers_kept(answers: Sequence[Solution], handed: Kept | None = None) -> Kept:
    """Answers, and what the job that found them hands on."""
    more = () if handed is None else (handed,)
    return Kept("found", {"count": len(answers)}, {}, (*(answer.kept() for answer in answers), *more))


def answers_again(it: Kept, problem: Problem) -> tuple[list[Solution], Kept | None]:
    """These answers, with M and b; what is proven of them after that rests on dual vectors made from them."""
    count = kept.whole(it.told["count"])
    return [answer_again(one, problem) for one in it.inner[:count]], next(iter(it.inner[count:]), None)


def answer_again(it: Kept, problem: Problem) -> Solution:
    """One answer to a problem, which may differ in k, the bound or what coefficients pay."""
    answer = restored(it)
    return answer.attached_to(answer.certificate.asked.beside(problem))


def candidate_kept(candidate: Candidate) -> Kept:
    """A candidate as its atoms and coefficients, with what is known about it."""
    told: dict[str, Plain] = {
        "loss": float(candidate.loss),
        "gauge": float(candidate.gauge),
        "unit_gauge": None if candidate.unit_gauge is None else float(candidate.unit_gauge),
        "squares": None if candidate.squares is None else float(candidate.squares),
        "freedom": candidate.known_freedom,
        "note": candidate.note,
        "isolated": bool(candidate.isolated),
    }
    norms = {} if candidate.norms is None else {"norms": candidate.norms}
    return Kept("candidate", told, {"c": candidate.c, **norms}, (candidate.face.kept(),))


def candidate_again(it: Kept, problem: Problem) -> Candidate:
    """The candidate that was kept, without the fit behind it."""
    told, face = it.told, files.face_of(it.inner[0])
    c = kept.reals(it.arrays["c"], face.dim)

    def left() -> FloatArray:
        image = face.measure(problem.measured, c) if face.dim else np.zeros(problem.m)
        return problem.b - problem.seen.image(image)

    return Candidate(
        kept.real(told["loss"]),
        kept.real(told["gauge"]),
        lambda: (face, c),
        left,
        it.arrays.get("norms"),
        str(told["note"]),
        FIT_GONE,
        isolated=told["isolated"] is True,
        unit_gauge=kept.maybe(told["unit_gauge"]),
        squares=kept.maybe(told["squares"]),
        known_freedom=None if told["freedom"] is None else kept.whole(told["freedom"]),
    )


def found_once(name: str, problem: Problem, work: Callable[[], Candidate]) -> Candidate:
    """A candidate that a step finds; what it found before a kill is not looked for again."""
    with ledger.step(name) as here:
        if here.found is not None:
            return candidate_again(here.found, problem)
        candidate = work()
        here.mark(partial(candidate_kept, candidate))
    return candidate


__all__ = ["answer_again", "answers_again", "answers_kept", "candidate_again", "candidate_kept", "found_once"]
