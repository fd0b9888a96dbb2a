"""Bad files, each with a name that says what is wrong with it; written where a test wants them."""

import gzip
import io
import json
import zipfile

import numpy as np

from cli.small import csv, flowers, houses, sensors, write_all
from fewatoms import cli

TEXTS = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "header.csv": b"a,b,y\n",
    "ragged_more.csv": b"a,b,y\n1,2,3\n4,5,6,7\n",
    "ragged_less.csv": b"a,b,y\n1,2,3\n4,5\n",
    "twice.csv": b"a,a,y\n1,2,3\n4,5,6\n",
    "latin.csv": "name,y\nZürich,1\nBern,2\n".encode("latin-1"),
    "binary.csv": bytes(range(256)) * 8,
    "quote.csv": b'a,y\n"1,2\n3,4\n',
    "nul.csv": b"a,y\n1,\x002\n",
    "text.csv": b"a,word,y\n1,one,1\n2,two,2\n3,three,4\n",
    "texts.csv": b"a,word,other,y\n1,one,x,1\n2,two,y,2\n3,three,z,4\n",
    "words.csv": b"a,y\n1,low\n2,high\n3,low\n4,high\n",
    "one_class.csv": b"a,y\n1,low\n2,low\n3,low\n4,low\n",
    "many_classes.csv": b"a,y\n1,u\n2,v\n3,w\n4,x\n5,z\n",
    "gaps.csv": b"a,b,y\n1,2,3\n,5,6\n7,8,10\n3,1,2\n",
    "gap_target.csv": b"a,b,y\n1,2,3\n2,5,\n7,8,10\n3,1,2\n",
    "no_row.csv": b"a,b,y\n1,,3\n,5,6\n7,,10\n,4,2\n",
    "no_target.csv": b"a,b,y\n1,2,\n3,5,\n7,6,\n",
    "constant.csv": b"a,b,y\n1,2,3\n1,2,6\n1,2,10\n",
    "empty_columns.csv": b"a,b,y\n,,3\n,,6\n,,10\n",
    "target_alone.csv": b"y\n1\n2\n3\n",
    "short.csv": b"a,b,c,d,y\n1,2,3,4,5\n2,1,4,3,6\n",
    "infinite.csv": b"a,b,y\n1,inf,3\n2,5,6\n7,8,10\n",
    "infinite_target.csv": b"a,b,y\n1,2,inf\n2,5,6\n7,8,10\n",
    "weights.csv": b"a,w,y\n1,-1,3\n2,1,6\n7,2,10\n",
    "zero_weights.csv": b"a,w,y\n1,0,3\n2,0,6\n7,0,10\n",
    "word_weights.csv": b"a,w,y\n1,big,3\n2,small,6\n7,big,10\n",
    "groups.csv": b"column,set\na,1\nb,1\n",
    "strange_groups.csv": b"name,group\nzebra,1\nyak,1\n",
    "two_columns.csv": b"u,v\n1,2\n2,3\n",
    "repeated.csv": b"u,v,x\n1,1,2\n1,1,3\n2,1,4\n",
    "word_values.csv": b"u,v,x\n1,1,good\n2,1,bad\n",
    "no_ids.csv": b"u,v,x\n,1,2\n2,1,3\n",
    "no_values.csv": b"u,v,x\n1,1,\n2,1,\n",
    "infinite_values.csv": b"u,v,x\n1,1,inf\n2,1,3\n2,2,3\n",
    "few_bands.csv": b"a,b\n1,2\n3,4\n5,6\n",
    "gap_library.csv": b"a,b\n" + b"1,2\n" * 19 + b"1,\n",
    "word_library.csv": b"a,b,c\n" + b"1,x,y\n" * 20,
    "not.parquet": b"a,y\n1,2\n",
    "not.feather": b"a,y\n1,2\n",
    "not.npy": b"a,y\n1,2\n",
    "not.npz": b"a,y\n1,2\n",
    "not.mat": b"a,y\n1,2\n",
    "not.mtx": b"a,y\n1,2\n",
    "not.svm": b"one two three\n",
    "not.csv.gz": b"a,y\n1,2\n",
    "not.gif": b"a,y\n1,2\n",
    "short.mtx": b"%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 2.0\n",
    "outside.mtx": b"%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 2.0\n",
    "huge.mtx": b"%%MatrixMarket matrix array real general\n100000000 100000000\n1.0\n",
    "strange.xyz": b"a,y\n1,2\n",
    "noending": b"a,y\n1,2\n",
    "hdf.mat": b"MATLAB 7.3 MAT-file" + b" " * 493 + b"\x89HDF\r\n\x1a\n" + b"\0" * 50,
}


def npy(array, **words):
    stream = io.BytesIO()
    np.save(stream, array, **words)
    return stream.getvalue()


def huge_npy():
    """A header that promises 80 TB."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10_000_000, 1_000_000)}
    )
    return stream.getvalue() + b"\0" * 80


def archive(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def arrays():
    rng = np.random.default_rng(1)
    objects = np.array([{"a": 1}, [2]], dtype=object)
    good = npy(rng.standard_normal((4, 3)))
    return {
        "pickled.npy": npy(objects, allow_pickle=True),
        "pickled.npz": archive({"X.npy": npy(objects, allow_pickle=True)}),
        "climbing.npz": archive({"../X.npy": good}),
        "rooted.npz": archive({"/etc/X.npy": good}),
        "hollow.npz": archive({}),
        "several.npz": archive({"A.npy": good, "B.npy": good}),
        "stranger.npz": archive({"readme.txt": b"hello"}),
        "huge.npy": huge_npy(),
        "huge.npz": archive({"X.npy": huge_npy()}),
        "complex.npy": npy(np.ones((3, 3)) * 1j),
        "words.npy": npy(np.array([["a", "b"], ["c", "d"]])),
        "cube.npy": npy(np.ones((2, 3, 4))),
        "flat.npy": npy(np.ones((20, 30))),
        "void.npy": npy(np.ones((0, 3))),
        "cut.npy": good[:-20],
        "cut.npz": archive({"X.npy": good})[:-30],
        "cut.csv.gz": gzip.compress(b"a,y\n" + b"1,2\n" * 5000)[:60],
        "one_frame.npy": npy(np.ones((1, 4, 5))),
        "nan_frames.npy": npy(np.full((3, 4, 5), np.nan)),
        "square.npy": npy(rng.uniform(size=(20, 20))),
        "gap_target.npz": archive({"X.npy": good, "y.npy": npy(np.array([1.0, np.nan, 2.0, 3.0]))}),
    }


def write_bad(folder):
    """All of it, and the good files as well."""
    write_all(folder)
    for name, content in {**TEXTS, **arrays()}.items():
        (folder / name).write_bytes(content)
    rng = np.random.default_rng(2)
    csv(folder / "new_text.csv", {"area": ["big", "small"], "age": [1, 2], "rooms": [3, 4]})
    csv(folder / "new_gaps.csv", {"area": ["", 50], "age": ["", 2], "rooms": ["", 4]})
    csv(folder / "new_other.csv", {"surface": [70, 50], "storeys": [1, 2]})
    csv(folder / "new_city.csv", {"city": ["Paris", "Rome"], "area": [50, 60], "age": [3, 4], "rooms": [1, 2]})
    csv(folder / "one_id.csv", {"user": ["u0", "u1"]})
    csv(folder / "homes3.csv", {name: column for name, column in houses(rng).items() if name != "id"})
    _images(folder)
    _models(folder, rng)
    for name in ("there.csv", "there.npz", "there.json", "there.png"):
        (folder / name).write_bytes(b"mine")
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("mine")


def _images(folder):
    from PIL import Image

    for name in ("nothing", "letters", "sizes", "broken"):
        (folder / name).mkdir()
    (folder / "letters" / "readme.txt").write_text("hello")
    for t, size in enumerate([(4, 5), (6, 5)]):
        Image.fromarray(np.zeros(size, dtype=np.uint8)).save(folder / "sizes" / f"{t}.png")
    for t in range(2):
        (folder / "broken" / f"{t}.png").write_bytes(b"\x89PNG\r\n\x1a\nnonsense")


def _models(folder, rng):
    at = str(folder)
    words = ["--target", "price", "-k", "3", "--quiet", "--categorical", "city"]
    assert cli.main(["fit", f"{at}/homes3.csv", *words, "--out", f"{at}/cities.npz"]) == 0
    csv(folder / "iris.csv", flowers(rng))
    csv(folder / "sense.csv", sensors(rng))
    path = ["path", f"{at}/sense.csv", "--target", "load", "-k", "1:2", "--choose", "bic"]
    assert cli.main([*path, "--out", f"{at}/path.npz", "--quiet"]) == 0
    with np.load(folder / "houses.npz") as found:
        members = {name: found[name] for name in found.files}
    later = {"format": 99, "how": {"kind": "table", "recipe": None}}
    members["table"] = np.frombuffer(json.dumps(later).encode(), dtype=np.uint8)
    np.savez(folder / "later.npz", **members)
    np.savez(folder / "plain.npz", **{name: array for name, array in members.items() if name != "table"})
