"""Operators behind free columns, several data vectors and held-out rows; kept images; losses after free columns."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import naive
from contracts.families import black_box, generator, losses, matrix_operators, over, precision, vector_operators
from fewatoms import (
    Counting,
    Dictionary,
    Groups,
    Huber,
    LeastSquares,
    Logistic,
    Mapped,
    NonnegativeOneHot,
    Problem,
    SignedOneHot,
)
from fewatoms.atoms.mapped import Rescaled
from fewatoms.losses import Profiled
from fewatoms.operators import Projected, Rows, Several, as_operator
from fewatoms.operators.reduced import Bordered, Columns
from fewatoms.retrieval.newton import newton
from fewatoms.testing import check_atoms, check_operator

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}


def projector(F, weights):
    """The matrix that takes the best fit by F, in the norm of the weights, out of a vector: one lstsq a column."""
    root = np.ones(len(F)) if weights is None else np.sqrt(weights)
    fitted = [F @ np.linalg.lstsq(root[:, None] * F, root * e, rcond=None)[0] for e in np.eye(len(F))]
    return np.eye(len(F)) - np.stack(fitted, axis=1)


def assert_restricts(op, A, tol):
    """M restricted to a few coordinates or groups is the matrix of their columns; its adjoint the transpose."""
    z = A.T @ generator(23).standard_normal(A.shape[0])
    for face in (SignedOneHot(7).expose(z, 3), NonnegativeOneHot(7).expose(z, 2), Groups(GROUPS).expose(z, 2)):
        R = A @ naive.basis(face)
        reduced = op.restrict(face)
        c, r = generator(24).standard_normal(face.dim), generator(25).standard_normal(A.shape[0])
        np.testing.assert_allclose(reduced.apply(c), R @ c, atol=100 * tol)
        np.testing.assert_allclose(reduced.adjoint(r), R.T @ r, atol=100 * tol)
        np.testing.assert_allclose(reduced.normal_equations(r)[0], R.T @ R, atol=1000 * tol)


# Projected ------------------------------------------------------------------------------------------------------------

weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


@every_matrix
def test_projected_keeps_the_contract(name, M):
    check_operator(Projected(M, FREE, WEIGHTS), rng=0, tol=precision(name))


@weighted
@every_matrix
def test_faces_behind_the_projection(name, M, weights):
    assert_restricts(Projected(M, FREE, weights), projector(FREE, weights) @ naive.dense_operator(M), precision(name))


@weighted
@every_matrix
def test_projected_is_the_projector_times_the_matrix(name, M, weights):
    P = projector(FREE, weights)
    A = P @ naive.dense_operator(M)
    op, tol = Projected(M, FREE, weights), 10 * precision(name)
    np.testing.assert_allclose(naive.dense_operator(op), A, atol=tol)
    which = np.array([5, 0, 5, 2])
    np.testing.assert_allclose(naive.dense(op.columns(which)), A[:, which], atol=tol)
    X = generator(1).standard_normal((7, 3))
    np.testing.assert_allclose(op.apply_block(X), A @ X, atol=tol)
    Y = generator(2).standard_normal((M_ROWS, 2))
    np.testing.assert_allclose(op.adjoint_block(Y), A.T @ Y, atol=10 * tol)
    r = generator(3).standard_normal(M_ROWS)
    np.testing.assert_allclose(op.project(r), P @ r, atol=1e-12)
    np.testing.assert_allclose(op.project(op.project(r)), op.project(r), atol=1e-12)


@weighted
@every_matrix
def test_lengths_behind_the_projection(name, M, weights):
    """In the norm of the weights; where the matrix is not at hand, none are claimed."""
    A = projector(FREE, weights) @ naive.dense_operator(M)
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    lengths = Projected(M, FREE, weights).column_lengths(weights)
    if lengths is None:
        assert M.column_lengths(weights) is None
    else:
        np.testing.assert_allclose(lengths, np.linalg.norm(root * A, axis=0), atol=10 * precision(name))


@every_matrix
def test_an_orthogonal_projection_shortens(name, M):
    op = Projected(M, FREE)
    A = naive.dense_operator(op)
    norms = op.column_norms()
    assert norms is None or (norms >= np.linalg.norm(A, axis=0) * (1 - precision(name))).all()
    assert Projected(M, FREE, WEIGHTS).column_norms() is None  # in another norm it may lengthen


@weighted
def test_a_column_that_free_columns_span_has_length_zero(weights):
    A = generator(4).standard_normal((M_ROWS, 5))
    A[:, 2] = FREE @ [3.0, -0.01]
    op = Projected(as_operator(A), FREE, weights)
    assert op.column_lengths(weights)[2] == 0
    np.testing.assert_allclose(op.columns(np.array([2])), 0, atol=1e-12)


def test_dependent_free_columns_are_one():
    A = generator(5).standard_normal((M_ROWS, 4))
    twice = Projected(as_operator(A), np.column_stack([FREE, 1e6 * FREE[:, 0], FREE.sum(axis=1)]))
    np.testing.assert_allclose(naive.dense_operator(twice), projector(FREE, None) @ A, atol=1e-10)


# Several --------------------------------------------------------------------------------------------------------------


def several_operators():
    return {name: M for name, M in vector_operators(7).items() if name not in ("one row",)}


@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_is_the_kronecker_product(name, M):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    op, tol = Several(M, 3), precision(name)
    assert op.shape == A.shape
    assert op.model_shape == (M.shape[1], 3)
    np.testing.assert_allclose(naive.dense_operator(op), A, atol=tol)
    y = generator(1).standard_normal(A.shape[0])
    np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (A.shape[1],)), A.T @ y, atol=10 * tol)
    which = np.array([4, 0, 20, 4, 11])
    np.testing.assert_allclose(naive.dense(op.columns(which)), A[:, which], atol=tol)


@pytest.mark.parametrize("weights", [None, "row by row", "all different"])
@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_knows_the_lengths_of_its_columns(name, M, weights):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    draw = generator(3)
    w = None
    if weights is not None:
        w = np.repeat(draw.uniform(0.5, 2, M.shape[0]), 3) if "row" in weights else draw.uniform(0.5, 2, A.shape[0])
    lengths = Several(M, 3).column_lengths(w)
    if lengths is None:
        assert M.column_lengths() is None
    else:
        root = 1.0 if w is None else np.sqrt(w)[:, None]
        np.testing.assert_allclose(lengths, np.linalg.norm(root * A, axis=0), atol=10 * precision(name))


@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_bounds_the_norms_of_its_blocks(name, M):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    blocks = [np.arange(3), np.array([0, 5, 10]), np.arange(A.shape[1])]
    bounds = Several(M, 3).block_norms(blocks)
    assert bounds is None or all(
        bound >= np.linalg.norm(A[:, block], 2) * (1 - precision(name))
        for bound, block in zip(bounds, blocks, strict=True)
    )


def test_several_reads_data_in_both_forms():
    op = Several(as_operator(np.eye(4)), 2)
    B = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(op.read_data(B), B.ravel())
    np.testing.assert_array_equal(op.read_data(np.asfortranarray(B)), B.ravel())
    np.testing.assert_array_equal(op.read_data(B.ravel()), B.ravel())
    with pytest.raises(ValueError, match=r"^b must have shape \(4, 2\) or be flat; got shape \(2, 4\)$"):
        op.read_data(B.T)


def test_a_product_with_several_is_counted_by_what_wraps_it():
    counting = Counting(black_box(generator(6).standard_normal((5, 4))))
    op = Several(counting, 3)
    op.apply(np.ones((4, 3)))
    op.adjoint(np.ones(15))
    assert counting.products == 6


# Rows -----------------------------------------------------------------------------------------------------------------

HELD = np.array([4, 0, 7, 2])


@pytest.mark.parametrize("rows", [HELD, np.arange(M_ROWS)[::-1].copy(), np.array([3])], ids=["some", "turned", "one"])
@every_matrix
def test_rows_are_the_rows_of_the_matrix(name, M, rows):
    A = naive.dense_operator(M)[rows]
    for op in (Rows(M, rows), M.subset(rows)):
        np.testing.assert_allclose(naive.dense_operator(op), A, atol=precision(name))
        y = generator(26).standard_normal(rows.size)
        np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (7,)), A.T @ y, atol=100 * precision(name))
        norms = op.column_norms()
        assert norms is None or (norms >= np.linalg.norm(A, axis=0) * (1 - precision(name)) - precision(name)).all()
        assert_restricts(op, A, precision(name))
        np.testing.assert_allclose(naive.dense(op.columns(np.array([6, 1]))), A[:, [6, 1]], atol=precision(name))


@every_matrix
def test_rows_of_rows(name, M):
    again = np.array([2, 0])
    A = naive.dense_operator(M)[HELD][again]
    np.testing.assert_allclose(naive.dense_operator(Rows(M, HELD).subset(again)), A, atol=precision(name))


@pytest.mark.parametrize(("name", "M"), **over(matrix_operators(3, 4)))
def test_rows_of_operators_on_matrices(name, M):
    rows = np.arange(0, M.shape[0], 2)
    A = naive.dense_operator(M)[rows]
    for op in (Rows(M, rows), M.subset(rows)):
        assert op.model_shape == M.model_shape
        np.testing.assert_allclose(naive.dense_operator(op), A, atol=1e-12)
        y = generator(4).standard_normal(rows.size)
        np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (12,)), A.T @ y, atol=1e-12)


# Bordered -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [None, FREE], ids=["alone", "with free columns"])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("kind", ["dense", "csc", "csr"])
def test_bordered_is_the_matrix_of_both(kind, width, free):
    draw = generator(7)
    A = draw.standard_normal((M_ROWS, width)) * (draw.random((M_ROWS, width)) < 0.6)
    given = {"dense": A, "csc": sp.csc_array(A), "csr": sp.csr_array(A)}[kind]
    R = A if free is None else np.column_stack([A, free])
    op = Bordered(given, free)
    assert op.dim == R.shape[1]
    c, r, w = draw.standard_normal(op.dim), draw.standard_normal(M_ROWS), draw.uniform(0.1, 2, M_ROWS)
    np.testing.assert_allclose(op.apply(c), R @ c, atol=1e-12)
    np.testing.assert_allclose(op.adjoint(r), R.T @ r, atol=1e-12)
    np.testing.assert_allclose(op.gram(w), R.T @ (w[:, None] * R), atol=1e-9)
    np.testing.assert_allclose(op.diagonal(w), np.diag(R.T @ (w[:, None] * R)), atol=1e-9)
    for weights in (None, w):
        for found, expected in zip(op.normal_equations(r, weights), naive.normal_equations(R, r, weights), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-9)


# Images and their Gram matrix -----------------------------------------------------------------------------------------


def listed_problems():
    """name -> (problem, the columns in the space of coefficients, class by class in the order of the set)."""
    draw = generator(8)
    A = draw.standard_normal((M_ROWS, 7)) * 10.0 ** draw.uniform(-2, 2, 7)
    D = draw.standard_normal((7, 7))
    b = draw.standard_normal(M_ROWS)
    thin = A * (draw.random(A.shape) < 0.3)
    tall = np.concatenate([thin, np.zeros((91, 7))])  # few enough nonzeros to keep images sparse
    tall[40, :] = 1.0
    long = np.concatenate([b, np.ones(91)])
    return {
        "signed": (Problem(A, b, atoms=SignedOneHot(7)), A),
        "nonnegative": (Problem(A, b, atoms=NonnegativeOneHot(7)), A),
        "turned over": (Problem(A, b, atoms=-2.0 * NonnegativeOneHot(7)), -A),
        "groups": (Problem(A, b, atoms=Groups(GROUPS)), A),
        "dictionary": (Problem(A, b, atoms=Dictionary(D, symmetric=True)), A @ D),
        "mapped groups": (Problem(A, b, atoms=Mapped(D, 3.0 * Groups(GROUPS))), A @ D),
        "weights": (Problem(A, b, atoms=SignedOneHot(7), loss=LeastSquares(WEIGHTS)), A),
        "free": (Problem(A, b, atoms=SignedOneHot(7), free="intercept"), projector(np.ones((M_ROWS, 1)), None) @ A),
        "weights, free": (
            Problem(A, b, atoms=Groups(GROUPS), loss=LeastSquares(WEIGHTS), free=FREE),
            projector(FREE, WEIGHTS) @ A,
        ),
        "sparse": (Problem(sp.csc_array(tall), long, atoms=SignedOneHot(7)), tall),
        "sparse, weights": (
            Problem(sp.csr_array(tall), long, atoms=Groups(GROUPS), loss=LeastSquares(np.linspace(1, 2, 100))),
            tall,
        ),
        "black box": (Problem(black_box(A), b, atoms=SignedOneHot(7)), A),
        "huber": (Problem(A, b, atoms=SignedOneHot(7), loss=Huber(0.5, WEIGHTS)), A),
        "cap": (Problem(A, b, atoms=SignedOneHot(7), cap=1.0), A),
    }


LISTED = listed_problems()


@pytest.mark.parametrize("name", LISTED)
def test_images_and_their_gram_matrix_against_the_dense_twin(name):
    problem, columns = LISTED[name]
    problem = problem.over(problem.atoms)  # images of its own
    listed = problem.listed
    squares = isinstance(problem.loss, LeastSquares)
    root = np.sqrt(problem.loss.weights) if squares and problem.loss.weights is not None else np.ones(problem.m)
    seen = root[:, None] * columns
    at_hand = problem.M.explicit and problem.cap is None
    if at_hand:
        measure = (
            columns * np.sqrt(np.ones(problem.m) if problem.loss.weights is None else problem.loss.weights)[:, None]
        )
        seen = seen / np.linalg.norm(measure, axis=0)
    assert (listed.scale is not None) == at_hand
    draw = generator(9)
    groups = listed.blocks is not None
    for some in (np.array([2]), np.array([1, 2, 0]), np.array([3, 0])):  # old and new ones in any order
        spots = np.concatenate([np.flatnonzero(g == GROUPS) for g in some]) if groups else some
        slots = listed.images.slots(some)
        E = seen[:, spots]
        np.testing.assert_allclose(naive.dense(listed.images.columns(slots)), E, atol=1e-10)
        c, r = draw.standard_normal(slots.size), draw.standard_normal(problem.m)
        np.testing.assert_allclose(listed.images.combine(slots, c), E @ c, atol=1e-10)
        np.testing.assert_allclose(listed.images.correlate(slots, r), E.T @ r, atol=1e-10)
        if squares:
            np.testing.assert_allclose(listed.images.gram[np.ix_(slots, slots)], E.T @ E, atol=1e-10)
            np.testing.assert_allclose(listed.images.moments[slots], E.T @ (root * problem.b), atol=1e-10)
        # coefficients of images are coefficients of the user's atoms, in other units
        scale = listed.user_scale(listed.coordinates(some))
        np.testing.assert_allclose(root * problem.M.apply(listed.face(some).point(c * scale)), E @ c, atol=1e-9)
    assert listed.images.size == (7 if groups else 4)
    y = draw.standard_normal(problem.m)
    pulled = listed.pull(problem.M.adjoint(y))
    np.testing.assert_allclose(pulled, (seen / root[:, None]).T @ y, atol=1e-9)


def test_images_are_asked_for_once():
    A = generator(10).standard_normal((M_ROWS, 7))
    problem = Problem(black_box(A), A[:, 0], atoms=SignedOneHot(7))
    images = problem.listed.images
    images.slots(np.array([3, 1]))
    images.slots(np.array([1, 3, 5]))
    images.slots(np.array([5, 3]))
    assert problem.M.products == 3
    assert images.has(np.arange(7)).tolist() == [False, True, False, True, False, True, False]
    np.testing.assert_allclose(images.columns(images.slots(np.array([5, 3]))), A[:, [5, 3]])


def test_columns_of_length_zero_have_images_of_zero():
    A = generator(11).standard_normal((M_ROWS, 4))
    A[:, 1] = 0
    problem = Problem(A, A[:, 0], atoms=SignedOneHot(4))
    images = problem.listed.images
    np.testing.assert_array_equal(images.columns(images.slots(np.array([1]))), 0)
    assert np.isfinite(images.gram[:1, :1]).all()


# A set in units of its own --------------------------------------------------------------------------------------------

UNITS = 10.0 ** generator(12).uniform(-1, 1, 7)
RESCALED = {
    "signed": Rescaled(SignedOneHot(7), UNITS),
    "nonnegative": Rescaled(NonnegativeOneHot(7), UNITS),
    "groups": Rescaled(Groups(GROUPS), UNITS),
}


@pytest.mark.parametrize("name", RESCALED)
def test_rescaled_sets_keep_the_contract(name):
    check_atoms(RESCALED[name], rng=0)


@pytest.mark.parametrize("name", RESCALED)
def test_rescaled_is_mapped_by_a_diagonal(name):
    atoms = RESCALED[name]
    twin = Mapped(np.diag(UNITS), atoms.inner)
    draw = generator(13)
    for _ in range(5):
        z, x = draw.standard_normal(7), np.abs(draw.standard_normal(7))
        assert atoms.support(z) == pytest.approx(twin.support(z), rel=1e-12)
        assert atoms.gauge(x) == pytest.approx(atoms.inner.gauge(x / UNITS), rel=1e-12)
        assert atoms.gauge(x) == pytest.approx(naive.gauge(twin, x), rel=1e-5)
        np.testing.assert_allclose(atoms.alignments(z), twin.alignments(z), rtol=1e-12)
        ours, theirs = atoms.expose(z, 2), twin.expose(z, 2)
        np.testing.assert_array_equal(ours.labels(), theirs.labels())
        c = draw.standard_normal(ours.dim)
        np.testing.assert_allclose(ours.point(c), theirs.point(c), rtol=1e-12)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, "pickle"], ids=["copy", "deepcopy", "pickle"])
def test_rescaled_sets_can_be_copied(again):
    atoms = RESCALED["groups"]
    other = pickle.loads(pickle.dumps(atoms)) if again == "pickle" else again(atoms)
    z = generator(14).standard_normal(7)
    assert other.support(z) == atoms.support(z)
    assert repr(other) == repr(atoms)


# Losses after free columns --------------------------------------------------------------------------------------------


def profiled_losses():
    smooth = {name: loss for name, loss in losses(M_ROWS).items() if "squares" not in name}
    return {
        f"{name}, {what}": Profiled(loss, F)
        for name, loss in smooth.items()
        for what, F in {"one column": np.ones((M_ROWS, 1)), "two columns": FREE / [1.0, 30.0]}.items()
    }


PROFILED = profiled_losses()
every_profiled = pytest.mark.parametrize(("name", "loss"), **over(PROFILED))


def residuals(count=4):
    return 1.5 * generator(15).standard_normal((count, M_ROWS))


def least(loss, r):
    """min over v of f(r - Fv), by a method that knows nothing of curvature."""
    F, base = loss.F, loss.base
    found = minimize(
        lambda v: base.value(r - F @ v),
        np.zeros(F.shape[1]),
        jac=lambda v: -F.T @ base.gradient(r - F @ v),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    return found.fun


def balanced(loss):
    """The loss with free columns that change sign, so that no logistic loss runs away along them."""
    return Profiled(loss.base, loss.F * np.where(np.arange(M_ROWS) % 2, 1.0, -1.0)[:, None])


@every_profiled
def test_the_value_is_the_least_over_the_free_coefficients(name, loss):
    loss = balanced(loss)
    for r in residuals():
        assert loss.value(r) == pytest.approx(least(loss, r), rel=1e-8)
        v = loss.best_free(r)
        assert loss.base.value(r - loss.F @ v) == pytest.approx(loss.value(r), rel=1e-12)
        np.testing.assert_allclose(loss.F.T @ loss.gradient(r), 0, atol=1e-6 * np.abs(loss.F).sum())


@every_profiled
def test_the_gradient_against_differences(name, loss):
    loss, h = balanced(loss), 1e-5
    for r in residuals(2):
        numerical = [(loss.value(r + h * e) - loss.value(r - h * e)) / (2 * h) for e in np.eye(M_ROWS)]
        np.testing.assert_allclose(loss.gradient(r), numerical, atol=1e-5)


@every_profiled
def test_the_answer_does_not_depend_on_what_was_asked_before(name, loss):
    loss = balanced(loss)
    rows = residuals()
    first = [loss.value(r) for r in rows]
    for r, value in zip(rows[::-1], first[::-1], strict=True):
        assert loss.value(r) == pytest.approx(value, rel=1e-10)
        assert Profiled(loss.base, loss.F).value(r) == pytest.approx(value, rel=1e-10)


@every_profiled
def test_free_columns_do_not_matter_to_the_value(name, loss):
    loss = balanced(loss)
    for r in residuals(2):
        moved = r + loss.F @ np.linspace(-1, 1, loss.F.shape[1])
        assert loss.value(moved) == pytest.approx(loss.value(r), rel=1e-9)
        assert loss.value(r) <= loss.base.value(r) * (1 + 1e-12)


@every_profiled
def test_fenchel_and_young(name, loss):
    """g(r) + g*(y) >= <r, y> for all, with equality at y = grad g(r)."""
    loss = balanced(loss)
    rows = residuals()
    duals = [loss.gradient(r) for r in rows]
    P = projector(loss.F, None)
    for r in rows:
        for y in duals:
            y = loss.clip(P @ y)
            assert loss.value(r) + loss.conjugate(y) >= float(r @ y) - 1e-7 * (1 + abs(float(r @ y)))
    for r in rows:
        # the Newton method leaves a trace of F'y; it is taken out where that stays inside the domain
        y = P @ loss.gradient(r)
        if np.isfinite(loss.base.conjugate(y)):
            assert loss.value(r) + loss.conjugate(y) == pytest.approx(float(r @ y), rel=1e-6, abs=1e-6)


@every_profiled
def test_the_conjugate_is_infinite_off_the_orthogonal_complement(name, loss):
    y = np.full(M_ROWS, 0.1)
    assert math.isfinite(loss.base.conjugate(y))
    assert loss.conjugate(y) == math.inf
    inside = 1e-3 * (projector(loss.F, None) @ generator(16).standard_normal(M_ROWS)) + 0.0
    if isinstance(loss.base, Huber):
        assert loss.conjugate(inside) == pytest.approx(loss.base.conjugate(inside))


@every_profiled
def test_convexity_and_smoothness_along_segments(name, loss):
    loss = balanced(loss)
    for r, other in zip(residuals(), residuals()[::-1], strict=True):
        middle, d = 0.5 * (r + other), other - r
        mean = 0.5 * (loss.value(r) + loss.value(other))
        assert loss.value(middle) <= mean + 1e-9
        assert mean - loss.value(middle) <= loss.smoothness * float(d @ d) / 8 + 1e-9


# Newton's method in a box ---------------------------------------------------------------------------------------------

BOXES = {
    "free": (-np.inf, np.inf),
    "nonnegative": (0.0, np.inf),
    "capped": (-0.3, 0.3),
    "one-sided and capped": (0.0, 0.4),
    "tight": (-1e-3, 1e-3),
}


@pytest.mark.parametrize("kind", ["columns", "bordered", "sparse"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(("name", "loss"), **over(losses(40)))
def test_newton_in_a_box_against_lbfgsb(name, loss, box, kind):
    draw = generator(17)
    A = draw.standard_normal((40, 5)) + 0.5
    b = A @ [1.0, -2.0, 0.1, 0.0, 0.5] + draw.standard_normal(40)
    b = 0.3 * draw.standard_normal(40) if isinstance(loss, Logistic) else b
    if isinstance(loss, Logistic):
        A = A * draw.choice([-1.0, 1.0], 40)[:, None]
    reduced = {"columns": Columns(A), "bordered": Bordered(A[:, :3], A[:, 3:]), "sparse": Columns(sp.csc_array(A))}[
        kind
    ]
    lower, upper = np.full(5, BOXES[box][0]), np.full(5, BOXES[box][1])
    c, residual, H = newton(reduced, b, loss, lower, upper)
    twin = minimize(
        lambda v: loss.value(b - A @ v),
        np.clip(np.zeros(5), lower, upper),
        jac=lambda v: -A.T @ loss.gradient(b - A @ v),
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )
    assert (c >= lower).all()
    assert (c <= upper).all()
    np.testing.assert_allclose(residual, b - A @ c, atol=1e-12)
    value = loss.value(residual)
    assert value <= twin.fun * (1 + 1e-10)
    assert value == pytest.approx(twin.fun, rel=1e-6)
    slope = -A.T @ loss.gradient(residual)
    size = 1e-6 * np.abs(A.T @ loss.gradient(b)).max()
    assert (slope[c > lower] <= size).all()
    assert (slope[c < upper] >= -size).all()
    np.testing.assert_allclose(H, A.T @ (loss.curvature(residual)[:, None] * A), atol=1e-8)


@pytest.mark.parametrize(("name", "loss"), **over(losses(40)))
def test_newton_may_start_anywhere_in_the_box(name, loss):
    draw = generator(18)
    A, b = draw.standard_normal((40, 4)), draw.standard_normal(40)
    lower, upper = np.array([0.0, -1.0, -np.inf, 0.1]), np.array([np.inf, 1.0, 0.2, 0.1])  # the last one is fixed
    values = [
        loss.value(newton(Columns(A), b, loss, lower, upper, start)[1])
        for start in (np.array([0, 0, 0, 0.1]), np.array([3, -1, -5, 0.1]), np.array([0, 1, 0.2, 0.1]))
    ]
    assert max(values) <= min(values) * (1 + 1e-9)


def test_newton_gives_up_what_cannot_reach_the_target():
    draw = generator(19)
    A, b = draw.standard_normal((40, 4)), draw.standard_normal(40)
    wide = np.full(4, np.inf)
    best = LeastSquares().value(newton(Columns(A), b, LeastSquares(), -wide, wide)[1])
    c, _, _ = newton(Columns(A), b, LeastSquares(), -wide, wide, target=0.01 * best)
    assert not c.any()
    reached = newton(Columns(A), b, LeastSquares(), -wide, wide, target=1.01 * best)[1]
    assert LeastSquares().value(reached) == pytest.approx(best, rel=1e-9)


def test_newton_on_separable_classes_ends_with_finite_numbers():
    A = np.abs(generator(21).standard_normal((20, 3)))
    wide = np.full(3, np.inf)
    c, residual, H = newton(Columns(A), np.zeros(20), Logistic(), -wide, wide)
    assert np.isfinite(c).all()
    assert np.isfinite(H).all()
    assert Logistic().value(residual) < 1e-6


def test_newton_with_dependent_columns():
    draw = generator(22)
    A = draw.standard_normal((20, 2)) @ draw.standard_normal((2, 4))
    b, wide = draw.standard_normal(20), np.full(4, np.inf)
    c, residual, _ = newton(Columns(A), b, LeastSquares(), -wide, wide)
    left = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.isfinite(c).all()
    assert LeastSquares().value(residual) == pytest.approx(LeastSquares().value(left), rel=1e-9)
