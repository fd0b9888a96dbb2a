"""Pages read as their readers would: the Python blocks typed one after the other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Page:
    """A page of the repository, by its name there; `run` types its blocks in one namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (ROOT / name).read_text(encoding="utf-8")
        self.blocks = re.findall(r"```python\n(.*?)```", self.text, flags=re.S)

    def run(self, watched: str | None = None) -> dict[str, object]:
        """The names the blocks leave behind; under `answers` what `watched` was after each of them."""
        names: dict[str, object] = {}
        seen = []
        for block in self.blocks:
            exec(compile(block, self.name, "exec"), names)
            if watched:
                seen.append(names[watched])
        return names | {"answers": seen}
