r"""Does a translator say the same in Python, as a SavedModel, and without Python?

    python benchmarks/same_everywhere.py --model runs/translate --export saved_models/translate/1 \
        --c-serve FOLDER --texts FILE [--count 1000]

Each way is asked with all texts in one batch, and with each text alone. Translations may differ
only where their scores lie within 1e-4: rounding may then turn the choice. Such rows are listed.
Ends with status 1 if any other row differs.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks.c_serve import CServe

TOLERANCE = 1e-4


class Answer(NamedTuple):
    """The best translation of a text."""

    text: str
    score: float


class Difference(NamedTuple):
    """A row with two answers."""

    row: int
    expected: Answer
    found: Answer

    @property
    def is_tie(self) -> bool:
        """Whether rounding explains it."""
        return abs(self.expected.score - self.found.score) <= TOLERANCE


def compare(expected: Sequence[Answer], found: Sequence[Answer]) -> list[Difference]:
    """The rows whose texts differ, and those whose scores do by more than rounding.

    >>> compare([Answer("a", -1.0)], [Answer("b", -1.00001)])[0].is_tie
    True
    """
    rows = enumerate(zip(expected, found, strict=True))
    differences = (Difference(row, *answers) for row, answers in rows)
    return [d for d in differences if d.expected.text != d.found.text or not d.is_tie]


def python_ways(model: Path) -> dict[str, Callable[[list[str]], list[Answer]]]:
    """A saved translator, called with all texts and with one at a time."""
    import tensorflow as tf

    from keras_transformer.tasks import Translator

    function = Translator.load(model).serving_default
    return _batch_and_alone("Python", lambda texts: function(tf.constant(texts)))


def saved_model_ways(export: Path) -> dict[str, Callable[[list[str]], list[Answer]]]:
    """The same for a SavedModel."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the ops that a SavedModel needs)

    loaded = tf.saved_model.load(str(export))
    function = loaded.signatures["serving_default"]

    def call(texts: list[str], loaded: Any = loaded) -> Any:  # it owns the variables
        return function(text=tf.constant(texts))

    return _batch_and_alone("SavedModel", call)


def _batch_and_alone(
    name: str, call: Callable[[list[str]], Any]
) -> dict[str, Callable[[list[str]], list[Answer]]]:
    def batch(texts: list[str]) -> list[Answer]:
        outputs = call(texts)
        decoded = [text.decode("utf-8") for text in outputs["translation"].numpy()]
        return [
            Answer(*row) for row in zip(decoded, outputs["score"].numpy().tolist(), strict=True)
        ]

    return {
        f"{name}, batch": batch,
        f"{name}, alone": lambda texts: [answer for text in texts for answer in batch([text])],
    }


def c_serve_ways(export: Path, c_serve: CServe) -> dict[str, Callable[[list[str]], list[Answer]]]:
    """The SavedModel in a process without Python."""

    def batch(texts: list[str]) -> list[Answer]:
        (outputs,) = c_serve.ask(export, "serving_default", [{"text": texts}])
        return [Answer(*row) for row in zip(outputs["translation"], outputs["score"], strict=True)]

    def alone(texts: list[str]) -> list[Answer]:
        answers = c_serve.ask_alone(export, "serving_default", texts)
        return [Answer(answer["translation"][0], answer["score"][0]) for answer in answers]

    return {"c_serve, batch": batch, "c_serve, alone": alone}


def report(name: str, differences: list[Difference], texts: Sequence[str]) -> bool:
    """Prints how a way compares; tells whether all is well."""
    print(f"{name}: {len(texts) - len(differences)} of {len(texts)} identical", flush=True)
    for difference in differences:
        kind = "tie" if difference.is_tie else "DIFFERENT"
        print(f"  line {difference.row + 1}, {kind}: {texts[difference.row]}")
        for answer in (difference.expected, difference.found):
            print(f"    {answer.score:.6f}  {answer.text}")
    return all(difference.is_tie for difference in differences)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compares; exits with status 1 where answers differ that must not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="folder of a saved translator (a run)")
    add("--export", type=Path, required=True, help="folder of the SavedModel made of it")
    add("--c-serve", type=Path, required=True, help="folder of c_serve, with its build.sh")
    add("--texts", type=Path, required=True, help="file of texts, one a line (plain or .gz)")
    add("--count", type=int, default=1000, help="texts to compare, from the first on")
    options = parser.parse_args(arguments)

    from keras_transformer.data import read_lines

    texts = list(islice(read_lines(options.texts), options.count))
    if not texts:
        sys.exit(f"{options.texts} holds no text to compare, or --count is 0.")
    with TemporaryDirectory() as folder:
        c_serve = CServe.build(options.c_serve, Path(folder))
        ways = (
            python_ways(options.model)
            | saved_model_ways(options.export)
            | c_serve_ways(options.export, c_serve)
        )
        first, *others = ways
        expected = ways[first](texts)
        print(f"Compared with {first}:", flush=True)
        fine = [report(name, compare(expected, ways[name](texts)), texts) for name in others]
    if not all(fine):
        sys.exit("Answers differ that must not.")


if __name__ == "__main__":
    main()
