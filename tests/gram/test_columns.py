"""Supports of many data vectors at once, against all that there are."""

import numpy as np
import pytest

from fewatoms.gram import columns
from fewatoms.gram.columns import Asked
from gram.instances import DICE, FAMILIES, best_nonnegative, brute_force, instance, rules

PLAIN = Asked(k=3, fewest=False, ridge=0.0, rungs=24, kicks=64, rows=128, shakes=40, idle=4)
QUICK = PLAIN._replace(rows=0, shakes=0)
signs = pytest.mark.parametrize("signed", [True, False])


def found(p, asked, signed=True, targets=None, may=None, stays=None, first=0):
    """The atoms of the data vectors of instances that share a Gram matrix, one row each."""
    H, bbs = np.stack([q.h for q in p]), np.array([q.bb for q in p])
    n = H.shape[1]
    atoms, doubts = np.full((len(p), asked.k), 77), np.zeros(len(p), dtype=bool)
    columns.many(
        p[0].G, H, bbs, np.full(len(p), -1.0) if targets is None else targets,
        np.ones(n, dtype=bool) if may is None else may, np.zeros(n, dtype=bool) if stays is None else stays,
        first, len(p), asked, rules(signed, trials=0), rules(signed, trials=0, relief=3.0), DICE, atoms, doubts,
    )  # fmt: skip
    assert (atoms[:first] == 77).all()
    return [row[row >= 0].tolist() for row in atoms[first:]], doubts


def several(name, ridge=0.0, count=6):
    """One matrix, several data vectors."""
    p, rng = instance(name, ridge), np.random.default_rng(5)
    values, V = np.linalg.eigh(p.G - ridge * np.eye(p.n))
    M = (V * np.sqrt(np.maximum(values, 0.0))).T  # as many rows as columns, the same inner products
    B = [M[:, rng.choice(p.n, min(3, p.n), replace=False)].sum(axis=1) + 0.5 * rng.standard_normal(p.n)]
    B += [rng.standard_normal(p.n) for _ in range(count - 1)]
    return [p._replace(h=M.T @ b, bb=float(b @ b)) for b in B]


def loss(p, atoms, signed):
    if not atoms:
        return p.bb
    return p.loss(atoms) if signed else best_nonnegative(p, atoms)


@pytest.mark.sampled(4)
@signs
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", FAMILIES)
def test_against_all_supports(name, ridge, signed):
    p = several(name, ridge)
    for k in (1, 2, 3):
        answers, _ = found(p, PLAIN._replace(k=k, ridge=ridge), signed)
        for q, atoms in zip(p, answers, strict=True):
            assert len(set(atoms)) == len(atoms) <= k
            assert loss(q, atoms, signed) <= brute_force(q, min(k, q.n), signed) * (1 + 1e-6) + 1e-9 * q.bb
            if not signed and atoms:
                assert (q.coefficients(atoms) >= -1e-9).all()


@signs
def test_more_effort_is_no_worse_on_the_whole(signed):
    p = several("correlated", count=12)
    losses = []
    for asked in (QUICK._replace(kicks=0), QUICK, PLAIN):
        answers, _ = found(p, asked._replace(k=4), signed)
        losses.append([loss(q, atoms, signed) for q, atoms in zip(p, answers, strict=True)])
    assert (np.diff(np.sum(losses, axis=1)) <= 1e-12).all()


@signs
def test_atoms_that_must_and_must_not(signed):
    p = several("gaussian")
    may, stays = np.ones(p[0].n, dtype=bool), np.zeros(p[0].n, dtype=bool)
    may[[0, 3]], stays[5] = False, True
    answers, _ = found(p, PLAIN, signed, may=may, stays=stays)
    assert may.sum() == p[0].n - 2  # as it was
    for q, atoms in zip(p, answers, strict=True):
        assert not {0, 3} & set(atoms)
        assert signed <= (5 in atoms)
        assert len(atoms) + (5 not in atoms) <= 3
        best = brute_force(q, 3, signed, must=(5,), may=may)
        assert loss(q, [*{*atoms, 5}], signed) <= best * (1 + 1e-9)


@signs
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_bound_ends_the_search(signed, ridge):
    p = several("planted", ridge, 8)
    asked = PLAIN._replace(k=4, ridge=ridge)

    def left(q, atoms):
        """The loss without what the ridge takes."""
        return loss(q, atoms, signed) - (ridge * float(np.sum(q.coefficients(atoms) ** 2)) if atoms else 0.0)

    full, _ = found(p, asked, signed)
    targets = np.array([1.5 * left(q, atoms) for q, atoms in zip(p, full, strict=True)])
    answers, _ = found(p, asked, signed, targets)
    fewest, _ = found(p, asked._replace(fewest=True), signed, targets)
    for q, atoms, few, target in zip(p, answers, fewest, targets, strict=True):
        assert left(q, atoms) <= target
        assert left(q, few) <= target
        assert len(few) <= len(atoms) <= 4
        assert ridge or not few or brute_force(q, len(few) - 1, signed) > target * (1 - 1e-9)
    hopeless, _ = found(p, asked._replace(fewest=True), signed, np.zeros(len(p)))
    for atoms, same in zip(hopeless, full, strict=True):
        assert set(atoms) == set(same)


def test_only_the_columns_asked_for():
    p = several("gaussian")
    assert found(p, PLAIN, first=2)[0] == found(p, PLAIN)[0][2:]


def test_what_a_gram_matrix_hardly_sees_is_doubtful():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 4))
    M[:, 1] = M[:, 0] + 1e-5 * rng.standard_normal(6)
    M /= np.linalg.norm(M, axis=0)
    b = M[:, 0] + 1e5 * (M[:, 0] - M[:, 1])
    p = instance("single")._replace(G=M.T @ M, h=M.T @ b, bb=float(b @ b))
    assert found([p], PLAIN)[1].all()
    assert not found(several("gaussian"), PLAIN)[1].any()
    assert not found(several("duplicated"), PLAIN)[1].any()
