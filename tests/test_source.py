"""What many answers are about: problems, proofs and words of each are those of its own fit."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.asked import Fingerprint
from fewatoms.certificates import Certificate
from fewatoms.evidence import Proof
from fewatoms.figures import Figures
from fewatoms.solution import Status
from fewatoms.source import Source, digest_of

RNG = np.random.default_rng(4)
A = RNG.standard_normal((15, 8))
B = A[:, :3] @ RNG.standard_normal((3, 4)) + 0.1 * RNG.standard_normal((15, 4))


def source(atoms=None, duals=None, **words):
    problem = fa.Problem.of(A, B[:, 0], atoms=atoms or fa.SignedOneHot(8), **{"k": 3, **words})
    return Source(problem, B, duals, problem.atoms)


def test_each_has_its_own_data_and_bound():
    about = source(misfit=0.3)
    for i in range(4):
        problem, alone = about.posed(i), fa.Problem.of(A, B[:, i], atoms=fa.SignedOneHot(8), k=3, misfit=0.3)
        np.testing.assert_array_equal(problem.data, B[:, i])
        assert problem.alpha == alone.alpha
        assert about.digest(i) == Fingerprint.of(alone).data
    some = about.taken(np.array([2, 0]))
    np.testing.assert_array_equal(some.posed(0).data, B[:, 2])
    assert some.digest(1) == about.digest(0)


def test_data_that_are_no_data_have_a_digest():
    about = source()
    bad = np.where(np.arange(15) == 3, np.nan, B[:, 0])
    assert digest_of(about.problem, bad) == digest_of(about.problem, bad.copy())
    assert digest_of(about.problem, bad) != digest_of(about.problem, B[:, 0])
    assert digest_of(about.problem, np.full(15, 1e200)) != digest_of(about.problem, np.full(15, 2e200))


@pytest.mark.parametrize("given", [False, True], ids=["own", "given"])
def test_proofs_hold_for_the_answer_s_own_dual_vector(given):
    s = fa.fit(A, B[:, 1], atoms=fa.SignedOneHot(8), k=3)
    face, c = s.compact
    duals = np.full((4, 15), np.nan)
    duals[1] = B[:, 1] - A @ s.x
    about = source(duals=duals if given else None)
    figures = Figures(s.loss, float(np.abs(c).sum()), 3, True, None, 0, None)
    with ledger.opened():
        problem, evidence = about.proven(1, face, c, figures)
        certificate = Certificate(figures, Proof(lambda: (problem, evidence)), s.certificate.asked)
        np.testing.assert_allclose(certificate.y, duals[1], atol=1e-12)
    assert 0 <= certificate.gap < np.inf
    assert certificate.gap >= s.certificate.gap * (1 - 1e-9)


def test_somebody_who_proves_is_asked_where_no_dual_vector_is_known():
    asked = []

    def prove(problem, face, c):
        asked.append(problem)
        return None

    s = fa.fit(A, B[:, 1], atoms=fa.SignedOneHot(8), k=3)
    figures = Figures(s.loss, 1.0, 3, True, None, 0, None)
    duals = np.full((4, 15), np.nan)
    duals[2] = B[:, 2]
    plain = source(duals=duals)
    about = Source(plain.problem, B, duals, plain.atoms, prove)
    about.proven(1, *s.compact, figures)
    about.proven(2, *s.compact, figures)
    assert s.certificate.gap < np.inf
    about.proven(1, *s.compact, s.certificate.known())  # its relaxation is
    assert [p.data.tolist() for p in asked] == [B[:, 1].tolist()]


@pytest.mark.parametrize(
    "words", [{}, {"misfit": 0.9}, {"misfit": 1e-3}, {"misfit": 0.9, "k": None}, {"ridge": 0.5}], ids=str
)
def test_messages_are_those_of_fits(words):
    about = source(**words)
    for i in range(4):
        s = fa.fit(A, B[:, i], atoms=fa.SignedOneHot(8), **{"k": 3, **words})
        numbers = {"paid": s.certificate.known().paid, "loss": s.loss, "misfit": s.misfit}
        told = about.message(i, s.status, s.compact[0], numbers)
        assert s.message == told or s.message.startswith(f"{told[:-1]}; ")  # many keep no reasons


def test_atoms_that_are_idle_or_alike_are_noted():
    M = A[:, [0, 0, 1, 2, 3, 4, 5, 6]] * np.r_[1, 2, np.ones(6)]
    atoms = fa.NonnegativeOneHot(8).restricted(include=[7])
    problem = fa.Problem.of(M, M[:, 0] - M[:, 7], atoms=atoms, k=3)
    listing, twins = atoms.listing(), np.full(8, -1)
    twins[[0, 1]] = 1, 0
    about = Source(problem, problem.data[:, None], None, problem.atoms, None, twins)
    said = about.message(0, Status.SMALLEST_LOSS, listing.face(np.array([1, 3])), {"paid": 0, "loss": 1, "misfit": 0.5})
    assert "number 7 for one" in said
    assert "atoms 1 and 0, for one pair, have the same image" in said
    said = about.message(0, Status.SMALLEST_LOSS, listing.face(np.array([7, 3])), {"paid": 0, "loss": 1, "misfit": 0.5})
    assert "to include" not in said
    assert "same image" not in said
