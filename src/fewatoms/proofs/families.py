"""Who proves what, asked in turn, and who checks their trees."""

from __future__ import annotations

from collections.abc import Mapping

from fewatoms.proofs.base import Checker, Prover

PROVERS: tuple[Prover, ...] = ()
CHECKERS: Mapping[str, Checker] = {}
