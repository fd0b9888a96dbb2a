"""
Three growers of wine, three numbers
====================================

178 wines of three growers, thirteen chemical measurements. One set of features serves all classes: an atom is a feature
with a coefficient for each grower.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import fewatoms as fa

data = load_wine(as_frame=True)
grower = np.array(["first", "second", "third"])[data.target]
X = (data.data - data.data.mean()) / data.data.std()

s = fa.fit(X, grower, atoms=fa.SignedOneHot(13), k=3, loss=fa.Multinomial(), free="intercept", ridge=0.01)
print(s.summary())

# %%
# The coefficients, and the wines in the two strongest of the chosen features.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
places = np.arange(len(s.names))
for i, name in enumerate(s.classes):
    left.barh(places + 0.27 * (1 - i), s.coefficients[:, i], height=0.25, label=name)
left.set_yticks(places, [name.replace("_", " ") for name in s.names])
left.axvline(0, color="k", linewidth=0.8)
left.set(xlabel="coefficient (rows sum to zero)")
left.legend(title="grower", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

one, other = s.names[:2]
guess = s.classes[s.predict_proba(X).argmax(axis=1)]
for name in s.classes:
    of = grower == name
    right.scatter(data.data.loc[of, one], data.data.loc[of, other], s=18, label=name)
wrong = guess != grower
right.scatter(data.data.loc[wrong, one], data.data.loc[wrong, other], s=90, facecolor="none", edgecolor="k")
right.set(
    xlabel=one.replace("_", " "), ylabel=other.replace("_", " "), title=f"{wrong.sum()} of {len(X)} wrong (rings)"
)
plt.show()
