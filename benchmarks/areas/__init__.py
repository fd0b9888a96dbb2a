"""The areas, one module of cases each."""

from __future__ import annotations

from benchmarks.areas import (
    blocks,
    choice,
    completion,
    demixing,
    everyday,
    exact,
    phase,
    proofs,
    proofs_smooth,
    scale,
    scale_giants,
    vectors,
)
from benchmarks.records import Part

AREAS = {
    "vectors": vectors.PARTS,
    "everyday": everyday.PARTS,
    "choice": choice.PARTS,
    "exact": exact.PARTS,
    "completion": completion.PARTS,
    "demixing": demixing.PARTS,
    "phase": phase.PARTS,
    "proofs": (*proofs.PARTS, *proofs_smooth.PARTS),
    "scale": scale.PARTS,
    "giants": scale_giants.PARTS,
    "blocks": blocks.PARTS,
}
TITLES = {
    "vectors": "sparse vectors",
    "everyday": "vectors that are small, many, in groups, or seen through an operator",
    "choice": "k and shrinkage chosen inside: rows and labels that were not shown",
    "exact": "problems so small that the best answer is known, and odd ones",
    "completion": "matrices from some of their entries",
    "demixing": "sums of two parts told apart",
    "phase": "vectors from intensities",
    "proofs": "proofs that no other atoms are better",
    "scale": "data larger than memory",
    "giants": "sparse vectors of the largest sizes",
    "blocks": "matrices in blocks of rows, on disk or made by loaders",
}


def parts(name: str) -> list[Part]:
    """Those of `all`, of an area, or the one called `area.part`; KeyError if there is none."""
    if name == "all":
        return [p for found in AREAS.values() for p in found]
    if name in AREAS:
        return list(AREAS[name])
    return [part(name)]


def part(name: str) -> Part:
    area = name.split(".")[0]
    return {p.name: p for p in AREAS.get(area, ())}[name]
