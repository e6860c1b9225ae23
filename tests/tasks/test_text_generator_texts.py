"""Where generated texts end, how they come in pieces, and what prompts they take."""

import math

import pytest
import tensorflow as tf
from small_generators import KINDS, PROMPTS, WINDOW, assert_same, generator

from keras_transformer.tasks import GenerationOptions
from keras_transformer.tasks.row_options import RowOptions
from keras_transformer.tasks.token_spelling import TokenSpelling

SPELLING = generator("characters")


def test_texts_say_why_they_ended():
    found = SPELLING.generate(["the "] * 60, temperature=1.4, stop=["e", "ca"])
    for text, full_text, score, tokens, reason, truncated in found:
        assert "e" not in text and "ca" not in text and full_text == "the " + text
        assert score < 0 and not truncated
        assert tokens - len(text) in {"end": (1,), "stop": (1, 2), "length": (0,)}[reason]
    assert {"end", "stop"} <= {generation.finish_reason for generation in found}
    (cut,) = SPELLING.generate(["the "], max_new_tokens=4, min_new_tokens=4)
    assert cut.finish_reason == "length" and len(cut.text) == cut.tokens == 4


def test_a_prompt_does_not_stop_what_goes_on_from_it():
    whole = SPELLING.generate(["the cat. "], seed=2)[0].text
    stop = ["the cat.", "cat. " + whole[0]]
    assert SPELLING.generate(["the cat. "], seed=2, stop=stop)[0].text == whole


@pytest.mark.parametrize("kind", KINDS)
def test_stop_strings_are_found_across_tokens(kind):
    options = {"temperature": 1.5, "seed": 4, "min_new_tokens": 3 * WINDOW}
    whole = generator(kind).generate(["the ", "a"], **options)
    parts = (text[place : place + 2] for text in (w.text for w in whole) for place in range(3, 16))
    stops = [part for part in parts if "\ufffd" not in part][::4]
    assert len(set(stops)) > 1
    for stop in stops:
        found = generator(kind).generate(["the ", "a"], stop=[stop], **options)
        for one, other in zip(found, whole, strict=True):
            # Bytes before the stop string that begin a character are left out.
            before = other.text.partition(stop)[0]
            assert one.text.rstrip("\ufffd") == before.rstrip("\ufffd")
            assert one.finish_reason == ("stop" if stop in other.text else "length")


def test_no_end_before_the_minimum_and_control_ids_never():
    tokenizer, table = SPELLING.tokenizer, SPELLING.model.token_embedding.weights[0]
    before = table.numpy()
    control = [*tokenizer.special_ids, tokenizer.unk_id]
    options = {"min_new_tokens": 9, "max_new_tokens": 9}
    try:
        for sign in (9, -9):  # their logits tower over the others with one of them
            values = before.copy()
            values[control] = sign * values[4:].mean(axis=0)
            table.assign(values)
            for found in SPELLING.generate(["the", "", "a cat"] * 4, **options):
                assert len(found.text) == 9 and "\ufffd" not in found.text
    finally:
        table.assign(before)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_a_stream_make_the_text(kind, monkeypatch):
    # Its memory grows in a text.
    monkeypatch.setattr("keras_transformer.tasks.text_stream.FIRST_CAPACITY", 4)
    count = 0
    for row, prompt in enumerate(PROMPTS):
        options = {"seed": row, "temperature": 1.2, "max_new_tokens": 3 * WINDOW}
        if row % 2:
            text = generator(kind).generate([prompt], **options)[0].text
            options["stop"] = [text[5:8] or "x", text[7:9] + "never", "e"]
        pieces = list(generator(kind).stream(prompt, **options))
        assert all(pieces)
        assert "".join(pieces) == generator(kind).generate([prompt], **options)[0].text
        count += len(pieces)
    assert count > 3 * len(PROMPTS)


def test_a_stream_spells_no_byte_twice(monkeypatch):
    sizes, spell = [], TokenSpelling.settled_text

    def note(self, settled, after_nothing=False):
        sizes.append(len(settled))
        return spell(self, settled, after_nothing)

    monkeypatch.setattr(TokenSpelling, "settled_text", note)
    text = "".join(generator("byte_pairs").stream("the ", max_new_tokens=60, min_new_tokens=60))
    assert len(text) > 20 and sum(sizes) <= 4 * len(text)  # of UTF-8


def test_a_stream_refuses_what_generate_refuses_before_it_begins():
    with pytest.raises(ValueError, match="temperature must be from 0"):
        SPELLING.stream("a", temperature=-1)
    with pytest.raises(ValueError, match="prompt must be a string, not \\['a'\\]"):
        SPELLING.stream(["a"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_full_text_is_the_prompt_and_the_new_text(kind):
    prompts = ["", " ", "  a ", "\n", "the", "the ", "▁", "\x10", "🙂", "e\u0301", "<s></s>", "\0"]
    for prompt, found in zip(prompts, generator(kind).generate(prompts, seed=9), strict=True):
        assert found.full_text == prompt + found.text


@pytest.mark.parametrize("kind", KINDS)
def test_garbage_does_not_touch_its_neighbours(kind):
    garbage = [b"\xff\xfe\x80 no \xc3", "x" * 3000, "👩‍👩‍👧" * 50, "nul \0 in", "\n\r\t\x1b[0m"]
    prompts = [text for pair in zip(["the "] * 5, garbage, strict=True) for text in pair]
    found = generator(kind).generate(prompts, seed=1)
    for row in range(0, 10, 2):
        assert_same(found[row], generator(kind).generate(["the "], seed=1 + row)[0])
    assert found[1].full_text.startswith("\ufffd\ufffd\ufffd no \ufffd")


def test_nonsense_in_one_row_of_a_request_is_taken_for_what_is_nearest():
    def ask(**columns):
        count = len(columns["temperature"])
        outputs = SPELLING.serving_generate(
            prompt=tf.fill([count], "the "),
            max_new_tokens=tf.constant(columns["max_new_tokens"]),
            temperature=tf.constant(columns["temperature"]),
            top_k=tf.constant(columns["top_k"]),
            top_p=tf.constant(columns["top_p"]),
            seed=tf.range(count),
        )
        return outputs["text"].numpy().tolist()

    nan, inf = math.nan, math.inf
    nonsense = ask(
        max_new_tokens=[9, 9, 9, 9, 9, -(2**31), 9, 9],
        temperature=[1.0, -1.0, nan, -inf, 1.0, 1.0, 1.0, 0.5],
        top_k=[0, 0, 0, 0, -5, 0, 2**31 - 1, 3],
        top_p=[1.0, 1.0, 1.0, 1.0, 7.0, 1.0, nan, -0.1],
    )
    nearest = ask(
        max_new_tokens=[9, 9, 9, 9, 9, 0, 9, 9],
        temperature=[1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.5],
        top_k=[0, 0, 0, 0, 0, 0, 0, 3],
        top_p=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
    )
    assert nonsense == nearest
    assert ask(max_new_tokens=[3], temperature=[inf], top_k=[0], top_p=[1.0])[0]
    huge = RowOptions.alike(GenerationOptions(), 1)._replace(
        max_new_tokens=tf.constant([2**31 - 1])
    )
    assert huge.within_range().max_new_tokens.numpy() == [10_000]


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ("the", "prompts must be a list of strings, such as \\[text\\], not one string"),
        (["the", 3], r"prompts\[1\] must be a string, not 3"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(prompts, words):
    with pytest.raises(ValueError, match=words):
        SPELLING.generate(prompts)
