"""The paper's method: the authors' own counts on their data, a dense twin step by step, and what its gaps prove."""

import math
import os
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import datasets
from fewatoms.candidates import Candidate
from fewatoms.datasets.sparco import CausalConvolution, CosinesAndSpikes, HaarSynthesis
from fewatoms.methods.paper import UNPROMISING, Paper, Step, _check, _lengths
from theory.pairs import PLANS, gentle, plant

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def data(name):
    """A file of real data, or a skip that says where it was looked for."""
    file = Path(os.environ.get("FEWATOMS_DATA", BESIDE)) / name
    if not file.is_file():
        pytest.skip(f"no file {file}; name its folder by FEWATOMS_DATA")
    return np.load(file)


def slack(tol, b):
    """The authors' epsilon."""
    return 0.5 * (tol * float(np.linalg.norm(b))) ** 2


def sparse_problem(M, b, k):
    return fa.Problem.of(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=k, alpha=0.0)


class NewtonStep(NamedTuple):
    """The end of one Newton step: its last step, the atoms retrieved there, and the best ones so far."""

    step: Step
    candidate: Candidate
    best: Candidate


def newton_steps(method, problem, *, limit=None, look=None):
    """The walk with retrieval, until the bound is met or after `limit` steps, with a retrieval at the last."""
    _check(problem, [problem.budget])
    best = None
    if method.epsilon + problem.tolerance >= problem.at_zero:
        return
    for step in islice(method.steps(problem), limit):
        if look is not None:
            look(step)
        if step.closes or step.iteration == limit:
            candidate = method.retrieve(problem, step)
            best = candidate if best is None or candidate.loss < best.loss else best
            yield NewtonStep(step, candidate, best)
            if best.loss <= problem.tolerance + method.epsilon:
                return


def run(problem, tol, **how):
    """All Newton steps, and the numbers of the steps that a callback saw."""
    seen = []
    method = Paper(epsilon=slack(tol, problem.b))
    return list(newton_steps(method, problem, look=lambda step: seen.append(step.iteration), **how)), seen


# The authors' runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operator", "k", "newton", "iterations", "misfit"),
    [
        ("blocksig", lambda _: HaarSynthesis(1024, 5), 71, 1, 5, 1e-14),
        ("cosspike", lambda _: CosinesAndSpikes(1024), 113, 32, 71, 1.65e-5),
        ("spiketrn", lambda file: CausalConvolution(file["kernel"], 1024), 35, 42, 1888, 4.45e-5),
    ],
)
def test_counts_of_the_authors_on_their_data(name, operator, k, newton, iterations, misfit):
    file = data("sparco_authors.npz")
    b = file[name]
    found, seen = run(sparse_problem(operator(file), b, k), 1e-3)
    assert seen == list(range(1, iterations + 1))
    assert found[-1].step.iteration == iterations
    assert [n.step.newton for n in found] == list(range(1, newton + 1))
    assert np.linalg.norm(found[-1].best.residual) <= misfit * np.linalg.norm(b)
    assert found[-1].best.face.size == k


def test_blocksig_as_generated_takes_five_iterations():
    blocks = datasets.blocksig(levels=5)
    found, seen = run(sparse_problem(blocks.M, blocks.b, 71), 1e-3)
    assert (len(found), len(seen)) == (1, 5)
    assert set(found[-1].best.face.indices) == set(np.flatnonzero(blocks.x))


@pytest.mark.parametrize("seed", range(3))
def test_sgnspike_as_generated_takes_about_as_many_as_the_authors(seed):
    spikes = datasets.sgnspike(rng=seed)
    found, seen = run(sparse_problem(spikes.M, spikes.b, 20), 1e-3)
    assert 15 <= len(seen) <= 30  # published: 21, with another matrix
    np.testing.assert_allclose(found[-1].best.face.point(found[-1].best.c), spikes.x, atol=1e-4)


def faces_problem():
    """One face under 64 lights with the scales that the authors were told."""
    faces = data("faces_64_lights.npz")["faces"] / 255
    B = faces.reshape(64, -1).T
    atoms = 6941.40 * fa.SignedOneHot(B.shape) + 796.86 * fa.RankOne(*B.shape)
    return fa.Problem.of(fa.Identity(B.shape), B, atoms=atoms, k=(210296, 5), alpha=0.5 * 265.61**2)


def check_first_of_faces(problem, found):
    for n, above, infeasible in zip(found[:3], (2.87e4, 6.46e3, 2.44e3), (9.32e2, 3.81e2, 2.40e2), strict=True):
        assert n.step.loss - problem.alpha == pytest.approx(above, rel=2e-3)
        assert n.candidate.loss - problem.alpha == pytest.approx(infeasible, rel=2e-3)


def test_faces_begin_as_published():
    problem = faces_problem()
    method = Paper(epsilon=slack(1e-3, problem.b))
    check_first_of_faces(problem, list(islice(newton_steps(method, problem), 3)))


@pytest.mark.soak
def test_faces_end_as_published():
    problem = faces_problem()
    found, seen = run(problem, 1e-3, limit=200)
    check_first_of_faces(problem, found)
    assert len(found) == 46
    assert abs(len(seen) - 88) <= 4
    assert found[-1].best.loss <= problem.alpha + slack(1e-3, problem.b)


@pytest.mark.soak
def test_the_plain_rule_worsens_on_station_years_and_keeping_the_best_saves_it():
    X = data("weather_station_years.npz")["tavg_x20"] / 20
    X /= np.linalg.norm(X)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    rows, cols = np.nonzero(np.random.default_rng(0).random(X.shape) < 0.5)
    beyond = (X - (U[:, :5] * s[:5]) @ Vt[:5])[rows, cols]
    alpha = 0.5 * float(beyond @ beyond)
    problem = fa.Problem.of(
        fa.Sampling(rows, cols, X.shape), X[rows, cols], atoms=fa.RankOne(*X.shape), k=5, alpha=alpha
    )
    method = Paper(epsilon=slack(1e-2, problem.b))
    found = list(islice(newton_steps(method, problem), 15))
    chosen = [found[i - 1] for i in (1, 2, 3, 5, 10, 15)]
    for which, expected in (
        ([n.candidate for n in chosen], [0.347, 0.323, 0.342, 0.946, 0.814, 0.826]),
        ([n.best for n in chosen], [0.347, 0.323, 0.323, 0.323, 0.309, 0.281]),
    ):
        errors = [np.linalg.norm(X - x.face.point(x.c)) for x in which]
        np.testing.assert_allclose(errors, expected, atol=6e-4)


# A dense twin ---------------------------------------------------------------------------------------------------------


def spread(z, scale, tie):
    """The mean of the signed entries within a share of the largest, and the support value."""
    top = np.abs(z).max()
    a = np.where(np.abs(z) >= top - tie * top, np.sign(z), 0.0)
    return scale * a / np.count_nonzero(a), scale * top


def leading(z, scale, shape):
    """The leading singular pair as a flat matrix, and the support value."""
    u, s, vt = np.linalg.svd(z.reshape(shape))
    return scale * np.outer(u[:, 0], vt[0]).ravel(), scale * s[0]


def best_lengths(D, r):
    """Least squares in the unit box: of all choices of entries at 0, at 1 and free, the best that stays inside."""
    best, found = math.inf, np.zeros(D.shape[1])
    for sides in product((0.0, 1.0, None), repeat=D.shape[1]):
        free = [i for i, side in enumerate(sides) if side is None]
        theta = np.array([0.0 if side is None else side for side in sides])
        theta[free] = np.linalg.lstsq(D[:, free], r - D @ theta, rcond=None)[0]
        value = np.linalg.norm(r - D @ theta)
        if theta.min() >= 0 and theta.max() <= 1 and value < best:
            best, found = value, theta
    return found


def twin(M, b, exposers, alpha, epsilon, count):
    """(tau, u, l) of the first steps, all written out; x has a column for each exposer."""
    x, tau = np.zeros((M.shape[1], len(exposers))), 0.0
    lower, support = 0.5 * b @ b, sum(e(M.T @ b)[1] for e in exposers)
    out = []
    while True:
        grown = tau + (lower - alpha) / support
        x, tau, lower = x * (grown / tau if tau else 1.0), grown, alpha
        while lower <= alpha + epsilon:
            r = b - M @ x.sum(axis=1)
            a = tau * np.column_stack([e(M.T @ r)[0] for e in exposers])
            D = M @ (a - x)
            gap = (D.T @ r).sum()
            if gap >= UNPROMISING:
                x = x + (a - x) * (best_lengths(D, r) if x.any() else 1.0)
            r = b - M @ x.sum(axis=1)
            lower = max(alpha, 0.5 * r @ r - gap)
            support = sum(e(M.T @ r)[1] for e in exposers)
            out.append((tau, 0.5 * r @ r, lower))
            if len(out) == count:
                return np.array(out)


@pytest.mark.parametrize("tie", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_steps_are_those_of_a_dense_twin(tie, alpha):
    rng = np.random.default_rng(3)
    M = rng.standard_normal((20, 40))
    M /= np.linalg.norm(M, axis=0)
    b = M[:, :3] @ [1.0, -2.0, 1.5] + 0.02 * rng.standard_normal(20)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(40), k=3, alpha=alpha)
    steps = [(s.tau, s.loss, s.lower) for s in islice(Paper(epsilon=1e-3, tie=tie).steps(problem), 40)]
    assert len(steps) >= 8  # it may come to the root and end there
    expected = twin(M, b, [lambda z: spread(z, 1.0, tie)], alpha, 1e-3, len(steps))
    np.testing.assert_allclose(steps, expected, rtol=1e-8)


def test_steps_over_a_sum_are_those_of_a_dense_twin():
    rng = np.random.default_rng(4)
    shape = (8, 6)
    B = np.outer(rng.standard_normal(8), rng.standard_normal(6))
    B.flat[[3, 17, 40]] += [4.0, -3.0, 5.0]
    atoms = 2.0 * fa.SignedOneHot(shape) + 1.5 * fa.RankOne(*shape)
    problem = fa.Problem.of(fa.Identity(shape), B, atoms=atoms, k=(3, 1), alpha=0.05)
    steps = [(s.tau, s.loss, s.lower) for s in islice(Paper(epsilon=1e-3).steps(problem), 40)]
    exposers = [lambda z: spread(z, 2.0, 0.01), lambda z: leading(z, 1.5, shape)]
    np.testing.assert_allclose(steps, twin(np.eye(48), B.ravel(), exposers, 0.05, 1e-3, 40), rtol=1e-7)


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_step_lengths_are_the_best_in_the_box(parts):
    rng = np.random.default_rng(parts)
    for _ in range(40):
        D = rng.standard_normal((parts, 12)) * 10.0 ** rng.uniform(-2, 2, (parts, 1))
        r = rng.uniform(-0.5, 1.5, parts) @ D + 0.1 * rng.standard_normal(12)
        if parts == 1 and D[0] @ r < 0:
            r = -r  # one part steps along its direction only if that promises something
        theta = _lengths(D, r)
        assert np.all((theta >= 0) & (theta <= 1))
        assert np.linalg.norm(r - theta @ D) <= np.linalg.norm(r - best_lengths(D.T, r) @ D) * (1 + 1e-9)


def test_parts_that_go_the_same_way_share_a_step():
    d = np.array([1.0, 2.0])
    assert _lengths(np.stack([d, d]), 1.5 * d).sum() == pytest.approx(1.5)


# What is proven -------------------------------------------------------------------------------------------------------


def walked(kind, seed, make, count=150, **how):
    """A problem whose root is known, and steps towards it."""
    pair = make(np.random.default_rng([seed, *map(ord, kind)]), kind)
    problem = pair.problem(k=(1, 1) if kind in ("sum", "union") else 1)
    return pair, problem, list(islice(Paper(**how).steps(problem), count))


@pytest.mark.parametrize("make", [gentle, plant])
@pytest.mark.parametrize("kind", PLANS)
def test_gaps_prove_what_they_say(kind, make):
    for seed in range(4):
        pair, problem, steps = walked(kind, seed, make)
        for s in steps:
            assert s.gap >= 0
            assert s.loss == pytest.approx(0.5 * s.y @ s.y)
            assert s.support == pytest.approx(problem.atoms.support(s.z))
            # u - gap bounds v at tau, and with slope -support everywhere: v(root) = alpha
            bound = s.loss - s.gap + s.support * (s.tau - pair.tau)
            assert bound <= problem.alpha + 1e-12 * (s.loss + s.gap + s.support * pair.tau)
            if s.tau <= pair.tau:
                assert s.loss >= problem.alpha * (1 - 1e-9)


@pytest.mark.parametrize("kind", PLANS)
def test_tau_grows_towards_the_root(kind):
    for seed in range(4):
        pair, _, steps = walked(kind, seed, gentle, tie=0.0)
        taus = np.array([s.tau for s in steps])
        newton = np.array([s.newton for s in steps])
        assert np.all(taus <= pair.tau * (1 + 1e-9))
        assert np.all(np.diff(taus) >= 0)
        assert np.all((np.diff(taus) > 0) == (np.diff(newton) == 1))
        assert taus[-1] >= 0.9 * pair.tau


@pytest.mark.parametrize("kind", PLANS)
def test_ties_carry_tau_past_the_root_by_no_more_than_their_share(kind):
    for seed in range(4):
        pair, _, steps = walked(kind, seed, gentle, tie=0.01)
        assert steps[-1].tau <= pair.tau * 1.01


def test_a_first_step_at_full_length_can_carry_tau_past_the_root():
    pair, problem, steps = walked("scaled", 15, plant, tie=0.0)
    passed = next(s for s in steps if s.tau > 1.1 * pair.tau)
    before = steps[passed.iteration - 2]
    assert before.iteration == 1
    assert before.lower > problem.alpha  # so that Newton's method went on
    assert before.loss - before.gap < before.lower  # which nothing had proven


def test_bounds_enclose_the_value_of_the_subproblem():
    rng = np.random.default_rng(5)
    M, b = rng.standard_normal((10, 20)), rng.standard_normal(10)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3, alpha=0.05)
    for s in islice(Paper(tie=0.0).steps(problem), 0, 40, 8):
        x = cp.Variable(20)
        value = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(b - M @ x)), [cp.norm1(x) <= s.tau]).solve(cp.CLARABEL)
        assert s.loss - s.gap <= value + 1e-7
        assert value <= s.loss + 1e-7


# Retrieval ------------------------------------------------------------------------------------------------------------


def test_candidates_are_fits_to_data_less_a_residual_of_loss_alpha():
    rng = np.random.default_rng(6)
    M, b = rng.standard_normal((15, 30)), rng.standard_normal(15)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(30), k=4, alpha=0.1)
    found = next(newton_steps(Paper(), problem))
    r = found.step.y
    chosen = np.argsort(-np.abs(M.T @ r), kind="stable")[:4]
    np.testing.assert_array_equal(np.sort(found.candidate.face.indices), np.sort(chosen))
    x = np.zeros(30)
    x[chosen] = np.linalg.lstsq(M[:, chosen], b - r * math.sqrt(0.2) / np.linalg.norm(r), rcond=None)[0]
    np.testing.assert_allclose(found.candidate.face.point(found.candidate.c), x, atol=1e-4)
    np.testing.assert_allclose(found.candidate.residual, b - M @ x, atol=1e-4)
    assert found.candidate.loss == pytest.approx(0.5 * found.candidate.residual @ found.candidate.residual)


def test_the_best_is_kept_and_the_run_ends_with_it():
    cosines = datasets.cosspike(rng=0)
    problem = sparse_problem(cosines.M, cosines.b, 122)
    method = Paper(epsilon=slack(2e-2, problem.b))
    found = list(newton_steps(method, problem))
    losses = [n.candidate.loss for n in found]
    assert len(found) > 5
    assert [n.best.loss for n in found] == list(np.minimum.accumulate(losses))
    assert [n.best.loss <= method.epsilon for n in found] == [False] * (len(found) - 1) + [True]


def test_low_rank_is_retrieved_with_all_of_its_coefficients():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9))
    problem = fa.Problem.of(fa.Identity(X.shape), X, atoms=fa.RankOne(12, 9), k=2, alpha=0.0)
    found, _ = run(problem, 1e-3, limit=500)
    assert found[-1].best.loss <= slack(1e-3, problem.b)
    assert found[-1].best.face.dim == 4
    np.testing.assert_allclose(found[-1].best.face.point(found[-1].best.c), X, atol=1e-3 * np.linalg.norm(X))


@pytest.mark.parametrize(
    ("atoms", "k"),
    [
        (fa.NonnegativeOneHot(16), 3),
        (fa.Groups(np.arange(16) // 4), 1),
        (fa.SignedOneHot(16) | 2.0 * fa.NonnegativeOneHot(16), (2, 1)),
        (fa.SignedOneHot(16) + fa.Dictionary(np.eye(16) + 0.5, symmetric=True), (2, 1)),
        (fa.Mapped(np.eye(16)[::-1], fa.SignedOneHot(16)), 3),
        (fa.Mapped(np.eye(16), fa.RankOne(4, 4)), 2),
        (fa.Mapped(np.eye(16), fa.PSDRankOne(4)), 2),
    ],
    ids=repr,
)
def test_candidates_keep_to_budget_and_cone(atoms, k):
    rng = np.random.default_rng(8)
    M, b = rng.standard_normal((10, 16)), rng.standard_normal(10)
    problem = fa.Problem.of(M, b, atoms=atoms, k=k, alpha=0.01)
    found = list(newton_steps(Paper(), problem, limit=30))
    assert found
    for n in found:
        face, c = n.candidate.face, n.candidate.c
        assert tuple(f.size for f in face.parts) == (k if isinstance(k, tuple) else (k,))
        np.testing.assert_allclose(face.project(c), c, atol=1e-12)
        np.testing.assert_allclose(n.candidate.residual, b - M @ face.point(c), atol=1e-12)


# Where it begins and ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "alpha", "epsilon", "status"),
    [
        (np.zeros(3), 0.0, 0.0, fa.Status.ZERO),
        (np.ones(3), 1.6, 1.0, fa.Status.ZERO),
        (np.ones(3), 0.5, 1.0, fa.Status.WITHIN_SLACK),  # the loss of x = 0 is 1.5
    ],
)
def test_nothing_to_do_takes_no_step(b, alpha, epsilon, status):
    s = fa.fit(np.eye(3), b, atoms=fa.SignedOneHot(3), k=1, alpha=alpha, method=Paper(epsilon=epsilon))
    assert (s.status, s.iterations, s.products) == (status, 0, 0)


def test_no_atom_along_the_data_takes_no_step():
    problem = fa.Problem.of(np.eye(3), -np.ones(3), atoms=fa.NonnegativeOneHot(3), k=1, alpha=0.1)
    assert list(newton_steps(Paper(), problem)) == []


def test_the_walk_ends_at_the_root_when_no_bound_lifts_it():
    problem = fa.Problem.of(np.eye(3), np.array([3.0, 2.0, 1.0]), atoms=fa.SignedOneHot(3), k=1, alpha=1.0)
    *_, last = newton_steps(Paper(epsilon=0.1), problem, limit=10_000)
    assert last.step.closes
    assert last.step.iteration < 10_000
    assert last.step.lower <= 1.1
    assert last.step.promise <= 0.05
    assert last.best.loss > 1.1  # one atom is not enough


def test_a_limit_ends_with_a_retrieval():
    cosines = datasets.cosspike(rng=1)
    problem = sparse_problem(cosines.M, cosines.b, 122)
    for limit in (1, 17, 40):
        found, seen = run(problem, 1e-3, limit=limit)
        assert len(seen) == limit
        assert found[-1].step.iteration == limit


def test_all_products_are_counted():
    rng = np.random.default_rng(9)
    A, calls = rng.standard_normal((20, 50)), []
    M = LinearOperator(
        A.shape,
        matvec=lambda x: calls.append("M") or A @ x,
        rmatvec=lambda y: calls.append("M*") or A.T @ y,
        dtype=float,
    )
    b = A[:, 0] - A[:, 1]
    s = fa.fit(M, b, atoms=fa.SignedOneHot(50), k=2, alpha=0.0, method=Paper(epsilon=slack(1e-3, b)))
    assert s.success
    assert s.products == len(calls)


# As a method of fit ---------------------------------------------------------------------------------------------------


def test_fit_walks_the_same_way():
    spikes = datasets.sgnspike(rng=3)
    found, seen = run(sparse_problem(spikes.M, spikes.b, 20), 1e-3)
    method = fa.Paper(epsilon=slack(1e-3, spikes.b))
    shown = []
    s = fa.fit(
        spikes.M, spikes.b, atoms=fa.SignedOneHot(2560), k=20, alpha=0.0, method=method,
        callback=lambda p: shown.append(p.iteration),
    )  # fmt: skip
    assert s.status is fa.Status.WITHIN_SLACK
    assert s.success
    assert not s.certificate.meets_bound
    assert s.iterations == len(seen)
    assert set(range(1, s.iterations + 1)) <= set(shown)
    assert s.loss == pytest.approx(found[-1].best.loss)
    told = f"{method.epsilon:.6g}"
    assert f"a loss of at most 0 ({told} more by the slack of the method)" in s.message
    assert "The bound itself is not met; it is with the slack" in s.message
    assert f"alpha = 0 is not met; it is with the slack of the method, 0 + {told} = {told}." in str(s.certificate)


def test_a_bound_is_met_or_it_is_not_whatever_the_slack():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 20))
    b = M[:, 0] + 0.5 * M[:, 1] + 0.05 * rng.standard_normal(40)
    best = fa.fit(M, b, atoms=fa.SignedOneHot(20), k=2).loss
    for share, status in ((1.5, fa.Status.BOUND_MET), (0.9, fa.Status.WITHIN_SLACK)):
        alpha = share * best
        s = fa.fit(M, b, atoms=fa.SignedOneHot(20), k=2, alpha=alpha, method=fa.Paper(epsilon=0.5 * best))
        assert (s.status is fa.Status.BOUND_MET) == (s.loss <= alpha * (1 + 1e-12)) == s.certificate.meets_bound
        if share < 1:
            assert s.status is status
            assert f"a loss of at most {alpha:.6g} (" in s.message
    none = fa.fit(M, b, atoms=fa.SignedOneHot(20), k=2, alpha=0.0, method=fa.Paper(epsilon=1e6))
    assert none.status is fa.Status.WITHIN_SLACK  # x = 0 does not meet alpha either


def test_what_is_slack_for_the_method_is_none_for_the_certificate():
    spikes = datasets.sgnspike(rng=3)
    how = {"atoms": fa.SignedOneHot(2560), "k": 20, "alpha": 0.0}
    s = fa.fit(spikes.M, spikes.b, method=fa.Paper(epsilon=slack(1e-3, spikes.b)), **how)
    assert s.loss > 1e-20  # so that it does not meet alpha itself
    assert math.isinf(s.certificate.gap)  # and is no point of (P3)


@pytest.mark.parametrize(
    ("name", "operator", "k", "iterations"),
    [
        ("blocksig", lambda _: HaarSynthesis(1024, 5), 71, 5),
        ("cosspike", lambda _: CosinesAndSpikes(1024), 113, 71),
        ("spiketrn", lambda file: CausalConvolution(file["kernel"], 1024), 35, 1888),
    ],
)
def test_fit_takes_as_many_iterations_as_the_authors(name, operator, k, iterations):
    file = data("sparco_authors.npz")
    M, b = operator(file), file[name]
    s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=k, alpha=0.0, method=fa.Paper(epsilon=slack(1e-3, b)))
    assert s.success
    assert s.iterations == iterations
    assert s.cardinality <= k


def test_a_path_is_one_walk_and_each_budget_ends_by_itself():
    spikes = datasets.sgnspike(rng=3)
    how = {"atoms": fa.SignedOneHot(2560), "alpha": 0.0, "method": fa.Paper(epsilon=slack(1e-3, spikes.b))}
    path = fa.fit_path(spikes.M, spikes.b, k=(20, 25), **how)
    for k in (20, 25):
        alone = fa.fit(spikes.M, spikes.b, k=k, **how)
        assert path[k].iterations == alone.iterations
        assert path[k].loss == pytest.approx(alone.loss)


def test_a_walk_that_is_cut_off_has_a_look_at_its_last_point():
    cosines = datasets.cosspike(rng=1)
    how = {"atoms": fa.SignedOneHot(2048), "k": 122, "alpha": 0.0, "method": fa.Paper()}
    for limit in (1, 17):
        s = fa.fit(cosines.M, cosines.b, max_iterations=limit, **how)
        assert (s.status, s.iterations) == (fa.Status.ITERATION_LIMIT, limit)
        assert 0 < s.cardinality <= 122


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"loss": fa.Huber(1.0)}, r"loss must be LeastSquares\(\) .* Paper; got Huber"),
        ({"loss": fa.LeastSquares(np.arange(1.0, 5.0))}, r"loss must be .* without weights .*; got LeastSquares\(wei"),
        ({"atoms": fa.NonnegativeCone(6)}, r"atoms must be a bounded set .*; got NonnegativeCone\(6\)"),
        ({"k": None}, r"k must be a number of atoms for Paper.*; got None"),
        ({"alpha": None}, r"alpha \(or misfit\) must be given for Paper.*; got None"),
        ({"atoms": fa.SignedOneHot(6).restricted(exclude=[0])}, r"atoms must not be restricted for Paper; got"),
        ({"cap": 2.0}, r"ridge and cap must be left out for Paper; got .*cap=2.0"),
        ({"free": "intercept"}, r"free must be left out for Paper; got 1 numbers"),
    ],
)
def test_what_it_cannot_do_is_refused_at_once(how, message):
    asked = {"atoms": fa.SignedOneHot(6), "k": 2, "alpha": 0.1, **how}
    with pytest.raises(ValueError, match=message):
        fa.fit(np.eye(4, 6) + 0.1, np.arange(4.0), method=Paper(), **asked)


def test_a_ridge_is_refused():
    M = fa.Sampling([0, 1, 2], [0, 1, 0], (3, 2))
    with pytest.raises(ValueError, match=r"ridge and cap must be left out for Paper; got .*ridge=0.5"):
        fa.fit(M, np.ones(3), atoms=fa.RankOne(3, 2), k=1, alpha=0.1, ridge=0.5, method=Paper())


def test_open_budgets_are_refused():
    atoms = fa.SignedOneHot((3, 2)) + fa.RankOne(3, 2)
    with pytest.raises(ValueError, match=r"k must be a number .* for Paper, one for each part .*; got \(None, 1\)"):
        fa.fit(fa.Identity((3, 2)), np.ones((3, 2)), atoms=atoms, k=(None, 1), alpha=0.1, method=Paper())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="epsilon must be a nonnegative finite number; got -1"):
        Paper(epsilon=-1.0)
    with pytest.raises(ValueError, match=r"tie must be smaller than 1; got 1\.0"):
        Paper(tie=1.0)
