"""Images of listed atoms and their Gram matrix against the dense twin."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import (
    black_box,
    generator,
    over,
    projector,
    vector_operators,
)
from fewatoms import (
    Dictionary,
    Groups,
    Huber,
    LeastSquares,
    Mapped,
    NonnegativeOneHot,
    Problem,
    SignedOneHot,
    ledger,
)
from fewatoms.capabilities import ColumnBlocks
from fewatoms.methods.listed.images import IMAGE_ROOM, Images
from fewatoms.methods.listed.view import View

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


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
        "signed": (Problem.of(A, b, atoms=SignedOneHot(7)), A),
        "nonnegative": (Problem.of(A, b, atoms=NonnegativeOneHot(7)), A),
        "turned over": (Problem.of(A, b, atoms=-2.0 * NonnegativeOneHot(7)), -A),
        "groups": (Problem.of(A, b, atoms=Groups(GROUPS)), A),
        "dictionary": (Problem.of(A, b, atoms=Dictionary(D, symmetric=True)), A @ D),
        "mapped groups": (Problem.of(A, b, atoms=Mapped(D, 3.0 * Groups(GROUPS))), A @ D),
        "weights": (Problem.of(A, b, atoms=SignedOneHot(7), loss=LeastSquares(WEIGHTS)), A),
        "free": (Problem.of(A, b, atoms=SignedOneHot(7), free="intercept"), projector(np.ones((M_ROWS, 1)), None) @ A),
        "weights, free": (
            Problem.of(A, b, atoms=Groups(GROUPS), loss=LeastSquares(WEIGHTS), free=FREE),
            projector(FREE, WEIGHTS) @ A,
        ),
        "sparse": (Problem.of(sp.csc_array(tall), long, atoms=SignedOneHot(7)), tall),
        "sparse, weights": (
            Problem.of(sp.csr_array(tall), long, atoms=Groups(GROUPS), loss=LeastSquares(np.linspace(1, 2, 100))),
            tall,
        ),
        "black box": (Problem.of(black_box(A), b, atoms=SignedOneHot(7)), A),
        "huber": (Problem.of(A, b, atoms=SignedOneHot(7), loss=Huber(0.5, WEIGHTS)), A),
        "cap": (Problem.of(A, b, atoms=SignedOneHot(7), cap=1.0), A),
    }


LISTED = listed_problems()


@pytest.mark.parametrize("name", LISTED)
def test_images_and_their_gram_matrix_against_the_dense_twin(name):
    problem, columns = LISTED[name]
    listed = View(problem, problem.M, IMAGE_ROOM)
    squares, weights = problem.base_loss.squares, problem.base_loss.weights
    root = np.sqrt(weights) if squares and weights is not None else np.ones(problem.m)
    seen = root[:, None] * columns
    at_hand = problem.M.offers(ColumnBlocks) is not None and problem.price.cap is None
    if at_hand:
        measure = columns * np.sqrt(np.ones(problem.m) if weights is None else weights)[:, None]
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
        scale = listed.user_scale(some)
        np.testing.assert_allclose(root * problem.M.apply(listed.face(some).point(c * scale)), E @ c, atol=1e-9)
    assert listed.images.size == (7 if groups else 4)
    y = draw.standard_normal(problem.m)
    pulled = listed.pull(problem.M.adjoint(y))
    np.testing.assert_allclose(pulled, (seen / root[:, None]).T @ y, atol=1e-9)


def test_images_are_asked_for_once():
    A = generator(10).standard_normal((M_ROWS, 7))
    problem = Problem.of(black_box(A), A[:, 0], atoms=SignedOneHot(7))
    images = View(problem, problem.M, IMAGE_ROOM).images
    with ledger.opened() as spent:
        images.slots(np.array([3, 1]))
        images.slots(np.array([1, 3, 5]))
        images.slots(np.array([5, 3]))
    assert spent.products == 3
    assert images.classes.tolist() == [3, 1, 5]
    np.testing.assert_allclose(images.columns(images.slots(np.array([5, 3]))), A[:, [5, 3]])


def test_columns_of_length_zero_have_images_of_zero():
    A = generator(11).standard_normal((M_ROWS, 4))
    A[:, 1] = 0
    problem = Problem.of(A, A[:, 0], atoms=SignedOneHot(4))
    images = View(problem, problem.M, IMAGE_ROOM).images
    np.testing.assert_array_equal(images.columns(images.slots(np.array([1]))), 0)
    assert np.isfinite(images.gram[:1, :1]).all()


def test_images_asked_for_longest_ago_make_room():
    """Where room is short, others are let go; what is at hand is right whatever was let go."""
    A = generator(12).standard_normal((M_ROWS, 7))
    problem = Problem.of(A, A[:, 0], atoms=SignedOneHot(7))
    images = Images(View(problem, problem.M, IMAGE_ROOM), problem, 4)
    E = A / np.linalg.norm(A, axis=0)
    for some in ([0, 1, 2], [3, 0], [4, 5, 0], [6], [1, 2, 3, 4]):
        which = np.array(some)
        assert images.fits(which)
        slots = images.slots(which)
        assert images.size <= 4
        np.testing.assert_allclose(images.columns(slots), E[:, which], atol=1e-12)
        np.testing.assert_allclose(images.gram[np.ix_(slots, slots)], E[:, which].T @ E[:, which], atol=1e-12)
        np.testing.assert_allclose(images.moments[slots], E[:, which].T @ problem.b, atol=1e-12)
    assert not images.fits(np.arange(5))
