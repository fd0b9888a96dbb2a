"""Given k, the smallest misfit."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Given k, smallest misfit"
    min_benchopt_version = "1.6"
    sampling_strategy = "run_once"

    def set_data(self, X, y, k):
        self.X, self.y, self.k = X, y, k

    def get_objective(self):
        return {"X": self.X, "y": self.y, "k": self.k}

    def get_one_result(self):
        return {"beta": np.zeros(self.X.shape[1])}

    def evaluate_result(self, beta):
        """|y - X beta| / |y|; an answer with more than k columns is none."""
        beta = np.asarray(beta, dtype=np.float64)
        atoms = int(np.count_nonzero(beta))
        misfit = float(np.linalg.norm(self.y - self.X @ beta) / np.linalg.norm(self.y))
        return {"value": misfit if atoms <= self.k else np.inf, "atoms": atoms}
