"""Very large vectors: a sparse matrix of the size of the memory that others would copy, and a transform of 2^24."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

OURS = Who("fewatoms", "ours.vector")

SIZE = {"m": 2_000_000, "n": 1_000_000, "entries": 50_000_000, "k": 50}
QUICK = {"m": 40_000, "n": 20_000, "entries": 1_000_000, "k": 20}
# beyond the matrix itself, which is held before: 1.5 times it in all
LEAN = (
    Bar("cpu", Limit(3.0), full=True),
    Bar("of_data", Limit(0.5), full=True),
    Bar("exact", Limit(1.0), at_least=True),
)

sparse = Part(
    "giants.sparse",
    "sparse 2,000,000 x 1,000,000 with 5e7 entries, by row and by column, 20 dB: time and memory",
    tuple(
        Case(
            f"{named}, {kind}", "vectors.giant_sparse", {**SIZE, "by": by, "kind": kind}, (OURS,), LEAN,
            quick={**QUICK, "by": by, "kind": kind}, memory=True,
        )
        for by, named in (("csr", "by row"), ("csc", "by column"))
        for kind in ("float64", "float32")
    ),
    draws=1,
)  # fmt: skip

FEW = (Bar("products", Limit(60.0)), Bar("share", Limit(0.95), at_least=True))

transform = Part(
    "giants.transform",
    "2^20 cosines out of 2^24, k = 50, no bound: products",
    tuple(
        Case(
            f"{coefficients}, {'20 dB' if noise else 'clean'}", "vectors.dct",
            {"n": 2**24, "k": 50, "coefficients": coefficients, "share": 1 / 16, "noise": noise}, (OURS,), FEW,
            quick={"n": 2**18, "k": 50},
        )
        for coefficients in ("signs", "gaussian")
        for noise in (0.0, 0.1)
    ),
    draws=1,
)  # fmt: skip

PARTS = (sparse, transform)
