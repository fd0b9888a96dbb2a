"""k and shrinkage chosen inside: time and training losses of paths, errors on rows and labels that were not shown."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Each, Limit, Part, Who

RIDGES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
CLASS_RIDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)

# Paths

OURS_PATH = Who("fewatoms", "ours_choice.path")
ABESS = Who("abess cv", "chosen.abess")
ABESS_EACH = Who("abess, each k", "chosen.abess_each")
L0L2 = Who("L0L2 cv", "chosen.l0l2")

paths = Part(
    "choice.paths",
    "500 x 1000, k = 1 to 30 and five folds: time beside abess, and the training loss at every k",
    tuple(
        Case(
            f"correlation {correlation:g}", "choice.path",
            {"m": 500, "n": 1000, "k": 10, "correlation": correlation, "noise": 0.7},
            (OURS_PATH, ABESS, ABESS_EACH, Who("L0 cv", "chosen.l0l2", {"gammas": 1})),
            (Bar("cpu", Limit(rival="abess cv", times=3.0)), Bar("mse", Limit(rival="abess cv", times=1.02))),
            each=(Each("loss", "abess, each k", most=1e-9),), quick={"n": 300},
        )
        for correlation in (0.0, 0.5, 0.9)
    ),
    draws=3,
    remarks=("abess, each k: its path once for every k, for the losses; its time says nothing.",),
)  # fmt: skip

# Rows that were not shown

FORTY = tuple(range(1, 41))
WITHOUT = Who("fewatoms, no ridge", "ours_choice.path")
ROWS = (
    Who("fewatoms", "ours_choice.path", {"ridge": RIDGES}),
    WITHOUT,
    ABESS,
    L0L2,
    Who("relaxed lasso", "chosen.relaxed_lasso"),
    Who("adelie l1 cv", "chosen.lasso"),
)
SUBSETS = "abess cv|L0L2 cv|relaxed lasso"
LEUKEMIA = {"file": "leukemia.npz", "keys": (("X_train", "y_train"), ("X_test", "y_test"))}
FEWER = {"ks": tuple(range(1, 11))}

held_out = Part(
    "choice.held_out",
    "k and ridge chosen inside, ten splits: error on rows that were not shown",
    (
        Case(
            "riboflavin", "choice.expression", {"file": "riboflavin.npz", "keys": (("X", "y"),), "ks": FORTY}, ROWS,
            files=("riboflavin.npz",), quick=FEWER,
        ),
        Case("leukemia", "choice.expression", {**LEUKEMIA, "ks": FORTY}, ROWS, files=("leukemia.npz",), quick=None),
        Case("diabetes, degree 2", "choice.diabetes", {"degree": 2, "ks": FORTY}, ROWS, quick=FEWER),
        Case("diabetes, degree 3", "choice.diabetes", {"degree": 3, "ks": FORTY}, ROWS, quick=None),
        Case("blocks", "choice.blocks", {"m": 200, "n": 2000, "size": 10, "ks": FORTY}, ROWS, quick=None),
    ),
    draws=10,
    ratios=(
        Bar("mse", Limit(rival=SUBSETS, times=1.02)),
        Bar("mse", Limit(rival="adelie l1 cv", times=1.10)),
        Bar("features", Limit(rival="adelie l1 cv", times=1.0)),
    ),
)  # fmt: skip

# Labels that were not shown

CLASSES = (
    Who("fewatoms", "ours_choice.classes", {"ridge": CLASS_RIDGES}),
    Who("sklearn l1, then l2", "chosen.l1_then_l2"),
    Who("L0L2 cv", "chosen.l0l2_classes"),
)
WORDS = ("newsgroups20_train_tfidf.npz", "newsgroups20_test_tfidf.npz", "newsgroups20_labels.npz")

classes = Part(
    "choice.classes",
    "k and ridge chosen inside: log loss of labels that were not shown",
    (
        Case(
            "leukemia", "choice.expression", {**LEUKEMIA, "ks": (1, 2, 3, 4, 6, 8, 12, 16, 24), "classes": True},
            CLASSES, files=("leukemia.npz",), quick={"ks": (1, 2, 4)},
        ),
        Case(
            "newsgroups, one class against the rest", "choice.newsgroups",
            {"ks": (5, 10, 20, 30, 40, 50), "rows": 2500}, CLASSES, files=WORDS, quick={"rows": 1000, "ks": (5, 10)},
        ),
    ),
    draws=10,
    ratios=(
        Bar("log_loss", Limit(rival="sklearn l1, then l2|L0L2 cv", times=1.05)),
        Bar("features", Limit(rival="sklearn l1, then l2|L0L2 cv", times=1.0, by="log_loss")),
    ),
)  # fmt: skip

words = Part(
    "choice.words",
    "20 Newsgroups with all rows, two classes, each against the rest: log loss of labels that were not shown",
    (
        Case(
            "newsgroups, all rows", "choice.newsgroups", {"ks": (5, 10, 20, 30, 40, 50)}, CLASSES,
            (Bar("log_loss", Limit(rival="*", times=1.05)), Bar("features", Limit(rival="*", by="log_loss"))),
            files=WORDS, quick=None,
        ),
    ),
    draws=2,
)  # fmt: skip

separating = Part(
    "choice.separating",
    "classes at a given k, 500 x 1000, no ridge: training loss of every single fit, and time",
    tuple(
        Case(
            f"correlation {correlation:g}, k={k}", "choice.separating",
            {"m": 500, "n": 1000, "k": k, "correlation": correlation},
            (
                Who("fewatoms", "ours_choice.separating"),
                Who("fewatoms, signs in M", "ours_choice.separating_by_signs"),
                Who("abess", "chosen.abess_classes"),
                Who("abess path", "chosen.abess_classes", {"path": True}),
                Who("fastsparsegams", "chosen.l0_classes"),
                Who("adelie", "chosen.lasso_classes"),
            ),
            (Bar("cpu", Limit(rival="abess", times=3.0)),),
            fits=(5, 1), each=(Each("loss", most=1e-6), Each("loss", most=1e-6, who="fewatoms, signs in M")),
        )
        for correlation in (0.2, 0.5, 0.8)
        for k in (10, 20)
    ),
    draws=1,
)  # fmt: skip

PARTS = (paths, held_out, classes, words, separating)
