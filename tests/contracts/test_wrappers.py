"""Every wrapper around an operator or set that offers each capability: what is lifted agrees with what it wraps, seen
the same way; what is not lifted is None."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import black_box, few, generator, over, projector
from fewatoms import (
    Counting,
    Groups,
    Identity,
    Mapped,
    NonnegativeOneHot,
    PSDRankOne,
    Quadratic,
    RankOne,
    Sampling,
    SignedOneHot,
    ledger,
)
from fewatoms.atoms import Listing
from fewatoms.atoms.mapped import LinearMap, Rescaled
from fewatoms.capabilities import (
    ColumnBlocks,
    FactorFits,
    FactorImages,
    Gauge,
    Intensities,
    Norms,
    Prox,
    RankOnePairs,
    SampledEntries,
    SeenAsIs,
    Semidefinite,
    SparseColumns,
    Spectrum,
)
from fewatoms.operators import Composed, Metered, Projected, Rows, Several, as_operator
from fewatoms.testing import check_atoms, check_capability, check_operator

OF_OPERATORS = (ColumnBlocks, SeenAsIs, SparseColumns, SampledEntries, FactorFits, FactorImages, Intensities, Norms)
OF_SETS = (Prox, Gauge, Listing, RankOnePairs, Semidefinite, Spectrum)
M_ROWS, P, Q = 9, 3, 4
KEPT = np.array([7, 0, 3, 5])
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
TURN = generator(21).standard_normal((P * Q, P * Q))


class Knowing:
    """A box of one's own that offers whatever it is told to, and hands all else on."""

    def __init__(self, M, *offered):
        self.M, self.offered = M, offered
        self.shape, self.model_shape, self.complex = M.shape, M.model_shape, M.complex

    def apply(self, x):
        return self.M.apply(x)

    def adjoint(self, y):
        return self.M.adjoint(y)

    def offers(self, capability):
        return self.M.offers(capability) if capability in self.offered else None


# What is wrapped: nine data of a 3 x 4 matrix (3 x 3 for intensities), each with what it offers

DENSE = generator(1).standard_normal((M_ROWS, P * Q))
PLACES = np.divmod(generator(2).permutation(P * Q)[:M_ROWS], Q)
SQUARE = generator(3).standard_normal((M_ROWS, P))
TURNED = SQUARE + 1j * generator(4).standard_normal((M_ROWS, P))
INNER = {
    "dense": (as_operator(DENSE), {ColumnBlocks, FactorImages, Norms}),
    "sparse": (as_operator(sp.csr_array(DENSE * (np.abs(DENSE) > 0.8))), {ColumnBlocks, Norms, SparseColumns}),
    "picking": (
        as_operator(np.eye(P * Q)[[5, 0, 11, 2, 7, 1, 8, 3, 10]]),
        {ColumnBlocks, FactorImages, Norms, SeenAsIs},
    ),
    "black box": (as_operator(black_box(DENSE)), set()),
    "sampling": (Sampling(*PLACES, (P, Q)), {SeenAsIs, SampledEntries, FactorFits, Norms}),
    "identity": (Identity((P, P)), {ColumnBlocks, SeenAsIs, FactorFits, Norms}),
    "quadratic": (Quadratic(SQUARE), {Intensities, Norms}),
    "complex quadratic": (Quadratic(TURNED), {Intensities, Norms}),
    "own, columns": (as_operator(Knowing(as_operator(DENSE), ColumnBlocks)), {ColumnBlocks}),
    "own, norms": (as_operator(Knowing(as_operator(DENSE), Norms)), {Norms}),
    "own, pairs": (as_operator(Knowing(as_operator(DENSE), FactorImages)), {FactorImages}),
    "own, entries": (
        as_operator(Knowing(Sampling(*PLACES, (P, Q)), SampledEntries, SeenAsIs)),
        {SampledEntries, SeenAsIs},
    ),
    "own, fits": (as_operator(Knowing(Sampling(*PLACES, (P, Q)), FactorFits)), {FactorFits}),
    "own, intensities": (as_operator(Knowing(Quadratic(TURNED), Intensities)), {Intensities}),
}

# name -> (wrapper, its dense twin, what it lifts)

EVERYTHING = set(OF_OPERATORS)
COLUMNWISE = {ColumnBlocks, SeenAsIs, Norms}


def dense_rows(A):
    return A[KEPT]


WRAPPERS = {
    "counting": (Counting, lambda A: A, EVERYTHING),
    "metered": (Metered, lambda A: A, EVERYTHING),
    "counting twice": (lambda M: Counting(Counting(M)), lambda A: A, EVERYTHING),
    "rows": (lambda M: Rows(M, KEPT), dense_rows, EVERYTHING),
    "rows counted": (lambda M: Counting(Rows(M, KEPT)), dense_rows, EVERYTHING),
    "rows of what is counted": (lambda M: Rows(Counting(M), KEPT), dense_rows, EVERYTHING),
    "rows of rows": (lambda M: Rows(Rows(M, KEPT), np.array([2, 0])), lambda A: A[KEPT][[2, 0]], EVERYTHING),
    "projected": (
        lambda M: Projected(M, FREE),
        lambda A: projector(FREE, None) @ A,
        {ColumnBlocks, FactorImages, Norms},
    ),
    "projected, weights": (
        lambda M: Projected(M, FREE, WEIGHTS),
        lambda A: projector(FREE, WEIGHTS) @ A,
        {ColumnBlocks, FactorImages, Norms},
    ),
    "several": (lambda M: Several(M, 2), lambda A: np.kron(A, np.eye(2)), COLUMNWISE),
    "several counted": (lambda M: Counting(Several(M, 2)), lambda A: np.kron(A, np.eye(2)), COLUMNWISE),
    "composed": (
        lambda M: Composed(M, LinearMap(TURN[: M.shape[1]], "B"), (P * Q,)),
        lambda A: A @ TURN[: A.shape[1]],
        {ColumnBlocks},
    ),
    "composed with a black box": (
        lambda M: Composed(M, LinearMap(black_box(TURN[: M.shape[1]]), "B"), (P * Q,)),
        lambda A: A @ TURN[: A.shape[1]],
        set(),
    ),
}


def fits(inner, wrapper):
    """Complex matrices have no columns to stack and no real map before them; data vectors share a vector model."""
    if wrapper.startswith(("several", "composed")) and INNER[inner][0].complex:
        return False
    return not wrapper.startswith("several") or len(INNER[inner][0].model_shape) == 1


PAIRS = [pytest.param(i, w, id=f"{w} of {i}") for i in INNER for w in WRAPPERS if fits(i, w)]


@pytest.mark.parametrize("name", INNER)
def test_what_is_wrapped_offers_what_it_says(name):
    M, offered = INNER[name]
    assert {capability for capability in OF_OPERATORS if M.offers(capability) is not None} == offered
    for capability in offered:
        check_capability(M, capability)


def test_every_capability_of_operators_is_wrapped():
    assert set().union(*(offered for _, offered in INNER.values())) == EVERYTHING


@pytest.mark.parametrize(("inner", "wrapper"), PAIRS)
def test_capabilities_of_operators_are_lifted(inner, wrapper):
    """As the table says, and right: the checker of each holds for the wrapper itself."""
    M, offered = INNER[inner]
    wrap, _, lifted = WRAPPERS[wrapper]
    outer = wrap(M)
    found = {capability for capability in OF_OPERATORS if outer.offers(capability) is not None}
    assert found == offered & lifted
    for capability in found:
        check_capability(outer, capability)


@pytest.mark.parametrize(("inner", "wrapper"), PAIRS)
def test_wrappers_are_the_dense_twin(inner, wrapper):
    M, _ = INNER[inner]
    wrap, twin, _ = WRAPPERS[wrapper]
    outer = wrap(M)
    if not M.complex:
        np.testing.assert_allclose(naive.dense_operator(outer), twin(naive.dense_operator(M)), atol=1e-11)
    check_operator(outer, trials=1)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("inner", ["dense", "black box", "own, columns"])
def test_subsets_of_wrappers(inner, wrapper):
    """Some of the data, whoever knows the better way to leave the others out."""
    M = as_operator(DENSE) if wrapper.startswith("several") else INNER[inner][0]
    outer = WRAPPERS[wrapper][0](M)
    A = naive.dense_operator(outer)
    for rows in (np.arange(outer.shape[0])[::-2].copy(), np.array([0, 1]), np.array([1])):
        np.testing.assert_allclose(naive.dense_operator(outer.subset(rows)), A[rows], atol=1e-12)


def test_a_counter_of_each_kind_agrees():
    """Counters inside, outside and in the ledger take down the same."""
    for inner in ("dense", "black box", "sampling", "quadratic"):
        inside = Counting(INNER[inner][0])
        metered = Metered(inside)
        outside = Counting(metered)
        atoms = PSDRankOne(P) if inner == "quadratic" else RankOne(P, Q)
        face = atoms.expose(generator(5).standard_normal(atoms.shape), 2)
        with ledger.opened() as spent:
            reduced = outside.restrict(face)
            reduced.apply(np.ones(face.dim))
            reduced.adjoint(np.ones(M_ROWS))
            reduced.normal_equations(np.ones(M_ROWS))
            reduced.formed()
            outside.adjoint_block(np.ones((M_ROWS, 3)))
            outside.charge(5)
            outside.subset(np.array([0, 2])).adjoint(np.ones(2))
        assert inside.products == outside.products == spent.products > 5


# Sets

LABELS = np.array([0, 2, 1, 0, 2, 1])
VECTORS = {
    "signed": (SignedOneHot(6), {Prox, Gauge, Listing}),
    "nonnegative": (NonnegativeOneHot(6), {Prox, Gauge, Listing}),
    "groups": (Groups(LABELS, weights=[1.0, 2.0, 0.5]), {Prox, Gauge, Listing}),
    "rank one": (RankOne(2, 3), {Prox, Gauge, RankOnePairs, Spectrum}),
    "rank one, nonnegative": (RankOne(2, 3, nonnegative=True), {Prox, Gauge, RankOnePairs, Spectrum}),
}
SQUARES = {"psd": (PSDRankOne(2), {Prox, Gauge, Semidefinite, Spectrum})}
MAP = generator(6).standard_normal((6, 6))
SHARED = {Prox, Gauge, Listing, Spectrum}
AROUND = {
    "double": (lambda A: 2.0 * A, SHARED),
    "turned over": (lambda A: -1.5 * A, SHARED),
    "mapped": (lambda A: Mapped(MAP[:, : A.n], A), SHARED),
    "mapped by a black box": (lambda A: Mapped(black_box(MAP[:, : A.n]), A), SHARED),
    "mapped double": (lambda A: Mapped(MAP[:, : A.n], 2.0 * A), SHARED),
    "double mapped": (lambda A: 2.0 * Mapped(MAP[:, : A.n], A), SHARED),
    "in units": (lambda A: Rescaled(A, np.linspace(0.5, 2.0, A.n)), SHARED),
    "sum": (lambda A: A + 0.5 * A, {Prox, Gauge}),
    "union": (lambda A: A | 2.0 * A, {Prox, Gauge}),
}
EVERY_SET = VECTORS | SQUARES


@pytest.mark.parametrize(("name", "pair"), **over(EVERY_SET))
def test_sets_offer_what_they_say(name, pair):
    atoms, offered = pair
    assert {capability for capability in OF_SETS if atoms.offers(capability) is not None} == offered
    for capability in offered:
        check_capability(atoms, capability)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("name", "pair"), **over(EVERY_SET))
def test_capabilities_of_sets_are_lifted(name, pair, around):
    atoms, offered = pair
    wrap, lifted = AROUND[around]
    outer = wrap(atoms)
    found = {capability for capability in OF_SETS if outer.offers(capability) is not None}
    assert found == offered & lifted
    # a gauge by cutting planes is dear where atoms are not finitely many
    dear = name not in ("signed", "nonnegative") and around not in ("double", "turned over", "in units")
    for capability in found - ({Gauge} if dear else set()):
        check_capability(outer, capability)


@pytest.mark.parametrize("around", ["double", "mapped", "in units", "sum"])
def test_wrappers_of_a_set_that_offers_nothing(around):
    """Neither do they: what is asked for is not there, and what is left keeps the contract."""

    class Bare(SignedOneHot):
        """Known by its linear oracle alone."""

        finite = attained = False
        shrink = gauge = None

        def listing(self):
            return None

        def alignments(self, z):
            return None

        def support(self, z):
            return float(np.abs(z).max())

        def expose(self, z, k):
            return SignedOneHot(6).expose(z, min(k, 1))

        def exposed(self, z, eps, limit=None, least=0):
            return self.expose(z, 1)

    outer = AROUND[around][0](Bare(6))
    assert [capability for capability in OF_SETS if outer.offers(capability) is not None] == []
    assert outer.expose(np.ones(outer.shape), few(outer, 2)).size >= 1
    check_atoms(outer, trials=1)
