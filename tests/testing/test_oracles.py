"""The checker of oracles fails on streams that are broken on purpose, and says which identity it is."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import P1, FromIterates, Huber, LeastSquares, NonnegativeCone, Problem, SignedOneHot, ledger
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.oracles import Continuation
from fewatoms.testing import check_oracle
from test_examples import module

M = generator(1).standard_normal((8, 12))


def problem(**more):
    return Problem.of(M, M[:, 0] - M[:, 5], atoms=SignedOneHot(12), k=2, **more)


class Changed:
    """Another oracle's points, with something changed."""

    def __init__(self, change, oracle=None):
        self.change, self.oracle = change, oracle or Continuation()

    def iterates(self, problem):
        for dual in self.oracle.iterates(problem):
            yield self.change(dual, problem)


def wrong_candidate(dual, problem):
    face = problem.atoms.expose(dual.z, 1)
    return replace(dual, primal=Candidate.of(face, np.ones(1), problem.b, problem.at_zero), loss=problem.at_zero)


BROKEN = {
    "z": (lambda d, p: replace(d, z=2.0 * d.z, support=2.0 * d.support), r"z = M\*y"),
    "support": (lambda d, p: replace(d, support=0.9 * d.support), r"support = support\(z\)"),
    "length": (lambda d, p: replace(d, y=d.y[1:]), "y has one entry for each datum"),
    "not a number": (lambda d, p: replace(d, y=np.full(8, np.nan)), "finite real numbers"),
    "vectors": (lambda d, p: d.y, "iterates are DualPoints"),
    "own point": (wrong_candidate, "its loss is that of its point"),
    "loss": (lambda d, p: replace(d, loss=1e-9, gauge=0.0, primal=None), "weak duality"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_streams_are_named(name):
    change, told = BROKEN[name]
    check_oracle(Continuation(), problem())
    with pytest.raises(AssertionError, match=rf"{told}.* does not hold: "):
        check_oracle(Changed(change), problem())


def test_vectors_outside_of_the_domain_are_named():
    def far(dual, p):
        y = np.full(8, 5.0)
        z = p.M.adjoint(y)
        return DualPoint(y, z, p.atoms.support(z), P1(p, 1.0))

    with pytest.raises(AssertionError, match=r"y lies in dom f\* does not hold"):
        check_oracle(Changed(far), problem(loss=Huber(0.5)))


def test_an_empty_stream_is_named():
    with pytest.raises(AssertionError, match="the stream is not empty"):
        check_oracle(FromIterates([]), problem())


def test_another_stream_under_the_same_seed_is_named():
    class Fresh:
        rng = np.random.default_rng(0)

        def iterates(self, problem):
            return FromIterates([self.rng.standard_normal(8)]).iterates(problem)

    class Seeded:
        """By the generator of the run, as it should be."""

        def iterates(self, problem):
            return FromIterates([ledger.generator().standard_normal(8)]).iterates(problem)

    check_oracle(Seeded(), problem(), rng=3)
    with pytest.raises(AssertionError, match="started again, with the same seed"):
        check_oracle(Fresh(), problem())


def test_a_generator_that_is_used_up_is_named():
    with pytest.raises(AssertionError, match=r"a generator cannot be.* does not hold: 0 against 1"):
        check_oracle(FromIterates(y for y in [np.ones(8)]), problem())


def test_an_oracle_that_writes_into_the_data_is_named():
    class Writing:
        def iterates(self, problem):
            yield from FromIterates([problem.b.copy()]).iterates(problem)
            problem.b[0] += 1.0

    with pytest.raises(AssertionError, match="the problem stays as it is does not hold"):
        check_oracle(Writing(), problem())


def test_a_broken_example_is_named():
    class Impatient(module("own_oracle").ProjectedGradient):
        def iterates(self, problem):
            for dual in super().iterates(problem):
                yield replace(dual, y=0.5 * dual.y)

    A = np.abs(M)
    cone = Problem.of(A, A[:, 0], atoms=NonnegativeCone(12), k=1, loss=LeastSquares())
    check_oracle(module("own_oracle").ProjectedGradient(np.linalg.norm(A, 2) ** 2), cone)
    with pytest.raises(AssertionError, match=r"z = M\*y does not hold"):
        check_oracle(Impatient(np.linalg.norm(A, 2) ** 2), cone)
