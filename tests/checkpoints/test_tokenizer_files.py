"""The tokenizer of a Hugging Face directory, from either of its files, and back."""

import json

import pytest
from tokenizers import BertWordPieceTokenizer

from keras_transformer.checkpoints import load_wordpiece, save_wordpiece
from keras_transformer.text import WordPieceTokenizer

TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] un ##aff ##able Caf cafe ##e ##é , 中 文 a b".split()
TEXTS = ["unaffable Café, 中文", "a[MASK]b", "CAFÉ unaffableé", ""]


def write_fast_file(directory, **options):
    theirs = BertWordPieceTokenizer({token: i for i, token in enumerate(TOKENS)}, **options)
    theirs.save(str(directory / "tokenizer.json"))
    return theirs


def change(directory, edit):
    path = directory / "tokenizer.json"
    fields = json.loads(path.read_text())
    edit(fields)
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False, None])
def test_both_files_give_their_ids(tmp_path, lowercase, strip_accents):
    options = {"lowercase": lowercase, "strip_accents": strip_accents}
    theirs = write_fast_file(tmp_path, **options)
    wanted = [theirs.encode(text, add_special_tokens=False).ids for text in TEXTS[:1] + TEXTS[2:]]
    ours = load_wordpiece(tmp_path)
    assert ours.tokenize(TEXTS[:1] + TEXTS[2:]).to_list() == wanted

    save_wordpiece(ours, tmp_path / "saved")
    back = load_wordpiece(tmp_path / "saved")
    assert (back.vocabulary, back.rules) == (ours.vocabulary, ours.rules)


def test_what_is_saved_is_read_by_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    ours = WordPieceTokenizer(TOKENS, lowercase=False, normalization="bert")
    save_wordpiece(ours, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    wanted = [theirs.encode(text, add_special_tokens=False) for text in TEXTS[:1] + TEXTS[2:]]
    assert ours.tokenize(TEXTS[:1] + TEXTS[2:]).to_list() == wanted


def test_tokens_that_were_added_later_get_their_ids(tmp_path):
    theirs = write_fast_file(tmp_path)
    theirs.add_special_tokens(["[NEW]"])
    theirs.save(str(tmp_path / "tokenizer.json"))
    assert load_wordpiece(tmp_path).vocabulary == (*TOKENS, "[NEW]")


def test_another_kind_of_tokenizer_is_refused(tmp_path):
    write_fast_file(tmp_path)
    change(tmp_path, lambda fields: fields["model"].update(type="BPE"))
    with pytest.raises(ValueError, match="model.type is 'BPE'; only BERT's 'WordPiece' is read"):
        load_wordpiece(tmp_path)


def test_ids_with_a_gap_are_refused(tmp_path):
    write_fast_file(tmp_path)
    change(tmp_path, lambda fields: fields["model"]["vocab"].update(b=99))
    with pytest.raises(ValueError, match="must give the ids 0, 1, 2"):
        load_wordpiece(tmp_path)


def test_a_folder_without_a_tokenizer_and_a_damaged_file_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"has no vocab\.txt and no tokenizer\.json"):
        load_wordpiece(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not JSON"):
        load_wordpiece(tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars is False; only BERT's True"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class is 'BertJapaneseTokenizer"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize is False; only BERT's True"),
        ({"never_split": ["a"]}, r"never_split is \['a'\]; only BERT's None"),
        ({"do_lower_case": "no"}, "do_lower_case must be true or false, not 'no'"),
    ],
)
def test_settings_that_cut_in_another_way_are_refused(tmp_path, fields, message):
    save_wordpiece(WordPieceTokenizer(TOKENS, normalization="bert"), tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {message}"):
        load_wordpiece(tmp_path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda f: f.update(pre_tokenizer={"type": "Whitespace"}), "pre_tokenizer.type is 'Whites"),
        (
            lambda f: f["model"].update(max_input_chars_per_word=5),
            "model.max_input_chars_per_word is 5; only BERT's 100 is read",
        ),
        (lambda f: f.update(model="WordPiece"), "is not a file of the library tokenizers"),
        (lambda f: f.update(normalizer=[1]), "is not a file of the library tokenizers"),
        (lambda f: f.update(added_tokens=[{"id": 5}]), "is not a file of the library tokenizers"),
    ],
)
def test_a_file_that_says_something_else_than_berts_is_refused(tmp_path, edit, message):
    write_fast_file(tmp_path)
    change(tmp_path, edit)
    with pytest.raises(ValueError, match=rf"tokenizer\.json.*{message}"):
        load_wordpiece(tmp_path)
