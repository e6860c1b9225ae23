"""Scores of generated texts against references, by the field's own measures."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

METRICS = ("bleu", "chrf", "rouge")


class TextScore(NamedTuple):
    """A score from 0 to 100 and how it was computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


def bleu_tokenizer(references: Sequence[str]) -> str:
    """The sacreBLEU tokenizer that suits the references: "zh" for Chinese, "char" for Japanese
    kana (and Thai, Lao, Khmer, Burmese), whose words are not separated either, "13a" for the rest.

    >>> bleu_tokenizer(["这是一个苹果。"]), bleu_tokenizer(["This is an apple."])
    ('zh', '13a')
    """
    letters = [c for text in references[:1000] for c in text if c.isalpha()]
    names = [unicodedata.name(c, "").split(" ")[0] for c in letters]
    share = {
        script: names.count(script) / max(len(names), 1)
        for script in ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
    }
    if share["HIRAGANA"] + share["KATAKANA"] > 0.1:
        return "char"
    if share["CJK"] > 0.3:
        return "zh"
    unspaced = sum(share[script] for script in ("THAI", "LAO", "KHMER", "MYANMAR"))
    return "char" if unspaced > 0.3 else "13a"


class _Words:
    """ROUGE's tokenizer in any script: `rouge_score`'s own sees nothing but a-z and 0-9.

    Words in lower case, without punctuation; characters where words are not separated.
    """

    def __init__(self, separated: bool):
        self._token = re.compile(r"[^\W_]+" if separated else r"[^\W_]")

    def tokenize(self, text: str) -> list[str]:
        return self._token.findall(text.lower())


def text_score(
    metric: str,
    hypotheses: Sequence[str],
    references: Sequence[str],
    bleu_tokenize: str | None = None,
) -> TextScore:
    """The corpus score of texts.

    Args:
        metric: "bleu" (Papineni et al. 2002) or "chrf" (Popović 2015), both by sacreBLEU (Post
            2018), cased; or "rouge", the mean F1 of ROUGE-L (Lin 2004) over the texts, in words,
            or in characters where the references' words are not separated.
        hypotheses: the generated texts.
        references: one reference for each.
        bleu_tokenize: sacreBLEU's tokenizer; what suits the references by default.

    Raises:
        ValueError: for an unknown metric or tokenizer, or numbers of texts that differ.

    >>> text_score("chrf", ["a b"], ["a b"]).value
    100.0
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            f"There are {len(hypotheses)} texts to score and {len(references)} references: "
            "there must be as many, and at least one."
        )
    if metric == "bleu":
        if bleu_tokenize not in (None, *BLEU.TOKENIZERS):
            raise ValueError(
                f"bleu_tokenize must be one of {', '.join(sorted(BLEU.TOKENIZERS))}, not "
                f"{bleu_tokenize!r}."
            )
        try:
            bleu = BLEU(tokenize=bleu_tokenize or bleu_tokenizer(references))
        except RuntimeError as error:  # a package that sacreBLEU needs for it is not installed
            raise ValueError(f"bleu_tokenize {bleu_tokenize!r}: {error}") from None
        value = bleu.corpus_score(hypotheses, [references]).score
        return TextScore("BLEU", value, str(bleu.get_signature()))
    if metric == "chrf":
        chrf = CHRF()
        value = chrf.corpus_score(hypotheses, [references]).score
        return TextScore("chrF2", value, str(chrf.get_signature()))
    if metric == "rouge":
        separated = bleu_tokenizer(references) == "13a"
        scorer = RougeScorer(["rougeL"], tokenizer=_Words(separated))
        f1 = [
            scorer.score(reference, text)["rougeL"].fmeasure
            for text, reference in zip(hypotheses, references, strict=True)
        ]
        signature = f"rouge-score, F1, {'words' if separated else 'characters'}, no stemming"
        return TextScore("ROUGE-L", 100 * sum(f1) / len(f1), signature)
    raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}.")
