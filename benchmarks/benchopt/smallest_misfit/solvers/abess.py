from abess.linear import LinearRegression
from benchopt import BaseSolver


class Solver(BaseSolver):
    """A path through all sizes up to k, or k at once."""

    name = "abess"
    sampling_strategy = "run_once"
    requirements = ["pip::abess"]
    parameters = {"path": [True, False]}

    def set_objective(self, X, y, k):
        self.X, self.y = X, y
        sizes = list(range(1, k + 1)) if self.path else [k]
        self.model = LinearRegression(support_size=sizes, fit_intercept=False, ic_type="loss")

    def run(self, _):
        self.model.fit(self.X, self.y)

    def get_result(self):
        return {"beta": self.model.coef_.ravel()}
