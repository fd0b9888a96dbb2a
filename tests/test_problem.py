"""Problems: checked at one door, frozen afterwards, and each way to change one thing against posing it afresh."""

import math
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate

D = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
B = np.array([1.0, 2.0, 3.0])
NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((9, 4))
DATA = RNG.standard_normal(9)
WEIGHTS = RNG.uniform(0.5, 2.0, 9)


def posed(M=D, b=B, **asked):
    return fa.Problem.of(M, b, **{"atoms": fa.SignedOneHot(4), "k": 1, **asked})


def candidate(problem, x):
    """x as a candidate."""
    face = problem.atoms.expose(np.ones(problem.atoms.shape), problem.atoms.count)
    order = np.asarray(face.labels())
    c = np.asarray(x, dtype=float)[order] / np.asarray(
        [face.point(e)[i] for e, i in zip(np.eye(4), order, strict=True)]
    )
    residual = problem.b - problem.M.apply(np.asarray(x, dtype=float))
    return Candidate.of(face, c, residual, problem.loss.value(residual))


def assert_same(one, other):
    """Two problems that ask the same, as far as figures and products can tell."""
    assert repr(one) == repr(other)
    for name in ("k", "alpha", "misfit", "reference", "at_zero", "ridge", "plain", "tolerance", "zero_suffices", "m"):
        a, b = getattr(one, name), getattr(other, name)
        assert a == (pytest.approx(b, rel=1e-12) if isinstance(b, float) and math.isfinite(b) else b), name
    assert one.atoms.same_as(other.atoms)
    np.testing.assert_array_equal(one.data, other.data)
    np.testing.assert_allclose(one.b, other.b, atol=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(3):
        x, y = rng.standard_normal(one.atoms.shape), rng.standard_normal(one.m)
        np.testing.assert_allclose(one.M.apply(x), other.M.apply(x), atol=1e-10)
        np.testing.assert_allclose(one.M.adjoint(y), other.M.adjoint(y), atol=1e-10)
        assert one.loss.value(y) == pytest.approx(other.loss.value(y), rel=1e-10)
        np.testing.assert_allclose(one.loss.gradient(y), other.loss.gradient(y), atol=1e-10)


ASKED = {
    "plain": {},
    "misfit": {"misfit": 0.1},
    "alpha": {"alpha": 0.3},
    "weights": {"loss": fa.LeastSquares(WEIGHTS), "misfit": 0.2},
    "huber": {"loss": fa.Huber(0.5), "alpha": 0.2},
    "logistic": {"loss": fa.Logistic(WEIGHTS)},
    "intercept": {"free": "intercept"},
    "free columns": {"free": np.arange(9.0), "misfit": 0.1},
    "intercept, huber": {"free": "intercept", "loss": fa.Huber(0.5)},
    "cap": {"cap": 0.7},
}


def tall(name, b=DATA, **changed):
    return posed(TALL, b, **{**ASKED[name], **changed})


# The same problem with one thing changed -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_another_budget_is_a_fresh_problem(name):
    assert_same(tall(name).with_budget(Budget(3)), tall(name, k=3))


@pytest.mark.parametrize("name", ASKED)
def test_another_set_is_a_fresh_problem(name):
    other = fa.NonnegativeOneHot(4)
    assert_same(tall(name).over(other), tall(name, atoms=other))


@pytest.mark.parametrize("name", ASKED)
def test_other_data_are_a_fresh_problem(name):
    b = np.cos(np.arange(9.0))
    assert_same(tall(name).with_data(b), tall(name, b))


@pytest.mark.parametrize("name", ASKED)
def test_another_bound_is_a_fresh_problem(name):
    unbound = {key: value for key, value in ASKED[name].items() if key not in ("alpha", "misfit")}
    assert_same(tall(name).bounded(), posed(TALL, DATA, **unbound))
    assert_same(tall(name).bounded(0.7), posed(TALL, DATA, **unbound, alpha=0.7))
    if tall(name).base_loss.squares:
        assert_same(tall(name).bounded(misfit=0.4), posed(TALL, DATA, **unbound, misfit=0.4))


@pytest.mark.parametrize("name", [name for name in ASKED if name != "free columns"])
def test_some_of_the_data_are_a_fresh_problem(name):
    rows = np.array([7, 2, 0, 3, 5])
    given = {key: value for key, value in ASKED[name].items() if key not in ("alpha", "misfit")}
    if "loss" in given:
        given["loss"] = given["loss"].subset(rows)
    assert_same(tall(name).subset(rows), posed(TALL[rows], DATA[rows], **given))


def test_some_of_the_free_columns_go_with_their_data():
    rows = np.array([7, 2, 0, 3, 5])
    assert_same(tall("free columns").subset(rows), posed(TALL[rows], DATA[rows], free=np.arange(9.0)[rows]))


def test_other_prices_are_a_fresh_problem():
    problem = posed(fa.Identity((2, 2)), np.ones((2, 2)), atoms=fa.RankOne(2, 2), ridge=0.5)
    other = posed(fa.Identity((2, 2)), np.ones((2, 2)), atoms=fa.RankOne(2, 2), ridge=2.0)
    assert_same(problem.paying(other.price), other)


def test_nothing_changed_is_the_problem_itself():
    problem = posed()
    assert problem.with_budget(problem.budget) is problem
    assert problem.over(problem.atoms) is problem


def test_changes_leave_the_problem_alone():
    problem = tall("misfit")
    before = {f.name: getattr(problem, f.name) for f in fields(problem)}
    problem.with_budget(Budget(2))
    problem.bounded(3.0)
    problem.with_data(2 * DATA)
    problem.subset(np.arange(4))
    problem.over(fa.NonnegativeOneHot(4))
    assert all(getattr(problem, name) is value for name, value in before.items())


def test_problems_are_frozen():
    problem = posed()
    for name in ("alpha", "budget", "data", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(problem, name, 1)


def test_nothing_is_multiplied():
    counting = fa.Counting(D)
    problem = posed(counting, misfit=0.1)
    problem.with_data(2 * B).with_budget(Budget(2)).bounded(1.0).subset(np.array([0, 2]))
    assert counting.products == 0
    np.testing.assert_array_equal(problem.adjoint_of_ones, D.sum(axis=0))
    np.testing.assert_array_equal(problem.adjoint_of_ones, D.sum(axis=0))
    assert counting.products == 1  # it is kept


def test_repr_says_what_is_asked():
    assert repr(posed()) == "Problem(3 data, SignedOneHot(4), k=1, LeastSquares())"
    assert "alpha=0.125" in repr(posed(alpha=0.125))


# What a loss means ---------------------------------------------------------------------------------------------------


def test_misfit_is_a_share_of_the_length_of_b():
    for loss, length in ((None, np.linalg.norm(DATA)), (fa.LeastSquares(WEIGHTS), np.linalg.norm(DATA * WEIGHTS**0.5))):
        assert posed(TALL, DATA, loss=loss, misfit=0.3).alpha == pytest.approx(0.5 * (0.3 * length) ** 2)


def test_bounds_are_met_up_to_rounding():
    problem = posed(alpha=0.5)
    assert problem.meets(0.5)
    assert problem.meets(0.5 * (1 + 1e-13))
    assert not problem.meets(0.5 * (1 + 1e-11))
    assert posed(alpha=0.0).meets(1e-27 * problem.reference)
    assert not posed().meets(0.0)  # never without one


def test_exact_is_rounding():
    problem = posed()
    assert problem.exact(1e-29 * problem.reference)
    assert not problem.exact(1e-27 * problem.reference)
    logistic = posed(loss=fa.Logistic())
    assert logistic.exact(1e-15 * logistic.at_zero)
    assert not logistic.exact(1e-13 * logistic.at_zero)
    assert not logistic.bounded(0.1).exact(0.0)  # the bound says when it is enough


def test_when_zero_suffices():
    assert posed(misfit=1.0).zero_suffices
    assert not posed(misfit=0.99).zero_suffices
    assert posed(b=np.zeros(3)).zero_suffices
    assert not posed(b=np.zeros(3), loss=fa.Logistic()).zero_suffices
    assert not posed(misfit=1.0, atoms=fa.SignedOneHot(4).restricted(include=[2])).zero_suffices
    assert posed(b=np.full(3, 2.0), free="intercept").zero_suffices  # all of it stands beside


def test_misfits_and_objectives_of_candidates():
    x = np.array([1.0, 0.0, -0.5, 0.0])
    weights = np.array([1.0, 4.0, 0.5])
    for loss, w in (
        (None, 1.0),
        (fa.LeastSquares(weights), weights),
        (fa.Huber(0.2), 1.0),
        (fa.Huber(0.2, weights), weights),
    ):
        problem = posed(loss=loss)
        root = np.sqrt(w)
        expected = np.linalg.norm(root * (B - D @ x)) / np.linalg.norm(root * B)
        assert problem.misfit_of(candidate(problem, x)) == pytest.approx(expected)
        assert problem.objective(candidate(problem, x)) == pytest.approx(problem.loss.value(B - D @ x))
    assert math.isnan(posed(loss=fa.Logistic()).misfit_of(candidate(posed(loss=fa.Logistic()), x)))
    assert posed(b=np.zeros(3)).misfit_of(candidate(posed(b=np.zeros(3)), x)) == 0.0
    ridge = posed(fa.Identity((2, 2)), np.ones((2, 2)), atoms=fa.RankOne(2, 2), ridge=0.5)
    face = ridge.atoms.expose(np.ones((2, 2)), 1)
    made = Candidate.of(face, np.array([1.5]), np.full(4, 0.25), 0.125)
    assert ridge.objective(made) == pytest.approx(0.125 + 0.5 * 1.5)
    squares = posed(ridge=0.5)
    made = candidate(squares, x)
    lengths = np.linalg.norm(D, axis=0)
    assert squares.objective(made) == pytest.approx(made.loss + 0.25 * np.sum((lengths * x) ** 2))
    assert posed(ridge="auto").objective(made) == made.loss  # nothing is paid while it is open


@pytest.mark.parametrize(
    ("atoms", "on"),
    [
        (fa.SignedOneHot(4), "squares"),
        (fa.NonnegativeCone(4), "squares"),
        (2.0 * fa.Groups([0, 0, 1, 1]), "squares"),
        (fa.Dictionary(np.eye(4), symmetric=False).restricted(exclude=[1]), "squares"),
        (fa.RankOne(2, 2), "gauge"),
        (fa.SignedOneHot(4) | fa.NonnegativeOneHot(4), "gauge"),
    ],
    ids=repr,
)
def test_what_a_ridge_is_on(atoms, on):
    """Half the squares for atoms that can be listed, whatever their set; elsewhere the gauge. One that is left open
    comes through the door where there is no bound."""
    for ridge, number in ((0.7, 0.7), (np.float32(0.5), 0.5), (0, 0.0), (None, 0.0), ("auto", 0.0)):
        problem = posed(atoms=atoms, ridge=ridge)
        assert problem.ridge == number
        assert (problem.price.on_squares, problem.price.on_gauge) == (
            (number, 0.0) if on == "squares" else (0.0, number)
        )
        assert (problem.ridged is None) == (on == "gauge" or number == 0)
        assert (problem.price.ridge is None) == (ridge == "auto")
    assert posed(atoms=atoms, ridge=0.7, misfit=0.1).ridge == 0.7
    with pytest.raises(ValueError, match=r'^ridge must be a number where there is a bound; got "auto"$'):
        posed(atoms=atoms, ridge="auto", misfit=0.1)


@pytest.mark.parametrize("atoms", [fa.SignedOneHot(4), fa.NonnegativeCone(4), fa.RankOne(2, 2)], ids=repr)
@pytest.mark.parametrize(
    "ridge", [-1, -1e-9, math.nan, math.inf, "some", "0.5", True, 1j, {}, np.ones(2), [1.0]], ids=repr
)
def test_ridges_that_are_none(atoms, ridge):
    with pytest.raises((TypeError, ValueError), match=r'^ridge must be a nonnegative number or "auto"; got '):
        posed(atoms=atoms, ridge=ridge)


# The door ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"b": []}, ValueError, r"^b must have at least one entry; got shape \(0,\)$"),
        ({"b": np.ones((1, 3))}, ValueError, r"^b must have m = 3 rows, one .* data vector; got shape \(1, 3\)"),
        ({"b": np.ones((3, 2))}, ValueError, r"^b must be one data vector; got shape \(3, 2\): fit_many.*Joint"),
        ({"b": 1e200 * B}, ValueError, r"^b must be in units in which its loss is an ordinary number; got inf"),
        ({"b": 1e-200 * B}, ValueError, r"^b must be in units in which its loss is an ordinary number; got 0.0"),
        ({"b": B, "atoms": fa.Joint(fa.SignedOneHot(4))}, ValueError, r"^b must have a column per data vector for J"),
        ({"cap": 0.5, "atoms": fa.RankOne(2, 2)}, ValueError, r"^cap is for sets whose atoms can be listed; got Rank"),
        ({"ridge": "auto", "misfit": 0.1, "atoms": fa.RankOne(2, 2)}, ValueError, r"^ridge must be a number where"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(asked, kind, message):
    with pytest.raises(kind, match=message):
        posed(**asked)


@pytest.mark.parametrize(
    ("M", "atoms", "message"),
    [
        (D, fa.SignedOneHot(5), r"^atoms must live in the space that M takes, 4 entries .*; SignedOneHot\(5\) has 5$"),
        (D, fa.Groups([0, 1]), r"^atoms must live .* 4 entries .*; Groups\(2 groups of 2 coordinates\) has 2$"),
        (D, fa.Groups([0, 1, 2, 3, 4]), r"^atoms must live .* 4 entries .*; Groups\(5 groups .*\) has 5$"),
        (D, fa.RankOne(2, 3), r"^atoms must live .* 4 entries .*; RankOne\(2, 3\) has 6$"),
        (D, fa.PSDRankOne(3), r"^atoms must live .* 4 entries .*; PSDRankOne\(3\) has 9$"),
        (D, fa.Dictionary(np.ones((5, 4)), symmetric=True), r"^atoms must live .*; Dictionary\(5 x 4, .* has 5$"),
        (fa.Sampling([0], [0], (2, 3)), fa.RankOne(3, 2), r"^atoms must have the shape .* \(2, 3\); .* has \(3, 2\)$"),
        (fa.Identity((2, 3)), fa.SignedOneHot((3, 2)), r"^atoms must have the shape that M takes, \(2, 3\)"),
        (fa.Quadratic(D), fa.PSDRankOne(3), r"^atoms must live .* 16 entries \(shape \(4, 4\)\); .* has 9$"),
    ],
    ids=str,
)
def test_atoms_must_fit_the_operator(M, atoms, message):
    with pytest.raises(ValueError, match=message):
        posed(M, np.ones(M.shape[0]), atoms=atoms)


def test_complex_matrices_are_for_sets_that_take_them():
    with pytest.raises(TypeError, match=r"^atoms must be PSDRankOne\(n\), or made of it, where M measures complex"):
        posed(fa.Quadratic(1j * D), atoms=fa.SignedOneHot(16))


def test_flat_sets_take_the_shape_of_the_operator():
    assert posed(fa.Identity((2, 2)), np.ones((2, 2)), atoms=fa.SignedOneHot(4)).atoms.shape == (2, 2)


@pytest.mark.parametrize("atoms", [None, 4, "signed", fa.SignedOneHot, np.eye(4)], ids=str)
def test_atoms_must_be_a_set(atoms):
    with pytest.raises(TypeError, match=r"^atoms must be an atomic set such as SignedOneHot\(n\); got "):
        posed(atoms=atoms)


@pytest.mark.parametrize("name", ["alpha", "misfit"])
@pytest.mark.parametrize("value", [-1, -1e-300, NAN, INF, -INF])
def test_bounds_must_be_nonnegative_numbers(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a nonnegative finite number; got "):
        posed(**{name: value})


@pytest.mark.parametrize("name", ["alpha", "misfit"])
@pytest.mark.parametrize("value", ["3", True, [1.0], 1j, np.array([1.0, 2.0]), {}])
def test_bounds_must_be_numbers(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be a nonnegative finite number; got "):
        posed(**{name: value})


def test_one_bound_at_a_time():
    with pytest.raises(ValueError, match=r"^alpha and misfit bound the same .*, give one; got alpha=1, misfit=0.1$"):
        posed(alpha=1, misfit=0.1)


@pytest.mark.parametrize("loss", [fa.Huber(2.0), fa.Logistic()], ids=repr)
def test_misfit_is_for_least_squares(loss):
    message = rf"^misfit is a bound for least squares; with {type(loss).__name__}\(.*\) give alpha.*; got misfit=0.1$"
    with pytest.raises(ValueError, match=message):
        posed(misfit=0.1, loss=loss)


@pytest.mark.parametrize("loss", ["squares", fa.LeastSquares, 1.0, np.square], ids=str)
def test_the_loss_must_be_a_loss(loss):
    with pytest.raises(TypeError, match=r"^loss must be a Loss such as LeastSquares\(\), .*; got "):
        posed(loss=loss)


@pytest.mark.parametrize(
    "make", [fa.LeastSquares, lambda w: fa.Huber(1.0, w), fa.Logistic], ids=["ls", "huber", "logistic"]
)
def test_weights_must_be_as_many_as_rows(make):
    for weights in ([1.0, 2.0], [1.0] * 4, []):
        message = rf"^weights of the loss must have 3 entries, one per row of M; got {len(weights)}$"
        with pytest.raises(ValueError, match=message):
            posed(loss=make(weights))


# The share that is explained


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 30)], ids=["plain", "weighted"])
@pytest.mark.parametrize("free", ["nothing", "intercept", "columns"])
def test_r2_is_against_what_stands_beside_the_atoms(free, weights):
    """By a least-squares fit of what stands there, without elimination."""
    rng = np.random.default_rng(0)
    M, w = rng.standard_normal((30, 6)), np.ones(30) if weights is None else weights
    b = 3.0 + M[:, 0] + rng.standard_normal(30)
    F = {"nothing": np.zeros((30, 1)), "intercept": np.ones((30, 1)), "columns": rng.standard_normal((30, 2)) + 1}[free]
    word = {"nothing": None, "intercept": "intercept", "columns": F}[free]
    s = fa.fit(M, b, atoms=fa.SignedOneHot(6), k=2, free=word, loss=fa.LeastSquares(weights))

    def least(columns):
        root = np.sqrt(w)
        left = b - columns @ np.linalg.lstsq(root[:, None] * columns, root * b, rcond=None)[0]
        return float(w @ left**2)

    assert s.r2 == pytest.approx(1 - least(np.c_[M[:, s.indices], F]) / least(F), rel=1e-9)
    if free == "intercept":
        assert s.r2 < 1 - s.misfit**2  # which refers to b itself
    if free == "nothing":
        assert s.r2 == pytest.approx(1 - s.misfit**2)
    scaled = fa.fit(1e3 * M, 1e-4 * b, atoms=fa.SignedOneHot(6), k=2, free=word, loss=fa.LeastSquares(weights))
    assert scaled.r2 == pytest.approx(s.r2)


def test_r2_of_other_losses_is_the_share_of_the_deviance():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((60, 4))
    t = M[:, 0] + rng.standard_normal(60) > 0.5
    s = fa.fit(M, t, atoms=fa.SignedOneHot(4), k=1, loss=fa.Logistic(), free="intercept")
    p = t.mean()
    assert s.r2 == pytest.approx(1 - s.loss / -(60 * (p * np.log(p) + (1 - p) * np.log(1 - p))), rel=1e-6)
    huber = fa.Huber(0.5)
    s = fa.fit(M, M[:, 0] + 1.0, atoms=fa.SignedOneHot(4), k=1, loss=huber)
    assert s.r2 == pytest.approx(1 - s.loss / huber.value(M[:, 0] + 1.0))


def test_r2_means_nothing_where_nothing_is_left_to_explain():
    M = np.random.default_rng(2).standard_normal((10, 3))
    one = fa.SignedOneHot(3)
    assert np.isnan(fa.fit(M, np.zeros(10), atoms=one, k=1).r2)
    assert np.isnan(fa.fit(M, np.full(10, 7.0), atoms=one, k=1, free="intercept").r2)
    many = fa.fit_many(M, np.c_[np.zeros(10), M[:, 0]], atoms=one, k=1)
    np.testing.assert_allclose(many.r2, [np.nan, 1.0])
    assert fa.fit(M, np.ones(10), atoms=one, k=1, alpha=100.0).r2 == 0.0


def test_matrices_of_data_go_with_matrix_operators():
    X = np.arange(6.0).reshape(2, 3)
    for M, b in ((fa.Identity((2, 3)), X), (sp.csr_array(np.eye(6)), X.ravel())):
        np.testing.assert_array_equal(posed(M, b, atoms=fa.RankOne(2, 3)).data, X.ravel())
    joint = posed(D, np.ones((3, 2)), atoms=fa.Joint(fa.SignedOneHot(4)))
    assert (joint.m, joint.atoms.shape) == (6, (4, 2))
