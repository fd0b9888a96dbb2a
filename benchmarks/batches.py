"""Many small fits as one row: each is timed and judged by itself, and what ends one of them is counted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import Adapter


@dataclass(frozen=True, eq=False)
class Answers:
    """One answer for each fit, or the exception that it ended in; CPU seconds of each."""

    found: tuple[Any, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Batch:
    """Several draws of a problem, solved one after the other."""

    fits: tuple[Any, ...]

    def one_by_one(self, tool: Adapter) -> Adapter:
        """Somebody who solves one problem, as somebody who solves all of them."""

        def prepare(batch: Batch, **words: Any) -> list[Any]:
            return [tool.prepare(problem, **words) for problem in batch.fits]

        def solve(batch: Batch, ready: list[Any], **words: Any) -> Answers:
            pairs = zip(batch.fits, ready, strict=True)
            timed = [_timed(lambda p=p, r=r: tool.solve(p, r, **words)) for p, r in pairs]
            failures = [answer for answer, _ in timed if isinstance(answer, Exception)]
            if len(failures) == len(timed):  # that is no bad luck
                raise failures[0]
            return Answers(tuple(answer for answer, _ in timed), tuple(seconds for _, seconds in timed))

        return Adapter(solve, tool.package, prepare)

    def judge(self, answers: Answers) -> tuple[dict[str, Any], None]:
        """The figures of each fit, as arrays; not a number where there is no answer."""
        judged = [f for f, _ in self._judged(answers)]
        names = dict.fromkeys(name for figures in judged for name in figures)
        series = {name: np.array([figures.get(name, np.nan) for figures in judged], dtype=float) for name in names}
        return {**series, "crashes": sum(isinstance(answer, Exception) for answer in answers.found)}, None

    def _judged(self, answers: Answers) -> list[tuple[dict[str, float], Any]]:
        return [_figures(problem, answer) for problem, answer in zip(self.fits, answers.found, strict=True)]

    def said(self, answers: Answers) -> str:
        """What was wrong with some: how many, of each kind the first fits."""
        kinds: dict[str, list[int]] = {}
        shown = [words for _, words in self._judged(answers)]
        for i, words in enumerate(shown):
            if words:
                kinds.setdefault(re.sub(r"[-+]?[0-9][-+.0-9e]*", "#", str(words))[:90], []).append(i)
        told = [f"{len(i)} x {words} (fits {', '.join(map(str, i[:5]))})" for words, i in kinds.items()]
        return f"{sum(map(len, kinds.values()))} odd: {'; '.join(told)}" if told else ""


def _figures(problem: Any, answer: Any) -> tuple[dict[str, float], Any]:
    """None, and why, of an answer that is an exception, or that cannot be judged: more atoms than k, say."""
    try:
        if isinstance(answer, Exception):
            raise answer
        return problem.judge(answer)
    except Exception as error:
        return {}, f"{type(error).__name__} {error}".split("\n")[0]


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    try:
        answer = call()
    except Exception as error:
        answer = error
    return answer, time.process_time() - began
