r"""Does a model say the same in Python, as a SavedModel, and without Python?

    python benchmarks/same_everywhere.py --model runs/translate --export saved_models/translate/1 \
        --texts FILE [--signature NAME] [--count 1000] [--c-serve FOLDER]

FOLDER holds the sources of a program that runs SavedModels by TensorFlow's C API; it is not part of
this repository. A FILE of JSON lines holds the inputs of a row by name, such as a prompt, its seed
and its temperature.

Each way asks a signature with all texts in one batch, and with each text alone. Texts, places and
flags must be the same and numbers agree to 1e-4, of themselves where they are above 1; where all
numbers do and a text differs, rounding may have turned a choice between equals: such rows are
listed as ties. Ends with status 1 if any other row differs.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks.c_serve import CServe

TOLERANCE = 1e-4
# Of the weights of alignments: whose tokens the rows are of, and whose the columns.
ALIGNED = (("target", "source"), ("question", "context"))

Row = dict[str, Any]  # the inputs of a row by name
Answer = dict[str, Any]  # the outputs of a row by name, nested lists without padding
Way = Callable[[list[Row]], list[Answer]]


class Difference(NamedTuple):
    """A row with two answers."""

    row: int
    expected: Answer
    found: Answer

    @property
    def is_tie(self) -> bool:
        """Whether rounding explains it: all numbers agree."""
        return _agree(_numbers(self.expected), _numbers(self.found))


def compare(expected: Sequence[Answer], found: Sequence[Answer]) -> list[Difference]:
    """The rows that differ by more than the rounding of a number.

    >>> compare([{"text": "a", "score": -1.0}], [{"text": "b", "score": -1.00001}])[0].is_tie
    True
    """
    rows = enumerate(zip(expected, found, strict=True))
    return [Difference(row, *pair) for row, pair in rows if not _agree(*pair)]


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_agree(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    if isinstance(one, float):
        close = abs(one - other) <= TOLERANCE * max(1.0, abs(one))
        return one == other or close  # -inf equals itself
    return one == other


def _numbers(answer: Answer) -> Answer:
    """The outputs that are numbers with a fraction: scores, vectors."""

    def is_number(value: Any) -> bool:
        while isinstance(value, list):
            if not value:
                return False
            value = value[0]
        return isinstance(value, float)

    return {name: value for name, value in answer.items() if is_number(value)}


def without_padding(outputs: dict[str, list]) -> list[Answer]:
    """Outputs by name, a value for each row, as one answer for each row.

    Where a `length` is among them, lists of the other outputs are cut to it: rows are padded to
    the longest of their batch. A `target_length` is that of the outputs whose names begin with
    `target_`; the `weights` of an alignment have a row and a column for each token of two texts.

    >>> without_padding({"words": [["a", ""]], "length": [1]})
    [{'words': ['a'], 'length': 1}]
    >>> lengths = {"target_length": [1], "source_length": [2]}
    >>> without_padding({"weights": [[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]]} | lengths)[0]["weights"]
    [[0.5, 0.5]]
    """
    rows = [dict(zip(outputs, row, strict=True)) for row in zip(*outputs.values(), strict=True)]
    for row in rows:
        for length in [name for name in row if name.endswith("length")]:
            for name, value in row.items():
                if isinstance(value, list) and name.startswith(length.removesuffix("length")):
                    row[name] = value[: row[length]]
        for texts in ALIGNED:
            down, across = (row.get(f"{text}_length") for text in texts)
            if down is not None:
                row["weights"] = [line[:across] for line in row["weights"][:down]]
    return rows


def python_ways(model: Path, signature: str, types: dict[str, Any]) -> dict[str, Way]:
    """A saved task, called with all rows and with one at a time."""
    from keras_transformer.tasks import Task

    return _batch_and_alone("Python", Task.load(model).signatures()[signature], types)


def saved_model_ways(loaded: Any, signature: str, types: dict[str, Any]) -> dict[str, Way]:
    """The same for a SavedModel."""
    return _batch_and_alone("SavedModel", loaded.signatures[signature], types)


def _batch_and_alone(name: str, call: Callable[..., Any], types: dict[str, Any]) -> dict[str, Way]:
    import tensorflow as tf

    def batch(rows: list[Row]) -> list[Answer]:
        inputs = {key: tf.constant([row[key] for row in rows], types[key]) for key in types}
        outputs = call(**inputs)
        return without_padding({key: _plain(outputs[key].numpy()) for key in sorted(outputs)})

    return {
        f"{name}, batch": batch,
        f"{name}, alone": lambda rows: [answer for row in rows for answer in batch([row])],
    }


def _plain(array: Any) -> list:
    """An array as nested lists, its bytes decoded."""

    def decoded(value: Any) -> Any:
        if isinstance(value, list):
            return [decoded(item) for item in value]
        return value.decode("utf-8") if isinstance(value, bytes) else value

    return decoded(array.tolist())


def c_serve_ways(export: Path, signature: str, c_serve: CServe) -> dict[str, Way]:
    """The SavedModel in a process without Python."""

    def ask(requests: list[dict[str, list]]) -> list[Answer]:
        answers = c_serve.ask(export, signature, requests)
        return [
            row for outputs in answers for row in without_padding(dict(sorted(outputs.items())))
        ]

    return {
        "c_serve, batch": lambda rows: ask([{key: [row[key] for row in rows] for key in rows[0]}]),
        "c_serve, alone": lambda rows: ask([{key: [row[key]] for key in row} for row in rows]),
    }


def load_export(export: Path, signature: str) -> tuple[Any, dict[str, Any]]:
    """The SavedModel, and the inputs of its signature with their types: `text`, or `question` and
    `context`."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the ops that a SavedModel needs)

    loaded = tf.saved_model.load(str(export))
    if signature not in loaded.signatures:
        sys.exit(f"{export} has the signatures {', '.join(loaded.signatures)}, not {signature}.")
    specs = loaded.signatures[signature].structured_input_signature[1]
    names = sorted(specs, reverse=len(specs) == 2)  # the question comes first
    return loaded, {name: specs[name].dtype for name in names}


def read_rows(path: Path, names: list[str], count: int) -> list[Row]:
    """The first rows of a file: a text a line, as many columns as there are inputs, or JSON."""
    from keras_transformer.data import read_lines

    rows = []
    for number, line in enumerate(islice(read_lines(path), count), start=1):
        row = _row(line, names, is_json=".jsonl" in path.suffixes)
        if row is None:
            sys.exit(f"{path}, line {number}: must have exactly the inputs {', '.join(names)}.")
        rows.append(row)
    if not rows:
        sys.exit(f"{path} holds no text to compare, or --count is 0.")
    return rows


def _row(line: str, names: list[str], is_json: bool) -> Row | None:
    if is_json:
        row = json.loads(line)
    else:
        columns = [line] if len(names) == 1 else line.split("\t")
        row = dict(zip(names, columns, strict=False)) if len(columns) == len(names) else {}
    return row if isinstance(row, dict) and sorted(row) == sorted(names) else None


def report(name: str, differences: list[Difference], rows: Sequence[Row]) -> bool:
    """Prints how a way compares; tells whether all is well."""
    print(f"{name}: {len(rows) - len(differences)} of {len(rows)} identical", flush=True)
    for difference in differences:
        kind = "tie" if difference.is_tie else "DIFFERENT"
        inputs = " | ".join(map(str, rows[difference.row].values()))
        print(f"  line {difference.row + 1}, {kind}: {inputs}")
        for answer in (difference.expected, difference.found):
            print(f"    {str(answer):.300}")
    return all(difference.is_tie for difference in differences)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compares; exits with status 1 where answers differ that must not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="folder of a saved task (a run)")
    add("--export", type=Path, required=True, help="folder of the SavedModel made of it")
    add("--c-serve", type=Path, help="folder of c_serve, with its build.sh; left out by default")
    add(
        "--texts",
        type=Path,
        required=True,
        help="file of texts, one a line (plain or .gz), question and context with a tab between; "
        "or of JSON lines (.jsonl, .jsonl.gz)",
    )
    add("--signature", default="serving_default", help="what is asked")
    add("--count", type=int, default=1000, help="texts to compare, from the first on")
    options = parser.parse_args(arguments)

    loaded, types = load_export(options.export, options.signature)
    rows = read_rows(options.texts, list(types), options.count)
    with TemporaryDirectory() as folder:
        ways = python_ways(options.model, options.signature, types)
        ways |= saved_model_ways(loaded, options.signature, types)
        if options.c_serve is not None:
            c_serve = CServe.build(options.c_serve, Path(folder))
            ways |= c_serve_ways(options.export, options.signature, c_serve)
        first, *others = ways
        expected = ways[first](rows)
        print(f"Compared with {first}:", flush=True)
        fine = [report(name, compare(expected, ways[name](rows)), rows) for name in others]
    if not all(fine):
        sys.exit("Answers differ that must not.")


if __name__ == "__main__":
    main()
