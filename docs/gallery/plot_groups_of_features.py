"""
Groups: a measurement enters with all its curves, or not at all
===============================================================

How a measurement acts may be bent. Each of the diabetes measurements comes as four columns, a straight line and three
bends; they are a group, and k counts groups.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import SplineTransformer

import fewatoms as fa
from fewatoms.display import AtomsDisplay

data = load_diabetes(as_frame=True, scaled=False)
frame, target = data.data, data.target.to_numpy()
columns, groups, curves = {}, {}, {}
for name in frame:
    if name == "sex":
        bent = (frame[[name]] - frame[name].mean()).to_numpy()
    else:
        curves[name] = SplineTransformer(4, degree=3, knots="quantile", include_bias=False).fit(
            frame[[name]].to_numpy()
        )
        bent = curves[name].transform(frame[[name]].to_numpy())
    groups[name] = [f"{name} {i}" for i in range(bent.shape[1])]
    columns |= dict(zip(groups[name], bent.T, strict=True))
table = pd.DataFrame(columns)

path = fa.fit_path(table, target, atoms=fa.Groups(groups), k=range(1, 9), free="intercept", ridge=0.1)
print("groups chosen:", path.choose_k("cv", rule="1se"))
s = path.best

# %%
# Groups by the size of their coefficients, with their shares of what is explained, and what the answer says of each
# measurement that it uses.

x = dict(zip(table.columns, s.x, strict=True))
used = [name for name in s.names if name in curves]
fig = plt.figure(figsize=(3.2 * (1 + len(used)), 3.2), layout="constrained")
beside, curved = fig.subfigures(1, 2, width_ratios=[1, len(used)])
AtomsDisplay.from_solution(s).plot(beside.subplots())
axes = curved.subplots(1, len(used), sharey=True, squeeze=False)[0]
for ax, name in zip(axes, used, strict=True):
    at = np.linspace(*np.quantile(frame[name], [0.01, 0.99]), 100)
    effect = curves[name].transform(at[:, None]) @ [x[column] for column in groups[name]]
    ax.plot(at, effect - effect.mean(), linewidth=2)
    ax.plot(frame[name], np.full(len(frame), -95), "|", color="0.6", markersize=6)
    ax.set(xlabel=name, ylim=(-100, 130))
axes[0].set_ylabel("effect on progression")
plt.show()
