"""One tally: whoever counts from outside counts what the answer says, on every method."""

import numpy as np
import pylops
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from answers import Case, answer, cases
from fewatoms import ledger
from test_ledger import RUNS


class Own:
    """An operator of one's own, with nothing but the contract, that counts how often it is called."""

    def __init__(self, A):
        self.A, self.shape, self.calls = A, A.shape, 0

    def apply(self, x):
        assert x.shape == self.shape[1:]
        self.calls += 1
        return self.A @ x

    def adjoint(self, y):
        self.calls += 1
        return self.A.T @ y


class Linear(LinearOperator):
    """SciPy's, with products that count."""

    def __init__(self, A):
        super().__init__(np.dtype(float), A.shape)
        self.A, self.calls = A, 0

    def _matvec(self, x):
        self.calls += 1
        return self.A @ np.ravel(x)

    def _rmatvec(self, y):
        self.calls += 1
        return self.A.T @ np.ravel(y)


class Pylops(pylops.LinearOperator):
    """PyLops', with products that count."""

    def __init__(self, A):
        super().__init__(dtype=np.dtype(float), dims=A.shape[1:], dimsd=A.shape[:1])
        self.A, self.calls = A, 0

    def _matvec(self, x):
        self.calls += 1
        return self.A @ np.ravel(x)

    def _rmatvec(self, y):
        self.calls += 1
        return self.A.T @ np.ravel(y)


class Blocks(Linear):
    """One that multiplies blocks, each column of which counts."""

    def _matmat(self, X):
        self.calls += X.shape[1]
        return self.A @ X

    def _rmatmat(self, Y):
        self.calls += Y.shape[1]
        return self.A.T @ Y


BOXES = {"own": Own, "LinearOperator": Linear, "pylops": Pylops, "blocks": Blocks}
LATER = ("gap", "y", "norm", "epsilon", "threshold", "safe_set", "hausdorff")


def assert_agrees(s, count):
    """A counter agrees with an answer, and with what its certificate costs later."""
    assert count() == s.products
    for name in LATER:
        getattr(s.certificate, name)
        assert count() == s.products + s.certificate.products, name
    str(s.certificate)
    s.x  # noqa: B018
    assert count() == s.products + s.certificate.products


PROBLEMS = {id(case): (name, case) for name, case in cases().items()}
PROBLEMS |= {id(case): (name, case) for name, (case, _) in RUNS.items()}  # those that are not among them


@pytest.mark.parametrize(("name", "case"), PROBLEMS.values(), ids=[name for name, _ in PROBLEMS.values()])
def test_counting_agrees_with_every_answer(name, case):
    M = fa.Counting(fa.Counting(case.M))  # one inside the other: both hear everything
    s = case.fit(M)
    assert_agrees(s, lambda: M.products)
    assert M.inner.products == M.products
    if name in cases():
        assert s.products == answer(name).products  # the way that is taken is the same


def test_groups_of_many_sizes_are_exchanged_by_their_images():
    """Twice k of the largest would have no room, but all atoms together do."""
    atoms = cases()["groups of many sizes"].words["atoms"]
    assert answer("groups of many sizes").products < 100
    s = cases()["groups of many sizes"].fit(atoms=atoms.restricted(include=[4]))
    assert 4 in s.indices
    assert s.products < 100


def vector(n=20, m=30, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) * np.geomspace(0.1, 10.0, n)
    x = np.zeros(n)
    x[rng.choice(n, 3, replace=False)] = 1.0
    return A, A @ x + 0.05 * rng.standard_normal(m)


rng = np.random.default_rng(9)
WEIGHTS, COLUMNS = rng.uniform(0.5, 2.0, 30), rng.standard_normal((30, 2))
WAYS = {
    "k": {"k": 3},
    "bound": {"k": 4, "misfit": 0.05},
    "fewest": {"misfit": 0.05},
    "unreachable": {"k": 2, "misfit": 1e-3},
    "intercept": {"k": 3, "free": "intercept"},
    "columns": {"k": 3, "free": COLUMNS},
    "columns, bound": {"misfit": 0.1, "free": COLUMNS},
    "weights": {"k": 3, "loss": fa.LeastSquares(WEIGHTS)},
    "weights, columns": {"k": 3, "loss": fa.LeastSquares(WEIGHTS), "free": COLUMNS},
    "huber": {"k": 2, "loss": fa.Huber(0.5)},
    "huber, intercept": {"k": 2, "loss": fa.Huber(0.5), "free": "intercept"},
    "cap": {"k": 3, "cap": 0.5},
    "general": {"k": 3, "method": fa.General(), "max_iterations": 20},
    "general, intercept": {"k": 3, "method": fa.General(), "free": "intercept", "max_iterations": 20},
    "general, huber": {"k": 3, "method": fa.General(), "loss": fa.Huber(0.5), "max_iterations": 5},
    "paper": {"k": 5, "misfit": 0.5, "method": fa.Paper()},
    "level set": {"k": 5, "misfit": 0.5, "method": fa.General(fa.LevelSet())},
    "groups": {"k": 2, "atoms": fa.Groups(np.arange(20) // 4)},
    "nonnegative": {"k": 3, "atoms": fa.NonnegativeOneHot(20)},
    "cone": {"k": 3, "atoms": fa.NonnegativeCone(20)},
    "dictionary": {"k": 3, "atoms": fa.Dictionary(np.random.default_rng(1).standard_normal((20, 30)), symmetric=True)},
    "sum": {"k": (2, 1), "atoms": fa.SignedOneHot(20) + fa.Groups(np.arange(20) // 4), "max_iterations": 10},
    "low rank": {"k": 1, "atoms": fa.RankOne(4, 5), "max_iterations": 5},
    "psd": {"k": 1, "atoms": fa.PSDRankOne(4), "max_iterations": 5},
}


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("name", WAYS)
def test_black_boxes_count_what_is_told(name, box):
    words = {"atoms": fa.SignedOneHot(20), **WAYS[name]}
    A, b = vector(words["atoms"].n)
    M = BOXES[box](A)
    s = fa.fit(M, b, **words)
    assert s.products > 0
    assert_agrees(s, lambda: M.calls)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("n", [20, 300])
def test_large_and_small_boxes_count(n, box):
    """Up to 256 columns are asked for and kept; beyond, products are all there is."""
    A, b = vector(n, 40)
    M = BOXES[box](A)
    assert_agrees(fa.fit(M, b, atoms=fa.SignedOneHot(n), k=3, free="intercept"), lambda: M.calls)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("free", [None, "intercept"])
def test_several_data_vectors_count(box, free):
    A, b = vector()
    B = np.stack([b, b[::-1], A[:, 1]], axis=1)
    M = BOXES[box](A)
    joint = fa.fit(M, B, atoms=fa.Joint(fa.SignedOneHot(20)), k=2, free=free)
    assert_agrees(joint, lambda: M.calls)
    M = BOXES[box](A)
    many = fa.fit_many(M, B, atoms=fa.SignedOneHot(20), k=2, free=free)
    assert M.calls == many.products == sum(s.products for s in many)
    s, before = many[1], M.calls
    s.certificate.epsilon  # noqa: B018
    assert M.calls - before == s.certificate.products > 0


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("name", ["k", "intercept", "huber", "general", "groups", "low rank"])
def test_paths_count(name, box):
    words = {"atoms": fa.SignedOneHot(20), **WAYS[name]}
    words.pop("k")
    A, b = vector(words["atoms"].n)
    M = BOXES[box](A)
    path = fa.fit_path(M, b, k=[2, 1], **words)
    courses = {id(path[k]): path[k].products for k in path}
    assert M.calls in (sum(courses.values()), max(courses.values()))  # budgets share a stream, or have their own
    before = M.calls
    answer = path[1]
    for later in LATER:
        getattr(answer.certificate, later)
    assert M.calls == before + answer.certificate.products


@pytest.mark.parametrize("name", ["completion", "completion, auto", "biases", "robust", "psd"])
def test_paths_over_matrices_count(name):
    case = cases()[name]
    words = {word: value for word, value in case.words.items() if word != "k"}
    M = fa.Counting(case.M)
    path = fa.fit_path(M, case.b, k=[(1, 4), (1, 5)] if name == "robust" else [1, 2], **words)
    spent = [path[k].products for k in path]
    assert M.products == sum(spent)  # a stream for each


def test_stopped_runs_count_too(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)

    def stop_at(count):
        calls = []

        def callback(progress):
            calls.append(progress)
            if len(calls) == count:
                raise StopIteration

        return callback

    for case, _ in RUNS.values():
        for count in (1, 4, 9):
            M = fa.Counting(case.M)
            assert case.fit(M, callback=stop_at(count)).products == M.products


def test_what_a_callback_costs_is_its_own():
    """Gaps that are dear are evaluated for who asks, and not counted with the run."""
    for name in ("completion, ridge", "robust", "signed"):
        case = cases()[name]
        M = fa.Counting(case.M)
        s = case.fit(M, callback=lambda progress: progress.gap)
        assert s.products == case.fit().products
        assert M.products == s.products + s.certificate.products


@pytest.mark.parametrize("bad", ["apply", "adjoint"])
def test_results_of_the_wrong_size_are_refused(bad):
    class Wrong(Own):
        def apply(self, x):
            return np.ones(7) if bad == "apply" else super().apply(x)

        def adjoint(self, y):
            return np.ones(7) if bad == "adjoint" else super().adjoint(y)

    case = Case(Wrong(np.eye(3)), np.ones(3), {"atoms": fa.SignedOneHot(3), "k": 1})
    with pytest.raises(ValueError, match=rf"M.{bad} must return 3 numbers; got shape \(7,\)"):
        case.fit()
