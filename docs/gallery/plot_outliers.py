"""
Wrong numbers in the data: Huber's loss
=======================================

A tenth of the outcomes are typed wrongly. Least squares follows them, and picks other features for it; Huber's loss
counts large residuals by their size, not by their square.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import fewatoms as fa
from fewatoms.display import AtomsDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y), len(y) // 10, replace=False)
typed = y.to_numpy(copy=True)
typed[wrong] *= 10  # a digit too many

atoms = fa.SignedOneHot(10)
clean = fa.fit(X, y, atoms=atoms, k=4, free="intercept")
squares = fa.fit(X, typed, atoms=atoms, k=4, free="intercept")
huber = fa.fit(X, typed, atoms=atoms, k=4, free="intercept", loss=fa.Huber(delta=70.0))

# %%
# Which features, with their shares of what is explained: Huber's loss takes those of the clean data.

fig, axes = plt.subplots(1, 3, figsize=(10, 2.2), layout="constrained")
for ax, name, s in zip(axes, ("clean data", "least squares", "Huber"), (clean, squares, huber), strict=True):
    AtomsDisplay.from_solution(s).plot(ax)
    ax.set_title(name)
plt.show()

# %%
# Predictions against the outcomes as they were before somebody typed them.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, name, s in zip(axes, ("least squares", "Huber"), (squares, huber), strict=True):
    said = s.predict(X)
    error = np.median(np.abs(said - y))
    ax.scatter(y, said, s=8, color="C0", label="typed right")
    ax.scatter(y.iloc[wrong], said[wrong], s=14, color="C3", marker="x", label="typed wrong")
    ax.plot([25, 350], [25, 350], color="k", linewidth=0.8)
    ax.set(xlabel="true outcome", title=f"{name}: median error {error:.0f}")
axes[0].set_ylabel("prediction")
axes[0].legend()
plt.show()
