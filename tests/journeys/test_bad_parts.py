"""Bad operators and sets of our own: each gives one sentence that names the argument, the demand and what came."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from journeys.refused import INF, NAN, B, D, assert_refused, spoiled

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
