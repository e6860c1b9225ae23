"""GPT-2's tokenizer in Hugging Face directories, from either kind of file, and back."""

import json

import pytest
from text.byte_pairs import CORPUS, HARD, library, trained

from keras_transformer.checkpoints import load_byte_level_bpe, save_byte_level_bpe
from keras_transformer.text import ByteLevelBPETokenizer

TEXTS = [*HARD[:-3], "fox<|endoftext|> fox", "<|endoftext|><|x|>"]


def write_fast_file(folder, tokenizer, special_tokens=("<|endoftext|>",), **changes):
    theirs = library(tokenizer, special_tokens)
    fields = json.loads(theirs.to_str())
    for name, value in changes.items():
        part, _, field = name.partition("__")
        if field:
            fields[part][field] = value
        else:
            fields[part] = value
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    return theirs


def write_settings(folder, **fields):
    (folder / "tokenizer_config.json").write_text(json.dumps(fields), encoding="utf-8")


@pytest.mark.parametrize("prefix", [False, True])
def test_a_tokenizer_json_gives_its_ids(tmp_path, prefix):
    tokenizer = ByteLevelBPETokenizer.train(
        CORPUS, 400, pad_token=None, special_tokens=["<|x|>"], add_prefix_space=prefix
    )
    theirs = write_fast_file(tmp_path, tokenizer, ["<|endoftext|>", "<|x|>"])
    typing = load_byte_level_bpe(tmp_path, match_control_symbols=True)
    assert typing.tokenize(TEXTS).to_list() == [e.ids for e in theirs.encode_batch(TEXTS)]
    ours = load_byte_level_bpe(tmp_path)
    assert ours.tokenize(TEXTS).to_list() == tokenizer.tokenize(TEXTS).to_list()
    assert (ours.pad_id, ours.bos_id, ours.eos_id, ours.special_ids) == (-1, 0, 0, (0, 1))


def test_merges_may_be_written_as_strings(tmp_path):
    tokenizer = trained()
    merges = [f"{left} {right}" for left, right in tokenizer.merges]
    write_fast_file(tmp_path, tokenizer, model__merges=merges)
    assert load_byte_level_bpe(tmp_path).merges == tokenizer.merges


def test_vocab_and_merges_give_the_same_as_what_was_saved(tmp_path):
    for prefix in (False, True):
        tokenizer = ByteLevelBPETokenizer.train(
            CORPUS, 400, bos_token="<s>", special_tokens=["<|x|>"], add_prefix_space=prefix
        )
        save_byte_level_bpe(tokenizer, tmp_path / f"saved{prefix}")
        back = load_byte_level_bpe(tmp_path / f"saved{prefix}")
        assert (back.vocabulary, back.merges) == (tokenizer.vocabulary, tokenizer.merges)
        assert (back.roles, back.special_ids) == (tokenizer.roles, tokenizer.special_ids)
        assert back.tokenize(TEXTS).to_list() == tokenizer.tokenize(TEXTS).to_list()


def test_plain_gpt2_files_have_one_special_token_and_later_ones_get_their_ids(tmp_path):
    tokenizer = trained()
    save_byte_level_bpe(tokenizer, tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    plain = load_byte_level_bpe(tmp_path)
    # "<pad>" is only a token like others then, which no merge makes.
    assert plain.special_tokens == ("<|endoftext|>",) and plain.pad_id == -1
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|x|>": plain.vocab_size}))
    (tmp_path / "special_tokens_map.json").write_text(
        json.dumps({"pad_token": {"content": "<pad>", "lstrip": False}})
    )
    more = load_byte_level_bpe(tmp_path)
    assert more.vocabulary == (*plain.vocabulary, "<|x|>")
    assert (more.pad_id, more.special_ids) == (0, (0, 1, plain.vocab_size))


@pytest.mark.parity
@pytest.mark.parametrize("prefix", [False, True])
def test_transformers_reads_what_is_saved_and_we_read_what_it_saves(tmp_path, prefix):
    transformers = pytest.importorskip("transformers")
    tokenizer = ByteLevelBPETokenizer.train(
        CORPUS, 500, special_tokens=["<|x|>"], add_prefix_space=prefix
    )
    save_byte_level_bpe(tokenizer, tmp_path / "ours")
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "ours"))
    assert len(theirs) == tokenizer.vocab_size
    assert (theirs.pad_token_id, theirs.eos_token_id) == (tokenizer.pad_id, tokenizer.eos_id)
    wanted = theirs(TEXTS, add_special_tokens=False)["input_ids"]
    theirs.save_pretrained(str(tmp_path / "theirs"))
    for folder in ("ours", "theirs"):
        found = load_byte_level_bpe(tmp_path / folder, match_control_symbols=True)
        pads = [index for index, text in enumerate(TEXTS) if "<pad>" in text]
        ids = found.tokenize(TEXTS).to_list()
        assert all(ids[i] == wanted[i] for i in range(len(TEXTS)) if i not in pads)
        assert found.roles == tokenizer.roles and found.special_ids == tokenizer.special_ids


LLAMA3 = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated"},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    ],
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pre_tokenizer": LLAMA3}, "pre_tokenizer.type is 'Sequence'; only GPT-2's 'ByteLevel'"),
        ({"pre_tokenizer": None}, "pre_tokenizer.type is None"),
        ({"pre_tokenizer__use_regex": False}, "pre_tokenizer.use_regex is False"),
        ({"normalizer": {"type": "NFC"}}, "normalizer is {'type': 'NFC'}; only GPT-2's None"),
        ({"model__byte_fallback": True}, "model.byte_fallback is True"),
        ({"model__ignore_merges": True}, "model.ignore_merges is True"),
        ({"model__dropout": 0.1}, "model.dropout is 0.1"),
        ({"model__end_of_word_suffix": "</w>"}, "model.end_of_word_suffix is '</w>'"),
        ({"model__type": "Unigram"}, "model.type is 'Unigram'; only GPT-2's 'BPE' is read"),
        ({"decoder": {"type": "Metaspace"}}, "decoder.type is 'Metaspace'"),
        ({"model__merges": ["a"]}, r"model.merges\[0\]: a merge must be two tokens, got 'a'"),
        ({"model__vocab": {"a": 5}}, "model.vocab must give the ids 0, 1, 2"),
        ({"model__vocab": [["a", 0.5]]}, "model.vocab must be a JSON object"),
        (
            {"added_tokens": [{"id": 1, "content": "  ", "special": False}]},
            "the added token '  ' has special=False; only True is read",
        ),
        (
            {"added_tokens": [{"id": 1, "content": "<m>", "special": True, "lstrip": True}]},
            "the added token '<m>' has lstrip=True; only False is read",
        ),
    ],
)
def test_another_kind_of_tokenizer_is_refused(tmp_path, changes, message):
    write_fast_file(tmp_path, trained(), **changes)
    with pytest.raises(ValueError, match=message):
        load_byte_level_bpe(tmp_path)


def test_files_of_another_class_are_refused(tmp_path):
    save_byte_level_bpe(trained(), tmp_path)
    write_settings(tmp_path, tokenizer_class="Qwen2Tokenizer")
    with pytest.raises(ValueError, match="tokenizer_class is 'Qwen2Tokenizer'; without a token"):
        load_byte_level_bpe(tmp_path)
    write_settings(tmp_path, pad_token="[PAD]")
    with pytest.raises(ValueError, match=r"special token '\[PAD\]' is not in the vocabulary"):
        load_byte_level_bpe(tmp_path)
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(ValueError, match="has no tokenizer.json and no vocab.json with merges.txt"):
        load_byte_level_bpe(tmp_path)


def test_a_tokenizer_that_normalizes_is_not_saved_as_gpt2s(tmp_path):
    tokenizer = ByteLevelBPETokenizer.train(CORPUS, 300, normalization="nfc")
    with pytest.raises(ValueError, match="normalization is 'nfc'; Hugging Face's GPT-2 tokenizer"):
        save_byte_level_bpe(tokenizer, tmp_path)
