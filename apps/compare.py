"""Sets runs of training commands side by side: options that differ, curves, scores, samples."""

from dataclasses import dataclass, field
from pathlib import Path

import command_line
from rich.table import Table
from rich.text import Text

from keras_transformer.inspection.report_comparison import Comparison
from keras_transformer.inspection.report_tables import in_words
from keras_transformer.text.files import check_can_be_written, write_atomically
from keras_transformer.training.terminal import Terminal

WIDE = 1000  # columns of a table that no terminal cuts


@dataclass
class CompareOptions:
    """Compare runs."""

    runs: list[str] = field(default_factory=list, metadata={"nargs": "*"})
    """Folders of runs; one that goes on still has a report, too."""
    page: str | None = None
    """File to write an HTML page to, with the curves over each other and what each run makes of
    the same texts."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("RUNS are missing: give the folders of runs, as in runs/a runs/b.")


def main() -> None:
    options = command_line.parse(CompareOptions, __doc__, positional="runs")
    comparison = Comparison(options.runs)
    page = None if options.page is None else Path(options.page)
    if page is not None:
        check_can_be_written(page, "--page")
    console = Terminal()
    if not console.is_terminal:
        console.width = WIDE
    console.print(text_table(comparison))
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(page, comparison.page().encode())
        print(f"Page: {page}")


def text_table(comparison: Comparison) -> Table:
    """The comparison for a terminal, a column each run."""
    table = Table("", box=None, pad_edge=False)
    for name in comparison.names:
        table.add_column(Text(name), justify="right", overflow="fold")
    for section in comparison.sections():
        table.add_row(Text(section.title, style="bold"))
        for name, values in section.rows:
            table.add_row(f"  {name}", *(Text(in_words(value)) for value in values))
    return table


if __name__ == "__main__":
    command_line.run(main)
