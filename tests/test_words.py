"""The one place that speaks: messages of answers, notes, certificates in prose."""

import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import words
from fewatoms.budget import Budget
from fewatoms.certificates import Certificate
from fewatoms.evidence import Proof, proven_again
from fewatoms.figures import Named, Relaxed


@pytest.mark.parametrize("name", NAMES)
def test_messages_have_one_form(name):
    """What was asked, what was found with its figures, what that means; sentences, each with an end."""
    s = answer(name)
    asked, found = s.message.split(". Found: ")
    assert asked.startswith("Asked: ")
    assert f"with loss {s.loss:.6g}" in found
    assert ("misfit" in found) == (not np.isnan(s.misfit))
    assert s.message.endswith(".")
    assert ".." not in s.message
    assert "  " not in s.message
    k = s.certificate.problem.budget
    assert (f"at most {k.words}" in asked) == (not k.nothing_said)
    assert ("a loss of at most" in asked) == (s.certificate.problem.alpha is not None)


def test_asked_and_found_in_numbers():
    assert answer("signed").message.startswith("Asked: at most 3 atoms. Found: 3 atoms with loss ")
    assert answer("robust").message.startswith("Asked: at most 1 + 5 atoms. Found: 1 + 5 atoms with loss ")
    assert answer("psd").message.startswith("Asked: at most 1 atom and a loss of at most ")
    assert answer("fewest").message.startswith("Asked: few atoms with a loss of at most ")
    assert answer("pursuit").message.startswith("Asked: a small gauge with a loss of at most ")
    told = answer("completion, ridge").message
    assert "the loss plus 0.5 times the gauge to be small" in told
    assert "This is the smallest loss + ridge times gauge found with at most k atoms." in told


def test_what_is_paid_is_told():
    s = answer("ridge")
    assert "the loss plus 0.15 times the squares of the coefficients of images of length 1 to be small" in s.message
    assert f" and objective {s.objective:.6g}. This is the smallest loss + ridge / 2 times squares found" in s.message
    lines = str(s.certificate).splitlines()
    assert lines[0] == f"Recomputed: loss {s.loss:.6g} with 3 atoms of 3 allowed, objective {s.objective:.6g}."
    assert ", ridge 0.3, atoms in units of their images) has its optimum between " in lines[1]
    bound = answer("ridge, bound")
    assert "The ridge plays no part in that: it speaks of the loss and the gauge alone." in str(bound.certificate)
    assert "objective" not in str(answer("signed").certificate) + answer("signed").message


def test_without_a_penalty_the_relaxation_bounds_every_objective():
    """(P1) at 0 is what is asked without the number of atoms."""
    s = answer("ridge")
    problem, (face, c) = s.certificate.problem, s.compact
    figures = s.certificate.known().for_another_relaxation()
    named = figures_with_penalty(figures, 0.0)
    evidence = proven_again(problem, face, c, named, problem.atoms)
    proven = Certificate(figures, Proof(lambda: (problem, evidence)))
    assert proven.relaxation.parameter == 0.0
    least = proven.primal - proven.gap
    assert f"So no x, with any number of atoms, has an objective below {least:.6g}; " in str(proven)
    assert str(proven).count(f"this one has {s.objective:.6g}.") == 1
    everything = fa.fit(*[cases()["ridge"].M, cases()["ridge"].b], **{**cases()["ridge"].words, "k": 20})
    assert least <= everything.objective <= s.objective


def figures_with_penalty(figures, lam):
    return replace(figures, relaxed=Relaxed(Named("P1", lam), False, np.inf, np.inf, np.inf, 0.0, None))


def test_what_statuses_say():
    assert "The bound is met with no more atoms than allowed." in answer("bound").message
    assert "Zero atoms suffice" in answer("nothing").message
    assert "the smallest loss found with at most k atoms" in answer("signed").message
    stopped = cases()["signed"].fit(callback=fa.callbacks.Deadline(0.0))
    assert "The callback stopped the run" in stopped.message
    limited = cases()["nonnegative"].fit(max_iterations=1)
    assert "raise max_iterations" in limited.message
    unreachable = fa.fit(np.eye(4)[:, :2], np.ones(4), atoms=fa.SignedOneHot(2), k=2, misfit=0.1)
    assert unreachable.status is fa.Status.UNREACHABLE
    assert "Proved: " in unreachable.message
    assert "allow a larger bound" in unreachable.message
    entries = cases()["completion"]
    short = fa.fit(entries.M, entries.b, atoms=fa.RankOne(12, 10), k=1, misfit=1e-6, ridge=0.1)
    assert "give a smaller ridge" in short.message


def test_every_status_has_a_sentence_of_advice():
    for status in fa.Status:
        assert status.value.endswith(".")
        assert status.value[0].islower()


def test_notes():
    idle = fa.fit(np.eye(3), [1.0, 0.0, 2.0], atoms=fa.SignedOneHot(3).restricted(include=[1]), k=2)
    assert idle.message.endswith(
        "Note: 1 of the atoms to include add nothing and have coefficient 0, number 1 for one."
    )
    assert words.same_image((0, 1)).startswith("atoms 0 and 1, for one pair, have the same image")
    assert words.idle_atoms(np.array([4, 7])) == (
        "2 of the atoms to include add nothing and have coefficient 0, number 4 for one"
    )
    assert words.same_parts(0, 2) == "parts 0 and 2 are the same set: how their atoms are shared out is arbitrary"
    assert words.empty_lines("row", np.array([3]), "zero") == (
        "1 row has no entries (number 3 for one) and is predicted by zero"
    )
    assert words.empty_lines("column", np.array([3, 5]), "zero") == (
        "2 columns have no entries (number 3 for one) and are predicted by zero"
    )
    assert words.too_many_unknowns(5, 1).startswith("5 unknowns are more than 1 entry can determine")
    assert words.few_entries(5, 8).startswith("8 entries are few for 5 unknowns")
    assert words.negative_intensities(1, 9) == "1 of 9 intensities is negative, which only noise explains"
    assert words.negative_intensities(2, 9) == "2 of 9 intensities are negative, which only noise explains"
    assert words.underdetermined(5, 3) == "5 unknowns are more than 3 measurements can determine"
    assert "3 pairs of entries" in words.asymmetric(3)
    assert words.stands_out(7, 0.25, 3.5) == (
        "7 entries stand out of noise of standard deviation 0.25, by 3.5 times as much or more"
    )
    assert words.stands_out(0, 0.25, math.inf) == "0 entries stand out of noise of standard deviation 0.25"


def test_certificates_in_prose():
    text = str(answer("bound").certificate)
    assert "of 4 allowed" in text
    assert "is met." in text
    assert "Not proven: that no other k atoms fit better." in text
    text = str(answer("unreachable").certificate)
    assert "is not met." in text
    text = str(answer("signed").certificate)
    assert "atoms in units of their images" in text
    assert "Proven: the relaxation (P1 at" in text
    text = str(fa.fit(np.eye(4)[:, :2], np.ones(4), atoms=fa.SignedOneHot(2), k=2, misfit=0.1).certificate)
    assert text.startswith("Proven: no x, with any number of atoms, meets alpha")
    assert "Not proven" not in text


@pytest.mark.parametrize(("tau_lower", "least"), [(1143.6, "1143.6"), (1100.0, "1118")])
def test_a_quantity_has_one_bound_the_tightest(tau_lower, least):
    """The least gauge has a bound of its own and one from the gap of (P3): the larger one is told, once."""
    s = answer("bound")
    relaxed = Relaxed(Named("P3", 0.2), False, 1145.0, -1118.0, 27.0, tau_lower, None)
    proven = Certificate(replace(s.certificate.known(), relaxed=relaxed), None, s.certificate.asked)
    text = str(proven)
    assert f"Proven: every x that meets alpha has a gauge of at least {least}." in text
    assert "The optimum of the relaxation (P3 at 0.2) lies between that and 1145." in text
    assert text.count("1145") == 1
    assert "within" not in text
    assert {"1118", "1143.6", "1100"} & set(re.findall(r"[\d.]*\d", text)) == {least}
    assert f"gap {1145 - float(least):.3g})" in repr(proven)
    elsewhere = replace(proven.known(), relaxed=relaxed._replace(in_units=True))
    text = str(Certificate(elsewhere, None, s.certificate.asked))  # two quantities in two units
    assert f"has a gauge of at least {tau_lower:.6g}." in text
    assert "has its optimum between 1118 and 1145. That is the gauge with atoms in those units, another" in text


@pytest.mark.parametrize(
    ("gap", "kind", "told"),
    [
        (
            1145.0,
            "unknown",
            "Nothing is known of the optimum of the relaxation (P1 at 0.2) but that it is at most 1145.",
        ),
        (1135.0, "unknown", "Little is known of the relaxation (P1 at 0.2): its optimum lies between 10 and 1145."),
        (145.0, "relaxation", "Proven: the relaxation (P1 at 0.2) has its optimum between 1000 and 1145."),
    ],
)
def test_what_says_nothing_is_not_sold_as_proven(gap, kind, told):
    s = answer("signed")
    relaxed = Relaxed(Named("P1", 0.2), False, 1145.0, gap - 1145.0, gap, 0.0, None)
    proven = Certificate(replace(s.certificate.known(), relaxed=relaxed), None, s.certificate.asked)
    assert words.Claim(kind, told) in words.claims(proven)


def test_with_a_bound_alone_there_is_no_k_to_speak_of():
    for name in ("fewest", "pursuit"):
        text = str(answer(name).certificate)
        assert "Not proven: that fewer atoms could not meet the bound." in text
        assert "k atoms" not in text + answer(name).message
    short = fa.fit(np.eye(4), np.ones(4), atoms=fa.NonnegativeOneHot(4), misfit=0.1, max_iterations=1)
    assert "k atoms" not in short.message
    goal = fa.methods.Listed().open(
        fa.Problem.of(np.eye(2), [1.0, 1.0], atoms=fa.SignedOneHot(2), misfit=0.1), [Budget()]
    )
    assert "allow more" not in goal.goal(goal.problem).endings["NOT_REACHED"]


def test_the_smallest_loss_is_told_with_the_reason_that_applies():
    told = {name: answer(name).message for name in ("signed", "cap", "low rank")}
    assert "at most k atoms; no atom outside comes near those inside." in told["signed"]
    assert "at most k atoms; all that the method tries has been tried." in told["cap"]
    assert "at most k atoms; none can be smaller: it is 0 up to rounding." in told["low rank"]
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 40)), rng.standard_normal(20)
    stream = fa.FromIterates(b for _ in range(1000))
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=2, method=fa.General(stream))
    assert "at most k atoms; no better one turned up for many iterates." in s.message


def test_claims_have_kinds():
    kinds = {"unreachable", "checked", "bound", "gauge", "relaxation", "floor", "aligned", "unknown", "open"}
    for name in NAMES:
        claims = words.claims(answer(name).certificate)
        assert claims[answer(name).status is fa.Status.UNREACHABLE].kind == "checked"
        assert {claim.kind for claim in claims} <= kinds
        assert "\n".join(claim.text for claim in claims) == str(answer(name).certificate)


@pytest.mark.parametrize("name", ["completion, ridge", "biases", "ridge"])
def test_a_floor_is_the_lower_end_of_the_relaxation(name):
    """Both are one quantity where the relaxation is what was asked without k: one figure, not two roundings of it."""
    claims = words.claims(answer(name).certificate)
    floors = [claim.text for claim in claims if claim.kind == "floor"]
    for floor in floors:
        (least,) = re.findall(r"below (\S+);", floor)
        (ends,) = [claim.text for claim in claims if claim.kind == "relaxation"]
        assert f"has its optimum between {least} and " in ends
    assert bool(floors) == (name != "ridge")


# The message and the certificate agree -------------------------------------------------------------------------------


def exact_problems():
    rng = np.random.default_rng(0)
    A, x, M = rng.standard_normal((80, 12)), rng.standard_normal(12), rng.standard_normal((30, 10))
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    return {
        "phases": (fa.Quadratic(A), (A @ x) ** 2, fa.PSDRankOne(12), 1),
        "matrix": (fa.Identity(X.shape), X, fa.RankOne(*X.shape), 2),
        "vector": (M, M[:, 2], fa.SignedOneHot(10), 2),
    }


@pytest.mark.parametrize("name", ["phases", "matrix", "vector"])
def test_an_answer_that_leaves_nothing_is_proven_by_that(name):
    """No loss is below 0: where the message says so, the certificate does not say that others might fit better."""
    M, b, atoms, k = exact_problems()[name]
    s = fa.fit(M, b, atoms=atoms, k=k)
    assert "none can be smaller: it is 0 up to rounding" in s.message
    told = str(s.certificate)
    assert "Proven: no x fits better" in told
    assert "Not proven" not in told
    assert "Proven: no x fits better" in str(pickle.loads(pickle.dumps(s)).certificate)
    noisy = fa.fit(M, b + 0.1 * np.random.default_rng(1).standard_normal(np.shape(b)), atoms=atoms, k=k)
    assert "Not proven: that no other k atoms fit better" in str(noisy.certificate)
    few = fa.fit(M, b, atoms=atoms, misfit=1e-9)
    assert "Not proven: that fewer atoms could not meet the bound" in str(few.certificate)


def test_what_biases_pay_is_told_apart_from_what_is_left():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, 15))
    rows, cols = np.nonzero(rng.random(Y.shape) < 0.9)
    words = {"atoms": fa.RankOne(20, 15), "k": 2, "ridge": 0.5}
    s = fa.fit(fa.Sampling(rows, cols, Y.shape), Y[rows, cols], free=fa.Biases(ridge=0.7), **words)
    left = 0.5 * float(np.sum((Y[rows, cols] - s.predict(rows, cols)) ** 2))
    paid = 0.35 * float(np.sum(s.biases.rows**2) + np.sum(s.biases.cols**2))
    told = re.search(r"loss ([\d.]+) \(misfit [\d.]+\), ([\d.]+) of it for biases", s.message)
    assert told is not None
    assert float(told[1]) - float(told[2]) == pytest.approx(left, rel=1e-4)
    assert float(told[2]) == pytest.approx(paid, rel=1e-4)
    assert "what biases pay in it" in str(s.certificate)
    free = fa.fit(fa.Sampling(rows, cols, Y.shape), Y[rows, cols], free=fa.Biases(ridge=0.0), **words)
    assert "biases" not in free.message.split("Note")[0]


def test_notes_count_and_advise_what_was_asked():
    assert "1 pair of entries (i, j) and (j, i) differs" in words.asymmetric(1)
    assert "a smaller k" in words.too_many_unknowns(9, 5)
    assert "a larger bound" in words.few_entries(9, 5, given=False)
    X = np.random.default_rng(0).standard_normal((12, 10))
    X[2, 3] = np.nan
    s = fa.fit(*fa.Sampling.from_array(X), atoms=fa.RankOne(12, 10), misfit=0.3)
    assert "a smaller k" not in s.message
    with pytest.raises(ValueError, match=r"nan: M, b = Sampling\.from_array\(b\)"):
        fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(12, 10), k=2)
