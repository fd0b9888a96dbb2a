"""Answers are values: they are copied, pickled and get their data back; what is known stays known."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewatoms as fa
from answers import MAPPED, NAMES, Case, answer, assert_same_answer, cases
from fewatoms.operators import as_operator


def unpickled(s):
    return pickle.loads(pickle.dumps(s))


FIGURES = ("gap", "primal", "dual", "tau_lower", "beta_bounds")


@pytest.mark.parametrize("name", NAMES)
def test_pickles_leave_the_data_out_and_keep_the_rest(name):
    s = cases()[name].fit()
    waiting = pickle.dumps(s)
    figures = [getattr(s.certificate, figure) for figure in FIGURES]
    pickled = pickle.dumps(s)
    assert max(len(waiting), len(pickled)) < 10_000
    t = pickle.loads(pickled)
    assert_same_answer(t, s, name not in MAPPED)
    assert [getattr(t.certificate, figure) for figure in FIGURES] == figures
    assert str(t.certificate) == str(s.certificate)
    assert not t.certificate.attached


@pytest.mark.parametrize("name", ["completion", "completion, ridge", "robust", "biases"])
def test_what_was_not_computed_says_that_it_needs_the_data(name):
    """Gaps of these are dear: they wait until somebody asks."""
    case = cases()[name]
    t = unpickled(case.fit())
    for figure in (*FIGURES, "relaxation", "y", "norm", "epsilon", "threshold", "safe_set", "hausdorff", "problem"):
        with pytest.raises(ValueError, match=rf"^{figure} .* needs them: s.attach\(M, b\)"):
            getattr(t.certificate, figure)
    assert "attach(M, b)" in str(t.certificate)
    assert t.certificate.loss == t.loss
    assert math.isfinite(case.attach(t).certificate.gap)


def test_what_was_computed_on_demand_is_kept():
    s = cases()["signed"].fit()
    asked = [getattr(s.certificate, n) for n in ("norm", "radius", "epsilon", "threshold", "hausdorff", "safe_set")]
    t = unpickled(s)
    found = [getattr(t.certificate, n) for n in ("norm", "radius", "epsilon", "threshold", "hausdorff", "safe_set")]
    assert found[:-1] == asked[:-1]
    np.testing.assert_array_equal(found[-1], asked[-1])
    assert t.certificate.relaxation == (s.certificate.relaxation.name, s.certificate.relaxation.parameter)
    assert "aligned with M*y" in str(t.certificate)
    assert str(t.certificate) == str(s.certificate)


@pytest.mark.parametrize("name", ["robust", "pursuit"])
def test_safe_sets_of_sums_are_kept(name):
    s = cases()[name].fit()
    mine, theirs = s.certificate.safe_set, unpickled(s).certificate.safe_set
    assert (mine is None) == (theirs is None)
    if mine is not None:
        assert mine[0] is theirs[0] is None
        np.testing.assert_array_equal(mine[1], theirs[1])


def test_answers_of_large_problems_are_small():
    rng = np.random.default_rng(0)
    m, n = 3000, 2000
    M = sp.random_array((m, n), density=0.01, rng=rng, format="csc")
    b = M[:, [5, 70, 900]] @ np.array([1.0, -2.0, 3.0])
    for atoms, k in (
        (fa.SignedOneHot(n), 3),
        (fa.Groups(np.arange(n) // 2), 3),
        (2.0 * fa.SignedOneHot(n), 3),
        (fa.SignedOneHot(n) | 0.5 * fa.SignedOneHot(n), (2, 1)),
    ):
        s = fa.fit(M, b, atoms=atoms, k=k, max_iterations=3)
        assert len(pickle.dumps(s)) < 10_000
    w = rng.uniform(0.5, 1.0, m)
    s = fa.fit(M, b, atoms=fa.SignedOneHot(n), k=3, loss=fa.LeastSquares(w), free=rng.standard_normal((m, 2)))
    assert len(pickle.dumps(s)) < 10_000


# Copies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
@pytest.mark.parametrize("name", ["signed", "groups, strings", "mapped", "biases", "robust", "psd, complex"])
def test_copies_keep_the_data(name, way):
    s = answer(name)
    t = way(s)
    assert t is not s
    assert_same_answer(t, s)
    assert t.certificate.problem is s.certificate.problem
    assert t.certificate.gap == s.certificate.gap
    without = unpickled(s)
    assert not way(without).certificate.attached
    assert_same_answer(way(without), s, name not in MAPPED)


def test_deep_copies_may_be_written_to():
    s = cases()["biases"].fit()
    t = copy.deepcopy(s)
    t.x[:] = 0.0
    t.biases.rows[:] = 0.0
    assert s.x.any()
    assert s.biases.rows.any()


# Data again -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_data_are_given_back(name):
    case, s = cases()[name], answer(name)
    s.certificate.gap  # noqa: B018
    t = unpickled(s)
    before = t.certificate.products
    u = case.attach(t)
    assert u is not t
    assert not t.certificate.attached
    assert u.certificate.attached
    assert_same_answer(u, s, name not in MAPPED)
    problem, asked = u.certificate.problem, s.certificate.problem
    assert (problem.k, problem.alpha, problem.slack, problem.ridge) == (asked.k, asked.alpha, asked.slack, asked.ridge)
    assert problem.at_zero == pytest.approx(asked.at_zero, rel=1e-12, abs=1e-300)
    assert problem.atoms.same_as(asked.atoms)
    # one for the fingerprint of M, and what it takes to measure the answer
    assert before + 1 <= u.certificate.products <= before + 1 + max(1, s.cardinality)
    assert str(u.certificate).splitlines()[0] == str(s.certificate).splitlines()[0]


@pytest.mark.parametrize("name", NAMES)
def test_certificates_of_answers_with_their_data_again_hold(name):
    """The dual vector is another one; what is proven with it agrees with what the run has proven."""
    case, s = cases()[name], answer(name)
    run = s.certificate
    assert run.relaxation is None or run.gap >= 0  # proven now, so that it is kept
    proven = case.attach(unpickled(s)).certificate
    if proven.relaxation is None:
        assert run.relaxation is None
        return
    relaxation = proven.relaxation
    assert relaxation.name in ("P1", "P2", "P3")
    if run.relaxation.name == relaxation.name and proven.in_units == run.in_units:
        assert relaxation.parameter == pytest.approx(run.relaxation.parameter, rel=1e-12)
        assert proven.gap == run.gap
    y = proven.y
    if y is None:
        assert proven.epsilon is None
        return
    z = relaxation.problem.M.adjoint(y)
    value = relaxation.dual_value(y, relaxation.problem.atoms.ceiling(z))
    if proven.gap == run.gap:
        assert value >= run.dual - 1e-9 * (1 + abs(run.dual))  # not better than the best one seen
        assert value + run.primal >= -1e-9 * (abs(run.primal) + abs(run.dual))  # and in no conflict with the run
    if None not in (proven.epsilon, run.epsilon) and proven.in_units == run.in_units:
        assert proven.norm == pytest.approx(run.norm, rel=1e-9)
        assert proven.epsilon >= 0
        mine, theirs = proven.safe_set, run.safe_set
        if proven.gap == run.gap and isinstance(theirs, np.ndarray) and proven.radius >= run.radius:
            assert np.isin(theirs, mine).mean() > 0.99  # it rules out less


FORMS = {
    "array": lambda M: M,
    "Fortran": np.asfortranarray,
    "list": lambda M: M.tolist(),
    "csr": sp.csr_array,
    "coo": sp.coo_array,
    "operator": aslinearoperator,
    "ours": as_operator,
    "counting": fa.Counting,
    "blocks": lambda M: LinearOperator(M.shape, lambda x: M[:, :7] @ x[:7] + M[:, 7:] @ x[7:], lambda y: M.T @ y),
}


@pytest.mark.parametrize("form", FORMS)
def test_whatever_measures_the_same_is_accepted(form):
    case, t = cases()["signed"], unpickled(answer("signed"))
    u = t.attach(FORMS[form](case.M), case.b)
    assert u.certificate.attached
    assert u.loss == t.loss


def test_fits_of_other_forms_accept_the_array():
    case = cases()["signed"]
    for form in FORMS.values():
        t = unpickled(case.fit(form(case.M)))
        assert t.attach(case.M, case.b).certificate.attached


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda M, b: (M + 1e-5 * (np.arange(M.size) == 77).reshape(M.shape), b), "^M must be the one"),
        (lambda M, b: (M * (1 + 1e-6), b), "^M must be the one"),
        (lambda M, b: (M[:, ::-1], b), "^M must be the one"),
        (lambda M, b: (-M, b), "^M must be the one"),
        (lambda M, b: (M[:, :-1], b), "^atoms must live in the space"),
        (lambda M, b: (np.vstack([M, M[:1]]), np.append(b, b[0])), r"^M must be the one .* shape \(30, 20\)"),
        (lambda M, b: (M, b + 1e-15 * (np.arange(b.size) == 3)), "^b must be the one"),
        (lambda M, b: (M, b[::-1]), "^b must be the one"),
        (lambda M, b: (M, np.append(b, 0.0)), "^b must have 30 entries"),
        (lambda M, b: (M, np.full(30, np.nan)), "^b must hold finite numbers"),
    ],
    ids=range(10),
)
def test_other_data_are_refused(change, told):
    case, s = cases()["signed"], answer("signed")
    M, b = change(case.M, case.b.copy())
    for t in (s, unpickled(s)):
        with pytest.raises(ValueError, match=told):
            t.attach(M, b)


@pytest.mark.parametrize("name", ["completion", "psd", "robust", "joint"])
def test_other_matrices_are_refused(name):
    case, t = cases()[name], unpickled(answer(name))
    other = np.array(case.b)
    other.flat[0] += 1.0
    with pytest.raises(ValueError, match=r"^b must be the one"):
        case.attach(t, b=other)
    if name == "completion":
        i, j = case.M.positions
        order = np.arange(i.size)
        order[:2] = 1, 0  # two entries change places
        with pytest.raises(ValueError, match=r"^M must be the one"):
            case.attach(t, M=fa.Sampling(i[order], j[order], (12, 10)))
    if name == "joint":
        with pytest.raises(ValueError, match=r"^M must be the one"):
            case.attach(t, M=2 * case.M)


@pytest.mark.parametrize("name", [n for n, case in cases().items() if case.again])
def test_what_was_not_kept_has_to_be_given(name):
    case, t = cases()[name], unpickled(answer(name))
    (word,) = case.again
    with pytest.raises(ValueError, match=rf"^{word} must be given again, s.attach\(M, b, {word}=\.\.\.\)"):
        t.attach(case.M, case.b)


def test_other_sets_losses_and_columns_are_refused():
    case = cases()["weights"]
    t = unpickled(answer("weights"))
    with pytest.raises(ValueError, match=r"^loss must be the one"):
        t.attach(case.M, case.b, loss=fa.LeastSquares(2 * case.words["loss"].weights))
    with pytest.raises(ValueError, match=r"^loss must be what .* LeastSquares\(weights=<30>\); got LeastSquares\(\)"):
        t.attach(case.M, case.b, loss=fa.LeastSquares())
    case = cases()["columns"]
    with pytest.raises(ValueError, match=r"^free must be the one"):
        unpickled(answer("columns")).attach(case.M, case.b, free=case.words["free"] + 1)
    case = cases()["signed"]
    with pytest.raises(ValueError, match=r"^atoms must be what .* SignedOneHot\(20\); got NonnegativeOneHot\(20\)"):
        unpickled(answer("signed")).attach(case.M, case.b, atoms=fa.NonnegativeOneHot(20))


def test_attaching_costs_one_product_and_so_does_the_first_pickle():
    case = cases()["signed"]
    M = fa.Counting(case.M)
    s = case.fit(M)
    assert M.products == s.products
    pickled = pickle.dumps(s)
    assert (M.products, s.certificate.products) == (s.products + 1, 1)
    pickle.dumps(s)
    assert M.products == s.products + 1
    t, again = pickle.loads(pickled), fa.Counting(case.M)
    u = t.attach(again, case.b)
    assert again.products == 1  # the few columns of the answer are read
    u.certificate.epsilon  # noqa: B018
    assert u.certificate.products == 1 + again.products


def test_an_operator_that_one_large_column_hides_is_refused():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((20, 10))
    M[:, 0] *= 1e9
    b = 2 * M[:, 3] + 0.1 * rng.standard_normal(20)
    t = unpickled(fa.fit(M, b, atoms=fa.SignedOneHot(10), k=2))
    other = M.copy()
    other[:, 1:] = rng.standard_normal((20, 9))
    with pytest.raises(ValueError, match=r"^M must be the one that this answer was fitted to, with a loss of"):
        t.attach(other, b)
    assert t.attach(M, b).loss == t.loss


def test_what_stood_beside_is_not_exchanged():
    case, t = cases()["completion, ridge"], unpickled(answer("completion, ridge"))
    with pytest.raises(ValueError, match=r"^free must be left out: what stood beside the atoms is known, nothing; got"):
        t.attach(case.M, case.b, free="biases")


def test_answers_without_data_start_other_fits():
    """A saved answer is a start for the next one, over the same set only."""
    for name in ("signed", "groups, strings", "completion, ridge", "dictionary", "psd"):
        case, t = cases()[name], unpickled(answer(name))
        s = case.fit(start=t)
        objectives = [a.objective for a in (s, t)]
        assert objectives[0] <= objectives[1] * (1 + 1e-6) + 1e-20
    case = cases()["signed"]
    with pytest.raises(ValueError, match=r"^start must be a model made of SignedOneHot\(20\); got one made of Groups"):
        case.fit(start=unpickled(answer("groups, strings")))


def test_the_set_of_an_answer():
    assert answer("signed").atoms.same_as(fa.SignedOneHot(20))
    assert unpickled(answer("robust")).atoms.same_as(cases()["robust"].words["atoms"])
    assert unpickled(answer("groups, strings")).atoms is None
    balanced = unpickled(answer("robust")).balanced()
    assert repr(balanced) == repr(answer("robust").balanced())
    with pytest.raises(ValueError, match=r"attach\(M, b, atoms="):
        unpickled(answer("groups, strings")).balanced()


def test_sets_of_subclasses_are_not_taken_for_their_parents():
    class Mine(fa.SignedOneHot):
        """One's own."""

    case = cases()["signed"]
    mine = Case(case.M, case.b, {**case.words, "atoms": Mine(20)}, ("atoms",))
    t = unpickled(mine.fit())
    assert t.atoms is None
    assert mine.attach(t).certificate.attached


def test_certificates_are_pickled_by_themselves():
    proven = answer("signed").certificate
    assert proven.gap >= 0  # proven now, so that it is kept
    other = unpickled(proven)
    assert str(other) == str(proven)
    with pytest.raises(ValueError, match=r"^y was not computed"):
        other.y  # noqa: B018


def test_only_low_rank_matrices_have_a_model():
    s = answer("signed")
    for call in (lambda: s.model, lambda: s.top(0), lambda: s.fold_in([0], [0], [1.0])):
        with pytest.raises(AttributeError, match="there is no low-rank model"):
            call()


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (fa.Groups(np.repeat(range(5), 2)), fa.Groups(np.tile(range(5), 2))),
        (fa.Dictionary(np.eye(10)[:, :7], symmetric=True), fa.Dictionary(np.eye(10)[:, 3:], symmetric=True)),
        (fa.SignedOneHot(10).restricted(include=[3]), fa.SignedOneHot(10).restricted(include=[5])),
    ],
    ids=["groups", "dictionary", "restricted"],
)
def test_other_sets_of_the_same_words_are_told_apart(mine, other):
    rng = np.random.default_rng(0)
    M, b = rng.standard_normal((20, 10)), rng.standard_normal(20)
    t = unpickled(fa.fit(M, b, atoms=mine, k=2))
    assert repr(mine) == repr(other)
    with pytest.raises(
        ValueError, match=r"^atoms must be what this answer was fitted with, .*; got others of that kind"
    ):
        t.attach(M, b, atoms=other)
    assert t.attach(M, b, atoms=mine).loss == t.loss


# The intercept --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["signed", "columns", "box, free", "huber", "ridge", "labels", "joint", "classes"])
def test_predictions_are_those_of_x_and_the_intercept(name, tmp_path):
    case, s = cases()[name], answer(name)
    s.save(tmp_path / "answer")
    free = case.words.get("free")
    for one in (s, unpickled(s), fa.load(tmp_path / "answer"), case.attach(unpickled(s))):
        np.testing.assert_array_equal(one.intercept, s.intercept)
        assert np.shape(one.intercept) == one.x.shape[1:]
        if free is None or isinstance(free, str):
            M = case.M if isinstance(case.M, np.ndarray) else case.M @ np.eye(20)
            np.testing.assert_allclose(one.predict(case.M), M @ one.x + one.intercept, atol=1e-12)
            assert np.all((one.intercept != 0) == (free == "intercept"))
        else:
            assert one.intercept == 0.0  # columns of one's own are no intercept


def test_an_intercept_is_a_number_of_its_own():
    s = answer("joint")
    before = s.intercept.copy()
    s.intercept[:] = 0.0
    np.testing.assert_array_equal(s.intercept, before)
    assert type(answer("huber").intercept) is float
    assert answer("biases").intercept == 0.0
    assert answer("labels, joint").intercept.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.LeastSquares(np.arange(1.0, 31.0)), fa.Huber(0.5)])
def test_r2_is_nan_where_there_is_nothing_to_explain(loss):
    case = cases()["signed"]
    words = {"atoms": fa.SignedOneHot(20), "k": 2, "loss": loss}
    assert math.isnan(fa.fit(case.M, np.zeros(30), **words).r2)
    assert math.isnan(fa.fit(case.M, np.full(30, 3.7), free="intercept", **words).r2)
    column = np.linspace(-1.0, 2.0, 30)
    assert math.isnan(fa.fit(case.M, 2.5 * column, free=column, **words).r2)
    assert 0 < fa.fit(case.M, case.b, free="intercept", **words).r2 <= 1
