import numpy as np
from benchopt import BaseSolver
from cmfrec import CMF
from scipy.sparse import coo_matrix


class Solver(BaseSolver):
    name = "cmfrec"
    sampling_strategy = "run_once"
    requirements = ["pip::cmfrec"]
    parameters = {"biases": [True, False], "penalty": [0.1, 10.0]}

    def set_objective(self, rows, cols, values, shape, rank):
        self.shape = shape
        self.X = coo_matrix((values, (rows, cols)), shape=shape)
        own = {"user_bias": self.biases, "item_bias": self.biases, "center": self.biases}
        self.model = CMF(k=rank, lambda_=self.penalty, nthreads=1, verbose=False, **own)

    def run(self, _):
        self.model.fit(self.X)

    def get_result(self):
        places = np.indices(self.shape).reshape(2, -1)
        return {"matrix": self.model.predict(*places).reshape(self.shape)}
