"""Sums of two parts told apart: low rank plus sparse, stars plus texture."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Limit, Part, Who

FACES, VIDEO = "faces_64_lights.npz", "hall_video.npz"

# Faces: principal component pursuit beside IALM; budgets beside alternating projection.

MISFIT, THE_END = 1e-4, 1e-7  # tolerances of IALM: as ours, and run to the end
OBJECTIVE = 1.001  # times that of IALM run to the end
PURSUIT = Who("fewatoms, pursuit", "ours.pursuit")
STOPPED = Who(
    "fewatoms, pursuit, stopped", "ours.pursuit",
    {"stop": Limit(rival="IALM to the end", figure="objective", times=OBJECTIVE)},
)  # fmt: skip
IALM = Who("IALM", "plain.ialm", {"tol": MISFIT})
BUDGETS = Who("fewatoms, budgets", "ours.separated")


def _pursued(who: Who) -> tuple[Bar, ...]:
    return (
        Bar("objective", Limit(rival="IALM to the end", times=OBJECTIVE), who.name),
        Bar("residual", Limit(MISFIT * (1 + 1e-6)), who.name),
        Bar("cpu", Limit(rival="IALM"), who.name),
    )


faces = Part(
    "demixing.faces",
    "one face under 64 lights, 32256 x 64: principal component pursuit; rank 4 and a tenth of the entries",
    (
        Case(
            "pursuit", "demixing.faces", {"file": FACES, "rank": 4, "share": 0.1},
            (
                Who("IALM to the end", "plain.ialm", {"tol": THE_END}), IALM, PURSUIT, STOPPED,
                Who("tensorly", "tensorly.robust_pca", slow=True),
                Who("tensorly, mu of IALM", "tensorly.robust_pca", {"stiff": True}, slow=True),
            ),
            (
                *_pursued(PURSUIT), *_pursued(STOPPED),
                Bar("gap", Limit(0.002), PURSUIT.name),
                Bar("cpu", Limit(rival="IALM", times=5.0), PURSUIT.name),
                # IALM's answer meets our bound on the residual too: nothing proven may lie above its objective.
                Bar("least", Limit(rival="IALM to the end", figure="objective", times=1 + 1e-6), PURSUIT.name),
            ),
            quick={"every": 2}, files=(FACES,),
        ),
        Case(
            "budgets", "demixing.faces", {"file": FACES, "rank": 4, "share": 0.1},
            (
                BUDGETS, Who("alternating projection", "plain.alternating_projection"),
                Who("rpca", "rpca.projections", slow=True), Who("abess", "abess.robust_pca", slow=True),
            ),
            (
                Bar("residual", Limit(rival="alternating projection", times=1.005), BUDGETS.name),
                Bar("cpu", Limit(rival="alternating projection"), BUDGETS.name),
                Bar("rank", Limit(4), BUDGETS.name),
                Bar("entries", Limit(0.1 + 1e-6), BUDGETS.name),
            ),
            quick={"every": 2}, files=(FACES,),
        ),
    ),
    draws=1,
    repeat=3,
    remarks=(f"Stopped: at the first answer with at most {OBJECTIVE:g} times the objective of IALM run to the end.",),
    figure="faces",
)  # fmt: skip

# The background of a hall: the mean over frames of the low-rank part, beside the true one.

RANK_1 = Who("fewatoms, rank 1", "ours.separated", {"k": (1, None)})

video = Part(
    "demixing.video",
    "296 frames of a hall: rank 1, entries left open; error of the background in grey levels",
    (
        Case(
            "hall", "demixing.video", {"file": VIDEO},
            (
                RANK_1, Who("fewatoms, rank 3", "ours.separated", {"k": (3, None)}), PURSUIT, IALM,
                Who("median over time", "plain.median_over_time"),
            ),
            (
                Bar("error", Limit(rival=PURSUIT.name), RANK_1.name),
                Bar("error", Limit(rival="IALM"), RANK_1.name),
                Bar("error", Limit(rival="median over time", times=1.2), RANK_1.name),
            ),
            quick={"every": 2, "frames": 4}, files=(VIDEO,),
        ),
    ),
    draws=1,
    figure="video",
)  # fmt: skip

# Nothing told, or the rank alone: entries that are no gross errors must not be taken for them, whole rows least of all.

OPEN = Who("fewatoms", "ours.separated", {"k": (None, None)})
TOLD_NOISE = Who("fewatoms, pursuit, told the noise", "ours.pursuit")
NOBODY_SAYS = (OPEN, Who("fewatoms, told the rank", "ours.separated", {"k": ("told", None)}), TOLD_NOISE)


def _found(precision: float, recall: float) -> tuple[Bar, ...]:
    return (
        Bar("precision", Limit(precision), at_least=True),
        Bar("recall", Limit(recall), at_least=True),
        Bar("low", Limit(rival=TOLD_NOISE.name)),
    )


small = Part(
    "demixing.small",
    "forty small tables with 5 to 10 % gross errors, and five films of a wall: neither rank nor entries told",
    (
        *(
            Case(
                name, "demixing.drawn", {"share": share}, NOBODY_SAYS,
                (*_found(0.9, 0.9), Bar("right_rank", Limit(0.9), at_least=True)), fits=(40, 8),
            )
            for name, share in (("tables", 1.0), ("tables, 70 % seen", 0.7), ("tables, 30 % seen", 0.3))
        ),
        Case(
            "tables, 40 % wrong", "demixing.drawn", {"errors": 0.4}, NOBODY_SAYS,
            (Bar("precision", Limit(0.9), at_least=True), Bar("low", Limit(rival=TOLD_NOISE.name))), fits=(40, 8),
        ),
        Case(
            "film, lingering longer", "demixing.stack", {"kind": "lingering", "side": 32, "frames": 40, "stay": 0.33},
            NOBODY_SAYS, _found(0.9, 0.9), quick={"side": 20},
        ),
        *(
            Case(
                f"film, {kind}", "demixing.stack", {"kind": kind, "side": 32, "frames": 40}, NOBODY_SAYS,
                (*_found(0.9, 0.9), Bar("right_rank", Limit(1.0), at_least=True)), quick={"side": 20},
            )
            for kind in ("moving", "lingering", "light", "shade", "still")
        ),
    ),
    draws=1,
    remarks=("Pursuit is told the length of the noise: its sparse part takes what its bound does not cover.",),
)  # fmt: skip

# Neither rank nor entries told, on real pictures: no face may be given up as foreground.

RANK_TOLD = Who("fewatoms, told the rank", "ours.separated", {"k": ("told", None)})
TWICE = Bar("cpu", Limit(rival=RANK_TOLD.name, times=2.0))

blind = Part(
    "demixing.blind",
    "faces and the hall, neither rank nor entries told",
    (
        Case(
            "faces", "demixing.faces", {"file": FACES, "rank": 9, "share": 0.1, "lit": True}, (OPEN, RANK_TOLD),
            (TWICE, Bar("dimmed", Limit(0.1))), quick={"every": 2}, files=(FACES,),
        ),
        Case(
            "hall", "demixing.video", {"file": VIDEO, "rank": 3},
            (OPEN, RANK_TOLD, Who("median over time", "plain.median_over_time")),
            (TWICE, Bar("error", Limit(rival="median over time", times=1.2))),
            quick={"every": 2, "frames": 4}, files=(VIDEO,),
        ),
    ),
    draws=1,
)  # fmt: skip

# Large matrices: pursuit by partial decompositions.

PARTIAL = Who("IALM, partial SVD", "plain.ialm_partial", {"tol": MISFIT})

large = Part(
    "demixing.large",
    "large matrices with 5 % gross errors: principal component pursuit by partial decompositions",
    (
        Case(
            "3000 x 3000, rank 30", "demixing.planted",
            {"p": 3000, "q": 3000, "rank": 30, "share": 0.05, "misfit": MISFIT}, (PARTIAL, PURSUIT),
            (
                Bar("cpu", Limit(rival=PARTIAL.name), PURSUIT.name, full=True), Bar("gap", Limit(0.002), PURSUIT.name),
                Bar("objective", Limit(rival=PARTIAL.name, times=OBJECTIVE), PURSUIT.name),
                Bar("right_rank", Limit(1.0), PURSUIT.name, at_least=True),
            ),
            quick={"p": 1100, "q": 1100, "rank": 10},
        ),
        Case(
            "8000 x 2000, rank 20", "demixing.planted",
            {"p": 8000, "q": 2000, "rank": 20, "share": 0.05, "misfit": MISFIT}, (PURSUIT,),
            (Bar("gap", Limit(0.002), PURSUIT.name), Bar("right_rank", Limit(1.0), PURSUIT.name, at_least=True)),
            quick={"p": 2000, "q": 1100, "rank": 10}, memory=True,
        ),
    ),
    draws=1,
)  # fmt: skip

# Stars and texture: told both budgets, the noise, nothing. FISTA has the best of its penalties by the truth.

TOLD = {"budgets": ("k",), "noise": ("misfit",), "nothing": ()}
RECOVERED = Limit(0.05)
NOISES = (0.0, 0.02)

stars = Part(
    "demixing.stars",
    "256 x 256 pixels, stars and waves: told both budgets, the noise, nothing; 601 x 601 with 46,000 atoms",
    (
        *(
            Case(
                f"noise {noise:.0%}", "demixing.sky", {"side": 256, "stars": 3277, "waves": 1311, "noise": noise},
                (
                    *(Who(f"fewatoms, told {what}", "ours.sky", {"tell": tell}) for what, tell in TOLD.items()),
                    Who("FISTA, best penalty", "plain.fista"),
                    Who("FISTA, best penalty, budgets", "plain.fista", {"budgets": True}),
                ),
                tuple(Bar("error", RECOVERED, f"fewatoms, told {what}") for what in TOLD),
                quick={"side": 96, "stars": 461, "waves": 184},
            )
            for noise in NOISES
        ),
        *(
            Case(
                f"large, noise {noise:.0%}", "demixing.sky",
                {"side": 601, "stars": 36_000, "waves": 10_000, "noise": noise},
                (Who("fewatoms, told budgets", "ours.sky", {"tell": ("k",)}),),
                (Bar("error", RECOVERED, "fewatoms, told budgets"),),
                quick={"side": 200, "stars": 4000, "waves": 1100}, memory=True,
            )
            for noise in NOISES
        ),
    ),
    figure="stars",
)  # fmt: skip

# The paper's robust PCA. An iterate of the paper's algorithm is one step; of ours, ten, the first with a ladder before
# them. Told the gauges of the two parts, which nobody knows; of the faces those of alternating projection.


def _papers(seconds: float, steps: int) -> tuple[Who, ...]:
    rule = {"method": "level set", "misfit": 1e-3, "max_iterations": steps, "traced": seconds}
    return (
        Who("fewatoms", "ours.separated", {"traced": seconds}),
        Who("paper's rule, told the gauges", "ours.separated", {**rule, "gauges": "told"}),
        Who("paper's rule, usual weight", "ours.separated", {**rule, "gauges": "usual"}),
        Who(
            "paper, told the gauges", "ours.separated",
            {
                "method": "paper", "alpha": 0.0, "epsilon": 1e-3, "max_iterations": steps, "traced": seconds,
                "gauges": "told",
            },
        ),
    )  # fmt: skip


def _no_more(*figures: str) -> tuple[Bar, ...]:
    """Without noise both may be exact: what is rounding is not compared."""
    return tuple(
        Bar(f, Limit(rival="paper's rule, told the gauges", floor=1e-9 if f in ("residual", "low", "sparse") else 0.0))
        for f in figures
    )


paper = Part(
    "demixing.paper",
    "the paper's robust PCA, told the gauges, beside ours, told the budgets",
    (
        Case(
            "planted", "demixing.planted", {"p": 200, "q": 100, "rank": 3, "share": 0.05}, _papers(60.0, 500),
            _no_more("iterations", "residual", "low", "sparse", "cpu"), quick={"p": 80, "q": 50, "rank": 2},
        ),
        Case(
            "faces", "demixing.faces", {"file": FACES, "rank": 4, "share": 0.1}, _papers(60.0, 500),
            _no_more("residual", "iterations", "cpu"), quick=None, files=(FACES,),
        ),
    ),
    figure="traces",
)  # fmt: skip

# Pictures over four scales. The authors' program, told four gauges and the rank of every block, stops at a residual of
# 5.7 % after 5,000 iterations on their picture.

SCALES, TOLD_SCALES = "multiscale_authors.npz", Who("fewatoms", "ours.scales")
RESIDUAL, PART = Limit(0.002), Limit(0.02)


def _pictures(kind: str, noise: float, share: float = 1.0) -> Case:
    """With cells missing, what is left of a small block need not tell it from pixels."""
    told = (Bar("parts_found", Limit(0.9), at_least=True),) if share == 1.0 else ()
    seen = "" if share == 1.0 else f", {share:.0%} seen"
    return Case(
        f"64 x 64, {kind}, noise {noise:.0%}{seen}", "scales.drawn", {"kind": kind, "noise": noise, "share": share},
        (TOLD_SCALES,),
        (*told, Bar("as_good", Limit(0.9), at_least=True), Bar("cpu", Limit(5.0))),
        fits=(8 if noise or share < 1.0 else 20, 3),  # noise is looked at for longer
    )  # fmt: skip


multiscale = Part(
    "demixing.multiscale",
    "pixels + blocks of 4 x 4 and of 16 x 16 + low rank: told how many of each, (10, 6, 4, 1) or ten times as many",
    (
        Case(
            "authors' picture", "scales.authors", {"file": SCALES}, (TOLD_SCALES,),
            (Bar("residual", RESIDUAL), Bar("part", PART), Bar("cpu", Limit(5.0))), files=(SCALES,),
        ),
        *(_pictures(kind, noise) for kind in ("windows", "smooth", "noise") for noise in (0.0, 0.02)),
        _pictures("noise", 0.0, 0.7),
        Case(
            "256 x 256", "scales.drawn", {"kind": "noise", "side": 256, "k": (100, 60, 40, 10)}, (TOLD_SCALES,),
            (Bar("residual", RESIDUAL), Bar("part", PART), Bar("cpu", Limit(20.0))),
            quick={"side": 96, "k": (20, 12, 6, 2)},
        ),
    ),
    draws=1,
)  # fmt: skip

PARTS = (faces, video, small, blind, large, stars, multiscale, paper)
