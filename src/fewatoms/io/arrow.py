"""What pyarrow reads: rows of text, Parquet, Feather and Arrow files, batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType

import numpy as np

from fewatoms import names as naming
from fewatoms._types import Array, FloatArray, Foreign
from fewatoms.io.cells import MISSING, NUMERIC, PlainCells, bare, objects
from fewatoms.io.codes import Coder, NumberCoder
from fewatoms.io.memory import afford
from fewatoms.io.records import asked, distinct
from fewatoms.io.refused import Refused, borrowed, reading
from fewatoms.io.text import LONGEST_LINE, Layout

TEXT_BLOCK = 2**22  # bytes of text at once
BATCH_ROWS = 2**17
LIMITS = {"thrift_string_size_limit": 2**26, "thrift_container_size_limit": 2**20}  # of what a footer may declare
INDEX = "__index_level_0__"  # how pandas writes an index that has no name


def pyarrow(module: str = "", purpose: str = "this file") -> ModuleType:
    """pyarrow, or a module of it."""
    return borrowed(f"pyarrow.{module}" if module else "pyarrow", purpose)


# Text ----------------------------------------------------------------------------------------------------------------


class ArrowCells:
    """Cells as strings of pyarrow; what its casts do not take goes the way of Python's strings."""

    def __init__(self, column: Foreign) -> None:
        self.column = column

    @cached_property
    def trimmed(self) -> Foreign:
        pa, compute = pyarrow(), pyarrow("compute")
        stripped = compute.ascii_trim_whitespace(self.column)
        known = compute.is_in(stripped, value_set=pa.array(sorted(MISSING)))
        return _bare(compute.if_else(known, pa.scalar(None, pa.string()), stripped))

    def numbers(self) -> tuple[str, FloatArray]:
        for trimmed in (False, True):  # most columns need no trimming
            cells = self.trimmed if trimmed else self.column
            try:
                values = np.array(cells.cast(pyarrow().float64()).to_numpy(zero_copy_only=False))
            except pyarrow().ArrowInvalid:
                continue
            missing = np.count_nonzero(np.isnan(values))
            if missing == cells.null_count and missing < len(values):
                return NUMERIC, values
        return self._plain.numbers()

    def texts(self) -> Array:
        return words(self.trimmed)

    def encoded(self) -> tuple[Array, Array]:
        once, places = encoded(self.trimmed)
        return once.to_numpy(zero_copy_only=False), places

    @cached_property
    def _plain(self) -> PlainCells:
        return PlainCells(self.column.to_pylist())


def _bare(column: Foreign) -> Foreign:
    """Words without the apostrophe that keeps some of them from being formulas."""
    pa, compute = pyarrow(), pyarrow("compute")
    if not compute.any(compute.starts_with(column, "'")).as_py():
        return column
    told = column.dictionary_encode()
    return pa.array(map(bare, told.dictionary.to_pylist()), pa.string()).take(told.indices)


def text_batches(it: Layout) -> Iterator[list[ArrowCells]]:
    """The rows below the names, some at a time. Raises pyarrow's errors, or Refused, for what it does not read."""
    pa, csv = pyarrow(), pyarrow("csv")
    labels = [str(place) for place in range(len(it.names))]
    with it.stream() as stream:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=labels, skip_rows_after_names=1, block_size=_block(it), use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=it.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
            ),
        )
        last = None
        for batch in reader:
            if last is not None and last.num_rows:
                yield [ArrowCells(column) for column in last.columns]
            last = batch if batch.num_rows or last is None else last
        if last is None or not last.num_rows or not it.ends([column[-1].as_py() for column in last.columns]):
            raise Refused(f"{it.source} has a quote that is never closed")
        if last.num_rows > 1:
            yield [ArrowCells(column) for column in last.slice(0, last.num_rows - 1).columns]


def _block(it: Layout) -> int:
    """Bytes of one block: a line must not be longer, and many columns are long lines."""
    return min(max(TEXT_BLOCK, 256 * len(it.names)), LONGEST_LINE)


def encoded(column: Foreign) -> tuple[Foreign, Array]:
    """What is in a column, each once, and which of these each row has; -1 where it is missing."""
    told = column if pyarrow().types.is_dictionary(column.type) else column.dictionary_encode()
    return told.dictionary, told.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def words(column: Foreign) -> Array:
    """Strings as objects, equal ones the same object, None for what is missing."""
    once, places = encoded(column)
    return np.append(once.to_numpy(zero_copy_only=False).astype(object), [None])[places]


# Parquet, Feather, Arrow ---------------------------------------------------------------------------------------------


class Binary:
    """A file of columns with types: their names, and batches of some of them."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source

    @cached_property
    def names(self) -> tuple[str, ...]:
        return distinct(self.source, ["index" if name == INDEX else name for name in self.schema.names])

    @property
    def schema(self) -> Foreign:
        raise NotImplementedError

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[list[Foreign]]:
        """Arrays of pyarrow, in the order asked for, about so many rows at a time."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """How many rows there are; 0 if the file does not say."""
        return 0

    def refuse_large(self, columns: Sequence[str]) -> None:
        """Refuse columns that do not fit into memory, where the file says how large they are."""
        afford(self.source, 8 * self.rows * len(columns))

    def types(self, columns: Sequence[str]) -> list[Foreign]:
        asked(self.source, columns, self.names)
        return [self.schema.types[self.names.index(name)] for name in columns]


class Parquet(Binary):
    """By row groups, and within them in batches, so that little more than the answer is in memory."""

    @cached_property
    def file(self) -> Foreign:
        parquet = pyarrow("parquet", f"{self.source} is a Parquet file, which")
        with reading(self.source, "a Parquet file"):
            return parquet.ParquetFile(
                self.path, pre_buffer=False, buffer_size=2**20, read_dictionary=self._words(parquet), **LIMITS
            )

    def _words(self, parquet: Foreign) -> list[str]:
        """The columns of text: each word is read once, however many rows have it."""
        types = pyarrow().types
        return [
            field.name
            for field in parquet.ParquetFile(self.path, **LIMITS).schema_arrow
            if types.is_string(field.type) or types.is_large_string(field.type)
        ]

    @cached_property
    def schema(self) -> Foreign:
        with reading(self.source, "a Parquet file"):
            return self.file.schema_arrow

    @property
    def rows(self) -> int:
        return int(self.file.metadata.num_rows)

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[list[Foreign]]:
        own = [self.schema.names[self.names.index(name)] for name in columns]
        count = 0
        with reading(self.source, "a Parquet file"):
            for batch in self.file.iter_batches(rows, columns=own, use_threads=False):
                count += batch.num_rows
                yield [batch.column(name) for name in own]
        if count != self.rows:
            raise Refused(f"{self.source} declares {self.rows} rows and has {count}: it was changed; write it again")
        pyarrow().default_memory_pool().release_unused()


class Ipc(Binary):
    """Feather and Arrow files, and streams that were written to a file."""

    @cached_property
    def schema(self) -> Foreign:
        with self._opened() as reader:
            return reader.schema

    def _opened(self) -> Foreign:
        ipc = pyarrow("ipc", f"{self.source} is an Arrow file, which")
        with reading(self.source, "a Feather or Arrow file"):
            try:
                return ipc.open_file(str(self.path))
            except pyarrow().ArrowInvalid:
                return ipc.open_stream(str(self.path))

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[list[Foreign]]:
        """As large as they were written."""
        places = [self.names.index(name) for name in columns]
        with reading(self.source, "a Feather or Arrow file"), self._opened() as reader:
            count = getattr(reader, "num_record_batches", None)
            some = iter(reader) if count is None else map(reader.get_batch, range(count))
            for batch in some:
                batch.validate(full=True)  # or a file that lies about its sizes is read beyond its end
                yield [batch.column(place) for place in places]


def columns_of(it: Binary, columns: Sequence[str], as_text: Collection[str] = ()) -> dict[str, Array]:
    """Whole columns as tables have them: float64, or text, also where that is asked for."""
    kinds = zip(columns, it.types(columns), strict=True)
    readers = [
        _cleaned if name in as_text and read is _floats else read
        for name, read in ((name, converter(it.source, name, kind)) for name, kind in kinds)
    ]
    parts: list[list[Array]] = [[] for _ in columns]
    size = 0
    for batch in it.batches(columns):
        for part, read, column in zip(parts, readers, batch, strict=True):
            part.append(read(column))
        size += sum(8 * len(column) for column in batch)
        afford(it.source, size // 8)  # what putting the parts together will take, at least
    return {name: np.concatenate(part) if part else np.empty(0) for name, part in zip(columns, parts, strict=True)}


def converter(source: str, name: str, kind: Foreign) -> Foreign:
    """How a column of this type becomes float64 or text."""
    pa = pyarrow()
    types = pa.types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_floating(inner) or types.is_integer(inner) or types.is_boolean(inner) or types.is_null(inner):
        return _floats
    if types.is_decimal(inner):
        return _floats
    if types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner):
        return _cleaned
    if types.is_temporal(inner):
        return _cleaned
    raise Refused(
        f"{source} must have numbers, text or dates in its columns; {naming.told([name])} has {kind}: leave it out, or "
        "turn it into several columns"
    )


def _floats(column: Foreign) -> Array:
    pa = pyarrow()
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return np.array(plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _cleaned(column: Foreign) -> Array:
    return words(_once(column, pyarrow().string()))


def _once(column: Foreign, kind: Foreign) -> Foreign:
    """A column as this type; of categories each is turned once, and stays one for all its rows."""
    pa = pyarrow()
    if not pa.types.is_dictionary(column.type):
        return column.cast(kind)
    told = column.dictionary.cast(kind).dictionary_encode()  # categories that differ may become equal
    return pa.DictionaryArray.from_arrays(told.indices.take(column.indices), told.dictionary)


# Entries -------------------------------------------------------------------------------------------------------------


class ArrowCoder(Coder):
    """Ids that are strings of pyarrow, which stay there until the end: looking up each in Python would take long."""

    def __init__(self) -> None:
        super().__init__()
        self.known = pyarrow().array([], pyarrow().string())

    def numbers(self, once: Foreign) -> Array:
        pa, compute = pyarrow(), pyarrow("compute")
        places = compute.index_in(once, value_set=self.known)
        new = places.is_null()
        codes = np.array(places.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int32)
        fresh = new.to_numpy(zero_copy_only=False)
        codes[fresh] = np.arange(len(self.known), len(self.known) + np.count_nonzero(fresh))
        self.known = pa.concat_arrays([self.known, once.filter(new)])
        return codes

    def ids(self) -> Array:
        return objects(self.known.to_pylist())


class Identifier:
    """How a column of ids is read: whole numbers stay exact, everything else is text."""

    def __init__(self, source: str, name: str, whole: bool) -> None:
        self.source, self.name, self.whole = source, name, whole
        self.coder: Coder = NumberCoder() if whole else ArrowCoder()

    def encoded(self, column: Foreign) -> tuple[Foreign, Array]:
        pa = pyarrow()
        try:
            once, places = encoded(_once(column, pa.int64() if self.whole else pa.string()))
        except pa.ArrowInvalid as error:
            raise Refused(
                f"{self.source} must have ids in column {self.name!r} that are text or whole numbers of 64 bits "
                f"({error}): name the column of the ids, or write them as text"
            ) from error
        return (once.to_numpy() if self.whole else once), places


def identifier(source: str, name: str, kind: Foreign) -> Identifier:
    """The reader of a column of ids of this type."""
    converter(source, name, kind)
    types = pyarrow().types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    return Identifier(source, name, types.is_integer(inner) or types.is_floating(inner))


def value_reader(source: str, name: str, kind: Foreign) -> Foreign:
    """The reader of a column of values of this type: single precision as it comes, other numbers as float64."""
    if kind == pyarrow().float32():
        return _singles
    if converter(source, name, kind) is not _floats:
        raise Refused(f"{source} must have numbers in column {name!r}; it has {kind}: name the column of the values")
    return _floats


def _singles(column: Foreign) -> Array:
    return np.array(column.to_numpy(zero_copy_only=False))
