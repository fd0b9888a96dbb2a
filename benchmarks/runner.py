"""Running cases: a problem is drawn, everybody solves it, and what they answer is judged by the problem itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, measure
from benchmarks.batches import Batch
from benchmarks.peers import Adapter
from benchmarks.records import ABSENT, FIGURES, Case, Limit, Part, Row, Who
from benchmarks.results import Results, together


@dataclass(frozen=True)
class Options:
    """What one run of the benchmarks was asked for."""

    quick: bool = False
    seeds: int | None = None
    first_seed: int = 0
    repeat: int | None = None
    folder: Path = data.BESIDE
    only: tuple[str, ...] = ()
    timeout: float = 300.0
    figures: bool = False  # whether somebody will draw what is found
    spend: float = math.inf  # CPU seconds of one fit after which it is not repeated

    def draws(self, part: Part) -> range:
        count = self.seeds or (part.drawn_quickly if self.quick else part.draws)
        return range(self.first_seed, self.first_seed + count)

    def repetitions(self, part: Part) -> int:
        return self.repeat or (1 if self.quick else part.repeat)


def adapter(who: Who) -> Adapter:
    module, name = who.solve.split(".")
    return getattr(import_module(f"benchmarks.peers.{module}"), name)


@lru_cache(maxsize=1)
def drawn(case: Case, seed: int, quick: bool, folder: Path) -> Any:
    """The problem of a case; the last one is kept, as everybody solves it, one after the other."""
    module, name = case.problem.split(".")
    files = {"folder": folder} if case.files else {}
    make = partial(getattr(import_module(f"benchmarks.problems.{module}"), name), **files, **case.arguments(quick))
    fits = case.fits[quick]
    return Batch(tuple(make(seed=MANY * seed + i) for i in range(fits))) if fits else make(seed=seed)


MANY = 100_000  # more than the fits of any batch: no two draws share a seed

_warm: set[tuple[str, str, str]] = set()
WARM = 2.0  # seconds of fits before those of a batch are timed: some change over to machine code on the way


def warm_up(case: Case, who: Who) -> None:
    """Let the adapter import and compile on something small, once a process."""
    told = {name: value for name, value in who.words.items() if not isinstance(value, Limit)}
    key = (case.problem, who.solve, repr(sorted(told.items())))
    if key in _warm:
        return
    _warm.add(key)
    problems = import_module(f"benchmarks.problems.{case.problem.split('.')[0]}")
    tool, problem = adapter(who), problems.small(case.problem.split(".")[1])
    if who.settings:
        told["setting"] = who.settings[0]
    if who.solve.startswith("ours"):
        import_module("benchmarks.peers.ours").compiled()
    ready = time.process_time() + (WARM if any(case.fits) else 0.0)
    while measure.timed(lambda: tool.solve(problem, tool.prepare(problem, **told), **told)).ok:
        if time.process_time() >= ready:
            break


def resolved(case: Case, who: Who, results: Results) -> Who:
    """With all limits worked out from the answers there are."""

    def known(figure: str, limit: Limit) -> Limit:
        return Limit(results.limit(case.name, figure, limit)[0])

    words = {n: known(v.figure, v).value if isinstance(v, Limit) else v for n, v in who.words.items()}
    enough = who.enough and (who.enough[0], known(*who.enough))
    return replace(who, words=words, enough=enough)


def answered(part: Part, case: Case, who: Who, seed: int, options: Options) -> Row:
    """One answer with its figures, in this process. The limits of `who` are numbers."""
    row = Row(part.name, case.name, who.name, seed)
    try:
        problem = drawn(case, seed, options.quick, options.folder)
    except Exception as error:
        return replace(row, note=measure.said(error))
    warm_up(case, who)
    found, best = row, math.inf
    for setting in who.settings or (None,):
        asked = replace(who, words={**who.words, "setting": setting}) if who.settings else who
        trial = _tried(row, case, problem, asked, options.repetitions(part), options.spend)
        trial = trial if options.figures else replace(trial, shown=None)
        if trial.note:
            return trial
        trial = replace(trial, setting=setting)
        if who.enough is None:
            return trial
        figure, limit = who.enough
        value = trial.figures.get(figure, math.inf)
        if value < best:
            found, best = trial, value
        if limit.value is not None and value <= limit.value:
            break
    return found


def _tried(row: Row, case: Case, problem: Any, who: Who, repeat: int, spend: float = math.inf) -> Row:
    tool = adapter(who)
    if isinstance(problem, Batch):
        tool, repeat = problem.one_by_one(tool), 1
    ready = measure.timed(tool.prepare, problem, **who.words)
    if not ready.ok:
        return replace(row, note=ready.note)
    seconds: list[float] = []
    while len(seconds) < repeat and sum(seconds) <= spend:
        outcome, extra = _run(lambda: tool.solve(problem, ready.value, **who.words), case.memory)
        if not outcome.ok:
            return replace(row, note=outcome.note)
        seconds += getattr(outcome.value, "seconds", (outcome.cpu,))  # of a batch, those of all its fits
    judged = measure.timed(problem.judge, outcome.value)
    if not judged.ok:
        return replace(row, note=judged.note)
    figures, shown = judged.value
    if case.memory and extra is not None:
        figures = {**figures, "mb": extra / 1e6, **problem.memory(extra)}
    note = problem.said(outcome.value) if isinstance(problem, Batch) else ""
    series = {name: tuple(map(float, v)) for name, v in figures.items() if np.ndim(v)}
    return replace(row, cpu=tuple(seconds), figures=_known(figures), series=series, note=note, shown=shown)


def _run(call: Callable[[], Any], memory: bool) -> tuple[measure.Outcome, int | None]:
    if not (memory and measure.memory_is_known()):
        return measure.timed(call), None
    with measure.peak_memory() as peak:
        outcome = measure.timed(call)
    return outcome, peak.extra


def _known(figures: Mapping[str, Any]) -> dict[str, float]:
    """In the order of the columns, as plain numbers; what is known of each fit is put together as draws are."""
    unknown = set(figures) - set(FIGURES)
    assert not unknown, f"no such figures: {unknown}"
    known = {name: v for name in FIGURES if (v := figures.get(name)) is not None}
    return {name: _put_together(name, v) if np.ndim(v) else float(v) for name, v in known.items()}


def _put_together(name: str, values: Any) -> float:
    return together([float(v) for v in values if not np.isnan(v)], FIGURES[name].over)


def rows_of(part: Part, options: Options, told: Callable[[str], None], skipped: Callable[[str, str], None]) -> Results:
    """All rows of a part, as they come."""
    results = Results()
    for case in part.shown(options.quick):
        why = data.missing(options.folder, case.files)
        if case.memory and not measure.memory_is_known():
            why = why or "peak memory is read from /proc, which this system does not have"
        if why:
            skipped(case.name, why)
            continue
        for seed in options.draws(part):
            for who in case.solvers(options.quick):
                if options.only and who.name not in options.only:
                    continue
                if who.slow and seed > options.first_seed:
                    continue  # once is enough for those
                told(f"{part.name}: {case.name}, draw {seed}, {who.name}")
                results.rows.append(row_of(part, case, resolved(case, who, results), seed, options))
    drawn.cache_clear()
    return results


def row_of(part: Part, case: Case, who: Who, seed: int, options: Options) -> Row:
    if not adapter(who).installed:
        return Row(part.name, case.name, who.name, seed, note=ABSENT)
    if not (who.slow or case.memory):
        return answered(part, case, who, seed, options)
    from benchmarks.workers import Worker

    with Worker() as worker:
        patience = options.timeout * measure.crowd()
        reply = worker.ask(("answer", part.name, case.name, who, seed, options), patience)
    if isinstance(reply, str):
        return Row(part.name, case.name, who.name, seed, note=reply)
    return reply
