"""What has to be said beside the status of an answer."""

from __future__ import annotations

from fewatoms._types import IntArray


def idle_atoms(idle: IntArray) -> str:
    """Of atoms that were to be included."""
    return f"{idle.size} of the atoms to include add nothing and have coefficient 0, number {idle[0]} for one"


def same_image(pair: tuple[int, int]) -> str:
    return f"atoms {pair[0]} and {pair[1]}, for one pair, have the same image: which one is used is arbitrary"


def same_parts(i: int, j: int) -> str:
    return f"parts {i} and {j} are the same set: how their atoms are shared out is arbitrary"


def empty_lines(name: str, empty: IntArray, instead: str) -> str:
    """Of rows or columns without entries."""
    many, are = (f"{empty.size} {name}s have", "are") if empty.size > 1 else (f"1 {name} has", "is")
    return f"{many} no entries (number {empty[0]} for one) and {are} predicted by {instead}"


def too_many_unknowns(unknowns: int, entries: int) -> str:
    return f"{unknowns} unknowns are more than {_entries(entries)} can determine: a smaller k or a ridge would help"


def few_entries(unknowns: int, entries: int) -> str:
    told = _entries(entries)
    return f"{told} are few for {unknowns} unknowns: noise in them is fitted too, a smaller k or a ridge would help"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def negative_intensities(negative: int, count: int) -> str:
    verb = "is" if negative == 1 else "are"
    return f"{negative} of {count} intensities {verb} negative, which only noise explains"


def underdetermined(unknowns: int, count: int) -> str:
    return f"{unknowns} unknowns are more than {count} measurements can determine"


def asymmetric(pairs: int) -> str:
    return f"{pairs} pairs of entries (i, j) and (j, i) differ: a symmetric matrix fits their means"


def stands_out(count: int, deviation: float, times: float, own: int = 0) -> str:
    """own : rows and columns that are known less well than the others"""
    told = f"{count} entries stand out of noise of standard deviation {deviation:.3g}"
    told += f" ({own} rows or columns are noisier, and judged by that)" if own else ""
    return f"{told}, by {times:.3g} times as much or more" if count and times < 1e3 else told


def rank_chosen(rank: int, *, held_out: bool) -> str:
    """Of low rank plus sparse, where nobody says the rank."""
    who = "entries held out speak" if held_out else "Schwarz's criterion speaks"
    return f"a rank of {rank} is what {who} for"


def gap_missed(gap: float, tol: float, *, low: bool) -> str:
    """Of pursuit."""
    why = "" if low else ", and the search has ended early, as nothing of low rank was found"
    return f"the gauge is within {100 * gap:.2g} % of the least, as far as is proven, not within {100 * tol:.2g} %{why}"
