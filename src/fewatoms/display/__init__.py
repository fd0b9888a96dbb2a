"""Figures: displays, which are made of an answer and drawn with `.plot(ax=...)`, and the figure of the demo. matplotlib
is imported when one is drawn; what is drawn, in numbers, comes from `drawn`, which reports share."""

from fewatoms.display.atoms import AtomsDisplay
from fewatoms.display.convergence import ConvergenceDisplay
from fewatoms.display.decomposition import DecompositionDisplay
from fewatoms.display.demo import demo_figure
from fewatoms.display.matrix import MatrixDisplay
from fewatoms.display.path import PathDisplay
from fewatoms.display.proof import ProofDisplay
from fewatoms.display.spectra import SpectraDisplay

__all__ = [
    "AtomsDisplay",
    "ConvergenceDisplay",
    "DecompositionDisplay",
    "MatrixDisplay",
    "PathDisplay",
    "ProofDisplay",
    "SpectraDisplay",
    "demo_figure",
]
