"""The search over supports of smooth losses: against all supports, and what its door promises."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.effort import QUICK
from fewatoms.gram.who import working
from fewatoms.methods.listed.smoothed import SmoothJob
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of


def labelled(seed, m=60, n=10, kind="autoregressive", classes=2):
    """Labels that three columns decide, roughly."""
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, n)
    odds = (A / np.linalg.norm(A, axis=0))[:, :3] @ rng.standard_normal((3, classes)) * np.sqrt(m)
    chosen = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    chosen[:classes] = np.arange(classes)
    return A, chosen


def spoilt(seed, m=40, n=11, kind="autoregressive"):
    """Three columns and noise; some data are far off."""
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, n)
    b = (A / np.linalg.norm(A, axis=0))[:, 2:5] @ rng.uniform(3.0, 6.0, 3) + 0.3 * rng.standard_normal(m)
    b[::7] += 10.0 * rng.standard_normal(b[::7].size)
    return A, b


def asked(name, seed):
    """A problem of each family, as users ask for it."""
    kind = ("autoregressive", "units", "correlated")[seed % 3]
    if name == "multinomial":
        A, b = labelled(seed, n=7, kind=kind, classes=3)
        return A, b, {"atoms": fa.SignedOneHot(7), "k": 2, "loss": fa.Multinomial(), "free": "intercept"}
    if name.startswith("Huber"):
        A, b = spoilt(seed, kind=kind)
        atoms = fa.NonnegativeOneHot(11) if "nonnegative" in name else fa.SignedOneHot(11)
        weights = np.random.default_rng(seed).uniform(0.5, 2.0, b.size) if "weights" in name else None
        return A, b, {"atoms": atoms, "k": 3, "loss": fa.Huber(0.5, weights=weights), "ridge": 0.2 * ("ridge" in name)}
    A, b = labelled(seed, kind=kind)
    words = {"atoms": fa.SignedOneHot(10), "k": 3, "loss": fa.Logistic(), "free": "intercept"}
    if "groups" in name:
        words["atoms"], words["k"] = fa.Groups(np.arange(10) // 2), 2
    if "include" in name:
        words["atoms"] = words["atoms"].restricted(include=[7], exclude=[0])
    return A, b, {**words, "ridge": 0.1 if "ridge" in name else None}


def least(A, b, words):
    """The lowest objective of all supports of k atoms."""
    fits = fits_of(Problem.of(A, b, **words))
    view, k = fits.view, fits.problem.budget.single
    others = np.setdiff1d(np.arange(view.count), np.concatenate([view.forced, view.barred]))
    supports = (np.concatenate([view.forced, some]) for some in combinations(others, k - view.forced.size))
    return min(fits.fit(np.array(some, dtype=np.intp), trial=False).objective for some in supports)


FAMILIES = [
    "logistic", "logistic, ridge", "logistic, include", "logistic, groups", "Huber", "Huber, nonnegative",
    "Huber, weights, ridge", "multinomial",
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("name", FAMILIES)
def test_no_support_is_better(name, seed):
    A, b, words = asked(name, 100 + seed)
    s = fa.fit(A, b, **words)
    assert s.objective <= least(A, b, words) * (1 + 1e-6)
    assert s.cardinality <= words["k"]


def test_separable_classes_are_found_and_said_to_be():
    """Two columns separate them, each alone does not."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((40, 30))
    t = A[:, 3] - A[:, 8] > 0
    s = fa.fit(A, t, atoms=fa.SignedOneHot(30), k=2, loss=fa.Logistic())
    assert s.status is fa.Status.SEPARABLE
    assert set(s.indices.tolist()) == {3, 8}


def test_no_model_is_made_where_the_loss_is_a_plane():
    """Classes that are far apart leave a Hessian of squares of numbers that are nearly none."""
    rng = np.random.default_rng(38)
    A = rng.standard_normal((20, 15))
    b = (A[:, :3] + 0.1 * rng.standard_normal((20, 3))).argmax(axis=1)
    b[:3] = [0, 1, 2]
    s = fa.fit(A, b, atoms=fa.SignedOneHot(15), k=5, loss=fa.Multinomial(), free="intercept")
    assert s.status is fa.Status.SEPARABLE
    assert np.isfinite(s.x).all()


def wide(seed=0, m=150, n=400):
    rng = np.random.default_rng(seed)
    A = design("autoregressive", rng, m, n)
    odds = A[:, :40:8].sum(axis=1)
    return A, np.where(odds + rng.logistic(size=m) > 0, 1.0, -1.0)


WIDE = {"atoms": fa.SignedOneHot(400), "loss": fa.Logistic(), "free": "intercept"}


def test_sparse_and_dense_columns_give_the_same_answer():
    A, t = wide()
    A[np.abs(A) < 1.2] = 0.0
    found = [fa.fit(M, t, k=5, **WIDE) for M in (A, sp.csc_array(A))]
    assert found[0].loss == pytest.approx(found[1].loss, rel=1e-2)


def test_twins_and_kernels_give_the_same_support():
    A, t = wide(1)
    found = []
    for who in ("twins", "kernels"):
        with working(who, "search"):
            found.append(fa.fit(A, t, k=6, **WIDE))
    assert set(found[0].indices.tolist()) == set(found[1].indices.tolist())
    assert found[0].loss == pytest.approx(found[1].loss, rel=1e-10)


def test_more_effort_is_never_worse():
    A, t = wide(2)
    losses = [fa.fit(A, t, k=8, effort=effort, **WIDE).loss for effort in ("quick", "normal")]
    assert losses[1] <= losses[0] * (1 + 1e-9)


def test_a_start_is_never_left_for_something_worse():
    A, t = wide(3)
    first = fa.fit(A, t, k=6, **WIDE)
    again = fa.fit(A, t, k=6, start=first, effort="quick", **WIDE)
    assert again.loss <= first.loss * (1 + 1e-9)


def test_losses_fall_along_a_path_and_with_the_ridge():
    A, t = wide(4)
    path = fa.fit_path(A, t, k=range(1, 9), ridge=(0.0, 0.1), **WIDE)
    plain, shrunk = (np.array([path.at(ridge)[k].loss for k in path]) for ridge in (0.0, 0.1))
    assert (np.diff(plain) < 0).all()
    assert (np.diff(shrunk) < 0).all()
    assert (plain <= shrunk * (1 + 1e-9)).all()


def test_a_bound_with_k_is_met_with_no_more_atoms():
    A, t = wide(5)
    loose = fa.fit(A, t, k=3, **WIDE).loss
    s = fa.fit(A, t, k=8, alpha=1.02 * loose, **WIDE)
    assert s.status is fa.Status.BOUND_MET
    assert s.loss <= 1.02 * loose
    assert s.cardinality <= 8


def test_a_stop_answers_with_what_there_is():
    A, t = wide(6)
    stages = []

    def stop(progress):
        stages.append(progress.cardinality)
        if progress.candidate is not None:
            raise StopIteration

    s = fa.fit(A, t, k=8, callback=stop, **WIDE)
    assert s.status is fa.Status.STOPPED
    assert 0 < s.cardinality <= 8
    assert s.loss < np.log(2) * t.size


@pytest.mark.parametrize("ridge", [None, 0.1])
def test_answers_come_with_the_gap_of_their_relaxation(ridge):
    """Dual vectors are made when somebody asks."""
    A, t = wide(7, m=60, n=70)
    s = fa.fit(A, t, atoms=fa.SignedOneHot(70), k=4, loss=fa.Logistic(), free="intercept", ridge=ridge)
    assert 0.0 <= s.certificate.gap <= 0.2 * s.objective


def job_of(A, b, ridge=0.0, ks=(1, 2, 3, 5, 8), **words):
    problem = Problem.of(A, b, k=ks[0], ridge=ridge, **words)
    job = fa.methods.Listed().at(QUICK).open(problem, [problem.with_budget(fa.budget.Budget(k)).budget for k in ks])
    assert isinstance(job, SmoothJob)
    return problem, job


@pytest.mark.parametrize("name", ["all atoms near", "a working set"])
def test_sketches_are_best_coefficients_for_their_ridge(name):
    A, t = wide(8, n=60 if name == "all atoms near" else 400)
    words = {**WIDE, "atoms": fa.SignedOneHot(A.shape[1])}
    problem, job = job_of(A, t, **words)
    ks, ridges = (1, 2, 3, 5, 8), (0.3, 0.01)
    sketch = job.sketched(ridges)
    job.close()
    scale = np.linalg.norm(A - A.mean(axis=0), axis=0)
    for ridge in ridges:
        values = []
        for k, (face, c) in zip(ks, sketch[ridge], strict=True):
            x = face.point(c)
            assert 0 < np.count_nonzero(x) <= k
            residual = problem.b - A @ x
            y = problem.loss.gradient(residual)
            slope = (A.T @ y - ridge * scale**2 * x) / scale
            assert np.abs(slope[x != 0]).max() <= 1e-6 * np.abs(A.T @ y / scale).max()
            values.append(problem.loss.value(residual) + 0.5 * ridge * float(np.sum((scale * x) ** 2)))
        assert (np.diff(values) < 0).all()
        alone = fa.fit(A, t, k=5, ridge=ridge, effort="quick", **words)
        assert values[3] <= 1.05 * alone.objective


def test_what_has_no_room_or_no_size_takes_the_older_way():
    A, t = wide(9)
    for words in ({"alpha": 20.0}, {"k": 300}, {"k": 3, "cap": 1.0}):
        problem = Problem.of(A, t, **words, **WIDE)
        job = fa.methods.Listed().open(problem, [problem.budget])
        assert not isinstance(job, SmoothJob)
    problem = Problem.of(A, t, k=3, **WIDE)
    assert not isinstance(fa.methods.Listed(room=2000).open(problem, [problem.budget]), SmoothJob)
