"""The figures of a certificate that are known: what is kept of it when M and b are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from fewatoms import kept
from fewatoms._types import IntArray
from fewatoms.kept import Plain

# Classes of atoms that solutions can use at most, nested as the parts of sums are; None where nothing is known.
SafeSet = IntArray | tuple["SafeSet", ...] | None


class Named(NamedTuple):
    """A relaxation without its problem."""

    name: str
    parameter: float


class Relaxed(NamedTuple):
    """What a run has proven about its relaxation: see `Certificate`."""

    named: Named | None
    in_units: bool
    primal: float
    dual: float
    gap: float
    tau_lower: float
    beta_bounds: tuple[float, float] | None


class Decided(NamedTuple):
    """What a proof has found out about the cardinality problem (P) itself, see `fewatoms.prove`.

    lower, upper : nothing of the kind has less than the one; the answer has at most the other
    gap : (upper - lower) / upper that was asked for; proven : whether that is reached
    subject, what : of which kind, "choice of 8 of the 64 features", and what it has, "loss" or "objective"
    remedy : what to do where nothing, or little, could be proven, as a sentence; ""
    """

    lower: float
    upper: float
    gap: float
    proven: bool
    subject: str
    what: str
    remedy: str = ""

    def plain(self) -> Plain:
        return {
            "lower": float(self.lower),
            "upper": float(self.upper),
            "gap": float(self.gap),
            "proven": bool(self.proven),
            "subject": self.subject,
            "what": self.what,
            "remedy": self.remedy,
        }

    @classmethod
    def read(cls, header: Plain) -> Decided:
        h = kept.section(header)
        lower, upper, gap = (kept.real(h[figure]) for figure in ("lower", "upper", "gap"))
        return cls(lower, upper, gap, h["proven"] is True, str(h["subject"]), str(h["what"]), str(h["remedy"]))


@dataclass(frozen=True, eq=False)
class Figures:
    """See `Certificate`.

    paid : what the coefficients pay, beside the loss
    relaxed : None where it waits for somebody to ask
    later : figures computed on demand that were asked for, by name
    safe_sets : the safe set, if that was
    unreachable : whether it is proven that no x meets alpha
    exact : whether what is minimised is 0 up to rounding: nothing is smaller
    decided : what a proof has found out about (P), if there was one
    """

    loss: float
    gauge: float
    cardinality: int
    within_budget: bool
    meets_bound: bool | None
    products: int = 0
    relaxed: Relaxed | None = None
    later: Mapping[str, float | None] = field(default_factory=dict)
    safe_sets: tuple[SafeSet, ...] = ()
    paid: float = 0.0
    unreachable: bool = False
    exact: bool = False
    decided: Decided | None = None

    def for_another_y(self) -> Figures:
        """What stays true when the dual vector is another one."""
        return replace(self, later={name: self.later[name] for name in ("norm",) if name in self.later})

    def for_another_relaxation(self) -> Figures:
        """What stays true when the relaxation is another one."""
        return replace(self, relaxed=None, later={}, safe_sets=())

    def plain(self) -> Plain:
        later: dict[str, Plain] = {name: None if v is None else float(v) for name, v in self.later.items()}
        return {
            "loss": float(self.loss),
            "gauge": float(self.gauge),
            "cardinality": int(self.cardinality),
            "within_budget": bool(self.within_budget),
            "meets_bound": None if self.meets_bound is None else bool(self.meets_bound),
            "products": int(self.products),
            "relaxed": None if self.relaxed is None else _told(self.relaxed),
            "later": later,
            "safe_sets": [_listed(safe) for safe in self.safe_sets],
            "paid": float(self.paid),
            "unreachable": bool(self.unreachable),
            "exact": bool(self.exact),
            "decided": None if self.decided is None else self.decided.plain(),
        }

    @classmethod
    def read(cls, header: Plain, ridge: float = 0.0) -> Figures:
        """From a file; those of version 0.2 do not say what was paid, but knew ridges on the gauge only."""
        h = kept.section(header)
        met, relaxed = h["meets_bound"], h["relaxed"]
        return cls(
            kept.real(h["loss"]),
            kept.real(h["gauge"]),
            kept.whole(h["cardinality"]),
            h["within_budget"] is True,
            None if met is None else met is True,
            kept.whole(h["products"]),
            None if relaxed is None else _relaxed(kept.section(relaxed)),
            {name: kept.maybe(value) for name, value in kept.section(h["later"]).items()},
            tuple(_safe(value) for value in kept.rows(h["safe_sets"])),
            kept.real(h["paid"]) if "paid" in h else ridge * kept.real(h["gauge"]),
            h.get("unreachable") is True,
            h.get("exact") is True,
            Decided.read(h["decided"]) if h.get("decided") is not None else None,  # which earlier files do not know
        )


def _told(relaxed: Relaxed) -> dict[str, Plain]:
    named, beta = relaxed.named, relaxed.beta_bounds
    return {
        "named": None if named is None else [named.name, float(named.parameter)],
        "in_units": relaxed.in_units,
        "primal": float(relaxed.primal),
        "dual": float(relaxed.dual),
        "gap": float(relaxed.gap),
        "tau_lower": float(relaxed.tau_lower),
        "beta_bounds": None if beta is None else [float(beta[0]), float(beta[1])],
    }


def _relaxed(h: dict[str, Plain]) -> Relaxed:
    named, beta = h["named"], h["beta_bounds"]
    name, parameter = (None, None) if named is None else kept.rows(named)
    low, high = (0.0, 0.0) if beta is None else (kept.real(v) for v in kept.rows(beta))
    return Relaxed(
        None if name is None else Named(str(name), kept.real(parameter)),
        h["in_units"] is True,
        kept.real(h["primal"]),
        kept.real(h["dual"]),
        kept.real(h["gap"]),
        kept.real(h["tau_lower"]),
        None if beta is None else (low, high),
    )


def _listed(safe: SafeSet) -> Plain:
    if safe is None:
        return None
    if isinstance(safe, tuple):
        return {"parts": [_listed(part) for part in safe]}
    return [int(i) for i in safe]


def _safe(value: Plain) -> SafeSet:
    if value is None:
        return None
    if isinstance(value, dict):
        return tuple(_safe(part) for part in kept.rows(value["parts"]))
    return np.array([kept.whole(i) for i in kept.rows(value)], dtype=np.intp)
