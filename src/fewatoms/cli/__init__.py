"""The command line: `fewatoms COMMAND ...`, one file for each command.

Each has `add`, which tells argparse about it, and `run`, which does it. Nothing heavy is imported before a command is
known: `fewatoms --help` is there at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

import fewatoms
from fewatoms.cli import complete, demo, doctor, fit, path, predict, reproduce, split, unmix
from fewatoms.cli.options import CODES, Parser, examples
from fewatoms.cli.session import done

EXAMPLES = """\
  fewatoms fit houses.csv --target price -k 3
  fewatoms complete ratings.csv --rank 2 --out filled.csv
  fewatoms doctor
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether what was asked holds."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None if whoever called closed them
    try:
        options, left = _parser().parse_known_args(arguments)
        if left:
            options.unknown(left)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return done(options)


def _nowhere() -> TextIO:
    """Where text goes that nobody reads."""
    return open(os.devnull, "w", encoding="utf-8")


def _parser() -> Parser:
    parser = Parser(
        prog="fewatoms",
        description="Explain data with few building blocks. `fewatoms COMMAND --help` tells more about each command.",
        epilog=examples(EXAMPLES) + CODES,
    )
    parser.add_argument("--version", action="version", version=f"fewatoms {fewatoms.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for command in (fit, path, predict, complete, unmix, split, demo, reproduce, doctor):
        command.add(commands)
    return parser
