"""Bad input: each gives one sentence that names the argument, the demand and what came."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewatoms as fa

D = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
B = np.array([1.0, 2.0, 3.0])
NAN, INF = np.nan, np.inf


def fit(M=D, b=B, **options):
    return fa.fit(M, b, **{"atoms": fa.SignedOneHot(4), "k": 1, **options})


def spoiled(array, where, value):
    array = np.array(array, dtype=float)
    array.flat[where] = value
    return array


def assert_refused(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


# The data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "shown"), [(NAN, "nan"), (INF, "inf"), (-INF, "-inf")])
def test_b_must_be_finite(bad, shown):
    for where in range(3):
        assert_refused(
            ValueError,
            rf"^b must hold finite numbers only; it contains {shown}$",
            lambda w=where: fit(b=spoiled(B, w, bad)),
        )


@pytest.mark.parametrize(
    ("b", "kind", "message"),
    [
        (np.ones(4), ValueError, r"^b must have 3 entries \(the rows of M\); got shape \(4,\)$"),
        (np.ones(2), ValueError, r"^b must have 3 entries \(the rows of M\); got shape \(2,\)$"),
        (np.ones((1, 3)), ValueError, r"^b must have m = 3 rows, one column per data vector; got shape \(1, 3\)$"),
        (2.0, ValueError, r"^b must be a vector of length m = 3; got 2.0$"),
        (None, ValueError, r"^b must be a vector of length m = 3; got None$"),
        ([], ValueError, r"^b must have at least one entry; got shape \(0,\)$"),
        (1j * B, TypeError, r"^b must be real; got an array of complex128$"),
        (["a", "b", "c"], TypeError, r"^b must hold real numbers; got an array of <U1$"),
        (np.array([1, 2, None], dtype=object), TypeError, r"^b must hold real numbers; got an array of object$"),
        (np.array([1, 2, 3], dtype=object), TypeError, r"^b must hold real numbers; got an array of object$"),
        (
            np.array(["2020-01-01"] * 3, dtype="M8[D]"),
            TypeError,
            r"^b must hold real numbers; got an array of datetime64",
        ),
        (sp.csr_array(B[None]), TypeError, r"^b must be a dense array; got a sparse one: pass b.toarray\(\)$"),
        (np.ma.array(B, mask=[0, 1, 0]), ValueError, r"^b must not have masked entries; 1 are masked"),
        (1e200 * B, ValueError, r"^b must be in units in which its loss is an ordinary number; got inf"),
        (1e-200 * B, ValueError, r"^b must be in units in which its loss is an ordinary number; got 0.0"),
    ],
    ids=str,
)
def test_b_must_be_a_real_vector_of_the_right_length(b, kind, message):
    assert_refused(kind, message, lambda: fit(b=b))


def test_b_of_matrix_operators():
    one = fa.RankOne(2, 3)
    assert_refused(
        ValueError,
        r"^b must have shape \(2, 3\) or be flat; got shape \(3, 2\)$",
        lambda: fa.fit(fa.Identity((2, 3)), np.ones((3, 2)), atoms=one, k=1),
    )
    assert_refused(
        TypeError, r"^b must be real", lambda: fa.fit(fa.Identity((2, 3)), 1j * np.ones((2, 3)), atoms=one, k=1)
    )
    M = fa.Sampling([0, 1], [1, 2], (2, 3))
    assert_refused(ValueError, r"^b must have 2 entries", lambda: fa.fit(M, np.ones(3), atoms=one, k=1))
    assert_refused(ValueError, r"^b must hold finite", lambda: fa.fit(M, [1.0, NAN], atoms=one, k=1))
    Q = fa.Quadratic(D)
    assert_refused(TypeError, r"^b must be real", lambda: fa.fit(Q, 1j * B, atoms=fa.PSDRankOne(4), k=1))
    assert_refused(ValueError, r"^b must have 3 entries", lambda: fa.fit(Q, np.ones(5), atoms=fa.PSDRankOne(4), k=1))


# The operator --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "shown"), [(NAN, "nan"), (INF, "inf"), (-INF, "-inf")])
@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        lambda a: a.astype(np.float32),
        np.ndarray.tolist,
        sp.csr_array,
        sp.csc_array,
        sp.coo_array,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    ],
    ids=["c", "fortran", "single", "list", "csr", "csc", "coo", "strided"],
)
def test_M_must_be_finite(form, bad, shown):
    for where in (0, 5, 11):
        assert_refused(
            ValueError,
            f"^M must hold finite numbers only; it contains {shown}$",
            lambda w=where: fit(form(spoiled(D, w, bad))),
        )


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_late_nan_is_found_without_a_copy(order):
    M = np.ones((1500, 2000), order=order)
    M[-1, -1] = NAN
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"^M must hold finite numbers only; it contains nan$"):
            fa.fit(M, np.ones(1500), atoms=fa.SignedOneHot(2000), k=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * M.nbytes


@pytest.mark.parametrize(
    ("M", "kind", "message"),
    [
        (np.ones(4), ValueError, r"^M must be a matrix \(2 axes\); got shape \(4,\)$"),
        (np.ones((3, 4, 1)), ValueError, r"^M must be a matrix \(2 axes\); got shape \(3, 4, 1\)$"),
        (sp.coo_array(np.ones(4)), ValueError, r"^M must be a matrix \(2 axes\); got shape \(4,\)$"),
        (np.ones((0, 4)), ValueError, r"^M must have at least one row and one column; got shape \(0, 4\)$"),
        (np.ones((3, 0)), ValueError, r"^M must have at least one row and one column; got shape \(3, 0\)$"),
        ([[1.0, 2.0], [3.0]], ValueError, r"^M must be a matrix, with rows of one length"),
        (1j * D, TypeError, r"^M must be real; got complex128: .* Quadratic"),
        (sp.csr_array(1j * D), TypeError, r"^M must be real; got complex128"),
        (aslinearoperator(1j * D), TypeError, r"^M must be real; got complex128"),
        (D.astype(object), TypeError, r"^M must hold real numbers; got an array of object$"),
        (D.astype(str), TypeError, r"^M must hold real numbers; got an array of <U"),
        (np.ma.array(D, mask=D > 2), ValueError, r"^M must not have masked entries; 1 are masked"),
        (None, TypeError, r"^M must be an array, a SciPy sparse matrix, .*; got NoneType$"),
        ("abc", TypeError, r"^M must be an array, .*; got str$"),
        ({}, TypeError, r"^M must be an array, .*; got dict$"),
        (len, TypeError, r"^M must be an array, .*; got builtin_function_or_method$"),
        (1e-200 * D, ValueError, r"^M must be in units in which the squares .* too small here"),
    ],
    ids=str,
)
def test_M_must_be_a_real_matrix(M, kind, message):
    assert_refused(kind, message, lambda: fit(M))


def box(forward=None, backward=None, dtype=float):
    return LinearOperator(
        (3, 4), matvec=forward or (lambda x: D @ x), rmatvec=backward or (lambda y: D.T @ y), dtype=dtype
    )


class Duck:
    """No LinearOperator, but it looks like one; SciPy checks nothing here."""

    shape = (3, 4)

    def __init__(self, forward=None, backward=None):
        self.matvec = forward or (lambda x: D @ x)
        self.rmatvec = backward or (lambda y: D.T @ y)


@pytest.mark.parametrize("make", [box, Duck], ids=["linear-operator", "duck"])
@pytest.mark.parametrize(
    ("forward", "backward", "kind", "message"),
    [
        (lambda x: np.full(3, NAN), None, ValueError, r"^M\.matvec's result must hold finite numbers only; .* nan$"),
        (None, lambda y: np.full(4, NAN), ValueError, r"^M\.rmatvec's result must hold finite numbers only; .* nan$"),
        (None, lambda y: np.array([INF, -INF, 0, 0]), ValueError, r"^M\.rmatvec's result must hold finite .* inf$"),
        (None, lambda y: np.ones(3), ValueError, r"^M\.rmatvec must return 4 numbers; .*3"),
        (lambda x: np.ones(2), None, ValueError, r"^M\.matvec must return 3 numbers; .*2"),
        (None, lambda y: 1j * np.ones(4), TypeError, r"^M\.rmatvec must return real numbers; .*complex128$"),
        (None, lambda y: np.array(["a"] * 4, dtype=object), TypeError, r"^M\.rmatvec must return real .*object$"),
    ],
)
def test_what_an_operator_returns_is_checked(make, forward, backward, kind, message):
    assert_refused(kind, message, lambda: fit(make(forward, backward)))


def test_what_matmat_returns_is_checked():
    class Block(LinearOperator):
        def __init__(self, result):
            super().__init__(float, (3, 4))
            self.result = result

        def _matvec(self, x):
            return D @ x

        def _rmatvec(self, y):
            return D.T @ y

        def _matmat(self, X):
            return self.result(X)

    common = {"loss": fa.Huber(1.0), "k": 2}
    assert_refused(
        ValueError,
        r"^M\.matmat's result must hold finite",
        lambda: fit(Block(lambda X: np.full((3, X.shape[1]), NAN)), **common),
    )
    assert_refused(
        ValueError,
        r"^M\.matmat must return shape \(3, \d\); got \(2, \d\)",
        lambda: fit(Block(lambda X: np.ones((2, X.shape[1]))), **common),
    )


def test_operators_must_be_complete():
    class NoAdjoint:
        shape = (3, 4)

        def matvec(self, x):
            return D @ x

    class NoShape(Duck):
        shape = None

    assert_refused(
        TypeError,
        r"^M must be .*\(anything with shape, matvec and rmatvec\).*; got NoAdjoint$",
        lambda: fit(NoAdjoint()),
    )
    assert_refused(
        TypeError,
        r"^M must have a working rmatvec; .* does not implement it$",
        lambda: fit(LinearOperator((3, 4), matvec=lambda x: D @ x, dtype=float)),
    )
    assert_refused(TypeError, r"^M must have a shape \(m, n\); got None$", lambda: fit(NoShape()))


def test_operators_of_the_users_own_are_checked_too():
    class Own(fa.Operator):
        shape = (3, 4)

        def __init__(self, image, dual):
            self.image, self.dual = image, dual

        def apply(self, x):
            return self.image

        def adjoint(self, y):
            return self.dual

    assert_refused(
        ValueError, r"^M\.adjoint must return 4 numbers; got shape \(3,\)$", lambda: fit(Own(np.ones(3), np.ones(3)))
    )
    assert_refused(
        ValueError, r"^M\.apply must return 3 numbers; got shape \(2,\)$", lambda: fit(Own(np.ones(2), np.ones(4)))
    )


# Atoms and their number ----------------------------------------------------------------------------------------------


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
    assert_refused(ValueError, message, lambda: fa.fit(M, np.ones(M.shape[0]), atoms=atoms, k=1))


@pytest.mark.parametrize("atoms", [None, 4, "signed", fa.SignedOneHot, np.eye(4)], ids=str)
def test_atoms_must_be_a_set(atoms):
    assert_refused(TypeError, r"^atoms must be an atomic set such as SignedOneHot\(n\); got ", lambda: fit(atoms=atoms))


@pytest.mark.parametrize("k", [0, -1, 5, 10**9])
def test_k_must_be_in_range(k):
    assert_refused(
        ValueError, rf"^k must be an integer between 1 and 4, .* SignedOneHot\(4\); got {k}$", lambda: fit(k=k)
    )


@pytest.mark.parametrize("k", [1.5, 2.0, "3", True, np.True_, NAN, [1], (1,), np.float64(2), 1j])
def test_k_must_be_an_integer(k):
    assert_refused(TypeError, r"^k must be an integer between 1 and 4, .*; got ", lambda: fit(k=k))


def test_k_must_be_given():
    assert_refused(
        TypeError,
        r"^k must say how many atoms are allowed, unless a bound \(alpha or misfit\) is given; got None$",
        lambda: fit(k=None),
    )
    assert_refused(TypeError, r"k", lambda: fa.fit(D, B, atoms=fa.SignedOneHot(4)))


@pytest.mark.parametrize(
    ("atoms", "most"),
    [
        (fa.Groups([0, 0, 1, 1]), 2),
        (fa.RankOne(2, 2), 2),
        (fa.PSDRankOne(2), 2),
        (fa.Dictionary(np.ones((4, 7)), symmetric=False), 7),
        (3.0 * fa.NonnegativeCone(4), 4),
    ],
    ids=str,
)
def test_k_is_at_most_the_number_of_atoms(atoms, most):
    assert_refused(
        ValueError,
        rf"^k must be an integer between 1 and {most}, .*; got {most + 1}$",
        lambda: fit(atoms=atoms, k=most + 1),
    )
    assert fit(atoms=atoms, k=most, max_iterations=1).cardinality <= most


@pytest.mark.parametrize(
    ("k", "kind", "message"),
    [
        (2, TypeError, r"^k must give one budget for each of the 2 parts of \(.*\); got 2$"),
        ("12", TypeError, r"^k must give one budget for each of the 2 parts of \(.*\); got '12'$"),
        ({1: 1, 2: 2}, TypeError, r"^k must give one budget for each of the 2 parts"),
        ((1,), ValueError, r"^k must give one budget for each of the 2 parts of .*; got 1: \(1,\)$"),
        ((1, 2, 3), ValueError, r"^k must give one budget for each of the 2 parts of .*; got 3: \(1, 2, 3\)$"),
        ((0, 1), ValueError, r"^k must be an integer between 1 and 4, .*SignedOneHot\(4\); got 0$"),
        ((1, 0), ValueError, r"^k must be an integer between 1 and 2, .*Groups.*; got 0$"),
        ((1, 3), ValueError, r"^k must be an integer between 1 and 2, .*Groups.*; got 3$"),
        ((1, 1.5), TypeError, r"^k must be an integer between 1 and 2, .*; got 1.5$"),
        ((True, 1), TypeError, r"^k must be an integer between 1 and 4, .*; got True$"),
        (((1, 1), 1), TypeError, r"^k must be an integer between 1 and 4, .*; got \(1, 1\)$"),
    ],
    ids=str,
)
def test_budgets_of_sums(k, kind, message):
    for join in (fa.SignedOneHot(4) + fa.Groups([0, 0, 1, 1]), fa.SignedOneHot(4) | fa.Groups([0, 0, 1, 1])):
        assert_refused(kind, message, lambda join=join: fit(atoms=join, k=k))


def test_budgets_are_nested_as_the_sets_are():
    atoms = (fa.SignedOneHot(4) | fa.Groups([0, 0, 1, 1])) + fa.NonnegativeOneHot(4)
    assert_refused(
        TypeError,
        r"^k must give one budget for each of the 2 parts of \(.* \| .*\); got 1$",
        lambda: fit(atoms=atoms, k=(1, 1)),
    )
    assert fit(atoms=atoms, k=((1, 1), 1), max_iterations=1).cardinality <= 3


# Bounds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alpha", "misfit"])
@pytest.mark.parametrize("value", [-1, -1e-300, NAN, INF, -INF])
def test_bounds_must_be_nonnegative_numbers(name, value):
    assert_refused(ValueError, f"^{name} must be a nonnegative finite number; got ", lambda: fit(**{name: value}))


@pytest.mark.parametrize("name", ["alpha", "misfit"])
@pytest.mark.parametrize("value", ["3", True, [1.0], 1j, np.array([1.0, 2.0]), {}])
def test_bounds_must_be_numbers(name, value):
    assert_refused(TypeError, f"^{name} must be a nonnegative finite number; got ", lambda: fit(**{name: value}))


def test_one_bound_at_a_time():
    assert_refused(
        ValueError,
        r"^alpha and misfit bound the same thing, give one; got alpha=1, misfit=0.1$",
        lambda: fit(alpha=1, misfit=0.1),
    )


@pytest.mark.parametrize("loss", [fa.Huber(2.0), fa.Logistic()], ids=repr)
def test_misfit_is_for_least_squares(loss):
    message = rf"^misfit is a bound for least squares; with {type(loss).__name__}\(.*\) give alpha.*; got misfit=0.1$"
    assert_refused(ValueError, message, lambda: fit(misfit=0.1, loss=loss))


# Losses and weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squares", fa.LeastSquares, 1.0, np.square], ids=str)
def test_the_loss_must_be_a_loss(loss):
    assert_refused(TypeError, r"^loss must be a Loss such as LeastSquares\(\), .*; got ", lambda: fit(loss=loss))


@pytest.mark.parametrize(
    "make", [fa.LeastSquares, lambda w: fa.Huber(1.0, w), fa.Logistic], ids=["ls", "huber", "logistic"]
)
def test_weights_must_be_positive_and_as_many_as_rows(make):
    for weights in ([1.0, 2.0], [1.0] * 4, []):
        assert_refused(
            ValueError,
            rf"^weights of the loss must have 3 entries, one per row of M; got {len(weights)}$",
            lambda w=weights: fit(loss=make(w)),
        )
    assert_refused(ValueError, r"^weights must be positive .*; got -2.0$", lambda: make([1, -2, 1]))
    assert_refused(
        ValueError, r"^weights must be positive \(leave rows of weight 0 out\); got 0.0$", lambda: make([1, 0, 1])
    )
    assert_refused(ValueError, r"^weights must hold finite numbers only; it contains nan$", lambda: make([1, NAN, 1]))
    assert_refused(ValueError, r"^weights must hold finite numbers only; it contains inf$", lambda: make([1, INF, 1]))
    assert_refused(TypeError, r"^weights must be real", lambda: make([1j, 1, 1]))
    assert_refused(TypeError, r"^weights must hold real numbers; got an array of <U", lambda: make("abc"))


@pytest.mark.parametrize(
    ("delta", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (NAN, ValueError),
        (INF, ValueError),
        ("a", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_delta_must_be_positive(delta, kind):
    assert_refused(kind, r"^delta must be a positive finite number; got ", lambda: fa.Huber(delta))


# Operators of our own ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "cols", "shape", "kind", "message"),
    [
        ([0, 1, 0], [0, 1, 0], (3, 3), ValueError, r"^rows and cols must name each entry once; 1 repeat .* \(0, 0\)"),
        ([2, 1, 2, 1], [2, 0, 2, 0], (3, 3), ValueError, r"once; 2 repeat .*, \(1, 0\) for one: .*from_triplets"),
        ([0, 3], [0, 1], (3, 3), ValueError, r"^rows must lie between 0 and 2; got 3$"),
        ([0, 1], [0, 5], (3, 3), ValueError, r"^cols must lie between 0 and 2; got 5$"),
        ([-1, 1], [0, 1], (3, 3), ValueError, r"^rows must lie between 0 and 2; got -1$"),
        ([0, 1], [0, -1], (3, 3), ValueError, r"^cols must lie between 0 and 2; got -1$"),
        ([0.0, 1.0], [0, 1], (3, 3), TypeError, r"^rows must hold integers; got an array of float64$"),
        ([0, 1], [True, False], (3, 3), TypeError, r"^cols must hold integers; got an array of bool$"),
        (["a"], [0], (3, 3), TypeError, r"^rows must hold integers; got an array of <U1$"),
        ([0, 1], [0], (3, 3), ValueError, r"^rows and cols must have the same length; got 2 and 1$"),
        ([], [], (3, 3), ValueError, r"^rows and cols must name at least one entry; got none$"),
        ([0], [0], 3, TypeError, r"^shape must be a pair of integers \(rows, columns\); got 3$"),
        ([0], [0], (3, 3, 3), TypeError, r"^shape must be a pair of integers \(rows, columns\); got \(3, 3, 3\)$"),
        ([0], [0], (3, 0), ValueError, r"^shape\[1\] must be an integer of at least 1; got 0$"),
        ([0], [0], (3.0, 3), TypeError, r"^shape\[0\] must be an integer of at least 1; got 3.0$"),
    ],
)
def test_sampled_entries(rows, cols, shape, kind, message):
    assert_refused(kind, message, lambda: fa.Sampling(rows, cols, shape))


def test_sampling_from_triplets_and_arrays():
    make = fa.Sampling.from_triplets
    assert_refused(
        ValueError, r"^values must hold finite numbers only; it contains nan$", lambda: make([0], [0], [NAN])
    )
    assert_refused(
        ValueError,
        r"^values must have 2 entries \(one per row index\); got shape \(1,\)$",
        lambda: make([0, 1], [0, 0], [1]),
    )
    assert_refused(ValueError, r"^rows and cols must name each entry once", lambda: make([0, 0], [0, 0], [1, 2]))
    assert_refused(
        ValueError,
        r"^duplicates must be 'error', 'mean' or 'last'; got 'sum'$",
        lambda: make([0, 0], [0, 0], [1, 2], duplicates="sum"),
    )
    assert_refused(
        ValueError, r"^rows must lie between 0 and 1; got 2$", lambda: make([2], [0], [1], (2, 2), duplicates="mean")
    )
    make = fa.Sampling.from_array
    assert_refused(
        ValueError,
        r"^X must have at least one entry that is not missing; got none$",
        lambda: make(np.full((2, 2), NAN)),
    )
    assert_refused(ValueError, r"^X must hold finite numbers only; it contains inf$", lambda: make([[1.0, INF]]))
    assert_refused(ValueError, r"^X must be a matrix \(2 axes\); got shape \(3,\)$", lambda: make(B))
    assert_refused(TypeError, r"^X must hold real numbers; got an array of complex128$", lambda: make(1j * D))
    assert_refused(TypeError, r"^X must hold real numbers; got an array of <U1$", lambda: make([["a"]]))


def test_quadratic_and_identity():
    assert_refused(ValueError, r"^A must be a matrix with rows and columns; got shape \(3,\)$", lambda: fa.Quadratic(B))
    assert_refused(
        ValueError,
        r"^A must be a matrix with rows and columns; got shape \(0, 3\)$",
        lambda: fa.Quadratic(np.ones((0, 3))),
    )
    assert_refused(
        ValueError, r"^A must hold finite numbers only; it contains nan$", lambda: fa.Quadratic(spoiled(D, 5, NAN))
    )
    assert_refused(
        ValueError, r"^A must hold finite numbers only", lambda: fa.Quadratic(sp.csr_array(spoiled(D, 5, INF)))
    )
    assert_refused(TypeError, r"^A must hold numbers; got an array of <U1$", lambda: fa.Quadratic([["a"]]))
    assert_refused(ValueError, r"^shape must be an integer of at least 1; got 0$", lambda: fa.Identity(0))
    assert_refused(ValueError, r"^shape\[1\] must be an integer of at least 1; got 0$", lambda: fa.Identity((2, 0)))
    assert_refused(TypeError, r"^shape must be a pair of integers", lambda: fa.Identity((2, 3, 4)))


# Sets ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [fa.SignedOneHot, fa.NonnegativeOneHot, fa.NonnegativeCone, fa.PSDRankOne])
@pytest.mark.parametrize(
    ("n", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (1.5, TypeError),
        ("a", TypeError),
        (None, TypeError),
        (True, TypeError),
        (NAN, TypeError),
    ],
)
def test_sizes_of_sets(make, n, kind):
    assert_refused(kind, r"^n must be an integer of at least 1; got ", lambda: make(n))


def test_shapes_of_sets():
    assert_refused(
        TypeError, r"^shape must be a pair of integers \(rows, columns\); got \(2,\)$", lambda: fa.SignedOneHot((2,))
    )
    assert_refused(TypeError, r"^shape must be a pair of integers", lambda: fa.SignedOneHot((2, 3, 4)))
    assert_refused(ValueError, r"^shape\[0\] must be an integer of at least 1; got 0$", lambda: fa.SignedOneHot((0, 2)))
    assert_refused(ValueError, r"^rows must be an integer of at least 1; got 0$", lambda: fa.RankOne(0, 3))
    assert_refused(TypeError, r"^cols must be an integer of at least 1; got 2.0$", lambda: fa.RankOne(3, 2.0))
    assert_refused(TypeError, r"^n must be an integer", lambda: fa.PSDRankOne((2, 2)))


def test_group_labels():
    assert_refused(ValueError, r"^labels must not contain NaN or infinity", lambda: fa.Groups([0, NAN]))
    assert_refused(
        ValueError, r"^labels must be a vector .* one label per coordinate; got shape \(0,\)$", lambda: fa.Groups([])
    )
    assert_refused(ValueError, r"^labels must be .*; got shape \(\)$", lambda: fa.Groups(3))
    assert_refused(ValueError, r"^labels must be .*; got shape \(2, 2, 2\)$", lambda: fa.Groups(np.zeros((2, 2, 2))))
    assert_refused(
        TypeError,
        r"^labels must be all numbers or all strings",
        lambda: fa.Groups(np.array([None, "a", 1], dtype=object)),
    )
    assert_refused(
        ValueError, r"^weights must have 2 entries \(one per group\); got shape \(1,\)$", lambda: fa.Groups([0, 1], [1])
    )
    assert_refused(ValueError, r"^weights must be positive; got 0.0$", lambda: fa.Groups([0, 1], [1, 0]))
    assert_refused(ValueError, r"^weights must hold finite", lambda: fa.Groups([0, 1], [1, NAN]))
    assert_refused(
        ValueError, r"^weights must name every group; there is none for 'b'$", lambda: fa.Groups(["a", "b"], {"a": 1})
    )


def test_dictionaries_and_images():
    assert_refused(TypeError, r"symmetric", lambda: fa.Dictionary(D))
    assert_refused(TypeError, r"^symmetric must be True or False; got 1$", lambda: fa.Dictionary(D, symmetric=1))
    assert_refused(
        ValueError,
        r"^D must hold finite numbers only; it contains nan$",
        lambda: fa.Dictionary(spoiled(D, 1, NAN), symmetric=True),
    )
    assert_refused(
        TypeError, r"^D must be real; got an array of complex128$", lambda: fa.Dictionary(1j * D, symmetric=True)
    )
    assert_refused(
        ValueError,
        r"^D must be a matrix with rows and columns; got shape \(3,\)$",
        lambda: fa.Dictionary(B, symmetric=True),
    )
    assert_refused(
        ValueError,
        r"^operator must take models of SignedOneHot\(3\), 3 entries; it has shape \(3, 4\)$",
        lambda: fa.Mapped(D, fa.SignedOneHot(3)),
    )
    assert_refused(TypeError, r"^inner must be an atomic set .*; got 3$", lambda: fa.Mapped(D, 3))
    assert_refused(
        TypeError,
        r"^operator must be real; got an operator of complex128$",
        lambda: fa.Mapped(aslinearoperator(1j * D), fa.SignedOneHot(4)),
    )


@pytest.mark.parametrize(
    ("scale", "kind"),
    [
        (0, ValueError),
        (0.0, ValueError),
        (NAN, ValueError),
        (INF, ValueError),
        ("a", TypeError),
        (None, TypeError),
        (1j, TypeError),
        ([1, 2], TypeError),
        (True, TypeError),
    ],
)
def test_scales_of_sets(scale, kind):
    assert_refused(
        kind,
        r"^the scale of an atomic set must be a finite number other than 0; got ",
        lambda: scale * fa.SignedOneHot(4),
    )
    assert_refused(
        kind, r"^the scale of an atomic set must be", lambda: (fa.SignedOneHot(4) | fa.RankOne(2, 2)) * scale
    )


def test_sums_of_what_does_not_add_up():
    A = fa.SignedOneHot(4)
    assert_refused(
        ValueError,
        r"same number of entries; SignedOneHot\(4\) has 4, SignedOneHot\(5\) has 5$",
        lambda: A + fa.SignedOneHot(5),
    )
    assert_refused(ValueError, r"same number of entries", lambda: A | fa.RankOne(2, 3))
    assert_refused(ValueError, r"same shape", lambda: fa.RankOne(2, 3) | fa.SignedOneHot((3, 2)))
    assert_refused(TypeError, r"unsupported operand", lambda: A + 1)
    assert_refused(TypeError, r"unsupported operand", lambda: A | None)
    assert_refused(TypeError, r"scale of an atomic set", lambda: A * A)


# Oracles, retrievals, callbacks and the rest -------------------------------------------------------------------------


def test_oracles_and_retrievals_must_have_their_method():
    assert_refused(
        TypeError, r"^oracle must have a method iterates\(\.\.\.\); got 3$", lambda: fit(method=fa.General(oracle=3))
    )
    assert_refused(
        TypeError,
        r"^oracle must have a method iterates\(\.\.\.\); got <generator",
        lambda: fit(method=fa.General(oracle=(y for y in [B]))),
    )
    assert_refused(
        TypeError,
        r"^oracle must be an object .*, not a class; got LevelSet$",
        lambda: fit(method=fa.General(oracle=fa.LevelSet), alpha=0.1),
    )
    assert_refused(
        TypeError,
        r"^retrieval must have a method retrieve\(\.\.\.\); got <object",
        lambda: fit(method=fa.General(retrieval=object())),
    )
    assert_refused(
        TypeError, r"^retrieval must have a method retrieve", lambda: fit(method=fa.General(retrieval=fa.paper_rule))
    )


def test_what_an_oracle_yields_is_checked():
    class Vectors:
        def iterates(self, problem):
            yield problem.b

    assert_refused(
        TypeError,
        r"^oracle must yield DualPoints \(FromIterates makes them of vectors\); got array",
        lambda: fit(method=fa.General(oracle=Vectors())),
    )


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (1.5, TypeError),
        (None, TypeError),
        ("3", TypeError),
        (True, TypeError),
    ],
)
def test_the_iteration_limit_must_be_positive(limit, kind):
    assert_refused(kind, r"^max_iterations must be an integer of at least 1; got ", lambda: fit(max_iterations=limit))


def test_callbacks_and_seeds():
    assert_refused(TypeError, r"^callback must be callable; got 3$", lambda: fit(callback=3))
    assert_refused(TypeError, r"^rng must be None, a seed or a generator .*; got 'abc'$", lambda: fit(rng="abc"))
    assert_refused(ValueError, r"^rng must be None, a seed or a generator .*; got -1$", lambda: fit(rng=-1))

    def raising(progress):
        raise ZeroDivisionError("the callback's own")

    assert_refused(ZeroDivisionError, r"^the callback's own$", lambda: fit(callback=raising))


# What is unusual but fine --------------------------------------------------------------------------------------------


def test_lists_and_odd_types_work():
    expected = fit(k=2).x
    for M, b in [
        (D.tolist(), B.tolist()),
        (tuple(map(tuple, D)), tuple(B)),
        (D.astype(int), B.astype(np.int8)),
        (D.astype(np.float32), B.astype(np.float32)),
        (D.astype(np.float16), B),
        (np.asfortranarray(D), B[::-1][::-1]),
        (sp.coo_array(D), B),
        (sp.csr_matrix(D), B),
        (sp.lil_array(D), B),
        (np.ma.array(D), np.ma.array(B)),
        (Duck(), B),
        (aslinearoperator(D), B),
    ]:
        for k in (2, np.int64(2), np.array(2)):
            np.testing.assert_allclose(fit(M, b, k=k).x, expected, atol=1e-5)
    for bound in ({"alpha": 1}, {"alpha": np.float32(1.0)}, {"alpha": np.array(1.0)}, {"misfit": 0.5}):
        assert fit(k=2, **bound).success
    assert fa.Sampling([[0, 1]], [[0, 1]], [2, 2]).shape == (2, 4)
    assert fa.fit(fa.Sampling((0, 1), (0, 1), [2, 2]), [1, 2], atoms=fa.RankOne(2, 2), k=[1][0]).cardinality == 1
    assert fit(atoms=fa.SignedOneHot(4) + fa.Groups([0, 0, 1, 1]), k=[1, 1], max_iterations=1).cardinality <= 2
    assert fit(loss=fa.LeastSquares((1, 2, 3))).cardinality == 1
    assert fit(D > 1, [True, False, True]).cardinality == 1


def test_one_row_one_column():
    s = fa.fit([[2.0]], [-4.0], atoms=fa.SignedOneHot(1), k=1, misfit=0)
    assert s.x.tolist() == [-2.0]
    s = fa.fit(np.ones((1, 5)), [3.0], atoms=fa.NonnegativeOneHot(5), k=1, misfit=1e-12)
    assert s.x.sum() == pytest.approx(3.0)
    s = fa.fit(np.ones((5, 1)), np.ones(5), atoms=fa.Groups(["only"]), k=1, misfit=1e-12)
    assert s.indices.tolist() == ["only"]
    s = fa.fit(fa.Identity((1, 1)), [[9.0]], atoms=fa.PSDRankOne(1), k=1, misfit=1e-12)
    assert s.left[0, 0] ** 2 == pytest.approx(9.0)
