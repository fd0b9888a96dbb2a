"""Problems whose answer is known: the five Sparco constructions, and planted sparse, low-rank and phase data;
and small real data."""

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
from .real import Diabetes, SeaTemperatures, diabetes, handwriting, sea_temperatures
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
    "Diabetes",
    "HaarSynthesis",
    "LowRankData",
    "LowRankPlusSparseData",
    "PhaseData",
    "SeaTemperatures",
    "blocksig",
    "cosspike",
    "diabetes",
    "gcosspike",
    "handwriting",
    "low_rank",
    "low_rank_plus_sparse",
    "phases",
    "sea_temperatures",
    "sgnspike",
    "sparse_regression",
    "spiketrn",
]
