"""Vectors from intensities: Gaussian rows, coded diffraction, a picture, noise, hard draws, PhaseLift."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

OURS = Who("fewatoms", "ours.phases")
TWF = Who("TWF", "plain.truncated_wirtinger_flow")
BOTH = (OURS, TWF)
ERROR = Bar("error", Limit(1e-6))


def _real(cplx: bool) -> str:
    return "complex" if cplx else "real"


gaussian = Part(
    "phase.gaussian",
    "Gaussian rows, m = 6n, no noise: error, time, memory",
    (
        Case(
            "real, n = 256", "phase.gaussian", {"n": 256, "ratio": 6, "cplx": False}, BOTH,
            (ERROR, Bar("cpu", Limit(1.0)), Bar("mb", Limit(200.0))), memory=True,
        ),
        Case(
            "real, n = 1000", "phase.gaussian", {"n": 1000, "ratio": 6, "cplx": False}, BOTH,
            (ERROR, Bar("cpu", Limit(3.0))), quick=None, memory=True,
        ),
        Case("complex, n = 256", "phase.gaussian", {"n": 256, "ratio": 6, "cplx": True}, BOTH, (ERROR,), memory=True),
    ),
)  # fmt: skip

coded = Part(
    "phase.coded",
    "coded diffraction patterns of 1024 numbers, complex, octanary masks",
    tuple(
        Case(
            f"{patterns} patterns", "phase.coded", {"n": 1024, "patterns": patterns}, BOTH,
            (Bar("error", Limit(1e-5)),) if patterns == 10 else (), memory=True,
        )
        for patterns in (4, 6, 10)
    ),
)  # fmt: skip

image = Part(
    "phase.image",
    "a picture of 128 x 128 pixels, ten coded diffraction patterns",
    (
        Case(
            "clean", "phase.image", {"side": 128, "patterns": 10, "noise": 0.0}, BOTH,
            # a complex matrix of n x n would take 4295 MB
            (Bar("error", Limit(1e-3)), Bar("mb", Limit(500.0))), quick={"side": 48}, memory=True,
        ),
        Case(
            "noise 1 %", "phase.image", {"side": 128, "patterns": 10, "noise": 0.01}, BOTH,
            (Bar("error", Limit(rival="TWF")),), quick={"side": 48}, memory=True,
        ),
    ),
    draws=1,
    figure="pictures",
)  # fmt: skip

noise = Part(
    "phase.noise",
    "noise of 1 % of |b|, Gaussian rows: no draw with a larger error than TWF's",
    tuple(
        Case(
            f"{_real(cplx)}, n = {n}, m = {ratio}n", "phase.gaussian",
            {"n": n, "ratio": ratio, "cplx": cplx, "noise": 0.01}, BOTH,
            (Bar("error", Limit(rival="TWF"), paired=True),), quick={} if n == 64 or ratio == 6 else None,
        )
        for n in (64, 256)
        for cplx in (False, True)
        for ratio in (6, 10)
    ),
    draws=5,
)  # fmt: skip

HARD = ("Cauchy rows", "one huge row", "sparse rows", "sparse signal")
DRAWS = (*(("Gaussian", r) for r in (2, 2.5, 3, 4, 6, 10)), *((kind, 6) for kind in HARD))


def _rate(kind: str, ratio: float, cplx: bool) -> Case:
    often = (Bar("found", Limit(0.95), at_least=True), Bar("found", Limit(rival="TWF"), at_least=True))
    return Case(
        f"{kind}, {_real(cplx)}, m = {ratio:g}n", "phase.hard", {"kind": kind, "n": 48, "ratio": ratio, "cplx": cplx},
        BOTH, often if ratio >= 3 else (),
    )  # fmt: skip


rates = Part(
    "phase.rates",
    "how often x is found without noise, n = 48; hard draws",
    tuple(_rate(kind, ratio, cplx) for kind, ratio in DRAWS for cplx in (False, True) if not (cplx and ratio < 3)),
    draws=20,
    drawn_quickly=3,
)

lift = Part(
    "phase.lift",
    "PhaseLift by SCS: the least trace with the same bound, n = 24, m = 6n",
    tuple(
        Case(
            f"{_real(cplx)}, noise {level:.0%}", "phase.lift",
            {"n": 24, "ratio": 6, "cplx": cplx, "noise": level, "misfit": misfit},
            (Who("fewatoms", "ours.lifted"), Who("SCS", "cvxpy.phase_lift")),
            (
                # what is proven of the relaxation must hold for what SCS found, up to its tolerance
                Bar("least", Limit(rival="SCS", figure="trace", times=1.001)),
                *(() if level else (Bar("error", Limit(1e-2)), Bar("error", Limit(1e-2), "SCS"))),
            ),
        )
        for cplx in (False, True)
        for level, misfit in ((0.0, 1e-4), (0.01, 0.0105))
    ),
)  # fmt: skip

random = Part(
    "phase.random",
    "5,000 semidefinite problems, n <= 30, determined or not: answers that are not what they say, k + 1 atoms, time",
    (
        Case(
            "all kinds", "semidefinite.drawn", {}, (Who("fewatoms", "ours.semidefinite"),),
            (Bar("crashes", Limit(0)), Bar("wrong", Limit(0)), Bar("lost", Limit(0)), Bar("slowest", Limit(5.0))),
            fits=(5000, 150),
        ),
    ),
    draws=1,
)  # fmt: skip

PARTS = (gaussian, coded, image, noise, rates, lift, random)
