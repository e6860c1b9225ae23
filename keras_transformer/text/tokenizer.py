"""What every tokenizer shares: special ids, offsets, saving and loading."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import tensorflow as tf

from keras_transformer.text import normalization as forms
from keras_transformer.text.corpus import TrainingTexts
from keras_transformer.text.files import write_atomically
from keras_transformer.text.shapes import as_ids, as_texts, map_texts

SETTINGS_FILE = "tokenizer.json"
FORMAT_VERSION = 1


class Tokenizer(tf.Module):
    """Text to ids and back, wholly inside the graph.

    The same methods serve eager code, `tf.function`, `tf.data` and an exported SavedModel that
    has the tokenizer as an attribute; they use ops of TensorFlow and tensorflow-text only.

    A subclass gives `vocab_size`, `id_to_token`, `token_to_id`, `train`, the three `_..._rows`
    methods over a flat batch, and what `save` needs (`_settings`, `_assets`, `_restore`).

    Args:
        normalization: "identity" (the text as it is), "nfc" or "nfkc" (UAX 15), applied before
            tokenization. Anything but "identity" makes the round trip give the normalized text.
    """

    _classes: ClassVar[dict[str, type[Tokenizer]]] = {}

    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unk_id: int = 3
    # BERT's begin, end and mask; -1 for a tokenizer without a mask.
    cls_id: int = 1
    sep_id: int = 2
    mask_id: int = -1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Tokenizer._classes[cls.__name__] = cls

    def __init__(self, normalization: forms.Normalization = "identity", name: str | None = None):
        super().__init__(name=name)
        self.normalization = forms.check_normalization(normalization)

    # What a subclass provides.

    @property
    def vocab_size(self) -> int:
        """Number of ids, the special ones included."""
        raise NotImplementedError

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The control ids, which no text ever yields and which print as nothing.

        The unknown id is not one of them: it stands for text, and prints as U+FFFD.
        """
        return (self.pad_id, self.bos_id, self.eos_id)

    def id_to_token(self, index: int) -> str:
        """The token of an id; a ValueError for an id that is not in the vocabulary."""
        raise NotImplementedError

    def token_to_id(self, token: str) -> int:
        """The id of a token; a ValueError for a token that is not in the vocabulary."""
        raise NotImplementedError

    @classmethod
    def train(
        cls, texts: TrainingTexts | os.PathLike[str], vocab_size: int, **options: Any
    ) -> Self:
        """Learns a vocabulary from texts."""
        raise NotImplementedError

    def _tokenize_rows(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Normalized texts [batch] to int32 [batch, (tokens)]."""
        raise NotImplementedError

    def _tokenize_rows_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """Normalized texts [batch] to ids, starts, ends: int32 [batch, (tokens)] in characters."""
        raise NotImplementedError

    def _detokenize_rows(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """int32 [batch, (tokens)], no special and no impossible ids, to string [batch]."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """What `tokenizer.json` keeps: arguments of the constructor."""
        return {"normalization": self.normalization}

    def _assets(self) -> dict[str, bytes]:
        """Further files of the tokenizer, by name."""
        return {}

    @classmethod
    def _restore(cls, directory: Path, settings: dict[str, Any]) -> Self:
        """The inverse of `_settings` and `_assets`."""
        return cls(**settings)

    # Text to ids.

    def tokenize(self, texts: Any) -> tf.RaggedTensor | tf.Tensor:
        """Cuts texts into tokens. Neither BOS nor EOS is added.

        Args:
            texts: string [...], dense or ragged, or a Python string or (nested) list of them.

        Returns:
            int32 ids [..., (tokens)], ragged; a scalar text gives a dense [tokens].
        """

        def rows(flat: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
            return (self._tokenize_rows(forms.normalize(flat, self.normalization)),)

        return map_texts(rows, as_texts(texts))[0]

    def tokenize_with_offsets(self, texts: Any) -> tuple[tf.RaggedTensor | tf.Tensor, ...]:
        """Like `tokenize`; also says which characters of the text as given each token covers.

        Returns:
            ids, starts, ends: int32 [..., (tokens)]; token i covers the Unicode characters
            `text[starts[i]:ends[i]]`, at least one. Tokens that share one character (its UTF-8
            bytes, say) all cover it.
        """

        def rows(flat: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
            normalized, offsets_map = forms.normalize_with_map(flat, self.normalization)
            ids, starts, ends = self._tokenize_rows_with_offsets(normalized)
            if offsets_map is not None:
                starts, ends = forms.source_characters(starts, ends, normalized, flat, offsets_map)
            return ids, starts, ends

        return map_texts(rows, as_texts(texts))

    # Ids to text.

    def detokenize(self, ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Joins tokens to texts. Special ids are skipped.

        Args:
            ids: int32 or int64 [..., tokens], dense or ragged, or (nested) lists. The unknown id
                and ids outside the vocabulary print as U+FFFD.

        Returns:
            string [...]: always one axis fewer than `ids`.
        """
        ids = as_ids(ids)
        if isinstance(ids, tf.RaggedTensor):
            if ids.ragged_rank == 1 and ids.values.shape.rank == 1:
                return self._detokenize_rows(self._printable(ids))
            inner = self.detokenize(ids.values)
            if ids.uniform_row_length is not None and not isinstance(inner, tf.RaggedTensor):
                shape = [[ids.nrows(), ids.uniform_row_length], tf.shape(inner, tf.int64)[1:]]
                return tf.reshape(inner, tf.concat(shape, 0))  # [...]
            return ids.with_values(inner)
        if not ids.shape.rank:
            raise ValueError(
                f"ids must have a known rank of at least 1, [..., tokens]; got shape {ids.shape}."
            )
        outer = tf.shape(ids)[:-1]
        rows = tf.stack([tf.reduce_prod(outer), tf.shape(ids)[-1]])
        flat = tf.RaggedTensor.from_tensor(tf.reshape(ids, rows))  # [batch, tokens]
        texts = tf.reshape(self._detokenize_rows(self._printable(flat)), outer)  # [...]
        return tf.ensure_shape(texts, ids.shape[:-1])

    def _printable(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Drops special ids and makes impossible ones unknown: int32 [batch, (tokens)]."""
        flat = ids.values
        possible = (flat >= 0) & (flat < self.vocab_size)
        flat = tf.cast(tf.where(possible, flat, self.unk_id), tf.int32)
        special = tf.constant(self.special_ids, tf.int32)
        keep = tf.reduce_all(flat[:, None] != special, axis=-1)  # [all_tokens]
        return tf.ragged.boolean_mask(ids.with_values(flat), ids.with_values(keep))

    # Directories.

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the tokenizer into a directory, made if need be; `load_tokenizer` reads it."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in self._assets().items():
            write_atomically(directory / name, content)
        settings = {
            "class": type(self).__name__,
            "format_version": FORMAT_VERSION,
            "settings": self._settings(),
        }
        # Last, because it is what says that a tokenizer is here.
        write_atomically(directory / SETTINGS_FILE, json.dumps(settings, indent=2).encode() + b"\n")

    @classmethod
    def load(cls, directory: str | os.PathLike[str], **overrides: Any) -> Self:
        """Reads a tokenizer that `save` wrote.

        Args:
            directory: where it is.
            **overrides: settings (arguments of the constructor) to use instead of the saved ones.

        Raises:
            ValueError: if there is none, if it is of another class, or if a file is damaged.
        """
        path = Path(directory) / SETTINGS_FILE
        try:
            saved = json.loads(path.read_bytes())
            name, version, settings = saved["class"], saved["format_version"], saved["settings"]
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(
                f"{os.fspath(directory)} holds no tokenizer: there is no {SETTINGS_FILE} in it."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a tokenizer's settings: {error!r}.") from None
        if version != FORMAT_VERSION:
            raise ValueError(f"{path} has format_version {version}; {FORMAT_VERSION} is supported.")
        found = Tokenizer._classes.get(name)
        if found is None:
            known = ", ".join(sorted(Tokenizer._classes))
            raise ValueError(f"{path} names the class {name!r}; known tokenizers are {known}.")
        if not issubclass(found, cls):
            raise ValueError(f"{path} is a {name}, not a {cls.__name__}; use load_tokenizer.")
        return found._restore(Path(directory), {**settings, **overrides})


def load_tokenizer(directory: str | os.PathLike[str]) -> Tokenizer:
    """Reads the tokenizer that stands in a directory, whichever class it is of.

    Raises:
        ValueError: if there is none, or if a file of it is missing or damaged.
    """
    return Tokenizer.load(directory)
