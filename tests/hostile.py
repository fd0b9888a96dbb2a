"""Hostile files: attacks that somebody thought of, and sound files of every kind that were cut, bent and made to lie.

Every file has a rule: "refused", where nothing of it may be taken; "same", where a checksum stands guard, so that it is
refused or what it was; "sound", where other numbers are as good as the first, and what is read must be whole.
"""

from __future__ import annotations

import gzip
import io as streams
import json
import lzma
import os
import pickle
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.io
import scipy.sparse as sp
from PIL import Image

MARK = "HOSTILE_RAN"  # a file that nothing read may make


@dataclass(frozen=True)
class Attack:
    """A file for one of the readers.

    base : the sound file that this was made of, by name; None for what was made by hand
    """

    reader: str
    name: str
    content: bytes
    rule: str
    base: str | None = None


# Parts of files ------------------------------------------------------------------------------------------------------


class Evil:
    """Makes a file where it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, (MARK,))


def npy(array, pickled=False):
    stream = streams.BytesIO()
    np.save(stream, array, allow_pickle=pickled)
    return stream.getvalue()


def header(told, version=1, body=b""):
    text = told.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + body


def declared(shape, dtype="<f8", body=b"", version=1):
    return header(f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}\n", version, body)


def archive(members, packed=False):
    stream = streams.BytesIO()
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as zipped:
        warnings.simplefilter("ignore")  # names that come twice
        for name, content in members:
            zipped.writestr(name, content)
    return stream.getvalue()


def npz(packed=False, **arrays):
    return archive([(f"{name}.npy", npy(array)) for name, array in arrays.items()], packed)


def lying(content, name, size):
    """An archive whose directory and local header say that a member is so large."""
    told = bytearray(content)
    for mark, offset, named in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        at = 0
        while (at := told.find(mark, at)) >= 0:
            if told[at + named : at + named + len(name)] == name.encode():
                told[at + offset : at + offset + 4] = struct.pack("<I", size)
            at += 4
    return bytes(told)


def sparse(form="csr", **changes):
    matrix = sp.csr_array(np.eye(3))
    parts = {"format": form.encode(), "shape": (3, 3), "data": matrix.data}
    parts |= {"indices": matrix.indices, "indptr": matrix.indptr} | changes
    return npz(**{name: np.array(part) for name, part in parts.items() if part is not None})


def mat(packed=False, form="5", **variables):
    stream = streams.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=packed, format=form)
    return stream.getvalue()


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def mat5(rows, cols, data, kind=9, size=None, packed=False, name=b"X", flags=6, zeros=0):
    """A variable of version 5: declared rows and columns, data as they are, and how many bytes they say they have."""
    real = struct.pack("<II", kind, len(data) + zeros if size is None else size) + data
    inner = element(6, struct.pack("<II", flags, 0)) + element(5, struct.pack("<ii", rows, cols)) + element(1, name)
    whole = struct.pack("<II", 14, len(inner) + len(real) + zeros) + inner + real
    start = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + b"\x00\x01IM"
    if not packed:
        return start + whole + bytes(zeros)
    body, _, _ = deflated([(whole, 1), (bytes(1 << 20), zeros >> 20)])
    body = b"\x78\xda" + body + bytes(4)  # nobody comes as far as the checksum
    return start + struct.pack("<II", 15, len(body)) + body


def mat4(rows, cols, data, kind=0, name=b"X\0"):
    return struct.pack("<iiiii", kind, rows, cols, 0, len(name)) + name + data


def hdf5(write):
    """A MATLAB file of version 7.3 in which somebody wrote."""
    import h5py

    stream = streams.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        write(file)
    content = bytearray(stream.getvalue())
    content[:19] = b"MATLAB 7.3 MAT-file"
    return bytes(content)


def variable(file, name, value, kind=b"double", **options):
    thing = file.create_dataset(name, data=value, **options)
    thing.attrs["MATLAB_class"] = np.bytes_(kind)
    return thing


def parquet(table, **options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = streams.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), stream, **options)
    return stream.getvalue()


def feather(table, **options):
    import pyarrow as pa
    import pyarrow.feather

    stream = streams.BytesIO()
    pyarrow.feather.write_feather(table if isinstance(table, pa.Table) else pa.table(table), stream, **options)
    return stream.getvalue()


def arrow_stream(table):
    import pyarrow as pa

    stream = streams.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def image(form, size=(12, 9), mode="L", frames=1):
    rng = np.random.default_rng(3)
    shape = (size[1], size[0], *((3,) if mode == "RGB" else ()))
    made = [Image.fromarray(rng.integers(0, 255, shape).astype(np.uint8)) for _ in range(frames)]
    stream = streams.BytesIO()
    more = {"save_all": True, "append_images": made[1:]} if frames > 1 else {}
    made[0].save(stream, format=form, **more)
    return stream.getvalue()


def png(width, height, depth=8, colour=0, data=b"\0" * 10):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    told = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", told) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


# Thought of ----------------------------------------------------------------------------------------------------------

BIG = 10**11
MARKET = "%%MatrixMarket matrix coordinate real general\n"
LONG = 4 * 10**8  # bytes: more than readers may take here


def deflated(parts):
    """Parts, each with how often it comes, as one stream of deflate, its checksum and its size: each is packed once."""
    pack, out, check, size = zlib.compressobj(9, zlib.DEFLATED, -15), [], 0, 0
    for part, times in parts:
        block = pack.compress(part) + pack.flush(zlib.Z_FULL_FLUSH)
        again = pack.compress(part) + pack.flush(zlib.Z_FULL_FLUSH) if times > 1 else b""
        out += [block, again * (times - 1)]
        for _ in range(times):
            check = zlib.crc32(part, check)
        size += times * len(part)
    return b"".join([*out, pack.flush()]), check, size


def gzipped(*parts):
    body, check, size = deflated(parts)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<II", check, size & 0xFFFFFFFF)


def zeros(count):
    return bytes(1 << 20), count >> 20


def repeated(line, times):
    """A line many times."""
    return line * 2**18, times // 2**18


def member_of_zeros(before, count, name="X.npy"):
    """An archive with one member: something, and zeros behind it."""
    body, check, size = deflated([(before, 1), zeros(count)])
    told = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, check, len(body), size, len(name), 0)
    start = b"PK\x03\x04" + told + name.encode() + body
    entry = b"PK\x01\x02\x14\0" + told + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    return start + entry + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(start), 0)


def arrays() -> Iterator[tuple[str, bytes]]:
    evil = npy(np.array([Evil()], dtype=object), pickled=True)
    yield "pickled.npy", evil
    yield "a_pickle.npy", pickle.dumps(Evil())
    yield "pickled.npz", archive([("X.npy", evil)])
    yield "pickled_packed.npz", archive([("X.npy", evil)], True)
    yield "pickled_names.npz", archive([("X.npy", npy(np.eye(3))), ("names.npy", evil)])
    yield "pickled_target.npz", archive([("X.npy", npy(np.eye(3))), ("y.npy", evil)])
    yield (
        "sparse_pickled.npz",
        archive([(f"{name}.npy", evil) for name in ("format", "shape", "data", "indices", "indptr")]),
    )
    for told in ("O", "|O8", "V8", "<U99999999", "S99999999", "<c16", "<m8[s]", "<f8,<f8", "('<f8', (9,))", "x", "<f3"):
        yield f"type_{told}.npy".replace("|", "").replace("<", "").replace("/", ""), declared((2, 2), told, bytes(32))
    for place, shape in enumerate(
        [
            "(-1, 4)",
            "(4.0, 1)",
            "(True, 2)",
            "((1, 2), 3)",
            f"({BIG}, {BIG})",
            "(2**62, 4)",
            "(1,) * 70",
            "'ab'",
            "None",
            f"({2**63}, 1)",
            f"({2**64 + 2}, 2)",
            "(0, 10**18)",
            f"(0, {10**18})",
            "(99, 99)",
            "(2, 1)",
            str((1,) * 70),
        ]
    ):
        yield f"shape_{place}.npy", declared(shape, body=bytes(32))
    yield "code.npy", header(f"__import__('os').mkdir({MARK!r})")
    yield "code_in_shape.npy", declared(f"(__import__('os').mkdir({MARK!r}),)")
    yield "nested.npy", header("(" * 5000 + ")" * 5000)
    yield "nested_minus.npy", header("{'shape': " + "-" * 9000 + "1}")
    yield "long_header.npy", header("{'shape': (2,), 'descr': '<f8', 'fortran_order': False}".ljust(60_000), 1)
    yield "lying_header.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{"
    yield "longer.npy", npy(np.eye(3)) + b"more"
    yield "unknown_key.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", 1, bytes(8))


def archives() -> Iterator[tuple[str, bytes]]:
    eye = npy(np.eye(3))
    for place, name in enumerate(("../X", "/X", "a/../../X", "..\\X", "C:\\X", "\\\\host\\X", "C:X", "//host/X")):
        yield f"climbing_{place}.npz", archive([(f"{name}.npy", eye)])
        yield f"climbing_beside_{place}.npz", archive([("X.npy", eye), (f"{name}.txt", b"")])
    yield "twice.npz", archive([("X.npy", eye), ("X.npy", npy(2 * np.eye(3)))])
    packed = npz(True, X=np.arange(400.0).reshape(20, 20))
    yield "says_less.npz", lying(packed, "X.npy", 200)
    yield "says_more.npz", lying(packed, "X.npy", 2**31)
    stored = npz(X=np.arange(400.0).reshape(20, 20))
    yield "stored_says_more.npz", lying(stored, "X.npy", 2**31)
    yield "stored_says_less.npz", lying(stored, "X.npy", 256)
    yield "encrypted.npz", _flagged(stored, 1)
    yield "method.npz", _method(stored, 99)
    yield "overlapping.npz", _overlapping()
    yield "lzma.npz", lzma.compress(stored)
    for number, (form, changes) in enumerate(
        (
            ("csr", {"shape": (3, -3)}),
            ("csr", {"shape": (10**15, 3)}),
            ("csc", {"shape": (10**15, 3)}),
            ("csc", {"shape": (4 * 10**9, 3)}),
            ("csr", {"shape": (3.5, 3)}),
            ("csr", {"shape": (3,)}),
            ("csr", {"shape": ("a", "b")}),
            ("csr", {"indices": np.array([0, 1, 2**40])}),
            ("csr", {"indptr": np.array([0, -1, 2, 3])}),
            ("csr", {"indptr": np.array([0, 1, 2, 2**40])}),
            ("csr", {"data": np.ones(2)}),
            ("csr", {"data": np.array(["a", "b", "c"])}),
            ("csr", {"indices": np.array([0.5, 1, 2])}),
            ("os", {}),
            ("__class__", {}),
            ("tocsr", {}),
            ("issparse", {}),
            ("dia", {"offsets": np.array([0]), "data": np.ones((1, 3)), "shape": (4 * 10**9, 4 * 10**9)}),
            ("coo", {"row": np.array([0, 1, 9]), "col": np.array([0, 1, 2])}),
            ("coo", {"row": np.array([0, 1, -2]), "col": np.array([0, 1, 2])}),
            ("bsr", {"data": np.ones((3, 2, 2))}),
            ("csc", {"indices": np.array([0, 1, 10**6])}),
            ("csc", {"indices": np.array([0, 1, -9])}),
        )
    ):
        told = "_".join(f"{key}{np.ravel(value)[0]}" for key, value in changes.items())
        yield f"sparse_{form}_{told}_{number}.npz".replace(" ", ""), sparse(form, **changes)


def _flagged(content, flag):
    told = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        told[told.find(mark) + offset] |= flag
    return bytes(told)


def _method(content, method):
    told = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        told[told.find(mark) + offset] = method
    return bytes(told)


def _overlapping():
    """Two names in the directory for one member."""
    content = archive([("X.npy", npy(np.eye(3)))])
    start, end = content.find(b"PK\x01\x02"), content.find(b"PK\x05\x06")
    entry = content[start:end]
    other = entry.replace(b"X.npy", b"Y.npy")
    tail = bytearray(content[end:])
    tail[8:12] = struct.pack("<HH", 2, 2)
    tail[12:16] = struct.pack("<I", 2 * len(entry))
    return content[:start] + entry + other + bytes(tail)


def texts() -> Iterator[tuple[str, bytes]]:
    yield "zeros.csv", bytes(10_000)
    yield "nul_late.csv", b"a,b\n" + b"1,2\n" * 40_000 + b"\0,\0\n"
    yield "garbage_behind.csv.gz", gzip.compress(b"a,b\n1,2\n") + b"garbage"
    yield "quotes.csv", b'a,b\n"' * 2_001
    yield "long_field.csv", b"a,b\n1," + b"x" * 200_000 + b"\n"
    yield "unix_socket.csv", b"\x1f\x8b\x08\x00"
    yield "surrogates.csv", b"a,b\n\xed\xa0\x80,1\n"
    yield "overlong.csv", b"a,b\n\xc0\xaf,1\n"


def bombs() -> Iterator[tuple[str, str, bytes]]:
    """Small files with much in them, and large ones: they take a while to make."""
    yield "grid", "bomb_header.npz", member_of_zeros(b"\x93NUMPY\x02\x00" + struct.pack("<I", LONG), LONG)
    yield "grid", "bomb_array.npz", member_of_zeros(declared((LONG // 8,)), LONG)
    yield "grid", "bomb_behind.npz", member_of_zeros(npy(np.eye(3)), LONG)
    yield "grid", "bomb_word.npz", member_of_zeros(declared((1,), f"<U{LONG // 4}"), LONG)
    yield "grid", "many_members.npz", archive([(f"a{i}.npy", npy(np.eye(1))) for i in range(70_000)])
    yield "grid", "many_texts.npz", archive([("X.npy", npy(np.eye(3))), *((f"a{i}.txt", b"") for i in range(200_000))])
    yield "grid", "says_small_is_bomb.npz", lying(member_of_zeros(npy(np.eye(3)), LONG), "X.npy", 200)
    yield "table", "bomb_line.csv.gz", gzipped((b"a,b\n", 1), zeros(LONG))
    yield "table", "bomb_names.csv.gz", gzipped(repeated(b"a", LONG))
    yield "table", "bomb_rows.csv.gz", gzipped((b"a,b,c\n", 1), repeated(b"1.5,2.5,3.5\n", 60_000_000))
    yield "table", "bomb_words.csv.gz", gzipped((b"a,b,c\n", 1), repeated(b"x,y,z\n", 60_000_000))
    yield "table", "bomb_blank.tsv.gz", gzipped(repeated(b"\n", LONG))
    yield "table", "bomb_quote.csv.gz", gzipped((b'a,b\n"', 1), repeated(b"x\n", LONG // 2))
    yield "table", "columns_many.csv", (",".join(f"c{i}" for i in range(1_500_000)) + "\n").encode() * 2
    yield "table", "columns_lie.csv", (",".join(f"c{i}" for i in range(200_000)) + "\n1\n").encode()
    yield "table", "columns_same.csv", b"a," * 4_000_000 + b"a\n1\n"
    yield "table", "columns_blank.csv", b"," * 8_000_000 + b"\n" + b"," * 8_000_000 + b"\n"
    yield "grid", "bomb_comment.mtx.gz", gzipped((MARKET.encode(), 1), repeated(b"%%%%%%%\n", LONG // 8))
    yield "grid", "bomb.mat", mat5(2, 2, bytes(32), zeros=LONG >> 20 << 20, packed=True)
    yield "grid", "bomb_honest.mat", mat5(LONG >> 3, 1, b"", zeros=LONG >> 20 << 20, packed=True)
    yield "grid", "bomb_name.mat", mat5(2, 2, bytes(32), name=bytes(200_000_000), packed=True)
    yield "table", "bomb_zeros.parquet", parquet({"a": np.zeros(LONG // 8)}, compression="zstd", use_dictionary=False)
    yield "table", "bomb_rows.parquet", parquet({"a": np.zeros(LONG // 8)})
    yield "table", "bomb_zeros.feather", feather({"a": np.zeros(LONG // 8)}, compression="zstd", chunksize=2**30)

    def packed(file):
        variable(file, "X", np.zeros((8000, 8000)), compression="gzip", chunks=(1000, 1000))

    yield "grid", "packed_zeros.mat", hdf5(packed)


def slow_texts() -> Iterator[tuple[str, bytes]]:
    """Sound, if odd: what matters is how long they take."""
    yield "digits.csv", b"a,b\n" + b"1" * 130_000 + b"x,2\n" + b"3,4\n"
    yield "digits_dot.csv", b"a,b\n" + b"1" * 60_000 + b"." + b"1" * 60_000 + b"x,2\n3,4\n"
    yield "digits_comma.csv", b"a;b\n" + b"1" * 130_000 + b",x;2\n3;4\n"
    yield "digits_power.csv", b"a,b\n1e" + b"9" * 120_000 + b",2\n"
    yield "formulas.csv", b"a,b\n=cmd|'/c calc'!A0,1\n+1+1,2\n@x,3\n-2+3,4\n"
    yield "quotes_many.csv", b'a,b\n"' + b'""' * 60_000 + b'",1\n'
    yield "words_wide.csv", b"a,b\n" + b"w" * 131_000 + b",1\n"
    yield "returns.csv", b"a,b\r" + b"1,2\r" * 1000
    yield "marks.csv", b"\xef\xbb\xbf" * 3 + b"a,b\n1,2\n"
    yield "bidi.csv", "a\u202eb,c\n1,2\n".encode()
    yield "names_html.csv", b"</script><b>,c\n1,2\n"


def markets() -> Iterator[tuple[str, bytes]]:
    for place, told in enumerate(
        (
            "2 2 -1",
            "-2 2 1",
            f"{BIG} {BIG} 1",
            "2 2 99999999999999999999",
            "2 2 2.5",
            "2 2",
            "2 2 3 4",
            "a b c",
            "",
            "0 0 1",
            "2 2 0 x",
        )
    ):
        yield f"size_{place}.mtx", f"{MARKET}{told}\n1 1 1.5\n".encode()
        yield f"size_{place}.mtx.gz", gzip.compress(f"{MARKET}{told}\n1 1 1.5\n".encode())
    for place, line in enumerate(
        ("3 1 1", "1 3 1", "0 1 1", "-1 1 1", "1 1", "1 1 x", "1.5 1 1", "99999999999999999999 1 1", "1 1 1\n2 2 2")
    ):
        yield f"entry_{place}.mtx", f"{MARKET}2 2 1\n{line}\n".encode()
    for place, kind in enumerate(
        (
            "matrix coordinate quaternion general",
            "matrix cube real general",
            "vector coordinate real general",
            "matrix coordinate real odd",
            "matrix array pattern general",
            "matrix coordinate complex hermitian",
        )
    ):
        yield f"kind_{place}.mtx", f"%%MatrixMarket {kind}\n2 2 1\n1 1 1\n".encode()
    yield "array_short.mtx", b"%%MatrixMarket matrix array real general\n3 3\n1\n2\n3\n4\n5\n6\n7\n8\n"
    yield "array_huge.mtx", b"%%MatrixMarket matrix array real general\n900000 900000\n1\n"
    yield "array_huge.mtx.gz", gzip.compress(b"%%MatrixMarket matrix array real general\n30000 30000\n1\n")
    yield "entries_huge.mtx.gz", gzip.compress(f"{MARKET}9 9 80000000\n1 1 1\n".encode())
    yield "symmetric_wide.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n"
    yield "short.mtx.gz", gzip.compress(f"{MARKET}9 9 3\n1 1 1\n2 2 2\n".encode())


def labelled() -> Iterator[tuple[str, bytes]]:
    for place, line in enumerate(
        (
            "1 99999999999:1",
            "1 4000000000:1",
            "1 2:1 1:1",
            "1 -3:1",
            "1 1:",
            "1 :1",
            "x 1:1",
            "1 1:1:1",
            "1 1:0x",
            "1,2 1:1",
            "1 1:1 1:2",
            "1 99999999999999999999999:1",
            "\0 1:1",
            "1 1.5:1",
            "1 2147483646:1 1:1",
        )
    ):
        yield f"line_{place}.svm", f"{line}\n".encode()


def matlab() -> Iterator[tuple[str, bytes]]:
    data = np.arange(4.0).tobytes()
    yield "fewer.mat", mat5(3, 3, data)
    yield "more.mat", mat5(1, 2, data)
    yield "more_packed.mat", mat5(1, 2, data, packed=True)
    yield "negative.mat", mat5(-2, 2, data)
    yield "negative_both.mat", mat5(-2, -2, data)
    yield "huge.mat", mat5(2**31 - 1, 2**31 - 1, data)
    yield "huge_rows.mat", mat5(2**31 - 1, 1, data)
    yield "size.mat", mat5(2, 2, data, size=2**32 - 1)
    yield "size_more.mat", mat5(2, 2, data, size=40)
    yield "size_packed.mat", mat5(2, 2, data, size=2**32 - 1, packed=True)
    yield "kind.mat", mat5(2, 2, data, kind=77)
    yield "words.mat", mat5(2, 2, data, flags=4)
    yield "function.mat", mat5(2, 2, data, flags=16)
    yield "opaque.mat", mat5(2, 2, data, flags=17)
    yield "object.mat", mat5(2, 2, data, flags=3)
    yield "unknown.mat", mat5(2, 2, data, flags=99)
    yield "twice.mat", mat5(2, 2, data) + mat5(1, 1, data[:8])[128:]
    yield "four_fewer.mat", mat4(3, 3, data)
    yield "four_negative.mat", mat4(-2, 2, data)
    yield "four_huge.mat", mat4(2**31 - 1, 2**31 - 1, data)
    yield "four_name.mat", struct.pack("<iiiii", 0, 2, 2, 0, 2**31 - 1) + data
    yield "four_complex.mat", struct.pack("<iiiii", 0, 2, 1, 1, 2) + b"X\0" + data
    yield "cells_deep.mat", mat(c=_deep(60))
    yield "cut_packed.mat", mat(True, X=np.random.default_rng(0).random((30, 30)))[:-30]


def _deep(depth):
    thing = np.array([1.0])
    for _ in range(depth):
        outer = np.empty((1, 1), dtype=object)
        outer[0, 0] = thing
        thing = outer
    return thing


def later() -> Iterator[tuple[str, bytes]]:
    import h5py

    eye = np.eye(3)

    def sparse_parts(file, data=(1.0, 2.0, 3.0), ir=(0, 1, 2), jc=(0, 1, 2, 3), rows=3):
        group = file.create_group("S")
        group.attrs["MATLAB_sparse"], group.attrs["MATLAB_class"] = rows, np.bytes_(b"double")
        for name, part in (("data", data), ("ir", ir), ("jc", jc)):
            group.create_dataset(name, data=np.array(part))

    def external(file):
        file["X"] = h5py.ExternalLink("/etc/passwd", "/X")

    def outside(file):
        thing = file.create_dataset("X", (4, 4), "u1", external=[("/etc/passwd", 0, 16)])
        thing.attrs["MATLAB_class"] = np.bytes_(b"uint8")

    def virtual(file):
        layout = h5py.VirtualLayout(shape=(3, 3), dtype="f8")
        layout[:] = h5py.VirtualSource("/tmp/nowhere.h5", "X", shape=(3, 3))
        file.create_virtual_dataset("X", layout).attrs["MATLAB_class"] = np.bytes_(b"double")

    def hollow(file, shape=(3000, 3000)):
        variable(file, "X", None, shape=shape, dtype="f8", chunks=(100, 100))

    def partly(file):
        thing = variable(file, "X", None, shape=(3000, 3000), dtype="f8", chunks=(100, 100))
        thing[:100, :100] = 1.0

    def contiguous(file):
        variable(file, "X", None, shape=(3000, 3000), dtype="f8")

    def soft(file):
        file["X"] = h5py.SoftLink("/X")

    def chained(file):
        file["X"], file["Y"] = h5py.SoftLink("/Y"), h5py.SoftLink("/X")

    def records(file):
        variable(file, "X", np.zeros(3, dtype=[("real", "f8"), ("imag", "f8")]))

    def strings(file):
        variable(file, "X", np.array(["a"], dtype=object), dtype=h5py.string_dtype())

    def named(file):
        sparse_parts(file)
        file["S"].attrs["MATLAB_sparse"] = "three"

    writers: dict[str, Callable[..., None]] = {
        "external": external,
        "outside": outside,
        "virtual": virtual,
        "hollow": hollow,
        "partly": partly,
        "contiguous": contiguous,
        "hollow_huge": lambda file: hollow(file, (10**7, 10**7)),
        "soft": soft,
        "chained": chained,
        "records": records,
        "strings": strings,
        "named": named,
        "sparse_rows": lambda file: sparse_parts(file, rows=10**15),
        "sparse_rows_many": lambda file: sparse_parts(file, rows=10**9),
        "sparse_negative": lambda file: sparse_parts(file, rows=-3),
        "sparse_few": lambda file: sparse_parts(file, rows=2),
        "sparse_place": lambda file: sparse_parts(file, ir=(0, 1, 99)),
        "sparse_below": lambda file: sparse_parts(file, ir=(0, -1, 2)),
        "sparse_jc": lambda file: sparse_parts(file, jc=(0, 3, 1, 3)),
        "sparse_jc_far": lambda file: sparse_parts(file, jc=(0, 1, 2, 99)),
        "sparse_data": lambda file: sparse_parts(file, data=(1.0, 2.0)),
        "sparse_axes": lambda file: sparse_parts(file, data=eye),
        "sparse_start": lambda file: sparse_parts(file, jc=(1, 1, 2, 3)),
        "nothing": lambda file: None,
        "group": lambda file: file.create_group("X"),
    }
    for name, write in writers.items():
        yield f"later_{name}.mat", hdf5(write)
    good = hdf5(lambda file: variable(file, "X", eye))
    yield "later_cut.mat", good[: len(good) // 2]
    yield "later_half.mat", good[:-40]


def arrowed() -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa

    yield "rows_lie.parquet", _rows_lie(parquet({"a": np.arange(40.0)}), 40, 60)
    yield "rows_less.parquet", _rows_lie(parquet({"a": np.arange(40.0)}), 40, 30)
    yield "lists.parquet", parquet({"a": [[1.0, 2.0]]})
    yield "large_lists.feather", feather({"a": pa.array([[1.0]], pa.large_list(pa.float64()))})
    yield "no_columns.parquet", parquet(pa.table({"a": [1]}).select([]))
    yield "names_same.parquet", parquet(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]))
    yield "columns.parquet", parquet(pa.table([pa.array([1.0])] * 5, names=["a", "a ", "b", "", " "]))
    yield "magic.parquet", b"PAR1" + struct.pack("<I", 2**31) + b"PAR1"
    yield "magic_long.parquet", b"PAR1" + bytes(400) + struct.pack("<I", 2**32 - 1) + b"PAR1"
    yield "encrypted.parquet", parquet({"a": [1.0]})[:-4] + b"PARE"
    yield "magic.arrow", b"ARROW1\0\0" + b"\xff" * 400 + b"ARROW1"
    yield "stream.arrow", b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 1)
    yield "stream_negative.arrow", b"\xff\xff\xff\xff" + struct.pack("<i", -8)


def soundly_arrowed() -> Iterator[tuple[str, bytes]]:
    """What may be read, if it neither runs code nor takes more memory than it says."""
    import pyarrow as pa

    evil = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Evil())}
    field = pa.field("a", pa.float64(), metadata=evil)
    table = pa.table([pa.array([1.0, 2.0])], schema=pa.schema([field]))
    yield "extension.parquet", parquet(table)
    yield "extension.feather", feather(table, version=2)
    yield "extension.arrow", arrow_stream(table)
    told = {
        "index_columns": [{"kind": "os.mkdir"}],
        "columns": [{"name": "a", "numpy_type": MARK}],
        "creator": Evil.__name__,
    }
    told_of = pa.table({"a": [1.0]}).replace_schema_metadata({b"pandas": json.dumps(told).encode()})
    yield "pandas.parquet", parquet(told_of)
    yield "pandas.feather", feather(told_of)
    word = pa.array(["w" * 1_000_000])
    many = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, dtype=np.int8)), word)
    yield "bomb_words.parquet", parquet(pa.table({"a": many}), store_schema=False)
    yield "bomb_words.feather", feather(pa.table({"a": many}))
    yield "bomb_words.arrow", arrow_stream(pa.table({"a": many}))


def _rows_lie(content, rows, told):
    """The number of rows in the footer, which thrift writes as a zigzag number behind a byte of its field."""
    size = struct.unpack("<I", content[-8:-4])[0]
    start = len(content) - 8 - size
    footer = bytearray(content[start:-8])
    at = footer.find(bytes([0x16, 2 * rows]))  # the first one: of the whole file
    footer[at + 1] = 2 * told
    return content[:start] + bytes(footer) + content[-8:]


def pictures() -> Iterator[tuple[str, bytes]]:
    yield "bomb.png", png(60_000, 60_000)
    yield "wide.png", png(2**31 - 1, 1)
    yield "nothing.png", png(0, 0)
    yield "short.png", png(4000, 4000)
    yield "depth.png", png(4, 4, depth=77)
    script = (
        f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n({MARK}) (w) file closefile\n%%EOF\n".encode()
    )
    yield "postscript.png", script
    yield "postscript.gif", script
    yield "other.png", image("ICO", (16, 16)) if "ICO" in Image.registered_extensions().values() else b"\0\0\1\0\1\0"
    yield "icns.png", b"icns" + struct.pack(">I", 40) + bytes(32)
    yield "text.png", b"hello" * 30
    yield (
        "huge.gif",
        b"GIF89a"
        + struct.pack("<HH", 65535, 65535)
        + b"\x00\x00\x00"
        + b",\0\0\0\0\xff\xff\xff\xff\0\x08\x01\x00\x00;",
    )
    yield (
        "huge.bmp",
        b"BM"
        + struct.pack("<IHHI", 60, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, 2**30, 2**30, 1, 24, 0, 0, 0, 0, 0, 0),
    )
    yield "huge.pgm", b"P5 99999 99999 255\n" + bytes(10)
    yield "digits.pgm", b"P5 " + b"9" * 5000 + b" 1 255\n"
    yield (
        "huge.tiff",
        b"II*\0\x08\0\0\0"
        + struct.pack("<H", 3)
        + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in ((256, 2**20), (257, 2**20), (273, 8)))
        + bytes(4),
    )
    yield "cut.jpg", image("JPEG", (200, 200), "RGB")[:900]
    yield "cut.webp", image("WEBP", (200, 200), "RGB")[:400]
    yield "huge_shape.npy", declared((10**6, 10**6, 10**6))
    yield "flat.npy", npy(np.eye(2))


def soundly_drawn() -> Iterator[tuple[str, bytes]]:
    """Odd, and what Pillow makes of it is whole."""
    yield "loop.tiff", _loop()


def _loop():
    """A page that comes after itself."""
    tags = (
        (256, 3, 2),
        (257, 3, 2),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 100),
        (277, 3, 1),
        (278, 3, 2),
        (279, 4, 4),
    )
    body = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + body + struct.pack("<I", 8) + bytes(60)


# Answers -------------------------------------------------------------------------------------------------------------


def opened(content):
    """The header and the arrays of a file of an answer."""
    with np.load(streams.BytesIO(content), allow_pickle=False) as found:
        told = {key: found[key] for key in found.files}
    return json.loads(told.pop("fewatoms").tobytes()), told


def closed(head, told):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return npz(fewatoms=np.frombuffer(text, dtype=np.uint8), **told)


def answered(saved: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    content = next(iter(saved.values()))
    head, told = opened(content)
    evil = npy(np.array([Evil()], dtype=object), pickled=True)
    yield "pickle", pickle.dumps(Evil())
    yield "pickled_header", archive([("fewatoms.npy", evil)])
    yield (
        "pickled_member",
        archive([("fewatoms.npy", npy(np.frombuffer(json.dumps(head).encode(), np.uint8))), ("it.c.npy", evil)]),
    )
    for place, format in enumerate((0, -1, 2, 10**30, "1", None, 1.0, True, [1])):
        yield f"format_{place}", closed({**head, "format": format}, told)
    for place, text in enumerate(
        (b"", b"{}", b"[]", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"9" * 10_000, b'{"format":1')
    ):
        yield f"header_{place}", closed(text, told)
    for name in ("labels", "content", "format"):
        yield f"without_{name}", closed({key: value for key, value in head.items() if key != name}, told)
    for place, kind in enumerate(
        ("os", "builtins", "eval", "__class__", "", None, ["answer"], "packs", "coordinates", "pack")
    ):
        yield f"kind_{place}", closed({**head, "content": {**head["content"], "kind": kind}}, told)
    for key in (name for name, array in told.items() if array.size):
        yield f"without_{key}", closed(head, {name: array for name, array in told.items() if name != key})
        yield f"nan_{key}", closed(head, {**told, key: np.full((2, 2, 2), np.nan)})
        yield f"words_{key}", closed(head, {**told, key: np.array(["a"])})
        yield f"longer_{key}", closed(head, {**told, key: np.concatenate([np.ravel(told[key])] * 2)})
    yield "packed", archive([("fewatoms.npy", npy(np.zeros(9, np.uint8)))], True)
    yield "climbing", archive([("fewatoms.npy", npy(np.zeros(9, np.uint8))), ("../x.npy", npy(np.ones(2)))])
    members = [(f"{name}.npy", npy(array)) for name, array in told.items()]
    start = ("fewatoms.npy", npy(np.frombuffer(json.dumps(head).encode(), np.uint8)))
    yield "twice", archive([start, *members, *members[:1]])
    yield "declares", archive([start, ("it.c.npy", declared((BIG,), body=bytes(8))), *members[1:]])
    yield "behind", archive([start, *[(name, content + b"more") for name, content in members]])


# Bent ----------------------------------------------------------------------------------------------------------------


def sound() -> dict[str, tuple[str, bytes, str]]:
    """Sound files: reader, content, and what stands guard over it."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((23, 7)), 3)
    rows = "\n".join(",".join(map(str, row)) for row in X)
    text = ("a,b,c,d,e,f,g\n" + rows + "\n").encode()
    words = ("id,word,value\n" + "".join(f'{i},"w {i % 3}",{i / 4}\n' for i in range(40))).encode()
    S = sp.random_array((20, 15), density=0.2, rng=rng)
    triplets = "".join(f"{i + 1} {j + 1} {v:.6g}\n" for i, j, v in zip(*S.coords, S.data, strict=True))
    table = pa.table({"a": X[:, 0], "b": [f"w{i % 3}" for i in range(23)], "c": np.arange(23)})
    return {
        "x.npy": ("grid", npy(X), "sound"),
        "columns.npz": ("table", npz(a=X[:, 0], b=X[:, 1]), "same"),
        "packed.npz": ("grid", npz(True, X=X, y=X[:, 0]), "same"),
        "sparse.npz": ("grid", sparse(), "same"),
        "x.csv": ("grid", text, "sound"),
        "words.tsv": ("table", words.replace(b",", b"\t"), "sound"),
        "x.csv.gz": ("grid", gzip.compress(text), "same"),
        "entries.csv": ("entries", words.replace(b"word", b"item"), "sound"),
        "x.parquet": ("table", parquet(table), "sound"),
        "zstd.parquet": ("table", parquet(table, compression="zstd", write_page_checksum=True), "sound"),
        "entries.parquet": (
            "entries",
            parquet({"u": np.arange(30), "i": np.arange(30) % 7, "r": np.ones(30)}),
            "sound",
        ),
        "x.feather": ("table", feather(table), "sound"),
        "x.arrow": ("table", arrow_stream(table), "sound"),
        "x.mat": ("grid", mat(X=X), "sound"),
        "packed.mat": ("grid", mat(True, X=X), "sound"),
        "four.mat": ("grid", mat(form="4", X=X), "sound"),
        "sparse.mat": ("grid", mat(X=sp.csc_array(S)), "sound"),
        "later.mat": ("grid", hdf5(lambda file: variable(file, "X", X)), "sound"),
        "x.mtx": ("entries", f"{MARKET}20 15 {S.nnz}\n{triplets}".encode(), "sound"),
        "x.mtx.gz": ("grid", gzip.compress(f"{MARKET}20 15 {S.nnz}\n{triplets}".encode()), "same"),
        "x.svm": ("grid", b"".join(b"%d 1:%.3f 4:2.5 9:1\n" % (i % 2, i / 7) for i in range(30)), "sound"),
        "x.png": ("stack", image("PNG"), "same"),
        "x.gif": ("stack", image("GIF", frames=3), "sound"),
        "x.tiff": ("stack", image("TIFF", frames=2), "sound"),
        "x.jpg": ("stack", image("JPEG", (40, 30), "RGB"), "sound"),
        "x.bmp": ("stack", image("BMP"), "sound"),
        "x.webp": ("stack", image("WEBP", (40, 30), "RGB"), "sound"),
        "x.pgm": ("stack", image("PPM"), "sound"),
        "frames.npz": ("stack", npz(frames=rng.random((3, 4, 5))), "same"),
    }


def bend(content, rng) -> bytes:
    """A file with one thing wrong."""
    told = bytearray(content)
    size = len(told)
    at, width = int(rng.integers(size)), int(rng.choice([1, 2, 4, 8, 16]))
    way = int(rng.integers(9))
    if way == 0:
        return bytes(told[: int(rng.integers(1, size))])
    if way == 1:
        told[at] ^= 1 << int(rng.integers(8))
    elif way == 2:
        told[at : at + width] = bytes(min(width, size - at))
    elif way == 3:
        told[at : at + width] = b"\xff" * min(width, size - at)
    elif way == 4:
        told[at : at + 4] = struct.pack("<I", 2**31 - 1)
    elif way == 5:
        told[at:at] = rng.bytes(width)
    elif way == 6:
        del told[at : at + width]
    elif way == 7:
        end = min(size, at + int(rng.integers(1, 200)))
        told[at:at] = told[at:end]
    else:  # the start tells most lies
        at = int(rng.integers(min(size, 200)))
        told[at] = int(rng.integers(256))
    return bytes(told)


def bent(seed: int, each: int, saved: dict[str, bytes]) -> Iterator[Attack]:
    """Sound files, each bent in so many ways."""
    rng = np.random.default_rng(seed)
    whole = {**sound(), **{f"{name}.answer": ("load", content, "same") for name, content in saved.items()}}
    for name, (reader, content, rule) in whole.items():
        stem, _, rest = name.partition(".")
        for number in range(each):
            yield Attack(reader, f"{stem}_{number}.{rest}", bend(content, rng), rule, name)


def by_hand(saved: dict[str, bytes]) -> Iterator[Attack]:
    """All that somebody thought of."""
    kinds = (
        ("grid", "refused", arrays),
        ("grid", "refused", archives),
        ("table", "refused", texts),
        ("table", "sound", slow_texts),
        ("grid", "refused", markets),
        ("grid", "refused", labelled),
        ("grid", "refused", matlab),
        ("grid", "refused", later),
        ("table", "refused", arrowed),
        ("table", "sound", soundly_arrowed),
        ("stack", "refused", pictures),
        ("stack", "sound", soundly_drawn),
    )
    for reader, rule, make in kinds:
        for name, content in make():
            yield Attack(reader, name, content, rule)
    for name, content in answered(saved):
        yield Attack("load", f"{name}.answer", content, "refused")


def bombing(saved: dict[str, bytes]) -> Iterator[Attack]:
    """What takes longer to make than to refuse."""
    for reader, name, content in bombs():
        yield Attack(reader, name, content, "refused")
    told = opened(next(iter(saved.values())))[1]
    yield Attack("load", "bomb.answer", member_of_zeros(declared((LONG,), "|u1"), LONG), "refused")
    many = [
        *((f"{name}.npy", npy(array)) for name, array in told.items()),
        *((f"x{i}.npy", b"") for i in range(70_000)),
    ]
    yield Attack("load", "crowded.answer", archive(many), "refused")
