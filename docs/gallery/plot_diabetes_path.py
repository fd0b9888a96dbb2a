"""
Which measurements predict diabetes, and how many of them?
==========================================================

Ten measurements of 442 patients, with their squares and products: 64 features. A path fits every number of features at
once; rows left out say how many pay.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fewatoms as fa
from fewatoms.display import PathDisplay

data = load_diabetes(as_frame=True, scaled=False)
base = (data.data - data.data.mean()) / data.data.std()
table = base.copy()
for i, a in enumerate(base):
    for b in list(base)[i:]:
        if not (a == b == "sex"):  # two values only: its square says nothing
            table[a + "²" if a == b else f"{a}·{b}"] = base[a] * base[b]
print(table.shape)

# %%
# One path for all sizes, with an intercept that does not count as a feature.

path = fa.fit_path(table, data.target, atoms=fa.SignedOneHot(table.shape[1]), k=range(1, 21), free="intercept")
k = path.choose_k("cv", rule="1se")
print(path.best.summary())

# %%
# Left: the misfit falls with every feature, the score on rows left out does not. Right: which
# features are used at each size; the dashed line is the number chosen.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
PathDisplay.from_path(path).plot(left)

used = {}
for size in path.k:
    for row in path[size].table().itertuples():
        used.setdefault(row.name, np.zeros(len(path.k)))[size - 1] = np.copysign(row.contribution, row.coefficient)
names = sorted(used, key=lambda name: (-np.count_nonzero(used[name]), name))[:14]
shade = right.pcolormesh(path.k, range(len(names)), [used[name] for name in names], cmap="RdBu_r", vmin=-0.3, vmax=0.3)
right.axvline(k, color="0.5", linestyle="--")
right.set_yticks(range(len(names)), names)
right.set(xlabel="features allowed, k", xticks=range(2, 21, 2))
right.invert_yaxis()
fig.colorbar(shade, label="share of what is explained, with sign")
plt.show()
