"""What has to be said beside the status of an answer."""

from __future__ import annotations

import math

from fewatoms._types import IntArray

SETTLED_BY = "a ridge, or fewer atoms, would settle them"


def idle_atoms(idle: IntArray) -> str:
    """Of atoms that were to be included."""
    return f"{idle.size} of the atoms to include add nothing and have coefficient 0, number {idle[0]} for one"


def same_image(pair: tuple[int, int]) -> str:
    return f"atoms {pair[0]} and {pair[1]}, for one pair, have the same image: which one is used is arbitrary"


def nearly_dependent(condition: float, *, grouped: bool) -> str:
    """Of images that hardly differ from sums of each other."""
    if condition > 1e15:
        how = (
            "of those that fit alike the shortest are told, in units of the images"
            if grouped
            else "of many that fit alike these are some"
        )
        return (
            f"the images of the atoms depend on each other: their coefficients are not determined, {how}; {SETTLED_BY}"
        )
    digits = max(1, int(15.5 - math.log10(condition)))
    told = f"the images of the atoms are nearly dependent (condition about {condition:.0e})"
    return f"{told}: of their coefficients {digits} digits are sure at best, of the loss all; {SETTLED_BY}"


def left_out(count: int) -> str:
    """Of atoms in a fit that the others span."""
    which = "1 atom that depends" if count == 1 else f"{count} atoms that depend"
    return f"{which} on the others, as far as double precision can tell, {'was' if count == 1 else 'were'} left out"


def same_parts(i: int, j: int) -> str:
    return f"parts {i} and {j} are the same set: how their atoms are shared out is arbitrary"


def empty_lines(name: str, empty: IntArray, instead: str) -> str:
    """Of rows or columns without entries."""
    many, are = (f"{empty.size} {name}s have", "are") if empty.size > 1 else (f"1 {name} has", "is")
    return f"{many} no entries (number {empty[0]} for one) and {are} predicted by {instead}"


def too_many_unknowns(unknowns: int, entries: int, *, given: bool = True) -> str:
    told = f"{unknowns} unknowns are more than {_entries(entries)} can determine"
    return f"{told}: {_smaller(given=given)} or a ridge would help"


def few_entries(unknowns: int, entries: int, *, given: bool = True) -> str:
    told = f"{_entries(entries)} are few for {unknowns} unknowns"
    return f"{told}: noise in them is fitted too, {_smaller(given=given)} or a ridge would help"


def _smaller(*, given: bool) -> str:
    """What would take fewer atoms: k, if it was given, or the bound that asks for them."""
    return "a smaller k" if given else "a larger bound"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def negative_intensities(negative: int, count: int) -> str:
    verb = "is" if negative == 1 else "are"
    return f"{negative} of {count} intensities {verb} negative, which only noise explains"


def underdetermined(unknowns: int, count: int) -> str:
    return f"{unknowns} unknowns are more than {count} measurements can determine"


def asymmetric(pairs: int) -> str:
    told = (
        "1 pair of entries (i, j) and (j, i) differs"
        if pairs == 1
        else f"{pairs} pairs of entries (i, j) and (j, i) differ"
    )
    return f"{told}: a symmetric matrix fits their means"


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
