from benchopt import BaseSolver

import fewatoms as fa


class Solver(BaseSolver):
    name = "fewatoms"
    sampling_strategy = "run_once"
    requirements = ["pip::fewatoms"]

    def set_objective(self, X, y, k):
        self.X, self.y, self.k = X, y, k

    def run(self, _):
        self.beta = fa.fit(self.X, self.y, atoms=fa.SignedOneHot(self.X.shape[1]), k=self.k).x

    def get_result(self):
        return {"beta": self.beta}
