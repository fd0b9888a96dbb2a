"""Files that cannot be used, each with the door that refuses it and words that it must say."""

import gzip
import io as streams
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from PIL import Image

from fewatoms import io

HERE = Path(__file__).parent


def npy(array, allow_pickle=False):
    stream = streams.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npy_header(told, version=b"\x01\x00"):
    text = told.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text


def archive(members):
    stream = streams.BytesIO()
    with zipfile.ZipFile(stream, "w") as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return stream.getvalue()


def npz(**arrays):
    stream = streams.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def sparse(**changes):
    matrix = sp.csr_array(np.eye(3))
    parts = {"format": b"csr", "shape": (3, 3), "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return npz(**{name: np.array(part) for name, part in {**parts, **changes}.items()})


def mat(**variables):
    stream = streams.BytesIO()
    scipy.io.savemat(stream, variables)
    return stream.getvalue()


def parquet(**columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = streams.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def feather(**columns):
    import pyarrow as pa
    import pyarrow.feather

    stream = streams.BytesIO()
    pyarrow.feather.write_feather(pa.table(columns), stream)
    return stream.getvalue()


def image(size=(4, 4), mode="L", format="PNG"):
    stream = streams.BytesIO()
    Image.new(mode, size).save(stream, format=format)
    return stream.getvalue()


def png_of(width, height):
    """A PNG that declares a size and has next to nothing in it."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 10)) + chunk(b"IEND", b"")
    )


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 8), }"
FLAT = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 100000), }"
NEGATIVE = "{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 4), }"
TRIPLETS = "u,i,r\n"
WIDE = "a,b\n" + "1,2\n" * 50
MARKET = "%%MatrixMarket matrix coordinate real general\n"

TABLE = {
    "empty.csv": (b"", "empty"),
    "empty_inside.csv.gz": (gzip.compress(b""), "empty"),
    "blank.csv": (b"\n\n  \n", "blank"),
    "names_alone.csv": (b"a,b,c\n", "no rows"),
    "names_alone_open.csv": (b"a,b,c", "no rows"),
    "short_line.csv": (b"a,b,c\n1,2,3\n1,2\n", "line 3"),
    "long_line.csv": (b"a,b\n1,2\n1,2,3\n", "line 3"),
    "short_after_quotes.csv": (b'a,b\n"x\ny",1\n2\n', "line 4"),
    "same_names.csv": (b"a,b,a\n1,2,3\n", "'a'"),
    "no_names.csv": (b"0.5,0.5\n1,2\n", "line of names"),
    "index_twice.csv": (b",index\n1,2\n", "'index'"),
    "open_quote.csv": (b'a,b\n1,"x\n2,y\n3,z\n', "line 2"),
    "open_quote_early.csv": (b'a,b\n"1,2\n2,3\n', "never closed"),
    "latin1.csv": ("a,b\n1,2\nx,\xe9\n".encode("latin-1"), "line 3, byte 3"),
    "latin1_names.csv": ("gr\xf6\xdfe,b\n1,2\n".encode("latin-1"), "line 1"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    "zeros.csv": (b"a,b\n1,\x002\n", "zero"),
    "spreadsheet.csv": (archive({"xl/workbook.xml": "x"}), "spreadsheet"),
    "array.csv": (npy(np.eye(2)), "NumPy"),
    "parquet.csv": (b"PAR1" + bytes(30), "Parquet"),
    "picture.csv": (image(), "PNG"),
    "packed.csv": (gzip.compress(b"a,b\n1,2\n"), "gzip"),
    "not_packed.csv.gz": (b"a,b\n1,2\n", "unpack"),
    "cut.csv.gz": (gzip.compress(WIDE.encode())[:-12], "unpack"),
    "broken.csv.gz": (gzip.compress(bytes(range(97, 123)) * 99)[:20] + b"\xff" * 40, "unpack"),
    "bomb.csv.gz": (gzip.compress(b"a" * 60_000_000, 1), "characters"),
    "thousands.csv": (b"a;b\n1,500;2\n2,250;3\n", "decimal point"),
    "text.parquet": (b"a,b\n1,2\n", "Parquet"),
    "cut.parquet": (parquet(a=[1.0, 2.0], b=[1, 2])[:-20], "Parquet"),
    "ends.parquet": (b"PAR1" + bytes(100) + b"PAR1", "Parquet"),
    "lists.parquet": (parquet(a=[1.0], b=[[1, 2]]), "'b'"),
    "records.parquet": (parquet(a=[{"x": 1}]), "'a'"),
    "bytes.parquet": (parquet(a=[b"x"]), "'a'"),
    "no_rows.parquet": (parquet(a=np.empty(0)), "no rows"),
    "text.feather": (b"a,b\n1,2\n", "Feather"),
    "cut.arrow": (feather(a=np.arange(5000.0))[:-200], "Arrow"),
    "columns.npz": (npz(a=np.ones(3), b=np.ones(4)), "one length"),
    "dates.npz": (npz(a=np.array(["2024-01-01"], dtype="M8[D]")), "'a'"),
    "unknown.xlsx": (archive({"xl/workbook.xml": "x"}), ".csv"),
    "unknown": (b"a,b\n1,2\n", ".csv"),
    "unknown.json": (b"[]", ".parquet"),
}

GRID = {
    "text.csv": (b"a,b,c\n1,x,y\n2,z,w\n", "'b' and 'c'"),
    "pickled.npy": (npy(np.array([{}, []], dtype=object), allow_pickle=True), "pickled"),
    "records.npy": (npy(np.zeros(2, dtype=[("a", float)])), "records"),
    "words.npy": (npy(np.array(["a", "b"])), "real numbers"),
    "complex.npy": (npy(np.ones((2, 2)) * 1j), "complex"),
    "dates.npy": (npy(np.array(["2024-01-01"], dtype="M8[D]")), "real numbers"),
    "cube.npy": (npy(np.ones((2, 2, 2))), "two axes"),
    "number.npy": (npy(np.array(3.0)), "two axes"),
    "no_rows.npy": (npy(np.ones((0, 3))), "at least one row"),
    "cut.npy": (npy(np.ones((100, 100)))[:1000], "cut short"),
    "huge.npy": (npy_header(HUGE), "free"),
    "huge_flat.npy": (npy_header(FLAT), "TB"),
    "negative.npy": (npy_header(NEGATIVE), "(-3, 4)"),
    "code.npy": (npy_header("__import__('os').getcwd()"), "NumPy"),
    "version.npy": (b"\x93NUMPY\x09\x00" + bytes(40), "NumPy"),
    "text.npy": (b"1 2 3\n", "NumPy"),
    "text.npz": (b"1 2 3\n", "archive"),
    "climbing.npz": (archive({"../../evil.npy": npy(np.eye(2))}), "leads out"),
    "absolute.npz": (archive({"/etc/evil.npy": npy(np.eye(2))}), "leads out"),
    "drive.npz": (archive({"C:\\evil.npy": npy(np.eye(2))}), "leads out"),
    "pickled.npz": (archive({"X.npy": npy(np.array([{}], dtype=object), allow_pickle=True)}), "pickled"),
    "huge.npz": (archive({"X.npy": npy_header(FLAT)}), "free"),
    "cut.npz": (npz(X=np.ones((50, 50)))[:-300], "archive"),
    "short_member.npz": (archive({"X.npy": npy(np.eye(9))[:-8]}), "cut short"),
    "long_member.npz": (archive({"X.npy": npy(np.eye(9)) + b"more"}), "more bytes"),
    "no_arrays.npz": (archive({"readme.txt": "hello"}), "no arrays"),
    "many.npz": (npz(A=np.eye(3), B=np.eye(2)), "A (3 x 3), B (2 x 2)"),
    "model.npz": (npz(fewatoms=np.zeros(3, dtype=np.uint8)), "predict"),
    "sparse_outside.npz": (sparse(indices=np.array([0, 1, 7])), "sparse"),
    "sparse_negative.npz": (sparse(indices=np.array([0, -5, 1])), "sparse"),
    "sparse_steps.npz": (sparse(indptr=np.array([0, 900, 2, 3])), "sparse"),
    "sparse_format.npz": (sparse(format=np.array(b"xyz")), "sparse"),
    "sparse_wide.npz": (sparse(shape=np.array([3, 10**14])), "free"),
    "text.mat": (b"X = [1 2 3]\n" * 20, "MATLAB"),
    "cut.mat": (mat(X=np.ones((50, 50)))[:600], "MATLAB"),
    "cells.mat": (mat(c=np.array([1, "x"], dtype=object)), "cell"),
    "struct.mat": (mat(s={"a": 1.0}), "struct"),
    "words.mat": (mat(w="hello"), "char"),
    "many.mat": (mat(A=np.eye(3), B=np.eye(2)), "A (3 x 3), B (2 x 2)"),
    "hdf5.mat": (b"\x89HDF\r\n\x1a\n" + bytes(100), "MATLAB"),
    "text.mtx": (b"1 2 3\n", "MatrixMarket"),
    "huge.mtx": (f"{MARKET}10 10 9000000000000\n1 1 1\n".encode(), "free"),
    "huge_array.mtx": (b"%%MatrixMarket matrix array real general\n9000000 9000000\n1\n", "free"),
    "cut.mtx": (f"{MARKET}10 10 50000\n1 1 1\n".encode(), "cut short"),
    "outside.mtx": (f"{MARKET}2 2 1\n3 1 1.0\n".encode(), "MatrixMarket"),
    "words.mtx": (f"{MARKET}2 2 1\n1 1 x\n".encode(), "MatrixMarket"),
    "complex.mtx": (b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 2\n", "complex"),
    "not_packed.mtx.gz": (f"{MARKET}2 2 1\n1 1 1\n".encode(), "MatrixMarket"),
    "words.svm": (b"one two three\n", "libsvm"),
    "places.svm": (b"1 0:x\n", "libsvm"),
    "wide.svm": (b"1 1:1 99999999999999:1\n", "libsvm"),
    "binary.libsvm": (bytes(range(256)), "libsvm"),
}

ENTRIES = {
    "two.csv": (b"u,i\n1,2\n", "three columns"),
    "no_value.csv": (f"{TRIPLETS}1,2,3\n1,3,\n".encode(), "row 2"),
    "no_row.csv": (f"{TRIPLETS}1,2,3\n,3,1\n".encode(), "row 2"),
    "no_column.csv": (f"{TRIPLETS}1,?,3\n".encode(), "row 1"),
    "words.csv": (f"{TRIPLETS}1,2,good\n".encode(), "'r'"),
    "twice.csv": (f"{TRIPLETS}1,2,3\n2,2,3\n1,2,4\n".encode(), "row 1, column 2"),
    "thousands.csv": (b"u;i;r\n1;1;2,500\n", "decimal point"),
    "no_names.csv": (b"196,242,3\n186,302,3\n", "line of names"),
    "ragged.csv": (f"{TRIPLETS}1,2,3\n1,2\n".encode(), "line 3"),
    "twice.parquet": (parquet(u=["a", "a"], i=[1, 1], r=[1.0, 2.0]), "row a, column 1"),
    "words.parquet": (parquet(u=[1], i=[2], r=["x"]), "'r'"),
    "no_row.parquet": (parquet(u=[1, None], i=[2, 3], r=[1.0, 2.0]), "row 2"),
    "no_value.parquet": (parquet(u=[1, 2], i=[2, 3], r=[1.0, None]), "row 2"),
    "half.parquet": (parquet(u=[1.5], i=[2], r=[1.0]), "'u'"),
    "large.parquet": (parquet(u=np.array([2**64 - 1], dtype=np.uint64), i=[2], r=[1.0]), "'u'"),
    "lists.parquet": (parquet(u=[[1]], i=[2], r=[1.0]), "'u'"),
    "nothing.npy": (npy(np.full((2, 2), np.nan)), "no entries"),
    "twice.mtx": (f"{MARKET}2 2 2\n1 1 1\n1 1 2\n".encode(), "row 1, column 1"),
}

STACK = {
    "text.png": (b"hello", "image"),
    "cut.png": (image((64, 64), "RGB")[:60], "image"),
    "bomb.png": (png_of(60000, 60000), "pixels"),
    "large.png": (png_of(12000, 9000), "pixels"),
    "text.gif": (b"GIF89a", "image"),
    "text.tiff": (b"II*\0" + bytes(20), "image"),
    "table.csv": (b"a\n1\n", ".png"),
    "flat.npy": (npy(np.eye(3)), "axes"),
    "four.npy": (npy(np.ones((2, 2, 2, 4))), "axes"),
    "words.npy": (npy(np.array([[["a"]]])), "real numbers"),
    "flat.npz": (npz(a=np.eye(3)), "a (3, 3)"),
    "many.npz": (npz(a=np.ones((2, 2, 2)), b=np.ones((2, 2, 2))), "keep one of them"),
}

CASES = [
    (reader, name, content, words)
    for reader, files in (
        (io.read_table, TABLE),
        (io.read_grid, GRID),
        (io.read_entries, ENTRIES),
        (io.read_stack, STACK),
    )
    for name, (content, words) in files.items()
]
