"""Bad input: each gives one sentence that names the argument, the demand and what came."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewatoms as fa
from journeys.refused import INF, NAN, B, D, assert_refused, fit, spoiled

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
        (2.0, ValueError, r"^b must be a vector of length m = 3; got 2.0$"),
        (None, ValueError, r"^b must be a vector of length m = 3; got None$"),
        (1j * B, TypeError, r"^b must be real; got an array of complex128$"),
        (["a", "b", "c"], TypeError, r"^b must hold real numbers; got an array of <U1$"),
        (
            np.array([1, 2, None], dtype=object),
            TypeError,
            r"^b must hold real numbers; got an array of object: if they",
        ),
        (
            np.array([1, 2, 3], dtype=object),
            TypeError,
            r"^b must hold real numbers; got an array of object: if they",
        ),
        (
            np.array(["2020-01-01"] * 3, dtype="M8[D]"),
            TypeError,
            r"^b must hold real numbers; got an array of datetime64",
        ),
        (sp.csr_array(B[None]), TypeError, r"^b must be a dense array; got a sparse one: pass b.toarray\(\)$"),
        (np.ma.array(B, mask=[0, 1, 0]), ValueError, r"^b must not have masked entries; 1 are masked"),
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
        (
            D.astype(object),
            TypeError,
            r"^M must hold real numbers; got an array of object: if they",
        ),
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
    assert_refused(TypeError, r"^callback must be callable, .*; got 3$", lambda: fit(callback=3))
    assert_refused(
        TypeError,
        r"^callback must be callable, .*such as Deadline\(5\); got the class Deadline$",
        lambda: fit(callback=fa.callbacks.Deadline),
    )
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
