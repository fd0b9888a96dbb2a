"""
A picture from its diffraction patterns
=======================================

A detector sees how bright diffracted light is, and loses its phase. With a few known masks before the picture, the
brightness alone gives it back: one atom of the set of semidefinite rank-one matrices, which are never formed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import fewatoms as fa
from fewatoms.display import ConvergenceDisplay

photo = load_sample_image("flower.jpg").mean(axis=2)[40:424:8, 200:584:8] / 255
h, w = photo.shape
rng = np.random.default_rng(0)
masks = rng.choice([1, -1, 1j, -1j], size=(6, h, w))
light = fa.operators.CodedDiffraction(masks)
patterns = np.abs(light @ photo.ravel()) ** 2
patterns += 0.001 * patterns.mean() * rng.standard_normal(patterns.size)

trace = fa.callbacks.Trace()
s = fa.fit(fa.Quadratic(light), patterns, atoms=fa.PSDRankOne(h * w), k=1, callback=trace)
found = fa.phase.align(s.left[:, 0], photo.ravel().astype(complex)).real.reshape(h, w)
print(f"{patterns.size} brightnesses for {photo.size} pixels")
print(f"relative error of the picture: {fa.phase.relative_error(s.left[:, 0], photo.ravel().astype(complex)):.2e}")
print(f"{s.products} products with the operator")

# %%

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
axes[0].imshow(photo, cmap="gray", vmin=0, vmax=1)
axes[1].imshow(np.log(np.fft.fftshift(np.maximum(patterns[: h * w], 1e-6).reshape(h, w))), cmap="inferno")
axes[2].imshow(found, cmap="gray", vmin=0, vmax=1)
for ax, title in zip(axes, ("picture", "one of six patterns (logarithm)", "found"), strict=True):
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# How the run came to it.

ConvergenceDisplay.from_solution(s, trace).plot()
plt.show()
