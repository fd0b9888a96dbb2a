import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Holes filled with the means of their columns, then over and over by the truncated decomposition of the whole."""

    name = "repeated SVD"
    sampling_strategy = "run_once"
    requirements = ["numpy"]
    parameters = {"sweeps": [100]}

    def set_objective(self, rows, cols, values, shape, rank):
        self.X = np.full(shape, np.nan)
        self.X[rows, cols] = values
        self.rank = rank

    def run(self, _):
        holes = np.isnan(self.X)
        seen = np.maximum((~holes).sum(axis=0), 1)
        filled = np.where(holes, np.nansum(self.X, axis=0) / seen, self.X)
        for _ in range(self.sweeps):
            U, s, Vt = np.linalg.svd(filled, full_matrices=False)
            self.matrix = (U[:, : self.rank] * s[: self.rank]) @ Vt[: self.rank]
            filled[holes] = self.matrix[holes]

    def get_result(self):
        return {"matrix": self.matrix}
