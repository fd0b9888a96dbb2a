"""Tables in text: natural files, and the two ways to read them, which must agree."""

import gzip

import numpy as np
import pytest

from fewatoms import io
from fewatoms.io import arrow, cells, columns, text


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Read what a file would hold, however small it is."""
    monkeypatch.setattr(columns, "SMALL", 0)

    def read(content, name="data.csv", **asked):
        raw = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return io.read_table(path, **asked)

    return read


@pytest.fixture(params=["pyarrow", "csv"])
def way(request, monkeypatch):
    """Both ways in turn, none of which may lean on the other."""
    if request.param == "csv":
        monkeypatch.setattr(arrow, "text_batches", _unavailable)
    return request.param


def _unavailable(layout):
    raise ImportError("not here")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("content", "expected"),
    {
        "plain": ("a,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        "no last line end": ("a,b\n1,2\n3,4", {"a": [1, 3], "b": [2, 4]}),
        "windows": ("a,b\r\n1,2\r\n3,4\r\n", {"a": [1, 3], "b": [2, 4]}),
        "old mac": ("a,b\r1,2\r3,4", {"a": [1, 3], "b": [2, 4]}),
        "byte order mark": ("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
        "semicolons": ("a;b, in m\n1;x,y\n", {"a": [1], "b, in m": ["x,y"]}),
        "tabs": ("a\tb\n1\tx;y,z\n", {"a": [1], "b": ["x;y,z"]}),
        "decimal commas": ("a;b\n1,5;2\n-,25;\n", {"a": [1.5, -0.25], "b": [2, np.nan]}),
        "quotes": ('"a","b"\n"x, y","say ""hi"""\n', {"a": ["x, y"], "b": ['say "hi"']}),
        "line end in quotes": ('a,b\n"x\ny",1\nz,2\n', {"a": ["x\ny", "z"], "b": [1, 2]}),
        "header in two lines": ('"a\nb",c\n1,2\n', {"a\nb": [1], "c": [2]}),
        "spaces": (" a , b \n 1 , x \n 2 , y \n", {"a": [1, 2], "b": ["x", "y"]}),
        "index of pandas": (",b\n0,5\n1,6\n", {"index": [0, 1], "b": [5, 6]}),
        "trailing separators": ("a,b,\n1,2,\n", {"a": [1], "b": [2], "column 3": [np.nan]}),
        "missing elsewhere": ("a\n1\nN/A\nn/a\n#N/A\n#NA\n<NA>\nNULL\n", {"a": [1] + [np.nan] * 6}),
        "decimals, not thousands": ("a;b\n0,126;2\n1,500;3\n-0,250;4\n", {"a": [0.126, 1.5, -0.25], "b": [2, 3, 4]}),
        "missing": ("a\n1\n\"\"\nNA\nNaN\nnan\nnull\nNone\n?\n", {"a": [1] + [np.nan] * 7}),
        "missing words": ("a,b\nx,1\n,2\nNA,3\n", {"a": ["x", None, None], "b": [1, 2, 3]}),
        "all missing": ("a,b\n,1\n,2\n", {"a": [np.nan, np.nan], "b": [1, 2]}),
        "booleans": ("a,b\nTrue,1\nFALSE,2\n,3\n", {"a": [1, 0, np.nan], "b": [1, 2, 3]}),
        "booleans and numbers": ("a\nTrue\n2\n", {"a": ["True", "2"]}),
        "dates": ("a\n2024-01-31\n2024-02-29\n", {"a": ["2024-01-31", "2024-02-29"]}),
        "numbers": ("a\n+1\n1e3\n.5\n-2.\ninf\n-Infinity\n1E-2\n", {"a": [1, 1e3, 0.5, -2, np.inf, -np.inf, 0.01]}),
        "not numbers": ("a\n1_000\n0x10\n", {"a": ["1_000", "0x10"]}),
        "blank lines": ("\n\na,b\n1,2\n\n3,4\n\n", {"a": [1, 3], "b": [2, 4]}),
        "one row": ("a\n7\n", {"a": [7]}),
        "not ASCII": ("größe,名\n1,é\n", {"größe": [1], "名": ["é"]}),
        "leading zeros": ("a\n007\n010\n", {"a": [7, 10]}),
        "odd quotes": ('a,b\n5" pipe,1\n"x"y,2\n', {"a": ['5" pipe', "xy"], "b": [1, 2]}),
    }.values(),
)  # fmt: skip
def test_natural_files(table, content, expected):
    for name in ("data.csv", "data.tsv.gz"):
        found = table(content, name)
        assert found.names == tuple(expected)
        for column, values in expected.items():
            np.testing.assert_array_equal(found.column(column), np.array(values, dtype=found.column(column).dtype))
            assert found.column(column).dtype == (object if any(isinstance(v, str) for v in values) else float)


@pytest.mark.usefixtures("way")
def test_thousands_of_columns(table):
    names = [f"c{i}" for i in range(3000)]
    found = table(",".join(names) + "\n" + ",".join(map(str, range(3000))) + "\n")
    np.testing.assert_array_equal(found.numeric(), [np.arange(3000.0)])
    assert found.names == tuple(names)


def test_some_columns_only(table):
    found = table("a,b,c\n1,x,3\n", columns=["c", "a"])
    assert found.names == ("c", "a")
    assert found.column("c") == [3.0]


@pytest.mark.usefixtures("way")
def test_a_word_that_comes_late_makes_its_column_text(table, monkeypatch):
    monkeypatch.setattr(text, "BATCH_CELLS", 8)
    monkeypatch.setattr(arrow, "TEXT_BLOCK", 64)
    rows = [f"{i},{i}.5" for i in range(200)]
    rows[150] = "150,much"
    found = table("a,b\n" + "\n".join(rows))
    np.testing.assert_array_equal(found.column("a"), np.arange(200.0))
    assert found.column("b").tolist() == [row.split(",")[1] for row in rows]


# Two ways, one table -------------------------------------------------------------------------------------------------

TOKENS = [
    "", "1", "-2.5", "+3", "1e5", ".5", "nan", "NAN", "-nan", "nan(1)", "NA", "?", "null", "None", "inf", "Infinity",
    "true", "False", "TRUE", "x", "x y", " 7 ", "1,5", "2,25", "1;5", '"', '"q"', '"a,b"', '"a;b"', '"a""b"', 'a"b',
    '"a"b', '"l1\nl2"', "é", "名", "1_0", "0x1", "1e400", "1e-400", "12345678901234567890", "\t8", "0.1", "-", ".",
    "NULL", "N/A",
]  # fmt: skip


def drawn(rng):
    """A file of some columns, most of which hold tokens of few kinds."""
    width, height = rng.integers(1, 5), rng.integers(1, 12)
    separator = str(rng.choice([",", ";", "\t"]))
    pools = [rng.choice(len(TOKENS), rng.integers(1, 6)) for _ in range(width)]
    clean = [
        [
            '"' + t.replace('"', '""') + '"' if separator in t and '"' not in t else t
            for t in map(TOKENS.__getitem__, pool)
        ]
        for pool in pools
    ]
    lines = [separator.join(f"c{i}" for i in range(width))]
    lines += [separator.join(str(rng.choice(pool)) for pool in clean) for _ in range(height)]
    if rng.random() < 0.1:
        lines.insert(int(rng.integers(1, len(lines) + 1)), "")
    end = str(rng.choice(["\n", "\r\n"]))
    return end.join(lines) + (end if rng.random() < 0.5 else "")


def told(path, rows):
    """The columns of a file, read in one way, or that it is refused."""
    layout = text.layout(path, str(path))

    def some():
        return rows(layout)

    try:
        found = cells.columns_of(str(path), layout.names, some, layout.separator != ",")
    except io.Refused:
        return None
    return {name: [str(value) for value in column.tolist()] for name, column in found.items()}


def test_both_ways_give_the_same_table(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(text, "BATCH_CELLS", 8)
    monkeypatch.setattr(arrow, "TEXT_BLOCK", 64)
    path, taken, refused = tmp_path / "data.csv", 0, 0
    for _ in range(150):
        content = drawn(rng)
        path.write_bytes(content.encode())
        by_module = told(path, text.batches)
        try:
            by_arrow = told(path, arrow.text_batches)
        except Exception:
            by_arrow = None  # then the other way is taken
        if by_arrow is not None:
            taken += 1
            assert by_arrow == by_module, content
        refused += by_module is None
    assert taken > 75
    assert refused > 3


def test_who_reads_what(table, monkeypatch):
    def never(layout):
        raise AssertionError("nobody else was to be asked")

    with monkeypatch.context() as patch:
        patch.setattr(text, "batches", never)
        assert table("a;b\n1;x\n2;y\n").column("a").tolist() == [1, 2]
    asked = []
    monkeypatch.setattr(columns, "SMALL", 20)
    monkeypatch.setattr(arrow, "text_batches", asked.append)
    assert table("a;b\n1;x\n").column("a").tolist() == [1]
    assert not asked
    assert table("a;b\n1;x\n2;y\n3;z and more\n").column("a").tolist() == [1, 2, 3]
    assert asked
