"""Matrices in blocks of rows: how often they are gone through, what that costs, and the memory that it takes."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

OURS = Who("fewatoms", "ours_blocks.mapped")
SINGLE = Who("fewatoms, single precision", "ours_blocks.mapped", {"kind": "single"})
WHOLE = Who("fewatoms, in memory", "ours_blocks.mapped", {"in_memory": True})
SAME = 1 + 1e-6  # of misfits, where blocks have the same numbers
NEAR = 1 + 1e-4  # where they are in single precision
NOISE = {"easy": 0.05, "noisy": 0.3}
MOST = {"easy": 8, "noisy": 60}  # passes


def _dense(m: int, n: int, *, quick: dict[str, int] | None, whole: bool) -> tuple[Case, ...]:
    """whole : whether there is room to read all of it as well"""
    size = {"m": m, "n": n, "k": 50}
    same = (
        Bar("misfit", Limit(rival=WHOLE.name, times=SAME)),
        Bar("misfit", Limit(rival=WHOLE.name, times=NEAR), SINGLE.name),
    )
    return tuple(
        Case(
            f"{kind}, {m} x {n}, k=50", "blocks.dense", {**size, "noise": noise, "single": True},
            (OURS, SINGLE, WHOLE) if whole else (OURS,),
            (Bar("passes", Limit(MOST[kind])), Bar("own", Limit(300.0)), *(same if whole else ())), quick=quick,
        )
        for kind, noise in NOISE.items()
    )  # fmt: skip


PASSES = (
    Bar("forward", Limit(1.3), full=True), Bar("adjoint", Limit(1.3), full=True), Bar("survey", Limit(1.5), full=True),
    Bar("single", Limit(0.6), full=True),
)  # fmt: skip
FEW = {"m": 500, "n": 2000, "k": 20}

dense = Part(
    "blocks.dense",
    "a file that is mapped: passes, memory of our own, and the misfit beside the same matrix in memory",
    _dense(1000, 50_000, quick=FEW, whole=True),
    draws=1,
)


def _passes(m: int, n: int, *, quick: dict[str, int] | None) -> Case:
    return Case(
        f"passes, {m} x {n}", "blocks.dense", {"m": m, "n": n, "k": 50, "noise": 0.05, "single": True},
        (Who("fewatoms", "ours_blocks.passes"),), PASSES, quick=quick,
    )  # fmt: skip


passes = Part(
    "blocks.passes",
    "one pass beside a plain sum of the file in chunks, warm cache: CPU seconds of one thread",
    (_passes(1000, 50_000, quick=FEW),),
    draws=3,
)

MADE = (Who("fewatoms", "ours_blocks.made"),)


def _tall(m: int, *, quick: dict[str, int] | None) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"{name}, {m} x 200, k=10", "blocks.tall", {"m": m, "n": 200, "k": 10, "classes": name == "logistic"}, MADE,
            (
                Bar("passes", Limit(passes_)), Bar("own", Limit(memory)), Bar("objective_over", Limit(1.0 + 1e-9)),
                *((Bar("row", Limit(4.0), full=True),) if name == "least squares" else ()),
            ),
            quick=quick,
        )
        for name, passes_, memory in (("least squares", 2, 500.0), ("logistic", 30, 1000.0))
    )  # fmt: skip


tall = Part(
    "blocks.tall",
    "many more rows than columns, made by loaders again for every pass",
    _tall(1_000_000, quick={"m": 20_000, "rows": 5000}),
    draws=1,
)

large = Part(
    "blocks.large",
    "the same with a file of 6.4 GB, and one of half the size in single precision, which are deleted afterwards",
    (_passes(4000, 200_000, quick=None), *_dense(4000, 200_000, quick=None, whole=False)),
    draws=1,
)

millions = Part("blocks.millions", "five million rows", _tall(5_000_000, quick=None), draws=1)

PARTS = (dense, passes, tall, large, millions)
