"""The numbers of one answer as a row of a table: what `Solutions` keeps of each."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fewatoms._types import Array
from fewatoms.figures import Figures, Named, Relaxed
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


def row(s: Solution) -> dict[str, float]:
    """The numbers of one answer."""
    figures, asked = s.certificate.known(), s.certificate.problem
    relaxed = figures.relaxed
    named = None if relaxed is None else relaxed.named
    beta = None if relaxed is None else relaxed.beta_bounds
    code = -1 if relaxed is None else 0 if named is None else RELAXATIONS.index(named.name)
    return {
        "status": STATUSES.index(s.status),
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
    return Figures(loss, gauge, int(n["cardinality"]), within, met, 0, relaxed, paid=paid)


def maybe(value: float) -> float | None:
    """A number, or None for one that is not known."""
    return None if math.isnan(value) else float(value)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
