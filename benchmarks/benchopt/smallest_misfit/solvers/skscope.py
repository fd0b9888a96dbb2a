import numpy as np
from benchopt import BaseSolver
from skscope import HTPSolver, ScopeSolver


class Solver(BaseSolver):
    name = "skscope"
    sampling_strategy = "run_once"
    requirements = ["pip::skscope"]
    parameters = {"search": ["scope", "htp"]}

    def set_objective(self, X, y, k):
        self.X, self.y = X, y
        kind = {"scope": ScopeSolver, "htp": HTPSolver}[self.search]
        self.solver = kind(X.shape[1], k, numeric_solver=self._fitted)

    def _fitted(self, objective, gradient, start, support, data):
        beta = np.zeros(self.X.shape[1])
        beta[support] = np.linalg.lstsq(self.X[:, support], self.y)[0]
        return float(np.sum((self.y - self.X @ beta) ** 2)), beta

    def run(self, _):
        X, y = self.X, self.y
        self.solver.solve(lambda b: np.sum((y - X @ b) ** 2), gradient=lambda b: -2 * X.T @ (y - X @ b))

    def get_result(self):
        return {"beta": self.solver.params}
