"""The slow and obvious twin of proofs: every choice of k atoms fitted by itself, by SciPy, in the user's own units.

`optimum` knows nothing of the package but its sets' meaning; `Exhaustive` is a prover that looks at one choice after
the other, for tests of the door.
"""

import math
from itertools import combinations

import numpy as np
from scipy.optimize import lsq_linear, minimize

from fewatoms import ledger
from fewatoms.proofs.base import Checked, Checker, Prover, Search, Standing, Tampered, Tree
from fewatoms.proofs.paying import nothing

# The optimum ---------------------------------------------------------------------------------------------------------


def past(F, columns, w):
    """Columns less what F explains of them, in the weights."""
    root = np.sqrt(w)[:, None]
    if F is None:
        return root * columns
    Q = np.linalg.qr(root * F)[0]
    A = root * columns
    return A - Q @ (Q.T @ A)


def optimum(
    M,
    b,
    k,
    *,
    classes=None,
    loss="squares",
    delta=1.0,
    ridge=0.0,
    cap=None,
    nonnegative=False,
    include=(),
    exclude=(),
    free=None,
    weights=None,
    signs=None,
):
    """The lowest objective of at most k classes of columns of M, and the classes. `classes` are lists of columns (each
    column by itself where there are none), `signs` those of labels for the logistic loss (b is 0 then)."""
    m, n = M.shape
    classes = [[i] for i in range(n)] if classes is None else [list(g) for g in classes]
    w = np.ones(m) if weights is None else np.asarray(weights)
    lengths = np.linalg.norm(past(free, M, w), axis=0)
    may = [g for g in range(len(classes)) if g not in set(exclude) | set(include)]
    best, which = math.inf, ()
    for more in combinations(may, min(k - len(include), len(may))):
        some = sorted([*include, *more])
        columns = np.array([i for g in some for i in classes[g]], dtype=int)
        args = (M[:, columns], b, lengths[columns], ridge, cap, nonnegative, free, w)
        value = fitted(*args) if loss == "squares" else descended(*args, loss, delta, signs)
        if value < best:
            best, which = value, tuple(some)
    return best, which


def _box(count, cap, nonnegative, q):
    most = math.inf if cap is None else cap
    low = np.r_[np.full(count, 0.0 if nonnegative else -most), np.full(q, -np.inf)]
    return low, np.r_[np.full(count, most), np.full(q, np.inf)]


def fitted(A, b, lengths, ridge, cap, nonnegative, F, w):
    """Least squares by rows for the ridge."""
    q = 0 if F is None else F.shape[1]
    B, root = (A if F is None else np.c_[A, F]), np.sqrt(w)
    rows = np.c_[np.sqrt(ridge) * np.diag(lengths), np.zeros((lengths.size, q))]
    X, t = np.r_[root[:, None] * B, rows], np.r_[root * b, np.zeros(lengths.size)]
    if cap is None and not nonnegative:
        c = np.linalg.lstsq(X, t, rcond=None)[0]
    else:
        low, high = _box(lengths.size, cap, nonnegative, q)
        c = lsq_linear(X, t, (low, high), method="bvls", tol=1e-14).x if X.shape[1] else np.zeros(0)
        c = np.clip(c, low, high)
    return 0.5 * float(np.sum((X @ c - t) ** 2))


def descended(A, b, lengths, ridge, cap, nonnegative, F, w, loss, delta, signs):
    """Other losses by L-BFGS in coefficients of unit images, over data of unit size."""
    q = 0 if F is None else F.shape[1]
    B = A if F is None else np.c_[A, F]
    low, high = _box(lengths.size, cap, nonnegative, q)
    pays = ridge * np.r_[lengths**2, np.zeros(q)]

    def value(c):
        r = b - B @ c
        if loss == "huber":
            inside = np.abs(r) <= delta
            f = np.sum(w * np.where(inside, 0.5 * r * r, delta * np.abs(r) - 0.5 * delta**2))
            g = w * np.clip(r, -delta, delta)
        else:
            f = np.sum(w * np.logaddexp(0.0, signs * r))
            g = w * signs / (1.0 + np.exp(-signs * r))
        return f + 0.5 * np.sum(pays * c * c), pays * c - B.T @ g

    if not B.shape[1]:
        return float(value(np.zeros(0))[0])
    best = math.inf
    for scale in (0.0, 0.1):
        start = np.clip(scale * np.ones(B.shape[1]), low, high)
        found = minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
            options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30},
        )  # fmt: skip
        best = min(best, float(found.fun))
    return best


# A prover ------------------------------------------------------------------------------------------------------------


class Exhaustive(Prover):
    """One choice after the other, each with the dual vector of its own best fit; `most` choices and no more."""

    def __init__(self, most=None):
        self.most = most

    def open(self, question):
        return None if question.paying is None or not question.paying.bounded else OneByOne(question, self.most)


class OneByOne(Search):
    name = "one by one"

    def __init__(self, question, most=None):
        self.question, self.most = question, most
        self.supports, self.duals = [], []
        self.upper, self.best = question.upper, question.best

    def standings(self):
        found = list(choices(self.question))
        for i, some in enumerate(found):
            if self.most is not None and i >= self.most:
                return
            ledger.tick()
            y, value = self.dual(some)
            self.supports.append(some)
            self.duals.append(y)
            if value < self.upper:
                self.upper, self.best = value, np.array(some, dtype=np.intp)
            yield self.standing(ended=i + 1 == len(found))

    def dual(self, some):
        """That of the best fit, by proximal Newton steps that the package's own fits take, and its objective."""
        from fewatoms.methods.listed.images import IMAGE_ROOM
        from fewatoms.methods.listed.support import SupportFits
        from fewatoms.methods.listed.view import View

        problem = self.question.problem
        fits = SupportFits(problem, View(problem, problem.M, IMAGE_ROOM))
        candidate = fits.candidate(fits.fit(np.array(some, dtype=np.intp), trial=False))
        return problem.loss.gradient(candidate.residual), problem.objective(candidate)

    def standing(self, *, ended=False):
        whole = len(self.supports) == sum(1 for _ in choices(self.question))
        lower = min(leaves(self.question, self.supports, self.duals)) if whole else nothing(self.question.problem)
        return Standing(max(lower, nothing(self.question.problem)), self.upper, self.best, len(self.supports), ended)

    def final(self):
        return self.standing()

    def tree(self):
        m = self.question.problem.m
        arrays = {
            "supports": np.array(self.supports, dtype=np.intp).reshape(
                len(self.supports), self.question.k if not self.supports else -1
            ),
            "duals": np.array(self.duals, dtype=np.float64).reshape(len(self.duals), m),
        }
        return Tree(self.name, {}, arrays)

    def remedy(self):
        return "" if self.most is None else "Look at all of them."


def choices(question):
    """All supports of k classes, those forced in each."""
    paying = question.paying
    free = np.setdiff1d(np.flatnonzero(paying.usable), paying.forced)
    for more in combinations(free.tolist(), min(question.k - paying.forced.size, free.size)):
        yield tuple(sorted([*paying.forced.tolist(), *more]))


def leaves(question, supports, duals):
    every = np.arange(question.paying.count)
    return [
        question.paying.bound(np.asarray(y), question.k, np.array(some, dtype=np.intp), np.setdiff1d(every, some))
        for some, y in zip(supports, duals, strict=True)
    ]


class OneByOneChecker(Checker):
    def check(self, question, tree, share, rng):
        supports = [tuple(row) for row in tree.arrays["supports"].tolist()]
        if sorted(supports) != sorted(choices(question)):
            if supports and len(supports) == sum(1 for _ in choices(question)):
                raise Tampered("the choices are not all choices")
            return Checked(nothing(question.problem))
        count = max(1, math.ceil(share * len(supports)))
        some = rng.permutation(len(supports))[:count]
        found = leaves(question, [supports[i] for i in some], tree.arrays["duals"][some])
        return Checked(max(min(found), nothing(question.problem)), count / len(supports))
