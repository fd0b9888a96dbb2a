"""
A heartbeat in a few wavelets
=============================

1024 samples of an electrocardiogram. How many wavelets does it take to be right to 30, 10 or 5 percent? A bound alone
asks exactly that.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pywt

import fewatoms as fa
from fewatoms.display import SpectraDisplay

signal = pywt.data.ecg().astype(float)
signal -= signal.mean()
n, levels = signal.size, 6
shapes = pywt.wavedec(np.zeros(n), "sym6", mode="periodization", level=levels)
ends = np.cumsum([0, *(len(part) for part in shapes)])


def wavelet(i):
    """The wavelet of coefficient i, a signal of length n."""
    one = np.eye(1, n, i)[0]
    return pywt.waverec([one[a:b] for a, b in pairwise(ends)], "sym6", mode="periodization")


W = np.column_stack([wavelet(i) for i in range(n)])
answers = [fa.fit(W, signal, atoms=fa.SignedOneHot(n), misfit=misfit) for misfit in (0.3, 0.1, 0.05)]
for s in answers:
    print(f"misfit {s.misfit:.3f} with {s.cardinality} wavelets of {n}")

# %%
# The roughest answer wavelet by wavelet, then all three.

fig, (first, *axes) = plt.subplots(4, 1, figsize=(9, 9), sharex=True, height_ratios=[2, 1, 1, 1], layout="constrained")
SpectraDisplay.from_solution(answers[0]).plot(first)
first.legend(title="wavelet", ncols=2, loc="upper center", fontsize="small")
for ax, s in zip(axes, answers, strict=True):
    ax.plot(signal, color="0.7", linewidth=2.5, label="measured")
    ax.plot(W @ s.x, color="C3", linewidth=0.9, label=f"{s.cardinality} wavelets")
    ax.set_xlim(0, 600)
    ax.legend(loc="upper center", ncols=2)
axes[-1].set_xlabel("sample")
plt.show()
