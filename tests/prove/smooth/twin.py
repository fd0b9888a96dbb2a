"""Small questions about groups and smooth losses, and the slow and obvious answer: every choice of classes fitted by
itself, by Newton's method within the box, in the user's own units."""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

import fewatoms as fa

SETS = ("signed", "nonnegative", "groups", "uneven groups", "dictionary", "negative multiple", "mapped")
LOSSES = ("squares", "huber", "logistic", "logistic of numbers", "multinomial", "joint squares")
BESIDE = ("nothing", "intercept", "free columns")


@dataclass
class Asked:
    """A question: what `fit` is told, and the same written out.

    A : a column for each coordinate, in units of the user's coefficients; t : data, as the loss takes them
    """

    M: np.ndarray
    b: np.ndarray
    words: dict
    A: np.ndarray
    t: np.ndarray
    classes: list
    loss: str
    k: int
    ridge: float
    cap: float | None
    nonnegative: bool = False
    F: np.ndarray | None = None
    w: np.ndarray | None = None
    signs: np.ndarray | None = None
    codes: np.ndarray | None = None
    include: tuple = ()
    exclude: tuple = ()
    lengths: np.ndarray = field(init=False)

    def __post_init__(self):
        self.w = np.ones(self.t.size) if self.w is None else self.w
        root = np.sqrt(self.w)[:, None]
        left = root * self.A
        if self.F is not None:
            Q = np.linalg.qr(root * self.F)[0]
            left = left - Q @ (Q.T @ left)
            left = left - Q @ (Q.T @ left)
        self.lengths = np.linalg.norm(left, axis=0)

    # The loss: value, gradient, Hessian as an m x m array

    def f(self, r):
        w, k = self.w, 1 if self.codes is None else self.t.size // self.codes.size
        if self.loss == "huber":
            size = np.abs(r)
            value = np.sum(w * np.where(size <= 0.5, 0.5 * r * r, 0.5 * size - 0.125))
            return value, w * np.clip(r, -0.5, 0.5), np.diag(w * (size <= 0.5))
        if self.loss.startswith("logistic"):
            p = 1.0 / (1.0 + np.exp(-self.signs * r))
            value = np.sum(w * np.logaddexp(0.0, self.signs * r))
            return value, w * self.signs * p, np.diag(w * p * (1 - p))
        if self.loss == "multinomial":
            R, w, rows = r.reshape(-1, k), w.reshape(-1, k)[:, 0], np.arange(self.codes.size)
            value = np.sum(w * (np.logaddexp.reduce(-R, axis=1) + R[rows, self.codes]))
            P = np.exp(-R - np.logaddexp.reduce(-R, axis=1)[:, None])
            H = np.zeros((r.size, r.size))
            for i, p in enumerate(P):
                H[i * k : i * k + k, i * k : i * k + k] = w[i] * (np.diag(p) - np.outer(p, p))
            Y = -P.copy()
            Y[rows, self.codes] += 1.0
            return value, (w[:, None] * Y).ravel(), H
        return 0.5 * np.sum(w * r * r), w * r, np.diag(w)

    def fitted(self, some):
        """The lowest objective found with some classes."""
        columns = np.array([i for g in some for i in self.classes[g]], dtype=int)
        q = 0 if self.F is None else self.F.shape[1]
        B = self.A[:, columns] if self.F is None else np.c_[self.A[:, columns], self.F]
        pays = np.r_[self.ridge * self.lengths[columns] ** 2, np.zeros(q)]
        most = np.inf if self.cap is None else self.cap
        high = np.r_[np.full(columns.size, most), np.full(q, np.inf)]
        low = np.where(np.arange(high.size) < columns.size, 0.0 if self.nonnegative else -high, -np.inf)

        def objective(c):
            return self.f(self.t - B @ c)[0] + 0.5 * np.sum(pays * c * c)

        c, damp = np.clip(np.zeros(B.shape[1]), low, high), 1e-12
        if not c.size:
            return objective(c)
        value = objective(c)
        for _ in range(300):
            _, y, H = self.f(self.t - B @ c)
            g = pays * c - B.T @ y
            held = ((c <= low) & (g > 0)) | ((c >= high) & (g < 0))
            K = B.T @ H @ B + np.diag(pays)
            K[np.diag_indices_from(K)] += damp * max(np.trace(K), 1e-8)
            free = ~held
            step = np.zeros_like(c)
            step[free] = np.linalg.solve(K[np.ix_(free, free)], -g[free]) if free.any() else 0.0
            t, fresh = 1.0, np.inf
            while t > 1e-9:
                ahead = np.clip(c + t * step, low, high)
                fresh = objective(ahead)
                if fresh < value:
                    break
                t *= 0.5
            if not fresh < value:
                if damp > 1e3:
                    break
                damp = max(damp * 100, 1e-10)
                continue
            small = value - fresh <= 1e-15 * abs(value)
            c, value, damp = ahead, fresh, max(1e-12, damp * (0.1 if t == 1.0 else 10.0))
            if small and damp <= 1e-9:
                break
        return value

    def optimum(self):
        """The lowest objective of all choices, and the classes."""
        may = [g for g in range(len(self.classes)) if g not in {*self.include, *self.exclude}]
        found = []
        for more in combinations(may, min(self.k - len(self.include), len(may))):
            some = tuple(sorted([*self.include, *more]))
            found.append((self.fitted(some), some))
        return min(found)


def asked(rng, sets=SETS, losses=LOSSES, paying=("ridge", "cap", "both")):
    """A question of any kind."""
    kind, loss = str(rng.choice(sets)), str(rng.choice(losses))
    if loss in ("multinomial", "joint squares"):
        kind = str(rng.choice([s for s in sets if s in ("signed", "groups", "uneven groups")] or ["signed"]))
    m, n, k = int(rng.integers(6, 22)), int(rng.integers(3, 9)), int(rng.integers(1, 4))
    M = rng.standard_normal((m, n)) * rng.choice([0.3, 1.0, 4.0], n)
    if rng.random() < 0.3:
        M[:, 1] = M[:, 0] + rng.choice([0.0, 0.01, 0.3]) * rng.standard_normal(m)
    if rng.random() < 0.1:
        M[:, 2] = 0.0
    if rng.random() < 0.3:
        M += rng.choice([1.0, 30.0])
    signal = M @ np.where(rng.random(n) < 0.5, rng.standard_normal(n), 0.0) + rng.choice(
        [0.1, 1, 3]
    ) * rng.standard_normal(m)
    atoms, A, classes = _set(kind, M, rng)
    ridge, cap = _pays(str(rng.choice(paying)), rng)
    told = _data(loss, signal, rng)
    words = {"loss": told.pop("words")}
    width = told.pop("width")
    if width > 1:
        A = np.kron(A, np.eye(width))
        classes = [[i * width + c for i in g for c in range(width)] for g in classes]
    if loss == "joint squares":
        atoms = fa.Joint(atoms)
    k = min(k, len(classes))
    more = {}
    if rng.random() < 0.25:
        chosen = rng.permutation(len(classes))
        more["include"], more["exclude"] = (int(chosen[0]),), tuple(int(i) for i in chosen[1:2])
        if len(classes) > 2:
            names = atoms.restricted(include=None) if False else atoms
            atoms = _restricted(names, kind, loss, atoms, more, classes, width)
        else:
            more = {}
    beside = str(rng.choice(BESIDE, p=[0.5, 0.3, 0.2]))
    F = None
    if beside == "intercept":
        words["free"], F = "intercept", np.ones((m, 1))
    elif beside == "free columns":
        words["free"] = F = rng.standard_normal((m, 2)) + 1.0
    if F is not None and width > 1:
        F = np.kron(F, np.eye(width))
    words |= {"atoms": atoms, "k": k, "ridge": ridge, "cap": cap}
    return Asked(
        M,
        told.pop("b"),
        words,
        A,
        told.pop("t"),
        classes,
        loss,
        k,
        ridge,
        cap,
        kind == "nonnegative",
        F,
        **told,
        **more,
    )


def _restricted(_, kind, loss, atoms, more, classes, width):
    names = np.arange(len(classes))
    listing = (atoms.over_columns(width) if loss == "joint squares" else atoms).listing()
    if listing is not None and listing.names is not None and kind.endswith("groups"):
        names = np.asarray(listing.names)
    return atoms.restricted(include=names[list(more["include"])], exclude=names[list(more["exclude"])])


def _set(kind, M, rng):
    """Atoms, a column for each coordinate, and the coordinates of each class."""
    n = M.shape[1]
    single = [[i] for i in range(n)]
    if kind == "nonnegative":
        return fa.NonnegativeOneHot(n), M, single
    if kind.endswith("groups"):
        labels = np.arange(n) // 2 if kind == "groups" else rng.integers(0, max(2, n - 2), n)
        weights = rng.uniform(0.5, 2.0, np.unique(labels).size)
        return fa.Groups(labels, weights), M, [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]
    if kind == "dictionary":
        D = rng.standard_normal((n, n + 1))
        return fa.Dictionary(D, symmetric=True), M @ D, [[i] for i in range(n + 1)]
    if kind == "negative multiple":
        return -3.0 * fa.SignedOneHot(n), -3.0 * M, single
    if kind == "mapped":
        D = rng.standard_normal((n, n))
        return fa.Mapped(D, 0.5 * fa.SignedOneHot(n)), 0.5 * M @ D, single
    return fa.SignedOneHot(n), M, single


def _pays(kind, rng):
    ridge = float(rng.choice([0.01, 0.1, 1.0])) if kind != "cap" else 0.0
    return ridge, None if kind == "ridge" else float(rng.choice([0.05, 0.3, 2.0]))


def _data(loss, signal, rng):
    """Data as `fit` takes them, the loss, how many numbers a datum has, and what the twin needs."""
    m = signal.size
    w = rng.choice([0.2, 1.0, 5.0], m) if rng.random() < 0.3 else None
    if loss == "joint squares":
        b = np.c_[signal, rng.standard_normal(m)]
        w = None
        return {"words": fa.LeastSquares(), "width": 2, "b": b, "t": b.ravel()}
    if loss == "squares":
        return {"words": fa.LeastSquares(w), "width": 1, "b": signal, "t": signal, "w": w}
    if loss == "huber":
        return {"words": fa.Huber(0.5, w), "width": 1, "b": signal, "t": signal, "w": w}
    noisy = signal + np.std(signal) * rng.logistic(size=m)
    if loss == "multinomial":
        codes = np.digitize(noisy, np.quantile(noisy, [0.3, 0.6]))
        codes[:3] = 0, 1, 2
        each = None if w is None else np.repeat(w, 3)
        return {"words": fa.Multinomial(w), "width": 3, "b": codes, "t": np.zeros(3 * m), "w": each, "codes": codes}
    if loss == "logistic of numbers":
        return {"words": fa.Logistic(w), "width": 1, "b": signal, "t": signal, "w": w, "signs": np.ones(m)}
    labels = (noisy > np.median(noisy)).astype(int)
    labels[:2] = 0, 1
    signs = np.where(labels == 1, 1.0, -1.0)
    return {"words": fa.Logistic(w), "width": 1, "b": labels, "t": np.zeros(m), "w": w, "signs": signs}
