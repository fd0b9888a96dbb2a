import numpy as np
from benchopt import BaseDataset

from fewatoms import datasets


class Dataset(BaseDataset):
    """Monthly sea temperatures, 61 years by 12 months, three tenths of them hidden."""

    name = "sea_temperatures"
    parameters = {"rank": [2], "seed": [0, 1]}

    def get_data(self):
        X = datasets.sea_temperatures().values
        seen = np.random.default_rng(self.seed).random(X.shape) >= 0.3
        seen[0], seen[:, 0] = True, True
        rows, cols = np.nonzero(seen)
        return {
            "rows": rows, "cols": cols, "values": X[seen], "shape": X.shape, "rank": self.rank,
            "hidden": (*np.nonzero(~seen), X[~seen]),
        }  # fmt: skip
