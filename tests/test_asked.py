"""What an answer remembers of its problem, and how it knows M and b again."""

import json
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms.asked import Asked, Fingerprint, loss_of, set_of
from fewatoms.kept import Kept
from fewatoms.linalg import digest


@pytest.mark.parametrize("name", NAMES)
def test_what_was_asked_goes_through_json(name):
    asked = answer(name).certificate.asked
    again = Asked.read(json.loads(json.dumps(asked.plain())))
    for field in ("budget", "alpha", "misfit", "slack", "ridge", "cap", "atoms_told", "loss_told", "free", "shrink"):
        assert getattr(again, field) == getattr(asked, field), field
    word = (cases()[name].again or ("",))[0]
    assert (again.atoms is None) == (word == "atoms")
    assert (again.loss is None) == (word == "loss")
    assert (again.free == "columns") == (word == "free")
    if again.atoms is not None:
        assert again.atoms.same_as(asked.atoms)
        assert repr(again.atoms) == repr(asked.atoms)
    if again.loss is not None:
        assert repr(again.loss) == repr(asked.loss)
    assert repr(again.bare().plain()) == repr(again.plain())


@pytest.mark.parametrize("name", NAMES)
def test_fingerprints_go_through_json(name):
    mine = answer(name).certificate.fingerprint
    again = Fingerprint.read(json.loads(json.dumps(mine.plain())))
    assert again == mine
    mine.refuse(again)  # accepts


def test_digests_are_of_numbers_alone():
    v = np.arange(12.0).reshape(3, 4)
    same = [v, np.asfortranarray(v), v.astype(np.float32), v.astype(int), v.ravel(), v[::-1][::-1]]
    assert len({digest(w) for w in same}) == 1
    assert digest(np.array([0.0])) == digest(np.array([-0.0]))
    assert digest(v) != digest(v.T)
    assert digest(v) != digest(v + 1e-15 * (v == 5))


def test_sketches_of_operators_of_every_kind():
    """Of vectors, matrices, Hermitian matrices, large sampled ones: one product, and no matrix filled in."""
    rng = np.random.default_rng(0)
    big = fa.Sampling([0, 5, 99_999], [7, 99_999, 3], (100_000, 100_000))
    for M in (
        rng.standard_normal((6, 5)),
        sp.csr_array(rng.standard_normal((6, 5))),
        fa.Identity((4, 3)),
        fa.Quadratic(rng.standard_normal((6, 4)) + 1j * rng.standard_normal((6, 4))),
        big,
    ):
        counting = fa.Counting(M)
        value, scale = counting.sketch()
        assert counting.products == 1
        assert abs(value) <= scale * (1 + 1e-12)
        assert math.isfinite(scale)
        assert (value, scale) == fa.Counting(M).sketch()


def test_only_our_own_sets_and_losses_are_made_again():
    assert set_of(Kept("Cakes")) is None
    assert loss_of(Kept("Cakes")) is None
    assert set_of(Kept("Sum", inner=(Kept("SignedOneHot", {"shape": [3]}), Kept("Cakes")))) is None
    made = set_of(
        Kept(
            "Union",
            inner=(Kept("SignedOneHot", {"shape": [2, 3]}), Kept("RankOne", {"shape": [2, 3], "nonnegative": True})),
        )
    )
    assert repr(made) == "(SignedOneHot((2, 3)) | RankOne(2, 3, nonnegative=True))"
    assert loss_of(Kept("Huber", {"delta": 0.5})).delta == 0.5


@pytest.mark.parametrize("text", ["", "[]", '{"k": 1}'])
def test_headers_that_are_none_are_refused(text):
    with pytest.raises((ValueError, KeyError)):
        Asked.read(json.loads(text or "null"))


@pytest.mark.parametrize("factor", [None, 10.0])
def test_a_union_is_known_again_by_the_set_that_was_given(factor):
    """A plain union gets the weight of principal component pursuit; who gives the set again gives it without."""
    rng, entries = np.random.default_rng(0), fa.SignedOneHot((4, 3))
    atoms = fa.RankOne(4, 3) | (entries if factor is None else factor * entries)
    b = rng.standard_normal((4, 3))
    s = pickle.loads(pickle.dumps(fa.fit(fa.Identity((4, 3)), b, atoms=atoms, k=(1, 2))))
    for given in (atoms, None, s.atoms):
        again = s.attach(fa.Identity((4, 3)), b, atoms=given)
        assert again.certificate.gap == pytest.approx(s.attach(fa.Identity((4, 3)), b).certificate.gap)
    other = fa.RankOne(4, 3) | 7.0 * entries
    with pytest.raises(ValueError, match="atoms must be what this answer was fitted with"):
        s.attach(fa.Identity((4, 3)), b, atoms=other)
