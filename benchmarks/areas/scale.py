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

TWO_THREADS = Who("two threads", "ours_clusters.cluster", {"ridge": 1.0})
TWO_WORKERS = Who("two workers", "ours_clusters.cluster", {"ridge": 1.0, "workers": 2})


def _beside_threads(times: float) -> tuple[Bar, ...]:
    return (
        Bar("fit", Limit(rival=TWO_THREADS.name, times=times), TWO_WORKERS.name, full=True),
        Bar("over_ideal", Limit(rival=TWO_THREADS.name, times=1 + 1e-6), TWO_WORKERS.name),
    )


cluster = Part(
    "scale.cluster",
    "entries in blocks on two workers of Dask on this machine, beside two threads: CPU seconds of all processes",
    tuple(
        Case(
            name, "matrices.planted", {"p": p, "q": q, "k": k, "count": 20_000_000}, (TWO_THREADS, TWO_WORKERS),
            _beside_threads(times), quick={"p": 4000, "q": 2000, "k": min(k, 10), "count": 800_000},
        )
        for name, p, q, k, times in (("rank 10", 100_000, 20_000, 10, 1.6), ("rank 50", 30_000, 10_000, 50, 1.2))
    ),
    draws=1,
    remarks=("Wall seconds stand beside them, and say something where nobody else uses the machine.",),
)  # fmt: skip

UNHARMED = (Bar("right", Limit(1.0), at_least=True), Bar("halted", Limit(10.0), full=True))

killed = Part(
    "scale.killed",
    "fits on two workers during each of which one is killed at a random moment",
    (
        Case(
            "completion", "clusters.entries", {"p": 20_000, "q": 5000, "k": 10, "count": 4_000_000, "kills": 20},
            (Who("fewatoms", "ours_clusters.killed", {"ridge": 1.0}),), UNHARMED,
            quick={"p": 2000, "q": 1000, "k": 5, "count": 200_000, "kills": 2},
        ),
        *(
            Case(
                name, "clusters.rows", {"m": 400_000, "n": 200, "k": 10, "classes": classes, "kills": 20},
                (Who("fewatoms", "ours_clusters.killed_rows"),), UNHARMED, quick={"m": 20_000, "kills": 2},
            )
            for name, classes in (("least squares", False), ("logistic", True))
        ),
    ),
    draws=1,
)  # fmt: skip

OFF = 0.25  # of what is played
NETWORKS = tuple(
    (
        f"{workers} workers, {1e3 * latency:g} ms, {wire / 1e6:g} MB/s",
        {"workers": workers, "latency": latency, "wire": wire},
    )
    for workers in (1, 10, 100)
    for latency, wire in ((1e-4, 1e9), (5e-3, 1e8), (5e-2, 1e7))
)

model = Part(
    "scale.model",
    "what passes cost, measured here; the formula beside whole fits on networks that are played event by event",
    (
        *(
            Case(
                name, "blocks.tall", {"m": 400_000, "n": 200, "k": 10, "classes": False, "rows": 25_000},
                (Who("fewatoms", "ours_model.constants", {"workers": workers}),), quick={"m": 20_000, "rows": 5000},
            )
            for name, workers in (("one thread", 0), ("1 worker", 1), ("2 workers", 2))
        ),
        *(
            Case(
                name, "clusters.three", {"m": 100_000, "count": 1_000_000, **network},
                (Who("fewatoms", "ours_model.played"),),
                tuple(Bar(f"{which}_off", Limit(OFF)) for which in ("tall", "long", "planted")),
                quick={"m": 20_000, "count": 200_000},
            )
            for name, network in NETWORKS
        ),
    ),
    draws=1,
)  # fmt: skip

larger = Part(
    "scale.larger",
    "by that formula, with what one thread does here and what the scheduler takes: 1000 columns, blocks of 128 MB; "
    "entries, 10,000 in each line",
    tuple(
        Case(
            f"{entries:g} on {workers}", "clusters.nothing", {},
            (Who("fewatoms", "ours_model.larger", {"workers": workers, "entries": entries}),),
        )
        for entries in (1e8, 1e9, 1e10)
        for workers in (10, 100, 1000)
    ),
    draws=1,
    remarks=("Extrapolated: 0.5 ms one way and 1 GB/s out of each machine are assumed, the rest is measured here.",),
)  # fmt: skip

PARTS = (entries, cluster, killed, model, larger)
