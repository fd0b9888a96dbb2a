"""Many rows: the answers are those of the same matrix in the ordinary way, from a pass or a few."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods import Listed, Tall
from fewatoms.operators import RowBlocks

SETS = {
    "signed": lambda n: fa.SignedOneHot(n),
    "nonnegative": lambda n: fa.NonnegativeOneHot(n),
    "groups": lambda n: fa.Groups(np.arange(n) // 3),
    "multiple": lambda n: 2.0 * fa.SignedOneHot(n),
    "forced": lambda n: fa.SignedOneHot(n).restricted(include=[n - 1], exclude=[0]),
}


def draw(seed, m=400, n=12, noise=0.3):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-2, 2, n) + rng.standard_normal(n)
    x = np.where(rng.random(n) < 0.4, rng.standard_normal(n), 0.0) / np.linalg.norm(A, axis=0)
    b = A @ x
    return A, b + noise * np.linalg.norm(b) / np.sqrt(m) * rng.standard_normal(m), rng


def blocks(A, count=4):
    return RowBlocks.of(np.array_split(A, count), engine="serial")


def options(case, rng, m):
    return {
        "plain": {},
        "intercept": {"free": "intercept"},
        "columns": {"free": rng.standard_normal((m, 2))},
        "ridge": {"ridge": 2.0},
        "weights": {"loss": fa.LeastSquares(weights=rng.uniform(0.1, 3.0, m))},
        "all": {"ridge": 1.0, "free": "intercept", "loss": fa.LeastSquares(weights=rng.uniform(0.1, 3.0, m))},
    }[case]


@pytest.mark.parametrize("case", ["plain", "intercept", "columns", "ridge", "weights", "all"])
@pytest.mark.parametrize("name", SETS)
def test_answers_are_those_of_the_matrix(name, case):
    for seed in range(3):
        A, b, rng = draw(seed)
        kw = options(case, rng, len(b)) | {"atoms": SETS[name](12), "k": 3}
        whole, cut = fa.fit(A, b, method=Listed(), **kw), fa.fit(blocks(A), b, **kw)
        assert cut.status is whole.status
        assert cut.loss == pytest.approx(whole.loss, rel=1e-9)
        assert cut.objective == pytest.approx(whole.objective, rel=1e-9)
        np.testing.assert_allclose(cut.x, whole.x, rtol=1e-6, atol=1e-9 * np.abs(whole.x).max())
        np.testing.assert_allclose(cut.free_coefficients, whole.free_coefficients, rtol=1e-6, atol=1e-9)
        left = (
            b
            - A @ cut.x
            - (0 if "free" not in kw else np.reshape(_free(kw["free"], len(b)) @ cut.free_coefficients, -1))
        )
        w = getattr(kw.get("loss"), "weights", None)
        assert cut.loss == pytest.approx(0.5 * np.sum(left**2 * (1.0 if w is None else w)), rel=1e-9)


def _free(free, m):
    return np.ones((m, 1)) if isinstance(free, str) else free


def test_two_passes():
    A, b, _ = draw(0)
    for kw in ({}, {"free": "intercept"}, {"ridge": 1.0}):
        s = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), k=4, **kw)
        assert s.passes <= 2 + (1 if kw else 0), kw
        assert s.products <= 2


def test_bounds():
    for seed in range(4):
        A, b, _ = draw(seed)
        for misfit in (0.9, 0.5, 0.31):
            whole = fa.fit(A, b, method=Listed(), atoms=fa.SignedOneHot(12), misfit=misfit)
            cut = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), misfit=misfit)
            assert (cut.status, cut.cardinality) == (whole.status, whole.cardinality)
            both = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), misfit=misfit, k=whole.cardinality)
            assert both.success == whole.success


@pytest.mark.parametrize("least", [1e-3, 1e-7, 1e-12])
def test_what_a_gram_matrix_does_not_see(least):
    """Columns that nearly depend on each other, and data that are met to many digits."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 6))
    A[:, 5] = A[:, 4] + least * rng.standard_normal(500)
    b = A[:, 4] - A[:, 5]
    whole, cut = (fa.fit(M, b, atoms=fa.SignedOneHot(6), k=2) for M in (A, blocks(A)))
    assert cut.misfit <= max(10 * whole.misfit, 1e-4)
    clean = fa.fit(blocks(A), A[:, 0] - 2 * A[:, 1], atoms=fa.SignedOneHot(6), k=2, misfit=1e-12)
    assert clean.success
    assert sorted(clean.indices) == [0, 1]


def test_dependent_and_empty_columns():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 5))
    A = np.concatenate([A, A[:, :1], np.zeros((300, 1)), A[:, 1:2] + A[:, 2:3]], axis=1)
    b = A @ [1.0, 0, 0, 2.0, 0, 0, 0, 0] + 0.1 * rng.standard_normal(300)
    whole, cut = fa.fit(A, b, atoms=fa.SignedOneHot(8), k=2), fa.fit(blocks(A), b, atoms=fa.SignedOneHot(8), k=2)
    assert cut.loss == pytest.approx(whole.loss, rel=1e-9)


def test_paths_and_choices():
    A, b, _ = draw(3)
    whole = fa.fit_path(A, b, atoms=fa.SignedOneHot(12), k=range(1, 6), free="intercept")
    cut = fa.fit_path(blocks(A), b, atoms=fa.SignedOneHot(12), k=range(1, 6), free="intercept")
    for k in range(1, 6):
        assert cut[k].loss == pytest.approx(whole[k].loss, rel=1e-9)
    assert cut.choose_k("bic") == whole.choose_k("bic")


def test_certificates_agree():
    A, b, _ = draw(1)
    for kw in ({}, {"ridge": 1.0}, {"misfit": 0.4}):
        k = None if "misfit" in kw else 3
        whole = fa.fit(A, b, method=Listed(), atoms=fa.SignedOneHot(12), k=k, **kw).certificate
        cut = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), k=k, **kw).certificate
        assert cut.gap >= 0
        assert cut.gap <= whole.gap + 1e-6 * abs(whole.gap) + 1e-9 * 0.5 * float(b @ b)


def test_arrays_with_many_rows_take_the_same_way(monkeypatch):
    A, b, _ = draw(2)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(12), k=3, method=Tall(room=1))
    assert s.loss == pytest.approx(fa.fit(A, b, atoms=fa.SignedOneHot(12), k=3).loss, rel=1e-9)
    assert s.passes <= 2


def test_files_and_attaching(tmp_path):
    A, b, _ = draw(2)
    s = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), k=3)
    s.save(tmp_path / "s.npz")
    back = fa.load(tmp_path / "s.npz")
    assert back.passes == s.passes
    assert back.attach(A, b).certificate.gap >= 0
    assert back.attach(blocks(A), b).certificate.gap >= 0


# Other losses ---------------------------------------------------------------------------------------------------------


def classes(A, x, rng):
    return (A @ x + rng.logistic(size=len(A)) > 0).astype(int)


@pytest.mark.parametrize("case", ["plain", "intercept", "ridge", "weights"])
@pytest.mark.parametrize("name", ["signed", "nonnegative", "groups"])
def test_two_classes(name, case):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((600, 12)) * rng.uniform(0.3, 3.0, 12)
        x = np.where(rng.random(12) < 0.4, 1.5 * rng.standard_normal(12), 0.0)
        labels = classes(A, np.abs(x) if name == "nonnegative" else x, rng)
        weights = rng.uniform(0.5, 2.0, 600) if case == "weights" else None
        kw = {"free": "intercept"} if case == "intercept" else {"ridge": 0.05} if case == "ridge" else {}
        kw |= {"loss": fa.Logistic(weights), "atoms": SETS[name](12), "k": 3}
        whole, cut = fa.fit(A, labels, method=Listed(), **kw), fa.fit(blocks(A), labels, **kw)
        assert cut.objective <= whole.objective * (1 + 1e-4)
        assert cut.status is whole.status
        assert cut.passes <= 30
        margins = (2 * labels - 1) * (A @ cut.x + (cut.intercept if case == "intercept" else 0.0))
        told = np.sum((1.0 if weights is None else weights) * np.logaddexp(0.0, -margins))
        assert cut.loss == pytest.approx(told, rel=1e-9)
        assert cut.certificate.gap >= 0


def test_gross_errors():
    A, b, rng = draw(5)
    b[rng.choice(len(b), 40, replace=False)] += 30.0 * np.std(b)
    delta = 0.3 * np.std(b)
    whole = fa.fit(A, b, atoms=fa.SignedOneHot(12), k=3, loss=fa.Huber(delta), method=Listed())
    cut = fa.fit(blocks(A), b, atoms=fa.SignedOneHot(12), k=3, loss=fa.Huber(delta))
    assert cut.loss <= whole.loss * (1 + 1e-4)


@pytest.mark.parametrize("loss", [fa.Logistic(), fa.Huber(0.5)])
def test_coefficients_of_multiples(loss):
    """Atoms of any length: the answer says what its point is."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 8))
    b = A[:, 1] - 2 * A[:, 4] + rng.standard_normal(300)
    b = (b > 0).astype(int) if loss.labelled else b
    whole = fa.fit(A, b, atoms=fa.SignedOneHot(8), k=2, loss=loss)
    for factor in (2.5, 0.1):
        cut = fa.fit(blocks(A), b, atoms=factor * fa.SignedOneHot(8), k=2, loss=loss)
        np.testing.assert_allclose(cut.x, whole.x, rtol=1e-4)
        assert cut.loss == pytest.approx(whole.loss, rel=1e-8)
        np.testing.assert_allclose(np.sort(cut.coefficients) * factor, np.sort(whole.coefficients), rtol=1e-4)


@pytest.mark.parametrize("loss", [fa.Logistic(), fa.Huber(0.5)])
def test_certificates_of_other_losses_are_not_far_from_those_in_memory(loss):
    """Whatever units columns are in."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((500, 12)) * 10.0 ** rng.uniform(-2, 2, 12)
    b = A @ np.r_[1.5, -1.0, 0.7, np.zeros(9)] / np.linalg.norm(A, axis=0).mean() + 0.5 * rng.standard_normal(500)
    b = (b > 0).astype(int) if loss.labelled else b
    told = {"atoms": fa.SignedOneHot(12), "k": 3, "loss": loss}
    whole, cut = fa.fit(A, b, **told), fa.fit(blocks(A), b, **told)
    assert 0 <= cut.certificate.gap <= 2 * whole.certificate.gap + 0.01 * whole.loss


@pytest.mark.parametrize("delta", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_data_beyond_the_bend_of_hubers_loss(seed, delta):
    """There it has no curvature, or that of a few rows."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((300, 9)) + 2.0
    b = A[:, [1, 4, 5]] @ [1.0, -0.6, 0.5] + rng.standard_normal(300)
    for unit, shift in ((1.0, 3.0), (1e-6, 1e3), (1e6, 100.0)):
        words = {"atoms": fa.SignedOneHot(9), "k": 3, "loss": fa.Huber(delta * unit)}
        whole, cut = (fa.fit(M, (b + shift) * unit, **words) for M in (A, blocks(A)))
        assert cut.loss <= whole.loss * (1.01 if shift == 3.0 else 1.05)  # without an intercept, nothing fits there
