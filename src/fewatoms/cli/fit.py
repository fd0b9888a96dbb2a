"""`fewatoms fit`: explain one column of a table with a few others."""

from __future__ import annotations

import argparse
from pathlib import Path as File
from typing import TYPE_CHECKING

from fewatoms.cli import asking, choice
from fewatoms.cli.options import Commands, budgets, checkpointed, command, duration, positive
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.cli.asking import Question
    from fewatoms.cli.summary import Plain
    from fewatoms.doors import Words
    from fewatoms.path import Path
    from fewatoms.proofs.proof import Proof
    from fewatoms.run import Callback
    from fewatoms.solution import Solution

about = """\
With one -k you get the smallest loss found with so many columns; with a range, such as -k 1:20, the number is
chosen by what rows left out say (so it is without -k), or with --rule 1se the fewest that these say are
about as good; with --misfit as few columns as were found to meet
that bound. An intercept stands beside them and does not count. Columns that are constant or empty are left
out, and said."""
examples = """\
  fewatoms fit houses.csv --target price -k 3
  fewatoms fit houses.csv --target price -k 1:5 --out model.npz --table atoms.csv
  fewatoms fit houses.csv --target price -k 1:5 --rule 1se
  fewatoms fit houses.csv --target price -k 3 --prove 60s
  fewatoms fit houses.csv --target price --misfit 0.2 --json
  fewatoms fit homes.csv --target price -k 3 --categorical city --missing mean --drop id
  fewatoms fit flowers.csv --target species --classes -k 2
  fewatoms fit sensors.csv --target load -k 2 --group-by _ --loss huber
"""

NO_NUMBERS = ("group", "name", "atom")  # heads of columns that hold no numbers


LEGEND = (
    "contribution: the length of what this one adds, as a share of the sum of all; "
    "cost: what the loss (and ridge) would rise by without it, the others fitted anew"
)


def add(commands: Commands) -> None:
    parser = command(
        commands, "fit", run, said="explain one column of a table with a few others", about=about, shown=examples
    )
    asking.add_options(parser)
    parser.add_argument("-k", type=budgets, metavar="K", help="columns (or groups) at most: 10, 1:20 or 1,2,5")
    choice.add_rule(parser)
    parser.add_argument("--misfit", type=positive, metavar="NUMBER", help="bound on |b - Mx| / |b|")
    parser.add_argument(
        "--prove", type=duration, metavar="TIME",
        help="prove, in so much time, that no other choice of so many columns is better, or by how much it could be",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="write the model (.npz), for `fewatoms predict`")
    checkpointed(parser)
    parser.add_argument("--table", metavar="FILE", help="write the atoms as a table (.csv, .parquet)")


def run(options: argparse.Namespace) -> int:
    session = Session(options)
    session.claim("model", options.out, (".npz",))
    session.claim("table", options.table, asking.OUTPUTS)
    with session.timed("read"):
        ask = asking.question(options, session)
    if options.misfit is not None and (options.classes or options.loss == "huber"):
        raise ValueError("--misfit is for squared losses, not together with --classes or --loss huber")
    if options.misfit is not None and options.k is not None and len(options.k) > 1:
        raise ValueError("--misfit goes with a single -k, or none")
    if options.prove is not None and options.misfit is not None and options.k is None:
        raise ValueError("--prove is about a number of columns: with --misfit give -k as well")
    ks = None if options.k is None and options.misfit is not None else asking.few(options.k, ask, session)
    if options.rule == "1se" and (ks is None or (options.k is not None and len(options.k) == 1)):
        raise ValueError("--rule 1se chooses among several -k: give a range such as 1:20, or neither -k nor --misfit")
    with session.working("fit") as callback:
        s, path = _solved(ask, ks, options, callback)
        if options.loss == "huber" and options.delta is None:
            s, path = _solved(asking.robust(ask, s), ks, options, callback)
    proof = None if options.prove is None else _proven(session, s, options.prove)
    return told(session, ask, s, path, {"k": ks, "misfit": options.misfit}, proof)


def _solved(
    ask: Question, ks: list[int] | None, options: argparse.Namespace, callback: Callback
) -> tuple[Solution, Path | None]:
    """The answer, and the path that it was chosen from if it was."""
    import fewatoms as fa

    words: Words = {**ask.words, "callback": callback}
    if ks is None or len(ks) == 1:
        words["misfit"] = options.misfit
        return fa.fit(ask.M, ask.b, k=None if ks is None else ks[0], **words), None
    path = fa.fit_path(ask.M, ask.b, k=ks, **words)
    path.choose_k("cv", rule=options.rule, folds=choice.folds_of(ask.rows), rng=options.seed, callback=callback)
    return path.best, path


def _proven(session: Session, s: Solution, seconds: float) -> Proof | None:
    """What is proven of all other columns; None where the work was cut short before."""
    import fewatoms as fa

    if session.cut_short is not None:
        session.note("the proof was not begun")
        return None
    with session.working("prove", fitting=False) as callback:
        proof = fa.prove(s, seconds=seconds, callback=callback)
    if proof.ended == "interrupt":
        session.interrupt()
    if proof.improved:
        session.note("the proof has found a better answer than the fit: it is told in its place")
    return proof


def told(
    session: Session, ask: Question, s: Solution, path: Path | None, asked: dict[str, object], proof: Proof | None
) -> int:
    """Write and print an answer about a table."""
    import numpy as np

    from fewatoms import io
    from fewatoms.cli import models
    from fewatoms.cli.summary import of_answer, of_proof, plain

    session.refuse_nothing(s.cardinality)
    s = s if proof is None else proof.solution
    if session.cut_short is None:
        with session.timed("work"):
            _ = s.certificate.gap  # over columns at hand it costs a product or two, and the summary tells it
    records = _records(s, ask)
    how: dict[str, Plain] = {"kind": "table", "recipe": None if ask.recipe is None else ask.recipe.plain()}
    session.write("model", lambda path: models.write(path, s, how))
    columns = {head: _column(head, [record[head] for record in records]) for head in (records[0] if records else ())}
    session.write("report", lambda file: _reported(file, session, ask, s, path, proof))
    session.write("table", lambda path: io.write_table(path, columns or {"name": np.array([], dtype=object)}))
    accuracy = _accuracy(s, ask)
    rule = session.options.rule
    chosen = [] if path is None else choice.lines(path, rule)
    classes = None if s.classes is None else plain(np.asarray(s.classes))
    summary: dict[str, Plain] = {
        "data": {"source": session.options.data, "target": session.options.target, "rows": ask.rows,
                 "columns": int(ask.M.shape[1]), "classes": classes},
        "asked": plain(asked),
        "answer": {**of_answer(s, session), "accuracy": accuracy, "intercept": plain(s.intercept),
                   "table": plain(records), "choice": None if path is None else choice.told(path, rule),
                   "proof": None if proof is None else of_proof(proof)},
    }  # fmt: skip
    rows = [[_cell(head, value) for head, value in record.items()] for record in records]
    table = [list(records[0]), *rows] if records else []
    message = session.said(s.message)
    if path is not None:
        message = message.replace("Asked: at most", f"Asked: a number among {choice.among(path)}. Chosen: at most", 1)
    lines = [*([LEGEND] if records else []), message, *_fitted(s, accuracy), *chosen]
    lines += [] if proof is None else [str(of_proof(proof)["words"])]
    holds = s.success and (session.options.prove is None or (proof is not None and proof.proven))
    return session.finish(holds, summary, lines, table)


def _reported(file: File, session: Session, ask: Question, s: Solution, path: Path | None, proof: Proof | None) -> None:
    """Of one answer, or of the path that it was chosen from, with the chosen one in front."""
    if path is None:
        trace = None if session.options.loss == "huber" else session.trace  # of one fit, not of two
        s.report(file, title=session.title, trace=trace, notes=session.notes, rows=ask.called, proof=proof)
    else:
        choice.reported(file, session, path, session.options.rule, ask.called, proof)


def _records(s: Solution, ask: Question) -> list[dict[str, object]]:
    """A record for each atom; for each column of a group that is in, with what the group as a whole contributes in the
    first of them."""
    from fewatoms import tables

    grouped = ask.groups is not None and ask.M.names is not None
    return tables.records(tables.by_member(s, s.measures) if grouped else s.by_atom)


def _column(head: str, values: list[object]) -> Array:
    """Words, or numbers with NaN for what is not told."""
    import numpy as np

    return np.array(values) if head in NO_NUMBERS else np.array(values, dtype=np.float64)


def _accuracy(s: Solution, ask: Question) -> float | None:
    """The share of rows whose likeliest class is theirs; None for numbers."""
    import numpy as np

    if s.classes is None:
        return None
    likeliest = np.asarray(s.classes)[s.predict_proba(ask.M).argmax(axis=1)]
    return float((likeliest == ask.b).mean())


def _fitted(s: Solution, accuracy: float | None) -> list[str]:
    """How well it fits, and the intercept: one number, or one for each of several classes."""
    import numpy as np

    several = s.classes is not None and len(s.classes) > 2
    told = [figure(float(s.intercept))] if not several else [
        f"{name} {figure(value)}"
        for name, value in zip(np.asarray(s.classes).tolist(), np.asarray(s.intercept).tolist(), strict=True)
    ]  # fmt: skip
    explained = "" if np.isnan(s.r2) else f"{'R2' if accuracy is None else 'share of the deviance'} {figure(s.r2)}"
    right = "" if accuracy is None else f"accuracy {figure(accuracy)} on these rows"
    fits = ", ".join(part for part in (right, explained) if part)
    return [*([fits] if fits else []), f"{'intercepts' if several else 'intercept'}: {', '.join(told)}"]


def _cell(head: str, value: object) -> str:
    return str(value) if head in NO_NUMBERS else "" if value is None else f"{value:.4g}"
