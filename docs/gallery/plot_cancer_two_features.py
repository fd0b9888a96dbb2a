"""
Two measurements that tell tumours apart
========================================

569 tumours, 30 measurements each, benign or malignant. A doctor can look at two numbers, not at thirty: which two?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewatoms.estimators import SparseClassifier

data = load_breast_cancer(as_frame=True)
labels = data.target_names[data.target]

model = SparseClassifier(k=2, ridge=0.01).fit(data.data, labels)
first, second = model.feature_names_in_[model.selected_]
print(model.solution_.summary())

# %%
# Two of thirty features, and how often they are right on patients who were not seen, beside all thirty.

for k in (1, 2, 3, 30):
    few = make_pipeline(StandardScaler(), SparseClassifier(k=k, ridge=0.01))
    print(f"{k:2d} features: {cross_val_score(few, data.data, labels, cv=5).mean():.1%} right")

# %%
# With two features the model can be drawn: the shade is the probability that it gives to a malignant tumour.

frame = data.data
x = np.linspace(frame[first].min(), frame[first].max(), 200)
y = np.linspace(frame[second].min(), frame[second].max(), 200)
grid = np.tile(frame.mean().to_numpy(), (x.size * y.size, 1))
grid[:, model.selected_[0]], grid[:, model.selected_[1]] = (side.ravel() for side in np.meshgrid(x, y))
malignant = list(model.classes_).index("malignant")
shade = model.predict_proba(pd.DataFrame(grid, columns=frame.columns))

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
probability = shade[:, malignant].reshape(y.size, x.size)
drawn = ax.contourf(x, y, probability, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.7)
for name, marker, color in (("benign", "o", "white"), ("malignant", "^", "black")):
    of = labels == name
    where = frame.loc[of, first], frame.loc[of, second]
    ax.scatter(*where, s=16, c=color, marker=marker, edgecolor="k", linewidth=0.4, label=name)
ax.set(xlabel=first, ylabel=second)
ax.legend(loc="upper right")
fig.colorbar(drawn, label="probability of malignant")
plt.show()
