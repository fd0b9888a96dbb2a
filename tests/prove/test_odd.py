"""Odd questions through the door, by the searches themselves: nothing to choose, nothing to explain, odd columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from prove import compiled

RNG = np.random.default_rng(0)
M = RNG.standard_normal((30, 8))
B = M[:, :3].sum(axis=1) + 0.5 * RNG.standard_normal(30)
D = RNG.standard_normal((8, 12))
LABELS = np.where(B > 0, "a", np.where(B > -1, "b", "c"))
WEIGHTS = RNG.random(30) + 0.1
A = fa.SignedOneHot(8)
PAIRS = fa.Groups([0, 0, 1, 1, 2, 2, 3, 3])

ASKED = {
    "all atoms": (M, B, {"atoms": A, "k": 8, "ridge": 0.1}),
    "all atoms without a ridge": (M, B, {"atoms": A, "k": 8}),
    "one atom": (M, B, {"atoms": A, "k": 1}),
    "no data": (M, 0 * B, {"atoms": A, "k": 2, "ridge": 1.0}),
    "exact": (M, M[:, 0], {"atoms": A, "k": 2}),
    "rays": (M, B, {"atoms": fa.NonnegativeCone(8), "k": 2}),
    "all included": (M, B, {"atoms": A.restricted(include=range(8)), "k": 8, "ridge": 0.1}),
    "as many included as allowed": (M, B, {"atoms": A.restricted(include=[5, 6]), "k": 2, "ridge": 0.1}),
    "as few left as allowed": (M, B, {"atoms": A.restricted(exclude=range(6)), "k": 2, "ridge": 0.1}),
    "sparse": (sp.csc_array(np.where(np.abs(M) > 1, M, 0.0)), B, {"atoms": A, "k": 3, "ridge": 0.5}),
    "a box": (aslinearoperator(M), B, {"atoms": A, "k": 3}),
    "a box of atoms": (M, B, {"atoms": fa.Dictionary(aslinearoperator(D), symmetric=False), "k": 3, "ridge": 0.1}),
    "blocks of rows": (fa.RowBlocks.of([M[:15], M[15:]]), B, {"atoms": A, "k": 3, "ridge": 0.1}),
    "entries of a matrix": (fa.Identity((4, 3)), D[0].reshape(4, 3), {"atoms": fa.SignedOneHot((4, 3)), "k": 4}),
    "the same column twice": (np.c_[M, M], B, {"atoms": fa.SignedOneHot(16), "k": 3, "ridge": 0.1}),
    "an empty column": (np.c_[M, 0 * B], B, {"atoms": fa.SignedOneHot(9), "k": 3, "ridge": 0.1}),
    "a column that the intercept explains": (
        np.c_[M, 0 * B + 1], B, {"atoms": fa.SignedOneHot(9), "k": 3, "ridge": 0.1, "free": "intercept"},
    ),
    "other units": (1e60 * M, 1e-50 * B, {"atoms": A, "k": 3, "ridge": 0.1}),
    "a cap that binds all": (M, B, {"atoms": A, "k": 3, "cap": 1e-6}),
    "groups": (M, B, {"atoms": PAIRS, "k": 2, "ridge": 0.1}),
    "several data vectors": (M, np.c_[B, 2 * B, B - 1], {"atoms": fa.Joint(PAIRS), "k": 2, "ridge": 0.2}),
    "classes with weights": (M, LABELS, {"atoms": A, "k": 2, "ridge": 0.2, "loss": fa.Multinomial(WEIGHTS)}),
    "two classes with a cap": (M, B > 0, {"atoms": A, "k": 2, "cap": 1.0, "loss": fa.Logistic(WEIGHTS)}),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def machine_code():
    compiled.make()


@pytest.mark.parametrize("name", ASKED)
def test_odd_questions_are_proven(name):
    X, b, words = ASKED[name]
    s = fa.fit(X, b, **words)
    proof = fa.prove(s)
    assert proof.proven, proof
    assert proof.lower <= s.objective * (1 + 1e-12) + 1e-30
    assert proof.gap <= 1e-4
    found = proof.verify()
    assert found.proven
    assert proof.lower <= found.lower + 1e-6 * proof.upper


def test_the_units_of_columns_play_no_part():
    for words in ({"ridge": 0.1}, {}):
        one = fa.prove(fa.fit(M, B, atoms=A, k=3, **words))
        other = fa.prove(fa.fit(M * 10.0 ** np.arange(-4, 4), B, atoms=A, k=3, **words))
        assert one.proven
        assert other.proven
        assert one.upper == pytest.approx(other.upper, rel=1e-9)
