"""
Dead pixels: an image as a sum of waves and points
==================================================

A photograph is made of few waves, dead pixels of few points. A sum of two sets tells them apart, with nothing known of
how many there are of either.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator
from sklearn.datasets import load_sample_image

import fewatoms as fa

photo = load_sample_image("flower.jpg").mean(axis=2)[40:424:3, 200:584:3] / 255
h, w = photo.shape
n = photo.size
rng = np.random.default_rng(0)
spoilt = photo.copy()
dead = rng.choice(n, n // 25, replace=False)
spoilt.flat[dead] = rng.integers(0, 2, dead.size)  # black or white

waves = LinearOperator(
    (n, n),
    matvec=lambda c: idctn(c.reshape(h, w), norm="ortho").ravel(),
    rmatvec=lambda x: dctn(x.reshape(h, w), norm="ortho").ravel(),
    dtype=float,
)
both = fa.Mapped(waves, fa.SignedOneHot(n)) + fa.SignedOneHot(n)
s = fa.fit(fa.Identity(n), spoilt.ravel(), atoms=both)
picture, points = s.parts
print(f"{picture.cardinality} waves and {points.cardinality} points for {n} pixels, {dead.size} of them dead")

# %%
# Pixels that are among the points are repaired by what the waves say there; the others stay as they are.

repaired = spoilt.copy()
repaired.flat[points.indices] = picture.x[points.indices]
for name, image in (("spoilt", spoilt), ("repaired", repaired)):
    print(f"{name}: error {np.linalg.norm(image - photo) / np.linalg.norm(photo):.1%}")

# %%

fig, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
marks = np.zeros((h, w))
marks.flat[points.indices] = points.coefficients
titles = ("spoilt", "repaired", "the part made of points")
for ax, image, title in zip(axes, (spoilt, repaired, marks), titles, strict=True):
    low, high = (-1, 1) if image is marks else (0, 1)
    ax.imshow(image, cmap="gray", vmin=low, vmax=high)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
