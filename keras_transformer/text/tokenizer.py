"""What every tokenizer shares: shapes, special ids, offsets, saving and loading."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

import tensorflow as tf

from keras_transformer.text import normalization as forms
from keras_transformer.text.corpus import TrainingTexts
from keras_transformer.text.files import write_atomically

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

        return _map_texts(rows, _as_texts(texts))[0]

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

        return _map_texts(rows, _as_texts(texts))

    # Ids to text.

    def detokenize(self, ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Joins tokens to texts. Special ids are skipped.

        Args:
            ids: int32 or int64 [..., tokens], dense or ragged, or (nested) lists. The unknown id
                and ids outside the vocabulary print as U+FFFD.

        Returns:
            string [...]: always one axis fewer than `ids`.
        """
        ids = _as_ids(ids)
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


def _as_texts(texts: Any) -> tf.Tensor | tf.RaggedTensor:
    if isinstance(texts, tf.RaggedTensor):
        dtype = texts.dtype
    else:
        if not tf.is_tensor(texts):
            texts = _from_python(texts, tf.string, "texts must be strings")
        dtype = texts.dtype
    if dtype != tf.string:
        raise ValueError(f"texts must be strings, got {dtype.name}.")
    if isinstance(texts, tf.RaggedTensor):
        return texts.with_row_splits_dtype(tf.int64)
    return texts


def _as_ids(ids: Any) -> tf.Tensor | tf.RaggedTensor:
    if not tf.is_tensor(ids):
        dtype = tf.dtypes.as_dtype(ids.dtype) if hasattr(ids, "dtype") else tf.int32
        ids = _from_python(ids, dtype, "ids must be integers")
    if not ids.dtype.is_integer:
        raise ValueError(f"ids must be integers, got {ids.dtype.name}.")
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_row_splits_dtype(tf.int64)
    return ids


def _from_python(values: Any, dtype: tf.DType, wanted: str) -> tf.Tensor | tf.RaggedTensor:
    try:
        return tf.convert_to_tensor(values, dtype)
    except (ValueError, TypeError) as error:
        if not isinstance(values, list | tuple):
            raise ValueError(f"{wanted}, got {values!r:.80}: {error}") from None
    try:  # lists of unequal lengths
        return tf.ragged.constant(values, dtype)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{wanted}, got {values!r:.80}: {error}") from None


def _map_texts(
    rows: Callable[[tf.Tensor], Iterable[tf.RaggedTensor]], texts: tf.Tensor | tf.RaggedTensor
) -> tuple[tf.RaggedTensor | tf.Tensor, ...]:
    """Applies `rows` (texts [batch] to ragged [batch, (tokens)]) to texts of any shape [...]."""
    if isinstance(texts, tf.RaggedTensor):
        return tuple(
            texts.with_flat_values(result) for result in _map_texts(rows, texts.flat_values)
        )
    rank = texts.shape.rank
    if rank is None:
        raise ValueError("texts must have a known rank; set it with tf.ensure_shape.")
    results = tuple(rows(tf.reshape(texts, [-1])))  # [batch, (tokens)]
    if rank == 0:
        return tuple(result.values for result in results)  # [tokens]
    shape = tf.shape(texts, tf.int64)
    for axis in range(rank - 1, 0, -1):
        size = texts.shape[axis] if texts.shape[axis] is not None else shape[axis]
        count = tf.reduce_prod(shape[:axis])
        results = tuple(
            # [..., size, (tokens)]
            tf.RaggedTensor.from_uniform_row_length(result, tf.cast(size, tf.int64), nrows=count)
            for result in results
        )
    return results
