"""Ourselves, as a user calls us: default settings, and nothing told but what the case says.

`tell` names what is told of what the problem knows (k, misfit, cap, free ...); other words are handed on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Fits, Ours, Support
from benchmarks.peers.counted import Counted
from benchmarks.spelled import spelled


def compiled() -> None:
    """Change over to machine code now, as a process does by itself after half a second of searches: importing
    and compiling are not charged to anybody. Earlier versions had no such searches."""
    try:
        from fewatoms.gram import build, who
    except ImportError:
        return
    build.now()
    who.CREW.load()


def _told(problem: Any, tell: Sequence[str], words: dict[str, Any]) -> dict[str, Any]:
    return {**{name: getattr(problem, name) for name in tell}, **words}


def _scaled(words: dict[str, Any], b: Any) -> dict[str, Any]:
    """The slack of the paper's authors on the loss, from a share of |b|."""
    return {**words, "epsilon": (words["epsilon"] * np.linalg.norm(b)) ** 2 / 2} if "epsilon" in words else words


def _facts(solution: Any) -> dict[str, float]:
    return {"products": solution.products, "iterations": solution.iterations}


@needs("fewatoms")
def vector(problem: Any, ready: Any, *, tell: Sequence[str] = ("k",), **words: Any) -> Support:
    """Products of an operator are counted from outside too: the larger count is taken."""
    import fewatoms as fa

    M = Counted(problem.M) if isinstance(problem.M, LinearOperator) else problem.M
    told = spelled(fa, **_told(problem, tell, _scaled(words, problem.b)))
    s = fa.fit(M, problem.b, atoms=fa.SignedOneHot(M.shape[1]), **told)
    products = max(s.products, M.products) if isinstance(M, Counted) else s.products
    free = s.free_coefficients if "free" in told else ()
    return Support.of(s.indices, s.coefficients, free, unit=False, products=products, iterations=s.iterations)


@needs("fewatoms")
def completion(problem: Any, ready: Any, *, tell: Sequence[str] = ("k",), **words: Any) -> Ours:
    """Making the operator is charged."""
    import fewatoms as fa

    e = problem.train
    told = spelled(fa, **_told(problem, tell, words))
    s = fa.fit(fa.Sampling(e.rows, e.cols, e.shape), e.values, atoms=fa.RankOne(*e.shape), **told)
    return Ours(s, {**_facts(s), "rank": s.cardinality})


@needs("fewatoms")
def completion_swept(problem: Any, ready: Any, **words: Any) -> Ours:
    """The same with the CPU seconds of a sweep, from the first one's end to the last one's."""
    clock: dict[int, float] = {}
    look = lambda progress: clock.setdefault(progress.iteration, time.process_time())  # noqa: E731
    answer = completion.solve(problem, ready, callback=look, **words)
    (first, began), *_, (last, ended) = sorted(clock.items())
    return replace(answer, facts={**answer.facts, "sweep": (ended - began) / (last - first)})


@needs("fewatoms")
def completion_chosen(problem: Any, ready: Any, *, ranks: Sequence[int], **words: Any) -> Ours:
    """Rank and ridge by entries held out inside."""
    import fewatoms as fa

    e = problem.train
    M = fa.Sampling(e.rows, e.cols, e.shape)
    path = fa.fit_path(M, e.values, atoms=fa.RankOne(*e.shape), k=ranks, **spelled(fa, **words))
    path.choose_k("held-out")
    return Ours(path.best, {"rank": path.best.cardinality, "inside": path.best.held_out})


@needs("fewatoms")
def completion_ranked(problem: Any, ready: Any, **words: Any) -> Ours:
    """Rank and ridge as the estimator chooses them."""
    from fewatoms.estimators import MatrixCompletion

    e = problem.train
    model = MatrixCompletion(**words).fit(np.stack([e.rows, e.cols], axis=1), e.values)
    return Ours(_Ranked(model), {"rank": model.rank_, "inside": model.solution_.held_out})


class _Ranked:
    """An estimator that says of rows and columns what it would of pairs."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, rows: Any, cols: Any) -> Any:
        return self.model.predict(np.stack([rows, cols], axis=1))


class _Watched:
    """A retrieval that remembers what it gave last: a callback is told the best so far, not that."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.last = inner, None

    def retrieve(self, problem: Any, dual: Any) -> Any:
        self.last = self.inner.retrieve(problem, dual)
        return self.last


@needs("fewatoms")
def completion_watched(problem: Any, ready: Any, *, seconds: float, method: str = "", **words: Any) -> Ours:
    """With error, loss and gap noted for each iterate."""
    import fewatoms as fa

    known, began, trace = problem.known, time.perf_counter(), []
    watched = _Watched(fa.paper_rule()) if method else None

    def look(progress: Any) -> None:
        at, candidate = progress.dual, progress.candidate if watched is None else watched.last
        if at is None or candidate is None or (trace and trace[-1]["iteration"] == progress.iteration):
            return
        posed = progress.problem
        # How much less loss a matrix of the same nuclear norm may have, as far as y knows: the gap of (P2) at that
        # norm, and of (P1) at the penalty for which y is feasible. It is had for any iterate, also without a bound.
        gap = at.loss + posed.loss.conjugate(at.y) - float(np.dot(posed.b, at.y)) + at.gauge * at.support
        off = candidate.face.entries(candidate.c, known.rows, known.cols) - known.values
        trace.append(
            {
                "iteration": progress.iteration,
                "loss": progress.loss,
                "error": float(np.linalg.norm(off) / np.linalg.norm(known.values)),
                # at x = 0 nothing has the same norm, and the gap says nothing
                "gap": max(gap, 0.0) / at.loss if at.gauge > 0 else None,
            }
        )
        if time.perf_counter() - began > seconds:
            raise StopIteration

    if method:
        words |= {"method": method, "retrieval": watched}
    answer = completion.solve(problem, ready, callback=look, **words)
    rises = [later["loss"] / earlier["loss"] - 1 for earlier, later in pairwise(trace)]
    errors = [t["error"] for t in trace]
    figures = {"best_error": min(errors), "last_error": errors[-1], "rise": max(rises, default=0.0)}
    gaps = [t["gap"] for t in trace if t["gap"] is not None]
    facts = {**answer.facts, **figures, "gap": gaps[-1] if gaps else math.nan, "misfit": answer.solution.misfit}
    return replace(answer, facts=facts, trace=tuple(trace))


def _seen(problem: Any) -> tuple[Any, Array]:
    """A matrix, or those of its entries that are given."""
    import fewatoms as fa

    X, seen = problem.X, problem.seen
    return (fa.Identity(X.shape), X) if seen is None else (fa.Sampling(*np.nonzero(seen), X.shape), X[seen])


@needs("fewatoms")
def pursuit(problem: Any, ready: Any, *, stop: float = 0.0, **words: Any) -> Ours:
    """Principal component pursuit; stopped, if one is told, at the first answer with so small an objective."""
    import fewatoms as fa

    def look(progress: Any) -> None:
        if progress.candidate is not None and progress.candidate.gauge <= stop:
            raise StopIteration

    X = problem.X
    atoms = fa.RankOne(*X.shape) | fa.SignedOneHot(X.shape)
    told = spelled(fa, misfit=problem.misfit, callback=look if stop else None, **words)
    s = fa.fit(*_seen(problem), atoms=atoms, **told)
    return Ours(s, _facts(s), certified=True)


@needs("fewatoms")
def separated(problem: Any, ready: Any, *, k: Any = None, traced: float = 0.0, gauges: str = "", **words: Any) -> Ours:
    """Low rank plus few entries; None leaves a number to us, "told" is the problem's. With `traced` the least residual
    after each iterate is kept, for at most so many CPU seconds; `gauges` scales the two sets: "told", by those of the
    answer, or "usual", by the weight of pursuit."""
    import fewatoms as fa

    X = problem.X
    low, few = fa.RankOne(*X.shape), fa.SignedOneHot(X.shape)
    if gauges == "told":
        low, few = problem.gauges[0] * low, problem.gauges[1] * few
    elif gauges == "usual":
        few = math.sqrt(max(X.shape)) * few
    began, trace, size = time.process_time(), [], np.linalg.norm(X)

    def look(progress: Any) -> None:
        spent = time.process_time() - began
        trace.append({"cpu": spent, "residual": math.sqrt(2 * progress.loss) / size})
        if spent > traced:
            raise StopIteration

    wanted = tuple(own if said == "told" else said for said, own in zip(k or problem.k, problem.k, strict=True))
    told = spelled(fa, k=wanted, callback=look if traced else None, **_scaled(words, X))
    s = fa.fit(*_seen(problem), atoms=low + few, **told)
    return Ours(s, _facts(s), trace=tuple(trace))


@needs("fewatoms")
def sky(problem: Any, ready: Any, *, tell: Sequence[str] = (), **words: Any) -> Ours:
    """Pixels plus waves."""
    import fewatoms as fa

    n = problem.b.size
    atoms = fa.SignedOneHot(n) + fa.Mapped(problem.waves, fa.SignedOneHot(n))
    s = fa.fit(fa.Identity(n), problem.b, atoms=atoms, **spelled(fa, **_told(problem, tell, words)))
    return Ours(s, {**_facts(s), "atoms": s.cardinality, "misfit": s.misfit})


@needs("fewatoms")
def scales(problem: Any, ready: Any, **words: Any) -> Ours:
    """Pixels, blocks of two sizes, and a matrix of low rank: told their numbers and nothing else."""
    import fewatoms as fa

    shape = problem.b.shape
    blocks = [fa.BlockRankOne(shape, (side, side)) for side in (4, 16)]
    atoms = fa.SignedOneHot(shape) + blocks[0] + blocks[1] + fa.RankOne(*shape)
    seen = problem.seen
    M = fa.Identity(shape) if seen is None else fa.Sampling(*np.nonzero(seen), shape)
    b = problem.b if seen is None else problem.b[seen]
    s = fa.fit(M, b, atoms=atoms, **spelled(fa, **{"k": problem.k, **words}))
    return Ours(s, _facts(s))


@needs("fewatoms")
def phases(problem: Any, ready: Any, **words: Any) -> Array:
    import fewatoms as fa

    s = fa.fit(fa.Quadratic(problem.A), problem.b, atoms=fa.PSDRankOne(problem.A.shape[1]), k=1, **spelled(fa, **words))
    return Array(s.left[:, 0], _facts(s))


@needs("fewatoms")
def lifted(problem: Any, ready: Any, **words: Any) -> Ours:
    """With the bound on the loss that PhaseLift has, and what is proven about its trace."""
    import fewatoms as fa

    told = spelled(fa, misfit=problem.misfit, **words)
    s = fa.fit(fa.Quadratic(problem.A), problem.b, atoms=fa.PSDRankOne(problem.A.shape[1]), k=1, **told)
    return Ours(s, _facts(s), certified=True)


@needs("fewatoms")
def first_fit(problem: Any, ready: Any) -> dict[str, float]:
    """In a process of its own."""
    return problem.run()


@needs("fewatoms")
def semidefinite(problem: Any, ready: Any) -> Fits:
    """With k atoms, and with one more."""
    import fewatoms as fa

    entries = problem.kind == "sampling"
    made = fa.Quadratic if problem.kind == "quadratic" else np.asarray
    M = fa.Sampling(*problem.given, (problem.n, problem.n)) if entries else made(problem.given)
    found, seconds = [], []
    for k in range(problem.k, min(problem.k + 1, problem.n) + 1):
        began = time.process_time()
        found.append(fa.fit(M, problem.b, atoms=fa.PSDRankOne(problem.n), k=k, misfit=problem.misfit))
        seconds.append(time.process_time() - began)
    return Fits(tuple(found), tuple(seconds))
