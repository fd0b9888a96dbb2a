"""Matrices from some of their entries: ourselves and the peers, on the same problems.

    python benchmarks/completion.py temperatures|figure|ratings|scale|start|all [--seeds N] [--json FILE] [--quick]

Every table says who is best, in error and in time; `README.md` beside this file says what each part measures.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import measure

os.environ.update(measure.THREADS)  # before NumPy is loaded; child processes inherit it

import matrix_peers as peers
import numpy as np
from matrix_peers import Entries, Indices, Method, Vector
from measure import Outcome, Record, Report, best, median, note, values

SLACK = 1e-9  # relative; what rounding may add to a number that is compared

Options = argparse.Namespace


def chosen(methods: Sequence[Method], options: Options) -> list[Method]:
    return [m for m in methods if options.only is None or m.name in options.only]


def seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def attempt(method: Method, entries: Entries, k: int, setting: Any) -> Outcome:
    """Prepare, which is not charged, and fit."""
    if not method.installed:
        return Outcome(note="not installed")
    ready = measure.timed(method.prepare, entries)
    return measure.timed(method.solve, ready.value, k, setting) if ready.ok else ready


def warm_up(methods: Sequence[Method], k: int = 2) -> None:
    """Import and compile; enough entries that loops are compiled which would not be for fewer."""
    entries = planted(400, 100, 3, 36_000, 0.1, 0).entries
    for method in methods:
        attempt(method, entries, k, method.settings[0])


def percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def relative(difference: Vector, reference: Vector) -> float:
    return float(np.linalg.norm(difference) / np.linalg.norm(reference))


def folder_of(options: Options, report: Report, *files: str) -> Path | None:
    """The folder with the data; None, said plainly, where it or a file is missing."""
    folder = Path(options.data)
    if not folder.is_dir():
        report.skip(f"no folder {folder}; name one by --data or FEWATOMS_DATA")
        return None
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        report.skip(f"no file {', '.join(missing)} in {folder}")
        return None
    return folder


# Temperatures

RANK = 5
HELD_OUT = 0.15  # relative error on the known entries that were held out
KNOWN = {"cities": 1.015, "stations": 1.02}  # error over all known entries, in units of the floor
HALF_TIME = 0.5  # of the fastest peer that reaches HELD_OUT
TEMPERATURES = {"cities": "city_temperatures.npz", "stations": "weather_station_years.npz"}
DAYS = 6940  # of the years 1995 to 2013
SHORT, REPEATS = 2.0, 3  # fits of fewer seconds are repeated, and the middle time is taken


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix, which of its entries are known, and which of those are observed."""

    name: str
    known: Entries
    observed: Indices  # places among the known
    held: Indices

    @property
    def train(self) -> Entries:
        at = self.observed
        return Entries(self.known.rows[at], self.known.cols[at], self.known.values[at], self.known.shape)


def temperature_table(folder: Path, name: str, seed: int, quick: bool) -> Table:
    data = np.load(folder / TEMPERATURES[name])
    if name == "cities":
        tenths = data["tavg_f_x10"][:, : DAYS // 5 if quick else DAYS]
        missing = tenths == -9999
        kept = missing.mean(axis=1) <= 0.05
        X, known = ((tenths[kept] / 10 - 32) / 1.8).T, ~missing[kept].T
    else:
        X = data["tavg_x20"][: 1500 if quick else None] / 20
        known = np.ones(X.shape, dtype=bool)
    rows, cols = np.nonzero(known)
    entries = Entries(rows, cols, X[rows, cols], X.shape)
    order = np.random.default_rng(seed).permutation(entries.size)
    half = entries.size // 2
    return Table(name, entries, np.sort(order[:half]), np.sort(order[half:]))


def floor_of(known: Entries, k: int) -> float:
    """The relative error over the known entries that rank k can reach: truncated SVD, repeated with the few unknown
    entries filled by it. Nothing of ours is in it."""
    X, unknown = np.zeros(known.shape), np.ones(known.shape, dtype=bool)
    X[known.rows, known.cols], unknown[known.rows, known.cols] = known.values, False
    X[unknown] = (X.sum(axis=0) / np.maximum((~unknown).sum(axis=0), 1))[np.nonzero(unknown)[1]]
    last = math.inf
    for _ in range(500):
        _, vectors = np.linalg.eigh(X.T @ X)
        top = vectors[:, -k:]
        fit = (X @ top) @ top.T
        error = relative(fit[known.rows, known.cols] - known.values, known.values)
        if not unknown.any() or last - error <= 1e-7 * error:
            return error
        X[unknown], last = fit[unknown], error
    return last


def judged(method: Method, table: Table, k: int, target: float) -> Record:
    """The first of a method's settings that brings the held-out error down to the target, otherwise its best."""
    train, known = table.train, table.known
    found: Record = {}
    for setting in method.settings:
        outcome = attempt(method, train, k, setting)
        if not outcome.ok:
            return {"method": method.name, "note": outcome.note}
        error = outcome.value.predict(known.rows, known.cols) - known.values
        record = {
            "method": method.name,
            "note": "",
            "setting": setting,
            "cpu": outcome.cpu,
            "wall": outcome.wall,
            "held_out": relative(error[table.held], known.values[table.held]),
            "known": None if method.imputes else relative(error, known.values),
            "iterations": getattr(outcome.value, "iterations", None),
        }
        if record["held_out"] < found.get("held_out", math.inf):
            found = record
        if record["held_out"] <= target:
            break
    if found.get("cpu", math.inf) < SHORT:
        again = [attempt(method, train, k, found["setting"]).cpu for _ in range(REPEATS - 1)]
        found["cpu"] = float(np.median([found["cpu"], *again]))
    return found


def temperatures_child(folder: str, name: str, seed: int, quick: bool, method_name: str, target: float) -> Record:
    """One slow method; runs in a process that does nothing else."""
    method = next(m for m in peers.TEMPERATURES if m.name == method_name)
    warm_up([method])
    return judged(method, temperature_table(Path(folder), name, seed, quick), RANK, target)


def temperatures(options: Options, report: Report) -> None:
    records = report.section("temperatures", f"Temperatures, half of the known entries observed, rank {RANK}")
    folder = folder_of(options, report, *TEMPERATURES.values())
    if folder is None:
        return
    methods = chosen(peers.TEMPERATURES, options)
    warm_up([m for m in methods if not m.slow])
    if any(m.package == "fancyimpute" and m.installed for m in methods):
        report.remark("fancyimpute runs with a renamed argument of scikit-learn's check_array; by itself it fails.")
    for name in TEMPERATURES:
        _temperatures(options, report, records, folder, name, methods)
    if any(m.imputes for m in methods):
        report.remark("'-' under known: imputers return what they were given, so they have no error there.")
    report.conclude()


def _temperatures(
    options: Options, report: Report, records: list[Record], folder: Path, name: str, methods: Sequence[Method]
) -> None:
    first = temperature_table(folder, name, options.first_seed, options.quick)
    report.progress(f"{name}, floor")
    floor = floor_of(first.known, RANK)
    whole = measure.timed(peers.ours, first.known, RANK)
    # Held-out errors lie above the floor even for the best answer to the observed half; 15.0 % is for the full size.
    target = HELD_OUT if name == "cities" and not options.quick else 1.05 * floor
    for seed in seeds(options):
        table = temperature_table(folder, name, seed, options.quick)
        for method in methods:
            report.progress(f"{name}, seed {seed}, {method.name}")
            if not method.slow:
                record = judged(method, table, RANK, target)
            elif seed > options.first_seed:
                continue  # once is enough for those
            elif not method.installed:
                record = {"method": method.name, "note": "not installed"}
            else:
                task = (str(folder), name, seed, options.quick, method.name, target)
                record = measure.in_child(temperatures_child, *task, timeout=options.timeout)
            records.append({"problem": name, "seed": seed, "method": method.name, "note": "", **record})

    mine = {m.name: m for m in methods}
    middle = {
        field: {n: median(records, field, problem=name, method=n) for n in mine}
        for field in ("known", "held_out", "cpu")
    }
    rows = []
    for n, m in mine.items():
        settings = sorted({r["setting"] for r in measure.where(records, problem=name, method=n) if r.get("setting")})
        rows.append(
            [
                n,
                f"{RANK}{' + biases' if m.biased else ''}" if m.ranked else "free",
                percent(middle["known"][n]),
                note(records, problem=name, method=n) or percent(middle["held_out"][n]),
                middle["cpu"][n],
                " ".join(f"{s:g}" for s in settings),
            ]
        )
    p, q = first.known.shape
    title = f"{name}, {p} x {q}, {first.known.size} known; relative errors in percent"
    report.table(title, ["method", "rank", "known", "held-out", "CPU s", "sweeps, epochs, tolerance"], rows)
    reaching = {n: middle["cpu"][n] for n in mine if middle["held_out"][n] <= target}
    ranked = {n: middle["held_out"][n] for n, m in mine.items() if m.ranked and not m.biased}
    report.say(
        f"smallest error, known: {best(middle['known'])}; held-out: {best(middle['held_out'])}, "
        f"of rank {RANK}: {best(ranked)}; fastest: {best(middle['cpu'], rel=0.05)}, "
        f"of those with {percent(target)} held-out: {best(reaching, rel=0.05)}"
    )
    ours_whole = percent(whole.value.misfit) if whole.ok else whole.note
    report.remark(
        f"Floor for {name}: {percent(floor)} over the known entries, by repeated truncated SVD of all of them "
        f"(our fit to all of them: {ours_whole})."
    )
    records.append({"problem": name, "method": "floor", "note": "", "known": floor})
    if "fewatoms" not in mine:
        return
    above = 100 * (middle["known"]["fewatoms"] / floor - 1)
    report.bar(f"{name}: error over known entries, percent above the floor", above, 100 * (KNOWN[name] - 1))
    if name == "cities":
        if not options.quick:
            report.bar(f"{name}: held-out error in percent", 100 * middle["held_out"]["fewatoms"], 100 * HELD_OUT)
        rivals = {n: s for n, s in reaching.items() if not n.startswith("fewatoms")}
        if rivals:
            rival = min(rivals, key=rivals.__getitem__)
            what = f"{name}: CPU seconds, at most {HALF_TIME:g} times the fastest peer's with that ({rival})"
            report.bar(what, middle["cpu"]["fewatoms"], HALF_TIME * rivals[rival])


# The figure: error and duality gap along the way

ABOVE = 1.003  # the misfit asked of the paper's algorithm, in units of what rank 5 reaches on the observed entries
STEPS = 150  # its iterations at most


class Watched:
    """A retrieval that remembers what it gave last: a callback is told the best so far, not that."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.last: Any = None

    def retrieve(self, problem: Any, dual: Any) -> Any:
        self.last = self.inner.retrieve(problem, dual)
        return self.last


def watched_run(table: Table, limit: float, watched: Watched | None = None, **wishes: Any) -> tuple[list[Record], Any]:
    """A fit with error, loss and gap noted for each iterate, for at most `limit` seconds."""
    known, began, trace = table.known, time.perf_counter(), []

    def look(progress: Any) -> None:
        at, candidate = progress.dual, progress.candidate if watched is None else watched.last
        problem = progress.problem
        # How much less loss a matrix of the same nuclear norm may have, as far as y knows: the gap of (P2) at that
        # norm, and of (P1) at the penalty for which y is feasible. It is had for any iterate, also without a bound.
        gap = at.loss + problem.loss.conjugate(at.y) - float(np.dot(problem.b, at.y)) + at.gauge * at.support
        predicted = candidate.face.entries(candidate.c, known.rows, known.cols)
        trace.append(
            {
                "iteration": progress.iteration,
                "loss": progress.loss,
                "candidate_loss": progress.candidate_loss,
                "error": relative(predicted - known.values, known.values),
                # at x = 0 nothing has the same norm, and the gap says nothing
                "gap": max(gap, 0.0) / at.loss if at.gauge > 0 else None,
            }
        )
        if time.perf_counter() - began > limit:
            raise StopIteration

    with measure.quiet():
        solution = peers.ours(table.train, RANK, callback=look, **wishes)
    return trace, solution


def figure(options: Options, report: Report) -> None:
    records = report.section("figure", "Error and duality gap per iteration: the paper's algorithm and ours")
    folder = folder_of(options, report, *TEMPERATURES.values())
    if folder is None:
        return
    import fewatoms as fa

    rows, floors = [], {}
    for name in TEMPERATURES:
        table = temperature_table(folder, name, options.first_seed, options.quick)
        floors[name] = floor_of(table.known, RANK)
        report.progress(f"{name}, ours")
        trace, solution = watched_run(table, options.timeout)
        records.append({"problem": name, "method": "fewatoms", "note": "", "trace": trace})
        losses = [t["loss"] for t in trace]
        rises = [later / earlier - 1 for earlier, later in pairwise(losses)]
        report.bar(f"{name}: largest relative rise of our training loss", max(rises, default=0.0), 0.0)
        own = [t["candidate_loss"] for t in trace]
        rises = [later / earlier - 1 for earlier, later in pairwise(own)]
        report.remark(
            f"{name}: from one of our iterates to the next, its own loss rises by at most "
            f"{max(0.0, max(rises, default=0.0)):.1e} of itself."
        )
        report.progress(f"{name}, the paper's")
        watched = Watched(fa.paper_rule())
        asked = {"oracle": fa.LevelSet(), "retrieval": watched, "misfit": ABOVE * solution.misfit}
        steps = STEPS // 5 if options.quick else STEPS
        trace, solution = watched_run(table, options.timeout, watched, max_iterations=steps, **asked)
        records.append({"problem": name, "method": "paper", "note": "", "trace": trace, "status": solution.status.name})
        for r in measure.where(records, problem=name):
            errors, gaps = [t["error"] for t in r["trace"]], [t["gap"] for t in r["trace"] if t["gap"] is not None]
            rows.append(
                [name, r["method"], len(errors), percent(floors[name])]
                + [percent(e) for e in (min(errors), errors[-1], max(errors))]
                + [min(gaps, default=math.nan), gaps[-1] if gaps else math.nan]
            )
    headers = ["problem", "method", "iterations", "floor", "best error", "last error", "largest error"]
    report.table("Errors over all known entries in percent", [*headers, "least gap/loss", "last gap/loss"], rows)
    for name in TEMPERATURES:
        ends = {r["method"]: r["trace"][-1]["error"] for r in measure.where(records, problem=name)}
        lengths = {r["method"]: float(len(r["trace"])) for r in measure.where(records, problem=name)}
        report.say(f"{name}: smallest last error: {best(ends)}; fewest iterations: {best(lengths)}")
    if options.figure:
        _draw(options.figure, records, floors)
        report.say(f"Drawn in {options.figure}.")
    report.conclude()


def _draw(file: str, records: Sequence[Record], floors: dict[str, float]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = {
        "paper": {"color": "#c55a11", "label": "the paper's algorithm", "linewidth": 1.2},
        "fewatoms": {"color": "#1f4e79", "label": "fewatoms, default", "marker": "o", "markersize": 3.5},
    }
    chart, panels = plt.subplots(2, len(TEMPERATURES), figsize=(10, 7), sharex="col", layout="constrained")
    for column, name in enumerate(TEMPERATURES):
        above, below = panels[:, column]
        for method, look in looks.items():
            (record,) = measure.where(records, problem=name, method=method)
            steps = [t["iteration"] for t in record["trace"]]
            above.plot(steps, [100 * t["error"] for t in record["trace"]], **look)
            pairs = [(t["iteration"], t["gap"]) for t in record["trace"] if t["gap"]]
            below.plot(*np.transpose(pairs), **look)
        above.axhline(100 * floors[name], color="0.4", linestyle=":", label=f"best of rank {RANK}")
        above.set(title=name, yscale="log")
        below.set(xlabel="iteration", xscale="log", yscale="log")
        above.minorticks_off()
        _label(above, "y", [14, 16, 18, 20, 22, 25, 30, 35, 40, 50, 60, 80])
        _label(below, "x", [1, 2, 5, 10, 20, 50, 100])
        for panel in (above, below):
            panel.grid(alpha=0.3)
        above.legend(frameon=False)
    panels[0, 0].set_ylabel("error over all known entries, %")
    panels[1, 0].set_ylabel("duality gap / loss")
    chart.savefig(file, dpi=150)
    plt.close(chart)


def _label(panel: Any, axis: str, numbers: Sequence[float]) -> None:
    """Ticks at those of the numbers that are in sight: a logarithmic axis over less than a decade has hardly any."""
    low, high = panel.get_xlim() if axis == "x" else panel.get_ylim()
    shown = [n for n in numbers if low <= n <= high]
    (panel.set_xticks if axis == "x" else panel.set_yticks)(shown, [f"{n:g}" for n in shown])


# Ratings

RATING_FILES = ("movielens_100k.npz", "jester.npz")
WORSE = 0.002  # what our root mean square error may lie above cmfrec's


@dataclass(frozen=True, eq=False)
class Ratings:
    entries: Entries
    low: float
    high: float


def movielens(folder: Path) -> Ratings:
    data = np.load(folder / "movielens_100k.npz")
    users, items = data["user"].astype(np.intp) - 1, data["item"].astype(np.intp) - 1
    shape = (int(users.max()) + 1, int(items.max()) + 1)
    return Ratings(Entries(users, items, data["rating"].astype(np.float64), shape), 1.0, 5.0)


def jester(folder: Path, quick: bool) -> Ratings:
    hundredths = np.load(folder / "jester.npz")["ratings_x100"][: 4000 if quick else None]
    rows, cols = np.nonzero(hundredths != -32768)
    return Ratings(Entries(rows, cols, hundredths[rows, cols] / 100.0, hundredths.shape), -10.0, 10.0)


def ratings(options: Options, report: Report) -> None:
    records = report.section("ratings", "Ratings: test error on a tenth, clipped to the scale; means over splits")
    folder = folder_of(options, report, *RATING_FILES)
    if folder is None:
        return
    ours = "fewatoms"
    films = _rated(options, report, records, "MovieLens 100k", movielens(folder), peers.MOVIELENS, 10)
    for rival in ("cmfrec", "cmfrec Cholesky"):
        if ours in films and rival in films:
            _rating_bars(report, "MovieLens", films[ours], films[rival], rival)
    jokes = _rated(options, report, records, "Jester", jester(folder, options.quick), peers.JESTER, 5)
    for kind in ("cmfrec", "cmfrec Cholesky"):
        found = {n: s for n, s in jokes.items() if n.rpartition(" ")[0] == kind}
        if ours in jokes and found:
            rival = min(found, key=lambda n: found[n]["rmse"])
            _rating_bars(report, "Jester", jokes[ours], found[rival], rival)
    report.conclude()


def _rated(
    options: Options,
    report: Report,
    records: list[Record],
    problem: str,
    data: Ratings,
    wanted: Sequence[Method],
    k: int,
) -> dict[str, dict[str, float]]:
    """Mean error and time of every method over the splits, by name; those that failed are left out."""
    methods, whole = chosen(wanted, options), data.entries
    warm_up(methods, k)
    for seed in seeds(options):
        order = np.random.default_rng(seed).permutation(whole.size)
        cut = round(0.9 * whole.size)
        train, test = np.sort(order[:cut]), np.sort(order[cut:])
        part = Entries(whole.rows[train], whole.cols[train], whole.values[train], whole.shape)
        for method in methods:
            report.progress(f"{problem}, split {seed}, {method.name}")
            outcome = attempt(method, part, k, method.settings[0])
            record = {"problem": problem, "seed": seed, "method": method.name, "note": outcome.note}
            if outcome.ok:
                guess = np.clip(outcome.value.predict(whole.rows[test], whole.cols[test]), data.low, data.high)
                record |= {
                    "cpu": outcome.cpu,
                    "wall": outcome.wall,
                    "rmse": float(np.sqrt(np.mean((guess - whole.values[test]) ** 2))),
                    "rank": getattr(outcome.value, "cardinality", None),
                    "ridge": getattr(outcome.value, "ridge", None),
                    "inside": getattr(outcome.value, "held_out", None),
                }
            records.append(record)
    means, rows = {}, []
    for method in methods:
        which = {"problem": problem, "method": method.name}
        errors, seconds = values(records, "rmse", **which), values(records, "cpu", **which)
        failed = note(records, **which)
        if errors and not failed:
            means[method.name] = {"rmse": float(np.mean(errors)), "cpu": float(np.mean(seconds))}
        ranks = " ".join(f"{r:g}" for r in values(records, "rank", **which))
        inside = " ".join(f"{s:.4f}" for s in values(records, "inside", **which))
        cells = [f"{np.mean(errors):.4f}" if errors else failed, " ".join(f"{e:.4f}" for e in errors)]
        rows.append([method.name, *cells, float(np.mean(seconds)) if seconds else None, ranks, inside])
    p, q = whole.shape
    headers = ["method", "RMSE", "each split", "CPU s", "rank chosen", "RMSE held out inside"]
    report.table(f"{problem}, {p} x {q}, {whole.size} ratings", headers, rows)
    errors_of = {n: s["rmse"] for n, s in means.items()}
    seconds_of = {n: s["cpu"] for n, s in means.items()}
    # The means alone are not in this race: nobody would be faster.
    racing = {n: s for n, s in seconds_of.items() if n != "means"}
    report.say(f"smallest error: {best(errors_of, rel=1e-4)}; fastest: {best(racing, rel=0.05)}")
    return means


def _rating_bars(report: Report, problem: str, ours: dict[str, float], rival: dict[str, float], name: str) -> None:
    report.bar(f"{problem}: RMSE minus that of {name}", ours["rmse"] - rival["rmse"], WORSE)
    report.bar(f"{problem}: CPU seconds, choices included, at most those of {name}", ours["cpu"], rival["cpu"])


# Scale


@dataclass(frozen=True, eq=False)
class Planted:
    """A matrix of low rank, U V', and some of its entries with noise."""

    U: Vector
    V: Vector
    entries: Entries

    def error(self, left: Any, right: Any) -> float:
        """|X - X0| / |X0| in Frobenius norm, from the factors: X = left right' is not formed."""
        p = np.concatenate([np.asarray(left, dtype=np.float64), self.U], axis=1)
        q = np.concatenate([np.asarray(right, dtype=np.float64), -self.V], axis=1)
        # QR first: the difference is small, and would drown in the rounding of its square
        small = np.linalg.qr(p, mode="r") @ np.linalg.qr(q, mode="r").T
        truth = np.linalg.qr(self.U, mode="r") @ np.linalg.qr(self.V, mode="r").T
        return float(np.linalg.norm(small) / np.linalg.norm(truth))


NOISE = 0.1  # standard deviation, in units of that of the entries


def planted(p: int, q: int, r: int, count: int, noise: float, seed: Any) -> Planted:
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((p, r)), rng.standard_normal((q, r))
    if 3 * count > p * q:
        places = np.sort(rng.choice(p * q, count, replace=False))
    else:  # draws with repetitions, a few too many, thinned out to distinct ones: no list of all places
        places = np.zeros(0, dtype=np.int64)
        while places.size < count:
            places = np.unique(np.concatenate([places, rng.integers(p * q, size=count - places.size + count // 50)]))
        places = np.delete(places, rng.choice(places.size, places.size - count, replace=False))
    rows, cols = (places // q).astype(np.int32), (places % q).astype(np.int32)
    del places
    values = peers.LowRank(U, V).predict(rows, cols)
    values += noise * values.std() * rng.standard_normal(count)
    return Planted(U, V, Entries(rows, cols, values, (p, q)))


def ideal(p: int, q: int, r: int, count: int) -> float:
    """The error that noise of this size leaves to the best of estimates, to first order."""
    return NOISE * math.sqrt((p + q) * r / count)


ABOVE_IDEAL = 1.07
SAME_ERROR = 1.02  # what counts as the error that we have
SHARE_OF_CMFREC = 0.8
BYTES = 2 * (8 + 4 + 4)  # of memory per entry, beside the entries themselves
STEEP = 1.1  # slope of time against entries, both in logarithms
LARGE_RANK = 10
NITER = (3, 4, 6, 8, 10, 15)
DEFAULT_NITER = 10
TRIED = [(lam, cg) for cg in (False, True) for lam in (1.0, 0.3, 0.1)]


def sizes(quick: bool) -> dict[str, tuple[int, int, int]]:
    """Rows, columns and entries of the two problems."""
    if quick:
        return {"medium": (2000, 2000, 400_000), "large": (10_000, 4000, 1_500_000)}
    return {"medium": (10_000, 10_000, 2_000_000), "large": (100_000, 20_000, 20_000_000)}


def give_back() -> None:
    """Return what was freed to the system: whoever reused it would seem to need no memory. The C library does so by
    itself for large blocks only."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def ours_large_child(p: int, q: int, r: int, count: int, seed: int) -> Record:
    """Ours on one planted matrix; runs in a process that does nothing else."""
    warm_up([peers.OURS], r)
    data = planted(p, q, r, count, NOISE, seed)
    give_back()
    with measure.peak_memory() as peak:
        outcome = attempt(peers.OURS, data.entries, r, None)
    record: Record = {"note": outcome.note, "resident_before": peak.before}
    if outcome.ok:
        s = outcome.value
        record |= {"cpu": outcome.cpu, "wall": outcome.wall, "extra_bytes": peak.extra, "iterations": s.iterations}
        record["error"] = data.error(s.left, s.right)
    return record


def cmfrec_large_child(
    p: int, q: int, r: int, count: int, seed: int, target: float, tried: Sequence[tuple[float, bool]]
) -> Record:
    """cmfrec with more and more sweeps until it has the error, for each pair of penalty and solver."""
    runs: list[Record] = []
    small = planted(400, 100, 3, 36_000, 0.1, 0).entries.coo()
    for _, cg in tried:
        measure.timed(peers.cmf, small, r, 1, **_solver(cg))
    data = planted(p, q, r, count, NOISE, seed)
    X = data.entries.coo()
    for lam, cg in tried:
        for niter in NITER:
            give_back()
            with measure.peak_memory() as peak:
                outcome = measure.timed(peers.cmf, X, r, niter, lambda_=lam, **_solver(cg))
            run: Record = {"lambda": lam, "cg": cg, "niter": niter, "note": outcome.note}
            if outcome.ok:
                run |= {"cpu": outcome.cpu, "wall": outcome.wall, "extra_bytes": peak.extra}
                run["error"] = data.error(outcome.value.left, outcome.value.right)
                run["reached"] = bool(run["error"] <= target)
            runs.append(run)
            if not outcome.ok or run["reached"]:
                break
    return {"runs": runs}


def _solver(cg: bool) -> dict[str, bool]:
    return peers.GRADIENTS if cg else peers.CHOLESKY


def scale(options: Options, report: Report) -> None:
    records = report.section("scale", f"Scale: rank {LARGE_RANK}, noise {NOISE:.0%}; each in a process of its own")
    names = [n for n in ("fewatoms", "cmfrec") if options.only is None or n in options.only]
    if not Path("/proc/self/clear_refs").exists():
        report.skip("peak memory is read from /proc, which this system does not have")
        return
    has_cmfrec = "cmfrec" in names and peers.Method("cmfrec", "cmfrec", Entries.coo, peers.cmf).installed
    tried = TRIED
    for kind, (p, q, count) in sizes(options.quick).items():
        problem = f"{p} x {q}, {count} entries"
        least, task = ideal(p, q, LARGE_RANK, count), (p, q, LARGE_RANK, count, options.first_seed)
        target = ABOVE_IDEAL * least * SAME_ERROR
        if "fewatoms" in names:
            report.progress(f"{problem}, fewatoms")
            record = measure.in_child(ours_large_child, *task, timeout=options.timeout)
            records.append({"problem": problem, "method": "fewatoms", "note": "", **record})
            target = SAME_ERROR * record.get("error", target / SAME_ERROR)
        if has_cmfrec:
            report.progress(f"{problem}, cmfrec")
            answer = measure.in_child(cmfrec_large_child, *task, target, tried, timeout=5 * options.timeout)
            runs = answer.get("runs") or [{"note": answer["note"]}]
            records += [{"problem": problem, "method": "cmfrec", **run} for run in runs]
            fastest = _cmfrec_best(runs)
            if kind == "medium" and "cpu" in fastest:
                tried = [(fastest["lambda"], fastest["cg"])]  # the large problem takes too long to try everything
        _scale_report(options, report, records, problem, kind, least, count)
    _growth(options, report, records, names, tried[0])
    report.conclude()


def _cmfrec_best(runs: Sequence[Record]) -> Record:
    """The fastest that has the error; where none has, the best with its default number of sweeps."""
    reached = [r for r in runs if r.get("reached")]
    if reached:
        return min(reached, key=lambda r: r["cpu"])
    usual = [r for r in runs if r.get("niter") == DEFAULT_NITER and "error" in r]
    return min(usual, key=lambda r: r["error"]) if usual else runs[0]


def _scale_report(
    options: Options, report: Report, records: Sequence[Record], problem: str, kind: str, least: float, count: int
) -> None:
    mine = measure.where(records, problem=problem)
    theirs = [r for r in mine if r["method"] == "cmfrec"]
    shown = [r for r in mine if r["method"] == "fewatoms"]
    if theirs:
        rival = _cmfrec_best(theirs)
        ends = [r for i, r in enumerate(theirs) if i + 1 == len(theirs) or theirs[i + 1].get("niter") == NITER[0]]
        shown += ends if rival in ends else [*ends, rival]
    rows = [
        [
            _named(r),
            r.get("error"),
            r["error"] / least if "error" in r else None,
            *(r.get(field) for field in ("cpu", "wall")),
            r["extra_bytes"] / 2**20 if "extra_bytes" in r else None,
            r["extra_bytes"] / count if "extra_bytes" in r else None,
            {True: "has our error", False: "has not our error"}.get(r.get("reached"), r["note"].split(":")[0]),
        ]
        for r in shown
    ]
    headers = ["method", "error", "error/ideal", "CPU s", "wall s", "extra MB", "extra bytes/entry", ""]
    report.table(f"{problem}; error against the truth, ideal {least:.4f}", headers, rows)
    report.say(
        f"smallest error: {best({_named(r): r.get('error', math.nan) for r in shown})}; "
        f"fastest: {best({_named(r): r.get('cpu', math.nan) for r in shown}, rel=0.05)}; "
        f"least memory: {best({_named(r): float(r.get('extra_bytes', math.nan)) for r in shown}, rel=0.05)}"
    )
    ours = next((r for r in mine if r["method"] == "fewatoms"), None)
    if ours is None:
        return
    report.bar(f"{problem}: error / ideal", ours.get("error", math.nan) / least, ABOVE_IDEAL)
    if kind != "large":
        return
    if theirs and "cpu" in rival:
        how = "with our error" if rival["reached"] else "without our error, by default sweeps"
        what = f"{problem}: CPU seconds, at most {SHARE_OF_CMFREC:g} times cmfrec's {how} ({_named(rival)})"
        report.bar(what, ours.get("cpu", math.nan), SHARE_OF_CMFREC * rival["cpu"])
    if not options.quick:  # small problems say nothing about memory
        report.bar(f"{problem}: extra bytes per entry", ours.get("extra_bytes", math.nan) / count, BYTES)


def _named(r: Record) -> str:
    if r["method"] == "fewatoms" or "niter" not in r:
        return r["method"]
    return f"cmfrec {'CG' if r['cg'] else 'Cholesky'}, lambda {r['lambda']:g}, {r['niter']} sweeps"


def _growth(
    options: Options, report: Report, records: list[Record], names: Sequence[str], setting: tuple[float, bool]
) -> None:
    """CPU seconds against entries and against k."""
    side = 2000 if options.quick else 10_000
    base = 100_000 if options.quick else 500_000
    counts = [base * 2**j for j in range(4 if options.quick else 5)]
    ranks = [5, 10, 20] if options.quick else [5, 10, 20, 40]
    plan = {"entries": [(LARGE_RANK, n) for n in counts], "k": [(r, 4 * base) for r in ranks]}
    lam, cg = setting
    methods = [
        m
        for m in (
            peers.OURS,
            Method(
                "cmfrec",
                "cmfrec",
                Entries.coo,
                lambda X, k, niter: peers.cmf(X, k, niter, lambda_=lam, **_solver(cg)),
                (DEFAULT_NITER,),
            ),
        )
        if m.name in names
    ]
    warm_up(methods, LARGE_RANK)
    for axis, problems in plan.items():
        for r, count in problems:
            size = count if axis == "entries" else r
            for seed in seeds(options):
                data = planted(side, side, r, count, NOISE, [seed, r, count])
                for method in methods:
                    report.progress(f"{axis} = {size}, seed {seed}, {method.name}")
                    outcome = attempt(method, data.entries, r, method.settings[0])
                    record = {"axis": axis, "size": size, "seed": seed, "method": method.name, "note": outcome.note}
                    if outcome.ok:
                        answer = outcome.value
                        record |= {"cpu": outcome.cpu, "iterations": getattr(answer, "iterations", None)}
                        record["over_ideal"] = data.error(answer.left, answer.right) / ideal(side, side, r, count)
                    records.append(record)
    for axis, problems in plan.items():
        places = [count if axis == "entries" else r for r, count in problems]
        stays = f"k = {LARGE_RANK}" if axis == "entries" else f"{4 * base} entries"
        for field, title, rel in (("cpu", "CPU seconds", 0.05), ("over_ideal", "error/ideal", 1e-3)):
            rows, cells = [], {s: {} for s in places}
            for method in methods:
                found = [median(records, field, axis=axis, size=s, method=method.name) for s in places]
                for s, value in zip(places, found, strict=True):
                    cells[s][method.name] = value
                grade = slope(places, found)
                failed = note(records, axis=axis, method=method.name)
                rows.append([method.name, *found, f"{grade:.2f}" if field == "cpu" else "", failed])
                if field == "cpu" and axis == "entries" and method is peers.OURS:
                    report.bar("slope of CPU seconds against entries", grade, STEEP)
                    # Few entries take more sweeps, which makes the line above flatter than the work of a sweep is.
                    enough = places.index(4 * base)
                    report.bar(
                        f"the same from {4 * base / 1e6:g}M entries on", slope(places[enough:], found[enough:]), STEEP
                    )
            rows.append(["best", *(best(cells[s], rel=rel) for s in places), "", ""])
            report.table(
                f"{title} against {axis} ({side} x {side}, {stays})",
                ["method", *(f"{s:g}" if axis == "k" else f"{s / 1e6:g}M" for s in places), "slope", ""],
                rows,
            )


def slope(places: Sequence[float], seconds: Sequence[float]) -> float:
    """Of the straight line through the points on paper with two logarithmic axes."""
    known = [(math.log(s), math.log(t)) for s, t in zip(places, seconds, strict=True) if t > 0]
    return float(np.polyfit(*np.transpose(known), 1)[0]) if len(known) > 1 else math.nan


# Start

START = """
import json, logging, sys, time

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("fewatoms").addHandler(handler)
logging.getLogger("fewatoms").setLevel(logging.INFO)

began = time.perf_counter()
import numpy as np
import fewatoms as fa
imported = time.perf_counter() - began

p, q, count = 2000, 1000, int(sys.argv[1])
rng = np.random.default_rng(0)
rows, cols = np.divmod(np.sort(rng.choice(p * q, count, replace=False)), q)
U, V = rng.standard_normal((p, 5)), rng.standard_normal((q, 5))
values = np.einsum("ij,ij->i", U[rows], V[cols]) + 0.1 * rng.standard_normal(count)
seconds = []
for _ in range(2):
    began = time.perf_counter()
    fa.fit(fa.Sampling(rows, cols, (p, q)), values, atoms=fa.RankOne(p, q), k=5)
    seconds.append(time.perf_counter() - began)
print(json.dumps({"import": imported, "first": seconds[0], "second": seconds[1], "log": lines}))
"""
START_ENTRIES = 200_000
CACHED, EMPTY = 1.5, 12.0  # seconds of overhead allowed, with and without compiled loops on disk


def start(options: Options, report: Report) -> None:
    records = report.section("start", f"Start: the first fit in a fresh process, {START_ENTRIES} entries")
    with tempfile.TemporaryDirectory() as cache:
        for kind in ["empty", *["cached"] * options.seeds]:
            report.progress(f"cache {kind}")
            records.append({"method": "fewatoms", "cache": kind, "note": "", **_fresh_process(cache)})
    fields = ("import", "first", "second", "overhead", "logged")
    rows = [
        [kind, *(median(records, field, cache=kind) for field in fields), note(records, cache=kind)]
        for kind in ("empty", "cached")
    ]
    headers = ["cache", "import", "first fit", "second fit", "overhead", "log lines", ""]
    report.table("Medians of wall seconds", headers, rows)
    report.say("Only ourselves here: nobody to be best among.")
    for line in sorted({line for r in measure.where(records, cache="empty") for line in r.get("log", [])}):
        report.say(f"logged: {line}")
    report.bar("overhead of the first fit, loops on disk", median(records, "overhead", cache="cached"), CACHED)
    report.bar("overhead of the very first fit, nothing on disk", median(records, "overhead", cache="empty"), EMPTY)
    report.bar("log lines of the very first fit", median(records, "logged", cache="empty"), 1.0, at_least=True)
    report.conclude()


def _fresh_process(cache: str) -> Record:
    done = subprocess.run(
        [sys.executable, "-c", START, str(START_ENTRIES)],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"note": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    found = json.loads(done.stdout.splitlines()[-1])
    return {**found, "overhead": found["first"] - found["second"], "logged": len(found["log"])}


# Command line

PARTS: dict[str, Callable[[Options, Report], None]] = {
    "temperatures": temperatures,
    "figure": figure,
    "ratings": ratings,
    "scale": scale,
    "start": start,
}


def parser() -> argparse.ArgumentParser:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    p = argparse.ArgumentParser(description="Matrix completion: fewatoms and its peers on the same problems.")
    p.add_argument("part", choices=[*PARTS, "all"])
    p.add_argument("--seeds", type=int, default=3, metavar="N", help="how many draws or splits of each problem")
    p.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...")
    p.add_argument("--only", nargs="+", metavar="METHOD", help="names as they stand in the tables")
    p.add_argument("--quick", action="store_true", help="smaller sizes: does everything run?")
    p.add_argument("--json", metavar="FILE", help="every number, with versions and machine")
    p.add_argument("--data", metavar="DIR", default=os.environ.get("FEWATOMS_DATA", str(beside)), help="real data")
    p.add_argument("--timeout", type=float, default=300.0, metavar="S", help="wall seconds for one slow method")
    p.add_argument("--figure", metavar="FILE", help="figure: draw it")
    return p


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    report = Report(vars(options), peers.PACKAGES)
    for name in PARTS if options.part == "all" else [options.part]:
        PARTS[name](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
