"""Planted problems: every set with every operator, loss and oracle that fits; answers are judged from outside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms import oracles
from journeys.planting import (
    COMPLEX_SETS,
    LOSSES,
    MATRIX_SETS,
    OPERATORS,
    SETS,
    SQUARE_SETS,
    VECTOR_SETS,
    P,
    Q,
    cosines,
    low_rank,
    plant,
    semidefinite,
    spikes,
)


def fits(set_name, operator_name):
    """Quadratic measurements are of square matrices; only they may be complex."""
    if set_name in COMPLEX_SETS:
        return operator_name == "quadratic"
    return operator_name != "quadratic" or set_name in SQUARE_SETS


PAIRS = [(s, o) for s in SETS for o in OPERATORS if fits(s, o)]


def assert_answers(planted, s, alpha):
    """What was asked, recomputed densely from s.x alone: loss, cardinality, membership, and what the answer says."""
    recomputed = planted.loss_of(s.x)
    at_zero = planted.value(planted.b)
    assert s.loss == pytest.approx(recomputed, rel=1e-6, abs=1e-13 * at_zero)
    counted, budget = np.atleast_1d(planted.count(s)), np.atleast_1d(planted.k)
    assert (counted <= budget).all()
    assert counted.sum() <= s.cardinality <= budget.sum()
    assert s.certificate.loss == s.loss
    assert s.certificate.cardinality == s.cardinality
    if alpha is not None:
        assert recomputed <= alpha * (1 + 1e-9) + 1e-24 * at_zero
        assert s.status is fa.Status.BOUND_MET
        assert s.certificate.meets_bound is True
        assert f"loss of at most {alpha:.6g}" in s.message
        assert "bound is met" in s.message
    assert s.success is True
    asked = " + ".join(map(str, planted.k)) if isinstance(planted.k, tuple) else planted.k
    assert f"at most {asked} atom" in s.message
    found = " + ".join(str(part.cardinality) for part in s.parts)
    assert f"{found} atom" in s.message
    if isinstance(planted.loss, fa.LeastSquares):
        residual = planted.b - planted.forward(s.x)
        assert s.misfit == pytest.approx(np.linalg.norm(residual) / np.linalg.norm(planted.b), rel=1e-6, abs=1e-12)


def assert_found(planted, s, rtol=0.01):
    """The planted point itself, up to the noise."""
    error = np.linalg.norm(s.x.ravel() - planted.x.ravel()) / np.linalg.norm(planted.x)
    assert error <= rtol


def assert_member(set_name, s):
    if set_name in ("nonnegative", "cone"):
        assert (s.x >= 0).all()
    if set_name == "nonnegative-dictionary":
        assert (s.coefficients >= 0).all()
    if "psd" in set_name:
        values = np.linalg.eigvalsh(s.x)
        np.testing.assert_allclose(s.x, s.x.conj().T, atol=1e-12 * abs(values).max())
        assert values[0] >= -1e-12 * values[-1]


# Every set with every operator and loss, by default -----------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss_name", LOSSES)
@pytest.mark.parametrize(("set_name", "operator_name"), PAIRS)
def test_default_meets_k_and_alpha(set_name, operator_name, loss_name):
    planted = plant(set_name, operator_name, loss_name)
    s = planted.fit(alpha=planted.alpha)
    assert_answers(planted, s, planted.alpha)
    assert_member(set_name, s)
    if loss_name != "logistic" and operator_name != "quadratic":
        assert_found(planted, s)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loss_name", ["squares", "huber"])
@pytest.mark.parametrize(("set_name", "operator_name"), PAIRS[::3])
def test_k_alone_is_no_worse_than_the_planted_point(set_name, operator_name, loss_name):
    planted = plant(set_name, operator_name, loss_name)
    s = planted.fit(max_iterations=12)
    assert_answers(planted, s, None)
    assert_member(set_name, s)
    assert s.status in (fa.Status.SMALLEST_LOSS, fa.Status.ITERATION_LIMIT)
    assert planted.loss_of(s.x) <= planted.alpha * (1 + 1e-9)  # the planted point is one of those with k atoms


@pytest.mark.parametrize("set_name", ["signed", "nonnegative", "cone", "groups", "dictionary", "union"])
def test_logistic_with_k_alone(set_name):
    """Contradicting rows, so that a minimiser exists; the support's own minimum is known from a plain solver."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    plan = VECTOR_SETS[set_name](rng)
    D = rng.standard_normal((60, plan.x.size))
    labels = np.where(rng.random(60) < 1 / (1 + np.exp(-3 * D @ plan.x)), 1.0, -1.0)
    M = np.concatenate([labels[:, None] * D, -labels[:10, None] * D[:10]])
    s = fa.fit(M, np.zeros(70), atoms=plan.atoms, k=plan.k, loss=fa.Logistic(), max_iterations=12)
    value = LOSSES["logistic"][1]
    assert s.loss == pytest.approx(value(-M @ s.x), rel=1e-9)
    assert (np.atleast_1d(plan.count(s)) <= np.atleast_1d(plan.k)).all()
    assert math.isnan(s.misfit)
    scaled = minimize(lambda t: value(-t * (M @ plan.x)), 0.5, bounds=[(0, None)]).fun
    assert s.loss <= scaled * (1 + 1e-9)  # the planted direction, scaled as well as may be


# Every oracle --------------------------------------------------------------------------------------------------------


def gauge_of(planted):
    """The gauge of the planted point's own representation, by the default fit, which finds it."""
    return planted.fit(alpha=planted.alpha).gauge


def slope_at_zero(planted):
    problem = fa.Problem.of(planted.M, planted.b, atoms=planted.atoms, loss=planted.loss)
    return problem.atoms.support(problem.M.adjoint(planted.loss.gradient(planted.b)))


def residuals(planted):
    """Dual vectors of a solver that knows nothing of the package: plain gradient descent on the loss."""
    shape = np.shape(planted.x)
    columns = np.stack([planted.forward(e.reshape(shape)) for e in np.eye(planted.x.size)], axis=1)
    step = 1.0 / np.linalg.norm(columns, 2) ** 2
    x = np.zeros(planted.x.size)
    for _ in range(300):
        y = planted.loss.gradient(planted.b - columns @ x)
        yield y
        x = x + step * (columns.T @ y)


ORACLES = {
    "newton": lambda p: fa.LevelSet(oracles.Newton()),
    "bisection": lambda p: fa.LevelSet(oracles.Bisection()),
    "level-bundle": lambda p: fa.LevelSet(inner=oracles.Bundle()),
    "conditional-gradient": lambda p: oracles.ConditionalGradient(gauge_of(p)),
    "bundle": lambda p: oracles.Bundle(gauge_of(p)),
    "proximal-gradient": lambda p: oracles.ProximalGradient(1e-3 * slope_at_zero(p)),
    "continuation": lambda p: oracles.Continuation(),
    "from-iterates": lambda p: fa.FromIterates(residuals(p)),
}
NEEDS_BOUNDED = ["newton", "bisection", "level-bundle", "conditional-gradient", "bundle"]
REAL_SETS = [s for s in SETS if s not in COMPLEX_SETS]


@pytest.mark.parametrize("oracle_name", ORACLES)
@pytest.mark.parametrize("set_name", [s for s in REAL_SETS if s != "cone"])
def test_every_oracle_serves_every_set(set_name, oracle_name):
    planted = plant(set_name, "dense", "squares")
    s = planted.fit(alpha=planted.alpha, method=fa.General(oracle=ORACLES[oracle_name](planted)))
    assert_answers(planted, s, planted.alpha)
    assert_member(set_name, s)
    assert_found(planted, s)


@pytest.mark.parametrize("oracle_name", ["newton", "bisection", "proximal-gradient", "continuation"])
def test_every_oracle_serves_complex_matrices(oracle_name):
    planted = plant("complex-psd", "quadratic", "squares")
    s = planted.fit(alpha=planted.alpha, method=fa.General(oracle=ORACLES[oracle_name](planted)))
    assert_answers(planted, s, planted.alpha)
    assert_found(planted, s)


@pytest.mark.parametrize("oracle_name", ORACLES)
@pytest.mark.parametrize("operator_name", [o for o in OPERATORS if o not in ("dense", "quadratic")])
def test_every_oracle_serves_every_operator(operator_name, oracle_name):
    for set_name in ("signed", "rank-one"):
        planted = plant(set_name, operator_name, "squares", seed=1)
        s = planted.fit(alpha=planted.alpha, method=fa.General(oracle=ORACLES[oracle_name](planted)))
        assert_answers(planted, s, planted.alpha)
        assert_found(planted, s)


@pytest.mark.parametrize("oracle_name", ORACLES)
@pytest.mark.parametrize("loss_name", ["huber", "logistic"])
def test_every_oracle_serves_every_loss(loss_name, oracle_name):
    for set_name in ("signed", "nonnegative", "psd"):
        planted = plant(set_name, "dense", loss_name, seed=2)
        s = planted.fit(alpha=planted.alpha, method=fa.General(oracle=ORACLES[oracle_name](planted)))
        assert_answers(planted, s, planted.alpha)


ALONE = {
    **{name: ORACLES[name] for name in ("newton", "bisection", "level-bundle", "proximal-gradient", "continuation")},
    # at the gauge of the planted point itself the residual is noise, and says nothing
    "conditional-gradient": lambda p: oracles.ConditionalGradient(0.9 * gauge_of(p)),
    "bundle": lambda p: oracles.Bundle(0.9 * gauge_of(p)),
}


@pytest.mark.parametrize("oracle_name", ALONE)
@pytest.mark.parametrize("set_name", ["signed", "nonnegative", "groups", "mapped", "scaled", "rank-one", "psd"])
def test_dual_vectors_alone_lead_to_the_planted_point(set_name, oracle_name):
    """The paper's rule neither prunes nor polishes: what it finds is the oracle's own work."""
    planted = plant(set_name, "identity" if set_name in ("rank-one", "psd") else "dense", "squares", seed=3)
    s = planted.fit(
        alpha=planted.alpha,
        method=fa.General(oracle=ALONE[oracle_name](planted), retrieval=fa.paper_rule()),
        max_iterations=300,
    )
    assert_answers(planted, s, planted.alpha)
    assert_found(planted, s)


@pytest.mark.parametrize("oracle_name", ["newton", "conditional-gradient", "proximal-gradient", "from-iterates"])
def test_k_alone_with_other_oracles(oracle_name):
    planted = plant("signed", "dense", "squares", seed=4)
    oracle = ORACLES[oracle_name](planted)
    if oracle_name == "newton":
        with pytest.raises(ValueError, match=r"must have a bound, alpha or misfit"):
            planted.fit(method=fa.General(oracle=oracle))
        return
    s = planted.fit(method=fa.General(oracle=oracle), max_iterations=10)
    assert_answers(planted, s, None)
    assert planted.loss_of(s.x) <= planted.alpha


# What does not fit is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle_name", NEEDS_BOUNDED)
def test_the_cone_is_refused_by_methods_for_bounded_sets(oracle_name):
    planted = plant("cone", "dense", "squares")
    oracle = {
        "conditional-gradient": oracles.ConditionalGradient(1.0),
        "bundle": oracles.Bundle(1.0),
    }.get(oracle_name) or ORACLES[oracle_name](planted)
    with pytest.raises(ValueError, match=r"oracle \w+ needs a bounded set of atoms; NonnegativeCone\(42\) is a cone"):
        planted.fit(alpha=planted.alpha, method=fa.General(oracle=oracle))


@pytest.mark.parametrize("oracle_name", ["proximal-gradient", "continuation", "from-iterates"])
def test_the_cone_is_served_by_the_others(oracle_name):
    planted = plant("cone", "dense", "squares", seed=5)
    oracle = oracles.ProximalGradient() if oracle_name == "proximal-gradient" else ORACLES[oracle_name](planted)
    s = planted.fit(alpha=planted.alpha, method=fa.General(oracle=oracle))
    assert_answers(planted, s, planted.alpha)
    assert_found(planted, s)
    assert s.gauge == 0.0


@pytest.mark.parametrize("set_name", [*MATRIX_SETS, *VECTOR_SETS])
def test_quadratic_measurements_need_square_matrices(set_name):
    plan = SETS[set_name](np.random.default_rng(0))
    A = np.random.default_rng(1).standard_normal((20, 7))
    with pytest.raises(ValueError, match=r"atoms must live in the space that M takes, 49 entries \(shape \(7, 7\)\)"):
        fa.fit(fa.Quadratic(A), np.ones(20), atoms=plan.atoms, k=plan.k)


@pytest.mark.parametrize(
    ("atoms", "k"),
    [
        (fa.SignedOneHot((3, 3)), 1),
        (fa.RankOne(3, 3), 1),
        (fa.Groups(np.arange(9) // 3), 1),
        (fa.PSDRankOne(3) + fa.SignedOneHot((3, 3)), (1, 1)),
        (2.0 * fa.RankOne(3, 3), 1),
        (fa.Dictionary(np.eye(9), symmetric=True), 1),
    ],
    ids=str,
)
def test_complex_measurements_need_semidefinite_sets(atoms, k):
    A = np.ones((5, 3)) + 1j * np.arange(15).reshape(5, 3)
    with pytest.raises(TypeError, match=r"atoms must be PSDRankOne\(n\).*complex"):
        fa.fit(fa.Quadratic(A), np.ones(5), atoms=atoms, k=k)


def test_matrix_sets_keep_their_shape():
    with pytest.raises(ValueError, match=r"atoms must have the shape that M takes, \(7, 6\); RankOne\(6, 7\) has"):
        fa.fit(fa.Identity((P, Q)), np.ones((P, Q)), atoms=fa.RankOne(Q, P), k=1)
    with pytest.raises(ValueError, match=r"must have the same shape; got \[\(6, 7\), \(7, 6\)\]"):
        fa.RankOne(P, Q) + fa.SignedOneHot((Q, P))


# The compact form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("set_name", ["signed", "nonnegative", "cone", "scaled"])
def test_indices_and_signed_coefficients_make_x(set_name):
    planted = plant(set_name, "dense", "squares", seed=6)
    s = planted.fit(alpha=planted.alpha)
    x = np.zeros(planted.x.size)
    x[s.indices] = s.coefficients * (2.0 if set_name == "scaled" else 1.0)
    np.testing.assert_allclose(x, s.x, atol=1e-13)
    assert set(s.indices) == set(np.flatnonzero(planted.x))
    assert (np.sign(s.x[s.indices]) == np.sign(planted.x[s.indices])).all()
    shares = np.abs(s.x[s.indices]) * np.linalg.norm(planted.M[:, s.indices], axis=0)
    assert (np.diff(shares) <= 0).all()  # largest contribution to the data first
    assert s.gauge == pytest.approx(0.0 if set_name == "cone" else np.abs(s.coefficients).sum())


@pytest.mark.parametrize("set_name", ["signed", "nonnegative", "groups"])
def test_order_is_by_contribution_not_by_coefficient(set_name):
    """A large coefficient on a faint column contributes less than a small one on a loud column."""
    rng = np.random.default_rng(0)
    D = np.linalg.qr(rng.standard_normal((8, 8)))[0] * np.array([1e-3, 1, 50, 1, 1, 1, 1, 1])
    b = D @ np.array([100.0, 3.0, 1.0, 0, 0, 0, 0, 0])  # contributions 0.1, 3 and 50
    atoms = {"signed": fa.SignedOneHot(8), "nonnegative": fa.NonnegativeOneHot(8), "groups": fa.Groups(np.arange(8))}
    s = fa.fit(D, b, atoms=atoms[set_name], k=3, misfit=1e-10)
    assert s.indices.tolist() == [2, 1, 0]
    np.testing.assert_allclose(np.ravel(s.coefficients), [1.0, 3.0, 100.0], rtol=1e-6)


@pytest.mark.parametrize("operator_name", ["sampling", "identity"])
def test_one_hot_sets_over_matrices_have_pairs_for_indices(operator_name):
    planted = plant("signed", operator_name, "squares", seed=7)
    atoms = fa.SignedOneHot((P, Q))
    M = planted.M if operator_name == "sampling" else fa.Identity((P, Q))
    s = fa.fit(M, planted.b, atoms=atoms, k=planted.k, alpha=planted.alpha)
    assert s.indices.shape == (3, 2)
    assert s.x.shape == (P, Q)
    dense = np.zeros((P, Q))
    for (row, col), value in zip(s.indices, s.coefficients, strict=True):
        dense[row, col] = value
    np.testing.assert_array_equal(dense, s.x)
    assert {tuple(pair) for pair in s.indices} == set(zip(*np.nonzero(planted.x.reshape(P, Q)), strict=True))


def test_flat_sets_take_the_shape_of_the_operator():
    planted = plant("signed", "sampling", "squares", seed=8)
    s = planted.fit(alpha=planted.alpha)
    assert s.x.shape == (P, Q)
    assert s.indices.shape == (3, 2)


@pytest.mark.parametrize("labels", ["letters", "numbers", "uneven"])
def test_group_labels_are_the_users_own(labels):
    rng = np.random.default_rng(4)
    names = {
        "letters": np.repeat(["pear", "fig", "plum", "sloe"], 3),
        "numbers": np.repeat([10, -5, 7, 3], 3),
        "uneven": np.repeat(["a", "b", "c", "d"], [1, 4, 2, 5]),
    }[labels]
    D = rng.standard_normal((20, 12))
    wanted = [names[0], names[-1]]
    x = np.where(np.isin(names, wanted), rng.standard_normal(12) + 3, 0.0)
    s = fa.fit(D, D @ x, atoms=fa.Groups(names), k=2, misfit=1e-9)
    assert set(s.indices) == set(wanted)
    for name, values in zip(s.indices, s.coefficients, strict=True):
        np.testing.assert_allclose(values, x[names == name], rtol=1e-7)
    np.testing.assert_allclose(s.x, x, atol=1e-8)
    assert s.gauge == pytest.approx(sum(np.linalg.norm(x[names == g]) for g in wanted), rel=1e-7)


@pytest.mark.parametrize("set_name", ["rank-one", "psd", "symmetric", "complex-psd"])
def test_factors_and_predictions(set_name):
    planted = plant(set_name, "quadratic" if "psd" in set_name else "dense", "squares", seed=9)
    s = planted.fit(alpha=planted.alpha)
    k = planted.k
    assert s.left.shape == (planted.x.shape[0], k)
    assert s.right.shape == (planted.x.shape[1], k)
    np.testing.assert_allclose(s.left @ s.right.T, s.x, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(s.left, axis=0), np.linalg.norm(s.right, axis=0))
    values = np.linalg.svd(s.x, compute_uv=False)[:k]
    np.testing.assert_allclose(s.coefficients, values, rtol=1e-9)
    assert s.gauge == pytest.approx(values.sum())
    assert s.indices.tolist() == list(range(k))
    if "psd" in set_name:
        np.testing.assert_array_equal(s.right, s.left.conj())
    rows, cols = np.indices(planted.x.shape)
    np.testing.assert_allclose(s.predict(rows, cols), s.x, atol=1e-12)
    assert s.predict(2, 3) == pytest.approx(s.x[2, 3])
    np.testing.assert_allclose(s.predict([0, 1], 2), s.x[:2, 2])
    with pytest.raises(ValueError, match=r"rows must lie between 0 and"):
        s.predict([99], [0])
    with pytest.raises(ValueError, match=r"cols must lie between 0 and"):
        s.predict([0], [-1])


@pytest.mark.parametrize("set_name", ["low-rank+sparse", "low-rank|sparse", "sum", "union"])
def test_parts_add_up(set_name):
    planted = plant(set_name, "identity", "squares", seed=10)
    s = planted.fit(alpha=planted.alpha)
    assert len(s.parts) == 2
    np.testing.assert_allclose(s.parts[0].x + s.parts[1].x, s.x, atol=1e-13)
    assert s.cardinality == s.parts[0].cardinality + s.parts[1].cardinality
    gauges = [part.gauge for part in s.parts]
    assert s.gauge == pytest.approx(max(gauges) if set_name in ("low-rank+sparse", "sum") else sum(gauges))
    with pytest.raises(AttributeError, match=r"parts\[i\]\.indices"):
        _ = s.indices
    with pytest.raises(AttributeError, match=r"parts\[i\]\.coefficients"):
        _ = s.coefficients
    if "sparse" in set_name:
        low, sparse = s.parts
        np.testing.assert_allclose(low.left @ low.right.T, low.x, atol=1e-13)
        assert sparse.indices.shape == (2, 2)
        rows, cols = np.indices((P, Q))
        np.testing.assert_allclose(s.predict(rows, cols), s.x, atol=1e-12)
        np.testing.assert_allclose(low.predict(rows, cols), low.x, atol=1e-12)


def test_vectors_have_no_factors_and_no_entries():
    planted = plant("signed", "dense", "squares")
    s = planted.fit(alpha=planted.alpha)
    with pytest.raises(AttributeError, match="no factor pairs"):
        _ = s.left
    with pytest.raises(ValueError, match=r"for matrix models; this one has shape \(42,\)"):
        s.predict([0], [0])
    assert len(s.parts) == 1
    np.testing.assert_array_equal(s.parts[0].x, s.x)


@pytest.mark.parametrize("set_name", ["signed", "groups", "rank-one", "psd", "union"])
def test_x_is_formed_only_when_asked(set_name):
    planted = plant(set_name, "sampling", "squares", seed=11)
    s = planted.fit(alpha=planted.alpha)
    _ = s.cardinality, s.loss, s.gauge, repr(s), str(s.certificate), [p.cardinality for p in s.parts]
    assert "x" not in vars(s)
    assert not any(isinstance(v, np.ndarray) and v.size == planted.x.size for v in vars(s).values())
    x = s.x
    assert vars(s)["x"] is x
    assert s.x is x


# Multiples and images of a set give the same points ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0, 0.01, -3.0])
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "rank-one", "psd"])
def test_a_multiple_of_a_set_reaches_the_same_points(kind, scale):
    rng = np.random.default_rng(12)
    x, atoms = {
        "signed": (spikes(rng, 20, 2), fa.SignedOneHot(20)),
        "nonnegative": (spikes(rng, 20, 2, +1), fa.NonnegativeOneHot(20)),
        "rank-one": (low_rank(rng, 5, 4, 2), fa.RankOne(5, 4)),
        "psd": (semidefinite(rng, 5, 2), fa.PSDRankOne(5)),
    }[kind]
    x = np.sign(scale) * x
    D = rng.standard_normal((x.size + 5, x.size))
    s = fa.fit(D, D @ x.ravel(), atoms=scale * atoms, k=2, misfit=1e-8)
    assert s.success
    np.testing.assert_allclose(s.x, x, atol=1e-6)
    if kind == "nonnegative":
        assert (s.coefficients > 0).all()
    if kind in ("rank-one", "psd"):
        np.testing.assert_allclose(s.left @ s.right.T, s.x, atol=1e-12)


@pytest.mark.parametrize("form", ["array", "operator", "dictionary"])
def test_an_image_under_an_orthonormal_map_is_the_set_itself_in_other_coordinates(form):
    """Mapped(B, A) with operator D is A with operator D B."""
    rng = np.random.default_rng(13)
    B, D, w = cosines(24), rng.standard_normal((16, 24)), spikes(rng, 24, 3)
    atoms = {
        "array": lambda: fa.Mapped(B, fa.SignedOneHot(24)),
        "operator": lambda: fa.Mapped(aslinearoperator(B), fa.SignedOneHot(24)),
        "dictionary": lambda: fa.Dictionary(B, symmetric=True),
    }[form]()
    b = D @ B @ w
    mapped = fa.fit(D, b, atoms=atoms, k=3, misfit=1e-8)
    plain = fa.fit(D @ B, b, atoms=fa.SignedOneHot(24), k=3, misfit=1e-8)
    assert set(mapped.indices) == set(plain.indices) == set(np.flatnonzero(w))
    np.testing.assert_allclose(mapped.x, B @ plain.x, atol=1e-7)
    assert mapped.gauge == pytest.approx(plain.gauge, rel=1e-6)


def test_mapped_groups_and_mapped_matrices():
    rng = np.random.default_rng(14)
    B = rng.standard_normal((20, 12))
    w = np.zeros(12)
    w[3:6] = [1.0, -2.0, 3.0]
    s = fa.fit(np.eye(20), B @ w, atoms=fa.Mapped(B, fa.Groups(np.arange(12) // 3)), k=1, misfit=1e-9)
    assert s.indices.tolist() == [1]
    np.testing.assert_allclose(s.coefficients, [[1.0, -2.0, 3.0]], rtol=1e-8)
    X = low_rank(rng, 4, 3, 1)
    s = fa.fit(np.eye(20), B @ X.ravel(), atoms=fa.Mapped(B, fa.RankOne(4, 3)), k=1, misfit=1e-8)
    assert s.success
    np.testing.assert_allclose(s.x, B @ X.ravel(), atol=1e-6)


def test_the_image_of_a_sum_is_the_sum_of_the_images():
    B = cosines(10)
    atoms = fa.Mapped(B, fa.SignedOneHot(10) | fa.Groups(np.arange(10) // 5))
    w = np.zeros(10)
    w[2] = 5.0
    s = fa.fit(np.eye(10), B @ w, atoms=atoms, k=(1, 1), misfit=1e-8)
    assert s.success
    np.testing.assert_allclose(s.x, B @ w, atol=1e-6)
