"""A loss of your own: `value`, `gradient`, `curvature`, `conjugate` and `smoothness`. Here: pseudo-Huber.

f(r) = sum_i delta^2 (sqrt(1 + (r_i / delta)^2) - 1), smooth everywhere; its conjugate is finite for |y_i| < delta.
"""

import math

import numpy as np

import fewatoms as fa
from fewatoms.testing import check_loss


class PseudoHuber(fa.Loss):
    def __init__(self, delta):
        self.delta = delta

    @property
    def smoothness(self):
        return 1.0

    def _root(self, r):
        return np.sqrt(1.0 + (r / self.delta) ** 2)

    def value(self, r):
        return float(np.sum(self.delta**2 * (self._root(r) - 1.0)))

    def gradient(self, r):
        return r / self._root(r)

    def curvature(self, r):
        return self._root(r) ** -3

    def conjugate(self, y):
        t = np.abs(y) / self.delta
        if t.max(initial=0.0) > 1:
            return math.inf
        return float(np.sum(self.delta**2 * (1.0 - np.sqrt(np.maximum(1.0 - t * t, 0.0)))))


def main():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((120, 200))
    x = np.zeros(200)
    x[[5, 50, 150]] = [3.0, -2.0, 1.0]
    b = M @ x + 0.05 * rng.standard_normal(120)
    b[:12] += 30 * rng.standard_normal(12)  # a tenth of the data is wrong
    check_loss(PseudoHuber(0.2), m=20)
    robust = fa.fit(M, b, atoms=fa.SignedOneHot(200), k=3, loss=PseudoHuber(0.2))
    plain = fa.fit(M, b, atoms=fa.SignedOneHot(200), k=3)
    print(f"pseudo-Huber: error {np.abs(robust.x - x).max():.3f}; least squares: {np.abs(plain.x - x).max():.3f}")
    return x, robust, plain


if __name__ == "__main__":
    main()
