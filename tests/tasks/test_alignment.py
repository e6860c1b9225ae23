"""What a translation, or a question, looked at: the same in Python, in an export and without it."""

import base64
import functools

import numpy as np
import pytest
import small_berts
import small_translators
import tensorflow as tf
from saved_model_files import nodes, signature
from small_translators import SOURCES, TARGETS

from keras_transformer.inspection import attention_of
from keras_transformer.layers import capture_attention
from keras_transformer.serving.export import chosen_signatures
from keras_transformer.tasks import TranslationOptions
from keras_transformer.tasks.alignments import answer_alignments, translation_alignments
from keras_transformer.tasks.requests import plain

TEXTS = [*SOURCES[:4], "", " ", "我喝茶。", "🙂", "red " * 30]
QUESTIONS = ["who lives in london?", "where", "", "what is this " * 9, "a", "who?"]
CONTEXTS = [
    "Ada lives in London, and drinks TEA!",
    "the dog sees the red house." * 8,
    "abc",
    "我住在北京。 she drinks 茶" * 3,
    " ",
    "réd 🙂 house",
]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def translator():
    """Random weights; quickly traced."""
    options = TranslationOptions(
        beam_size=1, n_best=1, max_source_length=24, max_target_length=12, length_offset=6
    )
    return small_translators.make_translator(
        small_translators.characters(), options=options, seed=3, encoder_layers=1
    )


@pytest.fixture(scope="module")
def translated(translator):
    return translator.align(TEXTS)


@pytest.fixture(scope="module")
def answerer():
    """Random weights over characters, whose graph is small."""
    return small_berts.make("answerer", small_berts.characters())


@pytest.fixture(scope="module")
def answered(answerer):
    with small_berts.eagerly():  # one call, which takes less time than to trace it
        return answerer.align_answers(QUESTIONS, CONTEXTS)


@pytest.fixture(scope="module")
def export(translator, answerer, tmp_path_factory):
    """A function that gives the folder of one of them, exported with this signature alone."""

    @functools.cache
    def folder(task):
        return task.export(tmp_path_factory.mktemp("export"), signatures=task.optional_signatures())

    return folder


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        one, other = one._asdict(), other._asdict()
        np.testing.assert_allclose(one.pop("weights"), other.pop("weights"), atol=TOLERANCE)
        assert one.pop("score") == pytest.approx(other.pop("score"), abs=1e-4)
        assert one == other


# Translations ------------------------------------------------------------------------------------


def test_it_is_the_attention_of_the_translation_that_was_found(translator, translated):
    rows = [(TEXTS[row], translated[row]) for row in (3, -1)]
    texts, pairs = zip(*((text, found.translation) for text, found in rows), strict=True)
    for (text, found), shown in zip(rows, attention_of(translator, texts, pairs), strict=True):
        cross = shown.maps["cross"]
        assert cross.weights.shape[0] == 2
        expected = cross.weights.mean(axis=(0, 1))  # [target, source]
        np.testing.assert_allclose(found.weights, expected, atol=TOLERANCE)
        assert found.source.tokens[-1] == found.target.tokens[-1] == "</s>"
        assert found.source.tokens[:-1] == list(text)[: len(found.source.tokens) - 1]


@pytest.mark.slow
def test_the_translation_is_that_of_the_other_signatures(translator, translated):
    outputs = plain(translator.serving_default(tf.constant(TEXTS)))
    assert [found.translation for found in translated] == outputs["translation"]
    assert [found.truncated for found in translated] == outputs["truncated"]
    assert [found.score for found in translated] == pytest.approx(outputs["score"], abs=1e-4)


def test_each_token_of_the_translation_shares_out_one_look_at_the_text(translated):
    for text, found in zip(TEXTS, translated, strict=True):
        assert found.weights.shape == (len(found.target.tokens), len(found.source.tokens))
        assert found.weights.dtype == np.float32 and np.all(found.weights >= 0)
        np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=TOLERANCE)
        for side, side_text in ((found.source, text), (found.target, found.translation)):
            spelled = [side_text[start:end] for start, end in side.spans]
            assert "".join(spelled[:-1]) == side_text.strip() or found.truncated
            assert not side.spans or side.spans[-1][0] == side.spans[-1][1]  # EOS


def test_a_blank_text_has_no_tokens(translator, translated):
    for found in (*translated[4:6], *translator.align([""])):
        assert found.translation == "" and found.score == 0 and not found.truncated
        assert found.source.tokens == found.target.tokens == []
        assert found.weights.shape == (0, 0)
    assert translator.align([]) == []


def test_neither_the_batch_nor_its_padding_shows(translator, translated):
    assert_same([translator.align([text])[0] for text in TEXTS], translated)


@pytest.mark.slow
def test_what_a_model_learned_to_translate_it_looks_at(overfitted):
    assert [found.translation for found in overfitted.align(SOURCES)] == TARGETS
    (found,) = overfitted.align(["the dog sees the cat"])
    cat = found.source.tokens.index("▁cat")
    row = next(i for i, token in enumerate(found.target.tokens) if "Katze".startswith(token[1:2]))
    assert found.weights[row, cat] > 1 / len(found.source.tokens), found


def test_of_long_texts_the_beginning_is_read(monkeypatch):
    monkeypatch.setattr("keras_transformer.tasks.translation_alignment.LONGEST", 6)
    options = TranslationOptions(
        beam_size=1, n_best=1, max_source_length=20, max_target_length=20, min_target_length=9
    )
    task = small_translators.make_translator(small_translators.characters(), options=options)
    with small_berts.eagerly():
        long, short = task.align(["good night!", "red"])
    assert long.source.tokens == [*"good ", "</s>"] and long.truncated
    assert short.source.tokens == [*"red", "</s>"]
    assert len(long.target.tokens) == 6  # the least length gives way


# Answers -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_is_that_of_the_other_signatures(answerer, answered):
    found = plain(answerer.serving_default(*map(tf.constant, (QUESTIONS, CONTEXTS))))
    for name in ("answer", "start", "end", "has_answer", "truncated"):
        assert [getattr(row, name) for row in answered] == found[name], name
    assert [row.score for row in answered] == pytest.approx(found["score"], abs=1e-4)


def test_each_token_of_the_question_shares_out_one_look_at_the_context(answered):
    for question, context, found in zip(QUESTIONS, CONTEXTS, answered, strict=True):
        assert found.weights.shape == (len(found.question.tokens), len(found.context.tokens))
        np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=TOLERANCE)
        if not question.strip() or not context.strip():
            assert not found.question.tokens and not found.context.tokens
            continue
        # The answer stands in the window that is shown.
        starts, ends = zip(*found.context.spans, strict=True)
        assert starts[0] <= found.start < found.end <= ends[-1]


def test_it_is_the_attention_of_the_window_of_the_answer(answerer, answered):
    task, found = answerer, answered[1]
    assert found.context.spans[0][0] > 0  # a later window
    tokenizer = task.tokenizer
    question, context = (
        [tokenizer.token_to_id(token) for token in side.tokens]
        for side in (found.question, found.context)
    )
    ids = [tokenizer.cls_id, *question, tokenizer.sep_id, *context, tokenizer.sep_id]
    second = len(question) + 2
    segments = [0] * second + [1] * (len(context) + 1)
    with capture_attention() as weights:
        task.model(
            {"token_ids": np.array([ids]), "segment_ids": np.array([segments])}, training=False
        )
    mean = np.mean([np.mean(layer[0], axis=0) for layer in weights.values()], axis=0)
    looked = mean[1 : 1 + len(question), second : second + len(context)]
    expected = looked / looked.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.weights, expected, atol=TOLERANCE)


def test_neither_the_batch_nor_its_padding_shows_in_answers(answerer, answered):
    rows = zip(QUESTIONS, CONTEXTS, strict=True)
    with small_berts.eagerly():
        alone = [answerer.align_answers([question], [context])[0] for question, context in rows]
    assert_same(alone, answered)


@pytest.mark.slow
def test_traced_it_says_the_same(answerer, answered):
    assert_same(answerer.align_answers(QUESTIONS, CONTEXTS), answered)
    assert answerer.align_answers([], []) == []


# Exports -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_signature_of_translations_takes_and_gives_what_is_said(export, translator):
    sides = {
        f"out:{side}_{part}": (dtype, [-1, -1])
        for side in ("source", "target")
        for part, dtype in (("tokens", "string"), ("starts", "int32"), ("ends", "int32"))
    }
    assert signature(export(translator), "alignment") == sides | {
        "in:text": ("string", [-1]),
        "out:translation": ("string", [-1]),
        "out:score": ("float32", [-1]),
        "out:truncated": ("bool", [-1]),
        "out:source_length": ("int32", [-1]),
        "out:target_length": ("int32", [-1]),
        "out:weights": ("float32", [-1, -1, -1]),
    }
    assert_core_operations(export(translator))


@pytest.mark.slow
def test_the_signature_of_answers_takes_and_gives_what_is_said(export, answerer):
    found = signature(export(answerer), "alignment")
    assert found["in:question"] == found["in:context"] == ("string", [-1])
    assert found["out:weights"] == ("float32", [-1, -1, -1])
    assert found["out:question_tokens"] == found["out:context_tokens"] == ("string", [-1, -1])
    assert found["out:has_answer"] == ("bool", [-1])
    assert_core_operations(export(answerer))


def assert_core_operations(folder):
    operations = {node.op for node in nodes(folder)}
    for part in ("Xla", "PyFunc", "HashTable", "Mutable"):
        assert not [name for name in operations if part in name]


@pytest.mark.slow
def test_a_saved_model_says_the_same(export, translator, translated):
    loaded = tf.saved_model.load(str(export(translator)))
    outputs = loaded.signatures["alignment"](text=tf.constant(TEXTS))
    assert_same(translation_alignments(plain(outputs)), translated)


@pytest.mark.slow
def test_a_saved_model_that_answers_says_the_same(export, answerer, answered):
    loaded = tf.saved_model.load(str(export(answerer)))
    outputs = loaded.signatures["alignment"](
        question=tf.constant(QUESTIONS), context=tf.constant(CONTEXTS)
    )
    assert_same(answer_alignments(plain(outputs)), answered)


@pytest.mark.slow
def test_without_python_it_says_the_same(export, translator, translated, c_serve):
    empty = {"text": []}
    together, nothing = c_serve.ask(export(translator), "alignment", [{"text": TEXTS}, empty])
    assert_same(translation_alignments(together), translated)
    assert nothing["translation"] == nothing["weights"] == []
    alone = c_serve.ask_alone(export(translator), "alignment", TEXTS)
    assert_same([row for found in alone for row in translation_alignments(found)], translated)
    damaged = {"b64": base64.b64encode(b"\xff the dog \xc3").decode()}
    (found,) = c_serve.ask(export(translator), "alignment", [{"text": [TEXTS[0], damaged]}])
    assert_same(translation_alignments(found)[:1], translated[:1])


@pytest.mark.slow
def test_without_python_answers_say_the_same(export, answerer, answered, c_serve):
    rows = [{"question": [q], "context": [c]} for q, c in zip(QUESTIONS, CONTEXTS, strict=True)]
    together = {"question": QUESTIONS, "context": CONTEXTS}
    first, *alone = c_serve.ask(export(answerer), "alignment", [together, *rows])
    assert_same(answer_alignments(first), answered)
    assert_same([row for found in alone for row in answer_alignments(found)], answered)


def test_it_is_served_where_it_is_named_only(translator, answerer, bert_task):
    for task in (translator, answerer):
        assert "alignment" not in chosen_signatures(task)
        named = chosen_signatures(task, ["alignment"])
        assert list(named) == ["serving_default", "alignment"]
    with pytest.raises(ValueError, match="has no signature 'alignment'; it has serving_default"):
        chosen_signatures(bert_task("tagger"), ["alignment"])
