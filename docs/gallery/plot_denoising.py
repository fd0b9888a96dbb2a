"""
Taking noise off a photograph, patch by patch
=============================================

Every 8 x 8 patch of the picture is explained by as few cosines as the noise allows: a misfit is what is known here, not
a penalty weight. All patches are one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import idctn
from sklearn.datasets import load_sample_image

import fewatoms as fa

photo = load_sample_image("china.jpg").mean(axis=2)[100:280:3, 192:408:3] / 255
rng = np.random.default_rng(0)
noise = 0.08
noisy = photo + noise * rng.standard_normal(photo.shape)

size = 8
eye = np.eye(size * size).reshape(-1, size, size)
cosines = np.array([idctn(one, norm="ortho").ravel() for one in eye]).T  # a column for each atom

corners = [(i, j) for i in range(0, photo.shape[0] - size + 1, 4) for j in range(0, photo.shape[1] - size + 1, 4)]
places = [(slice(i, i + size), slice(j, j + size)) for i, j in corners]
patches = np.array([noisy[place].ravel() for place in places]).T
answers = fa.fit_many(cosines, patches, atoms=fa.SignedOneHot(size * size), alpha=patches.shape[0] * noise**2 / 2)

# %%
# Patches overlap; what they say of a pixel is averaged.

total, count = np.zeros(photo.shape), np.zeros(photo.shape)
for place, fitted in zip(places, (cosines @ answers.sparse).T, strict=True):
    total[place] += fitted.reshape(size, size)
    count[place] += 1
cleaned = total / count
for name, image in (("noisy", noisy), ("cleaned", cleaned)):
    print(f"{name}: {10 * np.log10(1 / np.mean((image - photo) ** 2)):.1f} dB")
print(f"{patches.shape[1]} patches, {answers.cardinality.mean():.1f} cosines each")

# %%

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
titles = ("photograph", "with noise", f"{answers.cardinality.mean():.0f} cosines a patch")
for ax, image, title in zip(axes, (photo, noisy, cleaned), titles, strict=True):
    ax.imshow(image, cmap="gray", vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
