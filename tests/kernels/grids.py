"""Entries for the loops, and the small regressions that they are asked for."""

import numpy as np
import pytest

import naive
from fewatoms import _loops, kernels

TILE = _loops.TILE
NONE = np.zeros(0)

# Entries: name -> rows, columns, features, share of the entries, size of the values, size of the features

GRIDS = {
    "usual": (7, 5, 3, 0.6, 1.0, 1.0),
    "many rows": (40, 6, 2, 0.3, 1.0, 1.0),
    "an odd number of features": (6, 9, 5, 0.8, 1.0, 1.0),
    "one row": (1, 6, 2, 0.7, 1.0, 1.0),
    "one column": (6, 1, 2, 0.8, 1.0, 1.0),
    "one entry": (4, 4, 1, 1 / 16, 1.0, 1.0),
    "all entries": (4, 3, 2, 1.0, 1.0, 1.0),
    "one feature": (8, 8, 1, 0.5, 1.0, 1.0),
    "no features": (5, 4, 0, 0.6, 1.0, 1.0),
    "more features than columns": (4, 3, 6, 0.7, 1.0, 1.0),
    "few entries a row": (12, 9, 4, 0.25, 1.0, 1.0),
    "mostly empty rows": (30, 5, 2, 0.05, 1.0, 1.0),
    "eight features": (9, 12, 8, 0.9, 1.0, 1.0),
    "ten features": (20, 14, 10, 0.9, 1.0, 1.0),
    "sixteen features": (5, 20, 16, 1.0, 1.0, 1.0),
    "nineteen features": (4, 30, 19, 0.9, 1.0, 1.0),
    "thirty features": (3, 40, 30, 1.0, 1.0, 1.0),
    "small values": (7, 6, 2, 0.8, 1e-8, 1.0),
    "large values": (7, 6, 2, 0.8, 1e8, 1.0),
    "small features": (7, 6, 2, 0.8, 1.0, 1e-8),
    "large features": (7, 6, 2, 0.8, 1.0, 1e8),
    "small": (7, 6, 2, 0.8, 1e-8, 1e-4),
    "large": (7, 6, 2, 0.8, 1e8, 1e4),
    "rows as long as the tile": (2, TILE, 1, 1.0, 1.0, 1.0),
    "rows longer than the tile": (2, TILE + 1, 2, 1.0, 1.0, 1.0),
    "rows of two tiles and a half": (2, 3 * TILE, 2, 0.85, 1.0, 1.0),
}
every_grid = pytest.mark.parametrize("name", GRIDS)


class Grid:
    """Random entries row by row, with what the loops take beside them."""

    def __init__(self, name, seed=0, kind=np.int32):
        p, q, r, share, size, unit = GRIDS[name]
        rng = np.random.default_rng([seed, *name.encode()])
        keys = np.sort(rng.permutation(p * q)[: max(1, round(share * p * q))])
        self.p, self.q, self.r = p, q, r
        self.rows, self.cols = np.divmod(keys, q)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=p))])
        self.others = self.cols.astype(kind)
        self.values = size * rng.standard_normal(keys.size)
        self.left, self.right = unit * rng.standard_normal((p, r)), unit * rng.standard_normal((q, r))
        self.weights = rng.uniform(0.1, 2.0, keys.size)
        self.offset = size * rng.standard_normal(q)
        self.ridge = unit**2 * rng.uniform(0.01, 1.0, r)
        self.begin = size / unit * np.abs(rng.standard_normal((p, r)))

    @property
    def places(self):
        return self.starts, self.others


SETTINGS = {
    "plain": (False, False, False),
    "weights": (True, False, False),
    "offset": (False, True, False),
    "ridge": (False, False, True),
    "all": (True, True, True),
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)


def asked(g, setting):
    """The arguments of a small regression: values, weights, offset, features, ridge."""
    weighted, shifted, ridged = SETTINGS[setting]
    weights, offset = g.weights if weighted else NONE, g.offset if shifted else NONE
    return g.values, weights, offset, g.right, g.ridge if ridged else np.zeros(g.r)


def value_of(x, i, g, problem):
    """What x makes of row i, summed up from residuals."""
    A, t = naive.row_system(np.flatnonzero(g.rows == i), *problem, g.cols)
    return float(np.sum((A @ x - t) ** 2))


def nothing(g, problem):
    """What x = 0 leaves, row by row: the size in which minima are exact."""
    return np.array([value_of(np.zeros(g.r), i, g, problem) for i in range(g.p)])


def everything(g):
    """All that goes through `_run`, one after the other."""
    return [
        kernels.sampled_products(g.left, g.right, *g.places),
        kernels.scattered(g.values, g.right, *g.places),
        *kernels.row_solves(*asked(g, "all"), *g.places),
        *kernels.row_solves_nonnegative(*asked(g, "all"), np.full(g.r, True), *g.places, g.begin),
        kernels.row_grams(g.weights, g.right, *g.places, 0, g.p),
        kernels.row_grams(g.weights, g.right, *g.places, g.p // 3, g.p),
    ]


DEPENDENT = {
    "a multiple": lambda F: np.concatenate([F, -2.0 * F[:, :1]], axis=1),
    "a copy": lambda F: np.concatenate([F, F[:, -1:]], axis=1),
    "a sum": lambda F: np.concatenate([F, F.sum(axis=1, keepdims=True)], axis=1),
    "zeros": lambda F: np.concatenate([np.zeros((len(F), 1)), F], axis=1),
    "all zeros": np.zeros_like,
    "all equal": np.ones_like,
}
