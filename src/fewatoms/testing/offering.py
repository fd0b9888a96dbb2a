"""Does a capability that is offered keep its contract?"""

from __future__ import annotations

from fewatoms.atoms import AtomicSet
from fewatoms.operators import as_operator
from fewatoms.testing.of_operators import OF_OPERATORS
from fewatoms.testing.of_sets import OF_SETS
from fewatoms.testing.saying import Duals, generator, require


def check_capability(
    thing: object, capability: type, rng: object = None, *, tol: float = 1e-8, duals: Duals | None = None
) -> None:
    """Check one capability of an operator or a set, which must offer it.

    Parameters
    ----------
    thing : AtomicSet, or anything that `Problem` takes as M
    capability : a protocol of `fewatoms.capabilities`, or `fewatoms.atoms.Listing`
    rng : seed or Generator
    tol : float
        Relative.
    duals : callable, optional
        For sets, as in `check_atoms`.
    """
    draw, name = generator(rng), capability.__name__
    if isinstance(thing, AtomicSet):
        require(capability in OF_SETS, f"{name} is a capability of sets", f"they are {_names(OF_SETS)}")
        require(thing.offers(capability) is not None, f"{name} is offered", f"{thing!r} does not offer it")
        shape = thing.shape
        OF_SETS[capability](thing, draw, tol, duals if duals is not None else lambda g: g.standard_normal(shape))
    else:
        M = as_operator(thing)
        require(capability in OF_OPERATORS, f"{name} is a capability of operators", f"they are {_names(OF_OPERATORS)}")
        require(M.offers(capability) is not None, f"{name} is offered", f"{M!r} does not offer it")
        OF_OPERATORS[capability](M, draw, tol)


def _names(table: object) -> str:
    assert isinstance(table, dict)
    return ", ".join(capability.__name__ for capability in table)
