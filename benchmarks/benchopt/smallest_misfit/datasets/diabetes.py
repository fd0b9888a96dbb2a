from benchopt import BaseDataset

from fewatoms import datasets


class Dataset(BaseDataset):
    """Ten measurements of 442 patients with their squares and products, centred (Efron et al. 2004)."""

    name = "diabetes"
    parameters = {"k": [5, 10]}

    def get_data(self):
        d = datasets.diabetes()
        X = d.columns - d.columns.mean(axis=0)
        return {"X": X, "y": d.progression - d.progression.mean(), "k": self.k}
