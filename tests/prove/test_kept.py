"""Proofs as values: files, pickles, and seen again without trusting whoever searched, or wrote the file."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import files
from fewatoms.kept import Kept
from fewatoms.proofs.base import Tampered, Tree
from prove.cases import KINDS, case


def data(seed=0, m=30, n=8, k=3):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n))
    return M, M[:, :k].sum(axis=1) + 0.5 * rng.standard_normal(m)


def proven(M, b, k=3, **words):
    return fa.prove(fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=k, **({"ridge": 0.3} | words)))


def loaded(proof, tmp_path):
    proof.save(tmp_path / "proof.npz")
    return fa.load(tmp_path / "proof.npz")


def test_a_file_holds_all_of_it(exhaustive, tmp_path):
    M, b = data()
    proof = proven(M, b)
    again = loaded(proof, tmp_path)
    for figure in ("lower", "upper", "gap", "proven", "nodes", "seconds", "asked", "ended", "subject", "what"):
        assert getattr(again, figure) == getattr(proof, figure), figure
    assert str(again) == str(proof)
    assert repr(again) == repr(proof)
    np.testing.assert_array_equal(again.trace, proof.trace)
    assert again.solution.indices.tolist() == proof.solution.indices.tolist()
    assert not again.solution.certificate.attached
    assert str(again.solution.certificate).splitlines()[-1] == str(proof.solution.certificate).splitlines()[-1]


def test_pickles_and_copies(exhaustive):
    M, b = data()
    proof = proven(M, b)
    assert pickle.loads(pickle.dumps(proof)).verify(M, b).proven
    assert copy.deepcopy(proof).lower == proof.lower


@pytest.mark.parametrize("kind", KINDS)
def test_seen_again_from_its_file(kind, exhaustive, tmp_path):
    M, b, words, _ = case(kind, np.random.default_rng(1), ridge=0.2, cap=1.5)
    proof = fa.prove(fa.fit(M, b, **words))
    again = loaded(proof, tmp_path)
    given = {}
    if kind in ("weights", "huber"):
        given = {"loss": words["loss"]}
    if kind in ("groups", "groups with huber", "dictionary", "mapped", "include", "exclude"):
        given |= {"atoms": words["atoms"]}
    if kind == "free columns":
        given = {"free": words["free"]}
    found = again.verify(M, b, **given)
    assert found.proven is True
    assert type(found.lower) is float
    assert found.share == 1.0
    assert found.lower == pytest.approx(proof.lower, rel=1e-9)
    assert proof.verify().proven


def test_what_has_to_be_given_again_is_named(exhaustive):
    M, b, words, _ = case("groups", np.random.default_rng(1), ridge=0.2)
    bare = pickle.loads(pickle.dumps(fa.prove(fa.fit(M, b, **words))))
    with pytest.raises(ValueError, match=r"atoms must be given again, proof.verify\(M, b, atoms=...\)"):
        bare.verify(M, b)
    with pytest.raises(ValueError, match=r"atoms must be"):
        bare.verify(M, b, atoms=fa.SignedOneHot(7))


def test_a_part_of_it_proves_nothing_yet(exhaustive, tmp_path):
    M, b = data()
    proof = proven(M, b)
    found = loaded(proof, tmp_path).verify(M, b, share=0.1, rng=1)
    assert not found.proven
    assert 0.1 <= found.share < 0.2
    assert found.lower >= proof.lower * (1 - 1e-6)


def test_shares_that_are_none(exhaustive):
    M, b = data()
    proof = proven(M, b)
    for share, match in ((0, "positive"), (1.5, "share must be at most 1; got 1.5"), ("all", "positive")):
        with pytest.raises((TypeError, ValueError), match=match):
            proof.verify(share=share)
    bare = pickle.loads(pickle.dumps(proof))
    with pytest.raises(ValueError, match="the proof has lost its problem"):
        bare.verify()
    with pytest.raises(TypeError, match="given together"):
        bare.verify(M)


# Tampered with -------------------------------------------------------------------------------------------------------


def told(kept, **other):
    return replace(kept, told={**kept.told, **other})


def with_answer(kept, answer):
    return replace(kept, inner=(answer, kept.inner[1]))


def with_figures(kept, **other):
    """The claims of a proof, and of the certificate that tells of it."""
    answer = kept.inner[0]
    figures = {**answer.told["figures"]}
    names = {"lower": "lower", "upper": "upper", "asked": "gap"}
    figures["decided"] = {**figures["decided"], **{names[name]: value for name, value in other.items()}}
    return told(with_answer(kept, told(answer, figures=figures)), **other)


def raised(kept, rng):
    """The lower bound by some share of what is open, or above the answer."""
    lower, upper = kept.told["lower"], kept.told["upper"]
    if rng.random() < 0.2:
        return with_figures(kept, lower=upper * (1 + 1e-9))
    return with_figures(kept, lower=lower + rng.choice([0.05, 0.5, 1.0, 2.0]) * max(upper - lower, 1e-5 * upper))


def lowered(kept, rng):
    """The objective of the answer, so that the gap looks smaller."""
    return with_figures(kept, upper=kept.told["upper"] * (1 - rng.choice([1e-6, 1e-3])))


def widened(kept, rng):
    """The bound, and the gap that was asked for with it."""
    return with_figures(kept, lower=kept.told["lower"] * 1.001, asked=float(rng.choice([0.5, 0.999, 1000.0])))


def of_others(kept, rng):
    """What it is about, in words."""
    answer = kept.inner[0]
    figures = {**answer.told["figures"]}
    word, text = [("subject", "choice of 7 of the 64 features"), ("what", "loss")][rng.integers(2)]
    figures["decided"] = {**figures["decided"], word: text}
    return with_answer(kept, told(answer, figures=figures))


def only_told(kept, rng):
    """The bound alone: the certificate of the answer says another one."""
    return told(kept, lower=kept.told["lower"] * (1 - 1e-6))


def moved(kept, rng):
    """Another atom in the answer."""
    answer = kept.inner[0]
    face = answer.inner[0]
    indices = face.arrays["indices"].copy()
    at = rng.integers(indices.size)
    indices[at] = rng.choice(np.setdiff1d(np.arange(8), indices))
    face = replace(face, arrays={**face.arrays, "indices": indices})
    return with_answer(kept, replace(answer, inner=(face,)))


def turned(kept, rng):
    """Another coefficient in the answer."""
    answer = kept.inner[0]
    c = answer.arrays["c"].copy()
    c[rng.integers(c.size)] *= 1 + rng.choice([1e-3, 0.5])
    return with_answer(kept, replace(answer, arrays={**answer.arrays, "c": c}))


def for_more(kept, rng):
    """As if it were about more atoms."""
    answer = kept.inner[0]
    return with_answer(kept, told(answer, asked={**answer.told["asked"], "k": 4}))


def cheaper(kept, rng):
    """As if coefficients paid less."""
    answer = kept.inner[0]
    return with_answer(kept, told(answer, asked={**answer.told["asked"], "ridge": 0.2}))


def tree(kept, change):
    """Something else in the tree."""
    return replace(kept, inner=(kept.inner[0], change(kept.inner[1])))


def dropped(kept, rng):
    def change(it):
        keep = np.delete(np.arange(len(it.arrays["supports"])), rng.integers(len(it.arrays["supports"])))
        return replace(it, arrays={name: array[keep] for name, array in it.arrays.items()})

    return tree(kept, change)


def swapped(kept, rng):
    def change(it):
        supports = it.arrays["supports"].copy()
        row = rng.integers(len(supports))
        supports[row] = rng.permutation(8)[:3]
        return replace(it, arrays={**it.arrays, "supports": np.sort(supports)[::-1] if row % 2 else supports})

    return tree(kept, change)


def weakened(kept, rng):
    def change(it):
        duals = it.arrays["duals"].copy()
        best = np.argmin([sorted(row.tolist()) != [0, 1, 2] for row in it.arrays["supports"]])
        duals[best] *= rng.choice([0.5, 0.9, 1.2])
        return replace(it, arrays={**it.arrays, "duals": duals})

    return tree(kept, change)


def of_another_kind(kept, rng):
    return tree(kept, lambda it: Kept(rng.choice(["root", "nothing", "answer"]), it.told, it.arrays))


def broken(kept, rng):
    def change(it):
        arrays = dict(it.arrays)
        name = rng.choice(["supports", "duals"])
        arrays[name] = rng.choice(
            np.array(
                [np.zeros((0, 3)), arrays[name][:, :1], np.full_like(arrays[name], -7), np.array("a")], dtype=object
            )
        )
        return replace(it, arrays=arrays)

    return tree(kept, change)


WAYS = (
    raised, widened, lowered, of_others, only_told, moved, turned, for_more, cheaper, dropped, swapped, weakened,
    of_another_kind, broken,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_was_tampered_with_is_refused(way, exhaustive, tmp_path):
    M, b = data()
    kept = proven(M, b).kept()
    for seed in range(14):
        other = way(kept, np.random.default_rng(seed))
        files.save(tmp_path / "other.npz", other)
        with pytest.raises(ValueError, match=r"prove|proof|file|must"):
            fa.load(tmp_path / "other.npz").verify(M, b)


@pytest.mark.parametrize("seed", range(40))
def test_other_data_are_refused(seed, exhaustive):
    M, b = data()
    proof, rng = pickle.loads(pickle.dumps(proven(M, b))), np.random.default_rng(seed)
    other, data_ = M.copy(), b.copy()
    if seed % 2:
        other[rng.integers(30), rng.integers(8)] *= 1.01
    else:
        data_[rng.integers(30)] += 1e-9
    with pytest.raises(ValueError, match=r"must be the one that this answer was fitted to"):
        proof.verify(other, data_)


def test_a_tree_that_belongs_elsewhere(exhaustive):
    M, b = data()
    one, other = proven(M, b), proven(*data(1))
    strange = replace(one, tree=other.tree)
    with pytest.raises(Tampered, match=r"its leaves prove .* at most"):
        strange.verify()
    with pytest.raises(Tampered, match="nobody knows trees of the kind 'oak'"):
        replace(one, tree=Tree("oak")).verify()


def test_a_file_that_is_none(exhaustive, tmp_path):
    M, b = data()
    kept = proven(M, b).kept()
    for other in (
        replace(kept, arrays={"trace": np.zeros((2, 2))}),
        replace(kept, arrays={"trace": np.full((2, 3), np.nan)}),
        told(kept, lower="0"),
        replace(kept, inner=kept.inner[:1]),
        with_answer(kept, told(kept.inner[0], figures={**kept.inner[0].told["figures"], "decided": None})),
    ):
        files.save(tmp_path / "other.npz", other)
        with pytest.raises(ValueError, match="file must be one that save"):
            fa.load(tmp_path / "other.npz")
