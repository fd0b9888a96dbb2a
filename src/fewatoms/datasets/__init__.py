"""Problems whose answer is known: the five Sparco constructions, and planted sparse, low-rank and phase data."""

from ._dataset import Dataset
from .planted import (
    LowRankData,
    LowRankPlusSparseData,
    PhaseData,
    low_rank,
    low_rank_plus_sparse,
    phases,
    sparse_regression,
)
from .sparco import (
    SPARCO,
    CausalConvolution,
    CosinesAndSpikes,
    DCTSynthesis,
    HaarSynthesis,
    blocksig,
    cosspike,
    gcosspike,
    sgnspike,
    spiketrn,
)

__all__ = [
    "SPARCO",
    "CausalConvolution",
    "CosinesAndSpikes",
    "DCTSynthesis",
    "Dataset",
    "HaarSynthesis",
    "LowRankData",
    "LowRankPlusSparseData",
    "PhaseData",
    "blocksig",
    "cosspike",
    "gcosspike",
    "low_rank",
    "low_rank_plus_sparse",
    "phases",
    "sgnspike",
    "sparse_regression",
    "spiketrn",
]
