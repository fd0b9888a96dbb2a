"""Sums of two parts told apart: low rank plus sparse, stars plus texture; ourselves and the peers on the same data.

    python benchmarks/demixing.py [faces] [video] [stars] [paper] [--seeds N] [--json FILE] [--figure DIR] [--quick]

faces   one face under many lights: principal component pursuit beside IALM, budgets beside alternating projection
video   the background of a hall, beside the true one
stars   stars and texture, told both budgets, the noise, nothing; a large picture with the memory it takes
paper   the paper's robust PCA, told the gauges, beside ours

Objectives, residuals and errors are computed here from the parts returned, by one formula for all. Packages run in a
process of their own, for `--timeout` seconds. Times of `faces` are the middle of `--repeats` runs, by turns.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure

os.environ.update(measure.THREADS)  # before NumPy is loaded; child processes inherit it

import demixing_peers as peers
import numpy as np
from demixing_peers import Pair, Vector
from measure import Outcome, Record, Report, best, median, note, values
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import datasets

Options = argparse.Namespace
MISFIT = 1e-4  # of principal component pursuit


def seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def percent(value: float | None, digits: int = 2) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def relative(difference: Vector, reference: Vector) -> float:
    return float(np.linalg.norm(difference) / np.linalg.norm(reference))


def data_file(options: Options, name: str, without: Callable[[str], None]) -> Path | None:
    """Where a file is: a path, or a name in the folder with the data; None, said plainly, where there is none."""
    folder = Path(options.data)
    for file in (Path(name), folder / name):
        if file.is_file():
            return file
    without(
        f"no file {name} in {folder}" if folder.is_dir() else f"no folder {folder}; name it by --data or FEWATOMS_DATA"
    )
    return None


# Low rank plus sparse, by ourselves


def pursuit(X: Vector, enough: float = 0.0) -> Any:
    """Principal component pursuit; stopped, if one is told, at the first answer with so small an objective."""

    def look(progress: Any) -> None:
        if progress.candidate.gauge <= enough:
            raise StopIteration

    atoms = fa.RankOne(*X.shape) | fa.SignedOneHot(X.shape)
    return fa.fit(fa.Identity(X.shape), X, atoms=atoms, misfit=MISFIT, callback=look if enough else None)


def budgeted(X: Vector, rank: int, count: int | None, **wishes: Any) -> Any:
    """At most so many atoms of each kind; None leaves their number to us."""
    atoms = fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape)
    return fa.fit(fa.Identity(X.shape), X, atoms=atoms, k=(rank, count), **wishes)


def pair_of(solution: Any) -> Pair:
    low, sparse = solution.parts
    return low.left @ low.right.T, sparse.x


def judged(X: Vector, pair: Pair, count: int | None = None) -> Record:
    """Facts about a pair; with a count also the residual that L has with the best S of so many entries."""
    L, S = pair
    s = np.sqrt(np.maximum(np.linalg.eigvalsh(L.T @ L), 0.0))
    record = {
        "objective": float(s.sum() + peers.default_weight(X) * np.abs(S).sum()),
        "residual": relative(X - L - S, X),
        # Singular values by the Gram matrix are known to 1e-8 of the largest.
        "rank": int(np.count_nonzero(s > 1e-6 * s.max())),
        "entries": float(np.count_nonzero(S) / S.size),
    }
    if count is not None:
        R = X - L
        record["trimmed"] = relative(R - peers.largest_entries(R, count), X)
    return record


def warm_up() -> None:
    """Import and compile, on something small."""
    X = datasets.low_rank_plus_sparse(60, 20, 2, rng=0).X
    pursuit(X)
    budgeted(X, 2, 120)
    budgeted(X, 1, None)
    peers.ialm(X, MISFIT)


def repeated(options: Options, report: Report, tasks: dict[str, Callable[[], Any]]) -> dict[str, Outcome]:
    """Every task several times, by turns, so that a busy machine is busy for all; the middle times are kept."""
    runs: dict[str, list[Outcome]] = {name: [] for name in tasks}
    for i in range(options.repeats):
        for name, task in tasks.items():
            report.progress(f"{name}, {i + 1} of {options.repeats}")
            runs[name].append(measure.timed(task))
    return {
        name: Outcome(
            found[-1].value,
            float(np.median([o.cpu for o in found])),
            float(np.median([o.wall for o in found])),
            found[-1].note,
        )
        for name, found in runs.items()
    }


# Faces

OBJECTIVE = 0.001  # what our objective may lie above that of IALM run to the end
GAP = 0.002  # certified, relative
GAP_TIME = 5.0  # times IALM's, for that
ABOVE = 1.005  # our residual with budgets, in units of alternating projection's
THE_END = 1e-7  # tolerance of IALM run to the end


def face_matrix(file: Path, quick: bool) -> tuple[Vector, tuple[int, int, int]]:
    """One column per light; values from 0 to 1."""
    faces = np.load(file)["faces"]
    faces = faces[::2, ::2, ::2] if quick else faces
    X = np.ascontiguousarray(faces.reshape(len(faces), -1).T, dtype=np.float64) / 255
    return X, faces.shape


def package_child(file: str, quick: bool, name: str, rank: int, count: int) -> Record:
    """One package; runs in a process that does nothing else."""
    method = next(m for m in peers.MATRICES if m.name == name)
    small = datasets.low_rank_plus_sparse(60, 20, 2, rng=0).X
    measure.timed(method.solve, small, 2, 120)
    X, _ = face_matrix(Path(file), quick)
    outcome = measure.timed(method.solve, X, rank, count)
    if not outcome.ok:
        return {"note": outcome.note}
    return {"cpu": outcome.cpu, "wall": outcome.wall, **judged(X, outcome.value, count)}


def faces(options: Options, report: Report) -> None:
    records = report.section("faces", "Faces: one face under many lights, one column for each")
    file = data_file(options, options.faces, report.skip)
    if file is None:
        return
    X, shape = face_matrix(file, options.quick)
    count = round(options.share * X.size)
    warm_up()
    enough = (1 + OBJECTIVE) * judged(X, peers.ialm(X, THE_END))["objective"]
    tasks = {
        "fewatoms, pursuit": lambda: pursuit(X),
        "fewatoms, pursuit, stopped": lambda: pursuit(X, enough),
        "IALM": lambda: peers.ialm(X, MISFIT),
        "IALM to the end": lambda: peers.ialm(X, THE_END),
        "fewatoms, budgets": lambda: budgeted(X, options.rank, count),
        "alternating projection": lambda: peers.alternating_projection(X, options.rank, count),
    }
    done = repeated(options, report, tasks)
    pairs: dict[str, Pair] = {}
    for name, outcome in done.items():
        record = {"method": name, "pursuit": "IALM" in name or "pursuit" in name, "note": outcome.note}
        if outcome.ok:
            ours = name.startswith("fewatoms")
            pairs[name] = pair_of(outcome.value) if ours else outcome.value
            record |= {"cpu": outcome.cpu, "wall": outcome.wall, **judged(X, pairs[name], count)}
        if outcome.ok and name.startswith("fewatoms, pursuit"):
            record["gap"] = outcome.value.certificate.gap / outcome.value.gauge
            record["least"] = outcome.value.gauge - outcome.value.certificate.gap
        records.append(record)
    for method in peers.MATRICES:
        report.progress(method.name)
        record = {"note": "not installed"}
        if method.installed:
            task = (str(file), options.quick, method.name, options.rank, count)
            record = measure.in_child(package_child, *task, timeout=options.timeout)
        records.append({"method": method.name, "pursuit": method.pursuit, "note": "", **record})
    _faces_report(options, report, records, X)
    if options.figure and {"fewatoms, pursuit", "fewatoms, budgets"} <= set(pairs):
        _draw_faces(_chart(options, report, "faces"), X, shape, pairs, options)
    report.conclude()


def _faces_report(options: Options, report: Report, records: Sequence[Record], X: Vector) -> None:
    p, q = X.shape
    found = {r["method"]: r for r in records if "cpu" in r}
    rows = [
        [
            r["method"],
            f"{r['objective']:.2f}" if "cpu" in r else None,
            r.get("residual"),
            percent(r.get("gap"), 3),
            r.get("rank"),
            percent(r.get("entries"), 1),
            r.get("cpu"),
            r["note"],
        ]
        for r in measure.where(records, pursuit=True)
    ]
    headers = ["method", "objective", "residual", "gap %", "rank", "entries %", "CPU s", ""]
    report.table(f"Principal component pursuit, {p} x {q}, residual {MISFIT:g}", headers, rows)
    report.remark(
        f"Stopped: at the first answer with at most {1 + OBJECTIVE:g} times the objective of IALM run to the end."
    )
    rival, end = found.get("IALM", {}), found.get("IALM to the end", {})
    least_time = rival.get("cpu", math.nan)
    for name in ("fewatoms, pursuit", "fewatoms, pursuit, stopped"):
        mine, label = found.get(name, {}), name.removeprefix("fewatoms, ")
        over = mine.get("objective", math.nan) / end.get("objective", math.nan) - 1
        report.bar(f"{label}: objective over IALM's at tolerance {THE_END:g}, percent", 100 * over, 100 * OBJECTIVE)
        report.bar(f"{label}: residual", mine.get("residual", math.nan), MISFIT * (1 + 1e-6))
        report.bar(f"{label}: CPU seconds, at most IALM's", mine.get("cpu", math.nan), least_time)
    mine = found.get("fewatoms, pursuit", {})
    report.bar("pursuit: certified gap in percent", 100 * mine.get("gap", math.nan), 100 * GAP)
    what = f"pursuit: CPU seconds with that gap, at most {GAP_TIME:g} times IALM's"
    report.bar(what, mine.get("cpu", math.nan), GAP_TIME * least_time)
    # IALM's answer meets our bound on the residual too: nothing proven may lie above its objective.
    least = mine.get("least", math.nan)
    report.bar(
        "pursuit: proven least objective, at most what IALM found", least, end.get("objective", math.nan) * (1 + 1e-6)
    )

    rows = [
        [
            r["method"],
            r.get("rank"),
            percent(r.get("entries"), 1),
            *(percent(r.get(field), 3) for field in ("residual", "trimmed")),
            r.get("cpu"),
            r["note"],
        ]
        for r in measure.where(records, pursuit=False)
    ]
    share = percent(options.share, 0)
    headers = ["method", "rank", "entries %", "residual %", f"residual % with {share} % of the entries", "CPU s", ""]
    report.table(f"Rank {options.rank} and {share} % of the entries", headers, rows)
    mine, rival = (found.get(n, {}) for n in ("fewatoms, budgets", "alternating projection"))
    ratio = mine.get("residual", math.nan) / rival.get("residual", math.nan)
    report.bar("budgets: residual over alternating projection's", ratio, ABOVE)
    report.bar("budgets: CPU seconds, at most its", mine.get("cpu", math.nan), rival.get("cpu", math.nan))
    report.bar("budgets: rank", float(mine.get("rank", math.nan)), float(options.rank))
    allowed = round(options.share * X.size) / X.size
    report.bar("budgets: percent of the entries", 100 * mine.get("entries", math.nan), 100 * allowed)


# Video

TIMES_MEDIAN = 1.2  # our error, in units of that of the median over time


def video(options: Options, report: Report) -> None:
    records = report.section("video", "Video: the background as the mean over frames of the low-rank part")
    file = data_file(options, options.video, report.skip)
    if file is None:
        return
    data = np.load(file)
    frames, truth = data["frames"], data["background"].astype(np.float64)
    if options.quick:
        frames, truth = frames[::4, ::2, ::2], truth[::2, ::2]
    X = np.ascontiguousarray(frames.reshape(len(frames), -1).T, dtype=np.float64)
    warm_up()
    tasks: dict[str, Callable[[], Any]] = {
        "fewatoms, rank 1": lambda: budgeted(X, 1, None),
        "fewatoms, rank 3": lambda: budgeted(X, 3, None),
        "fewatoms, pursuit": lambda: pursuit(X),
        "IALM": lambda: peers.ialm(X, MISFIT),
        "median over time": lambda: np.median(frames, axis=0),
    }
    pictures: dict[str, Vector] = {}
    parts: dict[str, Pair] = {}
    for name, task in tasks.items():
        report.progress(name)
        outcome = measure.timed(task)
        record = {"method": name, "note": outcome.note}
        if outcome.ok and name == "median over time":
            pictures[name] = outcome.value
        elif outcome.ok:
            parts[name] = pair_of(outcome.value) if name.startswith("fewatoms") else outcome.value
            pictures[name] = parts[name][0].mean(axis=1).reshape(truth.shape)
            record |= judged(X, parts[name])
        if outcome.ok:
            off = np.abs(pictures[name] - truth)
            record |= {"cpu": outcome.cpu, "wall": outcome.wall, "error": float(off.mean())}
            record["far"] = float(np.mean(off > 20))
        records.append(record)
    rows = [
        [
            r["method"],
            f"{r['error']:.3f}" if "error" in r else None,
            percent(r.get("far")),
            r.get("rank"),
            percent(r.get("entries"), 1),
            percent(r.get("residual")),
            r.get("cpu"),
            r["note"],
        ]
        for r in records
    ]
    headers = ["method", "mean error", "off by more than 20, %", "rank", "entries %", "residual %", "CPU s", ""]
    p, q = X.shape
    report.table(f"{q} frames of {p} pixels; errors of the background in grey levels", headers, rows)
    errors = {r["method"]: r.get("error", math.nan) for r in records}
    report.say(f"smallest error: {best(errors)}")
    mine, middle = errors["fewatoms, rank 1"], errors["median over time"]
    report.bar("rank 1: error, at most that of our pursuit", mine, errors["fewatoms, pursuit"])
    report.bar("rank 1: error, at most that of IALM", mine, errors["IALM"])
    report.bar(f"rank 1: error, at most {TIMES_MEDIAN:g} times that of the median", mine, TIMES_MEDIAN * middle)
    if options.figure and "fewatoms, rank 1" in parts:
        _draw_video(
            _chart(options, report, "video"), frames, truth, pictures["fewatoms, rank 1"], parts["fewatoms, rank 1"]
        )
    report.conclude()


# Stars and texture

RECOVERED = 0.05  # relative error of each part
NOISES = (0.0, 0.02)
NEXT_TO_NOTHING = 1e-6  # the misfit asked for where there is no noise
PENALTIES = 0.5 ** np.arange(1, 11)  # of the peer, as shares of the largest
LARGE = (601, 36_000, 10_000)  # side, stars, waves


def cosines(side: int) -> LinearOperator:
    """Synthesis by the orthonormal cosine transform of a square picture."""
    forward, backward = _synthesis(side), _analysis(side)
    return LinearOperator((side * side, side * side), matvec=forward, rmatvec=backward, dtype=np.float64)


def _synthesis(side: int) -> Callable[[Vector], Vector]:
    return lambda w: idctn(w.reshape(side, side), norm="ortho").ravel()


def _analysis(side: int) -> Callable[[Vector], Vector]:
    return lambda x: dctn(x.reshape(side, side), norm="ortho").ravel()


@dataclass(frozen=True, eq=False)
class Sky:
    """Stars in single pixels, of log-normal brightness; a texture of few waves; white noise."""

    side: int
    counts: tuple[int, int]
    b: Vector
    stars: Vector
    texture: Vector

    @staticmethod
    def drawn(side: int, stars: int, waves: int, noise: float, seed: int) -> Sky:
        rng = np.random.default_rng([seed, side, stars, waves])
        n = side * side
        sky, w = np.zeros(n), np.zeros(n)
        sky[rng.choice(n, stars, replace=False)] = rng.lognormal(0.0, 0.4, stars)
        band = side // 2  # of frequencies in each direction
        rows, cols = np.divmod(rng.choice(band * band, waves, replace=False), band)
        w[rows * side + cols] = rng.choice([-1.0, 1.0], waves) * rng.lognormal(0.0, 0.4, waves)
        # Most of what is seen is texture: twice as long as the stars.
        texture = 2 * math.sqrt(stars / waves) * _synthesis(side)(w)
        clean, e = sky + texture, rng.standard_normal(n)
        return Sky(side, (stars, waves), clean + noise * np.linalg.norm(clean) * e / np.linalg.norm(e), sky, texture)

    def errors(self, stars: Vector, texture: Vector) -> Record:
        return {
            "stars": relative(stars - self.stars, self.stars),
            "texture": relative(texture - self.texture, self.texture),
        }


def demixed(sky: Sky, **told: Any) -> Any:
    n = sky.b.size
    atoms = fa.SignedOneHot(n) + fa.Mapped(cosines(sky.side), fa.SignedOneHot(n))
    return fa.fit(fa.Identity(n), sky.b, atoms=atoms, **told)


def large_child(side: int, stars: int, waves: int, noise: float, seed: int) -> Record:
    """The large one with its memory; runs in a process that does nothing else."""
    demixed(Sky.drawn(32, 20, 10, 0.0, 0), k=(20, 10))
    sky = Sky.drawn(side, stars, waves, noise, seed)
    with measure.peak_memory() as peak:
        outcome = measure.timed(demixed, sky, k=sky.counts)
    if not outcome.ok:
        return {"note": outcome.note}
    u, w = (part.x.ravel() for part in outcome.value.parts)
    return {"cpu": outcome.cpu, "vectors": peak.extra / (8 * side * side), **sky.errors(u, w)}


def stars(options: Options, report: Report) -> None:
    records = report.section(
        "stars", f"Stars and texture: pixels plus waves of the cosine transform; {options.seeds} draws"
    )
    side = min(options.side, 96) if options.quick else options.side
    counts = round(options.stars * side * side), round(options.waves * side * side)
    demixed(Sky.drawn(32, 20, 10, 0.0, 0), k=(20, 10))
    shown: dict[str, Any] = {}
    for noise in NOISES:
        for seed in seeds(options):
            sky = Sky.drawn(side, *counts, noise, seed)
            told: dict[str, dict[str, Any]] = {
                "budgets": {"k": counts},
                "noise": {"misfit": max(noise, NEXT_TO_NOTHING)},
                "nothing": {},
            }
            for what, wishes in told.items():
                report.progress(f"noise {noise:g}, seed {seed}, told {what}")
                outcome = measure.timed(demixed, sky, **wishes)
                record = {"method": "fewatoms", "told": what, "noise": noise, "seed": seed, "note": outcome.note}
                if outcome.ok:
                    u, w = outcome.value.parts
                    record |= {"cpu": outcome.cpu, **sky.errors(u.x.ravel(), w.x.ravel())}
                    record |= {"atoms": [u.cardinality, w.cardinality], "misfit": outcome.value.misfit}
                    shown = {"sky": sky, "stars": u.x, "texture": w.x}
                records.append(record)
            records += _pursuit_records(sky, noise, seed)
    rows = []
    for noise in NOISES:
        for method, what in dict.fromkeys((r["method"], r["told"]) for r in records):
            case = {"method": method, "told": what, "noise": noise}
            worst = {f: max(values(records, f, **case), default=math.nan) for f in ("stars", "texture")}
            atoms = next((r["atoms"] for r in measure.where(records, **case) if "atoms" in r), ["-", "-"])
            rows.append([percent(noise, 0), method, what, *(percent(v) for v in worst.values()), *atoms])
            rows[-1] += [median(records, "cpu", **case), note(records, **case)]
            if method == "fewatoms":
                failed = measure.where(records, **case)
                error = math.nan if any(r["note"] for r in failed) else max(worst.values())
                report.bar(
                    f"told {what}, noise {percent(noise, 0)} %: worst error of a part in percent",
                    100 * error,
                    100 * RECOVERED,
                )
    headers = ["noise %", "method", "told", "stars %", "texture %", "stars", "waves", "CPU s", ""]
    report.table(
        f"{side} x {side}, {counts[0]} stars, {counts[1]} waves: largest errors, atoms of the first draw", headers, rows
    )
    _large(options, report, records)
    if options.figure and shown:
        _draw_stars(_chart(options, report, "stars"), **shown)
    report.conclude()


def _pursuit_records(sky: Sky, noise: float, seed: int) -> list[Record]:
    """The peer, told the truth: of its path the penalty with the smallest error counts, and only the path to there is
    charged; once as it comes, once with as many atoms of each part as there are, fitted anew."""
    forward, backward = _synthesis(sky.side), _analysis(sky.side)
    top = max(float(np.abs(sky.b).max()), float(np.abs(backward(sky.b)).max()))
    path = measure.timed(peers.pursuit_path, sky.b, forward, backward, top * PENALTIES)
    if not path.ok:
        return [{"method": "FISTA", "told": "best penalty", "noise": noise, "seed": seed, "note": path.note}]
    scores = [max(sky.errors(u, forward(w)).values()) for u, w in path.value]
    place = int(np.argmin(scores))
    path = measure.timed(peers.pursuit_path, sky.b, forward, backward, top * PENALTIES[: place + 1])
    fit = measure.timed(peers.refitted, sky.b, forward, backward, path.value[-1], sky.counts)
    found = []
    for told, pair, cpu in (
        ("best penalty", path.value[-1], path.cpu),
        ("best penalty, budgets", fit.value, path.cpu + fit.cpu),
    ):
        u, w = pair
        record = {"method": "FISTA", "told": told, "noise": noise, "seed": seed, "note": "", "cpu": cpu}
        atoms = [int(np.count_nonzero(u)), int(np.count_nonzero(w))]
        found.append({**record, "atoms": atoms, **sky.errors(u, forward(w))})
    return found


def _large(options: Options, report: Report, records: list[Record]) -> None:
    if not Path("/proc/self/clear_refs").exists():
        report.remark("No large picture: peak memory is read from /proc, which this system does not have.")
        return
    side, sky, waves = (200, 4000, 1100) if options.quick else LARGE
    rows = []
    for noise in NOISES:
        report.progress(f"{side} x {side}, noise {noise:g}")
        record = measure.in_child(large_child, side, sky, waves, noise, options.first_seed, timeout=options.timeout)
        record = {"method": "fewatoms", "told": "budgets", "noise": noise, "size": side, "note": "", **record}
        rows.append([percent(noise, 0), percent(record.get("stars")), percent(record.get("texture"))])
        rows[-1] += [record.get("cpu"), record.get("vectors"), record["note"]]
        error = 100 * max(record.get("stars", math.nan), record.get("texture", math.nan))
        report.bar(
            f"{side} x {side}, noise {percent(noise, 0)} %: worst error of a part in percent", error, 100 * RECOVERED
        )
        records.append(record)
    headers = ["noise %", "stars %", "texture %", "CPU s", "memory in vectors", ""]
    report.table(f"{side} x {side}, {sky} stars, {waves} waves, told the budgets", headers, rows)


# The paper's experiment

ASKED = 1e-3  # the misfit asked of the paper's algorithm


def paper_fit(X: Vector, budgets: tuple[int, int], gauges: tuple[float, float], seconds: float, **wishes: Any) -> Any:
    """The paper's algorithm on the sum of the two sets, each scaled by its gauge at the answer."""
    atoms = gauges[0] * fa.RankOne(*X.shape) + gauges[1] * fa.SignedOneHot(X.shape)
    asked = {"k": budgets, "misfit": ASKED, "oracle": fa.LevelSet(), "retrieval": fa.paper_rule()}
    return traced(
        X, seconds, lambda look: fa.fit(fa.Identity(X.shape), X, atoms=atoms, callback=look, **asked, **wishes)
    )


def traced(X: Vector, seconds: float, run: Callable[[Callable[[Any], None]], Any]) -> tuple[Any, list[Record]]:
    """A fit with the residual of every iterate, for about so many seconds."""
    size, began, trace = np.linalg.norm(X), time.process_time(), []

    def look(progress: Any) -> None:
        spent = time.process_time() - began
        residuals = {"own": progress.candidate_loss, "best": progress.loss}
        trace.append({"cpu": spent, **{f: math.sqrt(2 * loss) / size for f, loss in residuals.items()}})
        if spent > seconds:
            raise StopIteration

    return run(look), trace


def paper_methods(
    X: Vector, budgets: tuple[int, int], gauges: tuple[float, float], seconds: float, steps: int
) -> dict[str, Callable[[], Any]]:
    """The paper's algorithm told the gauges, the same with the weight of principal component pursuit, and ourselves."""
    usual = (1.0, math.sqrt(max(X.shape)))
    return {
        "paper, told the gauges": lambda: paper_fit(X, budgets, gauges, seconds, max_iterations=steps),
        "paper, usual weight": lambda: paper_fit(X, budgets, usual, seconds, max_iterations=steps),
        "fewatoms": lambda: traced(X, seconds, lambda look: budgeted(X, *budgets, callback=look)),
    }


def paper_record(name: str, outcome: Outcome) -> Record:
    if not outcome.ok:
        return {"method": name, "note": outcome.note}
    solution, trace = outcome.value
    status = solution.status.name.lower().replace("_", " ")
    record = {"method": name, "note": "", "cpu": outcome.cpu, "iterations": solution.iterations, "status": status}
    return record | {"residual": solution.misfit, "trace": trace}


def gauges_of(L: Vector, S: Vector) -> tuple[float, float]:
    return float(np.linalg.svd(L, compute_uv=False).sum()), float(np.abs(S).sum())


def paper_faces_child(file: str, quick: bool, rank: int, share: float, name: str, seconds: float, steps: int) -> Record:
    """The faces by one method; told the gauges of our answer with the same budgets, as nobody knows the true ones."""
    warm_up()
    X, _ = face_matrix(Path(file), quick)
    budgets = rank, round(share * X.size)
    gauges = gauges_of(*pair_of(budgeted(X, *budgets)))
    return paper_record(name, measure.timed(paper_methods(X, budgets, gauges, seconds, steps)[name]))


def paper(options: Options, report: Report) -> None:
    p, q, rank = (80, 50, 2) if options.quick else (200, 100, 3)
    share, steps = 0.05, 100 if options.quick else options.steps
    title = "The paper's robust PCA: its algorithm on the sum of the sets, and ours, told the budgets"
    records = report.section("paper", title)
    report.remark(
        "An iteration of the paper's algorithm is one step; of ours, ten, the first with a ladder before them."
    )
    warm_up()
    for seed in seeds(options):
        data = datasets.low_rank_plus_sparse(p, q, rank, corrupted=share, rng=seed)
        L, S = data.low_rank_left @ data.low_rank_right.T, data.sparse.toarray()
        budgets = rank, int(np.count_nonzero(S))
        for name, run in paper_methods(data.X, budgets, gauges_of(L, S), options.timeout, steps).items():
            report.progress(f"planted, seed {seed}, {name}")
            outcome = measure.timed(run)
            record = {"problem": "planted", "seed": seed, **paper_record(name, outcome)}
            if outcome.ok:
                low, sparse = pair_of(outcome.value[0])
                record |= {"low": relative(low - L, L), "sparse": relative(sparse - S, S)}
            records.append(record)
    _paper_report(report, records, "planted", f"planted, {p} x {q}, rank {rank}, {percent(share, 0)} % of the entries")
    file = data_file(options, options.faces, lambda why: report.remark(f"No faces: {why}"))
    if file is not None:
        X, _ = face_matrix(file, options.quick)
        for name in paper_methods(X, (1, 1), (1.0, 1.0), 0.0, 1):
            report.progress(f"faces, {name}")
            task = (str(file), options.quick, options.rank, options.share, name, options.seconds, steps)
            record = measure.in_child(paper_faces_child, *task, timeout=3 * options.timeout)
            records.append({"problem": "faces", "method": name, "note": "", **record})
        title = f"faces, {X.shape[0]} x {X.shape[1]}, rank {options.rank}, {percent(options.share, 0)} % of the entries"
        _paper_report(report, records, "faces", f"{title}; at most {options.seconds:g} s each")
    if options.figure:
        _draw_paper(_chart(options, report, "paper"), records)
    report.conclude()


def _paper_report(report: Report, records: Sequence[Record], problem: str, title: str) -> None:
    names = list(dict.fromkeys(r["method"] for r in measure.where(records, problem=problem)))
    middle = {
        n: {
            f: median(records, f, problem=problem, method=n) for f in ("iterations", "residual", "low", "sparse", "cpu")
        }
        for n in names
    }
    rows = []
    for n in names:
        found = measure.where(records, problem=problem, method=n)
        ends = ", ".join(sorted({r["status"] for r in found if "status" in r}))
        rows.append([n, *middle[n].values(), ends, note(records, problem=problem, method=n)])
    headers = ["method", "iterations", "residual", "error of L", "error of S", "CPU s", "ended by", ""]
    report.table(title, headers, rows)
    told = "paper, told the gauges"
    mine, theirs = middle["fewatoms"], middle[told]
    fields = ("residual", "iterations", "cpu") if problem == "faces" else tuple(mine)
    for field in fields:
        # Without noise both may be exact: what is rounding is not compared.
        least = 1e-9 if field in ("residual", "low", "sparse") else 0.0
        label = {"low": "error of L", "sparse": "error of S", "cpu": "CPU seconds"}.get(field, field)
        report.bar(f"{problem}: {label}, at most the paper's, told the gauges", mine[field], max(theirs[field], least))


# Figures


@dataclass(frozen=True)
class Chart:
    file: Path
    plt: Any

    def save(self, chart: Any) -> None:
        chart.savefig(self.file, dpi=150)
        self.plt.close(chart)


def _chart(options: Options, report: Report, name: str) -> Chart:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder = Path(options.figure)
    folder.mkdir(parents=True, exist_ok=True)
    report.say(f"Drawn in {folder / name}.png.")
    return Chart(folder / f"{name}.png", plt)


def _grid(
    chart: Chart, rows: Sequence[tuple[str, Sequence[tuple[Vector, Any, Any]]]], size: tuple[float, float]
) -> Any:
    """Pictures in rows, with the name of each row beside it; every picture with the values that are black and white."""
    width = max(len(pictures) for _, pictures in rows)
    figure, panels = chart.plt.subplots(len(rows), width, figsize=size, squeeze=False, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.0, hspace=0.0)
    for line, (name, pictures) in zip(panels, rows, strict=True):
        for panel, (picture, low, high) in zip(line, pictures, strict=True):
            panel.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
            for spine in panel.spines.values():
                spine.set_visible(False)
        line[0].set_ylabel(name, fontsize=9)
    return figure, panels


def _draw_faces(chart: Chart, X: Vector, shape: tuple[int, int, int], pairs: dict[str, Pair], options: Options) -> None:
    chosen = np.linspace(0, shape[0] - 1, 8).round().astype(int)

    def row(name: str, A: Vector, low: float, high: float) -> tuple[str, list[tuple[Vector, float, float]]]:
        return name, [(A[:, j].reshape(shape[1:]), low, high) for j in chosen]

    rows = [row("original", X, 0.0, 1.0)]
    told = f"rank {options.rank} + {percent(options.share, 0)} %"
    for label, name in ((told, "fewatoms, budgets"), ("pursuit", "fewatoms, pursuit")):
        L, S = pairs[name]
        rows += [row(f"{label}:\nlow rank", L, 0.0, 1.0), row(f"{label}:\nsparse", S, -0.5, 0.5)]
    figure, _ = _grid(chart, rows, (9.6, 6.75))
    chart.save(figure)


def _draw_video(chart: Chart, frames: Vector, truth: Vector, background: Vector, pair: Pair) -> None:
    L, S = pair
    count = len(frames)
    # The frames with the most foreground of each third: an empty hall shows nothing.
    busy = np.abs(S).sum(axis=0)
    chosen = [int(t[np.argmax(busy[t])]) for t in np.array_split(np.arange(count), 3)]
    last = [(background, 0, 255), (truth, 0, 255), (4 * (background - truth), -128, 128)]
    rows = [
        ("frame", [(frames[j], 0, 255) for j in chosen]),
        ("low rank", [(L[:, j].reshape(truth.shape), 0, 255) for j in chosen]),
        ("sparse", [(S[:, j].reshape(truth.shape), -128, 128) for j in chosen]),
        ("background", last),
    ]
    figure, panels = _grid(chart, rows, (7.8, 7.2))
    for panel, j in zip(panels[0], chosen, strict=True):
        panel.set_title(f"frame {j}", fontsize=9)
    for panel, name in zip(panels[-1], ("ours", "true", "four times the difference"), strict=True):
        panel.set_title(name, fontsize=9)
    chart.save(figure)


def _draw_stars(chart: Chart, sky: Sky, stars: Vector, texture: Vector) -> None:
    square, cut = (sky.side, sky.side), slice(0, min(sky.side, 128))

    def row(name: str, *pictures: Vector) -> tuple[str, list[tuple[Vector, float, float]]]:
        shown = [p.reshape(square)[cut, cut] for p in pictures]
        limits = ((-1.5, 2.0), (0.0, 2.0), (-1.5, 1.5))
        return name, [(p, *limit) for p, limit in zip(shown, limits, strict=True)]

    rows = [row("truth", sky.b, sky.stars, sky.texture), row("found, told nothing", stars + texture, stars, texture)]
    figure, panels = _grid(chart, rows, (9.0, 6.3))
    for panel, name in zip(panels[0], ("data; below, sum of the parts", "stars", "texture"), strict=True):
        panel.set_title(name, fontsize=9)
    chart.save(figure)


def _draw_paper(chart: Chart, records: Sequence[Record]) -> None:
    looks: dict[str, dict[str, Any]] = {
        "paper, told the gauges": {"color": "#c55a11", "label": "the paper's algorithm, told the gauges"},
        "paper, usual weight": {"color": "0.6", "label": "the paper's algorithm, usual weight"},
        "fewatoms": {"color": "#1f4e79", "label": "fewatoms, told the budgets", "marker": "o", "markersize": 3.5},
    }
    problems = list(dict.fromkeys(r["problem"] for r in records if "trace" in r))
    figure, panels = chart.plt.subplots(
        len(problems), 2, figsize=(10, 3.6 * len(problems)), squeeze=False, layout="constrained", sharey="row"
    )
    for line, problem in zip(panels, problems, strict=True):
        for name, look in looks.items():
            trace = next((r["trace"] for r in measure.where(records, problem=problem, method=name) if "trace" in r), [])
            # Rounding is drawn at one height: how far below it lies says nothing.
            residuals = [max(t["best"], 1e-15) for t in trace]
            line[0].plot(range(1, len(trace) + 1), residuals, **look)
            line[1].plot([t["cpu"] for t in trace], residuals, **look)
        for panel, what in zip(line, ("iteration", "CPU seconds"), strict=True):
            heights = [y for curve in panel.lines for y in curve.get_ydata()]
            scale = "log" if max(heights) > 10 * min(heights) else "linear"  # ticks are rare in less than a decade
            panel.set(xscale="log", yscale=scale, xlabel=what, title=problem)
            panel.grid(alpha=0.3)
        line[0].set_ylabel("least residual so far")
    panels[0, 0].legend(frameon=False, fontsize=9)
    chart.save(figure)


# Command line

PARTS: dict[str, Callable[[Options, Report], None]] = {"faces": faces, "video": video, "stars": stars, "paper": paper}


def parser() -> argparse.ArgumentParser:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    p = argparse.ArgumentParser(description="Demixing: fewatoms and its peers on the same problems.")
    p.add_argument("part", choices=[*PARTS, "all"], nargs="*", default="all")
    p.add_argument("--seeds", type=int, default=3, metavar="N", help="how many draws of each problem")
    p.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...")
    p.add_argument("--repeats", type=int, default=3, metavar="N", help="faces: runs of which the middle time counts")
    p.add_argument("--quick", action="store_true", help="smaller sizes: does everything run?")
    p.add_argument("--json", metavar="FILE", help="every number, with versions and machine")
    p.add_argument("--figure", metavar="DIR", help="draw one figure for each part")
    p.add_argument("--data", metavar="DIR", default=os.environ.get("FEWATOMS_DATA", str(beside)), help="real data")
    p.add_argument(
        "--faces", metavar="FILE", default="faces_64_lights.npz", help="with `faces`, one picture for each light"
    )
    p.add_argument("--video", metavar="FILE", default="hall_video.npz", help="with `frames` and `background`")
    p.add_argument("--rank", type=int, default=4, metavar="R", help="faces: of the low-rank part")
    p.add_argument("--share", type=float, default=0.1, metavar="S", help="faces: of the entries, for the sparse part")
    p.add_argument("--side", type=int, default=256, metavar="N", help="stars: of the picture, in pixels")
    p.add_argument("--stars", type=float, default=0.05, metavar="S", help="stars: so many, as a share of the pixels")
    p.add_argument(
        "--waves", type=float, default=0.02, metavar="S", help="stars: so many waves in the texture, likewise"
    )
    p.add_argument("--steps", type=int, default=500, metavar="N", help="paper: iterations of its algorithm")
    p.add_argument("--seconds", type=float, default=60.0, metavar="S", help="paper: CPU seconds for the faces, each")
    p.add_argument("--timeout", type=float, default=120.0, metavar="S", help="wall seconds for one slow method")
    return p


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    report = Report(vars(options), peers.PACKAGES)
    named = [options.part] if isinstance(options.part, str) else options.part
    for name in PARTS if "all" in named else dict.fromkeys(named):
        PARTS[name](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
