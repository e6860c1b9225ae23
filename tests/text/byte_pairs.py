"""Byte-level BPE tokenizers that several tests share, and the library that they are held to."""

import functools

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from keras_transformer.text import ByteLevelBPETokenizer

CORPUS = [
    "the quick brown fox jumps over the lazy dog, isn't it?",
    "it's the fox's; they've said we'll see, I'm 1999 years old",
    "中文文本没有空格 这是一个苹果 她在吃一个绿苹果",
    "한국어 텍스트 हिन्दी й ї é",
    "a  b   c\n\nd\te",
] * 4

# What GPT-2's pattern is particular about.
HARD = [
    "",
    " ",
    "   ",
    "a",
    " a",
    "  a",
    "a ",
    "a  ",
    "a \n b",
    "\n",
    "\n\n\nfoo \n",
    "\t\tx \t y\t",
    " \n'sx",
    "\r\nx\r\n\r\n y",
    "x\u00a0 y\u3000z\u2003\u2003 w\u0085",
    "don't I'LL I'll we've 'S ’s 'tis",
    "'s's ''s '' ' 's  's \n's 'r 're 'res 'lll l'l",
    "it's've'd'm'lly 'd2 1's 2'll !'s 's! é's'中",
    "👩‍👩‍👧 emoji 🙂🇩🇪🙂‍↕️",
    "mixed中文and English123abc４５६½ⅷ²٣",
    "nul \0 and \x01\x1f\x7f\x1c\x1d\x85 control",
    "zero\u200bwidth\u200djoiner\ufeffmark\u2060\u180e",
    "\ufeffmark first",
    "e\u0301 is not \u00e9; हिन्दी นี้ ไทย עִבְרִית العَرَبِيَّة",
    "ᎠᏯ 𐐀𐑂 𝒳𝟘 𠀀𠀁 ꙮ",
    "\uffff\ufdd0\U0010ffff\ue000\ufffd",
    "<s></s><pad><|endoftext|><|endo ĠÂ",
    "snake_case, CamelCase; 3.14e-10 == x[i]->y // ...!!!???",
    "a" * 256,
    "é" * 128 + " " + "中" * 85,
    "-" * 255 + "=",
]


@functools.cache
def trained():
    return ByteLevelBPETokenizer.train(CORPUS, 500)


def library(tokenizer, special_tokens=()):
    """Hugging Face's `tokenizers` with the same vocabulary, merges and option."""
    ids = {token: index for index, token in enumerate(tokenizer.vocabulary)}
    theirs = Tokenizer(models.BPE(vocab=ids, merges=list(tokenizer.merges)))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=tokenizer.add_prefix_space)
    theirs.decoder = decoders.ByteLevel()
    theirs.add_special_tokens(list(special_tokens))
    return theirs


def tokens(tokenizer, text):
    return [tokenizer.id_to_token(index) for index in tokenizer.tokenize(text).numpy()]


def decoded(strings):
    return [string.decode() for string in strings.numpy()]
