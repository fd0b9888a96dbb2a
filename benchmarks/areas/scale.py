"""Data larger than memory: entries of matrices in blocks."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

IN_MEMORY = Who("fewatoms", "ours_scale.memory", {"ridge": 1.0})
IN_BLOCKS = Who("fewatoms blocks", "ours_scale.blocks", {"ridge": 1.0})
LIKE_MEMORY = (
    Bar("fit", Limit(rival="fewatoms", times=1.3), who="fewatoms blocks", full=True),
    Bar("over_ideal", Limit(rival="fewatoms", times=1 + 1e-6), who="fewatoms blocks"),
    Bar("anonymous", Limit(rival="fewatoms", times=1 / 3), who="fewatoms blocks", full=True),
    Bar("read", Limit(0.4), who="fewatoms blocks", full=True),
)

entries = Part(
    "scale.entries",
    "Parquet files with text for ids, in blocks on disk, beside the same entries in memory: rank 10, 10 % noise",
    tuple(
        Case(
            name, "matrices.planted", {"p": p, "q": q, "k": k, "count": count}, (IN_MEMORY, IN_BLOCKS), LIKE_MEMORY,
            quick={"p": 4000, "q": 2000, "k": min(k, 10), "count": 800_000}, memory=True,
        )
        for name, p, q, k, count in (
            ("rank 10", 100_000, 20_000, 10, 20_000_000), ("rank 50", 30_000, 10_000, 50, 20_000_000),
        )
    ),
    draws=1,
    remarks=("The planted values need double precision: 12 bytes an entry and order; ratings take 8.",),
)  # fmt: skip

PARTS = (entries,)
