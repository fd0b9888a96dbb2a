"""Small questions of every kind: what `fit` is asked, and the same for the twin."""

import numpy as np

import fewatoms as fa

KINDS = (
    "plain", "nonnegative", "groups", "dictionary", "negative multiple", "mapped", "intercept", "free columns",
    "weights", "include", "exclude", "huber", "logistic", "logistic with an intercept", "nonnegative huber",
    "groups with huber", "nonnegative multiple",
)  # fmt: skip


def case(kind, rng, *, ridge=0.0, cap=None, m=14, n=7, k=3):
    """M, b, the words of `fit` and those of `twin.optimum` (with the matrix and data that belong to them)."""
    M = rng.standard_normal((m, n)) * rng.choice([0.3, 1.0, 4.0], n)
    if rng.random() < 0.3:
        M[:, 1] = M[:, 0] + 0.01 * rng.standard_normal(m)
    b = M @ np.where(rng.random(n) < 0.5, rng.standard_normal(n), 0.0) + rng.choice([0.1, 1.0]) * rng.standard_normal(m)
    atoms, words, twin, A = fa.SignedOneHot(n), {}, {}, M
    if kind.startswith("nonnegative"):
        atoms, twin["nonnegative"] = fa.NonnegativeOneHot(n), True
    if kind == "nonnegative multiple":
        atoms, A = -2.0 * atoms, -2.0 * M
    if kind.startswith("groups"):
        labels = rng.integers(0, n - 2, n)
        atoms, twin["classes"] = fa.Groups(labels), [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]
    if kind == "dictionary":
        D = rng.standard_normal((n, n + 1))
        atoms, A = fa.Dictionary(D, symmetric=True), M @ D
    if kind == "negative multiple":
        atoms, A = -3.0 * atoms, -3.0 * M
    if kind == "mapped":
        D = rng.standard_normal((n, n))
        atoms, A = fa.Mapped(D, 0.5 * fa.SignedOneHot(n)), 0.5 * M @ D
    if "intercept" in kind:
        words["free"], twin["free"] = "intercept", np.ones((m, 1))
        b = b + 3.0
    if kind == "free columns":
        twin["free"] = words["free"] = rng.standard_normal((m, 2))
    if kind == "weights":
        twin["weights"] = rng.choice([0.2, 1.0, 5.0], m)
        words["loss"] = fa.LeastSquares(twin["weights"])
    if kind == "include":
        atoms, twin["include"] = atoms.restricted(include=[2]), (2,)
    if kind == "exclude":
        atoms, twin["exclude"] = atoms.restricted(exclude=[0, 3]), (0, 3)
    if "huber" in kind:
        words["loss"], twin["loss"], twin["delta"] = fa.Huber(0.5), "huber", 0.5
    t = b
    if "logistic" in kind:
        labels = np.where(b - b.mean() + 2 * rng.standard_normal(m) > 0, 1, 0)
        labels[:2] = 0, 1
        b, t, words["loss"], twin["loss"] = labels, np.zeros(m), fa.Logistic(), "logistic"
        twin["signs"] = np.where(labels == 1, 1.0, -1.0)
        A = A  # margins are <X_i, x>
    words |= {"atoms": atoms, "k": k, "ridge": ridge, "cap": cap}
    twin |= {"k": k, "ridge": ridge, "cap": cap}
    return M, b, words, (A, t, twin)
