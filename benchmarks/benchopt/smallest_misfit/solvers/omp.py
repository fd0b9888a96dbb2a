from benchopt import BaseSolver
from sklearn.linear_model import OrthogonalMatchingPursuit


class Solver(BaseSolver):
    name = "OMP"
    sampling_strategy = "run_once"
    requirements = ["scikit-learn"]

    def set_objective(self, X, y, k):
        self.X, self.y = X, y
        self.model = OrthogonalMatchingPursuit(n_nonzero_coefs=k, fit_intercept=False)

    def run(self, _):
        self.model.fit(self.X, self.y)

    def get_result(self):
        return {"beta": self.model.coef_}
