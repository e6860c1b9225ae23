"""Scores of texts are those of the field's own tools."""

import pytest
import sacrebleu

from keras_transformer.tasks.text_scores import bleu_tokenizer, text_score

HYPOTHESES = ["The cat sat on the mat.", "a dog runs"]
REFERENCES = ["The cat sits on the mat.", "A dog is running fast"]


def test_bleu_and_chrf_are_sacrebleus():
    bleu = text_score("bleu", HYPOTHESES, REFERENCES)
    assert bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score > 0
    assert "tok:13a" in bleu.signature and "case:mixed" in bleu.signature
    chrf = text_score("chrf", HYPOTHESES, REFERENCES)
    assert chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score > 0


@pytest.mark.parametrize(
    ("text", "tokenizer"),
    [
        ("这是一个苹果。", "zh"),
        ("これはりんごです。", "char"),
        ("นี่คือแอปเปิ้ล", "char"),
        ("Das ist ein Apfel.", "13a"),
        ("हिन्दी 한국어 й", "13a"),
        ("123 ...", "13a"),
    ],
)
def test_the_tokenizer_of_bleu_suits_the_script(text, tokenizer):
    assert bleu_tokenizer([text]) == tokenizer
    assert text_score("bleu", [text] * 2, [text] * 2).value >= 0


def test_rouge_is_rouge_score_for_english_and_sees_every_script():
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    pairs = zip(REFERENCES, HYPOTHESES, strict=True)
    expected = [scorer.score(reference, text)["rougeL"].fmeasure for reference, text in pairs]
    rouge = text_score("rouge", HYPOTHESES, REFERENCES)
    assert rouge.value == pytest.approx(100 * sum(expected) / 2)
    assert text_score("rouge", ["这是苹果"], ["这是苹果"]).value == 100
    assert text_score("rouge", ["这苹果"], ["这是苹果"]).value == pytest.approx(100 * 6 / 7)
    assert text_score("rouge", ["für dich"], ["für mich"]).value == 50


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="one of bleu, chrf, rouge, not 'meteor'"):
        text_score("meteor", ["a"], ["a"])
    with pytest.raises(ValueError, match="1 texts to score and 2 references"):
        text_score("bleu", ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="at least one"):
        text_score("bleu", [], [])
