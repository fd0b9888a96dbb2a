"""
A map of Europe from a third of its distances
=============================================

Thirty capitals, and for a third of all pairs how far they are apart. The matrix of inner products of the places is
semidefinite and of rank two; distances measure it linearly. The map comes back up to a rotation.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import fewatoms as fa

places = {
    "Amsterdam": (52.4, 4.9), "Athens": (38.0, 23.7), "Belgrade": (44.8, 20.5), "Berlin": (52.5, 13.4),
    "Bern": (46.9, 7.4), "Bratislava": (48.1, 17.1), "Brussels": (50.9, 4.4), "Bucharest": (44.4, 26.1),
    "Budapest": (47.5, 19.0), "Copenhagen": (55.7, 12.6), "Dublin": (53.3, -6.3), "Helsinki": (60.2, 24.9),
    "Kyiv": (50.5, 30.5), "Lisbon": (38.7, -9.1), "Ljubljana": (46.1, 14.5), "London": (51.5, -0.1),
    "Luxembourg": (49.6, 6.1), "Madrid": (40.4, -3.7), "Minsk": (53.9, 27.6), "Oslo": (59.9, 10.8),
    "Paris": (48.9, 2.4), "Prague": (50.1, 14.4), "Riga": (56.9, 24.1), "Rome": (41.9, 12.5),
    "Sarajevo": (43.9, 18.4), "Sofia": (42.7, 23.3), "Stockholm": (59.3, 18.1), "Vienna": (48.2, 16.4),
    "Warsaw": (52.2, 21.0), "Zagreb": (45.8, 16.0),
}  # fmt: skip
latitude, longitude = np.array(list(places.values())).T
kilometres = np.column_stack([111.2 * np.cos(np.radians(50)) * longitude, 111.2 * latitude])
kilometres -= kilometres.mean(axis=0)

rng = np.random.default_rng(0)
i, j = np.triu_indices(len(places), 1)
known = rng.random(i.size) < 1 / 3
i, j = i[known], j[known]
apart = np.linalg.norm(kilometres[i] - kilometres[j], axis=1) + 5 * rng.standard_normal(i.size)  # read off to some 5 km

# %%
# The squared distance of i and j is (e_i - e_j)' X (e_i - e_j): rows with a 1 and a -1.

m, n = i.size, len(places)
ones, rows = np.ones(m), np.arange(m)
A = sp.csr_array((np.r_[ones, -ones], (np.r_[rows, rows], np.r_[i, j])), shape=(m, n))
s = fa.fit(fa.Quadratic(A), apart**2, atoms=fa.PSDRankOne(n), k=2)
found = fa.phase.align(s.left, kilometres)
error = np.linalg.norm(found - kilometres, axis=1)
print(f"{m} of {n * (n - 1) // 2} distances; places are off by {np.median(error):.1f} km in the middle")

# %%

fig, ax = plt.subplots(figsize=(7, 6.2), layout="constrained")
for a, b in zip(i, j, strict=True):
    ax.plot(*kilometres[[a, b]].T, color="0.88", linewidth=0.8, zorder=0)
ax.plot(*kilometres.T, "o", markersize=9, markerfacecolor="none", color="k", label="true place")
ax.plot(*found.T, ".", color="C3", label="found")
for name, place in zip(places, kilometres, strict=True):
    ax.annotate(name, place, xytext=(6, 4), textcoords="offset points", fontsize="small")
ax.set(aspect="equal", xlabel="km", ylabel="km", title="grey: the distances that were known")
ax.legend(loc="upper left")
plt.show()
