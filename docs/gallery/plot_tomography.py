"""
Tomography from ten angles
==========================

Rays cross a body; each tells the sum of what it met. With few angles there are fewer rays than pixels, and it takes the
knowledge that the body is made of few wavelets. Rays and wavelets are operators of PyLops, and so is their product.
"""

import matplotlib.pyplot as plt
import numpy as np
import pylops
import scipy.sparse as sp

import fewatoms as fa

n = 32
y, x = np.mgrid[:n, :n] - (n - 1) / 2
body = np.zeros((n, n))
body[4:28, 4:28] = 1.0
body[8:16, 8:16] = 0.3
body[12:24, 20:24] = 1.8
body[20:24, 8:12] = 1.5


def rays(angles, width):
    """A row for each ray: how much of each pixel lies on it, shared between the two nearest rays."""
    rows, cols, parts = [], [], []
    for number, angle in enumerate(angles):
        place = (x * np.cos(angle) + y * np.sin(angle)).ravel() + (width - 1) / 2
        low = np.floor(place).astype(int)
        for ray, share in ((low, 1 - (place - low)), (low + 1, place - low)):
            inside = (ray >= 0) & (ray < width)
            rows.append(number * width + ray[inside])
            cols.append(np.flatnonzero(inside))
            parts.append(share[inside])
    rows, cols, parts = map(np.concatenate, (rows, cols, parts))
    return sp.csr_array((parts, (rows, cols)), shape=(len(angles) * width, n * n))


angles = np.linspace(0, np.pi, 10, endpoint=False)
R = rays(angles, 46)
W = pylops.signalprocessing.DWT2D((n, n), wavelet="haar", level=4)
M = pylops.MatrixMult(R) @ W.H  # wavelet coefficients -> picture -> sums along rays

rng = np.random.default_rng(0)
seen = R @ body.ravel()
noise = rng.standard_normal(seen.size)
seen = seen + 0.01 * np.linalg.norm(seen) / np.linalg.norm(noise) * noise

s = fa.fit(M, seen, atoms=fa.SignedOneHot(W.shape[0]), misfit=0.012)
picture = (W.H @ s.x).reshape(n, n)
print(f"{seen.size} rays, {n * n} pixels, {s.cardinality} wavelets; {s.products} products")

# %%
# Beside it, least squares without that knowledge.

least_squares = pylops.optimization.leastsquares.normal_equations_inversion
plain, *_ = least_squares(pylops.MatrixMult(R), seen, [], epsI=1.0)
plain = plain.reshape(n, n)
fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
axes[0].imshow(body, vmin=0, vmax=2, cmap="bone")
axes[1].imshow(seen.reshape(10, -1).T, aspect="auto", cmap="bone")
axes[2].imshow(plain, vmin=0, vmax=2, cmap="bone")
axes[3].imshow(picture, vmin=0, vmax=2, cmap="bone")
size = np.linalg.norm(body)
titles = (
    "body", "rays, angle by angle", f"least squares: {np.linalg.norm(plain - body) / size:.0%} off",
    f"{s.cardinality} wavelets: {np.linalg.norm(picture - body) / size:.0%} off",
)  # fmt: skip
for ax, title in zip(axes, titles, strict=True):
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
