import numpy as np
from benchopt import BaseSolver
from sklearn.linear_model import lasso_path


class Solver(BaseSolver):
    """A path of the 1-norm, each point cut to its k largest coefficients and fitted anew; the best is kept."""

    name = "lasso path"
    sampling_strategy = "run_once"
    requirements = ["scikit-learn"]
    parameters = {"points": [20]}

    def set_objective(self, X, y, k):
        self.X, self.y, self.k = np.asfortranarray(X), y, k

    def run(self, _):
        least = np.inf
        self.beta = np.zeros(self.X.shape[1])
        for point in lasso_path(self.X, self.y, alphas=self.points, eps=1e-3)[1].T:
            support = np.argsort(-np.abs(point))[: min(self.k, np.count_nonzero(point))]
            fitted = np.linalg.lstsq(self.X[:, support], self.y)[0]
            misfit = np.linalg.norm(self.y - self.X[:, support] @ fitted)
            if misfit < least:
                least, self.beta = misfit, np.zeros(self.X.shape[1])
                self.beta[support] = fitted

    def get_result(self):
        return {"beta": self.beta}
