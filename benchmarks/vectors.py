"""Sparse vectors: ourselves and the peers, on the same problems, all with one set of settings for everything.

    python benchmarks/vectors.py sparco|cases|real|scale|growth|all [--seeds N] [--json FILE] [--quick]

Every table says who is best, in error and in time; `README.md` beside this file says what each part measures.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import measure

os.environ.update(measure.THREADS)  # before NumPy is loaded; child processes inherit it

import numpy as np
import peers
from measure import Outcome, Record, Report, best, median, note, values
from numpy.typing import NDArray
from peers import Answer, Method
from scipy import fft, sparse
from scipy.sparse.linalg import LinearOperator

from fewatoms.datasets import SPARCO, Dataset, sparse_regression

EXACT = 1e-10  # a misfit below this is zero to rounding
SLACK = 1e-9  # relative; what rounding may add to a number that is compared

Options = argparse.Namespace


def attempt(method: Method, *args: Any, **kwargs: Any) -> Outcome:
    return measure.timed(method.solve, *args, **kwargs) if method.installed else Outcome(note="not installed")


def chosen(methods: Sequence[Method], options: Options) -> list[Method]:
    return [m for m in methods if options.only is None or m.name in options.only]


def seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def warm_up(methods: Sequence[Method]) -> None:
    """Compile what is compiled on first use, for the memory layout of all dense problems here."""
    data = sparse_regression(40, 80, 4, noise=0.1, rng=0)
    for method in methods:
        attempt(method, data.M, data.b, 4, noise=0.1)


def show(value: float, records: Sequence[Record], **which: Any) -> str:
    """A number, or why there is none."""
    return note(records, **which) or (f"{value:.3g}" if not math.isnan(value) else "-")


def time_table(report: Report, records: Sequence[Record], rows: Sequence[str], methods: Sequence[Method]) -> None:
    """Seconds of every method on every row (a value of the field `problem`), and who is fastest."""
    cells = []
    for row in rows:
        scores = {m.name: median(records, "cpu", problem=row, method=m.name) for m in methods}
        cells.append(
            [row, *(show(scores[m.name], records, problem=row, method=m.name) for m in methods), best(scores, rel=0.05)]
        )
    report.table("CPU seconds", ["problem", *(m.name for m in methods), "fastest"], cells)


# Sparco at a given misfit

MISFIT = 1e-3
SPARCO_K = {"blocksig": 71, "cosspike": 122, "gcosspike": 113, "sgnspike": 20, "spiketrn": 35}
"""As in the paper's Table 2; but some draws of cosspike need all of their 122 atoms, where the paper had 113."""
SPARCO_PRODUCTS = {"blocksig": 4, "cosspike": 40, "gcosspike": 100, "sgnspike": 20, "spiketrn": 90}
SPARCO_SEEDS = 0.8  # the share of seeds that must keep within the products
PEER_SLACK = 0.01  # relative; the peers' own stopping rules let the misfit end a little above what was asked

SPARCO_METHODS = [
    Method("fewatoms", "fewatoms", lambda M, b, k: _ours_counted(M, b, k)),
    Method("spgl1", "spgl1", lambda M, b, k: peers.spgl1_to_misfit(M, b, MISFIT)),
    Method("OMP", "sklearn", lambda M, b, k: peers.omp_to_misfit(M, b, MISFIT)),
]


def sparco(options: Options, report: Report) -> None:
    records = report.section("sparco", f"Sparco, misfit {MISFIT:g}")
    methods = chosen(SPARCO_METHODS, options)
    for method in methods:
        attempt(method, sparse_regression(40, 80, 4, rng=0).M, np.ones(40), 4)  # loads what is loaded on first use
    for name, generate in SPARCO.items():
        for seed in seeds(options):
            data = generate(rng=seed)
            for method in methods:
                report.progress(f"{name}, seed {seed}, {method.name}")
                # OMP has no use for an operator; making the matrix is not charged to it.
                M = _dense(data.M) if method.name == "OMP" else data.M
                sizes = [SPARCO_K[name], None] if method.name == "fewatoms" else [None]
                for k in sizes:
                    outcome = attempt(method, M, data.b, k)
                    record = {"problem": name, "k": k, "seed": seed, "method": method.name, "note": outcome.note}
                    if outcome.ok:
                        answer, misfit = outcome.value, outcome.value.misfit(data.M, data.b)
                        slack = SLACK if method.name == "fewatoms" else PEER_SLACK
                        met = misfit <= MISFIT * (1 + slack) and (k is None or answer.indices.size <= k)
                        record |= {
                            "cpu": outcome.cpu,
                            "misfit": misfit,
                            "met": bool(met),
                            "atoms": answer.counted() if met else math.inf,
                            "products": (answer.products if met else math.inf) if answer.products else None,
                        }
                    records.append(record)

    def each(field: str, **which: Any) -> str:
        return note(records, **which) or " ".join(f"{v:g}" for v in values(records, field, **which)) or "-"

    rows, columns = [], [m.name for m in methods]
    for name, limit in SPARCO_PRODUCTS.items():
        k = SPARCO_K[name]
        asked = {"fewatoms": k, "spgl1": None}
        scores = {m: median(records, "products", problem=name, method=m, k=at) for m, at in asked.items()}
        cells = [each("products", problem=name, method=m, k=at) for m, at in asked.items()]
        rows.append([name, k, limit, *cells, median(records, "atoms", problem=name, method="spgl1"), best(scores)])
        if "fewatoms" in columns:
            counts = values(records, "products", problem=name, method="fewatoms", k=k)
            within = float(np.mean([c <= limit for c in counts])) if counts else math.nan
            report.bar(f"{name}: share of seeds within {limit} products", within, SPARCO_SEEDS, at_least=True)
    report.table(
        "Products with M and its adjoint for each seed (inf: misfit or k not kept)",
        ["problem", "k", "bar", "fewatoms, k given", "spgl1", "spgl1 atoms", "fewest products"],
        rows,
    )

    rows = []
    for name in SPARCO:
        scores = {m: median(records, "atoms", problem=name, method=m, k=None) for m in columns}
        cells = [each("atoms", problem=name, method=m, k=None) for m in columns]
        rows.append([name, *cells, best(scores)])
        if {"fewatoms", "OMP"} <= set(columns):
            pairs = zip(
                *(values(records, "atoms", problem=name, method=m, k=None) for m in ("fewatoms", "OMP")), strict=False
            )
            no_more = [ours <= theirs for ours, theirs in pairs]
            share = float(np.mean(no_more)) if no_more else math.nan
            report.bar(f"{name}: share of seeds with no more atoms than OMP", share, 1.0, at_least=True)
    report.table(
        "Atoms above 1e-6 of the largest for each seed, no k given (inf: misfit not kept)",
        ["problem", *columns, "fewest atoms"],
        rows,
    )

    rows = []
    for name in SPARCO:
        tasks = {"fewatoms, k given": ("fewatoms", SPARCO_K[name]), **{m: (m, None) for m in columns}}
        seconds = {t: median(records, "cpu", problem=name, method=m, k=k) for t, (m, k) in tasks.items()}
        cells = [show(seconds[t], records, problem=name, method=m, k=k) for t, (m, k) in tasks.items()]
        rows.append([name, *cells, best(seconds, rel=0.05)])
    report.table("CPU seconds", ["problem", *tasks, "fastest"], rows)
    report.conclude()


def _ours_counted(M: Any, b: Any, k: int | None) -> Answer:
    """Ours, with the products of an operator counted from outside too: the larger count is taken."""
    if not isinstance(M, LinearOperator):
        return peers.ours(M, b, k, misfit=MISFIT)
    counted = peers.Counted(M)
    answer = peers.ours(counted, b, k, misfit=MISFIT)
    return replace(answer, products=max(answer.products or 0, counted.products))


def _dense(M: Any) -> NDArray[np.float64]:
    return np.asfortranarray(M @ np.eye(M.shape[1]) if isinstance(M, LinearOperator) else M)


# Ten planted regressions


@dataclass(frozen=True)
class Case:
    """A planted regression, and what is demanded: the share of true atoms and the misfit, relative to the truth's."""

    coefficients: str
    correlation: float
    noise: float
    k: int
    share: float | None = 0.99
    ratio: float | None = 1.01
    misfit: float | None = None

    @property
    def name(self) -> str:
        kind = f"corr {self.correlation:g}" if self.correlation else self.coefficients
        return f"{kind}, {'20 dB' if self.noise else 'clean'}, k={self.k}"

    def draw(self, m: int, n: int, rng: Any) -> Dataset:
        return sparse_regression(
            m, n, self.k, noise=self.noise, correlation=self.correlation, coefficients=self.coefficients, rng=rng
        )


CASES = [
    Case("signs", 0, 0, 100),
    Case("signs", 0, 0, 130),
    Case("signs", 0, 0, 160, share=None, ratio=None, misfit=0.18),  # past what any method recovers
    Case("signs", 0, 0.1, 100),
    Case("signs", 0, 0.1, 130),
    Case("gaussian", 0, 0, 160),
    Case("gaussian", 0, 0.1, 160, share=0.79, ratio=0.82),
    Case("signs", 0.9, 0, 80),
    Case("signs", 0.9, 0.1, 50),
    Case("signs", 0.9, 0.1, 80, share=0.98, ratio=1.04),
]


def cases(options: Options, report: Report) -> None:
    m, n = 500, 2000
    records = report.section("cases", f"Planted regressions, {m} x {n}, k given")
    everyone = [peers.OURS, peers.OMP, peers.CELER, peers.MCP, peers.ABESS, peers.SPGL1]
    methods = chosen(everyone, options)
    warm_up(methods)
    shown = CASES[3::6] if options.quick else CASES
    for seed in seeds(options):
        for case in shown:
            data = case.draw(m, n, [seed, CASES.index(case)])
            (truth,) = np.nonzero(data.x)
            noise = float(np.linalg.norm(data.b - data.M @ data.x)) if case.noise else 0.0
            ideal = peers.refit(data.M, data.b, truth).misfit(data.M, data.b)
            records.append({"problem": case.name, "seed": seed, "method": "truth", "misfit": ideal, "note": ""})
            for method in methods:
                report.progress(f"seed {seed}, {case.name}, {method.name}")
                outcome = attempt(method, data.M, data.b, case.k, noise=noise)
                record = {"problem": case.name, "seed": seed, "method": method.name, "note": outcome.note}
                if outcome.ok:
                    found = outcome.value.indices
                    record |= {
                        "cpu": outcome.cpu,
                        "misfit": outcome.value.misfit(data.M, data.b),
                        "share": float(np.isin(truth, found).mean()),
                        "atoms": int(found.size),
                    }
                records.append(record)

    def quality(case: Case, name: str) -> str:
        shares = values(records, "share", problem=case.name, method=name)
        if not shares:
            return note(records, problem=case.name, method=name) or "-"
        misfit = median(records, "misfit", problem=case.name, method=name)
        return f"{np.mean(shares):.2f}/{0.0 if misfit < EXACT else misfit:.3g}"

    rows = []
    for case in shown:
        misfits = {x.name: median(records, "misfit", problem=case.name, method=x.name) for x in methods}
        ideal = median(records, "misfit", problem=case.name, method="truth")
        rows.append(
            [
                case.name,
                f"{0.0 if ideal < EXACT else ideal:.3g}",
                *(quality(case, x.name) for x in methods),
                best(misfits, floor=EXACT),
            ]
        )
    report.table(
        "Share of true atoms found (mean) / misfit (median)",
        ["problem", "truth", *(x.name for x in methods), "smallest misfit"],
        rows,
    )
    time_table(report, records, [case.name for case in shown], methods)
    totals = {x.name: _totals(records, x.name) for x in methods}
    report.table(
        "CPU seconds for all cases together",
        ["", *(x.name for x in methods), "fastest"],
        [
            ["median over seeds", *(_middle(totals[x.name]) for x in methods), best(_middles(totals), rel=0.05)],
            ["each seed", *(" ".join(f"{t:.2f}" for t in totals[x.name]) or "-" for x in methods), ""],
        ],
    )
    if peers.OURS in methods:
        for case in shown:
            _case_bars(report, records, case)
        if peers.CELER in methods:
            report.bar("total CPU seconds, at most celer's", _middle(totals["fewatoms"]), _middle(totals["celer"]))
    report.conclude()


def _case_bars(report: Report, records: Sequence[Record], case: Case) -> None:
    shares = values(records, "share", problem=case.name, method="fewatoms")
    misfit = median(records, "misfit", problem=case.name, method="fewatoms")
    ideal = median(records, "misfit", problem=case.name, method="truth")
    if case.share is not None:
        report.bar(f"{case.name}: share", float(np.mean(shares)) if shares else math.nan, case.share, at_least=True)
    limit = case.misfit if case.ratio is None else max(case.ratio * ideal, EXACT)
    assert limit is not None
    report.bar(f"{case.name}: misfit", misfit, limit)


def _totals(records: Sequence[Record], method: str) -> list[float]:
    """Seconds over all problems, for each seed; a failed problem makes the sum unknown, not small."""
    mine = measure.where(records, method=method)
    sums = [[r.get("cpu") for r in mine if r["seed"] == seed] for seed in sorted({r["seed"] for r in mine})]
    return [sum(s) for s in sums if None not in s]


def _middle(numbers: Sequence[float]) -> float:
    return float(np.median(numbers)) if numbers else math.nan


def _middles(numbers: dict[str, list[float]]) -> dict[str, float]:
    return {name: _middle(x) for name, x in numbers.items()}


# Real data

REPEATS = 3  # nothing is random here; repeated for the time alone


def real(options: Options, report: Report) -> None:
    records = report.section("real", "Real data")
    folder = Path(options.data)
    if not folder.is_dir():
        report.skip(f"no folder {folder}; name one by --data or FEWATOMS_DATA")
        return
    _expression(options, report, records, folder)
    _newsgroups(options, report, records, folder)
    report.conclude()


def _load(report: Report, folder: Path, name: str) -> Any:
    """An npz file of the folder, or None with a remark."""
    if not (folder / name).is_file():
        report.remark(f"Skipped: no file {name} in {folder}")
        return None
    return np.load(folder / name)


def _expression(options: Options, report: Report, records: list[Record], folder: Path) -> None:
    """Leukemia without an intercept, riboflavin with one: few genes out of thousands, the data as they come for us."""
    methods = chosen(
        [peers.OURS, peers.OMP, peers.CELER, peers.MCP, peers.ABESS, peers.ABESS_WIDE, peers.SPGL1], options
    )
    sizes = (5, 10) if options.quick else (5, 10, 20)
    problems = []
    for name, keys, intercept in (("leukemia", ("X_train", "y_train"), False), ("riboflavin", ("X", "y"), True)):
        data = _load(report, folder, f"{name}.npz")
        if data is None:
            continue
        X, y = (np.asarray(data[key], dtype=np.float64) for key in keys)
        ones = np.ones((y.size, 1))
        # For the peers, centring is the intercept: the residuals are the same.
        centred, target = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
        unit = peers.unit_columns(centred)
        for method in methods:
            wishes = {"free": "intercept"} if intercept and method is peers.OURS else {}
            M, b = (X, y) if method is peers.OURS else (unit, target)
            attempt(method, M, b, 2, **wishes)  # compiles for this layout
            for k in sizes:
                problem = f"{name}, k={k}"
                report.progress(f"{problem}, {method.name}")
                for repeat in range(REPEATS):
                    outcome = attempt(method, M, b, k, **wishes)
                    record = {"problem": problem, "repeat": repeat, "method": method.name, "note": outcome.note}
                    if outcome.ok:
                        residual = outcome.value.residual(M, b, ones if wishes else None)
                        record |= {
                            "cpu": outcome.cpu,
                            "misfit": float(np.linalg.norm(residual) / np.linalg.norm(y)),
                            "atoms": int(outcome.value.indices.size),
                        }
                    records.append(record)
        problems += [f"{name}, k={k}" for k in sizes]
    rows = []
    for problem in problems:
        misfits = {x.name: median(records, "misfit", problem=problem, method=x.name) for x in methods}
        cells = [show(misfits[x.name], records, problem=problem, method=x.name) for x in methods]
        rows.append([problem, *cells, best(misfits)])
        theirs = [misfits[x.name] for x in methods if x is not peers.OURS and not math.isnan(misfits[x.name])]
        if peers.OURS in methods and theirs:
            report.bar(f"{problem}: misfit, at most the best peer's", misfits["fewatoms"], min(theirs) * (1 + SLACK))
    if problems:
        headers = ["problem", *(x.name for x in methods), "smallest misfit"]
        report.table("Training misfit |y - Xw| / |y|; peers on unit columns", headers, rows)
        time_table(report, records, problems, methods)


def _newsgroups(options: Options, report: Report, records: list[Record], folder: Path) -> None:
    """Logistic regression on words: one class against the rest, 50 words and an intercept, coefficients capped."""
    k, bound = 50, 100.0
    train, labels = "newsgroups20_train_tfidf.npz", _load(report, folder, "newsgroups20_labels.npz")
    if labels is None or _load(report, folder, train) is None:
        return
    t = np.where(labels["y_train"] == options.newsgroup, 1.0, -1.0)
    X = sparse.csc_array(sparse.load_npz(folder / train), dtype=np.float64)
    if options.quick:
        X, t = X[:2000].tocsc(), t[:2000]
    M = sparse.csc_array(sparse.diags_array(t) @ X)
    problem = f"newsgroups, {labels['classes'][options.newsgroup]}, k={k}"
    methods = chosen([peers.OURS_LOGISTIC, peers.SKLEARN_LOGISTIC, peers.SKGLM_LOGISTIC], options)
    few = slice(0, 500)
    for method in methods:
        ours = method is peers.OURS_LOGISTIC
        attempt(method, (M if ours else X)[few].tocsc(), t[few], 3, bound)
        for repeat in range(1 if options.quick else REPEATS):
            report.progress(f"{problem}, {method.name}")
            outcome = attempt(method, M if ours else X, t, k, bound)
            record = {"problem": problem, "repeat": repeat, "method": method.name, "note": outcome.note}
            if outcome.ok:
                answer = outcome.value
                margins = M[:, answer.indices] @ answer.coefficients + t * answer.free
                record |= {
                    "cpu": outcome.cpu,
                    "loss": peers.logistic_loss(margins),
                    "atoms": int(answer.indices.size),
                    "largest": float(np.abs(answer.coefficients).max(initial=0.0)),
                }
            records.append(record)
    losses = {x.name: median(records, "loss", problem=problem, method=x.name) for x in methods}
    rows = [
        [
            x.name,
            show(losses[x.name], records, problem=problem, method=x.name),
            *(median(records, field, problem=problem, method=x.name) for field in ("atoms", "largest", "cpu")),
        ]
        for x in methods
    ]
    report.table(problem, ["method", "training loss", "atoms", "largest coefficient", "CPU seconds"], rows)
    seconds = {x.name: median(records, "cpu", problem=problem, method=x.name) for x in methods}
    report.say(f"smallest loss: {best(losses)}; fastest: {best(seconds, rel=0.05)}")
    theirs = {name: loss for name, loss in losses.items() if name != "fewatoms" and not math.isnan(loss)}
    if peers.OURS_LOGISTIC in methods and theirs:
        rival = min(theirs, key=theirs.__getitem__)
        cap = median(records, "largest", problem=problem, method="fewatoms")
        report.bar(f"{problem}: loss, at most the best peer's", losses["fewatoms"], theirs[rival] * (1 + SLACK))
        report.bar(f"{problem}: seconds, at most the best peer's ({rival})", seconds["fewatoms"], seconds[rival])
        report.bar(f"{problem}: largest coefficient", cap, bound * (1 + SLACK))


# Scale


class SubsampledDCT(LinearOperator):  # type: ignore[misc]
    """Some entries of the orthonormal discrete cosine transform; holds the list of the entries and nothing else."""

    def __init__(self, n: int, rows: NDArray[np.intp]) -> None:
        self.rows = rows
        super().__init__(np.dtype(np.float64), (rows.size, n))

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return fft.dct(np.ravel(x), norm="ortho")[self.rows]

    def _rmatvec(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = np.zeros(self.shape[1])
        spread[self.rows] = np.ravel(y)
        return fft.idct(spread, norm="ortho", overwrite_x=True)


@dataclass(frozen=True)
class Large:
    """A large problem: what a child process makes for itself."""

    M: Any
    b: NDArray[np.float64]
    truth: NDArray[np.intp]
    noise: float
    data: int  # bytes of M


def dense_problem(seed: int, quick: bool, coefficients: str = "signs") -> Large:
    m, n = (500, 10_000) if quick else (2000, 100_000)
    rng = np.random.default_rng(seed)
    columns = np.empty((n, m))
    rng.standard_normal(out=columns)  # in place: nothing but M itself is ever held
    columns /= np.sqrt(m)
    return _plant(columns.T, rng, 25 if quick else 100, 0.01, coefficients, columns.nbytes)


def sparse_problem(seed: int, quick: bool, coefficients: str = "signs") -> Large:
    m, n, entries = (2000, 50_000, 100_000) if quick else (20_000, 500_000, 1_000_000)
    rng = np.random.default_rng(seed)
    places = rng.integers(m, size=entries), rng.integers(n, size=entries)
    M = sparse.csc_array((rng.standard_normal(entries), places), shape=(m, n))
    M.indices, M.indptr = M.indices.astype(np.int32), M.indptr.astype(np.int32)  # celer takes no others
    entries_of = np.diff(M.indptr)
    M.data /= np.repeat(sparse.linalg.norm(M, axis=0), entries_of)  # the peers need unit columns to do well
    size = M.data.nbytes + M.indices.nbytes + M.indptr.nbytes
    # A column with one entry is a multiple of others with one entry in that row: nobody could tell which was planted.
    several = np.flatnonzero(entries_of > 1)
    return _plant(M, rng, 25 if quick else 100, 0.01, coefficients, size, among=several)


def implicit_problem(seed: int, quick: bool, coefficients: str = "signs") -> Large:
    n, k = (2**16, 100) if quick else (2**22, 1000)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, n // 8, replace=False))
    return _plant(SubsampledDCT(n, rows), rng, k, 0.0, coefficients, rows.nbytes)


def _plant(
    M: Any, rng: np.random.Generator, k: int, noise: float, coefficients: str, size: int, among: Any = None
) -> Large:
    truth = np.sort(rng.choice(M.shape[1] if among is None else among, k, replace=False))
    c = rng.choice([-1.0, 1.0], k) if coefficients == "signs" else rng.standard_normal(k)
    if isinstance(M, LinearOperator):
        x = np.zeros(M.shape[1])
        x[truth] = c
        b = M.matvec(x)
    else:
        b = M[:, truth] @ c
    error = rng.standard_normal(b.size)
    level = noise * float(np.linalg.norm(b))
    return Large(M, b + level / np.linalg.norm(error) * error, truth, level, size)


PROBLEMS: dict[str, Callable[..., Large]] = {
    "dense": dense_problem,
    "sparse": sparse_problem,
    "implicit": implicit_problem,
}


def scale(options: Options, report: Report) -> None:
    records = report.section("scale", "Scale: each method in a process of its own, one seed")
    if not Path("/proc/self/clear_refs").exists():
        report.skip("peak memory is read from /proc, which this system does not have")
        return
    plan = {
        ("dense", "signs"): [peers.OURS, peers.SPGL1, peers.CELER],
        ("sparse", "signs"): [peers.OURS, peers.CELER, peers.MCP, peers.SPGL1],
        ("implicit", "signs"): [peers.OURS],
        ("implicit", "gaussian"): [peers.OURS],
    }
    if options.all_peers:
        plan["dense", "signs"] += [peers.OMP, peers.MCP, peers.ABESS]
        plan["sparse", "signs"] += [peers.ABESS]
    for (kind, coefficients), wanted in plan.items():
        if options.kinds and kind not in options.kinds:
            continue
        problem = f"{kind}, {coefficients}"
        methods = chosen(wanted, options)
        for method in methods:
            report.progress(f"{problem}, {method.name}")
            task = (kind, coefficients, method.name, options.first_seed, options.quick)
            record = (
                measure.in_child(scale_child, *task, timeout=options.timeout)
                if method.installed
                else {"note": "not installed"}
            )
            records.append({"problem": problem, "method": method.name, "note": "", **record})
        _scale_table(report, records, problem)
        if not options.quick:  # small problems say nothing about memory
            _scale_bars(report, records, problem, methods)
    report.conclude()


def scale_child(kind: str, coefficients: str, name: str, seed: int, quick: bool) -> Record:
    """One method on one large problem; runs in a process that does nothing else."""
    method = next(m for m in vars(peers).values() if isinstance(m, Method) and m.name == name)
    tiny = PROBLEMS[kind](seed, True, coefficients)
    attempt(method, tiny.M, tiny.b, 10, noise=tiny.noise)  # loads and compiles; not charged
    del tiny
    problem = PROBLEMS[kind](seed, quick, coefficients)
    M, b, k = problem.M, problem.b, problem.truth.size
    with measure.peak_memory() as alone:
        M.T @ b
    with measure.peak_memory() as peak:
        outcome = attempt(method, M, b, k, noise=problem.noise)
    record: Record = {
        "shape": list(M.shape),
        "k": int(k),
        "data_bytes": problem.data,
        "resident_before": peak.before,
        "note": outcome.note,
    }
    if outcome.ok:
        answer = outcome.value
        record |= {
            "cpu": outcome.cpu,
            "wall": outcome.wall,
            "extra_bytes": peak.extra,
            "one_adjoint_bytes": alone.extra,
            "extra_n_vectors": peak.extra / (8 * M.shape[1]),
            "misfit": answer.misfit(M, b),
            "noise": problem.noise / float(np.linalg.norm(b)),
            "share": float(np.isin(problem.truth, answer.indices).mean()),
            "exact": bool(np.array_equal(problem.truth, answer.indices)),
            "atoms": int(answer.indices.size),
            "products": answer.products,
        }
    return record


def _scale_table(report: Report, records: Sequence[Record], problem: str) -> None:
    mine = measure.where(records, problem=problem)
    if not mine:
        return
    rows = [
        [
            r["method"],
            *(r.get(field) for field in ("cpu", "wall")),
            r["extra_bytes"] / 2**20 if "extra_bytes" in r else None,
            r["extra_bytes"] / r["data_bytes"] if "extra_bytes" in r else None,
            *(r.get(field) for field in ("extra_n_vectors", "share", "misfit", "noise", "products")),
            r["note"].split(":")[0],
        ]
        for r in mine
    ]
    shape = next((f", {' x '.join(map(str, r['shape']))}, k = {r['k']}" for r in mine if "shape" in r), "")
    headers = ["method", "CPU s", "wall s", "extra MB", "extra/data", "extra/n-vectors", "share", "misfit", "noise"]
    report.table(f"{problem}{shape}", [*headers, "products", ""], rows)
    seconds = {r["method"]: r.get("cpu", math.nan) for r in mine}
    misfits = {r["method"]: r.get("misfit", math.nan) for r in mine}
    memory = {r["method"]: float(r.get("extra_bytes", math.nan)) for r in mine}
    report.say(
        f"fastest: {best(seconds, rel=0.05)}; smallest misfit: {best(misfits, floor=EXACT)}; "
        f"least memory: {best(memory, rel=0.05)}"
    )


def _scale_bars(report: Report, records: Sequence[Record], problem: str, methods: Sequence[Method]) -> None:
    if peers.OURS not in methods:
        return
    mine = {r["method"]: r for r in measure.where(records, problem=problem)}
    ours = mine["fewatoms"]
    if problem.startswith("implicit"):
        report.bar(f"{problem}: support exact", float(ours.get("exact", math.nan)), 1.0, at_least=True)
        report.bar(f"{problem}: extra memory in n-vectors", ours.get("extra_n_vectors", math.nan), 12.0)
        return
    rivals = [r for name, r in mine.items() if name != "fewatoms" and "cpu" in r]
    if rivals:
        seconds, misfit = min(r["cpu"] for r in rivals), min(r["misfit"] for r in rivals)
        report.bar(f"{problem}: CPU seconds, at most the fastest peer's", ours.get("cpu", math.nan), seconds)
        # A fast answer that is worse would prove nothing.
        report.bar(
            f"{problem}: misfit, at most 1.01 times the best peer's", ours.get("misfit", math.nan), 1.01 * misfit
        )
    if problem.startswith("dense"):
        extra = ours["extra_bytes"] / ours["data_bytes"] if "extra_bytes" in ours else math.nan
        report.bar(f"{problem}: extra memory relative to the data", extra, 0.1)


# Growth

GROWTH: dict[str, tuple[dict[str, int], list[int]]] = {
    "n": ({"m": 500, "k": 40}, [1000, 2000, 4000, 8000, 16000]),
    "m": ({"n": 4000, "k": 40}, [250, 500, 1000, 2000, 4000]),
    "k": ({"m": 1000, "n": 4000}, [10, 20, 40, 80, 160]),
}
"""What grows: what stays, and the sizes."""


def growth(options: Options, report: Report) -> None:
    records = report.section("growth", "Growth: CPU seconds against n, m and k; signs, noise 1 %")
    methods = chosen([peers.OURS, peers.CELER], options)
    warm_up(methods)
    for axis, (fixed, sizes) in GROWTH.items():
        for size in sizes[:3] if options.quick else sizes:
            shape = {**fixed, axis: size}
            for seed in seeds(options):
                data = sparse_regression(shape["m"], shape["n"], shape["k"], noise=0.01, rng=[seed, size])
                noise = float(np.linalg.norm(data.b - data.M @ data.x))
                for method in methods:
                    report.progress(f"{axis} = {size}, seed {seed}, {method.name}")
                    outcome = attempt(method, data.M, data.b, shape["k"], noise=noise)
                    record = {"axis": axis, "size": size, "seed": seed, "method": method.name, "note": outcome.note}
                    if outcome.ok:
                        record |= {"cpu": outcome.cpu, "misfit": outcome.value.misfit(data.M, data.b)}
                    records.append(record)
    for axis, (fixed, _) in GROWTH.items():
        sizes = sorted({r["size"] for r in records if r["axis"] == axis})
        rows = []
        for method in methods:
            seconds = [median(records, "cpu", axis=axis, size=size, method=method.name) for size in sizes]
            rows.append(
                [method.name, *seconds, f"{slope(sizes, seconds):.2f}", note(records, axis=axis, method=method.name)]
            )
        each = {s: {x.name: median(records, "cpu", axis=axis, size=s, method=x.name) for x in methods} for s in sizes}
        rows.append(["fastest", *(best(each[s], rel=0.05) for s in sizes), "", ""])
        stays = ", ".join(f"{name} = {size}" for name, size in fixed.items())
        report.table(f"against {axis} ({stays})", ["method", *(f"{axis}={s}" for s in sizes), "slope", ""], rows)
    if options.figure:
        _growth_figure(options.figure, records, methods)
        report.say(f"Drawn in {options.figure}.")
    report.conclude()


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Of the straight line through the points on paper with two logarithmic axes."""
    known = [(math.log(s), math.log(t)) for s, t in zip(sizes, seconds, strict=True) if t > 0]
    if len(known) < 2:
        return math.nan
    return float(np.polyfit(*np.transpose(known), 1)[0])


def _growth_figure(file: str, records: Sequence[Record], methods: Sequence[Method]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    words = {"n": "columns n", "m": "rows m", "k": "atoms k"}
    figure, panels = plt.subplots(1, len(GROWTH), figsize=(12, 4), sharey=True, layout="constrained")
    for axis, panel in zip(GROWTH, panels, strict=True):
        sizes = sorted({r["size"] for r in records if r["axis"] == axis})
        for method in methods:
            seconds = [median(records, "cpu", axis=axis, size=size, method=method.name) for size in sizes]
            panel.loglog(sizes, seconds, "o-", label=f"{method.name}, slope {slope(sizes, seconds):.2f}")
        stays = ", ".join(f"{name} = {size}" for name, size in GROWTH[axis][0].items())
        panel.set(xlabel=words[axis], title=stays)
        panel.set_xticks(sizes, [str(s) for s in sizes])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend()
    panels[0].set_ylabel("CPU seconds, one thread")
    figure.savefig(file, dpi=150)
    plt.close(figure)


# Command line

PARTS: dict[str, Callable[[Options, Report], None]] = {
    "sparco": sparco,
    "cases": cases,
    "real": real,
    "scale": scale,
    "growth": growth,
}


def parser() -> argparse.ArgumentParser:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    p = argparse.ArgumentParser(description="Sparse vectors: fewatoms and its peers on the same problems.")
    p.add_argument("part", choices=[*PARTS, "all"])
    p.add_argument("--seeds", type=int, default=5, metavar="N", help="how many draws of each random problem")
    p.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...")
    p.add_argument("--only", nargs="+", metavar="METHOD", help="names as they stand above the columns")
    p.add_argument("--quick", action="store_true", help="smaller sizes and fewer cases: does everything run?")
    p.add_argument("--json", metavar="FILE", help="every number, with versions and machine")
    p.add_argument("--data", metavar="DIR", default=os.environ.get("FEWATOMS_DATA", str(beside)), help="real data")
    p.add_argument("--newsgroup", type=int, default=0, metavar="INDEX", help="real: the class against the rest")
    p.add_argument("--kinds", nargs="+", choices=list(PROBLEMS), help="scale: these problems only")
    p.add_argument("--all-peers", action="store_true", help="scale: those that need much time and memory too")
    p.add_argument("--timeout", type=float, default=600.0, metavar="S", help="scale: wall seconds for one method")
    p.add_argument("--figure", metavar="FILE", help="growth: draw it")
    return p


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    report = Report(vars(options), peers.PACKAGES)
    for name in PARTS if options.part == "all" else [options.part]:
        PARTS[name](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
