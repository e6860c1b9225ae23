"""What tokens spell, byte by byte, and stop strings found in it."""

import functools

import pytest
import small_generators
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2 as model_pb2

from keras_transformer.tasks.stop_strings import StopStrings
from keras_transformer.tasks.token_spelling import TokenSpelling
from keras_transformer.text import SentencePieceTokenizer

# Bytes that begin, continue and end characters of each length, and some that no character has.
BYTES = [
    *b" ae\x10\x7f\x80\x81\x8f\x90\x9f\xa0\xbf\xc0\xc2\xc3\xe0\xe2\xe4\xed\xf0\xf1\xf4\xf5\xff"
]
spelled_bytes = st.lists(st.sampled_from(BYTES), max_size=12).map(bytes)


def meta_like() -> SentencePieceTokenizer:
    """A model that puts a blank before every text, and takes it away, as Llama's does."""
    proto = model_pb2.ModelProto.FromString(small_generators.subwords()._model)
    proto.normalizer_spec.Clear()
    proto.denormalizer_spec.Clear()
    proto.normalizer_spec.add_dummy_prefix = True
    proto.normalizer_spec.remove_extra_whitespaces = False
    proto.normalizer_spec.escape_whitespaces = True
    return SentencePieceTokenizer(proto.SerializeToString())


TOKENIZERS = {
    "characters": small_generators.characters,
    "subwords": small_generators.subwords,
    "byte_pairs": small_generators.byte_pairs,
    "meta_like": meta_like,
}


@functools.cache
def tokenizer(kind):
    return TOKENIZERS[kind]()


@functools.cache
def spelling(kind):
    return TokenSpelling.of(tokenizer(kind))


def test_what_sets_the_kinds_apart():
    flags = {
        kind: (spelling(kind).drops_first_blank, spelling(kind).escaped) for kind in TOKENIZERS
    }
    assert flags == {
        "characters": (False, False),
        "subwords": (False, True),
        "byte_pairs": (False, False),
        "meta_like": (True, False),
    }


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", [*small_generators.TEXTS, "", "  a", " ", "▁ \x10 1\x101▁0"])
def test_tokens_of_a_text_spell_it(kind, text):
    ids = tokenizer(kind).tokenize(text).numpy().tolist()
    decoded = tokenizer(kind).detokenize(ids).numpy().decode()
    if tokenizer(kind).unk_id in ids:
        assert kind == "characters"
        decoded = decoded.replace("\ufffd", "")  # the unknown spells nothing
    spelled = b"".join(spelling(kind).tokens[index] for index in ids)
    text_again = spelling(kind).text(spelled, after_nothing=True)
    if kind == "meta_like" and text.replace("▁", " ").startswith(" "):
        assert text_again.lstrip(" ") == decoded  # SentencePiece drops more than it put there
        assert text_again == text.replace("▁", " ")
    else:
        assert text_again == decoded
    assert spelling(kind).encode(text) == spelled or kind in ("characters", "meta_like")


@pytest.mark.parametrize("kind", ["subwords", "byte_pairs"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_tokens_spell_what_they_are_joined_to(kind, data):
    number = st.integers(0, tokenizer(kind).vocab_size - 1)
    control = {*tokenizer(kind).special_ids, tokenizer(kind).unk_id}
    ids = [i for i in data.draw(st.lists(number, max_size=9)) if i not in control]
    ids += tokenizer(kind).tokenize("a").numpy().tolist()  # no character is left unfinished
    spelled = b"".join(spelling(kind).tokens[index] for index in ids)
    decoded = tokenizer(kind).detokenize(ids).numpy().decode()
    # How many U+FFFD stand for broken bytes is the library's own choice.
    assert one_each(spelling(kind).text(spelled)) == one_each(decoded)


def one_each(text):
    while "\ufffd\ufffd" in text:
        text = text.replace("\ufffd\ufffd", "\ufffd")
    return text


@settings(max_examples=200, deadline=None, derandomize=True)
@given(spelled=spelled_bytes, more=spelled_bytes)
@example(spelled="a🙂".encode()[:-1], more=b"\x82")
@example(spelled=b"\xe0", more=b"\x80")
@example(spelled=b"\x10", more=b"1")
def test_a_text_is_the_beginning_of_what_it_goes_on_to(spelled, more):
    for kind in ("byte_pairs", "subwords"):
        text = spelling(kind).text(spelled)
        assert spelling(kind).text(spelled + more).startswith(text)
    if b"\xed" not in spelled:  # Python waits for the rest of surrogates, which are no characters
        assert spelling("byte_pairs").text(spelled) == small_generators.decode(spelled)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(texts=st.lists(st.tuples(spelled_bytes, st.integers(0, 3)), min_size=1, max_size=9))
@example(texts=[("🙂".encode()[:size], 0) for size in range(5)])
@example(texts=[(b"\xe0\x9f", 0), (b"\xe0\xa0", 0), (b"\xed\xa0", 0), (b"\xf0\x8f", 0)])
@example(texts=[(b"\xf4\x8f\x80", 0), (b"\xf4\x90\x80", 0), (b"\xf0\x90\x80", 0), (b"\xc1", 0)])
def test_the_graph_gives_the_texts_of_python(texts):
    byte_pairs = {token: index for index, token in enumerate(spelling("byte_pairs").tokens)}
    rows = [[byte_pairs[bytes([byte])] for byte in spelled] for spelled, _ in texts]
    ids = tf.ragged.constant(rows, tf.int32)
    cut = [min(number, len(spelled)) for spelled, number in texts]
    expected = [
        spelling("byte_pairs").text(spelled[: len(spelled) - number])
        for (spelled, _), number in zip(texts, cut, strict=True)
    ]
    found = spelling("byte_pairs").texts(
        ids.to_tensor(9, shape=[None, 13]),
        tf.constant([len(row) for row in rows]),
        tf.constant(cut),
        tf.fill([len(rows)], False),
    )
    assert [text.decode() for text in found.numpy()] == expected


@pytest.mark.parametrize("kind", ["subwords", "meta_like"])
def test_the_graph_undoes_escapes_and_drops_first_blanks_as_python_does(kind):
    pieces = spelling(kind).tokens
    spelled = [" a ", "\x10", "\x101", "\x10\x100", "▁", " ", "a\x10"]
    rows = [[pieces.index(bytes([byte])) for byte in text.encode()] for text in spelled]
    for after_nothing in (False, True):
        found = spelling(kind).texts(
            tf.ragged.constant(rows, tf.int32).to_tensor(),
            tf.constant([len(row) for row in rows]),
            tf.zeros([len(rows)], tf.int32),
            tf.fill([len(rows)], after_nothing),
        )
        expected = [spelling(kind).text(text.encode(), after_nothing) for text in spelled]
        assert [text.decode() for text in found.numpy()] == expected
    assert expected[0] == ("a " if kind == "meta_like" else " a ")
    assert expected[2] == ("\x101" if kind == "meta_like" else "▁")


strings = st.text("ab\nä", min_size=1, max_size=4)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    stops=st.lists(strings, max_size=3),
    tokens=st.lists(st.text("ab\nä", max_size=5), max_size=12),
)
@example(stops=["abab", "ba"], tokens=["ab", "ab", "a"])
@example(stops=["b", "ab"], tokens=["aab", "a"])
@example(stops=["abcd", "bc"], tokens=["abcd"])
def test_the_stop_string_that_is_complete_first_is_found_across_tokens(stops, tokens):
    stops = [stop.encode() for stop in stops]
    pieces = [token.encode() for token in tokens]
    automaton = StopStrings(stops, pieces or [b"a"])
    state, spelled = 0, b""
    for index, piece in enumerate(pieces):
        spelled += piece
        state = int(automaton.transitions[state, index])
        place = small_generators.first_stop(spelled, stops)
        if place is not None:
            assert automaton.cut(state) == len(spelled) - place
            return
        assert automaton.cut(state) is None
        held = [n for stop in stops for n in range(len(stop)) if spelled.endswith(stop[:n])]
        assert automaton.held[state] == max(held, default=0)
