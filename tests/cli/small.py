"""Small files of the kinds that commands read, written where a test wants them."""

from pathlib import Path

import numpy as np

from fewatoms import cli

SPECTRA = ("water", "grass", "rock", "sand")


def csv(path, columns):
    """A table of columns by name."""
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def houses(rng, count=60):
    city = rng.choice(["Bern", "Oslo", "Rome"], count)
    rooms, age, area = rng.integers(1, 7, count), rng.uniform(0, 80, count), rng.uniform(30, 200, count)
    price = 3 * area - age + 40 * (city == "Rome") + 5 * rooms + rng.standard_normal(count)
    return {"id": np.arange(count), "city": city, "rooms": rooms, "age": age, "area": area, "price": price}


def flowers(rng, count=30):
    species = rng.choice(["iris", "rose"], count)
    X = rng.standard_normal((count, 4))
    X[:, 1] += 2 * (species == "iris")
    X[:, 3] -= 2 * (species == "rose")
    return {**{f"x{j}": X[:, j] for j in range(4)}, "species": species}


def sensors(rng, count=50):
    X = rng.standard_normal((count, 6))
    names = ("wind_north", "wind_south", "sun_east", "sun_west", "rain_hill", "rain_dale")
    noise = 0.1 * rng.standard_normal(count)
    return {**{name: X[:, j] for j, name in enumerate(names)}, "load": X[:, 0] - 2 * X[:, 1] + X[:, 4] + noise}


def ratings(rng, users=12, items=9):
    X = rng.standard_normal((users, 2)) @ rng.standard_normal((2, items)) + 3
    i, j = np.nonzero(rng.random(X.shape) < 0.8)
    return {"user": [f"u{a}" for a in i], "item": j + 100, "rating": X[i, j]}


def mixtures(rng, bands=20, pixels=30):
    library = rng.uniform(0.1, 1.0, (bands, len(SPECTRA)))
    shares = rng.uniform(0.2, 1.0, (len(SPECTRA), pixels)) * (np.arange(len(SPECTRA))[:, None] < 2)
    return dict(zip(SPECTRA, library.T, strict=True)), (library @ shares).T


def video(rng, count=8, height=6, width=5):
    frames = np.broadcast_to(rng.integers(60, 120, (height, width)), (count, height, width)).astype(np.float64)
    frames = frames + rng.standard_normal(frames.shape)
    for t in range(count):
        frames[t, t % height, :2] = 250.0
    return frames


def write_all(folder):
    """Everything that the examples of `--help` name."""
    rng = np.random.default_rng(0)
    table = houses(rng)
    csv(folder / "homes.csv", table)
    plain = {name: column for name, column in table.items() if name not in ("id", "city")}
    csv(folder / "houses.csv", plain)
    csv(folder / "new_houses.csv", {name: column[:5] for name, column in plain.items() if name != "price"})
    csv(folder / "flowers.csv", flowers(rng))
    csv(folder / "sensors.csv", sensors(rng))
    known = ratings(rng)
    csv(folder / "ratings.csv", known)
    csv(folder / "clicks.csv", {"who": known["user"], "what": known["item"]})
    csv(folder / "pairs.csv", {"user": ["u0", "u3", "u11"], "item": [100, 104, 108]})
    library, scene = mixtures(rng)
    csv(folder / "spectra.csv", library)
    np.save(folder / "scene.npy", scene)
    frames = video(rng)
    np.save(folder / "video.npy", frames)
    from PIL import Image

    (folder / "frames").mkdir()
    for t, frame in enumerate(frames.clip(0, 255).astype(np.uint8)):
        Image.fromarray(frame).save(folder / "frames" / f"frame{t}.png")
    at = str(folder)
    fitted = ["--target", "price", "-k", "2", "--out", f"{at}/houses.npz", "--quiet"]
    assert cli.main(["fit", f"{at}/houses.csv", *fitted]) == 0
    assert cli.main(["complete", f"{at}/ratings.csv", "--rank", "2", "--model", f"{at}/ratings.npz", "--quiet"]) == 0
