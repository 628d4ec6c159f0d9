"""Sentences and tables, as a terminal shows them and as a notebook does."""

from __future__ import annotations

import dataclasses
import html
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..filters import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod
    from rich.table import Table

NOTEBOOK_WIDTH = 160


@dataclasses.dataclass(frozen=True, slots=True)
class PrintedColumn:
    title: str
    cells: Sequence[str] = ()
    folds_to: int | None = None  # its cells may be folded to so many characters; None for those that stay in one line
    drop: int = 0  # where the table is too wide, columns go by this number, the largest first; 0 is never left out
    is_number: bool = False  # aligned to the right

    @property
    def least_width(self) -> int:
        from rich.cells import cell_len

        widest = max(cell_len(line) for cell in (self.title, *self.cells) for line in cell.split("\n"))
        return 3 + (widest if self.folds_to is None else min(widest, self.folds_to))


@dataclasses.dataclass(frozen=True, slots=True)
class PrintedTable:
    """Some columns of one length, under a title where there is one."""

    columns: Sequence[PrintedColumn]
    title: str = ""

    @classmethod
    def of(cls, columns: Sequence[PrintedColumn], rows: Sequence[Sequence[str]]) -> PrintedTable:
        """With a cell for each of *columns* in each of *rows*."""
        return cls([dataclasses.replace(one, cells=[row[at] for row in rows]) for at, one in enumerate(columns)])

    def of_width(self, width: int) -> Sequence[PrintedColumn]:
        """The columns, without those that have to go for a terminal of *width* characters."""
        columns = list(self.columns)
        while sum(column.least_width for column in columns) + 1 > width:
            last = max(columns, key=lambda column: column.drop)
            if not last.drop:
                break
            columns.remove(last)
        return columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        from rich.table import Table
        from rich.text import Text

        columns = self.of_width(options.max_width)
        table = Table(title=Text(printable(self.title)) if self.title else None)
        for column in columns:
            justify: JustifyMethod = "right" if column.is_number else "left"
            title = Text(printable(column.title))
            table.add_column(title, overflow="fold", justify=justify, no_wrap=column.folds_to is None)
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*(Text(printable(cell)) for cell in row))
        yield table

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            styles = ("right" if column.is_number else "left" for column in self.columns)
            texts = (html.escape(cell).replace("\n", "<br>") for cell in cells)
            inner = (f'<{tag} style="text-align:{s}">{t}</{tag}>' for s, t in zip(styles, texts, strict=True))
            return f"<tr>{''.join(inner)}</tr>"

        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        head = row([column.title for column in self.columns], "th")
        body = "".join(row(cells, "td") for cells in zip(*(column.cells for column in self.columns), strict=True))
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


class Printable:
    """Something that prints itself: as the command line says it, and as HTML in a notebook."""

    def said(self) -> Iterator[str | PrintedTable]:
        raise NotImplementedError

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        console = Console(
            file=text,
            width=NOTEBOOK_WIDTH,
            color_system=None,
            force_terminal=False,
            force_jupyter=False,
            markup=False,
            emoji=False,
            highlight=False,
        )
        for part in self.said():
            if isinstance(part, str):
                text.write(f"{printable(part)}\n")
            else:
                console.print(part)
        return text.getvalue().rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        for is_text, group in itertools.groupby(self.said(), key=lambda part: isinstance(part, str)):
            if is_text:
                lines = html.escape("\n".join(map(str, group)))
                parts.append(f'<div style="white-space: pre-wrap">{lines}</div>')
            else:
                parts += [part._repr_html_() for part in group if isinstance(part, PrintedTable)]
        return "\n".join(parts)


def printable(text: str) -> str:
    """*text* without what a terminal would obey: control characters are shown, not sent."""
    return visible(text, "\n".__eq__)
