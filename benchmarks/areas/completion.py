"""Matrices from some of their entries: temperatures, ratings, planted ones, the first fit."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Slope, Who

OURS = Who("fewatoms", "ours.completion")
CITIES, STATIONS = "city_temperatures.npz", "weather_station_years.npz"

# Temperatures: peers that go on for as long as they are told run with more and more sweeps, epochs or iterations until
# they reach the error asked for. Held-out errors lie above the floor even for the best answer to what is shown; 15.0 %
# is for the cities in full.

RANK = 5
HELD_OUT = 0.15
SWEEPS = (2, 3, 4, 5, 6, 8, 10, 15, 30)
NEAR_FLOOR = ("held_out", Limit(rival="floor", figure="known", times=1.05))
FLOOR = Who("floor", "plain.floor")


def _temperatures(enough: tuple[str, Limit]) -> tuple[Who, ...]:
    return (
        FLOOR,
        OURS,
        Who("fewatoms+b", "ours.completion", {"free": "biases"}),
        Who("cmfrec CG", "cmfrec.cmf", {"exact": False}, SWEEPS, enough),
        Who("cmfrec", "cmfrec.cmf", {"exact": True}, SWEEPS, enough),
        Who("cmfrec+b", "cmfrec.cmf", {"exact": True, "plain": False}, SWEEPS, enough),
        Who("pymanopt", "pymanopt.riemannian_cg", settings=(10, 15, 20, 30, 50, 100), enough=enough),
        Who("surprise", "surprise.svd", {"standardise": True}, (10, 20, 30, 60), enough),
        Who("IterativeSVD", "fancyimpute.iterative_svd", settings=(1e-3, 1e-4, 1e-5), enough=enough),
        Who("SoftImpute k", "fancyimpute.soft_impute", {"hard": True}, (1e-2, 1e-3, 1e-4), enough),
        Who("SoftImpute", "fancyimpute.soft_impute", settings=(1e-3,), full=True),
        Who("column means", "sklearn.column_means"),
        Who("KNN columns", "sklearn.nearest", {"columns": True}, slow=True),
        Who("KNN rows", "sklearn.nearest", slow=True),
        Who("IterativeImp", "sklearn.chained_regressions", {"rounds": 2}, slow=True, full=True),
    )


temperatures = Part(
    "completion.temperatures",
    "cities 6940 x 266 and station-years 6798 x 365, half of the known entries, rank 5",
    (
        Case(
            "cities", "matrices.temperatures", {"file": CITIES, "k": RANK, "days": 6940},
            _temperatures(("held_out", Limit(HELD_OUT))),
            (
                Bar("known", Limit(rival="floor", times=1.015)),
                Bar("held_out", Limit(HELD_OUT), full=True),
                Bar("cpu", Limit(rival="*", times=0.5, among=("held_out", HELD_OUT)), full=True),
            ),
            quick={"days": 1388}, files=(CITIES,),
        ),
        Case(
            "stations", "matrices.temperatures", {"file": STATIONS, "k": RANK}, _temperatures(NEAR_FLOOR),
            (Bar("known", Limit(rival="floor", times=1.02)),), quick={"rows": 1500}, files=(STATIONS,),
        ),
    ),
    repeat=3,
    remarks=(
        "Floor: truncated SVD of all known entries, the unknown ones filled in again and again; nothing of ours.",
        "Imputers return what they were given, so they have no error over known entries; +b: biases beside rank 5.",
    ),
)  # fmt: skip

# Error and duality gap along the way: the paper's dual method and rule as our oracle runs them, asked for a misfit
# 1.003 times ours, beside ourselves.

ASKED = Limit(rival="fewatoms", figure="misfit", times=1.003)
WATCHED = Who("fewatoms", "ours.completion_watched", {"seconds": 300.0})

figure = Part(
    "completion.figure",
    "error and duality gap per iterate, the paper's rule and ours",
    tuple(
        Case(
            name, "matrices.temperatures", {"file": file, "k": RANK, **size},
            (
                WATCHED,
                Who(
                    "paper's rule", "ours.completion_watched",
                    {"seconds": 300.0, "method": "level set", "max_iterations": 150, "misfit": ASKED},
                    full=True,
                ),
                FLOOR,
            ),
            (Bar("rise", Limit(0.0)),),
            quick=quick, files=(file,),
        )
        for name, file, size, quick in (
            ("cities", CITIES, {"days": 6940}, {"days": 1388}), ("stations", STATIONS, {}, {"rows": 1500}),
        )
    ),
    draws=1,
    figure="traces",
)  # fmt: skip

# Ratings: ranks and penalties chosen inside by us; given, or the best by the test set, for cmfrec.

FILMS, JOKES = "movielens_100k.npz", "jester.npz"
BIASED = {"free": "biases"}
SURPRISE, MEANS = Who("surprise", "surprise.svd"), Who("means", "plain.means")


def _cmfrec(penalty: float, name: str = "") -> tuple[Who, ...]:
    words = {"plain": False, "penalty": penalty}
    return (
        Who(f"cmfrec{name}", "cmfrec.cmf", words, (30,)),
        Who(f"cmfrec Cholesky{name}", "cmfrec.cmf", {**words, "exact": True}, (30,)),
    )


def _no_worse(*rivals: str) -> tuple[Bar, ...]:
    """Nearly the error of a rival, choices included, in at most its time."""
    return tuple(
        bar
        for rival in rivals
        for bar in (
            Bar("rmse", Limit(rival=rival, plus=0.002)),
            Bar("cpu", Limit(rival=rival, by="rmse")),
        )
    )


ratings = Part(
    "completion.ratings",
    "MovieLens 100k and Jester, nine tenths of the ratings; predictions clipped to the scale",
    (
        Case(
            "MovieLens 100k", "matrices.ratings", {"file": FILMS, "k": 10, "scale": (1.0, 5.0)},
            (
                Who("fewatoms", "ours.completion_chosen", {"ranks": (5, 10), **BIASED}),
                Who("fewatoms k=5", "ours.completion", {"k": 5, **BIASED}),
                Who("fewatoms k=10", "ours.completion", {"k": 10, **BIASED}),
                *_cmfrec(12.0), SURPRISE, MEANS,
            ),
            _no_worse("cmfrec", "cmfrec Cholesky"), files=(FILMS,),
        ),
        Case(
            "Jester", "matrices.ratings", {"file": JOKES, "k": 5, "scale": (-10.0, 10.0)},
            (
                Who("fewatoms", "ours.completion", BIASED),
                *(who for penalty in (1.0, 4.0, 12.0, 40.0) for who in _cmfrec(penalty, f" {penalty:g}")),
                SURPRISE, MEANS,
            ),
            _no_worse("cmfrec [0-9]*", "cmfrec Cholesky *"), quick={"users": 4000}, files=(JOKES,),
        ),
    ),
)  # fmt: skip

# Ratings as catalogues have them, most of them by few rows and of few columns: rank and ridge left to us, beside cmfrec
# with several penalties. And what several ranks cost together, beside the largest of them alone.

MILLION = {"p": 6040, "q": 3706, "count": 1_000_000, "k": 40, "scale": (1.0, 5.0), "step": 1.0}
CATALOGUE = {"p": 3000, "q": 3000, "k": 10}
CHOSEN = Who("fewatoms", "ours.completion_ranked", {"biases": True})
TUNED = tuple(who for penalty in (4.0, 12.0, 40.0) for who in _cmfrec(penalty, f" {penalty:g}"))
NO_WORSE = Bar("rmse", Limit(rival="cmfrec *", plus=0.002))

ranks = Part(
    "completion.ranks",
    "ratings with most rows short: rank and ridge chosen inside; ranks 5, 10, 20, 40 together beside 40 alone",
    (
        Case(
            "23,556 ratings", "matrices.rated", {**CATALOGUE, "count": 23_556, "scale": (0.5, 5.0), "step": 0.5},
            (CHOSEN, *TUNED, MEANS), (NO_WORSE,),
        ),
        Case(
            "123,202 ratings", "matrices.rated", {**CATALOGUE, "count": 123_202, "scale": (1.0, 5.0), "step": 1.0},
            (CHOSEN, *TUNED, MEANS), (NO_WORSE,), quick={"p": 1500, "q": 1500, "count": 60_000},
        ),
        Case(
            "a million", "matrices.rated", MILLION,
            (
                Who("fewatoms k=40", "ours.completion", {"k": 40, **BIASED}),
                Who("fewatoms", "ours.completion_chosen", {"ranks": (5, 10, 20, 40), **BIASED}),
                MEANS,
            ),
            (
                Bar("cpu", Limit(rival="fewatoms k=40", times=2.5)),
                Bar("rmse", Limit(rival="fewatoms k=40", plus=0.002)),
            ),
            quick={"p": 1500, "q": 1000, "count": 100_000},
        ),
    ),
    draws=2,
)  # fmt: skip

# Planted, rank 10 and 10 % noise: cmfrec with the sweeps that bring it to 1.02 times our error.

SAME_ERROR = ("over_ideal", Limit(rival="fewatoms", times=1.02))
NITER = (3, 4, 6, 8, 10, 15)
NEAREST = ((True, 0.3), (True, 0.1), (False, 1.0))  # settings that come near in few sweeps: the quick form has these
LARGE = tuple(
    Who(
        f"cmfrec {'Cholesky' if exact else 'CG'} {penalty:g}", "cmfrec.cmf",
        {"exact": exact, "penalty": penalty}, NITER, SAME_ERROR, full=(exact, penalty) not in NEAREST,
    )
    for exact in (True, False)
    for penalty in (1.0, 0.3, 0.1)
)  # fmt: skip
CLOSE = Bar("over_ideal", Limit(1.07))

scale = Part(
    "completion.scale",
    "rank 10 and 10 % noise: 10000 x 10000 with 2M entries, 100000 x 20000 with 20M; time and memory",
    (
        Case(
            "medium", "matrices.planted", {"p": 10_000, "q": 10_000, "k": 10, "count": 2_000_000}, (OURS, *LARGE),
            (CLOSE,), quick={"p": 2000, "q": 2000, "count": 400_000}, memory=True,
        ),
        Case(
            "large", "matrices.planted", {"p": 100_000, "q": 20_000, "k": 10, "count": 20_000_000}, (OURS, *LARGE[1:4]),
            (CLOSE, Bar("cpu", Limit(rival="*", times=0.8)), Bar("per_entry", Limit(24.0), full=True)),
            quick={"p": 10_000, "q": 4000, "count": 1_500_000}, memory=True,
        ),
    ),
    draws=1,
)  # fmt: skip

# What sweeps cost: with eight entries for each unknown, where they are many, beside cmfrec at the same error; and one
# sweep by itself.

SWEPT = Who("fewatoms", "ours.completion_swept")
AS_CLOSE = ("over_ideal", Limit(rival="fewatoms", times=1.005))
EXACT = tuple(
    Who(f"cmfrec {penalty:g}", "cmfrec.cmf", {"exact": True, "penalty": penalty}, (*NITER, 20), AS_CLOSE)
    for penalty in (0.3, 0.1)
)

sweeps = Part(
    "completion.sweeps",
    "10 % noise: rank 8, 4000 x 4000 with 500,000 entries; rank 10, 100000 x 20000 with 20M; rank 50 with 10M",
    (
        Case(
            "rank 8", "matrices.planted", {"p": 4000, "q": 4000, "k": 8, "count": 500_000}, (SWEPT, *EXACT),
            (Bar("cpu", Limit(rival="cmfrec *", times=0.6, by="over_ideal")),),
            quick={"p": 2000, "q": 2000, "count": 250_000},
        ),
        Case(
            "rank 10", "matrices.planted", {"p": 100_000, "q": 20_000, "k": 10, "count": 20_000_000}, (SWEPT, EXACT[0]),
            (Bar("cpu", Limit(rival="cmfrec *", times=0.4, by="over_ideal")), Bar("sweep", Limit(0.5), full=True)),
            quick={"p": 10_000, "q": 4000, "count": 2_000_000},
        ),
        Case(
            "rank 50", "matrices.planted", {"p": 30_000, "q": 20_000, "k": 50, "count": 10_000_000}, (SWEPT,),
            (Bar("sweep", Limit(3.5)),), quick={"p": 3000, "q": 2000, "count": 1_000_000},
        ),
    ),
)  # fmt: skip

SIDE, BASE = 10_000, 500_000
GROWTH = (*(("entries", 10, BASE * 2**j) for j in range(5)), *(("k", k, 4 * BASE) for k in (5, 10, 20, 40)))

growth = Part(
    "completion.growth",
    "time against entries and rank, 10000 x 10000",
    tuple(
        Case(
            f"{axis} = {count if axis == 'entries' else k}", "matrices.planted",
            {"p": SIDE, "q": SIDE, "k": k, "count": count},
            (OURS, Who("cmfrec", "cmfrec.cmf", {"exact": True}, (10,))),
            quick={"p": 2000, "q": 2000, "count": count // 5} if count < 16 * BASE and k < 40 else None,
            at=(axis, count if axis == "entries" else k),
        )
        for axis, k, count in GROWTH
    ),
    # Few entries take more sweeps, which makes the first line flatter than the work of a sweep is.
    slopes=(Slope("entries", 1.1), Slope("entries", 1.1, since=4 * BASE)),
    figure="growth",
)  # fmt: skip

start = Part(
    "completion.start",
    "the first fit in a fresh process, with compiled loops on disk and without: wall seconds beside a second fit",
    (
        Case(
            "loops on disk", "matrices.first_fit", {"count": 200_000, "cache": "inherited"},
            (Who("fewatoms", "ours.first_fit"),), (Bar("overhead", Limit(1.5)),), quick=None,
        ),
        Case(
            "nothing on disk", "matrices.first_fit", {"count": 200_000, "cache": "empty"},
            (Who("fewatoms", "ours.first_fit"),),
            (Bar("overhead", Limit(12.0)), Bar("logged", Limit(1.0), at_least=True)), quick=None,
        ),
    ),
)  # fmt: skip

# Clicks: factors and the weight of a click by clicks held out, the same for everybody; for implicit the ridge too, or
# its default one. Five splits, each with three seeds.

GRID = {"factors": (16, 32, 64), "weights": (1.0, 2.0, 4.0)}
NO_LESS = Bar("ndcg", Limit(rival="implicit*", plus=-0.003), at_least=True, full=True)

clicks = Part(
    "completion.clicks",
    "MovieLens 100k, ratings of 4 and 5 as clicks, four fifths of them shown: NDCG of the first ten, choices included",
    (
        Case(
            "MovieLens 100k", "recommended.films", {"file": FILMS},
            (
                Who("fewatoms", "ours_clicks.clicks", GRID),
                Who("implicit", "implicit.als", GRID),
                Who("implicit + ridge", "implicit.als", {**GRID, "ridges": (0.01, 10.0, 20.0)}),
            ),
            (NO_LESS, Bar("cpu", Limit(rival="implicit", times=3.0), full=True)),
            quick={"users": 400}, files=(FILMS,),
        ),
    ),
    draws=15,
)  # fmt: skip

nonnegative = Part(
    "completion.nonnegative",
    "nonnegative factors of 2000 x 500, rank 8, 30 % missing; scikit-learn's with missing cells filled in ten times",
    tuple(
        Case(
            name, "recommended.parts", {"p": 2000, "q": 500, "k": 8, "missing": 0.3, **given},
            (
                Who("fewatoms", "ours_clicks.nonnegative"),
                Who("NMF", "sklearn.refilled_nmf", {"refills": 10}),
            ),
            (
                Bar("loss", Limit(rival="NMF", times=1.01)),
                Bar("cpu", Limit(rival="NMF", times=0.5)),
            ),
            quick={"p": 600, "q": 300, "k": 4},
        )
        for name, given in (
            ("dense factors", {}), ("half zeros", {"zeros": 0.5}), ("much noise", {"noise": 0.5, "zeros": 0.3}),
        )
    ),
)  # fmt: skip

PARTS = (temperatures, figure, ratings, ranks, scale, sweeps, growth, start, clicks, nonnegative)
