"""Phase retrieval: ourselves, truncated Wirtinger flow and PhaseLift, on the same problems.

    python benchmarks/phase.py [gaussian|coded|image|noise|rates|lift|all] [--seeds N] [--json FILE] [--figure FILE]

Errors are |x - x_0| / |x_0| after the best phase (sign, if all is real). CPU seconds and the growth of memory are those
of one fit in a process of its own.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import measure

os.environ.update(measure.THREADS)  # before NumPy is loaded; child processes inherit it

import numpy as np
from measure import Record, Report, median, note, values
from numpy.typing import NDArray

import fewatoms as fa
from fewatoms import phase
from fewatoms.operators import CodedDiffraction

Options = argparse.Namespace
Vector = NDArray[Any]
PACKAGES = ("fewatoms", "numpy", "scipy", "cvxpy", "scs")


# Problems


def gaussian(n: int, m: int, cplx: bool, seed: int) -> tuple[Vector, Vector]:
    """A and x with entries of variance 1."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Vector:
        real = rng.standard_normal(shape)
        return (real + 1j * rng.standard_normal(shape)) / math.sqrt(2) if cplx else real

    return draw(m, n), draw(n)


def with_noise(b: Vector, level: float, seed: int) -> Vector:
    e = np.random.default_rng(10_000 + seed).standard_normal(b.size)
    return b + level * np.linalg.norm(b) * e / np.linalg.norm(e)


def picture(side: int) -> Vector:
    """A picture of a few smooth and sharp things, values from 0 to 1: sky, hills, a sun, a house, a fence."""
    v, u = np.mgrid[0:side, 0:side] / side
    image = 0.35 + 0.3 * (1 - v)
    image[(u - 0.75) ** 2 + (v - 0.22) ** 2 < 0.011] = 1.0
    for height, tone in ((0.55, 0.55), (0.68, 0.4)):
        ridge = height + 0.06 * np.sin(9 * u + 20 * height) + 0.03 * np.sin(23 * u)
        image = np.where(v > ridge, tone + 0.1 * np.sin(40 * u) * np.sin(35 * v), image)
    image[(np.abs(u - 0.3) < 0.12) & (np.abs(v - 0.68) < 0.12)] = 0.85
    image[(v < 0.56) & (v > 0.42 + 0.9 * np.abs(u - 0.3)) & (np.abs(u - 0.3) < 0.16)] = 0.2
    image[(np.abs(u - 0.27) < 0.03) & (np.abs(v - 0.74) < 0.06)] = 0.1
    image[(v > 0.86) & (v < 0.95) & ((u * 24) % 1 < 0.4)] = 0.95
    return np.clip(image, 0.0, 1.0)


# Methods


def ours(A: Any, b: Vector) -> Vector:
    return fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(A.shape[1]), k=1).left[:, 0]


def truncated_wirtinger_flow(A: Any, b: Vector, *, steps: int = 500, power: int = 50, mu: float = 0.2) -> Vector:
    """Chen and Candes, "Solving random quadratic systems of equations is nearly as easy as solving linear systems",
    Comm. Pure Appl. Math. 70 (2017), Algorithm 1, with their constants: 3 for the start, 0.3, 5 and 5 for the steps.

    Rows are brought to length sqrt(n), as the algorithm assumes.
    """
    m, n = A.shape
    squares = A.row_squares() if isinstance(A, CodedDiffraction) else (np.abs(A) ** 2).sum(axis=1)
    unit = np.sqrt(n / squares)
    b = b * unit**2
    adjoint = A.H if isinstance(A, CodedDiffraction) else A.conj().T
    rng = np.random.default_rng(0)
    z = rng.standard_normal(n) + (1j * rng.standard_normal(n) if A.dtype.kind == "c" else 0.0)
    scale = math.sqrt(max(float(b.mean()), 0.0))
    kept = np.where(np.abs(b) <= 9 * scale**2, b, 0.0)
    for _ in range(power):
        z = adjoint @ (unit * (kept * (unit * (A @ z))))
        z = z / np.linalg.norm(z)
    z = scale * z
    for _ in range(steps):
        w = unit * (A @ z)
        size, length = np.abs(w), float(np.linalg.norm(z))
        off = size**2 - b
        moderate = (size >= 0.3 * length) & (size <= 5 * length)
        moderate &= np.abs(off) <= 5 * float(np.abs(off).mean()) * size / length
        step = np.divide(off * w, size**2, out=np.zeros_like(w), where=moderate)
        z = z - mu * (2 / m) * (adjoint @ (unit * step))
    return z


def phase_lift(A: Vector, b: Vector, alpha: float) -> tuple[Vector, float]:
    """The matrix of least trace with a loss of at most alpha, and its trace, by SCS."""
    import cvxpy as cp

    n, cplx = A.shape[1], A.dtype.kind == "c"
    X = cp.Variable((n, n), hermitian=True) if cplx else cp.Variable((n, n), symmetric=True)
    image, trace = cp.sum(cp.multiply(A @ X, A.conj()), axis=1), cp.trace(X)
    if cplx:
        image, trace = cp.real(image), cp.real(trace)
    problem = cp.Problem(cp.Minimize(trace), [X >> 0, cp.norm(b - image) <= math.sqrt(2 * alpha)])
    problem.solve(solver=cp.SCS, eps=1e-7, max_iters=50_000)
    return X.value, float(problem.value)


METHODS: dict[str, Callable[[Any, Vector], Vector]] = {"fewatoms": ours, "TWF": truncated_wirtinger_flow}


def measured(method: str, A: Any, x: Vector, b: Vector) -> tuple[Record, Vector | None]:
    """One fit, in this process, after a small one that imports what is needed."""
    small, signal = gaussian(8, 64, False, 0)
    METHODS[method](small, np.abs(small @ signal) ** 2)
    with measure.peak_memory() as peak:
        outcome = measure.timed(METHODS[method], A, b)
    if not outcome.ok:
        return {"note": outcome.note}, None
    error = phase.relative_error(outcome.value, x)
    return {"error": error, "cpu": outcome.cpu, "mb": peak.extra / 1e6, "note": ""}, outcome.value


def seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


# Gaussian rows

BARS = {256: (1e-6, 1.0, 200.0), 1000: (1e-6, 3.0, math.inf)}  # error, CPU seconds, MB


def gaussian_child(n: int, cplx: bool, seed: int, method: str) -> Record:
    A, x = gaussian(n, 6 * n, cplx, seed)
    return measured(method, A, x, np.abs(A @ x) ** 2)[0]


def gaussian_part(options: Options, report: Report) -> None:
    records = report.section("gaussian", "Gaussian rows, m = 6n, no noise")
    for n, cplx in ((256, False), (1000, False), (256, True)):
        for seed in seeds(options):
            for method in METHODS:
                report.progress(f"n = {n}, seed {seed}, {method}")
                found = measure.in_child(gaussian_child, n, cplx, seed, method, timeout=options.timeout)
                records.append({"n": n, "complex": cplx, "seed": seed, "method": method, **found})
    rows = []
    for n, cplx in ((256, False), (1000, False), (256, True)):
        for method in METHODS:
            which = {"n": n, "complex": cplx, "method": method}
            worst = max(values(records, "error", **which), default=math.nan)
            cells = [worst, median(records, "cpu", **which), median(records, "mb", **which), note(records, **which)]
            rows.append([n, "complex" if cplx else "real", method, *cells])
    report.table("", ["n", "", "method", "largest error", "CPU s", "MB", ""], rows)
    for n, (error, cpu, memory) in BARS.items():
        which = {"n": n, "complex": False, "method": "fewatoms"}
        report.bar(f"error, real n = {n}", max(values(records, "error", **which), default=math.nan), error)
        report.bar(f"CPU seconds, real n = {n}", median(records, "cpu", **which), cpu)
        if math.isfinite(memory):
            report.bar(f"MB, real n = {n}", max(values(records, "mb", **which), default=math.nan), memory)
    report.conclude()


# Coded diffraction

PATTERNS = 10


def coded_child(n: int, patterns: int, seed: int, method: str) -> Record:
    _, x = gaussian(n, 1, True, seed)
    A = CodedDiffraction.random(n, patterns, rng=seed)
    return measured(method, A, x, np.abs(A @ x) ** 2)[0]


def coded_part(options: Options, report: Report) -> None:
    records = report.section("coded", "Coded diffraction, complex, n = 1024, octanary masks")
    for patterns in (4, 6, PATTERNS):
        for seed in seeds(options):
            for method in METHODS:
                report.progress(f"{patterns} patterns, seed {seed}, {method}")
                found = measure.in_child(coded_child, 1024, patterns, seed, method, timeout=options.timeout)
                records.append({"patterns": patterns, "seed": seed, "method": method, **found})
    rows = []
    for patterns in (4, 6, PATTERNS):
        for method in METHODS:
            which = {"patterns": patterns, "method": method}
            worst = max(values(records, "error", **which), default=math.nan)
            rows.append([patterns, method, worst, median(records, "cpu", **which), median(records, "mb", **which)])
    report.table("", ["patterns", "method", "largest error", "CPU s", "MB"], rows)
    which = {"patterns": PATTERNS, "method": "fewatoms"}
    report.bar(f"error, {PATTERNS} patterns", max(values(records, "error", **which), default=math.nan), 1e-5)
    report.conclude()


SIDE = 128


def image_child(side: int, level: float, method: str) -> Record:
    image = picture(side)
    x = image.ravel()
    A = CodedDiffraction.random((side, side), PATTERNS, rng=0)
    b = np.abs(A @ x) ** 2
    record, found = measured(method, A, x, with_noise(b, level, 0) if level else b)
    if found is not None:
        record["recovered"] = phase.align(found, x).real.reshape(side, side)
    return record


def image_part(options: Options, report: Report) -> None:
    records = report.section("image", f"A picture of {SIDE} x {SIDE} pixels, {PATTERNS} coded diffraction patterns")
    shown = {}
    for level in (0.0, 0.01):
        for method in METHODS:
            report.progress(f"noise {level}, {method}")
            found = measure.in_child(image_child, SIDE, level, method, timeout=options.timeout)
            shown[level, method] = found.pop("recovered", None)
            records.append({"noise": level, "method": method, "note": "", **found})
    rows = [[r["noise"], r["method"], *(r.get(f) for f in ("error", "cpu", "mb")), r["note"]] for r in records]
    report.table("", ["noise", "method", "error", "CPU s", "MB", ""], rows)
    which = {"noise": 0.0, "method": "fewatoms"}
    report.bar("error", median(records, "error", **which), 1e-3)
    # a complex matrix of n x n would take 4295 MB
    report.bar("MB", median(records, "mb", **which), 500.0)
    noisy = {name: median(records, "error", noise=0.01, method=name) for name in METHODS}
    report.bar("error with noise, over that of TWF", noisy["fewatoms"] / noisy["TWF"], 1.0)
    if options.figure and shown[0.0, "fewatoms"] is not None:
        _draw(options.figure, picture(SIDE), {level: shown[level, "fewatoms"] for level in (0.0, 0.01)})
        report.say(f"Drawn to {options.figure}.")
    report.conclude()


def _draw(file: str, image: Vector, recovered: dict[float, Vector]) -> None:
    """The picture, what was recovered without and with noise, and the logarithms of the errors below."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
    panels[0, 0].imshow(image, cmap="gray", vmin=0, vmax=1)
    panels[0, 0].set_title(f"original, {image.shape[0]} x {image.shape[1]}")
    panels[1, 0].axis("off")
    for j, (level, found) in enumerate(recovered.items(), start=1):
        error = np.linalg.norm(found - image) / np.linalg.norm(image)
        panels[0, j].imshow(found, cmap="gray", vmin=0, vmax=1)
        panels[0, j].set_title(f"recovered, noise {100 * level:g} %: error {error:.0e}")
        logs = np.log10(np.abs(found - image) + 1e-17)
        drawn = panels[1, j].imshow(logs, cmap="magma")
        panels[1, j].set_title("log10 of the error")
        fig.colorbar(drawn, ax=panels[1, j], shrink=0.85)
    for panel in panels.flat:
        panel.set_xticks([])
        panel.set_yticks([])
    fig.savefig(file, dpi=120)
    plt.close(fig)


# Noise

NOISE = 0.01


def noise_part(options: Options, report: Report) -> None:
    records = report.section("noise", f"Noise of {100 * NOISE:g} % of |b|, Gaussian rows")
    cases = [(n, cplx, ratio) for n in (64, 256) for cplx in (False, True) for ratio in (6, 10)]
    for n, cplx, ratio in cases:
        for seed in range(options.first_seed, options.first_seed + max(5, options.seeds)):
            A, x = gaussian(n, ratio * n, cplx, seed)
            b = with_noise(np.abs(A @ x) ** 2, NOISE, seed)
            for method, solve in METHODS.items():
                report.progress(f"n = {n}, m = {ratio}n, seed {seed}, {method}")
                done = measure.timed(solve, A, b)
                error = phase.relative_error(done.value, x) if done.ok else None
                case = {"n": n, "complex": cplx, "ratio": ratio, "seed": seed, "method": method}
                records.append({**case, "error": error, "cpu": done.cpu, "note": done.note})
    rows = []
    for n, cplx, ratio in cases:
        which = {"n": n, "complex": cplx, "ratio": ratio}
        mine, theirs = (np.array(values(records, "error", **which, method=name)) for name in METHODS)
        worst = float((mine / theirs).max()) if mine.size == theirs.size else math.nan
        times = [median(records, "cpu", **which, method=name) for name in METHODS]
        rows.append([n, "complex" if cplx else "real", f"{ratio}n", np.median(mine), np.median(theirs), worst, *times])
        report.bar(f"largest ratio of errors, {'complex' if cplx else 'real'} n = {n}, m = {ratio}n", worst, 1.0)
    headers = ["n", "", "m", "fewatoms", "TWF", "largest ratio", "CPU s", "TWF CPU s"]
    report.table("Medians of errors", headers, rows)
    report.conclude()


# Success rates

RECOVERED = 1e-5


def hard_case(kind: str, n: int, ratio: float, cplx: bool, seed: int) -> tuple[Vector, Vector]:
    A, x = gaussian(n, round(ratio * n), cplx, seed)
    rng = np.random.default_rng(20_000 + seed)
    if kind == "Cauchy rows":
        A = A * rng.standard_cauchy(len(A))[:, None]
    elif kind == "one huge row":
        A[rng.integers(len(A))] *= 1e6
    elif kind == "sparse rows":
        A = A * (rng.random(A.shape) < 0.2)
    elif kind == "sparse signal":
        x = x * (rng.permutation(n) < 3)
    return A, x


def rates_part(options: Options, report: Report) -> None:
    count, n = max(20, options.seeds), 48
    records = report.section("rates", f"How often x is found without noise: n = {n}, {count} draws")
    cases: list[tuple[str, float]] = [("Gaussian", r) for r in (2, 2.5, 3, 4, 6, 10)]
    cases += [(kind, 6) for kind in ("Cauchy rows", "one huge row", "sparse rows", "sparse signal")]
    rows = []
    for kind, ratio in cases:
        for cplx in (False, True):
            if cplx and ratio < 3:
                continue
            found = {}
            for method, solve in METHODS.items():
                hits = []
                for seed in range(options.first_seed, options.first_seed + count):
                    report.progress(f"{kind}, m = {ratio}n, seed {seed}, {method}")
                    A, x = hard_case(kind, n, ratio, cplx, seed)
                    done = measure.timed(solve, A, np.abs(A @ x) ** 2)
                    error = phase.relative_error(done.value, x) if done.ok and np.isfinite(done.value).all() else None
                    hits.append(error is not None and error <= RECOVERED)
                    case = {"kind": kind, "ratio": ratio, "complex": cplx, "seed": seed, "method": method}
                    records.append({**case, "error": error, "cpu": done.cpu, "note": done.note})
                found[method] = float(np.mean(hits))
            which = {"kind": kind, "ratio": ratio, "complex": cplx, "method": "fewatoms"}
            rows.append(
                [kind, f"{ratio:g}n", "complex" if cplx else "real", *found.values(), median(records, "cpu", **which)]
            )
            if ratio >= 3:
                label = f"{kind}, {'complex' if cplx else 'real'}, m = {ratio:g}n"
                report.bar(f"rate, {label}", found["fewatoms"], max(0.95, found["TWF"]), at_least=True)
    report.table("", ["rows", "m", "", "fewatoms", "TWF", "CPU s"], rows)
    report.conclude()


# PhaseLift


def lift_part(options: Options, report: Report) -> None:
    n = 24
    records = report.section("lift", f"PhaseLift by SCS: least trace with the same bound, n = {n}, m = 6n")
    rows = []
    for cplx in (False, True):
        for level, misfit in ((0.0, 1e-4), (0.01, 0.0105)):
            for seed in seeds(options):
                A, x = gaussian(n, 6 * n, cplx, seed)
                A = A / math.sqrt(n)
                b = with_noise(np.abs(A @ x) ** 2, level, seed)
                s = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(n), k=1, misfit=misfit)
                lifted = measure.timed(phase_lift, A, b, 0.5 * misfit**2 * float(b @ b))
                case = {"complex": cplx, "noise": level, "seed": seed, "method": "SCS", "note": lifted.note}
                if lifted.ok:
                    X, trace = lifted.value
                    case["apart"] = float(np.linalg.norm(s.x - X) / np.linalg.norm(X))
                    case["over"] = float(s.coefficients.sum() / trace - 1)
                    # what is proven of the relaxation must hold for what SCS found, up to its tolerance
                    case["proof"] = float((s.certificate.primal - s.certificate.gap) / trace - 1)
                records.append(case)
            which = {"complex": cplx, "noise": level}
            cells = [max(values(records, f, **which), default=math.nan) for f in ("apart", "over", "proof")]
            rows.append(["complex" if cplx else "real", level, *cells])
            label = f"{'complex' if cplx else 'real'}, noise {level:g}"
            report.bar(f"proven bound over SCS's trace, less 1: {label}", cells[2], 1e-3)
            if not level:
                report.bar(f"distance between the matrices: {label}", cells[0], 1e-2)
    report.table("Largest", ["", "noise", "distance", "our trace over its, less 1", "proven over its, less 1"], rows)
    report.conclude()


# Command line

PARTS: dict[str, Callable[[Options, Report], None]] = {
    "gaussian": gaussian_part,
    "coded": coded_part,
    "image": image_part,
    "noise": noise_part,
    "rates": rates_part,
    "lift": lift_part,
}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description="Phase retrieval: fewatoms and its peers on the same problems.")
    p.add_argument("part", choices=[*PARTS, "all"], nargs="?", default="all")
    p.add_argument("--seeds", type=int, default=3, metavar="N", help="how many draws of each problem")
    p.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...")
    p.add_argument("--json", metavar="FILE", help="every number, with versions and machine")
    p.add_argument("--timeout", type=float, default=300.0, metavar="S", help="wall seconds for one fit")
    p.add_argument("--figure", metavar="FILE", help="image: draw it")
    return p


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    report = Report(vars(options), PACKAGES)
    for name in PARTS if options.part == "all" else [options.part]:
        PARTS[name](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
