import numpy as np
from benchopt import BaseSolver

import fewatoms as fa


class Solver(BaseSolver):
    name = "fewatoms"
    sampling_strategy = "run_once"
    requirements = ["pip::fewatoms"]
    parameters = {"biases": [True, False]}

    def set_objective(self, rows, cols, values, shape, rank):
        self.seen, self.values, self.shape, self.rank = (rows, cols), values, shape, rank

    def run(self, _):
        M = fa.Sampling(*self.seen, self.shape)
        free = {"free": "biases"} if self.biases else {}
        self.solution = fa.fit(M, self.values, atoms=fa.RankOne(*self.shape), k=self.rank, **free)

    def get_result(self):
        places = np.indices(self.shape).reshape(2, -1)
        return {"matrix": self.solution.predict(*places).reshape(self.shape)}
