"""Translates a file or standard input line for line, with a run's model or a SavedModel."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import command_line
import pretrained
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops that a SavedModel needs)
from text_lines import in_chunks, lines_of

from keras_transformer.checks import check_at_least
from keras_transformer.tasks import Translation, Translator
from keras_transformer.tasks.answer_rows import best_translations
from keras_transformer.tasks.requests import plain


@dataclass
class TranslateOptions:
    """Translate lines of text; one line out for each line in, a blank one for a blank one."""

    model: str = "runs/translate"
    """Folder of a run, or of a SavedModel (its newest version, or one of them)."""
    file: str | None = None
    """File of texts, one a line (plain or .gz); standard input by default."""
    beam_size: int | None = None
    """Hypotheses kept at each step; as the model was saved by default."""
    length_penalty: float | None = None
    """Exponent of the length penalty; as the model was saved by default."""
    xla: bool = False
    """Compile the search with XLA: faster, after some seconds for each size of a batch."""
    n_best: int = 1
    """Translations of each text; above 1 a line is: number of the input line, score, translation,
    separated by tabs."""


def main() -> None:
    options = command_line.parse(TranslateOptions, __doc__, positional="file")
    translate = open_model(options)
    print_translations(translate, in_chunks(lines_of(options.file), options.file), options.n_best)


def print_translations(
    translate: Callable[[list[str]], Iterable[Translation]],
    chunks: Iterable[list[str]],
    n_best: int,
) -> None:
    """Prints what lines are translated to, and in the end how many of them were cut."""
    number, truncated = 0, 0
    for chunk in chunks:
        for translation in translate(chunk):
            number += 1
            truncated += translation.truncated
            for line in format_lines(number, translation, n_best):
                print(line)
        sys.stdout.flush()
    if truncated:
        print(
            f"{truncated} of {number} lines were cut: the text is longer than the model takes, or "
            "its translation than it may become.",
            file=sys.stderr,
        )


def open_model(options: TranslateOptions):
    """A function from texts to translations."""
    if (version := pretrained.saved_model(options.model)) is not None:
        return open_saved_model(options, version)
    pretrained.check_model_folder(options.model)
    translator = Translator.load(options.model)
    asked = {"beam_size": options.beam_size, "length_penalty": options.length_penalty}
    asked |= {"n_best": options.n_best, "jit_compile": options.xla}
    return lambda texts: translator.translate(texts, **asked)


def open_saved_model(options: TranslateOptions, version: Path):
    """The same for a SavedModel, whose search was fixed when it was exported."""
    if options.beam_size or options.length_penalty is not None or options.xla:
        raise ValueError(
            f"{options.model} is a SavedModel, whose search is fixed (--beam-size, "
            "--length-penalty, --xla): give the folder of a run to choose it."
        )
    loaded = tf.saved_model.load(str(version))  # kept: it owns the variables
    signature = loaded.signatures.get("n_best")
    if signature is None or "translations" not in signature.structured_outputs:
        raise ValueError(
            f"{options.model} has no signature n_best of a translator, which this command asks; it "
            f"has {', '.join(sorted(loaded.signatures))}."
        )
    check_at_least(1, n_best=options.n_best)
    most = signature.structured_outputs["scores"].shape[1]
    if options.n_best > most:
        raise ValueError(f"{options.model} gives {most} translations, not {options.n_best}.")

    def translate(texts: list[str], loaded=loaded) -> list[Translation]:
        return best_translations(plain(signature(text=tf.constant(texts))), options.n_best)

    return translate


def format_lines(number: int, translation: Translation, n_best: int) -> Iterator[str]:
    """The output lines of one input line; line breaks inside a translation become blanks."""
    texts = [" ".join(text.splitlines()) for text in translation.texts]
    if n_best == 1:
        yield texts[0] if texts else ""
    else:
        for text, score in zip(texts, translation.scores, strict=True):
            yield f"{number}\t{score:.4f}\t{text}"


if __name__ == "__main__":
    command_line.run(main)
