import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Rows of an autoregression, k coefficients of size one or Gaussian, and noise."""

    name = "planted"
    parameters = {
        "m, n, k": [(100, 200, 8), (500, 1000, 40)],
        "correlation": [0.0, 0.8],
        "coefficients": ["signs", "gaussian"],
        "seed": [0],
    }
    noise = 0.2

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.m, self.n))
        for j in range(1, self.n):
            X[:, j] = self.correlation * X[:, j - 1] + np.sqrt(1 - self.correlation**2) * X[:, j]
        X /= np.linalg.norm(X, axis=0)
        beta = np.zeros(self.n)
        signs = rng.choice([-1.0, 1.0], self.k)
        sizes = np.ones(self.k) if self.coefficients == "signs" else np.abs(rng.standard_normal(self.k))
        beta[rng.choice(self.n, self.k, replace=False)] = signs * sizes
        clean, e = X @ beta, rng.standard_normal(self.m)
        return {"X": X, "y": clean + self.noise * np.linalg.norm(clean) / np.linalg.norm(e) * e, "k": self.k}
