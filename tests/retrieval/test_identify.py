"""Which atoms are looked at: against sorting the alignments by hand."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.retrieval import Active, Generous, TopK, reduced_fit

N = 12
M = np.random.default_rng(0).standard_normal((30, N))


def posed(atoms, k, M=M, b=None):
    return fa.Problem.of(M, np.ones(len(M)) if b is None else b, atoms=atoms, k=k)


def dual(problem, z, primal=None):
    z = np.asarray(z, dtype=float).reshape(problem.atoms.shape)
    return DualPoint(np.zeros(problem.m), z, problem.atoms.support(z), fa.P1(problem, 1.0), primal=primal)


def places(face):
    return sorted(np.asarray(face.labels()).tolist())


ALIGNED = np.array([5.0, -4.9, 4.8, 4.0, -3.0, 2.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("k", [1, 3, N])
def test_the_papers_rule_takes_the_k_best(k):
    problem = posed(fa.SignedOneHot(N), k)
    for seed in range(5):
        z = np.random.default_rng(seed).standard_normal(N)
        assert places(TopK()(problem, dual(problem, z))) == sorted(np.argsort(-np.abs(z))[:k].tolist())


def test_the_papers_rule_keeps_to_the_budget_of_each_part():
    problem = posed(fa.SignedOneHot(N) + fa.Groups(np.arange(N) // 3), (2, 1))
    face = TopK()(problem, dual(problem, ALIGNED))
    assert [part.size for part in face.parts] == [2, 1]
    assert [places(part) for part in face.parts] == [[0, 1], [0]]


@pytest.mark.parametrize(
    ("k", "tie", "most", "expected"),
    [
        (2, 0.05, 2.0, 3),  # 4.8 is within 5 % of 5: it comes along
        (1, 0.05, 3.0, 3),
        (1, 0.05, 2.0, 2),  # up to the cap
        (2, 0.0, 2.0, 2),
        (2, 0.25, 2.0, 4),
        (2, 0.25, 10.0, 4),  # 3.0 is too far away
        (4, 0.01, 2.0, 4),  # never fewer than k
        (3, 1.0, 1.0, 3),  # a cap of k is the paper's rule
        (5, 1.0, 3.0, N),  # no more than there are
    ],
)
def test_ties_come_along_up_to_the_cap(k, tie, most, expected):
    problem = posed(fa.SignedOneHot(N), k)
    assert places(Generous(tie, most)(problem, dual(problem, ALIGNED))) == list(range(expected))


def test_ties_against_counting_them():
    rng = np.random.default_rng(1)
    problem = posed(fa.SignedOneHot(N), 3)
    for _ in range(30):
        z = np.sign(rng.standard_normal(N)) * rng.uniform(0.8, 1.0, N)
        tied = int(np.sum(np.abs(z) >= 0.95 * np.abs(z).max()))
        face = Generous()(problem, dual(problem, z))
        assert face.size == min(max(3, tied), 6)
        assert places(face) == sorted(np.argsort(-np.abs(z))[: face.size].tolist())


def test_no_more_coefficients_than_half_the_data():
    """A face with more coefficients than data explains nothing; but never fewer than k atoms."""
    for rows, expected in ((4, 2), (6, 3), (8, 4), (2, 2), (1, 2)):
        problem = posed(fa.SignedOneHot(N), 2, M[:rows])
        assert Generous(tie=1.0)(problem, dual(problem, ALIGNED)).size == expected


def test_each_part_has_its_own_tie_and_cap():
    groups = fa.Groups(np.repeat(np.arange(4), 3))
    problem = posed(fa.SignedOneHot(N) + groups, (2, 1))
    z = np.concatenate([ALIGNED[:3], ALIGNED[:3], np.full(6, 0.1)])
    face = Generous()(problem, dual(problem, z))
    assert places(face.parts[0]) == [0, 1, 3, 4]  # 5, 4.9 twice, up to twice k; 4.8 is past the cap
    assert places(face.parts[1]) == [0, 1]  # both of the same length
    nested = posed((fa.SignedOneHot(N) | groups) + fa.NonnegativeOneHot(N), ((1, 1), 1))
    face = Generous()(nested, dual(nested, z))
    assert [[part.size for part in face.parts[0].parts], face.parts[1].size] == [[2, 2], 2]


def test_cones_have_no_ties():
    problem = posed(fa.NonnegativeCone(N), 2)
    assert Generous(tie=1.0)(problem, dual(problem, np.abs(ALIGNED))).size == 2


def test_singular_vectors_tie_as_singular_values_do():
    X = np.diag([5.0, 4.9, 4.8, 1.0])
    problem = fa.Problem.of(fa.Identity((4, 4)), X, atoms=fa.RankOne(4, 4), k=2)
    assert Generous()(problem, dual(problem, X)).size == 3
    assert TopK()(problem, dual(problem, X)).size == 2


def test_what_the_oracles_own_point_uses():
    problem = posed(fa.SignedOneHot(N), 2)
    face = problem.atoms.expose(np.eye(N)[3] + np.eye(N)[7] + np.eye(N)[9], 3)
    c = np.zeros(3)
    for place, value in ((3, 0.1), (7, -2.0), (9, 1.0)):
        c[places(face).index(place)] = value
    c = c[np.argsort(np.argsort(np.asarray(face.labels())))]
    primal = Candidate.of(face, c, problem.b, 1.0)
    assert places(Active()(problem, dual(problem, ALIGNED, primal))) == [7, 9]  # not 0 and 1, the best aligned ones
    empty = reduced_fit(problem, problem.atoms.expose(ALIGNED, 0))
    for nothing in (None, empty):
        assert places(Active()(problem, dual(problem, ALIGNED, nothing))) == [0, 1]
