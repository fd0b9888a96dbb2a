"""What commands share before they run: the parser, common options, how numbers, ranges and times are written."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import NoReturn, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]

HOLDS, MISSED, MISUSE, INTERRUPTED = 0, 1, 2, 130
CODES = """
exit codes:
  0    what was asked holds
  1    there is an answer, but what was asked does not hold (a bound is missed, classes are separable, a proof is open)
  2    misuse: a bad option or a bad file; one line says which, and nothing is written
  130  interrupted with Ctrl-C: the best answer so far is written, if there is one
"""
SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
WIDTH = 79  # of paragraphs
MOST_BUDGETS = 1000  # that a range may ask for


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors are one line, and whose examples keep their lines."""

    def __init__(self, **words: object) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **words)  # type: ignore[arg-type]

    def unknown(self, left: Sequence[str]) -> NoReturn:
        """What is left over is an error of the command that it was said to, and not of `fewatoms`."""
        known = [word for action in self._actions for word in action.option_strings]
        near = get_close_matches(left[0].partition("=")[0], known, n=1, cutoff=0.75)
        self.error(f"unrecognized arguments: {' '.join(left)}" + (f"; did you mean {near[0]}?" if near else ""))

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSE, f"{self.prog}: error: {one_line(message)} ({self.prog} --help tells more)\n")


def printable(text: str) -> str:
    """Without line breaks, and without what would do something to a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def one_line(text: str) -> str:
    """Printable, with single blanks."""
    return " ".join(printable(text).split())


def examples(text: str) -> str:
    """The examples of a command, below its options."""
    return f"examples:\n{text}"


def command(commands: Commands, name: str, run: Run, *, said: str, about: str, shown: str) -> Parser:
    """A command with the options that all of them have."""
    parser = commands.add_parser(
        name,
        help=said,
        description=_paragraphs(f"{said[0].upper()}{said[1:]}.\n\n{about}"),
        epilog=examples(shown) + CODES,
    )
    parser.set_defaults(run=run, unknown=parser.unknown)
    common = parser.add_argument_group("common options")
    common.add_argument("--quiet", action="store_true", help="no progress, no notes, no table")
    common.add_argument(
        "--json", action="store_true", help="print the summary as JSON on standard output, nothing else"
    )
    common.add_argument("--summary", metavar="FILE", help="write that summary to a file (.json)")
    common.add_argument(
        "--report", metavar="FILE", help="write a report: one page with pictures, for any browser (.html)"
    )
    common.add_argument("--seed", type=whole_number, metavar="N", help="of everything that is drawn (default: fixed)")
    common.add_argument(
        "--deadline", type=duration, metavar="TIME", help="stop after this long, e.g. 60s or 2m, with the best so far"
    )
    common.add_argument("--overwrite", action="store_true", help="replace output files that are there already")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def checkpointed(parser: Parser) -> None:
    """The option of commands whose work may take long."""
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="write there now and then what is done so far; the same command goes on from it if it was killed",
    )


def _paragraphs(text: str) -> str:
    return "\n\n".join(fill(paragraph, WIDTH) for paragraph in text.split("\n\n"))


def refused(text: str) -> ValueError:
    """The error of a file or an option that cannot be used."""
    from fewatoms.io import Refused

    return Refused(text)


# How values are written -----------------------------------------------------------------------------------------------


def whole_number(text: str) -> int:
    """0, 1, 2, ..."""
    if not re.fullmatch(r"\d{1,18}", text, flags=re.ASCII):
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more; got {text!r}")
    return int(text)


def count(text: str) -> int:
    """1, 2, ..."""
    if not re.fullmatch(r"\d{1,18}", text, flags=re.ASCII) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more; got {text!r}")
    return int(text)


def number(text: str) -> float:
    """A number that is not negative."""
    value = _real(text)
    if value is None or value < 0:
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more; got {text!r}")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = _real(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {text!r}")
    return value


def ridge(text: str) -> float | str:
    """A number, or "auto"."""
    value = _real(text)
    if text != "auto" and (value is None or value < 0):
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more, or auto; got {text!r}")
    return "auto" if value is None else value


def duration(text: str) -> float:
    """Seconds, from 60, 60s, 2m or 1h."""
    parts = re.fullmatch(r"([0-9.]+)\s*(s|m|min|h|)", text, flags=re.ASCII)
    value = None if parts is None else _real(parts[1])
    if parts is None or value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"must be a time such as 60s, 2m or 1h; got {text!r}")
    return value * SECONDS[parts[2]]


def budgets(text: str) -> list[int]:
    """One number, a list 1,2,5 or a range 1:20, whose ends both belong to it."""
    demand = "must be a number such as 10, a range such as 1:20 or a list such as 1,2,5"
    ends = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, flags=re.ASCII)
    if ends:
        found = list(range(int(ends[1]), min(int(ends[2]), int(ends[1]) + MOST_BUDGETS) + 1))
    elif re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, flags=re.ASCII):
        found = [int(part) for part in text.split(",")]
    else:
        raise argparse.ArgumentTypeError(f"{demand}; got {text!r}")
    if not found or found[0] < 1 or min(found) < 1 or len(found) > MOST_BUDGETS or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{demand}, each from 1 on, once, and at most {MOST_BUDGETS}; got {text!r}")
    return found


def scale(text: str) -> tuple[float, float]:
    """The ends of a scale, 1:5."""
    low, _, high = text.partition(":")
    ends = _real(low), _real(high)
    if ends[0] is None or ends[1] is None or ends[0] >= ends[1]:
        raise argparse.ArgumentTypeError(f"must be the ends of a scale such as 1:5; got {text!r}")
    return ends[0], ends[1]


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
