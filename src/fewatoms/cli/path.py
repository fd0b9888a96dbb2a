"""`fewatoms path`: the same fit for every number of columns, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path as File
from typing import TYPE_CHECKING

from fewatoms.cli import asking, choice
from fewatoms.cli.options import Commands, budgets, checkpointed, command
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    from fewatoms.cli.summary import Plain
    from fewatoms.doors import Words
    from fewatoms.path import Path

about = """\
One line for each number of columns: the misfit (or loss), what it scores, and which columns are in. --choose
says how the number is chosen: by rows left out (cv, held-out), by criteria of information (bic, ebic), at the
elbow, or not at all."""
examples = """\
  fewatoms path houses.csv --target price -k 1:5
  fewatoms path houses.csv --target price -k 1:5 --choose bic --table path.csv --plot path.png
  fewatoms path flowers.csv --target species --classes -k 1,2,3 --choose cv --rule 1se --ridge 0.01 --out path.npz
"""
FIGURES = (".png", ".pdf", ".svg")


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "path",
        run,
        said="the same fit for every number of columns, and a choice",
        about=about,
        shown=examples,
    )
    asking.add_options(parser)
    parser.add_argument(
        "-k", type=budgets, metavar="K", help="columns (or groups) at most: 1:20 (the default) or 1,2,5"
    )
    ways = ("cv", "held-out", "bic", "ebic", "elbow", "none")
    parser.add_argument("--choose", choices=ways, default="cv", help="how the number is chosen (default cv)")
    choice.add_rule(parser)
    parser.add_argument("--out", metavar="FILE", help="write the path (.npz), for fewatoms.load in Python")
    parser.add_argument("--table", metavar="FILE", help="write the lines as a table (.csv, .parquet)")
    parser.add_argument("--plot", metavar="FILE", help="draw misfit and scores (.png, .pdf, .svg; needs matplotlib)")
    checkpointed(parser)


def run(options: argparse.Namespace) -> int:
    import fewatoms as fa

    session = Session(options)
    session.claim("path", options.out, (".npz",))
    session.claim("table", options.table, asking.OUTPUTS)
    session.claim("plot", options.plot, FIGURES)
    choice.refuse_rule(options.choose, options.rule)
    if options.plot is not None:
        _drawable()
    with session.timed("read"):
        ask = asking.question(options, session)
    ks = asking.few(options.k, ask, session)
    with session.working("path") as callback:
        words: Words = {**ask.words, "callback": callback}
        path = fa.fit_path(ask.M, ask.b, k=ks, **words)
        if options.loss == "huber" and options.delta is None:
            words = {**asking.robust(ask, path[max(ks)]).words, "callback": callback}
            path = fa.fit_path(ask.M, ask.b, k=ks, **words)
        if options.choose != "none":
            folds = {"folds": choice.folds_of(ask.rows)} if options.choose == "cv" else {}
            path.choose_k(options.choose, rule=options.rule, rng=options.seed, callback=callback, **folds)
    return _told(session, path, ask)


def _drawable() -> None:
    try:
        import matplotlib as plotting
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'fewatoms[plot]'") from None
    plotting.use("agg")


def _told(session: Session, path: Path, ask: asking.Question) -> int:
    import numpy as np

    from fewatoms import io
    from fewatoms.cli.summary import of_answer, plain

    answers = [path[k] for k in path]
    session.refuse_nothing(sum(s.cardinality for s in answers))
    way, rule = path.chosen_by or session.options.choose, session.options.rule
    scores, errors = choice.compared(path, way)
    called = [_called(s.names if s.names is not None else s.indices) for s in answers]
    columns = {
        "k": np.array(path.k, dtype=np.float64),
        "atoms": np.array([s.cardinality for s in answers], dtype=np.float64),
        "misfit": path.misfits,
        "loss": path.losses,
        "score": np.full(len(path), np.nan) if scores is None else scores,
        "error": np.full(len(path), np.nan) if errors is None else errors,
        "names": np.array([" ".join(some) for some in called], dtype=object),
    }
    session.write("path", path.save)
    session.write("report", lambda file: choice.reported(file, session, path, rule, ask.called))
    session.write("table", lambda file: io.write_table(file, columns))
    session.write("plot", lambda file: _draw(path, file))
    lines: list[Plain] = [
        {
            **of_answer(s, session),
            "k": plain(k),
            "score": None if scores is None else plain(scores[i]),
            "error": None if errors is None else plain(errors[i]),
            "names": plain(called[i]),
        }
        for i, (k, s) in enumerate(zip(path.k, answers, strict=True))
    ]
    summary: dict[str, Plain] = {
        "data": {"source": session.options.data, "target": session.options.target, "rows": ask.rows,
                 "columns": int(ask.M.shape[1]), "classes": plain(answers[0].classes)},
        "asked": {"k": plain(path.k), "choose": session.options.choose, "rule": rule},
        "answer": {"chosen": plain(path.chosen), "ridge": plain(path.ridge), "path": lines,
                   "choice": None if path.chosen is None else choice.told(path, rule)},
    }  # fmt: skip
    shown = [["k", "atoms", "misfit", "loss", "R2", f"score ({way})", "error", "names"]]
    for i, (k, s) in enumerate(zip(path.k, answers, strict=True)):
        figures = [figure(float(value)) for value in (s.misfit, s.loss, s.r2)]
        scored = ["" if some is None else figure(float(some[i])) for some in (scores, errors)]
        shown.append([str(k), str(s.cardinality), *figures, *scored, _short(called[i])])
    how = "" if path.chosen is None else choice.said(path, rule)
    chosen = [] if path.chosen is None else [f"chosen: k = {path.chosen}, {how}", *choice.steady(path, rule)]
    return session.finish(all(s.success for s in answers), summary, chosen, shown)


def _called(some: object) -> list[str]:
    import numpy as np

    return [str(name) for name in np.asarray(some).tolist()]


def _short(names: list[str], most: int = 60) -> str:
    text = ", ".join(names)
    return text if len(text) <= most else text[: most - 3] + "..."


def _draw(path: Path, file: File) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    path.plot(axes)
    figure.savefig(file)
    plt.close(figure)
