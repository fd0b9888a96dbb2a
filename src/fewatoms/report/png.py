"""Small pictures of cells: PNG as text, in colours that colour-blind readers tell apart as well."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from fewatoms._types import Array, FloatArray

# Anchors from low to high; between them colours are mixed. Dark blue over grey to yellow, and brown over a pale grey to
# blue, as bars are below and above 0: lightness alone orders the first, both ends of the second differ in more than red
# and green.
SEQUENTIAL = ((8, 29, 88), (44, 82, 140), (86, 129, 157), (143, 166, 150), (201, 198, 122), (253, 231, 76))
DIVERGING = (
    (150, 70, 5),
    (224, 134, 58),
    (247, 205, 163),
    (240, 240, 240),
    (188, 214, 230),
    (92, 152, 200),
    (11, 76, 140),
)
SHADES = ((0, 0, 0), (255, 255, 255))


def colours(values: FloatArray, low: float, high: float, anchors: tuple[tuple[int, ...], ...]) -> Array:
    """Red, green, blue and opacity of each cell; cells that nobody knows are transparent."""
    table = np.array(anchors, dtype=np.float64)
    place = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0.0, 1.0) * (len(table) - 1)
    mixed = [np.interp(place, np.arange(len(table)), table[:, i]) for i in range(3)]
    opaque = np.where(np.isnan(values), 0, 255)
    return np.stack([*mixed, opaque], axis=-1).round().astype(np.uint8)


def uri(pixels: Array) -> str:
    """A picture of red, green, blue and opacity, as an address that needs no file."""
    return "data:image/png;base64," + base64.b64encode(encoded(pixels)).decode("ascii")


def encoded(pixels: Array) -> bytes:
    """A PNG of 8 bits a channel: with opacity, or without where all is opaque."""
    opaque = bool((pixels[..., 3] == 255).all())
    plain = np.ascontiguousarray(pixels[..., :3] if opaque else pixels)
    height, width = plain.shape[:2]
    grey = opaque and bool((plain == plain[..., :1]).all())
    plain = plain[..., :1] if grey else plain
    kind = 0 if grey else 2 if opaque else 6
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), plain.reshape(height, -1)])
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def anchors_for(low: float, high: float) -> tuple[tuple[int, ...], ...]:
    """Colours around 0 where a scale has both signs."""
    return DIVERGING if low < 0 < high else SEQUENTIAL


def hexadecimal(colour: tuple[int, ...]) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in colour)
