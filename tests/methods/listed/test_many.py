"""Many atoms over operators: an answer at once, better ones by few products, and an end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsqr
from spgl1 import spgl1

import fewatoms as fa
from fewatoms.effort import QUICK, THOROUGH
from fewatoms.methods.listed.many import ManyAtoms, ManyJob
from journeys.planting import spikes, squares

SMALL = ManyAtoms(room=0, boxed=0)  # whatever the size


class Picture(LinearOperator):
    """Cosines in two dimensions, seen at some of the pixels; it counts its products."""

    def __init__(self, side, seen):
        super().__init__(np.dtype(float), (seen.size, side * side))
        self.side, self.seen, self.count = side, seen, 0

    def drawn(self, x):
        return scipy.fft.idctn(x.reshape(self.side, self.side), norm="ortho")

    def _matvec(self, x):
        self.count += 1
        return self.drawn(np.ravel(x)).ravel()[self.seen]

    def _rmatvec(self, y):
        self.count += 1
        whole = np.zeros(self.side**2)
        whole[self.seen] = np.ravel(y)
        return scipy.fft.dctn(whole.reshape(self.side, self.side), norm="ortho").ravel()


def clouds(side, power, rng):
    """A picture whose frequencies fall like those of photographs, with an edge."""
    f = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)[None])
    f[0, 0] = 1.0
    texture = np.real(np.fft.ifft2(np.fft.fft2(rng.standard_normal((side, side))) / f**power))
    y, x = np.mgrid[:side, :side] / side
    return 1.0 + 0.2 * texture / texture.std() + 0.3 * ((x - 0.4) ** 2 + (y - 0.6) ** 2 < 0.05)


def seen_picture(side=48, share=0.4, power=1.2, seed=0):
    rng = np.random.default_rng(seed)
    image = clouds(side, power, rng)
    seen = np.sort(rng.choice(side * side, int(share * side * side), replace=False))
    M = Picture(side, seen)
    return M, image.ravel()[seen], image


def refitted(M, b, x, k):
    """The k largest coefficients, fitted anew."""
    places = np.argsort(-np.abs(x))[:k]

    def spread(c):
        z = np.zeros(M.shape[1])
        z[places] = np.ravel(c)
        return z

    small = LinearOperator(
        (b.size, k), matvec=lambda c: M.matvec(spread(c)), rmatvec=lambda r: M.rmatvec(r)[places], dtype=float
    )
    return spread(lsqr(small, b, atol=1e-8, btol=1e-8)[0])


def error(M, x, image):
    return np.linalg.norm(M.drawn(x) - image) / np.linalg.norm(image)


@pytest.mark.parametrize(
    ("power", "share", "k", "misfit"),
    [(1.2, 0.4, 210, 0.03), (2.0, 0.4, 210, 0.03), (1.2, 0.4, 210, None), (1.2, 0.7, 100, 0.05)],
)
def test_pictures_are_no_worse_than_those_of_a_relaxation_with_a_refit(power, share, k, misfit):
    """The first answer at once, few products in all, and errors on the pixels that were not seen."""
    ours, theirs = [], []
    for seed in range(2):
        M, b, image = seen_picture(48, share, power, seed)
        first = []
        s = fa.fit(
            M,
            b,
            atoms=fa.SignedOneHot(M.shape[1]),
            k=k,
            misfit=misfit,
            callback=lambda p, first=first: first.append(p.products) if p.cardinality else None,
            method=SMALL,
        )
        assert s.products == M.count <= 1500
        assert first[0] <= 120
        assert s.cardinality <= k
        assert s.success == (misfit is None or s.misfit <= misfit)
        ours.append(error(M, s.x, image))
        l1 = spgl1(M, b, sigma=0.03 * np.linalg.norm(b), verbosity=0)[0]
        theirs.append(error(M, refitted(M, b, l1, k), image))
    assert np.mean(ours) <= 1.01 * np.mean(theirs)


def test_a_bound_alone_takes_no_more_atoms_than_the_relaxation_would():
    M, b, _ = seen_picture()
    s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), misfit=0.06, method=SMALL)
    assert s.success
    assert s.products == M.count <= 1500
    l1 = spgl1(M, b, sigma=0.05 * np.linalg.norm(b), verbosity=0)[0]
    fewer = refitted(M, b, l1, s.cardinality)
    assert np.linalg.norm(b - M @ fewer) >= 0.99 * 0.06 * np.linalg.norm(b)


def test_who_serves_what():
    """By default only where images are too many."""
    M, b, _ = seen_picture(80)
    n = M.shape[1]
    A = np.random.default_rng(0).standard_normal((20, 300))

    def opens(M, b, method=ManyAtoms(), **words):  # noqa: B008
        problem = fa.Problem.of(M, b, **{"atoms": fa.SignedOneHot(M.shape[1]), **words})
        job = method.open(problem, [problem.budget])
        return isinstance(job, ManyJob)

    assert opens(M, b, k=400)
    assert opens(M, b, misfit=0.1)
    assert not opens(M, b, k=10)
    assert not opens(A, np.ones(20), k=5)
    assert not opens(aslinearoperator(A), np.ones(20), misfit=0.1)
    assert opens(aslinearoperator(A), np.ones(20), SMALL, k=5)
    assert not opens(M, b, k=400, atoms=fa.SignedOneHot(n).restricted(include=[3]))
    assert not opens(M, b, k=400, atoms=fa.SignedOneHot(n).restricted(exclude=[3]))
    assert not opens(M, b, k=400, cap=1.0)
    assert not opens(M, b, k=400, ridge=0.1)
    assert not opens(M, b, SMALL, k=(2, 2), atoms=fa.SignedOneHot(n) + fa.Groups(np.arange(n) // 4))
    assert any(isinstance(method, ManyAtoms) for method in fa.methods.METHODS)


KINDS = {
    "signed": (fa.SignedOneHot(200), {}),
    "nonnegative": (fa.NonnegativeOneHot(200), {}),
    "cone": (fa.NonnegativeCone(200), {}),
    "groups": (fa.Groups(np.arange(200) // 4), {}),
    "mapped": (fa.Mapped(aslinearoperator(np.eye(200)[::-1]), fa.SignedOneHot(200)), {}),
    "scaled": (-3.0 * fa.SignedOneHot(200), {}),
    "weights": (fa.SignedOneHot(200), {"loss": fa.LeastSquares(np.linspace(0.5, 2.0, 80))}),
    "huber": (fa.SignedOneHot(200), {"loss": fa.Huber(1.0)}),
    "intercept": (fa.SignedOneHot(200), {"free": "intercept"}),
    "huber, intercept": (fa.SignedOneHot(200), {"loss": fa.Huber(1.0), "free": "intercept"}),
}


def planted(atoms, seed=0, noise=0.01):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((80, 200))
    x = np.zeros(200)
    places = [3, 40, 77, 120] if atoms.count == 200 else [8, 9, 10, 11, 40, 41, 42, 43]
    x[places] = 1.0 + np.arange(len(places)) / 4
    x = x[::-1] if isinstance(atoms, fa.Mapped) else x
    return A, A @ x + noise * rng.standard_normal(80), x


@pytest.mark.parametrize("form", [np.asarray, aslinearoperator], ids=["array", "box"])
@pytest.mark.parametrize("name", KINDS)
def test_planted_atoms_are_found_in_every_kind(name, form):
    atoms, words = KINDS[name]
    A, b, x = planted(atoms)
    M = fa.Counting(form(A))
    k = 2 if atoms.count < 200 else 4
    s = fa.fit(M, b, atoms=atoms, k=k, method=SMALL, **words)
    assert set(np.flatnonzero(s.x)) == set(np.flatnonzero(x))
    np.testing.assert_allclose(s.x, x, atol=0.02)
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.products == M.products
    _ = s.certificate.gap, str(s.certificate)
    bounded = fa.fit(form(A), b, atoms=atoms, k=k, alpha=1.05 * s.loss, method=SMALL, **words)
    assert bounded.status is fa.Status.BOUND_MET
    alone = fa.fit(aslinearoperator(A), b, atoms=atoms, alpha=1.05 * s.loss, method=SMALL, **words)
    assert alone.status is fa.Status.BOUND_MET
    assert alone.cardinality == k


def thresholded(A, b, k, steps=300):
    """Iterative hard thresholding with refits on columns of unit length, the slow and obvious way."""
    A = A / np.linalg.norm(A, axis=0)
    inside, best = np.argsort(-np.abs(A.T @ b))[:k], np.inf
    for _ in range(steps):
        c = np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
        r = b - A[:, inside] @ c
        if squares(r) >= best * (1 - 1e-9):
            break
        best, u = squares(r), A.T @ r
        u[inside] += c
        inside = np.argsort(-np.abs(u))[:k]
    return best


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("correlated", [0.0, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_losses_are_not_above_those_of_thresholding(noise, correlated, units):
    """Whatever the units of the columns, which nobody tells."""
    ours, theirs = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((200, 600)) + correlated * rng.standard_normal((200, 1))
        b = A @ spikes(rng, 600, 20)
        b += noise * np.linalg.norm(b) / np.sqrt(200) * rng.standard_normal(200)
        A = A * 10.0 ** rng.uniform(-3, 3, 600) if units else A
        s = fa.fit(aslinearoperator(A), b, atoms=fa.SignedOneHot(600), k=20, method=SMALL)
        ours.append(s.loss / squares(b))
        theirs.append(thresholded(A, b, 20) / squares(b))
        assert s.products <= 1500
    assert np.mean(ours) <= 1.05 * np.mean(theirs) + 1e-12


def test_effort_buys_a_lower_loss():
    M, b, _ = seen_picture()
    asked = {"atoms": fa.SignedOneHot(M.shape[1]), "k": 200}
    quick, normal, thorough = (
        fa.fit(M, b, **asked, method=method) for method in (SMALL.at(QUICK), SMALL, SMALL.at(THOROUGH))
    )
    assert quick.products < normal.products
    assert thorough.loss < normal.loss <= quick.loss * (1 + 1e-9)
    assert "noise" in normal.message
    hurried = fa.fit(M, b, **asked, misfit=0.2, method=SMALL.at(QUICK))
    assert hurried.success
    assert hurried.products < normal.products


def test_paths_and_many_data_vectors_and_starts():
    A, b, _ = planted(KINDS["signed"][0])
    M = fa.Counting(aslinearoperator(A))
    path = fa.fit_path(M, b, atoms=fa.SignedOneHot(200), k=[2, 4, 8], method=SMALL)
    losses = [path[k].loss for k in (2, 4, 8)]
    assert losses == sorted(losses, reverse=True)
    assert [path[k].cardinality for k in (2, 4)] == [2, 4]
    alone = fa.fit(aslinearoperator(A), b, atoms=fa.SignedOneHot(200), k=4, method=SMALL)
    assert path[4].loss == pytest.approx(alone.loss, rel=1e-3)
    again = fa.fit(aslinearoperator(A), b, atoms=fa.SignedOneHot(200), k=4, method=SMALL, start=alone)
    assert again.loss <= alone.loss * (1 + 1e-6)


def test_a_stop_answers_with_the_best_so_far():
    M, b, _ = seen_picture()
    seen = []

    def stop(progress):
        seen.append(progress.misfit)
        if progress.cardinality:
            raise StopIteration

    s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=300, method=SMALL, callback=stop)
    assert s.status is fa.Status.STOPPED
    assert 0 < s.cardinality <= 300
    assert s.misfit < 1.0
    assert s.products == M.count < 200


@pytest.mark.parametrize("asked", [{"k": 3}, {"k": 3, "misfit": 0.1}, {"misfit": 0.1}])
def test_operators_without_any_use(asked):
    zero = LinearOperator((4, 9), matvec=lambda x: np.zeros(4), rmatvec=lambda y: np.zeros(9), dtype=float)
    s = fa.fit(zero, np.ones(4), atoms=fa.SignedOneHot(9), method=SMALL, **asked)
    assert s.loss == pytest.approx(2.0)
    assert s.success == ("misfit" not in asked)


def test_as_many_atoms_as_data():
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((10, 30)), rng.standard_normal(10)
    s = fa.fit(aslinearoperator(A), b, atoms=fa.SignedOneHot(30), k=30, method=SMALL)
    assert s.misfit < 1e-6


class Cosines(LinearOperator):
    """Some of the cosines of a line, at random or the slowest; it counts its products."""

    def __init__(self, n, rows):
        super().__init__(np.dtype(float), (rows.size, n))
        self.rows, self.count = rows, 0

    def _matvec(self, x):
        self.count += 1
        return scipy.fft.dct(np.ravel(x), norm="ortho")[self.rows]

    def _rmatvec(self, y):
        self.count += 1
        whole = np.zeros(self.shape[1])
        whole[self.rows] = np.ravel(y)
        return scipy.fft.idct(whole, norm="ortho")


def cosines(noise, coefficients, slowest=False, n=1 << 16, m=1 << 13, k=25, seed=0):
    rng = np.random.default_rng(seed)
    M = Cosines(n, np.arange(m) if slowest else np.sort(rng.choice(n, m, replace=False)))
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = (
        rng.choice([-1.0, 1.0], k) if coefficients == "signs" else rng.standard_normal(k)
    )
    e = rng.standard_normal(m)
    b = M @ x
    M.count = 0
    return M, b + noise * np.linalg.norm(b) / np.linalg.norm(e) * e, x, k


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("coefficients", ["signs", "gaussian"])
def test_what_stands_alone_takes_few_products(coefficients, noise, seed):
    """As good as with the ladder, which took hundreds."""
    M, b, x, k = cosines(noise, coefficients, seed=seed)
    s = fa.fit(M, b, atoms=fa.SignedOneHot(x.size), k=k, method=ManyAtoms(large=0))
    assert M.count <= 60
    whole = fa.fit(M, b, atoms=fa.SignedOneHot(x.size), k=k, method=ManyAtoms(large=0, overlap=0.0))
    assert s.loss <= whole.loss * (1 + 1e-3) + 1e-20 * float(b @ b)
    truth = np.flatnonzero(x)
    A = np.stack([M @ np.bincount([i], minlength=x.size) for i in truth], axis=1)
    planted = np.linalg.norm(b - A @ np.linalg.lstsq(A, b)[0])
    assert s.misfit <= planted / np.linalg.norm(b) * 1.002 + 1e-9


def test_neighbours_that_are_alike_are_searched_further():
    """The slowest cosines cannot tell neighbours: what stands beside an atom shows, and the ladder is gone down."""
    M, b, x, k = cosines(0.1, "signs", slowest=True)
    found = fa.fit(M, b, atoms=fa.SignedOneHot(x.size), k=k, method=ManyAtoms(large=0))
    told = fa.fit(M, b, atoms=fa.SignedOneHot(x.size), k=k, method=ManyAtoms(large=0, overlap=0.0))
    assert found.loss == told.loss
    assert M.count > 120
