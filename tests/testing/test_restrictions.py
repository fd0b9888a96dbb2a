"""Reduced operators that break the contract are named."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import SignedOneHot
from fewatoms.operators import as_operator
from fewatoms.reduced import Columns
from fewatoms.testing.restrictions import check_reduced, check_restriction

M = as_operator(generator(1).standard_normal((5, 6)))
FACE = SignedOneHot(6).expose(np.arange(6.0), 3)


class Transposed(Columns):
    def adjoint(self, r):
        return 1.01 * super().adjoint(r)


class Unweighted(Columns):
    def normal_equations(self, b, weights=None):
        return super().normal_equations(b)


class Positive(Columns):
    """Leaves out no row, whatever its weight."""

    def normal_equations(self, b, weights=None):
        return super().normal_equations(b, None if weights is None else np.where(weights == 0, 1.0, weights))


class Shifted(Columns):
    def normal_equations(self, b, weights=None):
        G, h = super().normal_equations(b, weights)
        return G, 1.01 * h


class Long(Columns):
    def norms(self):
        return 1.01 * super().norms()


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Transposed, r"<R c, b> = <c, R\*b>"),
        (Unweighted, "Gram matrix with weights"),
        (Positive, "Gram matrix with weights of 0"),
        (Shifted, "right-hand side"),
        (Long, r"norms\(\) = \|M a_i\|"),
    ],
)
def test_broken_reduced_operators_are_named(kind, told):
    check_restriction(M, FACE, generator(2), 1e-9)
    with pytest.raises(AssertionError, match=rf"made.*{told}.* does not hold: "):
        check_reduced("made", kind(FACE.images(M)), M, FACE, generator(2), 1e-9)


def test_other_columns_are_named():
    with pytest.raises(AssertionError, match=r"made.apply\(c\) = M point\(c\) does not hold"):
        check_reduced("made", Columns(2.0 * FACE.images(M)), M, FACE, generator(2), 1e-9)
    with pytest.raises(AssertionError, match=r"made.dim = face.dim does not hold: 2 against 3"):
        check_reduced("made", Columns(FACE.images(M)[:, :2]), M, FACE, generator(2), 1e-9)
