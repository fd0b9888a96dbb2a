"""The certificate of a run, number by number, against brute force on dense arrays."""

import numpy as np
import pytest
from scipy.special import expit, xlogy

import fewatoms as fa
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, LevelSet, ProximalGradient
from theory.pairs import gentle, plant_under

LOSSES = ("least squares", "weighted least squares", "huber", "weighted huber", "logistic", "weighted logistic")
ORACLES = {
    "P1": lambda pair: ProximalGradient(pair.lam),
    "P2": lambda pair: ConditionalGradient(pair.tau),
    "P3": lambda pair: LevelSet(Bisection(), Bundle()),
}


# Everything written out again, entry by entry -------------------------------------------------------------------------


def weight(loss, m):
    return np.ones(m) if loss.weights is None else loss.weights


def value(loss, r):
    w = weight(loss, r.size)
    if isinstance(loss, fa.Huber):
        d = loss.delta
        return sum(w[i] * (t * t / 2 if abs(t) <= d else d * abs(t) - d * d / 2) for i, t in enumerate(r))
    if isinstance(loss, fa.Logistic):
        return sum(w[i] * (max(t, 0.0) + np.log1p(np.exp(-abs(t)))) for i, t in enumerate(r))
    return sum(w[i] * t * t / 2 for i, t in enumerate(r))


def conjugate(loss, y):
    t = y / weight(loss, y.size)
    if isinstance(loss, fa.Logistic):
        return float(weight(loss, y.size) @ (xlogy(t, t) + xlogy(1 - t, 1 - t)))
    return float(y @ t / 2)


def sublevel(loss, y, alpha):
    """min over beta of beta (f*(y / beta) + alpha), on a fine grid refined twice."""
    if isinstance(loss, fa.LeastSquares):
        return np.sqrt(2 * alpha * (y @ (y / weight(loss, y.size))))
    t = y / weight(loss, y.size)
    low = np.abs(t).max() / (loss.delta if isinstance(loss, fa.Huber) else 1.0)
    grid = low * np.exp(np.linspace(1e-12, 12, 2000))
    for _ in range(3):
        values = [b * (conjugate(loss, y / b) + alpha) for b in grid]
        i = int(np.argmin(values))
        grid = np.linspace(grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)], 400)
    return min(values)


def support(pair, z):
    """max(0, the largest alignment) over all atoms of the set."""
    atoms = pair.atoms
    if isinstance(atoms, fa.RankOne):
        return np.linalg.norm(z.reshape(atoms.shape), 2)
    if isinstance(atoms, fa.PSDRankOne):
        Z = z.reshape(atoms.shape)
        return max(0.0, np.linalg.eigvalsh((Z + Z.T) / 2)[-1])
    if isinstance(atoms, fa.Groups):
        labels = atoms.names[atoms._group]
        return max(np.linalg.norm(z[labels == g]) / w for g, w in zip(atoms.names, atoms.weights, strict=True))
    if isinstance(atoms, fa.Dictionary):
        inner = atoms.map.matrix.T @ z
        return max(0.0, np.abs(inner).max() if atoms.symmetric else inner.max())
    return max(0.0, np.abs(z).max() if isinstance(atoms, fa.SignedOneHot) else z.max())


def cardinality(pair, answer):
    x = np.asarray(answer.x)
    if x.ndim == 2:
        return np.linalg.matrix_rank(x, tol=1e-9 * np.abs(x).max())
    if isinstance(pair.atoms, fa.Groups):
        return len({pair.atoms._group[i] for i in np.flatnonzero(x)})
    return np.count_nonzero(x)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize(
    "kind", ["signed", "nonnegative", "dictionary", "one-sided dictionary", "weighted groups", "rank one", "psd"]
)
def test_every_number_by_brute_force(kind, name):
    rng = np.random.default_rng([1, *map(ord, kind + name)])
    for loss in LOSSES:
        pair = gentle(rng, kind, loss)
        k = len(pair.plan.points)
        answer = fa.fit(
            pair.M,
            pair.b,
            atoms=pair.atoms,
            k=k,
            alpha=pair.alpha if name == "P3" else None,
            loss=pair.loss,
            method=fa.General(oracle=ORACLES[name](pair), retrieval=fa.paper_rule()),
            max_iterations=12,
        )
        cert = answer.certificate
        x = np.asarray(answer.x).ravel()

        found = value(pair.loss, pair.b - pair.M @ x)
        assert cert.loss == pytest.approx(found, rel=1e-10, abs=1e-12)
        assert answer.loss == cert.loss
        assert cert.cardinality == answer.cardinality
        if "dictionary" in kind:
            assert cert.cardinality == np.count_nonzero(answer.coefficients)
            rebuilt = pair.atoms.map.matrix[:, answer.indices] @ answer.coefficients
            np.testing.assert_allclose(rebuilt, x, atol=1e-12 * np.abs(x).sum())
        else:
            assert cert.cardinality == cardinality(pair, answer)
            assert cert.gauge == pytest.approx(pair.atoms.gauge(x), rel=1e-9)
        assert cert.cardinality <= k
        assert cert.within_budget
        if name == "P3":
            assert cert.meets_bound == (found <= pair.alpha * (1 + 1e-12))

        z = pair.M.T @ cert.y
        sigma = support(pair, z)
        assert cert.relaxation.name == name
        if name == "P1":
            assert sigma <= pair.lam * (1 + 1e-10)
            dual, optimum = conjugate(pair.loss, cert.y) - pair.b @ cert.y, pair.alpha + pair.lam * pair.tau
        elif name == "P2":
            dual, optimum = conjugate(pair.loss, cert.y) - pair.b @ cert.y + pair.tau * sigma, pair.alpha
        else:
            assert sigma <= 1 + 1e-10
            dual, optimum = sublevel(pair.loss, cert.y, pair.alpha) - pair.b @ cert.y, pair.tau
        terms = np.abs(pair.b) @ np.abs(cert.y)
        assert cert.dual == pytest.approx(dual, rel=1e-6, abs=1e-9 * terms)
        if np.isfinite(cert.primal):
            assert cert.gap == pytest.approx(cert.primal + cert.dual, rel=1e-6, abs=1e-12 * terms)
        # what is proven encloses what is true
        assert -cert.dual <= optimum + 1e-11 * terms
        assert cert.primal >= optimum - 1e-11 * terms
        if name == "P3":
            low, high = cert.beta_bounds
            assert low <= pair.beta <= high
            assert cert.tau_lower <= pair.tau


def test_the_norm_bounds_every_atom():
    rng = np.random.default_rng(2)
    for kind in (
        "signed",
        "nonnegative",
        "scaled",
        "dictionary",
        "weighted groups",
        "mapped groups",
        "rank one",
        "psd",
    ):
        pair = gentle(rng, kind)
        problem = pair.problem()
        norm = problem.atoms.operator_norm(problem.M)
        largest = 0.0
        for _ in range(300):
            face = problem.atoms.exposed(rng.standard_normal(problem.atoms.shape), 0.0, 1)
            if face.dim:
                largest = max(largest, np.linalg.norm(pair.M @ np.asarray(face.point(face.mean_atom())).ravel()))
        assert 0 < largest <= norm * (1 + 1e-12)


def test_products_of_the_dear_parts_are_counted():
    rng = np.random.default_rng(3)
    pair = gentle(rng, "signed")
    answer = fa.fit(pair.M, pair.b, atoms=pair.atoms, k=3, method=fa.General(oracle=ProximalGradient(pair.lam)))
    cert = answer.certificate
    before = cert.products
    assert before == 0
    assert cert.threshold is not None
    assert cert.safe_set is not None
    assert cert.products > 0


def test_on_a_structured_operator():
    rng = np.random.default_rng(4)
    rows, cols = np.nonzero(rng.random((8, 7)) < 0.7)
    pair = plant_under(rng, fa.Sampling(rows, cols, (8, 7)), fa.RankOne(8, 7), fa.LeastSquares(), noise=0.1)
    answer = fa.fit(
        pair.M,
        pair.b,
        atoms=pair.atoms,
        k=1,
        method=fa.General(oracle=ConditionalGradient(pair.tau), retrieval=fa.paper_rule()),
    )
    cert = answer.certificate
    X = answer.left @ answer.right.T
    assert cert.loss == pytest.approx(0.5 * np.sum((pair.b - X[rows, cols]) ** 2), rel=1e-10)
    Z = np.zeros((8, 7))
    Z[rows, cols] = cert.y
    dual = 0.5 * cert.y @ cert.y - pair.b @ cert.y + pair.tau * np.linalg.norm(Z, 2)
    assert cert.dual == pytest.approx(dual, rel=1e-9)
    assert -dual <= pair.alpha * (1 + 1e-12)
    assert cert.norm == 1.0
    true = pair.x.reshape(8, 7) / pair.tau
    assert np.sum(true * Z) >= cert.threshold
    u, _, vh = np.linalg.svd(Z)  # the bound is about the leading pairs of M*y, not about the answer
    assert np.linalg.norm(true - np.outer(u[:, 0], vh[0])) <= cert.hausdorff
    assert cert.hausdorff < 0.1


def test_the_sigmoid_used_here():
    # The logistic loss in its usual clothes: labels in the rows of M, b = 0.
    rng = np.random.default_rng(5)
    X, t, x = rng.standard_normal((30, 4)), rng.choice([-1.0, 1.0], 30), rng.standard_normal(4)
    M = t[:, None] * X
    usual = np.sum(np.log1p(np.exp(-t * (X @ x))))
    assert fa.Logistic().value(-M @ x) == pytest.approx(usual, rel=1e-12)
    np.testing.assert_allclose(fa.Logistic().gradient(-M @ x), expit(-t * (X @ x)), rtol=1e-12)
