"""Searches for supports in the small space of a Gram matrix: `state.py` and `blocks.py` what a support is and how it
moves, `drivers.py` what is done with it, `who.py` whether that runs as it stands or compiled."""

from __future__ import annotations

from fewatoms.gram.who import CREW as CREW
from fewatoms.gram.who import engine as engine
