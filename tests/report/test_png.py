"""Pictures of cells: a PNG that others read, colours in order, missing cells transparent."""

import base64
import io

import numpy as np
import pytest

from fewatoms.report import png

images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def read(pixels):
    head, _, body = png.uri(pixels).partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(images.open(io.BytesIO(base64.b64decode(body))).convert("RGBA"))


@pytest.mark.parametrize("anchors", [png.SEQUENTIAL, png.DIVERGING, png.SHADES])
@pytest.mark.parametrize("missing", [False, True])
def test_pictures_are_read_back(anchors, missing):
    values = np.random.default_rng(0).uniform(-1, 1, (7, 11))
    if missing:
        values[2, 3:] = np.nan
    pixels = png.colours(values, -1.0, 1.0, anchors)
    shown = read(pixels)
    known = ~np.isnan(values)
    np.testing.assert_array_equal(shown[known], pixels[known])
    np.testing.assert_array_equal(shown[..., 3] == 0, ~known)


def test_colours_run_from_end_to_end():
    ends = png.colours(np.array([[-9.0, 0.0, 1.0, 9.0]]), 0.0, 1.0, png.SEQUENTIAL)[0, :, :3]
    assert ends.tolist() == [list(png.SEQUENTIAL[0])] * 2 + [list(png.SEQUENTIAL[-1])] * 2
    light = png.colours(np.linspace(0, 1, 64)[None], 0.0, 1.0, png.SEQUENTIAL)[0, :, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > 0).all()  # lightness alone tells the order
    assert png.anchors_for(-1.0, 1.0) is png.DIVERGING
    assert png.anchors_for(0.0, 1.0) is png.SEQUENTIAL
