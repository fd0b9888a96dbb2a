"""
Taking noise off a photograph, patch by patch
=============================================

Every 8 x 8 patch of the picture is explained by as few cosines as the noise allows: a misfit is what is known here, not
a penalty weight. Thousands of patches are one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import idctn
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

import fewatoms as fa

photo = load_sample_image("china.jpg").mean(axis=2)[100:340:3, 180:480:3] / 255
rng = np.random.default_rng(0)
noise = 0.08
noisy = photo + noise * rng.standard_normal(photo.shape)

size = 8
eye = np.eye(size * size).reshape(-1, size, size)
cosines = np.array([idctn(one, norm="ortho").ravel() for one in eye]).T  # a column for each atom

patches = extract_patches_2d(noisy, (size, size)).reshape(-1, size * size).T
answers = fa.fit_many(cosines, patches, atoms=fa.SignedOneHot(size * size), alpha=patches.shape[0] * noise**2 / 2)
fitted = (cosines @ answers.sparse).T.reshape(-1, size, size)
cleaned = reconstruct_from_patches_2d(fitted, photo.shape)
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
