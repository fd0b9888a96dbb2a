"""Sampled entries of a matrix that are too many for memory: in both orders, in blocks of lines, on disk or on the
workers of a cluster.

Entries never come here, and no vector as long as they are: a sweep ships factors to the blocks, and factors come back.
`blocks.py` is the operator and its door, `lines.py` one order, `stored.py` one block and what is done to it,
`combined.py` what stands in for vectors.
"""

from fewatoms.entered.blocks import EntryBlocks
from fewatoms.entered.combined import Combined

__all__ = ["Combined", "EntryBlocks"]
