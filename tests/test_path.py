"""Paths over k: each answer is that of its k alone; scores mean what they say; the planted k is found."""

from __future__ import annotations

import math
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from answers import assert_same_answer
from fewatoms.effort import QUICK
from journeys.planting import low_rank, spikes

# One run serves all ---------------------------------------------------------------------------------------------------


def noisy(seed, m=40, n=70, k=4, noise=0.5):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((m, 1))
    return A, A @ spikes(rng, n, k) + noise * rng.standard_normal(m), rng


def least_squares():
    A, b, _ = noisy(0)
    return {"M": A, "b": b, "atoms": fa.SignedOneHot(70)}


def with_intercept():
    A, b, _ = noisy(1)
    return {"M": sp.csc_array(A), "b": b + 3.0, "atoms": fa.SignedOneHot(70), "free": "intercept"}


def nonnegative():
    A, b, _ = noisy(2)
    return {"M": A, "b": b, "atoms": fa.NonnegativeOneHot(70)}


def groups():
    A, b, _ = noisy(3)
    return {"M": A, "b": b, "atoms": fa.Groups(np.arange(70) // 2)}


def chosen():
    A, b, _ = noisy(4)
    atoms = fa.SignedOneHot(70).restricted(include=[5], exclude=[0, 1, 2])
    return {"M": A, "b": b, "atoms": atoms, "cap": 1.5}


def huber():
    A, b, _ = noisy(5)
    b[::9] += 20.0
    return {"M": A, "b": b, "atoms": fa.SignedOneHot(70), "loss": fa.Huber(1.0)}


def logistic():
    A, b, rng = noisy(6, m=80, k=2)
    t = np.where(b + 6.0 * rng.standard_normal(80) > 0, 1.0, -1.0)
    return {"M": t[:, None] * A, "b": np.zeros(80), "atoms": fa.SignedOneHot(70), "loss": fa.Logistic(), "free": t}


def implicit():
    """Too many columns to be asked for."""
    A, b, _ = noisy(7, n=300)
    return {"M": aslinearoperator(A), "b": b, "atoms": fa.SignedOneHot(300)}


def joint():
    A, b, rng = noisy(8, n=30)
    B = np.column_stack([b, A[:, :4].sum(axis=1) + 0.1 * rng.standard_normal(40)])
    return {"M": A, "b": B, "atoms": fa.Joint(fa.SignedOneHot(30))}


def sampled():
    rng = np.random.default_rng(9)
    X = low_rank(rng, 8, 7, 2)
    rows, cols = np.nonzero(rng.random(X.shape) < 0.8)
    b = X[rows, cols] + 0.01 * rng.standard_normal(rows.size)
    return {"M": fa.Sampling(rows, cols, X.shape), "b": b, "atoms": fa.RankOne(8, 7)}


PROBLEMS = {
    f.__name__: f
    for f in (least_squares, with_intercept, nonnegative, groups, chosen, huber, logistic, implicit, joint, sampled)
}


def assert_same(found, expected, rel):
    assert found.loss == pytest.approx(expected.loss, rel=rel)
    assert found.cardinality == expected.cardinality
    assert found.status is expected.status
    np.testing.assert_allclose(found.x, expected.x, atol=1e-5 * np.abs(expected.x).max())
    if rel < 1e-6:  # atoms that can be listed
        assert set(found.indices.tolist()) == set(expected.indices.tolist())


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_answer_is_that_of_its_k_alone(name):
    """Whichever other k are asked for, and in whatever order."""
    problem = PROBLEMS[name]()
    budgets = (1, 2) if name == "sampled" else (1, 2, 4, 6)
    rel = 1e-6 if name == "sampled" else 1e-8
    path = fa.fit_path(**problem, k=budgets)
    backwards = fa.fit_path(**problem, k=budgets[::-1])
    few = fa.fit_path(**problem, k=[budgets[1]])
    assert list(path) == path.k == list(budgets)
    assert list(backwards) == list(budgets[::-1])
    for k in budgets:
        alone = fa.fit(**problem, k=k)
        assert_same(path[k], alone, rel)
        assert_same(backwards[k], alone, rel)
        assert path[k].cardinality <= k
    assert_same(few[budgets[1]], path[budgets[1]], rel)
    np.testing.assert_array_equal(path.losses, [path[k].loss for k in budgets])
    np.testing.assert_array_equal(path.misfits, [path[k].misfit for k in budgets])


@pytest.mark.parametrize("name", ["least_squares", "groups", "implicit"])
def test_with_a_bound_too(name):
    problem = PROBLEMS[name]()
    path = fa.fit_path(**problem, k=(1, 3, 6), misfit=0.4)
    for k in (1, 3, 6):
        alone = fa.fit(**problem, k=k, misfit=0.4)
        assert path[k].success == alone.success == (path[k].misfit <= 0.4 * (1 + 1e-9))
        assert_same(path[k], alone, 1e-8)


@pytest.mark.parametrize("name", ["least_squares", "nonnegative", "groups", "huber"])
def test_more_atoms_fit_no_worse(name):
    path = fa.fit_path(**PROBLEMS[name](), k=range(1, 7))
    assert (np.diff(path.losses) <= 1e-9 * path.losses[:-1]).all()


def test_one_run_costs_less_than_many():
    """With a matrix of which only products are known."""
    problem = PROBLEMS["implicit"]()
    budgets = range(1, 7)
    path = fa.fit_path(**problem, k=budgets)
    alone = sum(fa.fit(**problem, k=k).products for k in budgets)
    assert max(path[k].products for k in budgets) < alone


def test_sums_of_sets_have_budgets_of_pairs():
    rng = np.random.default_rng(10)
    X = low_rank(rng, 6, 5, 1)
    X[2, 3] += 9.0
    atoms = fa.RankOne(6, 5) + fa.SignedOneHot((6, 5))
    path = fa.fit_path(fa.Identity((6, 5)), X, atoms=atoms, k=[(1, 1), (2, 3)])
    assert path[1, 1].misfit < 1e-3
    assert path[2, 3].loss <= path[1, 1].loss * (1 + 1e-6) + 1e-12
    assert (1, 1) in path
    assert (1, 2) not in path


# Choosing k -----------------------------------------------------------------------------------------------------------


def planted(seed, m=120, n=70, k=3):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.choice([-1.0, 1.0], k) * rng.uniform(2, 3, k)
    return A, A @ x + 0.3 * rng.standard_normal(m)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("by", ["bic", "ebic", "elbow"])
def test_the_planted_k_is_chosen(by, seed):
    A, b = planted(seed)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=range(1, 7))
    best = path.choose_k(by)
    if by == "bic":  # it is known to take a few too many where there are many columns to choose from
        assert 3 <= best <= 6
    else:
        assert best == 3
    assert path.chosen == best
    assert path.best is path[best]
    assert f"chosen k={best}" in repr(path)


@pytest.mark.parametrize("by", ["cv", "held-out"])
def test_the_planted_k_is_chosen_by_rows_left_out(by):
    A, b = planted(0)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=range(1, 6))
    assert path.choose_k(by) in (3, 4)
    scores = path.scores[by]
    assert scores[2] < 0.5 * scores[1] < scores[0]
    assert fa.choose_k(A, b, atoms=fa.SignedOneHot(70), k=range(1, 6), by=by) == path.chosen


def folds_by_hand(problem, budgets, parts, how):
    """The loss on the rows of each part, of the fit to the others, summed; data vectors share their rows. For least
    squares, the root of the mean square."""
    A = problem["M"].toarray() if sp.issparse(problem["M"]) else np.asarray(problem["M"])
    b, loss, free = problem["b"], problem.get("loss", fa.LeastSquares()), problem.get("free")
    asked = {name: problem[name] for name in ("atoms", "loss") if name in problem}
    total = np.zeros(len(budgets))
    for held in parts:
        rest = np.setdiff1d(np.arange(len(b)), held)
        columns = free is not None and not isinstance(free, str)
        for i, k in enumerate(budgets):
            s = fa.fit(A[rest], b[rest], k=k, free=free[rest] if columns else free, **asked, **how)
            left = b[held] - s.predict(A[held], free=free[held] if columns else None)
            total[i] += loss.value(left.ravel())
    data = np.concatenate([b[held].ravel() for held in parts]).size
    return np.sqrt(2 * total / data) if loss.squares else total


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("least_squares", None),
        ("least_squares", 5),
        ("with_intercept", 1),
        ("huber", None),
        ("logistic", 2),
        ("groups", 5),
        ("joint", 3),
    ],
)
def test_cross_validation_by_hand(name, seed):
    problem, how = PROBLEMS[name](), {"method": fa.methods.Listed().at(QUICK)}
    path = fa.fit_path(**problem, k=(1, 3), **how)
    path.choose_k("cv", folds=3, rng=seed)
    order = np.random.default_rng(0 if seed is None else seed).permutation(len(problem["b"]))
    expected = folds_by_hand(problem, (1, 3), np.array_split(order, 3), how)
    np.testing.assert_allclose(path.scores["cv"], expected, rtol=1e-6)


def test_held_out_by_hand():
    problem, how = PROBLEMS["least_squares"](), {"method": fa.methods.Listed().at(QUICK)}
    path = fa.fit_path(**problem, k=(2, 4), **how)
    path.choose_k("held-out", share=0.25, rng=3)
    held = np.random.default_rng(3).permutation(40)[:10]
    np.testing.assert_allclose(path.scores["held-out"], folds_by_hand(problem, (2, 4), [held], how), rtol=1e-6)


def test_weights_stay_with_their_rows():
    A, b, rng = noisy(11)
    w = rng.uniform(0.2, 4.0, 40)
    how = {"atoms": fa.SignedOneHot(70), "method": fa.methods.Listed().at(QUICK)}
    path = fa.fit_path(A, b, k=(2, 3), loss=fa.LeastSquares(w), **how)
    path.choose_k("held-out", rng=1)
    held = np.sort(np.random.default_rng(1).permutation(40)[:8])
    rest = np.setdiff1d(np.arange(40), held)
    expected = []
    for k in (2, 3):
        s = fa.fit(A[rest], b[rest], k=k, loss=fa.LeastSquares(w[rest]), **how)
        expected.append(np.sqrt(w[held] @ (b[held] - A[held] @ s.x) ** 2 / w[held].sum()))
    np.testing.assert_allclose(path.scores["held-out"], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["least_squares", "with_intercept", "groups", "huber", "logistic"])
def test_information_criteria_by_hand(name):
    """Up to a constant: m log(loss) or twice the loss, log(m) a coefficient, and the ways to choose the atoms."""
    problem = PROBLEMS[name]()
    path = fa.fit_path(**problem, k=(1, 2, 4))
    path.choose_k("bic")
    path.choose_k("ebic", gamma=0.5)
    m, count = problem["M"].shape[0], problem["atoms"].count
    bic, ebic = [], []
    for k in path:
        s = path[k]
        fit = 2 * s.loss if name == "logistic" else m * math.log(s.loss)
        bic.append(fit + math.log(m) * (np.count_nonzero(s.x) + s.free_coefficients.size))
        ebic.append(bic[-1] + 2 * 0.5 * math.log(math.comb(count, s.cardinality)))
    np.testing.assert_allclose(path.scores["bic"] - path.scores["bic"][0], np.array(bic) - bic[0], atol=1e-8)
    np.testing.assert_allclose(path.scores["ebic"] - path.scores["ebic"][0], np.array(ebic) - ebic[0], atol=1e-8)


def test_the_elbow_lies_farthest_below_the_line_between_the_ends():
    A, b = planted(1)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=range(1, 8))
    path.choose_k("elbow")
    height, sizes = np.log(path.misfits), np.arange(1.0, 8.0)
    line = height[0] + (height[-1] - height[0]) * (sizes - 1) / 6
    assert path.chosen == 1 + np.argmin(height - line)
    order = np.argsort(path.scores["elbow"])
    np.testing.assert_array_equal(order, np.argsort(height - line))


def test_scores_do_not_depend_on_the_units_of_b():
    A, b = planted(2)
    one = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=range(1, 6))
    other = fa.fit_path(A, 1e4 * b, atoms=fa.SignedOneHot(70), k=range(1, 6))
    for by in ("bic", "ebic", "elbow"):
        assert one.choose_k(by) == other.choose_k(by)
        np.testing.assert_allclose(np.diff(one.scores[by]), np.diff(other.scores[by]), rtol=1e-6)


def test_the_fewest_atoms_among_equals():
    """A path whose larger budgets find nothing more to explain."""
    A = np.eye(6)
    path = fa.fit_path(A, np.array([3.0, -2.0, 0, 0, 0, 0]), atoms=fa.SignedOneHot(6), k=(5, 2, 4))
    assert path.choose_k("bic") in (2, 4, 5)
    assert path.best.cardinality == 2


# Looking --------------------------------------------------------------------------------------------------------------


def test_a_path_reads_like_a_mapping():
    A, b = planted(0)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=(3, 1))
    assert len(path) == 2
    assert 3 in path
    assert 2 not in path
    assert list(path) == [3, 1]
    assert path[3].loss < path[1].loss
    assert repr(path).startswith("Path(2 answers over SignedOneHot(70), k=3, 1, loss from ")
    assert path.chosen is None


def test_plot_returns_axes_with_labels():
    A, b = planted(0)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(70), k=range(1, 6))
    ax = path.plot()
    try:
        assert ax.get_xlabel() == "atoms used"
        assert ax.get_ylabel() == "misfit |b - Mx| / |b|"
        (line,) = ax.get_lines()
        np.testing.assert_allclose(line.get_xdata(), range(1, 6))
        np.testing.assert_allclose(line.get_ydata(), path.misfits)
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["fit to the data"]
        path.choose_k("ebic")
        _, given = plt.subplots()
        assert path.plot(given) is given
        other = next(a for a in given.figure.axes if a is not given)
        assert other.get_ylabel() == "score (ebic), lower is better"
        np.testing.assert_allclose(other.get_lines()[0].get_ydata(), path.scores["ebic"])
        shown = [t.get_text() for t in given.get_legend().get_texts()]
        assert shown == ["fit to the data", "score (ebic)", f"chosen: k = {path.chosen}"]
    finally:
        plt.close("all")


def test_plot_without_a_misfit_shows_the_loss():
    path = fa.fit_path(**logistic(), k=(1, 2))
    ax = path.plot()
    try:
        assert ax.get_ylabel() == "loss"
        np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), path.losses)
    finally:
        plt.close("all")


# Bad arguments --------------------------------------------------------------------------------------------------------

SMALL, DATA = np.eye(4), np.arange(1.0, 5.0)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"k": 3}, TypeError, r"^k must be an iterable of budgets such as range\(1, 51\); got 3$"),
        ({"k": []}, ValueError, r"^k must be an iterable of budgets such as range\(1, 51\); got none$"),
        ({"k": [1, 2, 1]}, ValueError, r"^k must be an iterable of budgets .*, each once; got \[1, 2, 1\]$"),
        ({"k": [0, 5]}, ValueError, r"^k must be an integer between \d and .*4.*; got"),
        ({"k": [1.5]}, TypeError, r"^k must be an integer .*; got 1.5$"),
        (
            {"k": [1], "atoms": fa.SignedOneHot(4).restricted(include=[0, 1])},
            ValueError,
            r"^include must name at most k = 1 atoms; got 2$",
        ),
        (
            {"k": [1], "b": np.ones((4, 2))},
            ValueError,
            r"^b must be one data vector; got shape \(4, 2\): fit_many\(.*\) fits each .*, atoms=Joint\(atoms\) all",
        ),
    ],
    ids=["number", "none", "twice", "range", "fraction", "include", "several"],
)
def test_bad_arguments_of_a_path(options, kind, message):
    with pytest.raises(kind, match=message):
        fa.fit_path(**{"M": SMALL, "b": DATA, "atoms": fa.SignedOneHot(4), **options})


@pytest.mark.parametrize(
    ("by", "options", "kind", "message"),
    [
        ("luck", {}, ValueError, r"^by must be one of 'cv', 'held-out', 'bic', 'ebic', 'elbow'; got 'luck'$"),
        ("cv", {"folds": 1}, ValueError, r"^folds must be an integer between 2 and 4; got 1$"),
        ("cv", {"folds": 5}, ValueError, r"^folds must be an integer between 2 and 4; got 5$"),
        ("cv", {"folds": 2.0}, TypeError, r"^folds must be an integer between 2 and 4; got 2.0$"),
        ("cv", {"folds": 2, "rng": "x"}, (TypeError, ValueError), r"^rng must be None, a seed or a generator"),
        ("held-out", {"share": 1.0}, ValueError, r"^share must lie between 0 and 1; got 1.0$"),
        ("held-out", {"share": 0}, ValueError, r"^share must lie between 0 and 1; got 0$"),
        ("ebic", {"gamma": -1}, ValueError, r"^gamma must be a nonnegative finite number; got -1$"),
        ("elbow", {}, ValueError, r"^by='elbow' needs a path of at least 3 budgets; this one has 2$"),
    ],
    ids=["way", "one fold", "five folds", "fraction", "rng", "all", "nothing", "gamma", "elbow"],
)
def test_bad_arguments_of_choosing(by, options, kind, message):
    path = fa.fit_path(SMALL, DATA, atoms=fa.SignedOneHot(4), k=(1, 2))
    with pytest.raises(kind, match=message):
        path.choose_k(by, **options)
    assert path.chosen is None


def test_what_is_not_there_is_said():
    path = fa.fit_path(SMALL, DATA, atoms=fa.SignedOneHot(4), k=(1, 2))
    with pytest.raises(KeyError, match=r"k = 3 is not on this path; it has \[1, 2\]"):
        path[3]
    with pytest.raises(ValueError, match=r"^no k has been chosen yet; call choose_k first$"):
        _ = path.best


# Values, and the clock -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["pickle", "file"])
def test_pickles_and_files_leave_M_out(way, tmp_path):
    M, b = planted(7)
    path = fa.fit_path(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=[1, 3])
    chosen = path.choose_k("cv")
    path.choose_k("bic")
    path.chosen = chosen
    path.save(tmp_path / "path")
    data = pickle.dumps(path) if way == "pickle" else (tmp_path / "path").read_bytes()
    assert len(data) < (10_000 if way == "pickle" else 15_000)
    back = pickle.loads(data) if way == "pickle" else fa.load(tmp_path / "path")
    assert isinstance(back, fa.Path)
    assert repr(back) == repr(path)
    assert [*back.scores] == ["cv", "bic"]
    for k in path:
        assert_same_answer(back[k], path[k])
    back.save(tmp_path / "again")  # without M and b
    assert repr(fa.load(tmp_path / "again")) == repr(path)
    assert back.k == path.k
    assert back.chosen == chosen
    np.testing.assert_array_equal(back.losses, path.losses)
    np.testing.assert_array_equal(back[3].indices, path[3].indices)
    np.testing.assert_array_equal(back.scores["cv"], path.scores["cv"])
    with pytest.raises(ValueError, match=r"needs M and b.*: path.attach\(M, b\) gives them back$"):
        back.choose_k("cv")
    assert back.best.attach(M, b).certificate.gap >= 0


def test_a_path_says_in_one_line_what_it_is():
    M, b = planted(7)
    atoms, fitted = fa.SignedOneHot(M.shape[1]), fa.fit_path(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=range(1, 7))
    losses = f"loss from {fitted.losses.max():.6g} to {fitted.losses.min():.6g}"
    assert repr(fitted) == f"Path(6 answers over {atoms!r}, k=1, 2, ..., 6, {losses})"
    fitted.choose_k("bic")
    assert repr(fitted).endswith(f", chosen k={fitted.chosen})")
    ridges = fa.fit_path(M, b, atoms=atoms, k=[2], ridge=[0.0, 0.5])
    ridges.choose_k("cv")
    loss, ridge = f"{ridges.losses[0]:.6g}", f"{ridges.ridge:.4g}"
    told = f"k=2, the same for 2 ridges, loss {loss}, chosen k=2 at ridge {ridge})"
    assert repr(ridges) == f"Path(1 answer over {atoms!r}, {told}"


# Data again -----------------------------------------------------------------------------------------------------------


def unpickled(path):
    return pickle.loads(pickle.dumps(path))


@pytest.mark.parametrize(
    "case", [least_squares, with_intercept, nonnegative, groups, chosen], ids=lambda case: case.__name__
)
def test_data_are_given_back_to_all_answers(case):
    words = case()
    M, b = words.pop("M"), words.pop("b")
    path = fa.fit_path(M, b, k=[1, 3, 2], **words)
    path.choose_k("bic")
    kept = unpickled(path)
    again = {"atoms": words["atoms"]} if case in (groups, chosen) else {}
    back = kept.attach(M, b, **again)
    assert not kept[1].certificate.attached
    assert (back.k, back.chosen, back.ridge, repr(back)) == (path.k, path.chosen, path.ridge, repr(path))
    np.testing.assert_array_equal(back.scores["bic"], path.scores["bic"])
    for k in path:
        assert_same_answer(back[k], path[k])
        assert back[k].certificate.attached
        assert back[k].certificate.problem.k == k
        assert back[k].certificate.gap >= 0
    assert back.choose_k("cv") == path.choose_k("cv")
    np.testing.assert_allclose(back.scores["cv"], path.scores["cv"], rtol=1e-9)


def test_data_are_given_back_for_all_ridges_and_bounds(tmp_path):
    M, b = planted(7)
    atoms = fa.SignedOneHot(M.shape[1])
    path = fa.fit_path(M, b, atoms=atoms, k=[1, 3], ridge=[0.0, 0.3], free="intercept")
    path.save(tmp_path / "path")
    back = fa.load(tmp_path / "path").attach(M, b)
    for ridge in path.ridges:
        for k in path:
            one, other = back.at(ridge)[k], path.at(ridge)[k]
            assert one.certificate.problem.ridge == ridge
            assert one.objective == pytest.approx(other.objective, rel=1e-12)
            assert_same_answer(one, other)
    assert back.choose_k("cv") == path.choose_k("cv")
    assert back.ridge == path.ridge
    bounded = unpickled(fa.fit_path(M, b, atoms=atoms, k=[2, 5], misfit=0.7)).attach(M, b)
    assert [bounded[k].certificate.problem.misfit for k in (2, 5)] == [0.7, 0.7]
    assert "The bound alpha = " in str(bounded[5].certificate)


def test_attaching_a_path_costs_one_fingerprint():
    M, b = planted(7)
    operator = fa.operators.Counting(M)
    kept = unpickled(fa.fit_path(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=[1, 2, 3]))
    kept.attach(operator, b)
    images = sum(kept[k].cardinality for k in kept)
    assert operator.products <= 1 + images


def test_other_data_are_refused_by_paths():
    M, b = planted(7)
    kept = unpickled(fa.fit_path(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=[1, 2]))
    for other, told in (
        ((M * (1 + 1e-6), b), "^M must be the one"),
        ((M[:, ::-1], b), "^M must be the one"),
        ((M, b + 1e-12), "^b must be the one"),
        ((M[:-1], b[:-1]), "^M must be the one .* of shape"),
        ((M[:, :-1], b), "^atoms must live in the space"),
    ):
        with pytest.raises(ValueError, match=told):
            kept.attach(*other)
    with pytest.raises(ValueError, match=r"^free must be left out"):
        kept.attach(M, b, free="intercept")
    with pytest.raises(ValueError, match=r"^atoms must be what this answer was fitted with"):
        kept.attach(M, b, atoms=fa.NonnegativeOneHot(M.shape[1]))


def test_ridges_chosen_by_entries_are_attached_and_k_is_chosen_before():
    X, i, j = np.outer(np.arange(12.0), np.ones(10)), *np.nonzero(np.random.default_rng(0).random((12, 10)) < 0.7)
    entries, values = fa.Sampling(i, j, X.shape), X[i, j] + 0.1 * np.random.default_rng(1).standard_normal(i.size)
    path = fa.fit_path(entries, values, atoms=fa.RankOne(12, 10), k=[1, 2], free="biases")
    back = unpickled(path).attach(entries, values)
    for k in path:
        assert_same_answer(back[k], path[k])
        assert back[k].certificate.gap >= 0
    with pytest.raises(ValueError, match=r"needs M and b.*: choose before, or fit the path again$"):
        back.choose_k("cv")


def test_paths_over_sums_are_kept_with_nothing_chosen(tmp_path):
    M, b = planted(7)
    n = M.shape[1]
    path = fa.fit_path(M, b, atoms=fa.SignedOneHot(n) | fa.NonnegativeOneHot(n), k=[(1, 1), (2, 1)])
    path.save(tmp_path / "path")
    for back in (fa.load(tmp_path / "path"), pickle.loads(pickle.dumps(path))):
        assert (back.k, back.chosen, back.scores) == ([(1, 1), (2, 1)], None, {})
        assert_same_answer(back[2, 1], path[2, 1])


def test_names_are_kept_once_for_all_answers_of_a_path(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((20, 300)), columns=[f"a rather long name {i}" for i in range(300)])
    path = fa.fit_path(X, X.iloc[:, 0] + X.iloc[:, 9], atoms=fa.SignedOneHot(300), k=[1, 2])
    path.save(tmp_path / "path")
    path[2].save(tmp_path / "one")
    assert (tmp_path / "path").stat().st_size < 1.7 * (tmp_path / "one").stat().st_size
    assert set(fa.load(tmp_path / "path")[2].names) == {"a rather long name 0", "a rather long name 9"}


def test_choosing_k_is_heard_and_stopped():
    M, b = planted(8)
    atoms = fa.SignedOneHot(M.shape[1])
    path = fa.fit_path(M, b, atoms=atoms, k=[1, 2, 3, 4])
    whole, heard = path.choose_k("cv", folds=4), []
    scores = path.scores["cv"]
    assert path.choose_k("cv", folds=4, callback=heard.append) == whole
    np.testing.assert_array_equal(path.scores["cv"], scores)
    assert len(heard) >= 4  # once for each fold at least

    def stop_after(count):
        calls = iter(range(count))

        def callback(_):
            if next(calls, None) is None:
                raise StopIteration

        return callback

    del path.scores["cv"], path.errors["cv"]
    assert path.choose_k("cv", folds=4, callback=stop_after(0)) == path.choose_k("bic")
    path.choose_k("cv", folds=4, callback=stop_after(0))
    assert (path.chosen_by, path.folds, [*path.scores], [*path.errors]) == ("bic", (0, 4), ["bic"], [])

    def stop_in_the_third(progress):
        if any(count.what == "fold" and count.done == 2 for count in progress.counts):
            raise StopIteration

    path.choose_k("cv", folds=4, callback=stop_in_the_third)
    assert path.chosen_by == "cv"
    assert path.folds == (2, 4)
    assert np.isfinite(path.scores["cv"]).all()
    assert fa.choose_k(M, b, atoms=atoms, k=[1, 2, 3], callback=stop_after(0)) in (1, 2, 3)


def test_sizes_that_do_not_follow_each_other_are_not_averaged():
    """A score beside others of far sizes is no neighbour of theirs: the lowest one decides."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 12))
    b, low_by_itself = A[:, 0] + 0.1 * rng.standard_normal(30), np.array([[3.0, 9.0, 9.0, 9.0, 4.0, 4.0, 4.0]])
    for sizes, chosen in (([1, 2, 3, 5, 7, 9, 11], {1}), (range(1, 8), {5, 6, 7})):
        path = fa.fit_path(A, b, atoms=fa.SignedOneHot(12), k=sizes)
        path._settle(low_by_itself, None, path._known()[1], steady=True)
        assert path.chosen in chosen


def test_a_path_that_is_stopped_while_sizes_are_swept_has_the_supports_swept_so_far(monkeypatch):
    """Whatever is in hand at that moment: each size has its own, and those that were not reached the largest one."""
    monkeypatch.setattr("fewatoms.methods.listed.sweeping.AT_ONCE", 0.0)
    monkeypatch.setattr("fewatoms.ledger.EVERY", 0.0)
    rng = np.random.default_rng(3)
    M = rng.standard_normal((80, 60))
    b = M[:, :20] @ rng.standard_normal(20) + rng.standard_normal(80)
    heard = []

    def stop(progress):
        heard.append(progress.counts)
        if len(heard) > 12 * 30:  # all of 30 sizes are told of, 12 times
            raise StopIteration

    path = fa.fit_path(M, b, atoms=fa.SignedOneHot(60), k=range(1, 31), callback=stop)
    sizes = [path[k].cardinality for k in path]
    assert sizes[:8] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len({*sizes[-8:]}) == 1
    assert (np.diff(path.losses) <= 1e-9).all()
    assert {s.status.name for s in (path[k] for k in path)} == {"STOPPED"}


def test_sizes_one_by_one_are_those_of_one_sweep(monkeypatch):
    rng = np.random.default_rng(5)
    M = rng.standard_normal((60, 40))
    b = M[:, :10] @ rng.standard_normal(10) + rng.standard_normal(60)
    once = fa.fit_path(M, b, atoms=fa.SignedOneHot(40), k=range(1, 21))
    monkeypatch.setattr("fewatoms.methods.listed.sweeping.AT_ONCE", 0.0)
    singly = fa.fit_path(M, b, atoms=fa.SignedOneHot(40), k=range(1, 21))
    np.testing.assert_allclose(singly.losses, once.losses, rtol=1e-9)


def stopped_path(sizes, enough, **words):
    """Ranks of sampled entries, stopped when so many sizes are done."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30)) + 0.1 * rng.standard_normal((40, 30))
    X[rng.random(X.shape) < 0.2] = np.nan
    M, b = fa.Sampling.from_array(X)

    def callback(progress):
        if not enough or any(count.what == "budget" and count.done >= enough for count in progress.counts):
            raise StopIteration

    return fa.fit_path(M, b, atoms=fa.RankOne(40, 30), k=sizes, callback=callback, **words)


@pytest.mark.parametrize("by", ["held-out", "cv", "bic", "elbow"])
def test_a_path_that_was_stopped_chooses_among_the_sizes_that_were_fitted(by, tmp_path):
    path = stopped_path(range(1, 9), 4)
    assert path.stopped
    assert path.fitted in ([1, 2, 3, 4], [1, 2, 3, 4, 5])  # the size under way may have come so far
    assert f"stopped after {len(path.fitted)} of 8" in repr(path)
    assert path.choose_k(by) in path.fitted
    scores = path.scores[by]
    assert np.isfinite(scores[: len(path.fitted)]).all()
    assert np.isnan(scores[len(path.fitted) :]).all()
    assert "nan" not in repr(path)
    assert path.best.cardinality == path.chosen
    path.report(tmp_path / "path.html")
    again = pickle.loads(pickle.dumps(path))
    assert (again.fitted, again.chosen) == (path.fitted, path.chosen)


def test_a_path_without_one_fitted_size_refuses_to_choose():
    path = stopped_path((6, 8), 0, ridge="auto")  # stopped while entries are held out
    assert path.fitted == []
    assert "stopped after 0 of 2" in repr(path)
    with pytest.raises(ValueError, match=r"^no k was fitted before the callback stopped"):
        path.choose_k("cv")
    assert path.choose_k("cv", callback=lambda _: None) in (6, 8)  # as long as a callback of its own lets it


def test_a_path_that_ran_to_its_end_was_not_stopped():
    path = stopped_path(range(1, 4), 9)
    assert not path.stopped
    assert path.fitted == [1, 2, 3]
    assert "stopped" not in repr(path)


def test_a_choice_tells_which_size_scored_lower():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 12))
    path = fa.fit_path(A, A[:, 0] + 0.1 * rng.standard_normal(30), atoms=fa.SignedOneHot(12), k=[1, 2, 3])
    path.choose_k("cv", rule="1se")
    path.scores["cv"] = np.array([3.0, 2.5, 2.75])
    path.chosen = 1
    assert repr(path).endswith("chosen k=1 by cv 3; k=2 has 2.5)")
    path.chosen = 2
    assert repr(path).endswith("chosen k=2)")
