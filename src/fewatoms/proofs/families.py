"""Who proves what, asked in turn, and who checks their trees."""

from __future__ import annotations

from collections.abc import Mapping

from fewatoms.proofs.base import Checker, Prover
from fewatoms.proofs.roots import ROOT, Roots, RootsChecker

PROVERS: tuple[Prover, ...] = (Roots(),)
CHECKERS: Mapping[str, Checker] = {ROOT: RootsChecker()}
