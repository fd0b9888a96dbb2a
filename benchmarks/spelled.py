"""One vocabulary for all versions of fewatoms: cases say what they want in today's words, as data.

    fa.fit(M, b, **spelled(fa, k=5, free="biases", method="level set"))

Words whose values are objects of fewatoms are given by name: `method` is "level set" (the paper's dual method and rule,
as our oracle runs them) or "paper" (as its authors ran them, with `epsilon` as a share of |b|), `loss` is "logistic".
"""

from __future__ import annotations

from typing import Any


class NotThere(Exception):
    """This version of fewatoms has no such thing."""

    note = "not in this version"


def spelled(fa: Any, **words: Any) -> dict[str, Any]:
    """The words that `fa.fit` and `fa.fit_path` of that version understand."""
    told = dict(words)
    if told.get("loss") == "logistic":
        told["loss"] = fa.Logistic()
    return _first(fa, told) if fa.__version__.startswith("0.1") else _today(fa, told)


def _today(fa: Any, told: dict[str, Any]) -> dict[str, Any]:
    method = told.pop("method", None)
    if method is not None:
        told["method"] = {
            "level set": lambda: fa.General(fa.LevelSet(), told.pop("retrieval", None) or fa.paper_rule()),
            "paper": lambda: fa.Paper(epsilon=told.pop("epsilon", 0.0)),
        }[method]()
    return told


def _first(fa: Any, told: dict[str, Any]) -> dict[str, Any]:
    """0.1: `oracle` and `retrieval` instead of a method, biases by a word of their own."""
    method = told.pop("method", None)
    if method == "paper":
        raise NotThere("fewatoms 0.1 has no method as the paper's authors ran it")
    if method == "level set":
        told |= {"oracle": fa.LevelSet(), "retrieval": told.get("retrieval") or fa.paper_rule()}
    if isinstance(told.get("free"), str) and told["free"] == "biases":
        del told["free"]
        told["biases"] = True
    return told
