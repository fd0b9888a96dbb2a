"""The door: what is proven holds, whoever searches and whoever ends it; what is no question is refused."""

import io
import math
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.proofs import families
from fewatoms.proofs.base import Tampered
from fewatoms.proofs.better import better
from fewatoms.proofs.question import posed, subject_of
from prove.cases import KINDS, case
from prove.twin import Exhaustive, optimum

PRICES = [(0.3, None), (0.0, 0.4), (0.2, 0.5)]


def data(rng, m=30, n=8, k=3):
    M = rng.standard_normal((m, n))
    return M, M[:, :k].sum(axis=1) + 0.5 * rng.standard_normal(m)


def answer(rng, n=8, k=3, **words):
    M, b = data(rng, n=n, k=k)
    return fa.fit(M, b, atoms=fa.SignedOneHot(n), k=k, **({"ridge": 0.3} | words))


def bad_one(s, classes):
    """An answer to the same question made of other classes."""
    question = posed(s, gap=1e-4, seconds=60, cap=None, frobenius=None)
    with pytest.MonkeyPatch.context() as patched:  # nobody polishes what was stopped
        patched.setattr("fewatoms.proofs.better._status", lambda *about: fa.Status.STOPPED)
        found = better(replace(question, upper=math.inf), s, np.array(sorted(classes), dtype=np.intp))
    return found[1].attached_to(s.certificate.problem)


# What is proven holds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_proven_what_a_twin_finds(kind, exhaustive):
    for seed, (ridge, cap) in enumerate(PRICES):
        M, b, words, (A, t, twin) = case(kind, np.random.default_rng(seed), ridge=ridge, cap=cap)
        v, _ = optimum(A, t, **twin)
        s = fa.fit(M, b, **words)
        proof = fa.prove(s)
        assert proof.proven
        assert proof.lower <= v * (1 + 1e-7)
        assert v * (1 - 1e-7) <= proof.upper <= v * (1 + 1.01e-4)
        assert proof.upper == pytest.approx(proof.solution.objective, rel=1e-9)
        assert proof.gap <= 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_answer_is_replaced_by_the_best(kind, exhaustive):
    M, b, words, (A, t, twin) = case(kind, np.random.default_rng(5), ridge=0.3)
    v, best = optimum(A, t, **twin)
    s = fa.fit(M, b, **words)
    listing = s.certificate.problem.atoms.listing()
    others = [g for g in range(listing.atoms.count) if g not in best and g not in listing.barred] or [best[0]]
    worse = bad_one(s, [*listing.forced.tolist(), *others][:2])
    assert worse.objective > s.objective
    proof = fa.prove(worse)
    assert proof.proven
    assert proof.improved
    assert proof.solution.objective == pytest.approx(v, rel=1e-7)
    assert set(listing.classes_of(proof.solution.compact[0]).tolist()) <= set(best)
    assert "A better answer was found on the way" in str(proof)
    assert proof.solution.certificate.products >= 0
    assert proof.solution.certificate.decided.proven


def test_a_better_answer_is_one_that_fit_would_have_given(exhaustive):
    s = answer(np.random.default_rng(0))
    found = fa.prove(bad_one(s, [5, 6, 7])).solution
    assert found.indices.tolist() == s.indices.tolist()
    np.testing.assert_allclose(found.coefficients, s.coefficients, rtol=1e-10)
    assert found.message == s.message.replace("; no atom outside comes near those inside", "")
    assert found.certificate.gap < 0.5 * found.certificate.primal


@pytest.mark.parametrize("labels", ["logistic", "multinomial"])
def test_classes_of_any_number(labels, exhaustive):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 5))
    scores = X[:, :2] @ rng.standard_normal((2, 3)) + 0.5 * rng.standard_normal((40, 3))
    b = np.array(["a", "b", "c"])[scores.argmax(axis=1)] if labels == "multinomial" else scores[:, 0] > 0
    loss = fa.Multinomial() if labels == "multinomial" else fa.Logistic()
    s = fa.fit(X, b, atoms=fa.SignedOneHot(5), k=2, loss=loss, ridge=0.2, free="intercept")
    proof = fa.prove(s)
    assert proof.proven
    assert proof.lower <= s.objective <= proof.upper


def test_several_data_vectors_share_their_atoms(exhaustive):
    rng = np.random.default_rng(4)
    M = rng.standard_normal((20, 6))
    B = M[:, :2] @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((20, 3))
    s = fa.fit(M, B, atoms=fa.Joint(fa.SignedOneHot(6)), k=2, ridge=0.1)
    assert fa.prove(s).proven
    each = fa.fit_many(M, B, atoms=fa.SignedOneHot(6), k=2, ridge=0.1)
    assert fa.prove(each[1]).proven


def test_a_black_box_is_asked_for_its_columns(exhaustive):
    from scipy.sparse.linalg import aslinearoperator

    M, b = data(np.random.default_rng(0))
    s = fa.fit(aslinearoperator(M), b, atoms=fa.SignedOneHot(8), k=2, ridge=0.3)
    known = fa.prove(fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, ridge=0.3))
    assert fa.prove(s).lower == pytest.approx(known.lower, rel=1e-9)


def test_names_of_columns_are_features(exhaustive):
    pd = pytest.importorskip("pandas")
    M, b = data(np.random.default_rng(0))
    frame = pd.DataFrame(M, columns=list("abcdefgh"))
    s = fa.fit(frame, b, atoms=fa.SignedOneHot(8).restricted(include=["a"]), k=3, ridge=0.3)
    proof = fa.prove(s)
    assert proof.subject == "choice of 3 of the 8 features with the 1 included"
    assert proof.proven


@pytest.mark.parametrize(
    ("atoms", "noun"),
    [
        (fa.SignedOneHot(8), "the 8 atoms"),
        (fa.SignedOneHot(8).restricted(include=[1], exclude=[4]), "the 7 atoms with the 1 included"),
        (fa.Groups([0, 0, 1, 1, 2, 2, 3, 3]), "the 4 groups"),
    ],
)
@pytest.mark.parametrize("several", ["one", "data vectors", "classes"])
def test_what_is_chosen_from_is_what_the_user_has(atoms, noun, several):
    """Several coefficients of an atom make no group of it."""
    rng = np.random.default_rng(0)
    M, b = data(rng)
    if several == "one":
        s = fa.fit(M, b, atoms=atoms, k=2, ridge=0.3)
    elif several == "data vectors":
        s = fa.fit(M, np.c_[b, b + rng.standard_normal(b.size)], atoms=fa.Joint(atoms), k=2, ridge=0.3)
    else:
        s = fa.fit(M, np.argsort(np.argsort(b)) % 3, atoms=atoms, k=2, ridge=0.3, loss=fa.Multinomial())
    about = posed(s, gap=1e-4, seconds=1.0, cap=None, frobenius=None)
    assert subject_of(about) == f"choice of 2 of {noun}"


def test_what_is_exact_is_proven_by_nothing_at_all(exhaustive):
    M = data(np.random.default_rng(0))[0]
    s = fa.fit(M, M[:, :2].sum(axis=1), atoms=fa.SignedOneHot(8), k=2, cap=5.0)
    proof = fa.prove(s)
    assert proof.proven
    assert proof.lower >= 0.0
    assert proof.gap == 0.0
    assert "no x fits better" in str(s.certificate)


# Anytime -------------------------------------------------------------------------------------------------------------


def test_whoever_ends_it_has_a_valid_bound(exhaustive, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)  # however fast the machine is
    s = answer(np.random.default_rng(0), n=12, k=5)

    def stop(progress):
        raise StopIteration

    def press(progress):
        signal.raise_signal(signal.SIGINT)

    ends = {
        "deadline": fa.prove(s, seconds=0.02),
        "callback": fa.prove(s, callback=stop),
        "interrupt": fa.prove(s, callback=press),
    }
    for why, proof in ends.items():
        assert proof.ended == why, why
        assert not proof.proven
        assert proof.lower <= s.objective <= proof.upper
        assert proof.nodes < math.comb(12, 5)
        assert not proof.verify().proven
    assert "The time was over first." in str(ends["deadline"])
    assert "Ctrl-C ended it." in str(ends["interrupt"])


def test_a_second_press_is_raised(exhaustive, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)  # however fast the machine is
    s = answer(np.random.default_rng(0), n=12, k=5)

    def press(progress):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fa.prove(s, callback=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_errors_of_callbacks_pass_through(exhaustive):
    s = answer(np.random.default_rng(0), n=12, k=5)

    def fail(progress):
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fa.prove(s, callback=fail)


def test_callbacks_hear_both_bounds(exhaustive, monkeypatch):
    s, heard = answer(np.random.default_rng(0), n=11, k=4), []
    trace, shown = fa.callbacks.Trace(), io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(ledger, "EVERY", 0.0)  # however fast the machine is
    proof = fa.prove(s, callback=[heard.append, trace, fa.callbacks.Bar("prove", always=True)])
    assert heard
    assert len(trace) == len(heard)
    for progress in heard:
        assert progress.lower <= s.objective <= progress.upper
        assert pickle.loads(pickle.dumps(progress)).nodes == progress.nodes
    assert heard[-1].nodes <= proof.nodes == math.comb(11, 4)
    assert " nodes, between " in shown.getvalue()


def test_a_search_that_stops_early_proves_what_it_has(exhaustive, monkeypatch):
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(most=10),))
    s = answer(np.random.default_rng(0), ridge=1e-3)
    proof = fa.prove(s)
    assert not proof.proven
    assert proof.ended == "searched"
    assert proof.remedy == "Look at all of them."
    assert "Not proven: that no other choice of 3 of the 8 atoms has a lower objective. Look at all of them." in str(
        proof
    )


def test_the_answer_that_was_given_does_not_change(exhaustive):
    s = answer(np.random.default_rng(0))
    before = str(s.certificate)
    proof = fa.prove(s)
    assert str(s.certificate) == before
    assert s.certificate.decided is None
    assert proof.solution.indices.tolist() == s.indices.tolist()


# Words ---------------------------------------------------------------------------------------------------------------


def test_a_certificate_knows_its_proof(exhaustive):
    s = answer(np.random.default_rng(0))
    assert (
        "Not proven: that no other k atoms fit better. The relaxation does not decide this. fewatoms.prove may."
        in str(s.certificate)
    )
    proof = fa.prove(s)
    told = str(proof.solution.certificate)
    assert "Not proven" not in told
    assert "Proven: no choice of 3 of the 8 atoms has an objective below " in told
    assert "proven to 1e-4." in told
    assert told.splitlines()[-1] in proof.solution.summary()
    kept = pickle.loads(pickle.dumps(proof.solution))
    assert str(kept.certificate).splitlines()[-1] == told.splitlines()[-1]
    M, b = data(np.random.default_rng(0))
    assert str(kept.attach(M, b).certificate).splitlines()[-1] == told.splitlines()[-1]


def test_a_bound_above_alpha_says_that_nothing_meets_it(exhaustive):
    M, b = data(np.random.default_rng(0))
    best = fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, cap=9.0).loss
    s = fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, cap=9.0, alpha=0.5 * best)
    assert not s.success
    told = str(fa.prove(s).solution.certificate)
    assert "So no choice of 2 of the 8 atoms meets the bound." in told
    met = fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, cap=9.0, alpha=1.5 * best)
    assert "meets the bound" not in str(fa.prove(met).solution.certificate)


# What is no question -------------------------------------------------------------------------------------------------


def raises(error, match, *args, **words):
    with pytest.raises(error, match=match):
        fa.prove(*args, **words)


def test_numbers_that_are_none(exhaustive):
    s = answer(np.random.default_rng(0))
    raises(ValueError, r"seconds must be a positive number; got 0", s, seconds=0)
    raises(ValueError, r"seconds must be a positive number; got -1", s, seconds=-1)
    raises(TypeError, r"seconds must be a positive number; got None", s, seconds=None)
    raises(ValueError, r"gap must be a positive finite number; got 0", s, gap=0)
    raises(ValueError, r"gap must be a positive finite number; got nan", s, gap=math.nan)
    raises(TypeError, r"gap must be a positive finite number; got '1e-4'", s, gap="1e-4")
    raises(ValueError, r"gap must be below 1, a share of what the answer has; got 1000", s, gap=1000)
    raises(TypeError, r"callback must be callable", s, callback=3)
    raises(ValueError, r"callback must be no Checkpoint", s, callback=[fa.callbacks.Checkpoint("never-written")])


def test_what_is_no_answer(exhaustive):
    M, b = data(np.random.default_rng(0))
    words = {"atoms": fa.SignedOneHot(8)}
    path = fa.fit_path(M, b, k=[1, 2], **words)
    raises(TypeError, r"got Path\(.*prove\(path\[k\]\)", path)
    many = fa.fit_many(M, np.c_[b, b], k=2, **words)
    raises(TypeError, r"prove\(answers\[i\]\)", many)
    raises(TypeError, r"solution must be a Solution, the answer of fit; got 3", 3)
    raises(TypeError, r"proof.solution is the answer", fa.prove(answer(np.random.default_rng(0))))
    X = np.outer(np.arange(4.0), np.ones(3))
    low = fa.fit(*fa.Sampling.from_array(X), atoms=fa.RankOne(4, 3), k=1)
    raises(TypeError, r"prove the Solution that it is from", low.model)
    bad = fa.fit_many(M, np.c_[b, np.full(30, np.nan)], k=2, **words)[1]
    raises(ValueError, r"solution must be an answer; this one is none", bad)


def test_answers_without_their_problem(exhaustive, tmp_path):
    s = answer(np.random.default_rng(0))
    M, b = data(np.random.default_rng(0))
    s.save(tmp_path / "s.npz")
    loaded = fa.load(tmp_path / "s.npz")
    raises(ValueError, r"M and b must be given where the solution has lost its problem", loaded)
    raises(TypeError, r"M and b must be given together, or neither; got M alone", loaded, M)
    raises(TypeError, r"got b alone", loaded, b=b)
    raises(ValueError, r"b must be the one that this answer was fitted to", loaded, M, b + 1)
    assert fa.prove(loaded, M, b).lower == fa.prove(s).lower


def test_prices_that_contradict_the_answer(exhaustive):
    M, b = data(np.random.default_rng(0))
    s = fa.fit(M, b, atoms=fa.SignedOneHot(8), k=2, cap=2.0)
    raises(ValueError, r"cap must be the one that the answer was fitted with, 2; got 3", s, cap=3.0)
    assert fa.prove(s, cap=2.0).proven
    free = answer(np.random.default_rng(0))
    raises(ValueError, r"cap must be the one that the answer was fitted with, none", free, cap=3.0)
    raises(ValueError, r"frobenius must be left out where atoms can be listed", free, frobenius=1.0)


def test_questions_without_a_number_of_atoms(exhaustive):
    M, b = data(np.random.default_rng(0))
    s = fa.fit(M, b, atoms=fa.SignedOneHot(8), misfit=0.3)
    raises(ValueError, r"fit\(..., k=...\); k was None: prove\(fit\(..., k=\d+\)\) tells whether fewer", s)
    told = str(s.certificate)
    assert f"fewatoms.prove of the answer for k={s.cardinality - 1} may." in told


def test_sets_without_alignments(exhaustive):
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(8), rng.standard_normal(7))
    X[2, 3] += 9.0
    both = fa.fit(fa.Identity((8, 7)), X, atoms=fa.RankOne(8, 7) + fa.SignedOneHot((8, 7)), k=(1, 1))
    raises(ValueError, r"for sums and unions\s+solution.certificate tells what the relaxation proves", both)
    assert "fewatoms.prove" not in str(both.certificate)


def test_the_answer_itself_bounds_before_a_search_begins(monkeypatch):
    """One vector: nobody has searched, and what is told holds, and is seen again."""
    for kind in KINDS:
        M, b, words, (A, t, twin) = case(kind, np.random.default_rng(2), ridge=0.4, cap=2.0)
        monkeypatch.setattr(families, "PROVERS", (Exhaustive(most=0),))
        proof = fa.prove(fa.fit(M, b, **words))
        v, _ = optimum(A, t, **twin)
        assert 0 <= proof.lower <= v * (1 + 1e-7)
        assert proof.proven == (proof.gap <= 1e-4)
        free = kind in ("logistic with an intercept",)  # columns that fits have to mind themselves
        assert (proof.tree.name == "one vector") != free
        assert (proof.lower > 0) != free
        assert proof.verify().proven == proof.proven
        if not free:
            with pytest.raises(Tampered):
                replace(proof, tree=replace(proof.tree, arrays={"y": np.zeros(14)})).verify()
