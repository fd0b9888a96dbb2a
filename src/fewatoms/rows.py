"""The numbers of one answer as a row of a table: what `Solutions` keeps of each."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fewatoms._types import Array
from fewatoms.compressed import Found
from fewatoms.figures import Figures, Named, Relaxed
from fewatoms.problem import EXACT, Problem
from fewatoms.solution import Solution, Status

STATUSES = tuple(Status)
RELAXATIONS = ("", "P1", "P2", "P3")  # "" where no dual vector was computed

# One row per answer: what is a number of each, and how it is kept. Numbers that are not known are nan.
NUMBERS: Mapping[str, npt.DTypeLike] = {
    "status": np.int8,
    "success": np.bool_,
    "loss": np.float64,
    "misfit": np.float64,
    "r2": np.float64,
    "ridge": np.float64,
    "paid": np.float64,
    "iterations": np.int64,
    "products": np.int64,
    "svd_products": np.int64,
    "held_out": np.float64,
    "alpha": np.float64,
    "gauge": np.float64,
    "cardinality": np.int64,
    "within_budget": np.bool_,
    "meets_bound": np.bool_,
    "relaxation": np.int8,  # -1 where nothing of it is known
    "parameter": np.float64,
    "in_units": np.bool_,
    "primal": np.float64,
    "dual": np.float64,
    "gap": np.float64,
    "tau_lower": np.float64,
    "beta_low": np.float64,
    "beta_high": np.float64,
}

EARLIER = {"paid": 0.0, "r2": math.nan}  # of answers in earlier files, which do not hold them


def coded(status: Status) -> int:
    """A status as it is kept."""
    return STATUSES.index(status)


# of answers without a dual vector
UNPROVEN = {
    "primal": math.inf,
    "dual": math.inf,
    "gap": math.inf,
    "tau_lower": 0.0,
    "beta_low": math.nan,
    "beta_high": math.nan,
}


def row(s: Solution) -> dict[str, float]:
    """The numbers of one answer."""
    figures, asked = s.certificate.known(), s.certificate.problem
    relaxed = figures.relaxed
    named = None if relaxed is None else relaxed.named
    beta = None if relaxed is None else relaxed.beta_bounds
    code = -1 if relaxed is None else 0 if named is None else RELAXATIONS.index(named.name)
    return {
        "status": coded(s.status),
        "success": s.success,
        "loss": s.loss,
        "misfit": s.misfit,
        "r2": s.r2,
        "ridge": float(np.ravel(s.ridge)[0]),
        "paid": figures.paid,
        "iterations": s.iterations,
        "products": s.products,
        "svd_products": s.svd_products,
        "held_out": _number(s.held_out),
        "alpha": _number(asked.alpha),
        "gauge": figures.gauge,
        "cardinality": figures.cardinality,
        "within_budget": figures.within_budget,
        "meets_bound": figures.meets_bound is True,
        "relaxation": code,
        "parameter": math.nan if named is None else named.parameter,
        "in_units": relaxed is not None and relaxed.in_units,
        "primal": math.nan if relaxed is None else relaxed.primal,
        "dual": math.nan if relaxed is None else relaxed.dual,
        "gap": math.nan if relaxed is None else relaxed.gap,
        "tau_lower": math.nan if relaxed is None else relaxed.tau_lower,
        "beta_low": math.nan if beta is None else beta[0],
        "beta_high": math.nan if beta is None else beta[1],
    }


def nothing(problem: Problem) -> dict[str, float]:
    """The numbers of data that nothing can be fitted to."""
    unknown = dict.fromkeys(("loss", "misfit", "r2", "held_out", "alpha", "parameter"), math.nan)
    return {
        **dict.fromkeys(NUMBERS, 0.0),
        **unknown,
        **UNPROVEN,
        "status": coded(Status.BAD_DATA),
        "ridge": problem.ridge,
    }


def rows(found: Found, problem: Problem) -> dict[str, Array]:
    """The numbers of many answers that were found together."""
    count, held, bad = len(found), found.held, found.bad
    without = found.zero | found.stopped | bad  # no dual vector belongs to them
    status = np.where(np.isnan(found.alpha), coded(Status.SMALLEST_LOSS), coded(Status.NOT_REACHED))
    ends = ((found.met, Status.BOUND_MET), (found.zero, Status.ZERO), (found.stopped, Status.STOPPED))
    for those, end in (*ends, (found.unreachable, Status.UNREACHABLE), (bad, Status.BAD_DATA)):
        status[those] = coded(end)
    gauges = np.add.reduceat(np.append(np.abs(held.c), 0.0), held.starts[:-1]) * (np.diff(held.starts) > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        misfit = np.where(found.reference > 0, np.sqrt(found.loss / found.reference), 0.0)
        r2 = np.where(found.at_zero > EXACT * found.reference, 1.0 - found.loss / found.at_zero, np.nan)
    told: dict[str, npt.ArrayLike] = {
        "status": status,
        "success": (found.zero & ~bad) | (~without & (np.isnan(found.alpha) | found.met)),
        "loss": np.where(bad, np.nan, found.loss),
        "misfit": np.where(bad, np.nan, misfit),
        "r2": np.where(bad, np.nan, r2),
        "ridge": found.ridge,
        "paid": 0.5 * found.ridge * found.squares,
        "iterations": ~without,
        "held_out": np.nan,
        "alpha": np.where(bad, np.nan, found.alpha),
        "gauge": gauges if held.listing.atoms.bounded else 0.0,
        "cardinality": np.diff(held.starts),
        "within_budget": True,
        "meets_bound": found.met,
        "relaxation": np.where(without, 0, -1),
        "parameter": np.nan,
        **{name: np.where(without, value, np.nan) for name, value in UNPROVEN.items()},
    }
    return {name: np.array(np.broadcast_to(told.get(name, 0), count), dtype=kind) for name, kind in NUMBERS.items()}


def figures_of(n: Mapping[str, Array]) -> Figures:
    """Of the certificate, from the numbers of one answer."""
    relaxed, code = None, int(n["relaxation"])
    if code >= 0:
        low, high = float(n["beta_low"]), float(n["beta_high"])
        relaxed = Relaxed(
            None if code == 0 else Named(RELAXATIONS[code], float(n["parameter"])),
            bool(n["in_units"]),
            float(n["primal"]),
            float(n["dual"]),
            float(n["gap"]),
            float(n["tau_lower"]),
            None if math.isnan(low) else (low, high),
        )
    met = None if math.isnan(n["alpha"]) else bool(n["meets_bound"])
    within = bool(n["within_budget"])
    loss, gauge, paid = (float(n[name]) for name in ("loss", "gauge", "paid"))
    unreachable = STATUSES[int(n["status"])] is Status.UNREACHABLE
    return Figures(
        loss, gauge, int(n["cardinality"]), within, met, 0, relaxed, paid=paid, unreachable=unreachable,
        exact=bool(paid == 0 and float(n["misfit"]) ** 2 <= EXACT),
    )  # fmt: skip


def maybe(value: float) -> float | None:
    """A number, or None for one that is not known."""
    return None if math.isnan(value) else float(value)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
