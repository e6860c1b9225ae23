import pytest

from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer

ENGLISH = [
    "the quick brown fox jumps over the lazy dog",
    "a café by the sea, 1999",
    "<s> [MASK] </s>",
]
CHINESE = ["中文文本没有空格", "这是一个苹果", "她在吃一个绿苹果"]
CORPUS = (ENGLISH + CHINESE) * 4

# What a careless tokenizer loses. Each must come back as it is.
TRICKY = [
    "",
    " ",
    "  two  blanks,   three   ",
    "tab\tnewline\nreturn\r\n\n end",
    "\u00a0no-break \u3000ideographic",
    "zero\u200bwidth\u200djoiner\ufeffmark",
    "👩‍👩‍👧 emoji 🙂🇩🇪",
    "中文文本",
    "mixed 中文 and English",
    "e\u0301 is not \u00e9",
    "▁", "a▁b ▁ c▁▁", "blank ▁ and ▅ bar",
    "\x10", "\x100\x101 \x10▁0▁1",
    "nul \0 and \x01\x1f\x7f control",
    "<s></s><pad><unk>[MASK]<0x41>",
    "\uffff\ufdd0\U0010ffff\ue000",
    "�",
    "हिन्दी й ї",
]  # fmt: skip


@pytest.fixture(scope="session")
def corpus():
    return CORPUS


@pytest.fixture(scope="session")
def tricky():
    return TRICKY


@pytest.fixture(scope="session")
def bpe():
    return SentencePieceTokenizer.train(CORPUS, 360, control_symbols=["[MASK]"])


@pytest.fixture(scope="session")
def unigram():
    return SentencePieceTokenizer.train(CORPUS, 340, model_type="unigram", hard_vocab_limit=False)


@pytest.fixture(scope="session")
def characters():
    return CharacterTokenizer.train(CORPUS + TRICKY)


@pytest.fixture(params=["bpe", "unigram", "characters"])
def tokenizer(request):
    return request.getfixturevalue(request.param)
