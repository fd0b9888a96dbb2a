"""How a failure is told: the identity, both numbers, how far apart they are and what is allowed."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewatoms.testing.saying import at_most, equal, gaussian, generator, inner, orthonormal, require, same, unchanged

NAN, INF = float("nan"), float("inf")


def test_what_holds_is_passed_over():
    said = [
        require(True, "x", "y"),
        equal("x", 1.0, 1.0 + 1e-9, 1.0, 1e-8),
        equal("x", INF, INF, 1.0, 0.0),
        at_most("x", 1.0 + 1e-9, 1.0, 1.0, 1e-8),
        at_most("x", 1.0, INF, 1.0, 0.0),
        same("x", np.array([1.0, 1e-12]), np.array([1.0, 0.0]), 1e-9),
        same("x", np.zeros((0, 3)), np.zeros((0, 3)), 0.0),
        unchanged("x", np.ones(2), np.ones(2)),
    ]
    assert said == [None] * len(said)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (lambda: equal("x", 1.0, 2.0, 4.0, 0.1), r"^x does not hold: 1 against 2, 1 apart, allowed 0\.1 \* 4$"),
        (lambda: equal("x", NAN, 2.0, 1.0, 1.0), r"^x does not hold: nan against 2"),
        (lambda: at_most("x", 3.0, 2.0, 1.0, 0.5), r"^x does not hold: 3 is above 2 by 1, allowed 0\.5 \* 1$"),
        (lambda: at_most("x", NAN, 2.0, 1.0, 1.0), r"^x does not hold: nan is above"),
        (lambda: same("x", np.ones(2), np.ones(3), 1.0), r"^x does not hold: shape \(2,\) against \(3,\)$"),
        (lambda: same("x", np.array([[1.0, 2.0]]), np.array([[1.0, 5.0]]), 0.1), r"2 against 5 at \(0, 1\), 3 apart"),
        (lambda: same("x", np.array([9.0, NAN]), np.array([1.0, 1.0]), 1.0), r"nan against 1 at \(1,\)"),
        (lambda: unchanged("x", np.ones(2), np.zeros(2)), r"^x does not hold: the array passed in was modified$"),
    ],
)
def test_what_does_not_hold_is_told(check, told):
    with pytest.raises(AssertionError, match=told):
        check()


def test_draws_repeat_and_are_what_they_are_called():
    assert generator(None).random() == generator(None).random()
    V = orthonormal(generator(1), 5, 3, True)
    np.testing.assert_allclose(V.conj().T @ V, np.eye(3), atol=1e-12)
    assert np.iscomplexobj(gaussian(generator(1), (2,), True))
    x, z = gaussian(generator(2), (2, 3)), gaussian(generator(3), (2, 3))
    assert inner(x, sp.csr_array(z)) == pytest.approx(float((x * z).sum()))
