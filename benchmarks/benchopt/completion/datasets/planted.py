import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """A matrix of low rank, a share of its entries seen with noise."""

    name = "planted"
    parameters = {"p, q": [(300, 200), (2000, 1000)], "rank": [5], "seen": [0.2], "noise": [0.1], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        p, q = self.p, self.q
        whole = rng.standard_normal((p, self.rank)) @ rng.standard_normal((self.rank, q)) / np.sqrt(self.rank)
        seen = rng.random(whole.shape) < self.seen
        rows, cols = np.nonzero(seen)
        values = whole[seen] + self.noise * rng.standard_normal(rows.size)
        hidden = (*np.nonzero(~seen), whole[~seen])
        return {
            "rows": rows, "cols": cols, "values": values, "shape": (p, q), "rank": self.rank, "hidden": hidden,
        }  # fmt: skip
