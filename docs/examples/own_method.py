"""A method of your own: `open(problem, budgets)` gives a job, or None where the problem is not its own.

Here: iterative hard thresholding. The run around it keeps the best answer, stops, counts, calls back and certifies.
"""

import numpy as np

import fewatoms as fa
from fewatoms.candidates import DualPoint, Iterate
from fewatoms.methods import Job, Method, Pace
from fewatoms.retrieval import reduced_fit


class HardThresholding(Method):
    """x <- the k largest entries of x + M*(b - Mx) / L, for sparse vectors and least squares."""

    def __init__(self, lipschitz):
        self.lipschitz = lipschitz

    def open(self, problem, budgets):
        return Thresholds(problem, budgets, self) if problem.loss.squares and problem.atoms.listing() else None


class Thresholds(Job):
    pace = Pace(patience=30)

    def __init__(self, problem, budgets, method):
        super().__init__(problem, budgets)
        self.lipschitz = method.lipschitz

    def courses(self):
        return [[k] for k in self.budgets]  # the stream depends on k

    def iterates(self, course):
        problem, (budget,) = self.problem, course
        x = np.zeros(problem.atoms.n)
        while True:
            y = problem.loss.gradient(problem.b - problem.M.apply(x))
            z = problem.M.adjoint(y)
            sigma = problem.atoms.support(z)
            moved = x + z / self.lipschitz
            yield Iterate(DualPoint(y, z, sigma, fa.P1(problem, sigma)), at=problem.atoms.expose(moved, budget.k))
            x = np.zeros_like(x)
            top = np.argsort(-np.abs(moved))[: budget.k]
            x[top] = moved[top]

    def retrieve(self, iterate, budget):
        return reduced_fit(self.problem, iterate.at)


def main():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((100, 200)) / 10
    x = np.zeros(200)
    x[rng.choice(200, 5, replace=False)] = rng.standard_normal(5) + 2
    method = HardThresholding(np.linalg.norm(M, 2) ** 2)
    s = fa.fit(M, M @ x, atoms=fa.SignedOneHot(200), k=5, misfit=1e-8, method=method)
    print(s.message)
    return x, s


if __name__ == "__main__":
    main()
