"""Text by beam search."""

import pytest
from generation.fakes import log_softmax
from small_generators import PROMPTS, WINDOW, assert_same, generator, slow_generator

from keras_transformer.tasks import TextGenerator

SPELLING = generator("characters")
SLOW = slow_generator("characters")


def short_texts(prompt):
    """All texts of one token or two, the log-probability of each."""
    prompt, vocabulary = SLOW.prompt(prompt), SPELLING.tokenizer.vocab_size
    assert vocabulary < 40
    allowed = sorted(set(range(vocabulary)) - SLOW.forbidden)

    def log_probs(tokens):
        return log_softmax(SLOW.logits(tokens))

    first = log_probs(prompt)
    scores = {(SLOW.eos,): first[SLOW.eos]}
    for token in set(allowed) - {SLOW.eos}:
        second = log_probs([*prompt, token])
        scores |= {(token, other): first[token] + second[other] for other in allowed}
    return scores


def test_beam_search_finds_the_likeliest_of_all_short_texts():
    (found,) = SPELLING.generate(["the "], beam_size=40, max_new_tokens=2, temperature=1)
    scores = short_texts("the ")
    best = max(scores, key=scores.get)
    assert found.text == b"".join(map(SLOW.spell, set_aside(best, SLOW))).decode()
    assert found.score == pytest.approx(scores[best], abs=1e-4)
    assert found.tokens == len(best)


def set_aside(tokens, slow):
    return [token for token in tokens if token != slow.eos]


def test_a_row_of_beams_says_the_same_alone_and_in_a_batch():
    options = {"beam_size": 3, "max_new_tokens": 2 * WINDOW, "length_penalty": 0.6}
    together = SPELLING.generate(PROMPTS, **options)
    assert max(found.tokens for found in together) > WINDOW  # the window did slide
    for prompt, found in zip(PROMPTS, together, strict=True):
        assert_same(found, SPELLING.generate([prompt], **options)[0])


def test_beams_go_on_from_the_best_text_when_the_window_is_full():
    bare = TextGenerator(SPELLING.model, SPELLING.tokenizer, start_id=None)
    options = {"beam_size": 40, "min_new_tokens": 0}
    (found,) = bare.generate(["a dog"], max_new_tokens=20, **options)
    text = "a dog"
    room, tokens, score = WINDOW + 1 - len(text), 0, 0.0
    while tokens < 20:
        (part,) = bare.generate(
            [text[-(WINDOW // 2) :] if tokens else text],
            max_new_tokens=min(room, 20 - tokens),
            **options,
        )
        text, tokens, score = text + part.text, tokens + part.tokens, score + part.score
        room = WINDOW + 1 - WINDOW // 2
        if part.finish_reason == "end":
            break
    assert found.full_text == text and found.tokens == tokens
    assert found.score == pytest.approx(score, abs=1e-3)


def test_beams_stop_at_stop_strings_and_stream_their_text_at_once():
    options = {"beam_size": 40, "max_new_tokens": 9}
    (whole,) = SPELLING.generate(["the "], min_new_tokens=9, **options)
    stop = whole.text[1:3]
    (found,) = SPELLING.generate(["the "], min_new_tokens=9, stop=[stop], **options)
    assert stop not in found.text
    assert list(SPELLING.stream("the ", min_new_tokens=9, **options)) == [whole.text]
