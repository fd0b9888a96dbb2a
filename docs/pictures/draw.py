"""Draws the pictures of README.md and docs/choosing.md into docs/_static/pictures: python docs/pictures/draw.py

They are kept in the repository, so that the README has its figure without a build; this script is where they are from.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import fewatoms as fa

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "fewatoms", "svg.fonttype": "none", "font.size": 9})
HERE = Path(__file__).parent
OUT = HERE.parent / "_static" / "pictures"
STILL = {"metadata": {"Date": None}}
RED, GREY = "#c03a2b", "0.75"


def bare(ax, title):
    ax.set(xticks=[], yticks=[], title=title)
    for side in ax.spines.values():
        side.set_visible(False)


def stems(ax, x, colors, title):
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.bar(range(len(x)), x, color=colors, width=0.8)
    ax.set_ylim(-1.3, 1.3)
    bare(ax, title)


def sets():
    """What x looks like for each set."""
    rng = np.random.default_rng(2)
    fig, axes = plt.subplots(2, 4, figsize=(9.2, 3.8), layout="constrained")
    flat = iter(axes.ravel())
    n = 24
    x = np.zeros(n)
    x[[3, 11, 17]] = [1.0, -0.8, 0.6]
    stems(next(flat), x, RED, "SignedOneHot(n)")
    stems(next(flat), np.abs(x), RED, "NonnegativeOneHot(n)")
    grouped, colors = np.zeros(n), [("C0", "C1", "C2", "C4")[i // 4 % 4] for i in range(n)]
    grouped[4:8], grouped[16:20] = [0.6, -0.9, 0.4, 0.8], [-0.5, 1.0, 0.7, -0.3]
    stems(next(flat), grouped, colors, "Groups(labels)")
    t = np.arange(96)
    wave = 0.8 * np.sin(t / 5) * np.exp(-(((t - 30) / 16) ** 2)) + np.sin(t / 2) * np.exp(-(((t - 70) / 8) ** 2))
    ax = next(flat)
    ax.plot(t, wave, color=RED)
    ax.set_ylim(-1.3, 1.3)
    bare(ax, "Dictionary(D), Mapped(B, A)")
    low = np.outer(np.sin(np.arange(16) / 3), np.cos(np.arange(20) / 4)) + 0.6 * np.outer(
        np.linspace(-1, 1, 16), np.linspace(1, -1, 20) ** 2
    )
    sparse = np.zeros(low.shape)
    sparse.flat[rng.choice(sparse.size, 14, replace=False)] = 2.0
    points = rng.standard_normal((16, 2))
    shown = {
        "RankOne(p, q)": low,
        "RankOne + SignedOneHot": low + sparse,
        "PSDRankOne(n)": points @ points.T,
    }
    for title, X in shown.items():
        ax = next(flat)
        ax.imshow(X, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
        bare(ax, title)
    joint = np.zeros((n, 8))
    joint[[3, 11, 17]] = rng.standard_normal((3, 8))
    ax = next(flat)
    ax.imshow(joint, cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
    bare(ax, "Joint(SignedOneHot(n))")
    fig.savefig(OUT / "sets.svg", **STILL)


def asking():
    """k, a bound, or both: three ways of asking, on one path."""
    data = fa.datasets.sparse_regression(100, 300, 8, noise=0.15, coefficients="gaussian", rng=3)
    path = fa.fit_path(data.M, data.b, atoms=fa.SignedOneHot(300), k=range(1, 15))
    k, misfit = np.array(path.k), path.misfits
    fig, axes = plt.subplots(1, 3, figsize=(9.2, 2.7), sharey=True, layout="constrained")
    bound = 0.25
    first = int(k[np.argmax(misfit <= bound)])
    for ax, title in zip(axes, ("k = 6: the smallest loss", "misfit = 0.25: the fewest atoms", "both"), strict=True):
        ax.plot(k, misfit, "o-", color=GREY, markersize=4)
        ax.set(title=title, xlabel="atoms", ylim=(0, 0.95))
    axes[0].set_ylabel("misfit")
    axes[0].axvline(6, color="C0", linewidth=1)
    axes[0].plot(6, misfit[5], "o", color=RED)
    axes[1].axhline(bound, color="C0", linewidth=1)
    axes[1].plot(first, misfit[first - 1], "o", color=RED)
    axes[2].axvline(10, color="C0", linewidth=1)
    axes[2].axhline(bound, color="C0", linewidth=1)
    inside = (k <= 10) & (misfit <= bound)
    axes[2].fill_between([0.5, 10], 0, bound, color="C0", alpha=0.12)
    axes[2].plot(k[inside], misfit[inside], "o", color=RED)
    axes[2].annotate("any of these", (k[inside][-1], bound + 0.03), ha="right", color=RED)
    fig.savefig(OUT / "asking.svg", **STILL)


def readme():
    """Three answers of the gallery."""
    video = runpy.run_path(str(HERE.parent / "gallery" / "plot_background.py"))
    town = runpy.run_path(str(HERE.parent / "gallery" / "plot_capitals.py"))
    echo = runpy.run_path(str(HERE.parent / "gallery" / "plot_deconvolution.py"))
    plt.close("all")
    fig = plt.figure(figsize=(10, 3.1), layout="constrained")
    grid = fig.add_gridspec(3, 3, width_ratios=[1.15, 0.95, 0.9])
    ax = fig.add_subplot(grid[:, 0])
    true = np.flatnonzero(echo["reflectivity"])
    ax.plot(echo["time"], echo["echo"] + 2.6, color="0.5", label="echo")
    ax.plot(echo["time"][true], echo["reflectivity"][true], "o", color="k", markerfacecolor="none", label="true layers")
    used = echo["s"].indices
    ax.stem(echo["time"][used], echo["s"].coefficients, linefmt="C3-", markerfmt="C3.", basefmt=" ", label="found")
    ax.set(title="an echo: 8 spikes behind a blur", xlabel="seconds", yticks=[], ylim=(-2.3, 4.6))
    ax.legend(ncols=3, fontsize="small", loc="lower left")
    size = video["h"], video["w"]
    pictures = {"a frame": video["video"], "of low rank": video["still"], "few pixels": np.abs(video["moving"])}
    for i, (title, frames) in enumerate(pictures.items()):
        ax = fig.add_subplot(grid[i, 1])
        ax.imshow(frames[18].reshape(size), cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.set_ylabel(title, rotation=0, ha="right", va="center")
        if not i:
            ax.set_title("a video, taken apart")
    ax = fig.add_subplot(grid[:, 2])
    for a, b in zip(town["i"], town["j"], strict=True):
        ax.plot(*town["kilometres"][[a, b]].T, color="0.9", linewidth=0.6, zorder=0)
    ax.plot(*town["kilometres"].T, "o", color="k", markerfacecolor="none")
    ax.plot(*town["found"].T, ".", color="C3")
    ax.set(title="a map from a third of its distances", aspect="equal", xticks=[], yticks=[])
    fig.savefig(OUT / "readme.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    sets()
    asking()
    readme()
