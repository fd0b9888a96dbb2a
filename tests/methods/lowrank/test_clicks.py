"""Clicks: cells that were not sampled count as zeros. Against the same problem with all cells written out."""

import pickle
import resource

import numpy as np
import pytest

import fewatoms as fa
from clicked import KINDS, clicks
from fewatoms.methods.lowrank import Completion
from fewatoms.ranking import Ranking


def solved(it, **words):
    """An answer, and its twin over all cells."""
    words = {"atoms": fa.RankOne(*it.shape), "k": 3} | words
    return fa.fit(it.M, it.b, loss=it.loss, **words), fa.fit(*it.dense, loss=it.dense_loss, **words)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answer_as_over_all_cells(kind):
    it = clicks(kind)
    s, twin = solved(it, ridge=0.8)
    left = it.D - s.x
    assert s.loss == pytest.approx(0.5 * np.sum(it.W * left**2), rel=1e-10)
    assert s.objective <= twin.objective * (1 + 1e-4)
    assert s.misfit == pytest.approx(np.sqrt(s.loss / (0.5 * np.sum(it.W * it.D**2))))


@pytest.mark.parametrize("words", [{"ridge": 0.8}, {"ridge": 3.0}, {"misfit": 0.7}, {"alpha": 5.0}, {}], ids=str)
@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_certificates_hold_over_all_cells(words, scale):
    """What is proven here is proven there: the gap is that of y with all its cells, and no less."""
    it = clicks()
    s, twin = solved(it, atoms=scale * fa.RankOne(*it.shape), **words)
    c, problem = s.certificate, twin.certificate.problem
    y = c.y.written(it.rows, it.cols).ravel()
    z = problem.M.adjoint(y)
    there = type(c.relaxation)(problem, c.relaxation.parameter) if c.relaxation.name != "P3" else fa.P3(problem)
    assert there.dual_value(y, problem.atoms.ceiling(z)) == pytest.approx(c.dual, rel=1e-9, abs=1e-9)
    assert c.gap >= c.primal + c.dual
    assert c.norm == twin.certificate.norm
    assert c.gap <= twin.certificate.gap + 0.02 * abs(twin.certificate.primal)
    if "ridge" in words:
        lowest = _optimum(it, words["ridge"] / abs(scale))
        assert -c.dual <= lowest * (1 + 1e-6)
        assert c.primal >= lowest * (1 - 1e-6)


def _optimum(it, lam):
    """That of (P1), by many proximal gradient steps on all cells."""
    X, L = np.zeros(it.shape), it.W.max()
    for _ in range(1000):
        u, s, v = np.linalg.svd(X + it.W * (it.D - X) / L, full_matrices=False)
        X = (u * np.maximum(s - lam / L, 0.0)) @ v
    return 0.5 * np.sum(it.W * (it.D - X) ** 2) + lam * np.linalg.svd(X, compute_uv=False).sum()


SOAK = [pytest.param(kind, marks=pytest.mark.soak) for kind in ("usual", "as heavy as the others")]


@pytest.mark.parametrize("kind", ["lighter than the others", *SOAK])
def test_the_relaxation_is_that_of_cvxpy(kind):
    cp = pytest.importorskip("cvxpy")
    it, lam = clicks(kind, shape=(6, 5)), 1.2
    X = cp.Variable(it.shape)
    squares = cp.sum_squares(cp.multiply(np.sqrt(it.W), it.D - X))
    lowest = cp.Problem(cp.Minimize(0.5 * squares + lam * cp.normNuc(X))).solve(solver="SCS", eps=1e-9)
    s = fa.fit(it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape), k=5, ridge=lam, method=Completion(lift=True))
    assert s.objective == pytest.approx(lowest, rel=1e-5)
    assert s.certificate.gap <= 1e-3 * lowest
    assert -s.certificate.dual <= lowest * (1 + 1e-6)


def test_nonnegative_factors():
    it = clicks()
    s, twin = solved(it, atoms=fa.RankOne(*it.shape, nonnegative=True), ridge=0.5)
    assert min(s.left.min(), s.right.min()) >= 0
    assert s.loss == pytest.approx(0.5 * np.sum(it.W * (it.D - s.x) ** 2), rel=1e-10)
    assert s.objective <= twin.objective * 1.01


def apart(shape=(12, 9), background=1.5):
    """Clicks of three kinds of rows on columns of their own: they share no row and no column."""
    kind = np.arange(shape[0])[:, None] % 3 == np.arange(shape[1]) % 3
    rows, cols = np.nonzero(kind)
    D, W = np.where(kind, 1.0, 0.0), np.where(kind, 4.0, background)
    M, loss = fa.Sampling(rows, cols, shape, background=background), fa.LeastSquares(np.full(rows.size, 4.0))
    return M, np.ones(rows.size), loss, D, W


@pytest.mark.parametrize("background", [1e-3, 1.5, 10.0])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_clicks_that_share_nothing_need_atoms_of_their_own(background, nonnegative):
    """All cells hang together: what joins two groups is a zero that counts."""
    M, b, loss, D, W = apart(background=background)
    atoms = fa.RankOne(12, 9, nonnegative=nonnegative)
    s = fa.fit(M, b, loss=loss, atoms=atoms, k=3)
    np.testing.assert_allclose(s.x, D, atol=1e-3)
    assert s.misfit < 1e-3
    for k in (1, 2):
        s = fa.fit(M, b, loss=loss, atoms=atoms, k=k)
        whole = D * (np.arange(9) % 3 < k)  # groups are as large as each other
        assert s.loss <= 0.5 * np.sum(W * (D - whole) ** 2) * (1 + 1e-6)


def test_a_background_that_is_hardly_there():
    """Entries then tell of the matrix as they would without one: as many starts are tried for uneven weights."""
    rng = np.random.default_rng(33)
    here, there = [], []
    for _ in range(4):
        keep = rng.random((22, 12)) < 0.6
        rows, cols = np.nonzero(keep)
        w, b = rng.lognormal(0, 3, rows.size), rng.standard_normal(rows.size)
        words = {"loss": fa.LeastSquares(w), "atoms": fa.RankOne(22, 12), "k": 3}
        here.append(fa.fit(fa.Sampling(rows, cols, (22, 12), background=1e-9), b, **words).loss)
        there.append(fa.fit(fa.Sampling(rows, cols, (22, 12)), b, **words).loss)
    assert (np.array(here) <= 1.01 * np.array(there)).all()


def test_compiled_loops_lead_to_the_same(monkeypatch):
    from fewatoms import kernels

    it = clicks(shape=(30, 20))
    s = fa.fit(it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape), k=3, ridge=0.8)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    again = fa.fit(it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape), k=3, ridge=0.8)
    assert again.objective == pytest.approx(s.objective, rel=1e-4)
    assert again.certificate.gap == pytest.approx(s.certificate.gap, rel=0.1, abs=1e-3)


# The ridge by clicks held out ----------------------------------------------------------------------------------------


def planted(seed=0, p=80, q=50, rank=3):
    """Clicks of users with tastes; which ones are held out."""
    rng = np.random.default_rng(seed)
    own = rng.integers(rank, size=p)[:, None] == rng.integers(rank, size=q)
    rows, cols = np.nonzero(rng.random((p, q)) < np.where(own, 0.5, 0.03))
    order = rng.permutation(rows.size)
    cut = rows.size // 5
    return (p, q), (rows[order[cut:]], cols[order[cut:]]), (rows[order[:cut]], cols[order[:cut]])


def test_ridge_by_clicks_held_out():
    shape, seen, held = planted(p=60, q=40)
    words = {"atoms": fa.RankOne(*shape), "k": 4, "loss": fa.LeastSquares(np.full(seen[0].size, 3.0))}
    M, b = fa.Sampling(*seen, shape, background=1.0), np.ones(seen[0].size)
    s = fa.fit(M, b, ridge="auto", **words)
    figure = Ranking.of(s, held, seen).ndcg()
    plain = Ranking.of(fa.fit(M, b, ridge=0.0, **words), held, seen).ndcg()
    popular = Ranking.of(
        fa.LowRank(np.ones((shape[0], 1)), np.bincount(seen[1], minlength=shape[1])[:, None]), held, seen
    )
    assert figure > plain
    assert figure > popular.ndcg()
    assert 0 < s.held_out < 1
    assert s.ridge[0] > 0
    path = fa.fit_path(M, b, k=[1, 2], ridge="auto", atoms=words["atoms"], loss=words["loss"])
    path.choose_k("held-out")
    np.testing.assert_array_equal(path.scores["held-out"], [path[k].held_out for k in path.k])
    fa.choose_k(M, b, k=[1, 3], by="ndcg@5", folds=2, ridge=2.0, atoms=words["atoms"], loss=words["loss"])


def test_a_popular_first_atom_does_not_end_the_search():
    """One item that all have clicked on makes the first singular value many times the second."""
    _, seen, held = planted(1)
    more = np.arange(80), np.full(80, 50)
    rows, cols = (np.concatenate(pair) for pair in zip(seen, more, strict=True))
    M = fa.Sampling(rows, cols, (80, 51), background=1.0)
    loss = fa.LeastSquares(np.where(cols == 50, 1000.0, 2.0))
    s = fa.fit(M, np.ones(rows.size), atoms=fa.RankOne(80, 51), k=5, ridge="auto", loss=loss)
    one = fa.fit(M, np.ones(rows.size), atoms=fa.RankOne(80, 51), k=1, ridge=1.0, loss=loss)
    assert Ranking.of(s, held, (rows, cols)).ndcg() > Ranking.of(one, held, (rows, cols)).ndcg() + 0.05


def tried(monkeypatch, held, *, clicks=600):
    """The penalties that are tried where clicks held out are ranked as told, and the one that is chosen."""
    from fewatoms.methods.lowrank import held_out

    rng = np.random.default_rng(3)
    rows, cols = np.divmod(rng.choice(60 * 50, clicks, replace=False), 50)
    M, b, lams = fa.Sampling(rows, cols, (60, 50), background=1.0), np.ones(clicks), []
    usual, count = held_out.Trial._swept, []

    def swept(self, points, lam, shrink, sweeps):
        lams.append(lam)
        count.append(len(self.folds))
        choice = usual(self, points, lam, shrink, sweeps)
        return held_out.replace(choice, score=held(lam / lams[0]))

    monkeypatch.setattr(held_out.Trial, "_swept", swept)
    s = fa.fit(M, b, atoms=fa.RankOne(60, 50), k=3, ridge="auto")
    return np.array(lams) / lams[0], s.ridge[0] / lams[0], count[0]


@pytest.mark.parametrize(("clicks", "folds"), [(499, 5), (500, 1)])
def test_one_split_is_enough_where_there_are_some_hundred_clicks(monkeypatch, clicks, folds):
    assert tried(monkeypatch, lambda lam: 0.5 + 0.001 * lam, clicks=clicks)[2] == folds


def test_the_ridge_may_be_above_the_first_that_is_tried(monkeypatch):
    lams, chosen, _ = tried(monkeypatch, lambda lam: 0.5 + 0.004 * np.log(lam / 2.5) ** 2)
    assert chosen == pytest.approx(0.65**-2)
    assert lams.max() > chosen


def test_a_ladder_ends_where_clicks_are_ranked_clearly_worse(monkeypatch):
    lams, chosen, _ = tried(monkeypatch, lambda lam: 0.5 + 0.4 * np.log(lam / 0.65) ** 2)
    np.testing.assert_allclose(lams, 0.65 ** np.arange(3))
    assert chosen == pytest.approx(0.65)
    lams, *_ = tried(monkeypatch, lambda lam: 0.5 + 0.001 * np.log(lam / 0.65) ** 2)
    assert lams.size == 5  # three in a row, where the difference is small


@pytest.mark.parametrize("by", ["cv", "held-out", "elbow"])
def test_paths(by):
    it = clicks(shape=(20, 15))
    path = fa.fit_path(it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape), k=[1, 2, 4], ridge=1.0)
    assert path.choose_k(by, folds=2) in path.k
    assert np.isfinite(path.scores[by]).all()
    with pytest.raises(ValueError, match=r"by must leave clicks out .* got 'bic'"):
        path.choose_k("bic")


# Values, files -------------------------------------------------------------------------------------------------------


def test_kept_and_attached(tmp_path):
    it = clicks()
    s, _ = solved(it, ridge=0.8)
    s.save(tmp_path / "answer.npz")
    for other in (fa.load(tmp_path / "answer.npz"), pickle.loads(pickle.dumps(s))):
        assert other.loss == s.loss
        assert other.model.background == it.background
        with pytest.raises(
            ValueError, match=r"loss must be what .*background=1.5\); got LeastSquares\(weights=<\d+>\)"
        ):
            other.attach(fa.Sampling(it.rows, it.cols, it.shape), it.b, loss=it.loss)
        again = other.attach(it.M, it.b, loss=it.loss)
        assert again.certificate.gap >= 0
        assert again.certificate.primal <= s.objective * (1 + 1e-9)
    s.model.save(tmp_path / "model.npz")
    assert fa.load(tmp_path / "model.npz").background == it.background


@pytest.mark.parametrize("nonnegative", [False, True])
def test_rows_folded_in_are_those_that_were_there(nonnegative):
    it = clicks(shape=(25, 15))
    s = fa.fit(
        it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape, nonnegative=nonnegative), k=3, ridge=1.0,
        effort="thorough",
    )  # fmt: skip
    wider = s.fold_in(it.rows, it.cols, it.b, count=25, weights=it.weights)
    np.testing.assert_allclose(wider.left[25:], s.left, atol=0.02 * np.abs(s.left).max())


def test_what_is_predicted():
    it = clicks()
    s, _ = solved(it, ridge=0.8)
    np.testing.assert_allclose(s.predict(it.M), s.x[it.rows, it.cols], atol=1e-12)
    np.testing.assert_allclose(s.predict(it.rows, it.cols), s.x[it.rows, it.cols], atol=1e-12)
    mine = it.cols[it.rows == 0]
    cols, scores = s.top(0, 3, exclude=mine)
    assert not set(cols) & set(mine)
    assert (np.diff(scores) <= 0).all()


# Refusals, size ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"loss": fa.Huber(1.0)}, r"loss must be LeastSquares with Sampling\(..., background=1.5\); got Huber"),
        ({"free": "biases"}, "free must be left out where all cells count"),
        ({"atoms": fa.SignedOneHot(108)}, r"background=1.5\) is for RankOne.*wants residuals and y as arrays"),
        ({"method": fa.General()}, r"background=1.5\) is for RankOne.*got .*General"),
        ({"method": fa.Paper(), "alpha": 1.0}, r"background=1.5\) is for RankOne.*Paper"),
        ({"atoms": fa.RankOne(12, 9) + fa.SignedOneHot(108), "k": (1, 2)}, r"background=1.5\) is for RankOne"),
    ],
    ids=str,
)
def test_what_needs_arrays_is_refused(words, said):
    it = clicks()
    with pytest.raises((ValueError, TypeError), match=said):
        fa.fit(it.M, it.b, **{"atoms": fa.RankOne(*it.shape), "k": 2, **words})


@pytest.mark.parametrize("background", [-1.0, np.inf, np.nan, "1"])
def test_bad_backgrounds(background):
    with pytest.raises((ValueError, TypeError), match="background must be"):
        fa.Sampling([0], [0], (2, 2), background=background)


def test_no_background_is_none():
    M = fa.Sampling([0, 1], [1, 0], (2, 2), background=0.0)
    assert isinstance(M.apply(np.ones((2, 2))), np.ndarray)
    assert "others zeros of weight 2" in repr(fa.Sampling([0], [0], (2, 2), background=2.0))
    assert fa.Sampling([0, 1], [1, 0], (2, 2), background=2.0).subset(np.array([1])).background == 2.0
    M, _ = fa.Sampling.from_triplets([0, 0], [1, 1], [1.0, 2.0], duplicates="mean", background=3.0)
    assert M.background == 3.0


def test_stopped_runs_answer():
    it = clicks(shape=(40, 30))

    def stop(progress):
        if progress.iteration >= 2:
            raise StopIteration

    s = fa.fit(it.M, it.b, loss=it.loss, atoms=fa.RankOne(*it.shape), k=3, ridge=0.5, callback=stop)
    assert s.status is fa.Status.STOPPED
    assert s.loss == pytest.approx(0.5 * np.sum(it.W * (it.D - s.x) ** 2))


@pytest.mark.soak
def test_nothing_of_the_size_of_the_matrix_is_formed():
    rng = np.random.default_rng(0)
    p, q, m = 200_000, 100_000, 100_000
    keys = np.unique(rng.integers(0, p * q, m))
    rows, cols = np.divmod(keys, q)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    M, b = fa.Sampling(rows, cols, (p, q), background=0.1), np.ones(keys.size)
    s = fa.fit(M, b, atoms=fa.RankOne(p, q), k=4, ridge=1.0, loss=fa.LeastSquares(1.0 + rng.random(keys.size)))
    assert s.cardinality <= 4
    assert np.isfinite(s.certificate.gap)
    assert fa.fit(M, b, atoms=fa.RankOne(p, q), k=2, ridge="auto").held_out <= 1
    assert s.top(0, 5)[0].size == 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000_000  # kB, of 160 GB
