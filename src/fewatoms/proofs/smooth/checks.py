"""Trees checked: from M, b and what they hold."""

from __future__ import annotations

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms.proofs.base import Checked, Question, Tampered, Tree
from fewatoms.proofs.smooth.dive import Dive
from fewatoms.proofs.smooth.exact import Exact
from fewatoms.proofs.smooth.given import Posed
from fewatoms.proofs.smooth.nodes import Nodes
from fewatoms.proofs.smooth.table import TOGETHER, Evaluated, Table, Visit, walked

LESS_ELSEWHERE = 1e-7  # share by which another machine may come to less


def checked(question: Question, posed: Posed | None, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
    """The bound that a tree proves, from all its leaves or a share of them."""
    if posed is None:
        raise Tampered("the tree is of another kind of problem")
    table = Table.read(tree, posed.starts.size - 1, posed.K.shape[1], posed.F.shape[1])
    try:
        k = kept.whole(tree.told["k"])
    except (KeyError, ValueError) as error:
        raise Tampered(f"the tree is damaged: {error}") from None
    if k != question.k:
        raise Tampered(f"the tree is about {k} atoms, not {question.k}")
    posed = posed.shifted(table.shift)
    if not posed.separable(table.shift):
        raise Tampered("more was moved out of the loss than leaves it convex")
    with linalg.single_thread():
        return _gone_through(question, posed, table, share, rng)


def _gone_through(question: Question, posed: Posed, table: Table, share: float, rng: np.random.Generator) -> Checked:
    chosen = np.ones(table.size, dtype=bool)
    if share < 1.0:
        chosen[:] = False
        chosen[rng.choice(table.size, max(1, round(share * table.size)), replace=False)] = True
    wanted = chosen.copy()
    for node in range(table.size - 1, 0, -1):  # their parents' bounds are theirs as well
        if wanted[node]:
            wanted[max(0, int(table.parent[node]))] = True
    again = Again(question, posed, table)
    evaluated, lowest, visits = Evaluated(Exact(posed), table, again.below), np.inf, list[Visit]()
    seen = 0
    for visit in walked(table, posed.root_state, question.k):
        seen += 1
        if wanted[visit.node]:
            visits.append(visit)
            again.look(visit)
        if len(visits) == TOGETHER:
            ledger.tick()
            lowest, visits = min(lowest, evaluated.lowest(visits, chosen)), []
    if seen < table.size:
        raise Tampered("the tree is damaged: nodes hang in the air")
    lowest = min(lowest, evaluated.lowest(visits, chosen) if visits else np.inf)
    return Checked(max(0.0, min(lowest, question.upper)), float(chosen.mean()))


class Again:
    """What was searched through with no record of it is searched through again.

    below : what that comes to, leaf by leaf
    """

    def __init__(self, question: Question, posed: Posed, table: Table) -> None:
        self._question, self._posed, self._table = question, posed, table
        self._claims = dict(zip(table.again.tolist(), table.again_bound.tolist(), strict=True))
        self._nodes: Nodes | None = None
        self.below: dict[int, float] = {}

    def look(self, visit: Visit) -> None:
        claim = self._claims.get(visit.node)
        if claim is None or claim <= 0.0:  # no loss is negative
            return
        if not visit.leaf:
            raise Tampered(f"the tree is damaged: node {visit.node} is parted, and said not to be")
        self._nodes = Nodes(self._posed) if self._nodes is None else self._nodes
        X, V = self._table.coefficients([visit.node], self._posed.K.shape[1])
        v = self._posed.projected(X[:, 0], V[:, 0])
        known = self._nodes.at(visit.state, visit.kappa, X[:, 0], v)
        dive = Dive(self._nodes, Exact(self._posed), visit.state, visit.kappa, known, -np.inf)
        while not dive.ended:
            ledger.tick()
            dive.step(claim)
            if dive.lowest < claim * (1.0 - LESS_ELSEWHERE):
                raise Tampered(f"what is below node {visit.node} does not reach what is said of it")
        self.below[visit.node] = dive.lowest
