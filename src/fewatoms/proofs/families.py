"""Who proves what, asked in turn, and who checks their trees."""

from __future__ import annotations

from collections.abc import Mapping

from fewatoms.proofs.base import Checker, Prover
from fewatoms.proofs.first import FIRST, FirstChecker
from fewatoms.proofs.roots import ROOT_BOUND, Roots, RootsChecker
from fewatoms.proofs.smooth import SMOOTH_TREE, Smooth, SmoothChecker
from fewatoms.proofs.squares import NAME as SQUARES
from fewatoms.proofs.squares import Squares, SquaresChecker

PROVERS: tuple[Prover, ...] = (Roots(), Squares(), Smooth())
CHECKERS: Mapping[str, Checker] = {
    FIRST: FirstChecker(),
    ROOT_BOUND: RootsChecker(),
    SMOOTH_TREE: SmoothChecker(),
    SQUARES: SquaresChecker(),
}
