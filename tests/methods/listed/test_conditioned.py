"""Coefficients that are hardly determined: the condition is that of the images, and it is told."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.methods.listed.conditioned import condition, notes
from fewatoms.methods.listed.view import View

rng = np.random.default_rng(0)
A = rng.standard_normal((30, 6))
ALIKE = r"nearly dependent \(condition about (\S+)\): of their coefficients (\d+) digits? \S+ sure at best"


def alike(by):
    """The second column differs from the first by so much."""
    B = A.copy()
    B[:, 1] = B[:, 0] + by * rng.standard_normal(30)
    return B


def view_of(M, **words):
    problem = fa.Problem.of(M, np.ones(len(A)), atoms=fa.SignedOneHot(6), k=3, **words)
    return View(problem, problem.M, 10_000)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("words", [{}, {"loss": fa.Huber(0.5)}, {"loss": fa.LeastSquares(np.arange(1.0, 31.0))}])
@pytest.mark.parametrize("by", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_conditions_are_those_of_the_columns(by, words, form):
    """Whatever their units, within the factors that norms differ by."""
    M = alike(by) * 10.0 ** rng.uniform(-9, 9, 6)
    classes = np.array([0, 1, 3])
    w = words["loss"].weights if "loss" in words and words["loss"].weights is not None else np.ones(30)
    U = np.sqrt(w)[:, None] * M[:, classes]
    true = np.linalg.cond(U / np.linalg.norm(U, axis=0))
    assert true / 4 <= condition(view_of(form(M), **words), classes, 0.0) <= 10 * true


def test_a_ridge_settles_them():
    view, classes = view_of(alike(1e-9), ridge=0.1), np.array([0, 1, 3])
    rows = np.concatenate([alike(0.0)[:, classes] / np.linalg.norm(A[:, 0]), np.sqrt(0.1) * np.eye(3)])
    assert condition(view, classes, 0.1) <= 10 * np.linalg.cond(rows)
    assert notes(view, classes, 0.1) == []
    assert len(notes(view, classes, 0.0)) == 1
    assert notes(view, classes[1:], 0.0) == []
    assert notes(view, classes[:1], 0.0) == []


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(1e9)])
@pytest.mark.parametrize("by", [1e-4, 1e-7])
def test_answers_say_so(by, loss):
    """Data that ask for the difference of two columns get it, and what it is worth is told."""
    B = alike(by)
    b = (B[:, 1] - B[:, 0]) / by + 0.01 * rng.standard_normal(30)
    s = fa.fit(B, b, atoms=fa.SignedOneHot(6), k=2, loss=loss)
    assert sorted(s.indices) == [0, 1]
    told = re.search(ALIKE, s.message)
    if by == 1e-4:
        assert told is None
    else:
        assert 1e-1 / by <= float(told[1]) <= 1e2 / by
        again = fa.fit(B * (1 + 2.0**-52 * rng.integers(-2, 3, B.shape)), b, atoms=fa.SignedOneHot(6), k=2, loss=loss)
        np.testing.assert_allclose(again.coefficients, s.coefficients, rtol=1e-4)
    assert "dependent" not in fa.fit(B, b, atoms=fa.SignedOneHot(6), k=2, loss=loss, ridge=1e-3).message


def test_groups_say_what_decides():
    B = A.copy()
    B[:, 2] = B[:, 0] + B[:, 1]
    s = fa.fit(B, B @ [1.0, 0.0, 1.0, 0.0, 0.0, 0.0], atoms=fa.Groups([0, 0, 0, 1, 1, 1]), k=1)
    assert "depend on each other: their coefficients are not determined, of those that fit alike the" in s.message
    lengths = np.linalg.norm(B[:, :3], axis=0)
    shortest = np.linalg.pinv(B[:, :3] / lengths) @ (B[:, :3] @ [1.0, 0.0, 1.0]) / lengths
    np.testing.assert_allclose(s.x[:3], shortest, atol=1e-6)
