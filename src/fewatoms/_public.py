"""The public names, and where they are from."""

from fewatoms import callbacks, methods, operators, oracles, phase, retrieval
from fewatoms._renamed import tell_of_names
from fewatoms.atoms import (
    AtomicSet,
    BlockRankOne,
    Dictionary,
    FiniteSet,
    Groups,
    Joint,
    Mapped,
    NonnegativeCone,
    NonnegativeOneHot,
    PSDRankOne,
    RankOne,
    SignedOneHot,
)
from fewatoms.beside import Biases
from fewatoms.certificates import Certificate
from fewatoms.chosen import choose_k
from fewatoms.doors import fit, fit_many
from fewatoms.entered import EntryBlocks
from fewatoms.files import load
from fewatoms.losses import Huber, LeastSquares, Logistic, Loss, Multinomial
from fewatoms.lowrank import LowRank
from fewatoms.methods import General, Paper
from fewatoms.operators import Counting, Identity, Operator, Quadratic, RowBlocks, Sampling
from fewatoms.oracles import FromIterates, LevelSet
from fewatoms.path import Path, fit_path
from fewatoms.problem import Problem
from fewatoms.proofs.door import prove
from fewatoms.proofs.proof import Proof, Verified
from fewatoms.ranking import Ranking
from fewatoms.records import Progress
from fewatoms.relaxations import P1, P2, P3
from fewatoms.resumed import resume
from fewatoms.retrieval import paper_rule
from fewatoms.solution import Solution, Status
from fewatoms.solutions import Solutions

__all__ = [
    "P1",
    "P2",
    "P3",
    "AtomicSet",
    "Biases",
    "BlockRankOne",
    "Certificate",
    "Counting",
    "Dictionary",
    "EntryBlocks",
    "FiniteSet",
    "FromIterates",
    "General",
    "Groups",
    "Huber",
    "Identity",
    "Joint",
    "LeastSquares",
    "LevelSet",
    "Logistic",
    "Loss",
    "LowRank",
    "Mapped",
    "Multinomial",
    "NonnegativeCone",
    "NonnegativeOneHot",
    "Operator",
    "PSDRankOne",
    "Paper",
    "Path",
    "Problem",
    "Progress",
    "Proof",
    "Quadratic",
    "RankOne",
    "Ranking",
    "RowBlocks",
    "Sampling",
    "SignedOneHot",
    "Solution",
    "Solutions",
    "Status",
    "Verified",
    "callbacks",
    "choose_k",
    "fit",
    "fit_many",
    "fit_path",
    "load",
    "methods",
    "operators",
    "oracles",
    "paper_rule",
    "phase",
    "prove",
    "resume",
    "retrieval",
]

tell_of_names()
