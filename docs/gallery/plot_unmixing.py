"""
Unmixing: which pigments are in a painting, and how much of each
================================================================

A camera with 60 bands looks at a painting. Every pixel is a mixture of at most three of the 24 pigments of a library;
amounts are not negative. The regions of the painting are those of a photograph.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import fewatoms as fa
from fewatoms.display import SpectraDisplay

rng = np.random.default_rng(0)
bands, pigments = np.linspace(0, 1, 60), 24
centres, widths = rng.random((pigments, 3)), 0.03 + 0.12 * rng.random((pigments, 3))
bumps = np.exp(-(((bands[:, None, None] - centres) / widths) ** 2) / 2)
library = 0.2 + bumps @ np.ones(3) * (0.5 + rng.random(pigments))  # a column for each pigment
used = [3, 9, 14, 20]

# %%
# Shares of four pigments follow brightness and colours of a flower.

photo = load_sample_image("flower.jpg")[40:424:12, 200:584:12] / 255.0
h, w, _ = photo.shape
weights = np.concatenate([photo**2, 1 - photo.mean(axis=2, keepdims=True)], axis=2).reshape(-1, 4)
weights[weights < np.sort(weights, axis=1)[:, [1]]] = 0  # three at a time
shares = weights / weights.sum(axis=1, keepdims=True)
scene = library[:, used] @ shares.T
scene += 0.002 * np.linalg.norm(scene) / np.sqrt(scene.size) * rng.standard_normal(scene.shape)

answers = fa.fit_many(library, scene, atoms=fa.NonnegativeOneHot(pigments), k=3)
amounts = answers.sparse.toarray()
found = np.argsort(-amounts.sum(axis=1))[:4]
print(f"{scene.shape[1]} pixels; pigments used most: {sorted(found.tolist())}, planted: {used}")
print(f"error of the shares: {np.abs(amounts[used].T - shares).mean():.4f}")

# %%
# One pixel: its spectrum, and what each pigment adds to it.

fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
SpectraDisplay.from_solution(answers[h * w // 2 + w // 2]).plot(ax, x=bands)
ax.set(xlabel="band", ylabel="brightness")
plt.show()

# %%
# All pixels: the shares of the pigments as they were mixed, and as they were found.

fig, axes = plt.subplots(2, 4, figsize=(10, 5.2), layout="constrained")
for i, pigment in enumerate(used):
    for ax, picture in zip(axes[:, i], (shares[:, i], amounts[pigment]), strict=True):
        ax.imshow(picture.reshape(h, w), cmap="magma", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    axes[0, i].set_title(f"pigment {pigment}")
axes[0, 0].set_ylabel("true share")
axes[1, 0].set_ylabel("found")
plt.show()
