"""
Robust PCA of a video: a still background, and what moves before it
===================================================================

A camera looks at a temple while the light changes, and a written digit drifts through the picture. The background is of
low rank, the passer-by is made of few pixels in each frame. Nobody says which pixels, how many, or a weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_sample_image

import fewatoms as fa
from fewatoms.display import DecompositionDisplay

photo = load_sample_image("china.jpg").mean(axis=2)[60:310:5, 100:500:5] / 255
digit = np.kron(load_digits().images[0], np.ones((2, 2))) / 16
rng = np.random.default_rng(0)
h, w = photo.shape
frames, count = [], 40
for t in range(count):
    frame = photo * (1 + 0.25 * np.sin(t / 6)) + 0.02 * rng.standard_normal((h, w))
    column = int(t / count * (w - 16))
    patch = frame[18:34, column : column + 16]
    patch[:] = np.where(digit > 0.2, digit, patch)
    frames.append(frame)
video = np.array(frames).reshape(count, -1).T

# %%
# One column a frame. The rank is said, the number of foreground pixels is not: what stands out of the noise is
# foreground.

both = fa.RankOne(*video.shape) + fa.SignedOneHot(video.shape)
s = fa.fit(fa.Identity(video.shape), video, atoms=both, k=(2, None))
background, foreground = s.parts
print(f"rank {background.cardinality}, {foreground.cardinality} pixels of {video.size} in the foreground")

# %%
# A display draws the data and their parts, where columns are pictures one of them at a time.

display = DecompositionDisplay.from_solution(s)
fig, axes = plt.subplots(3, 3, figsize=(10, 6.4), layout="constrained")
for row, t in zip(axes, (4, 18, 34), strict=True):
    display.plot(row, frame=(h, w), column=t)
plt.show()
