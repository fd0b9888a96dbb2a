"""A bundle method for (D2): a cutting-plane model of the support function, kept as images of atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import FloatArray
from fewatoms.candidates import DualPoint
from fewatoms.oracles.base import need_bounded
from fewatoms.oracles.conditional_gradient import Walk
from fewatoms.problem import Problem
from fewatoms.relaxations import P2


class Bundle:
    """minimise f*(y) - <b, y> + tau support(M*y), with the support function replaced by max over known atoms <Ma, y>.

    f* is strongly convex, so the model needs no proximal term of its own. Its dual is the loss over the convex hull of
    the known atoms, min f(b - sum c_i M a_i) over c >= 0, sum c <= tau: a small problem solved at each step. The state
    is at most `size` images of length m; the least used two are merged into one when there are more.

    Parameters
    ----------
    tau : float
        The gauge allowed. `LevelSet` sets its own and needs none here.
    size : int
        How many images are kept at most.
    tie : float
        As in ConditionalGradient.
    """

    def __init__(self, tau: float | None = None, *, size: int = 50, tie: float = 0.0) -> None:
        self.tau = None if tau is None else _checks.number("tau", tau, positive=True)
        self.size = _checks.integer("size", size, 2)
        self.tie = _checks.number("tie", tie)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if self.tau is None:
            raise ValueError("tau must be given to use Bundle as an oracle of its own; got None")
        relaxation = P2(problem, self.tau)
        state = self.start(problem)
        while True:
            state.look()
            yield state.point(relaxation)
            state.step(self.tau)

    def start(self, problem: Problem) -> BundleWalk:
        """The state at x = 0."""
        need_bounded(problem, self)
        return BundleWalk(problem, self.tie, self.size)


class BundleWalk(Walk):
    """The moving state of the bundle method: images of unit-gauge points and their weights."""

    def __init__(self, problem: Problem, tie: float, size: int) -> None:
        super().__init__(problem, tie)
        self.size = size
        self.images: FloatArray = np.zeros((problem.m, 0))
        self.weights: FloatArray = np.zeros(0)

    def step(self, tau: float) -> None:
        face = self.towards(tau)
        if face.dim:
            fresh = face.measure(self.problem.M, face.mean_atom())
            self.images = np.column_stack([self.images, fresh])
            self.weights = np.append(self.weights, 0.0)
        self.weights = self._master(tau)
        used = self.weights > 0
        self.images, self.weights = self.images[:, used], self.weights[used]
        while self.weights.size > self.size - 1:
            self._merge_two()
        self.image = self.images @ self.weights
        self.gauge = float(self.weights.sum())

    def shrink(self, tau: float) -> None:
        if self.gauge > tau:
            self.weights *= tau / self.gauge
        super().shrink(tau)

    def _merge_two(self) -> None:
        a, b = np.argsort(self.weights)[:2]
        total = self.weights[a] + self.weights[b]
        self.images[:, a] = (self.weights[a] * self.images[:, a] + self.weights[b] * self.images[:, b]) / total
        self.weights[a] = total
        self.images, self.weights = np.delete(self.images, b, axis=1), np.delete(self.weights, b)

    def _master(self, tau: float) -> FloatArray:
        """min f(b - B c) over c >= 0, sum c <= tau, by accelerated projected gradients on the small Gram matrix."""
        B, loss, b = self.images, self.problem.loss, self.problem.b
        if B.shape[1] == 0:
            return np.zeros(0)
        with linalg.single_thread():
            lipschitz = loss.smoothness * float(np.linalg.eigvalsh(B.T @ B)[-1])
            if lipschitz <= 0:
                return np.zeros(B.shape[1])
            c = v = project_to_simplex(self.weights, tau)
            momentum, value = 1.0, loss.value(b - B @ c)
            for _ in range(400):
                slope = -(B.T @ loss.gradient(b - B @ v))
                c_next = project_to_simplex(v - slope / lipschitz, tau)
                value_next = loss.value(b - B @ c_next)
                if value_next > value:  # the momentum overshot: restart from the best point
                    if momentum == 1.0:
                        break
                    v, momentum = c, 1.0
                    continue
                momentum_next = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
                v = c_next + (momentum - 1) / momentum_next * (c_next - c)
                done = value - value_next <= 1e-13 * abs(value) and np.abs(c_next - c).max() <= 1e-10 * max(tau, 1e-300)
                c, momentum, value = c_next, momentum_next, value_next
                if done:
                    break
        return c


def project_to_simplex(c: FloatArray, tau: float) -> FloatArray:
    """The nearest point with c >= 0 and sum c <= tau."""
    positive = np.maximum(c, 0.0)
    if positive.sum() <= tau:
        return positive
    ordered = np.sort(c)[::-1]
    excess = (np.cumsum(ordered) - tau) / np.arange(1, c.size + 1)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.maximum(c - shift, 0.0)
