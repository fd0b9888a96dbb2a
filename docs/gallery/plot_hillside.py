"""
A hillside from half of its heights
===================================

Elevations of a fault in Tennessee, of which half of the points were lost. Terrain is nearly of low rank; how much
the factors are shrunk is chosen by entries held out.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook

from fewatoms.display import MatrixDisplay
from fewatoms.estimators import MatrixCompletion

with cbook.get_sample_data("jacksboro_fault_dem.npz") as dem:
    heights = dem["elevation"][:96, :96].astype(float)
rng = np.random.default_rng(0)
known = rng.random(heights.shape) < 0.5
gaps = np.where(known, heights, np.nan)

model = MatrixCompletion(rank=8, biases=True).fit(gaps)
filled = model.transform(gaps)
error = np.sqrt(np.mean((filled - heights)[~known] ** 2))
print(f"error {error:.1f} m where the heights were lost; their spread is {heights.std():.0f} m")
print("ridge as chosen: {:.2g} on factors, {:.2g} on biases".format(*model.ridge_))

# %%
# What was known, what is filled in, and what the fit leaves of the heights that were known.

display = MatrixDisplay.from_solution(model.solution_)
fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, kind in zip(axes, ("known", "fitted", "residuals"), strict=True):
    display.plot(ax, kind=kind)
plt.show()
