"""An oracle of your own: any object whose `iterates(problem)` yields dual points.

Here: projected gradient descent on the loss over nonnegative x, straight from the textbook. `fit` asks for the next
point only as long as it needs one. For a loop that makes plain residuals there is a shorter way, `FromIterates`.
"""

import numpy as np

import fewatoms as fa
from fewatoms.candidates import DualPoint


class ProjectedGradient:
    """x <- max(x + M*y / L, 0), y = grad f(b - Mx): the relaxation without any penalty, (P1) with lambda = 0."""

    def __init__(self, lipschitz):
        self.lipschitz = lipschitz

    def iterates(self, problem):
        x = np.zeros(problem.atoms.n)
        while True:
            residual = problem.b - problem.M.apply(x)
            y = problem.loss.gradient(residual)
            z = problem.M.adjoint(y)
            support = problem.atoms.support(z)
            yield DualPoint(y, z, support, fa.P1(problem, 0.0), problem.loss.value(residual), problem.atoms.gauge(x))
            x = np.maximum(x + z / self.lipschitz, 0.0)


def residuals(M, b, lipschitz):
    """The same as a plain generator, for `FromIterates`."""
    x = np.zeros(M.shape[1])
    while True:
        y = b - M @ x
        yield y
        x = np.maximum(x + M.T @ y / lipschitz, 0.0)


def main():
    rng = np.random.default_rng(0)
    M = rng.random((60, 100))
    x = np.zeros(100)
    x[rng.choice(100, 5, replace=False)] = 1 + rng.random(5)
    b, lipschitz = M @ x, np.linalg.norm(M, 2) ** 2
    found = []
    for oracle in (ProjectedGradient(lipschitz), fa.FromIterates(residuals(M, b, lipschitz))):
        s = fa.fit(M, b, atoms=fa.NonnegativeCone(100), k=5, misfit=1e-6, method=fa.General(oracle))
        print(f"{type(oracle).__name__}: {s.message}")
        print(
            f"  atoms {sorted(s.indices.tolist())}, planted {np.flatnonzero(x).tolist()}, {s.iterations} dual vectors"
        )
        found.append(s)
    return x, *found


if __name__ == "__main__":
    main()
