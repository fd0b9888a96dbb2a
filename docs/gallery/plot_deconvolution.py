"""
Layers under the ground: deconvolution with PyLops
==================================================

An echo is a row of reflections, each blurred by the shape of the pulse. PyLops knows the blur as an operator, which is
passed as it is; few layers reflect. How many? The misfit falls with each layer that is there, and hardly with more.
"""

import matplotlib.pyplot as plt
import numpy as np
import pylops
from pylops.utils.wavelets import ricker

import fewatoms as fa
from fewatoms.display import PathDisplay

rng = np.random.default_rng(1)
n, layers = 301, 8
reflectivity = np.zeros(n)
reflectivity[rng.choice(np.arange(20, 281, 7), layers, replace=False)] = rng.choice([-1, 1], layers) * (
    0.5 + rng.random(layers)
)
time = np.arange(n) * 0.004
pulse, _, centre = ricker(np.arange(41) * 0.004, f0=12)
blur = pylops.signalprocessing.Convolve1D(n, h=pulse, offset=centre)
clean = blur @ reflectivity
noise = rng.standard_normal(n)
noise *= 0.1 * np.linalg.norm(clean) / np.linalg.norm(noise)
echo = clean + noise

path = fa.fit_path(blur, echo, atoms=fa.SignedOneHot(n), k=range(1, 16))
print("layers:", path.choose_k("elbow"))
s = path.best
print(s.message)

# %%
# Beside it, what the same operator gives with a penalty on the 1-norm instead: spikes are shrunk, and spread over
# neighbours.

penalised = pylops.optimization.sparsity.fista(blur, echo, niter=600, eps=0.8)[0]

fig, (chosen, *axes) = plt.subplots(4, 1, figsize=(9, 9), height_ratios=[2, 1, 1, 1], layout="constrained")
PathDisplay.from_path(path).plot(chosen)
axes[0].plot(time, echo, color="0.5")
axes[0].set_ylabel("echo")
count = np.count_nonzero(np.abs(penalised) > 1e-3)
answers = {f"1-norm penalty: {count} spikes": penalised, f"fewatoms: {s.cardinality} spikes": s.x}
for ax, (label, x) in zip(axes[1:], answers.items(), strict=True):
    true = np.flatnonzero(reflectivity)
    ax.plot(time[true], reflectivity[true], "o", color="k", markerfacecolor="none", markersize=9, label="true layers")
    used = np.flatnonzero(np.abs(x) > 1e-3)
    ax.stem(time[used], x[used], linefmt="C3-", markerfmt="C3.", basefmt="k", label=label)
    ax.legend(loc="lower left", ncols=2)
    ax.set_ylim(-2.4, 1.9)
axes[-1].set_xlabel("seconds")
plt.show()
