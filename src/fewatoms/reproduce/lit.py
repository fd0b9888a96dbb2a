"""A stack of lit shapes with shadows: what faces under many lights are, with a truth that is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms._types import FloatArray

BUMPS = 5
NOISE = 0.01  # of the norm of the pictures


@dataclass(frozen=True, eq=False)
class Lit:
    """Pictures (lights, height, width); `clean` would be seen if surfaces also shone away from the light: rank 3."""

    pictures: FloatArray
    clean: FloatArray


def shapes(height: int, width: int, lights: int, rng: np.random.Generator) -> Lit:
    """A matt surface, albedo times <normal, light>; where that is negative there is shadow and 0 is seen; noise."""
    albedo, normals = _surface(height, width, rng)
    angle, turn = rng.uniform(0, 1.0, lights), rng.uniform(0, 2 * np.pi, lights)
    towards = np.stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)])
    clean = np.einsum("cij,cl->lij", albedo * normals, towards)
    seen = np.maximum(clean, 0.0)
    noise = rng.standard_normal(seen.shape)
    return Lit(seen + NOISE * float(np.linalg.norm(seen) / np.linalg.norm(noise)) * noise, clean)


def _surface(height: int, width: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A dome with bumps and dents: how bright each pixel is, and where it looks to."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    z = 1.2 * np.sqrt(np.clip(1.1 - x**2 - y**2 / 1.2, 0.02, None))
    for _ in range(BUMPS):
        at, size, depth = rng.uniform(-0.6, 0.6, 2), rng.uniform(0.12, 0.3), rng.uniform(-0.25, 0.35)
        z += depth * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * size**2))
    down, across = np.gradient(z, 2 / (height - 1), 2 / (width - 1))
    normals = np.stack([-across, -down, np.ones_like(z)])
    albedo = 0.5 + 0.4 * (np.sin(3 * x + rng.uniform(0, 6)) * np.cos(4 * y)) ** 2
    return albedo, normals / np.linalg.norm(normals, axis=0)
