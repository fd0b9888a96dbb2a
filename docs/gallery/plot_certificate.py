"""
What a certificate shows
========================

A dual vector y looks at every feature: the size of M*y there says how well it is aligned. Features below the threshold
are in no solution of the relaxation; that is proven, by the duality gap, for this y.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import fewatoms as fa

data = load_breast_cancer(as_frame=True)
X = (data.data - data.data.mean()) / data.data.std()
target = data.target.to_numpy(dtype=float)  # 0 and 1, as numbers
atoms = fa.SignedOneHot(30)

s = fa.fit(X, target, atoms=atoms, k=5, free="intercept")
print(s.certificate)

# %%
# The certificate is about the relaxation at its own penalty, over atoms in units of their images. Its safe set has all
# features that any solution of it can use; those that are outside are out for good, at this penalty. The answer
# itself is not bound by this: k features that fit best may have one that the relaxation does without.

c = s.certificate
print(f"gap {c.gap:.3g}, epsilon {c.epsilon:.3g}, threshold {c.threshold:.3g}; {len(c.safe_set)} features are safe")
problem = c.problem
z = problem.M.adjoint(c.y)
units = np.linalg.norm(X - X.mean(), axis=0)
aligned = np.abs(z) / units

order = np.argsort(-aligned)
safe = set(np.ravel(c.safe_set).tolist())
colors = ["C3" if i in set(s.indices) else "C0" if i in safe else "0.75" for i in order]
fig, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
ax.bar(range(30), aligned[order], color=colors)
ax.axhline(c.threshold, color="k", linestyle="--", linewidth=1)
ax.set_xticks(range(30), X.columns[order], rotation=90, fontsize="small")
ax.set_ylabel("|M*y|, in units of the images")
ax.set_title("red: in the answer; blue: safe set; grey: proven to be in no solution of the relaxation")
plt.show()
