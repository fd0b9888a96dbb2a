"""Faces: the compact forms that a few atoms take, and the set their coefficients live in.

A face is where atoms and operators meet. It stands for the points x = sum_i c_i a_i over its atoms a_i; coefficients
are one flat real vector `c` of length `dim`, free, nonnegative or (as a small Hermitian matrix) positive semidefinite.
Nothing of the model's size is stored (but by `Explicit`, which keeps atoms as they come); `point(c)` forms it when
asked.

Orders of business a face offers: `point`, its transpose `adjoint`, `project` onto the coefficient set, `prune` to fewer
atoms, `merge` with another face, `restrict` an operator to itself. Where atoms can move within their set, `turning`
says how.
"""

from fewatoms.faces.base import Cone, Face
from fewatoms.faces.blocks import BlockFactors, BlockTangent, BlockTurning
from fewatoms.faces.coordinates import Coordinates
from fewatoms.faces.explicit import Explicit
from fewatoms.faces.factors import RANK_TOLERANCE, Factors, FactorTurning, NonnegativeFactors
from fewatoms.faces.groups import GroupCoordinates
from fewatoms.faces.sums import SumFace, within
from fewatoms.faces.symmetric import (
    SymmetricFactors,
    SymmetricTurning,
    hermitian,
    hermitian_coordinates,
    upper_triangle,
)
from fewatoms.faces.tangents import Flat, LowRankTangent, Tangent
from fewatoms.faces.tiles import Tiles
from fewatoms.faces.turning import Still, Turning
from fewatoms.faces.wrapped import MappedFace, ScaledFace, WrappedFace

__all__ = [
    "RANK_TOLERANCE",
    "BlockFactors",
    "BlockTangent",
    "BlockTurning",
    "Cone",
    "Coordinates",
    "Explicit",
    "Face",
    "FactorTurning",
    "Factors",
    "Flat",
    "GroupCoordinates",
    "LowRankTangent",
    "MappedFace",
    "NonnegativeFactors",
    "ScaledFace",
    "Still",
    "SumFace",
    "SymmetricFactors",
    "SymmetricTurning",
    "Tangent",
    "Tiles",
    "Turning",
    "WrappedFace",
    "hermitian",
    "hermitian_coordinates",
    "upper_triangle",
    "within",
]
