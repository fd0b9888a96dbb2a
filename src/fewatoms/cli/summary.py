"""The summary of a run in JSON: docs/summary-schema.md says what is in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fewatoms import words

if TYPE_CHECKING:
    from fewatoms.cli.session import Session
    from fewatoms.proofs.proof import Proof
    from fewatoms.solution import Solution

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

IN_ITS_PLACE = "it is told in the place of the fit's"  # where a better answer is that a proof has found
NO_TIME = {"read": 0.0, "work": 0.0, "write": 0.0}  # of steps that a command does not take
VERSION = 1  # of the schema: fields may be added to one, changes of meaning make another


def whole(session: Session, code: int, told: Mapping[str, Plain]) -> dict[str, Plain]:
    """The summary with what all commands have in common around it."""
    import fewatoms

    outputs: dict[str, Plain] = {what: str(path) for what, path in session.outputs.items()}
    return {
        "schema": "fewatoms-summary",
        "version": VERSION,
        "fewatoms": fewatoms.__version__,
        "command": session.options.command,
        "exit_code": code,
        "interrupted": session.interrupted,
        **told,
        "outputs": outputs,
        "notes": [*session.notes],
        "seconds": {what: round(seconds, 3) for what, seconds in {**NO_TIME, **session.seconds}.items()},
    }


def plain(value: object) -> Plain:
    """As JSON can hold it; numbers that are none become null."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def of_answer(s: Solution, session: Session) -> dict[str, Plain]:
    """An answer of `fit` in numbers and words; none is a success if the work was cut short."""
    return {
        "status": s.status.name,
        "success": bool(s.success) and session.cut_short is None,
        "message": session.said(s.message),
        "atoms": int(s.cardinality),
        "loss": plain(float(s.loss)),
        "misfit": plain(float(s.misfit)),
        "r2": plain(float(s.r2)),
        "ridge": plain(s.ridge),
        "held_out": plain(s.held_out),
        "iterations": int(s.iterations),
        "products": int(s.products),
        "certificate": _proven(s),
    }


def of_proof(proof: Proof) -> dict[str, Plain]:
    """What is proven of all other choices, in numbers and words."""
    return {
        "proven": bool(proof.proven),
        "lower": plain(float(proof.lower)),
        "upper": plain(float(proof.upper)),
        "gap": plain(float(proof.gap)),
        "asked": plain(float(proof.asked)),
        "nodes": int(proof.nodes),
        "seconds": round(float(proof.seconds), 3),
        "ended": proof.ended,
        "improved": bool(proof.improved),
        "words": words.proof(proof, IN_ITS_PLACE),
    }


def _proven(s: Solution) -> dict[str, Plain]:
    """What is known already: nothing dear is computed for it."""
    known = s.certificate.known()
    relaxed = known.relaxed
    named = None if relaxed is None else relaxed.named
    return {
        "objective": plain(float(s.objective)),
        "gauge": plain(float(known.gauge)),
        "within_budget": bool(known.within_budget),
        "meets_bound": plain(known.meets_bound),
        "relaxation": None if named is None else named.name,
        "primal": None if relaxed is None else plain(float(relaxed.primal)),
        "dual": None if relaxed is None else plain(float(relaxed.dual)),
        "gap": None if relaxed is None else plain(float(relaxed.gap)),
    }
