"""Many data vectors at once: against fits one by one, against linear algebra, and what is said of each."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.doors import posed as put
from fewatoms.gram import CREW, disk
from fewatoms.gram.who import working
from fewatoms.methods.listed import columns
from fewatoms.run import solve_together
from gram.instances import FAMILIES

D = np.random.default_rng(2).standard_normal((12, 20)) * 10.0 ** np.linspace(1, -1, 20)
FREE = np.random.default_rng(1).standard_normal((12, 2))
WEIGHTS = np.linspace(0.5, 3.0, 12)
ASKED = {
    "plain": ({}, {}),
    "one": ({}, {"k": 1}),
    "nonnegative": ({"atoms": fa.NonnegativeOneHot}, {}),
    "cone": ({"atoms": fa.NonnegativeCone}, {}),
    "ridge": ({}, {"ridge": 0.3}),
    "nonnegative ridge": ({"atoms": fa.NonnegativeOneHot}, {"ridge": 0.3}),
    "weights": ({}, {"loss": fa.LeastSquares(WEIGHTS)}),
    "intercept": ({}, {"free": "intercept"}),
    "free and weights": ({}, {"free": FREE, "loss": fa.LeastSquares(WEIGHTS), "ridge": 0.1}),
    "include": ({"include": [3]}, {}),
    "include, nonnegative": ({"atoms": fa.NonnegativeOneHot, "include": [3], "exclude": [0, 1]}, {}),
    "exclude": ({"exclude": [0, 4]}, {}),
    "bound": ({}, {"misfit": 0.6}),
    "bound on the loss": ({}, {"alpha": 2.0, "ridge": 0.1}),
    "fewest": ({}, {"misfit": 0.5, "k": None}),
    "fewest, nonnegative": ({"atoms": fa.NonnegativeOneHot}, {"misfit": 0.9, "k": None}),
    "scaled": ({"factor": -3.0}, {}),
    "dictionary": ({"atoms": lambda n: fa.Dictionary(D, symmetric=True)}, {}),
    "mapped": ({"atoms": lambda n: fa.Mapped(sp.csr_array(D), fa.NonnegativeOneHot(20))}, {}),
}
asked = pytest.mark.parametrize("name", ASKED)


def words_of(name, n=12):
    made, words = ASKED[name]
    atoms = made.get("atoms", fa.SignedOneHot)(n)
    restricted = {word: made[word] for word in ("include", "exclude") if word in made}
    atoms = atoms.restricted(**restricted) if restricted else atoms
    return {"atoms": made["factor"] * atoms if "factor" in made else atoms, **{"k": 3, **words}}


def posed(seed=0, m=12, n=12, p=9):
    """Columns in several units, with something in common; one data vector is zero."""
    rng = np.random.default_rng(seed)
    A = (rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((m, 1))) * 10.0 ** rng.uniform(-0.5, 0.5, n)
    A[:, 9] = 0.0
    B = rng.standard_normal((m, p)) + A[:, :4] @ (rng.standard_normal((4, p)) / np.linalg.norm(A[:, :4]))
    B[:, 3] = 0.0
    B[:, 4] *= 1e6
    return A, B


def together(M, B, **words):
    """What was found, by this way or not at all."""
    problem, way = put(M, B[:, 0], words.pop("k"), **words)
    return solve_together(problem, B, way)


def objective(s):
    return s.objective if s.ridge else s.loss


@asked
def test_as_good_as_fits_one_by_one(name):
    A, B = posed()
    words = words_of(name)
    assert together(A, B, **words) is not None
    many = fa.fit_many(A, B, **words)
    for s, b in zip(many, B.T, strict=True):
        t = fa.fit(A, b, **words)
        assert s.status is t.status
        assert s.success == t.success
        if words["k"] is None:
            assert s.cardinality <= t.cardinality
        elif s.certificate.problem.alpha is None:
            assert objective(s) <= objective(t) * (1 + 1e-9) + 1e-20 * (b @ b)


@asked
def test_what_is_said_is_so(name):
    A, B = posed(1)
    words = words_of(name)
    many = fa.fit_many(A, B, **words)
    weights = WEIGHTS if "weights" in name else np.ones(12)
    for i, s in enumerate(many):
        image = A @ s.x
        if "free" in words:
            F = np.ones((12, 1)) if name == "intercept" else words["free"]
            image = image + F @ s.free_coefficients
            np.testing.assert_allclose(F.T @ (weights * (B[:, i] - image)), 0, atol=1e-10 * (1 + abs(B[:, i]).max()))
        r = B[:, i] - image
        size = 0.5 * weights @ B[:, i] ** 2
        assert s.loss == pytest.approx(0.5 * weights @ r**2, rel=1e-9, abs=1e-20 * size)
        assert s.misfit == pytest.approx(np.sqrt(0.5 * weights @ r**2 / size) if size else 0.0, rel=1e-9)
        assert s.cardinality == len(s.indices) <= (words["k"] or 12)
        again = fa.fit(A, B[:, i], **{**words, "start": s, "effort": "quick"})
        assert s.ridge == again.ridge
        if s.certificate.problem.alpha is None:  # coefficients are the best ones of these atoms
            assert objective(again) <= objective(s) * (1 + 1e-12) + 1e-20 * size
            mine, theirs = set(s.indices.tolist()), set(again.indices.tolist())
            assert mine != theirs or objective(s) == pytest.approx(objective(again), rel=1e-10, abs=1e-20 * size)


@pytest.mark.skipif(not disk.has("many"), reason="machine code of this search is made by make soak")
@asked
def test_twins_and_kernels_agree(name):
    A, B = posed(2)
    words = words_of(name)
    with working("twins"):
        slow = fa.fit_many(A, B, **words)
    CREW.load()
    fast = fa.fit_many(A, B, **words)
    assert slow.status == fast.status
    np.testing.assert_allclose(slow.loss, fast.loss, rtol=1e-10, atol=1e-20)
    for a, b in zip(slow.indices, fast.indices, strict=True):
        np.testing.assert_array_equal(np.sort(a), np.sort(b))


@pytest.mark.parametrize("atoms", [fa.SignedOneHot, fa.NonnegativeOneHot])
@pytest.mark.parametrize("name", FAMILIES)
def test_nasty_columns(name, atoms):
    """Never worse than `fit`: exact dependence, near dependence, zeros, more columns than rows."""
    rng = np.random.default_rng(11)
    M, _ = FAMILIES[name](rng)
    n = M.shape[1]
    B = np.c_[rng.standard_normal((len(M), 4)), M @ rng.standard_normal((n, 2)), M[:, 0], M[:, -1] - M[:, 0]]
    for k in {1, min(3, n), n}:
        many = fa.fit_many(M, B, atoms=atoms(n), k=k)
        for s, b in zip(many, B.T, strict=True):
            t = fa.fit(M, b, atoms=atoms(n), k=k)
            assert s.loss <= t.loss * (1 + 1e-9) + 1e-20 * (b @ b)
            assert s.cardinality <= k
            assert atoms is fa.SignedOneHot or (s.x >= 0).all()


def test_a_matrix_in_every_form():
    A, B = posed(3)
    words = {"atoms": fa.SignedOneHot(12), "k": 3}
    plain = fa.fit_many(A, B, **words)
    forms = (np.asfortranarray(A), sp.csr_array(A), sp.csc_array(A), sp.coo_array(A))
    for M in forms:
        assert together(M, B, **words) is not None
        np.testing.assert_allclose(fa.fit_many(M, B, **words).loss, plain.loss, rtol=1e-10, atol=1e-20)
    for data in (np.asfortranarray(B), np.repeat(B, 2, axis=1)[:, ::2], B.tolist(), B.astype(np.longdouble)):
        np.testing.assert_allclose(fa.fit_many(A, data, **words).loss, plain.loss, rtol=1e-13)
    whole = (3 * B[:, :3]).astype(np.int8)
    np.testing.assert_array_equal(fa.fit_many(A, whole, **words).x, fa.fit_many(A, whole.astype(float), **words).x)


def test_blocks_do_not_matter(monkeypatch):
    A, B = posed(4, p=30)
    whole = fa.fit_many(A, B, atoms=fa.SignedOneHot(12), k=4)
    monkeypatch.setattr(columns, "LARGEST_BLOCK", 7)
    monkeypatch.setattr(columns, "GATHERED", 50)
    monkeypatch.setattr(columns.kernels, "threads", lambda: 3)
    parts = fa.fit_many(A, B, atoms=fa.SignedOneHot(12), k=4)
    np.testing.assert_allclose(parts.x, whole.x, rtol=1e-10, atol=1e-12)
    assert parts.products == whole.products


def test_where_only_a_bound_is_given_there_is_more_room_if_it_is_needed():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 50))
    B = np.c_[A[:, 0], A[:, :40] @ rng.choice([-1.0, 1.0], 40), rng.standard_normal(60)]
    B += 1e-3 * rng.standard_normal(B.shape)
    many = fa.fit_many(A, B, atoms=fa.SignedOneHot(50), misfit=0.01)
    assert many.cardinality[:2].tolist() == [1, 40]
    assert [status.name for status in many.status] == ["BOUND_MET", "BOUND_MET", "UNREACHABLE"]


def test_a_callback_is_heard_for_blocks_and_stops_what_is_to_come():
    A, B = posed(6, p=40)
    words = {"atoms": fa.SignedOneHot(12), "k": 3}
    heard, whole = [], fa.fit_many(A, B, **words)
    fa.fit_many(A, B, **words, callback=lambda progress: heard.append((progress.stage, progress.loss)))
    assert heard[0][0] == "data vector 0 of 40"
    assert heard[1] == ("data vector 1 of 40", pytest.approx(whole.loss[0]))
    assert heard[-1][0] == "data vector 40 of 40"

    def stop_after(count):
        def callback(progress):
            if progress.stage != "data vector 0 of 40" or not count:
                raise StopIteration

        return callback

    for done in (0, 1):
        some = fa.fit_many(A, B, **words, callback=stop_after(done))
        assert [status is fa.Status.STOPPED for status in some.status] == [i >= done for i in range(40)]
        np.testing.assert_array_equal(some.loss[:done], whole.loss[:done])
        assert some[30].cardinality == 0
        assert some[30].loss == pytest.approx(0.5 * B[:, 30] @ B[:, 30])
        assert not some[30].success

    def break_off(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fa.fit_many(A, B, **words, callback=break_off)


def test_two_batches_at_once():
    cases = [posed(7, p=60), posed(8, p=60)]
    expected = [fa.fit_many(A, B, atoms=fa.SignedOneHot(12), k=3).loss for A, B in cases]
    losses = [None, None]

    def work(i):
        A, B = cases[i]
        for _ in range(3):
            losses[i] = fa.fit_many(A, B, atoms=fa.SignedOneHot(12), k=3).loss

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine, theirs in zip(losses, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_more_effort_is_no_worse_on_the_whole():
    rng = np.random.default_rng(9)
    C = np.cos(np.pi * np.outer(np.arange(8), np.arange(16)) / 16)
    C[:, 1:] -= C[:, 1:].mean(axis=0)
    M = np.kron(C, C)[:, :120]
    B = np.stack([M[:, rng.choice(120, 4)] @ rng.standard_normal(4) for _ in range(20)], axis=1)
    B += 0.05 * np.linalg.norm(B, axis=0) / 8 * rng.standard_normal(B.shape)
    losses = [
        fa.fit_many(M, B, atoms=fa.SignedOneHot(120), k=4, effort=e).loss for e in ("quick", "normal", "thorough")
    ]
    assert np.sqrt(losses[1]).sum() <= np.sqrt(losses[0]).sum() * (1 + 1e-12)
    assert np.sqrt(losses[2]).sum() <= np.sqrt(losses[1]).sum() * (1 + 1e-12)


@pytest.mark.parametrize(
    "words",
    [
        {"atoms": fa.Groups([i // 2 for i in range(12)]), "k": 2},
        {"atoms": fa.SignedOneHot(12), "k": 2, "cap": 1.0},
        {"atoms": fa.SignedOneHot(12), "k": 2, "loss": fa.Huber(0.5)},
        {"atoms": fa.SignedOneHot(12), "k": 2, "method": fa.General(), "max_iterations": 10},
    ],
    ids=["groups", "cap", "huber", "method"],
)
def test_what_cannot_go_this_way_goes_one_by_one(words):
    A, B = posed(10, p=5)
    assert together(A, B, **words) is None
    many = fa.fit_many(A, B, **words)
    for s, b in zip(many, B.T, strict=True):
        assert s.loss == pytest.approx(fa.fit(A, b, **words).loss, rel=1e-9)


def test_a_gram_matrix_has_to_pay():
    problem = fa.Problem.of(*posed()[:1], np.ones(12), atoms=fa.SignedOneHot(12), k=2)
    assert columns.worth_it(problem, 12, 1)
    assert not columns.worth_it(problem, 100_000, 10)
    assert columns.worth_it(problem, 10_000, 100)


@pytest.mark.parametrize("seed", range(31, 39))
def test_libraries_that_hold_mixtures_of_their_members(seed):
    rng = np.random.default_rng(seed)
    A = rng.random((10, 6))
    A = np.c_[A, A @ rng.random((6, 2)) / 3]
    B = np.c_[A @ (rng.random((8, 5)) * (rng.random((8, 5)) < 0.5)), A]
    many = fa.fit_many(A, B, atoms=fa.NonnegativeOneHot(8), k=7)
    assert (many.loss <= 1e-20 * (B**2).sum(axis=0) + 1e-300).all()
    assert (many.x >= 0).all()
    for i in (0, 12):
        assert fa.fit(A, B[:, i], atoms=fa.NonnegativeOneHot(8), k=7).loss <= 1e-20 * (B[:, i] @ B[:, i])


# What broke once ------------------------------------------------------------------------------------------------------


def test_more_forced_atoms_than_a_bound_alone_has_room_for_at_first():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 40)), rng.standard_normal((60, 5))
    atoms = fa.SignedOneHot(40).restricted(include=list(range(20)))
    answers = fa.fit_many(A, B, atoms=atoms, misfit=0.9)
    assert all(set(range(20)) <= set(found.tolist()) for found in answers.indices)
    assert np.all(answers.misfit <= 0.9)


def test_idle_forced_atoms_with_a_bound_alone():
    A = np.array([[3.0, 2, 0, 2, 3], [0, 1, 1, 3, 2], [1, 3, 3, 0, 3], [0, 2, 3, 1, 2]])
    B = np.random.default_rng(0).random((4, 40)) * 4
    answers = fa.fit_many(A, B, atoms=fa.NonnegativeOneHot(5).restricted(include=[0, 1]), misfit=0.1)
    for i in range(40):
        alone = fa.fit(A, B[:, i], atoms=fa.NonnegativeOneHot(5).restricted(include=[0, 1]), misfit=0.1)
        assert answers[i].success == alone.success


@pytest.mark.parametrize("seed", range(4))
def test_no_answer_is_worse_than_none(seed):
    """Nearly parallel columns, which a Gram matrix hardly tells apart."""
    rng = np.random.default_rng(28 + seed)
    M, D, B = rng.standard_normal((20, 14)), rng.standard_normal((14, 14)), rng.standard_normal((20, 12))
    M = M * 10.0 ** rng.uniform(-6, 6, 14)
    for atoms in (fa.Mapped(D, fa.NonnegativeOneHot(14)), fa.Mapped(D, fa.SignedOneHot(14))):
        answers = fa.fit_many(M, B, atoms=atoms, k=4)
        assert np.all(answers.loss <= 0.5 * (B * B).sum(axis=0) * (1 + 1e-9))


def test_with_a_ridge_more_atoms_than_data_may_be_needed():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((5, 40)), rng.standard_normal(5)
    told = {"atoms": fa.SignedOneHot(40), "ridge": 0.03, "misfit": 0.01}
    assert fa.fit(A, b, k=20, **told).success
    assert fa.fit(A, b, **told).success
    assert fa.fit_many(A, b[:, None], **told)[0].success


@pytest.mark.parametrize("words", [{"cap": 0.9}, {"loss": fa.Huber(0.1)}])
def test_columns_fitted_one_by_one_have_compressed_columns_too(words):
    rng = np.random.default_rng(1)
    M = rng.random((30, 12))
    answers = fa.fit_many(M, M[:, :3] @ rng.random((3, 4)), atoms=fa.NonnegativeOneHot(12), k=3, **words)
    np.testing.assert_array_equal(answers.sparse.toarray(), answers.x)


def collinear(rng, kind):
    m, n = 7, 9
    if kind == "rank three":
        return rng.standard_normal((m, 3)) @ rng.standard_normal((3, n))
    A = rng.standard_normal((m, n))
    if kind == "units":
        return A * 10.0 ** rng.uniform(-4, 4, n)
    A[:, 1] = A[:, 0] + float(kind) * rng.standard_normal(m)
    A[:, 3] = A[:, 2] - A[:, 4] + float(kind) * rng.standard_normal(m)
    return A


@pytest.mark.parametrize("free", [None, "intercept"])
@pytest.mark.parametrize("kind", ["rank three", "units", "1e-2", "1e-4", "1e-6", "0"])
def test_collinear_columns_are_no_worse_than_one_by_one(kind, free):
    """Few supports are all looked at, by what the columns themselves say where their Gram matrix sees too little."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A, B = collinear(rng, kind), rng.standard_normal((7, 10))
        for atoms in (
            fa.SignedOneHot(9),
            fa.NonnegativeOneHot(9),
            fa.Mapped(rng.standard_normal((9, 8)), fa.SignedOneHot(8)),
        ):
            many = fa.fit_many(A, B, atoms=atoms, k=1 + seed % 3, free=free)
            one = [fa.fit(A, b, atoms=atoms, k=1 + seed % 3, free=free).loss for b in B.T]
            assert (many.loss <= np.array(one) * (1 + 1e-6) + 1e-20).all()
