"""The answers for many data vectors: as those of single fits, kept in arrays, once for all."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from answers import assert_same_answer, assert_same_arrays


def several(seed=0, m=20, n=15, p=4):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((m, 1))
    X = np.zeros((n, p))
    for j in range(p):
        X[rng.choice(n, 3, replace=False), j] = rng.standard_normal(3)
    B = A @ X + 0.2 * rng.standard_normal((m, p))
    B[:, 2] = 0.0  # nothing to explain
    return A, B


WORDS = {
    "k": {"atoms": fa.SignedOneHot(15), "k": 3},
    "bound": {"atoms": fa.NonnegativeOneHot(15), "k": 4, "misfit": 0.7},
    "fewest": {"atoms": fa.SignedOneHot(15), "misfit": 0.5},
    "intercept": {"atoms": fa.SignedOneHot(15), "k": 2, "free": "intercept"},
    "columns": {"atoms": fa.SignedOneHot(15), "k": 2, "free": np.random.default_rng(1).standard_normal((20, 2))},
    "weights": {"atoms": fa.SignedOneHot(15), "k": 3, "loss": fa.LeastSquares(np.linspace(1, 2, 20))},
    "groups": {"atoms": fa.Groups([f"g{i // 3}" for i in range(15)]), "k": 2},
    "dictionary": {
        "atoms": fa.Dictionary(np.random.default_rng(2).standard_normal((15, 30)), symmetric=True),
        "k": 3,
    },
    "huber": {"atoms": fa.SignedOneHot(15), "k": 2, "loss": fa.Huber(0.1)},
    "general": {"atoms": fa.SignedOneHot(15), "k": 3, "method": fa.General(), "max_iterations": 40},
}
AGAIN = {"columns": "free", "weights": "loss", "groups": "atoms", "dictionary": "atoms"}


def attach(name, many, A, B):
    words = {AGAIN[name]: WORDS[name][AGAIN[name]]} if name in AGAIN else {}
    return many.attach(A, B, **words)


@pytest.mark.parametrize("name", WORDS)
def test_each_answer_is_that_of_its_own_fit(name):
    A, B = several()
    many, alone = fa.fit_many(A, B, **WORDS[name]), [fa.fit(A, b, **WORDS[name]) for b in B.T]
    assert len(many) == len(alone) == len(list(many))
    for s, t in zip(many, alone, strict=True):
        assert s.status is t.status
        if s.loss < t.loss * (1 - 1e-6) and WORDS[name].get("misfit") is None:  # a better one turned up
            assert s.certificate.within_budget
            continue
        np.testing.assert_array_equal(np.sort(s.indices), np.sort(t.indices))
        np.testing.assert_allclose(s.x, t.x, rtol=1e-6, atol=1e-8)
        assert s.loss == pytest.approx(t.loss, rel=1e-6, abs=1e-12)
        mine, theirs = s.certificate, t.certificate
        assert (mine.cardinality, mine.meets_bound, mine.within_budget) == (
            theirs.cardinality,
            theirs.meets_bound,
            theirs.within_budget,
        )
        # both hold; those of a run may be proven with a better dual vector than the answer's own
        assert (
            mine.gap != theirs.gap or np.isinf(mine.gap) or str(mine).splitlines()[1:] == str(theirs).splitlines()[1:]
        )
        if mine.relaxation is not None and mine.gap == theirs.gap < np.inf:
            size = np.linalg.norm(theirs.y)  # those of (P3) are scaled to support 1, which may hardly have a digit
            np.testing.assert_allclose(mine.y / np.linalg.norm(mine.y), theirs.y / size, atol=1e-9)
            assert (mine.epsilon is None) == (theirs.epsilon is None)
            assert theirs.epsilon is None or mine.epsilon == pytest.approx(theirs.epsilon, rel=1e-6)
            assert mine.in_units == theirs.in_units


def test_side_by_side():
    A, B = several()
    many = fa.fit_many(A, B, **WORDS["intercept"])
    each = list(many)
    assert_same_arrays(many.loss, np.array([s.loss for s in each]))
    assert_same_arrays(many.misfit, np.array([s.misfit for s in each]))
    assert_same_arrays(many.cardinality, np.array([s.cardinality for s in each]))
    assert_same_arrays(many.x, np.stack([s.x for s in each], axis=1))
    assert_same_arrays(many.free_coefficients, np.stack([s.free_coefficients for s in each], axis=1))
    assert many.status == [s.status for s in each]
    assert many.products == sum(s.products for s in each)
    assert many.success == all(s.success for s in each)
    for i, s in enumerate(each):
        assert_same_arrays(many.indices[i], s.indices)
        assert_same_arrays(many.coefficients[i], s.coefficients)
    new = np.random.default_rng(5).standard_normal((3, 15))
    assert_same_arrays(many.predict(new), np.stack([s.predict(new) for s in each], axis=1))
    assert repr(many).startswith("Solutions(4 data vectors, 4 as asked")
    assert "of 4: " in many.message


def test_they_are_a_sequence():
    A, B = several()
    many = fa.fit_many(A, B, **WORDS["k"])
    assert many[-1].loss == many[3].loss
    for index in (4, -5):
        with pytest.raises(IndexError):
            many[index]
    some = many[1:3]
    assert isinstance(some, fa.Solutions)
    assert_same_arrays(some.loss, many.loss[1:3])
    assert_same_answer(some[0], many[1])
    assert some[0].certificate.gap == many[1].certificate.gap
    np.testing.assert_array_equal(some[0].certificate.problem.data, B[:, 1])
    assert len(many[4:]) == 0
    assert [s.loss for s in reversed(many)] == many.loss[::-1].tolist()
    assert_same_arrays(many[::-2].loss, many.loss[::-2])


@pytest.mark.parametrize("name", WORDS)
def test_they_are_values(name, tmp_path):
    A, B = several()
    many = fa.fit_many(A, B, **WORDS[name])
    many.save(tmp_path / "answers")
    assert [p.name for p in tmp_path.iterdir()] == ["answers"]
    read, unpickled = fa.load(tmp_path / "answers"), pickle.loads(pickle.dumps(many))
    mapped = name == "dictionary"
    for other in (read, unpickled, copy.copy(many), copy.deepcopy(many), attach(name, read, A, B)):
        assert isinstance(other, fa.Solutions)
        assert_same_arrays(other.loss, many.loss)
        assert (other.status, other.message, other.products) == (many.status, many.message, many.products)
        for s, t in zip(other, many, strict=True):
            assert_same_answer(s, t, not mapped)
            assert str(s.certificate).splitlines()[0] == str(t.certificate).splitlines()[0]
    assert copy.copy(many)[0].certificate.attached
    with pytest.raises(ValueError, match=r"s.attach\(M, b\)"):
        read[0].certificate.epsilon  # noqa: B018
    assert attach(name, read, A, B)[1].certificate.y is not None
    again = pickle.loads(pickle.dumps(read[1:]))
    assert_same_answer(again[0], many[1], not mapped)
    assert attach(name, again, A, B[:, 1:])[0].certificate.attached
    one = pickle.loads(pickle.dumps(many[0]))  # one of them goes its own way
    assert_same_answer(one, many[0], not mapped)
    words = {AGAIN[name]: WORDS[name][AGAIN[name]]} if name in AGAIN else {}
    assert one.attach(A, B[:, 0], **words).certificate.attached
    assert read[0].attach(A, B[:, 0], **words).certificate.attached


@pytest.mark.parametrize("name", ["k", "bound", "intercept", "dictionary"])
def test_compressed_columns_are_kept(name, tmp_path):
    A, B = several()
    many = fa.fit_many(A, B, **WORDS[name])
    many.save(tmp_path / "answers")
    read = fa.load(tmp_path / "answers")
    for other in (read, pickle.loads(pickle.dumps(read)), attach(name, read, A, B), copy.copy(many)):
        np.testing.assert_array_equal(other.sparse.toarray(), many.sparse.toarray())
    np.testing.assert_array_equal(read[1:3].sparse.toarray(), many.sparse.toarray()[:, 1:3])
    for i, (indices, c) in enumerate(zip(many.indices, many.coefficients, strict=True)):
        np.testing.assert_array_equal(many.sparse.toarray()[indices, i], c)
        assert many.sparse[:, [i]].nnz == len(c)


def test_groups_have_no_compressed_columns():
    A, B = several()
    with pytest.raises(AttributeError, match="atoms are not single ones that are numbered"):
        fa.fit_many(A, B, **WORDS["groups"]).sparse  # noqa: B018


def test_other_data_are_refused():
    A, B = several()
    many = pickle.loads(pickle.dumps(fa.fit_many(A, B, **WORDS["k"])))
    assert many.attach(sp.csr_array(A), B)[0].certificate.attached
    assert many.attach(aslinearoperator(A), B)[0].certificate.attached
    with pytest.raises(ValueError, match="B must have 4 columns"):
        many.attach(A, B[:, 1:])
    with pytest.raises(ValueError, match="B must have 4 columns"):
        many.attach(A, B[:, 0])
    with pytest.raises(ValueError, match="b must be the one"):
        many.attach(A, B[:, ::-1])
    with pytest.raises(ValueError, match="M must be the one"):
        many.attach(2 * A, B)


@pytest.mark.parametrize("name", WORDS)
def test_bad_columns_stop_nobody(name, tmp_path):
    A, B = several(p=6)
    bad = B.copy()
    bad[3, 0], bad[1, 4], bad[:, 5] = np.nan, -np.inf, 1e200
    good = [1, 2, 3]
    many, fine = fa.fit_many(A, bad, **WORDS[name]), fa.fit_many(A, B[:, good], **WORDS[name])
    assert [i for i, status in enumerate(many.status) if status is fa.Status.BAD_DATA] == [0, 4, 5]
    assert not many.success
    np.testing.assert_allclose(many.x[:, good], fine.x, rtol=1e-9, atol=1e-12)
    assert [many[i].status for i in good] == fine.status
    assert repr(many).endswith("3 with bad data)")
    for i in (0, 4, 5):
        s = many[i]
        assert not s.success
        assert s.message.startswith("Nothing was fitted to these data")
        assert np.isnan([s.loss, s.misfit, s.r2]).all()
        assert s.cardinality == 0
        assert "No dual vector" in str(s.certificate)
    many.save(tmp_path / "answers")
    again = attach(name, fa.load(tmp_path / "answers"), A, bad)
    assert again.status == many.status
    assert again[1].certificate.attached
    one = pickle.loads(pickle.dumps(many[0]))
    assert one.status is fa.Status.BAD_DATA
    assert all(status is fa.Status.BAD_DATA for status in fa.fit_many(A, bad[:, [0, 4]], **WORDS[name]).status)


def test_ten_thousand_answers_share_what_they_are_about():
    rng = np.random.default_rng(0)
    p, n = 10_000, 8
    A = np.linalg.qr(rng.standard_normal((12, n)))[0]
    B = np.outer(A[:, 0], np.ones(p)) + 0.3 * A[:, rng.integers(1, n, p)]
    few = fa.fit_many(A, B[:, :50], atoms=fa.SignedOneHot(n), k=2)
    whole = list(few)  # as large as the real thing, without fitting so often
    many = fa.Solutions.of((whole[i % 50] for i in range(p)), whole[0].certificate.problem, B[:, np.arange(p) % 50])
    tracemalloc.start()
    try:
        answer = many[7_777]
        assert_same_answer(answer, whole[7_777 % 50])
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    pickled = pickle.dumps(many)
    assert len(pickled) < p * 1_000
    assert_same_answer(pickle.loads(pickled)[9_999], many[9_999])


@pytest.mark.parametrize("free", [None, "intercept"])
def test_intercepts_are_told_one_for_each_data_vector(free, tmp_path):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 12))
    B = M[:, :3] + rng.standard_normal(3) + 0.1 * rng.standard_normal((40, 3))
    answers = fa.fit_many(M, B, atoms=fa.SignedOneHot(12), k=2, free=free)
    answers.save(tmp_path / "answers")
    for some in (answers, fa.load(tmp_path / "answers"), answers[1:]):
        assert some.intercept.tolist() == [s.intercept for s in some]
        np.testing.assert_allclose(some.predict(M), M @ some.x + some.intercept, atol=1e-12)
    assert answers[:0].intercept.shape == (0,)


@pytest.mark.parametrize("free", [None, "intercept"])
def test_several_vectors_of_labels_are_predicted_as_by_themselves(free, tmp_path):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((50, 8))
    score = M[:, 2] + rng.standard_normal(50)
    B = np.column_stack([np.digitize(score, [-0.5, 0.5]), np.digitize(score, [-1.0, 0.0])])
    words = {"atoms": fa.SignedOneHot(8), "k": 2, "loss": fa.Multinomial(), "ridge": 0.1, "free": free}
    answers = fa.fit_many(M, B, **words)
    answers.save(tmp_path / "answers")
    for some in (answers, fa.load(tmp_path / "answers")):
        assert some.intercept.shape == (2, 3)
        assert some.predict(M).shape == some.predict_proba(M).shape == (50, 2, 3)
        for i in range(2):
            alone = fa.fit(M, B[:, i], **words)
            np.testing.assert_allclose(some[i].predict(M), M @ some[i].x + some.intercept[i], atol=1e-12)
            np.testing.assert_allclose(some.predict_proba(M)[:, i], alone.predict_proba(M), atol=1e-6)
