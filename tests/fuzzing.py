"""Problems of every family, door and option by chance; what an answer says is recomputed from what its reader has.

python tests/fuzzing.py --count 20000        # from the root, with tests on the path
"""

from __future__ import annotations

import argparse
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzzed import entries, mixtures, planted, tables

SECONDS = 20.0
KINDS = {"planted": planted, "entries": entries, "tables": tables, "mixtures": mixtures}
TURNS = ("planted", "entries", "planted", "tables", "mixtures")  # one after the other


def trial(seed: int) -> tuple[tuple[str, ...], Callable[[], list[str]]]:
    """What is asked, in words, and what is wrong with the answer."""
    kind: Any = KINDS[TURNS[seed % len(TURNS)]]
    return kind.trial(seed)


def _said(error: Exception) -> bool:
    """Whether somebody raised it on purpose, with a word on why."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return bool(str(error)) and "fewatoms" in last.filename and (last.line or "").startswith("raise")


def judged(seed: int) -> tuple[str, str]:
    """What became of a problem: "fine", "refused", "crash", "wrong" or "slow", and why."""
    told, run = trial(seed)
    asked, start = ", ".join(told), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            why = run()
    except (ValueError, TypeError) as error:
        if isinstance(error, np.linalg.LinAlgError) or not _said(error):
            return "crash", f"{asked}\n{traceback.format_exc(limit=-3)}"
        return "refused", str(error)
    except AssertionError as error:
        return "wrong", f"{error}: {asked}"
    except Exception:
        return "crash", f"{asked}\n{traceback.format_exc(limit=-3)}"
    if why:
        return "wrong", f"{', '.join(dict.fromkeys(why))}: {asked}"
    seconds = time.process_time() - start
    return ("slow", f"{seconds:.1f} s: {asked}") if seconds > SECONDS else ("fine", "")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--count", type=int, default=20_000)
    ask.add_argument("--first", type=int, default=0)
    asked = ask.parse_args()
    became: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    taken: list[tuple[float, int]] = []
    for seed in range(asked.first, asked.first + asked.count):
        start = time.process_time()
        kind, why = judged(seed)
        taken = sorted([*taken, (time.process_time() - start, seed)], reverse=True)[:12]
        became[kind] += 1
        if kind == "refused":
            refusals[why[:70]] += 1
        elif kind != "fine":
            print(seed, kind, why, flush=True)  # noqa: T201
        if (seed + 1 - asked.first) % 500 == 0:
            print(f"{seed + 1 - asked.first}: {dict(became)}", flush=True)  # noqa: T201
    print(dict(became), *refusals.most_common(20), sep="\n")  # noqa: T201
    print("slowest, in seconds of the processor:", *(f"{s:.1f} ({seed})" for s, seed in taken))  # noqa: T201


if __name__ == "__main__":
    main()
