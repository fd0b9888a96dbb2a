"""A: atomic sets, one family per file."""

from fewatoms.atoms.base import AtomicSet, FiniteSet, Listing
from fewatoms.atoms.block_rank_one import BlockRankOne
from fewatoms.atoms.groups import Groups
from fewatoms.atoms.joint import Joint
from fewatoms.atoms.mapped import Dictionary, Mapped, Rescaled
from fewatoms.atoms.onehot import NonnegativeCone, NonnegativeOneHot, SignedOneHot
from fewatoms.atoms.psd import PSDRankOne
from fewatoms.atoms.rank_one import RankOne
from fewatoms.atoms.restricted import Restricted
from fewatoms.atoms.scaled import Scaled
from fewatoms.atoms.sums import Sum, Union

__all__ = [
    "AtomicSet",
    "BlockRankOne",
    "Dictionary",
    "FiniteSet",
    "Groups",
    "Joint",
    "Listing",
    "Mapped",
    "NonnegativeCone",
    "NonnegativeOneHot",
    "PSDRankOne",
    "RankOne",
    "Rescaled",
    "Restricted",
    "Scaled",
    "SignedOneHot",
    "Sum",
    "Union",
]
