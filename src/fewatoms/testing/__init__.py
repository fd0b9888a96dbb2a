"""Identity checkers: does a part of your own keep its contract?

    fewatoms.testing.check_operator(M)
    fewatoms.testing.check_loss(loss, m=20)
    fewatoms.testing.check_atoms(atoms)
    fewatoms.testing.check_face(face)
    fewatoms.testing.check_oracle(oracle, problem)
    fewatoms.testing.check_method(method, problem)
    fewatoms.testing.check_capability(thing, ColumnBlocks)

Each draws random points (the same ones for the same `rng`) and raises an AssertionError that names the identity that
fails, the two numbers and the tolerance. What passes is not proven; what fails is refuted. They need no test framework,
and take seconds on members of a few hundred entries: check a small one, the code is the same. `check_operator` and
`check_atoms` check every capability that is offered; `check_capability` asks for one that must be.
"""

from fewatoms.testing.faces import check_face
from fewatoms.testing.losses import check_loss
from fewatoms.testing.methods import check_method
from fewatoms.testing.offering import check_capability
from fewatoms.testing.operators import check_operator
from fewatoms.testing.oracles import check_oracle
from fewatoms.testing.sets import check_atoms

__all__ = [
    "check_atoms",
    "check_capability",
    "check_face",
    "check_loss",
    "check_method",
    "check_operator",
    "check_oracle",
]
