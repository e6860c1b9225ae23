"""What a translator answers: the right text, whatever else is in the request."""

import math

import numpy as np
import pytest
import small_translators
import tensorflow as tf
from small_translators import PAIRS, SOURCES, TARGETS, assert_same_answers, plain_outputs

from keras_transformer.tasks import TranslationOptions, Translator
from keras_transformer.tasks.answers import NOTHING


def test_pairs_learned_by_heart_decode_exactly(overfitted):
    assert overfitted(SOURCES) == TARGETS


def test_a_learned_translation_is_sure_and_not_truncated(overfitted):
    outputs = plain_outputs(overfitted.serving_default(tf.constant(SOURCES)))
    assert outputs["translation"] == TARGETS
    assert not any(outputs["truncated"])
    assert all(-0.5 < score <= 0 for score in outputs["score"])


@pytest.mark.parametrize("size", [1, 3])
def test_an_answer_does_not_depend_on_its_batch(overfitted, size):
    texts = SOURCES[::-1] + ["unknown " * n for n in (1, 4, 9)]  # short and long side by side
    together = plain_outputs(overfitted.serving_default(tf.constant(texts)))
    parts = [
        plain_outputs(overfitted.serving_default(tf.constant(texts[start : start + size])))
        for start in range(0, len(texts), size)
    ]
    joined = {name: [row for part in parts for row in part[name]] for name in together}
    assert_same_answers(joined, together, ties=1)
    assert joined["translation"][: len(SOURCES)] == TARGETS[::-1]


def test_more_rows_than_one_chunk_holds(overfitted):
    texts = (SOURCES * 4)[:70]
    assert overfitted(texts) == (TARGETS * 4)[:70]


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_search_compiled_by_xla_gives_the_same(overfitted, beam_size):
    texts = [*SOURCES, "unknown word", "unknown " * 9, ""]
    options = dict(beam_size=beam_size, n_best=beam_size, max_length=24)
    plain = overfitted.translate(texts, **options)
    compiled = overfitted.translate(texts, **options, jit_compile=True)
    for one, other in zip(plain, compiled, strict=True):
        assert other.texts[0] == one.texts[0] and other.truncated == one.truncated
        assert other.scores == pytest.approx(one.scores, abs=1e-4)
    assert [t.texts[0] for t in compiled[: len(SOURCES)]] == TARGETS


@pytest.mark.slow
def test_a_search_compiled_by_xla_has_room_for_the_least_length(spelling):
    (found,) = spelling.translate(["red"], min_length=9, jit_compile=True, beam_size=2)
    (plain,) = spelling.translate(["red"], min_length=9, beam_size=2)
    assert found.texts == plain.texts and len(found.texts[0]) >= 9


def test_no_new_trace_for_other_lengths_and_batches(overfitted):
    overfitted(["red"])
    traces = overfitted.serving_default.experimental_get_tracing_count()
    for rows in (1, 2, 5):
        overfitted([("word " * rows).strip()] * rows)
    assert overfitted.serving_default.experimental_get_tracing_count() == traces > 0


def test_blank_in_blank_out_without_flags(overfitted):
    blanks = ["", " ", "\t \r\n", "\u00a0\u3000\u2028", "\x1c\x85"]
    assert all(not blank.strip() for blank in blanks)
    texts = [blanks[0], "red", *blanks[1:], "blue"]
    outputs = plain_outputs(overfitted.serving_default(tf.constant(texts)))
    assert outputs["translation"] == ["", "rot", *[""] * 4, "blau"]
    assert not any(outputs["truncated"])
    is_blank = np.array([not text for text in outputs["translation"]])
    assert (np.array(outputs["score"])[is_blank] == 0).all()


def test_a_zero_width_character_is_not_blank(overfitted):
    assert overfitted(["\u200b"]) != [""]


def test_garbage_does_not_touch_its_neighbours(overfitted):
    texts, expected = [], []
    for row, garbage in enumerate(small_translators.GARBAGE):
        texts += [SOURCES[row], garbage]
        expected.append(TARGETS[row])
    answers = overfitted(texts)  # decoded: all of it is valid UTF-8
    assert answers[::2] == expected


def test_no_special_token_ever_shows(overfitted):
    for text in overfitted(["<s></s><pad><unk>", "</s> red", "⁇", "\0"]):
        assert not any(token in text for token in ("<s>", "</s>", "<pad>", "<unk>", "⁇"))


def test_a_source_at_the_limit_is_whole_and_one_token_more_is_cut(overfitted):
    text, target = PAIRS[7]
    ids = overfitted.source_tokenizer.tokenize(text).numpy()
    options = TranslationOptions(
        beam_size=1, n_best=1, max_source_length=len(ids) + 1, max_target_length=32
    )
    limited = Translator(overfitted.model, overfitted.source_tokenizer, options=options)
    longer = text + " "
    assert len(overfitted.source_tokenizer.tokenize(longer)) == len(ids) + 1
    whole, cut, short = limited.translate([text, longer, "red"])
    assert (whole.texts, whole.truncated) == ([target], False)
    assert (cut.texts, cut.truncated) == ([target], True)  # what was left is the text above
    assert (short.texts, short.truncated) == (["rot"], False)


def test_an_output_that_reaches_its_limit_is_flagged(overfitted):
    (whole,) = overfitted.translate([SOURCES[7]], n_best=3)
    (cut,) = overfitted.translate([SOURCES[7]], n_best=3, max_length=3)
    assert (whole.texts[0], whole.truncated) == (TARGETS[7], False)
    assert cut.truncated
    assert len(overfitted.target_tokenizer.tokenize(cut.texts[0])) <= 2


def test_an_empty_batch_is_answered(overfitted):
    assert overfitted([]) == []
    assert overfitted.translate([], n_best=3) == []


def test_a_tuple_and_bytes_are_texts_too(overfitted):
    assert overfitted(("red", b"blue", np.str_("one dog"))) == ["rot", "blau", "ein Hund"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ("red", "not one string"),
        (b"red", "not one string"),
        (["red", 3], r"texts\[1\] must be a string, not 3"),
        ([None], r"texts\[0\] must be a string, not None"),
        ([["red"]], r"texts\[0\] must be a string, not \['red'\]"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(overfitted, texts, words):
    with pytest.raises(ValueError, match=words):
        overfitted(texts)
    with pytest.raises(ValueError, match=words):
        overfitted.translate(texts)


def test_a_blank_translation_is_likeliest_and_min_length_forbids_it(spelling):
    texts = ["ab"[n % 2] * (n % 5 + 1) + str(n) for n in range(100)]
    free = spelling.translate(texts, n_best=4, length_penalty=0.0)
    assert any(not translation.texts[0] for translation in free)  # else this shows nothing
    found = spelling.translate(texts, n_best=4, length_penalty=0.0, min_length=3)
    assert all(len(text) >= 3 for translation in found for text in translation.texts)


def test_control_ids_are_never_emitted():
    tokenizer = small_translators.subwords(control_symbols=["[MASK]"])
    translator = small_translators.make_translator(tokenizer, encoder_layers=1, decoder_layers=1)
    table = translator.model.target_embedding.weights[0]
    values = table.numpy()
    emphasis = np.ones([tokenizer.vocab_size, 1], "float32")
    emphasis[[*tokenizer.special_ids, tokenizer.unk_id]] = 100.0  # their logits tower over others
    table.assign(values * emphasis)
    # One token and EOS: a control id would leave the text blank.
    found = translator.translate(SOURCES * 2, n_best=3, min_length=1, max_length=2)
    assert tokenizer.token_to_id("[MASK]") in tokenizer.special_ids
    assert all(text for translation in found for text in translation.texts)
    assert all(len(translation.texts) == 3 for translation in found)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_scores_are_the_models_own_log_probabilities(spelling, alpha):
    texts = ["red", "the dog sees the", "我喝茶。"]
    for text, found in zip(
        texts, spelling.translate(texts, n_best=4, length_penalty=alpha), strict=True
    ):
        source = [*spelling.source_tokenizer.tokenize(text).numpy(), 2]
        for translation, score in zip(found.texts, found.scores, strict=True):
            ids = [*spelling.target_tokenizer.tokenize(translation).numpy(), 2]
            logits = spelling.model(
                {"source": np.array([source]), "target": np.array([[1, *ids[:-1]]])}
            )
            log_probs = tf.nn.log_softmax(tf.cast(logits, tf.float64)).numpy()[0]
            total = sum(log_probs[position, token] for position, token in enumerate(ids))
            assert score == pytest.approx(total / ((5 + len(ids)) / 6) ** alpha, abs=1e-4)


def test_several_translations_are_sorted_and_distinct(spelling):
    for found in spelling.translate(SOURCES[:8], n_best=4):
        assert found.scores == sorted(found.scores, reverse=True)
        assert len(set(found.texts)) == len(found.texts) == 4


def test_the_n_best_signature_says_the_same_as_the_method(spelling):
    texts = [*SOURCES[:5], " "]
    outputs = plain_outputs(spelling.n_best(tf.constant(texts)))
    assert np.shape(outputs["translations"]) == np.shape(outputs["scores"]) == (6, 4)
    for row, found in enumerate(spelling.translate(texts, n_best=4)):
        assert outputs["truncated"][row] == found.truncated
        real = [s for s in outputs["scores"][row] if s > NOTHING]
        assert real == pytest.approx(found.scores, abs=1e-5)
        assert outputs["translations"][row][: len(real)] == found.texts
        assert all(not text for text in outputs["translations"][row][len(real) :])


def test_where_fewer_translations_exist_than_asked_for_fillers_follow():
    tokenizer = small_translators.characters(["ab"])
    translator = small_translators.make_translator(
        tokenizer,
        options=TranslationOptions(beam_size=5, n_best=5, max_target_length=2),
        encoder_layers=1,
        decoder_layers=1,
    )
    outputs = plain_outputs(translator.n_best(tf.constant(["ab", "b"])))
    for texts, scores in zip(outputs["translations"], outputs["scores"], strict=True):
        assert sorted(texts[:3]) == ["", "a", "b"]  # all that one token can say
        assert texts[3:] == ["", ""] and scores[3:] == [NOTHING] * 2
        assert min(scores[:3]) > -100
    for found in translator.translate(["ab", "b"], n_best=5):
        assert len(found.texts) == len(found.scores) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, not 0"),
        ({"n_best": 0}, "n_best must be at least 1, not 0"),
        ({"n_best": 3, "beam_size": 2}, "n_best=3 must not exceed beam_size=2"),
        ({"length_penalty": -0.1}, "length_penalty must be 0 or more, not -0.1"),
        ({"length_penalty": math.nan}, "length_penalty must be 0 or more, not nan"),
        ({"min_length": -1}, "min_length must be from 0 to 31, not -1"),
        ({"min_length": 32}, "min_length must be from 0 to 31, not 32"),
        ({"max_length": 1}, "max_length must be at least 2, not 1"),
    ],
)
def test_options_out_of_range_are_refused(overfitted, options, words):
    with pytest.raises(ValueError, match=words):
        overfitted.translate(["red"], **options)


@pytest.mark.parametrize(
    "option",
    [
        {"beam_size": 0}, {"n_best": 9}, {"length_penalty": math.inf}, {"length_factor": -1},
        {"length_offset": 0}, {"max_source_length": 1}, {"max_target_length": 1},
    ],
)  # fmt: skip
def test_default_options_out_of_range_are_refused(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        TranslationOptions(**option)


def test_a_tokenizer_that_does_not_fit_the_model_is_refused():
    larger, smaller = small_translators.characters(), small_translators.characters(["abc"])
    fitting = small_translators.make_translator(larger)
    with pytest.raises(ValueError, match=f"source tokenizer has {smaller.vocab_size} ids, the mod"):
        Translator(fitting.model, smaller)
    with pytest.raises(ValueError, match=f"target tokenizer has {smaller.vocab_size} ids, the mod"):
        Translator(fitting.model, larger, smaller)
    with pytest.raises(ValueError, match="PAD, BOS and EOS"):
        small_translators.make_translator(larger, bos_token_id=7)


def test_lengths_beyond_a_table_of_positions_are_refused():
    tokenizer = small_translators.characters()
    config = {
        "positions": "learned",
        "max_position_embeddings": 12,
        "encoder_layers": 1,
        "decoder_layers": 1,
    }
    with pytest.raises(ValueError, match="max_position_embeddings=12"):
        small_translators.make_translator(
            tokenizer, options=TranslationOptions(max_target_length=13), **config
        )
    options = TranslationOptions(
        beam_size=2, n_best=1, max_source_length=12, max_target_length=12, length_offset=12
    )
    translator = small_translators.make_translator(tokenizer, options=options, **config)
    with pytest.raises(ValueError, match=r"up to 13 .* max_position_embeddings=12"):
        translator.translate(["red"], max_length=13)
    # The last position of the table serves, and what is longer is cut.
    exact, cut = translator.translate(["a" * 11, "a" * 12], min_length=11)
    assert exact.texts == cut.texts and len(exact.texts[0]) == 11
    assert cut.truncated
