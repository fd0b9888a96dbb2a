"""A: atomic sets, one family per file."""

from fewatoms.atoms.base import AtomicSet, FiniteSet
from fewatoms.atoms.groups import Groups
from fewatoms.atoms.mapped import Dictionary, Mapped, Rescaled
from fewatoms.atoms.onehot import NonnegativeCone, NonnegativeOneHot, SignedOneHot
from fewatoms.atoms.psd import PSDRankOne
from fewatoms.atoms.rank_one import RankOne
from fewatoms.atoms.scaled import Scaled
from fewatoms.atoms.sums import Sum, Union

__all__ = [
    "AtomicSet",
    "Dictionary",
    "FiniteSet",
    "Groups",
    "Mapped",
    "NonnegativeCone",
    "NonnegativeOneHot",
    "PSDRankOne",
    "RankOne",
    "Rescaled",
    "Scaled",
    "SignedOneHot",
    "Sum",
    "Union",
]
