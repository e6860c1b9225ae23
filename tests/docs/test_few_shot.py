"""The example of few-shot prompting keeps what it asks out of what it teaches."""

import pytest


@pytest.fixture(scope="module")
def few_shot(load_example):
    return load_example("few_shot")


def test_each_paragraph_keeps_to_a_rule_and_has_no_word_that_is_asked(few_shot, tmp_path):
    few_shot.write(tmp_path / "rules.txt", paragraphs=60)
    paragraphs = (tmp_path / "rules.txt").read_text(encoding="utf-8").strip().split("\n\n")
    known, unseen = few_shot.words()
    assert len(paragraphs) == 60 and len(unseen) == 200 and not set(known) & set(unseen)
    for paragraph in paragraphs:
        lines = [line.split(": ") for line in paragraph.split("\n")]
        assert {word for word, _ in lines} <= set(known) and len(lines) == 8
        assert any(
            all(rule(word) == answer for word, answer in lines) for rule in few_shot.RULES.values()
        )


def test_a_prompt_shows_other_words_than_the_one_it_asks(few_shot):
    prompts = list(few_shot.prompts("plural", 4))
    assert len(prompts) == 200
    for prompt, word in zip(prompts, few_shot.words()[1], strict=True):
        *shown, asked = prompt.split("\n")
        assert asked == f"{word}:" and len(shown) == 4 and not prompt.startswith(f"{word}:")
        assert all(line.partition(": ")[2] == line.partition(":")[0] + "s" for line in shown)
