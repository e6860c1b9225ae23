"""The WordPiece tokenizer: words, pieces, scripts and offsets."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from text import wordpieces
from text.wordpieces import CORPUS, SPECIAL, round_trip, slices, tokens

from keras_transformer.text import WordPieceTokenizer


@pytest.fixture(scope="module")
def trained():
    return wordpieces.trained()


@pytest.fixture(scope="module")
def reference():
    return wordpieces.reference()


def greedy_ids(tokenizer, text):
    """The algorithm as BERT's authors wrote it down: slow, and in Python."""
    ids = []
    for word in tokenizer.rules.words(text):
        pieces, start = [], 0
        while start < len(word) <= 100:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if prefix + word[start:end] in tokenizer.vocabulary:
                    pieces.append(tokenizer.token_to_id(prefix + word[start:end]))
                    start = end
                    break
            else:
                break
        ids += pieces if start == len(word) else [tokenizer.unk_id]
    return ids


# Words and pieces.


def test_words_are_cut_into_the_longest_pieces_from_the_left(reference):
    assert tokens(reference, "UNwanted,running unaffable") == [
        *("un", "##want", "##ed", ",", "runn", "##ing", "un", "##aff", "##able")
    ]


def test_a_word_with_a_tail_that_nothing_matches_is_one_unknown(reference):
    assert tokens(reference, "unwantedX running unX") == ["[UNK]", "runn", "##ing", "[UNK]"]


def test_a_word_of_more_than_100_characters_is_one_unknown():
    tokenizer = WordPieceTokenizer(["[UNK]", "a", "##a", "é", "##é"])
    assert len(tokenizer.tokenize("a" * 100)) == 100
    assert tokenizer.tokenize("a" * 101).numpy().tolist() == [0]
    assert len(tokenizer.tokenize("é" * 100)) == 100, "characters, not bytes"
    ids, starts, ends = tokenizer.tokenize_with_offsets("é a" + "é" * 101 + " a")
    assert ids.numpy().tolist() == [3, 0, 1]
    assert (starts.numpy().tolist(), ends.numpy().tolist()) == ([0, 2, 105], [1, 104, 106])


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
        | st.text(
            st.sampled_from(" \tcafeé\u0301[MASK]#中文한국\u1112\u1161й\u200bΣς🙂"), max_size=16
        ),
        max_size=4,
    )
)
def test_the_graph_does_what_the_plain_algorithm_does(texts):
    for tokenizer, tokenize, tokenize_with_offsets in ALGORITHMS:
        ids, starts, ends = tokenize_with_offsets(tf.constant(texts, tf.string))
        assert ids.to_list() == [greedy_ids(tokenizer, text) for text in texts]
        assert ids.to_list() == tokenize(tf.constant(texts, tf.string)).to_list()
        for text, row_starts, row_ends in zip(texts, starts.to_list(), ends.to_list(), strict=True):
            spans = list(zip(row_starts, row_ends, strict=True))
            assert all(0 <= s < e <= len(text) for s, e in spans)
            assert row_starts == sorted(row_starts) and row_ends == sorted(row_ends)


PIECES = [
    *SPECIAL,
    *"cafe[]#中文",
    "##a",
    "##f",
    "##e",
    "##é",
    "##é",
    "caf",
    "é",
    "й",
    "한",
    "##국",
]
ALGORITHMS = []
for normalization, lowercase in [("default", True), ("default", False), ("bert", True)]:
    made = WordPieceTokenizer([*dict.fromkeys(PIECES)], lowercase, normalization=normalization)
    graphs = [
        tf.function(method, input_signature=[tf.TensorSpec([None], tf.string)])
        for method in (made.tokenize, made.tokenize_with_offsets)
    ]
    ALGORITHMS.append((made, *graphs))


def test_invalid_bytes_do_not_disturb_their_neighbours(trained):
    ids, starts, ends = trained.tokenize_with_offsets([b"caf\xe9 \xff un", b"un"])
    assert ids[1].numpy().tolist() == trained.tokenize("un").numpy().tolist()
    assert ids[0].numpy().tolist()[-1] == trained.token_to_id("un")
    assert (starts[0].numpy()[-1], ends[0].numpy()[-1]) == (7, 9)


# Scripts.


def test_korean_stays_composed_and_known(trained):
    cased = WordPieceTokenizer.train(CORPUS * 2, 400, lowercase=False)
    for tokenizer in (trained, cased):
        assert tokens(tokenizer, "한국어 텍스트") == ["한국어", "텍스트"]
        assert round_trip(tokenizer, "한국어 텍스트") == "한국어 텍스트"
        decomposed = "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"
        assert tokens(tokenizer, decomposed) == ["한국어"]
    assert trained.unk_id not in trained.tokenize("어국한").numpy()


def test_marks_are_kept_when_accents_are_not_stripped(trained):
    assert round_trip(trained, "Й Ї हिन्दी") == "й ї हिन्दी"
    assert round_trip(trained, "CAFÉ Café") == "café café"


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_composed_and_decomposed_accents_give_the_same_ids(lowercase, strip_accents):
    options = {"lowercase": lowercase, "strip_accents": strip_accents}
    tokenizer = WordPieceTokenizer.train(["é É cafe ά ǰ й"] * 2, 100, **options)
    for composed, decomposed in [
        ("\u00e9", "e\u0301"),
        ("\u00c9", "E\u0301"),
        ("caf\u00e9", "cafe\u0301"),
        ("ά", "α\u0301"),
        ("ǰ", "j\u030c"),
        ("й", "и\u0306"),
    ]:
        ids = tokenizer.tokenize([composed, decomposed]).to_list()
        assert ids[0] == ids[1] and tokenizer.unk_id not in ids[0]
    assert slices(tokenizer, "E\u0301 \u00e9 e\u0301!")[:3] == ["E\u0301", "\u00e9", "e\u0301"]


def test_capitals_beyond_ascii_are_folded(trained):
    assert tokens(trained, "ΟΔΟΣ") == tokens(trained, "οδος") == tokens(trained, "οδοσ")


# Offsets.


def test_offsets_count_characters_and_bytes_of_the_text_as_given(trained):
    text = "🙂 CAFE\u0301 中文, 한국어!"
    assert slices(trained, text) == ["🙂", "CAFE\u0301", "中", "文", ",", "한국어", "!"]
    _, starts, ends = trained.tokenize_with_byte_offsets(text)
    raw = text.encode()
    assert [raw[s:e].decode() for s, e in zip(starts.numpy(), ends.numpy(), strict=True)] == slices(
        trained, text
    )
    for part in trained.tokenize_with_byte_offsets([["un", "é un"], ["", "中 un"]]):
        assert part.dtype == tf.int32 and part.shape.as_list() == [2, 2, None]
    assert trained.tokenize_with_byte_offsets(["é un"])[1].to_list() == [[0, 3]]


def test_offsets_reach_over_what_vanished_inside_a_word_and_marks_behind_it(reference):
    assert slices(reference, "un\u200bwanted\u200b ru\u0301nning\u0301") == [
        *("un", "want", "ed", "ru\u0301nn", "ing\u0301")
    ]


def test_offsets_of_nothing(trained):
    for texts in ([], ["", " \t\u3000"], tf.zeros([0, 2], tf.string)):
        for part in (
            *trained.tokenize_with_offsets(texts),
            *trained.tokenize_with_byte_offsets(texts),
        ):
            assert part.flat_values.shape == (0,)
    assert [part.shape for part in trained.tokenize_with_offsets("")] == [(0,)] * 3
