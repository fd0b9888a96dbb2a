"""Problems so small that the best answer is known, and odd ones: how often we are worse, by how much, and crashes."""

from __future__ import annotations

from benchmarks.records import Bar, Case, Each, Limit, Part, Who

BRUTE = Who("brute force", "brute.search")
OURS = Who("fewatoms", "ours_exact.tiny")
SIGNS = Who("fewatoms", "ours_exact.tiny", {"signs": True})
SMALLER = {"most": (10, 3)}

FAMILIES = {
    "signed": ("exact.columns", {}, OURS),
    "signed, fewer rows than columns": ("exact.columns", {"designs": ("wide",)}, OURS),
    "nonnegative": ("exact.columns", {"nonnegative": True}, OURS),
    "nonnegative, fewer rows than columns": ("exact.columns", {"designs": ("wide",), "nonnegative": True}, OURS),
    "logistic, signs in M": ("exact.classes", {}, SIGNS),
    "logistic, labels, intercept": ("exact.classes", {"free": "intercept"}, OURS),
    "groups": ("exact.groups", {}, OURS),
    "groups, correlation .9": ("exact.groups", {"correlation": 0.9}, OURS),
    "groups with weights": ("exact.groups", {"weighted": True}, OURS),
    "groups with weights, correlation .9": ("exact.groups", {"weighted": True, "correlation": 0.9}, OURS),
    "black box": ("exact.columns", {"hidden": True}, OURS),
    "black box, nonnegative": ("exact.columns", {"hidden": True, "nonnegative": True}, OURS),
    "intercept": ("exact.columns", {"free": "intercept"}, OURS),
    "ridge": ("exact.columns", {"ridge": 0.3}, OURS),
    "ridge, nonnegative, intercept": ("exact.columns", {"ridge": 0.1, "nonnegative": True, "free": "intercept"}, OURS),
    "cap": ("exact.columns", {"capped": True, **SMALLER}, OURS),
    "cap, nonnegative": ("exact.columns", {"capped": True, "nonnegative": True, **SMALLER}, OURS),
    "forced in": ("exact.columns", {"forced": 2}, OURS),
    "forced in, nonnegative": ("exact.columns", {"forced": 2, "nonnegative": True}, OURS),
}

families = Part(
    "exact.families",
    "n <= 14, k <= 4, 200 problems a family: how often the loss is above that of the best support, and by how much",
    tuple(
        Case(
            name, problem, given, (who, BRUTE), fits=(200, 15),
            each=(Each("loss", "brute force", most=0.05, share=0.01, rounding=1e-6, floor=1e-12),),
        )
        for name, (problem, given, who) in FAMILIES.items()
    ),
    draws=1,
)  # fmt: skip

fuzz = Part(
    "exact.fuzz",
    "20,000 sound but odd problems: crashes, refusals, answers that are not what they say",
    (
        Case(
            "all kinds", "odd.drawn", {}, (Who("fewatoms", "ours_exact.odd"),),
            tuple(Bar(figure, Limit(0)) for figure in ("crashes", "refused", "wrong")), fits=(20_000, 500),
        ),
    ),
    draws=1,
)  # fmt: skip

PARTS = (families, fuzz)
