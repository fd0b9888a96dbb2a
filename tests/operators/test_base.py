"""What follows from the three members that an operator needs."""

import numpy as np

import naive
from fewatoms import Counting, norms
from fewatoms.testing import check_operator
from operators.small import Blur


def test_an_operator_needs_three_members():
    check_operator(Blur())
    check_operator(Counting(Blur()))
    np.testing.assert_allclose(norms.column_norms(Blur()), np.linalg.norm(naive.dense_operator(Blur()), axis=0))
