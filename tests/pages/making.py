"""A report of every kind, by name."""

from functools import cache

import numpy as np
import pandas as pd

import fewatoms as fa
from answers import answer, cases
from fewatoms import cli, report

NASTY = [
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 2</script>",
    '"><img src=x onerror="window.hit = 3">',
    "a" * 10_000,
    "🧬 gene 👩‍🔬",
    "שלום עולם \u202egnp.exe",
    "line\nbreak\tand \x00 and \x1b[31m",
    "&amp; $x$ `code` %s {0}",
    "javascript:alert(1)",
    "<!-- -->",
]


@cache
def large_path():
    """50 sizes over 2,000 columns with names."""
    rng = np.random.default_rng(0)
    X, x = rng.standard_normal((400, 2000)), np.zeros(2000)
    x[rng.choice(2000, 20, replace=False)] = rng.normal(0, 2, 20)
    frame = pd.DataFrame(X, columns=[f"gene {i} of chromosome {i % 23}" for i in range(2000)])
    path = fa.fit_path(frame, X @ x + rng.standard_normal(400), atoms=fa.SignedOneHot(2000), k=range(1, 51))
    path.choose_k("bic")
    return path


def nasty_frame():
    case = cases()["signed"]
    return pd.DataFrame(case.M[:, :10], columns=NASTY), case.b


def _nasty(file):
    frame, b = nasty_frame()
    s = fa.fit(frame, b, atoms=fa.SignedOneHot(10), k=10)
    s.report(file, title=NASTY[1], notes=[NASTY[0], NASTY[3]])


def _nasty_path(file):
    frame, b = nasty_frame()
    path = fa.fit_path(frame, b, atoms=fa.SignedOneHot(10), k=range(1, 11))
    path.report(file, title=NASTY[2])


def _traced(file):
    trace = fa.callbacks.Trace()
    s = cases()["nonnegative"].fit(callback=trace, misfit=0.2)
    s.report(file, trace=trace)


@cache
def units():
    """Columns in units far apart, and so coefficients; none has a name."""
    rng = np.random.default_rng(0)
    M, x = rng.standard_normal((60, 12)), np.arange(12.0, 0, -1)
    return fa.fit_path(M * 10.0 ** np.arange(-6, 18, 2), M @ x, atoms=fa.SignedOneHot(12), k=range(1, 13))


def _wide_names(file):
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((12, 6)) < 0.8)
    s = fa.fit(fa.Sampling(i, j, (12, 6)), rng.standard_normal(i.size), atoms=fa.RankOne(12, 6), k=1)
    s.report(file, rows=[*["WM" * 12] * 6, *["温度計" * 8] * 6], cols=["WWWWWWWWWWWW"] * 6)


def _matrix(file):
    rows = [NASTY[i % 10] for i in range(12)]
    answer("completion").report(file, rows=rows, cols=NASTY)


def _many(file):
    t, rng = np.linspace(0, 1, 60), np.random.default_rng(0)
    M = np.exp(-(((t[:, None] - rng.uniform(0, 1, 10)) / 0.1) ** 2))
    X = np.where(rng.random((10, 24)) < 0.2, rng.uniform(0.5, 1.0, (10, 24)), 0.0)
    answers = fa.fit_many(M, M @ X + 0.01, atoms=fa.NonnegativeOneHot(10), k=3)
    answers.report(file, names=NASTY, frame=(4, 6))


@cache
def faces():
    """Pictures of 48 x 40 pixels under 12 lights, with shadows, and what a fit of rank 2 makes of them."""
    y, x = np.mgrid[-1:1:48j, -1:1:40j]
    head = np.exp(-2.5 * (x / 0.8) ** 4 - 2.5 * y**4)
    marks = [np.exp(-60 * ((x - a) ** 2 + (y - b) ** 2)) for a, b in ((-0.35, -0.25), (0.35, -0.25), (0.0, 0.45))]
    skin = 180 * head - 90 * sum(marks)
    angles = np.linspace(-0.8, 0.8, 12)  # no side is dark: light alone is of rank 2
    lit = [np.maximum(0.0, skin * (np.cos(a) + 0.9 * np.sin(a) * x)) for a in angles]
    X = np.stack([one.ravel() for one in lit], axis=1) + np.random.default_rng(0).normal(0, 1.5, (48 * 40, 12))
    for j in range(12):  # a gleam that wanders, and a shadow
        film = X[:, j].reshape(48, 40)
        film[10:14, 3 * j : 3 * j + 4], film[30:33, 36 - 3 * j : 40 - 3 * j] = 250.0, 0.0
    X = np.clip(X, 0, 255).round()
    sets = fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape)
    return fa.fit(fa.Identity(X.shape), X, atoms=sets, k=(2, None))


def _demo(file):
    assert cli.main(["demo", "--report", str(file), "--quiet"]) == 0


def _predictions(file):
    columns = {"price": np.arange(30.0), NASTY[0]: np.array([NASTY[i % 10] for i in range(30)], dtype=object)}
    report.predictions(file, columns, answer("signed"), title="predictions", notes=[NASTY[0]])


def _printed(file):
    report.printed(file, ["one line"], [["head", "other"], [NASTY[0], "2"]], title="printed")


PAGES = {
    "large path": lambda file: large_path().report(file),
    "nasty": _nasty,
    "nasty path": _nasty_path,
    "traced": _traced,
    "matrix": _matrix,
    "units": lambda file: units().report(file),
    "wide names": _wide_names,
    "frames": lambda file: answer("robust").report(file, frame=(5, 2)),
    "faces": lambda file: faces().report(file, frame=(48, 40)),
    "demo": _demo,
    "parts": lambda file: answer("demixing").report(file),
    "phases": lambda file: answer("psd, complex").report(file),
    "classes": lambda file: answer("classes").report(file),
    "many": _many,
    "predictions": _predictions,
    "printed": _printed,
}


def make(name, file):
    PAGES[name](file)
