"""A matrix from some of its entries."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Matrix completion"
    min_benchopt_version = "1.6"
    sampling_strategy = "run_once"

    def set_data(self, rows, cols, values, shape, rank, hidden):
        """hidden : (rows, cols, values) that nobody is shown."""
        self.rows, self.cols, self.values = rows, cols, values
        self.shape, self.rank, self.hidden = shape, rank, hidden

    def get_objective(self):
        return {"rows": self.rows, "cols": self.cols, "values": self.values, "shape": self.shape, "rank": self.rank}

    def get_one_result(self):
        return {"matrix": np.full(self.shape, self.values.mean())}

    def evaluate_result(self, matrix):
        """The error over entries that were not shown, and over those that were."""
        rows, cols, values = self.hidden
        return {
            "value": _rmse(matrix[rows, cols], values),
            "seen_rmse": _rmse(matrix[self.rows, self.cols], self.values),
        }


def _rmse(found, true):
    return float(np.sqrt(np.mean((found - true) ** 2)))
