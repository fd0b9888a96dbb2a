import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """The mean of each column: what one would do without."""

    name = "column means"
    sampling_strategy = "run_once"
    requirements = ["numpy"]

    def set_objective(self, rows, cols, values, shape, rank):
        self.cols, self.values, self.shape = cols, values, shape

    def run(self, _):
        count = np.bincount(self.cols, minlength=self.shape[1])
        total = np.bincount(self.cols, weights=self.values, minlength=self.shape[1])
        self.means = np.where(count > 0, total / np.maximum(count, 1), self.values.mean())

    def get_result(self):
        return {"matrix": np.broadcast_to(self.means, self.shape).copy()}
