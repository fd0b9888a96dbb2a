"""Vectors that people fit every day: small ones, thousands of them, groups, nonnegative ones, a picture with holes."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Each, Limit, Part, Who

SLACK = 1 + 1e-9

# Latency: rows, columns, k; milliseconds for easy data and for hard ones

SMALL = {
    (50, 20, 3): (1.0, 2.0),
    (100, 50, 5): (1.5, 3.0),
    (442, 64, 10): (2.0, 4.0),
    (200, 1000, 10): (5.0, 8.0),
    (1000, 100, 10): (2.0, 4.0),
}
KINDS = {
    "easy": {"coefficients": "signs", "noise": 0.05},
    "between": {"coefficients": "sizes", "noise": 0.3},
    "hard": {"coefficients": "gaussian", "noise": 0.3},
}
ROUNDING = 0.5e-9  # relative, of a misfit: a loss is its square

OURS = Who("fewatoms", "ours.vector")
FAST = (
    Who("abess path", "abess.path"),
    Who("fastsparsegams", "fastsparsegams.subsets"),
    Who("OMP", "sklearn.omp"),
    Who("adelie, 20 points", "adelie.lasso", {"points": 20}),
)

latency = Part(
    "everyday.latency",
    "200 small fits one by one: the middle time, and the loss of every single one",
    tuple(
        Case(
            f"{kind}, {m} x {n}, k={k}", "vectors.table", {"m": m, "n": n, "k": k, **drawn}, (OURS, *FAST),
            (Bar("cpu", Limit(1e-3 * SMALL[m, n, k][kind != "easy"])),),
            fits=(200, 15),
            each=(Each("misfit", "abess path|fastsparsegams|OMP", most=ROUNDING),),
            quick={} if kind != "between" else None,
        )
        for kind, drawn in KINDS.items()
        for m, n, k in SMALL
    ),
    draws=1,
    remarks=(
        "easy: signs and 5 % noise; between: signs times 1 to 2, 30 % noise; hard: Gaussian coefficients, 30 % noise.",
    ),
)  # fmt: skip

start = Part(
    "everyday.start",
    "the first fit of a fresh process, beyond the import, with compiled loops on disk and without",
    tuple(
        Case(
            f"{m} x {n}, k={k}, compiled loops: {cache}", "starts.start", {"size": (m, n, k), "cache": cache},
            (Who("fewatoms", "ours.first_fit"),), (Bar("first_cpu", Limit(0.15)), Bar("first", Limit(0.15))),
        )
        for m, n, k in ((100, 50, 5), (200, 1000, 10))
        for cache in ("kept", "empty", "none")
    ),
    draws=5,
)  # fmt: skip

# Many signals

SIGNALS = Who("fewatoms", "ours_everyday.signals")
THOROUGH = Who("fewatoms, thorough", "ours_everyday.signals", {"effort": "thorough"})
BEFORE = 0.0485  # the mean misfit on cosines before there was a loop for many signals, at 24 ms each
COSINES = (SIGNALS, THOROUGH, Who("spams OMP", "spams.omp"), Who("truth", "columns.truth"))

signals = Part(
    "everyday.signals",
    "10,000 signals over one dictionary: time a signal, misfit, true atoms",
    (
        Case(
            "minerals, k=3", "signals.minerals", {"count": 10_000, "k": 3},
            (
                SIGNALS,
                Who("NNLS, best 3 of 8", "columns.nnls_pruned", {"among": 8}),
                Who("NNLS + prune", "columns.nnls_pruned"),
                Who("spams lasso", "spams.lasso"),
                Who("truth", "columns.truth"),
            ),
            (
                Bar("signal", Limit(1500.0)), Bar("over_truth", Limit(1.001)),
                Bar("share", Limit(0.84), at_least=True),
            ),
            quick={"count": 100}, files=("usgs_spectra.npz",),
        ),
        Case(
            "Gaussian, k=5", "signals.gaussian", {"m": 64, "n": 256, "count": 10_000, "k": 5, "noise": 0.05},
            (SIGNALS, Who("spams OMP", "spams.omp"), Who("truth", "columns.truth")),
            (Bar("signal", Limit(50.0)), Bar("misfit", Limit(rival="spams OMP", times=SLACK))), quick={"count": 200},
        ),
        Case(
            "cosines, k=5", "signals.cosines", {"side": 8, "across": 16, "count": 10_000, "k": 5, "noise": 0.05},
            COSINES,
            (
                Bar("signal", Limit(200.0)), Bar("misfit", Limit(1.01 * BEFORE)),
                Bar("signal", Limit(1000.0), THOROUGH.name), Bar("misfit", Limit(BEFORE), THOROUGH.name),
            ),
            quick={"count": 200},
        ),
    ),
    draws=1,
)  # fmt: skip

# Groups and nonnegative coefficients

groups = Part(
    "everyday.groups",
    "200 groups of 5 columns: the misfit of every single fit, and time",
    tuple(
        Case(
            f"correlation {correlation:g}, k={k}", "groups.grouped",
            {"m": 300, "groups": 200, "size": 5, "k": k, "correlation": correlation, "noise": 0.3},
            (
                Who("fewatoms", "ours_everyday.groups"),
                Who("abess", "abess.groups"),
                Who("group OMP", "structured.group_omp"),
                Who("skscope", "structured.skscope"),
            ),
            (Bar("cpu", Limit(rival="abess", times=3.0)),),
            fits=(10, 2), each=(Each("misfit", most=ROUNDING),),
        )
        for correlation in (0.3, 0.7, 0.9)
        for k in (10, 20)
    ),
    draws=1,
)  # fmt: skip

positive = Part(
    "everyday.positive",
    "nonnegative coefficients, 500 x 1000: the misfit of every single fit, and time",
    tuple(
        Case(
            f"{design}, noise {noise:.0%}, k={k}", "groups.positive",
            {"m": 500, "n": 1000, "k": k, "noise": noise, "design": design},
            (
                Who("fewatoms", "ours_everyday.positive"),
                Who("NNLS + prune", "structured.nnls_pruned"),
                Who("LARS positive", "structured.lars_positive"),
            ),
            (
                Bar("cpu", Limit(rival="NNLS + prune", times=3.0)),
                *((Bar("cpu", Limit(rival="LARS positive", times=3.0)),) if design == "gaussian" else ()),
            ),
            fits=(10, 2), each=(Each("misfit", most=ROUNDING),),
        )
        for design in ("gaussian", "positive")
        for noise in (0.05, 0.3)
        for k in (20, 40)
    ),
    draws=1,
)  # fmt: skip

# A picture with holes

SEEN = {"side": 128, "share": 0.4, "k": 1500, "misfit": 0.03}
HOLES = (
    Who("fewatoms", "ours_everyday.picture"),
    Who("spgl1 + refit", "spgl1.interpolation", {"refit": True}),
    Who("spgl1, any k", "spgl1.interpolation"),
)
PICTURE_BARS = (
    Bar("first_call", Limit(1.0)),
    Bar("products", Limit(3000.0)),
    Bar("error", Limit(rival="spgl1 + refit", times=SLACK)),
)
HALF = {"side": 48, "k": 200}

pictures = Part(
    "everyday.pictures",
    "128 x 128 pixels, 40 % of them seen, 1500 cosines: first callback, products, error of the picture",
    (
        Case("drawn", "pictures.drawn", SEEN, HOLES, PICTURE_BARS, quick=HALF),
        *(
            Case(name, "pictures.photograph", {"name": f"{name}.jpg", **SEEN}, HOLES, PICTURE_BARS, quick=HALF)
            for name in ("china", "flower")
        ),
        Case("face", "pictures.face", SEEN, HOLES, PICTURE_BARS, quick=HALF, files=("faces_64_lights.npz",)),
    ),
    draws=1,
)
PARTS = (latency, start, signals, groups, positive, pictures)
