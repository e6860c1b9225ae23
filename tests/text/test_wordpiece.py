"""The WordPiece tokenizer: ids, offsets, special tokens, the way back, saving, and exports."""

import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from c_serve import c_serve  # noqa: F401  (a fixture)
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.text import WordPieceTokenizer, load_tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# From the example of BERT's own tests.
VOCABULARY = [
    *SPECIAL,
    "want",
    "##want",
    "##ed",
    "wa",
    "un",
    "runn",
    "##ing",
    ",",
    "##aff",
    "##able",
]
CORPUS = [
    "한국어 텍스트",
    "중국어 й ї हिन्दी",
    "going to [MASK] study, don't (well-known)!",
    "un café, cafe\u0301; 中文文本 ΟΔΟΣ οδος",
    "[unused1] [PAD] <s>",
]


@pytest.fixture(scope="module")
def trained():
    return WordPieceTokenizer.train(CORPUS * 2, 400)


@pytest.fixture(scope="module")
def reference():
    return WordPieceTokenizer(VOCABULARY, normalization="bert")


def tokens(tokenizer, text):
    return [tokenizer.id_to_token(index) for index in tokenizer.tokenize(text).numpy()]


def round_trip(tokenizer, text):
    return tokenizer.detokenize(tokenizer.tokenize(text)).numpy().decode()


def slices(tokenizer, text):
    _, starts, ends = tokenizer.tokenize_with_offsets(text)
    return [text[s:e] for s, e in zip(starts.numpy(), ends.numpy(), strict=True)]


def greedy_ids(tokenizer, text):
    """The algorithm as BERT's authors wrote it down: slow, and in Python."""
    ids = []
    for word in tokenizer.rules.words(text):
        pieces, start = [], 0
        while start < len(word) <= 100:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if prefix + word[start:end] in tokenizer.vocabulary:
                    pieces.append(tokenizer.token_to_id(prefix + word[start:end]))
                    start = end
                    break
            else:
                break
        ids += pieces if start == len(word) else [tokenizer.unk_id]
    return ids


# Words and pieces.


def test_words_are_cut_into_the_longest_pieces_from_the_left(reference):
    assert tokens(reference, "UNwanted,running unaffable") == [
        *("un", "##want", "##ed", ",", "runn", "##ing", "un", "##aff", "##able")
    ]


def test_a_word_with_a_tail_that_nothing_matches_is_one_unknown(reference):
    assert tokens(reference, "unwantedX running unX") == ["[UNK]", "runn", "##ing", "[UNK]"]


def test_a_word_of_more_than_100_characters_is_one_unknown():
    tokenizer = WordPieceTokenizer(["[UNK]", "a", "##a", "é", "##é"])
    assert len(tokenizer.tokenize("a" * 100)) == 100
    assert tokenizer.tokenize("a" * 101).numpy().tolist() == [0]
    assert len(tokenizer.tokenize("é" * 100)) == 100, "characters, not bytes"
    ids, starts, ends = tokenizer.tokenize_with_offsets("é a" + "é" * 101 + " a")
    assert ids.numpy().tolist() == [3, 0, 1]
    assert (starts.numpy().tolist(), ends.numpy().tolist()) == ([0, 2, 105], [1, 104, 106])


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
        | st.text(
            st.sampled_from(" \tcafeé\u0301[MASK]#中文한국\u1112\u1161й\u200bΣς🙂"), max_size=16
        ),
        max_size=4,
    )
)
def test_the_graph_does_what_the_plain_algorithm_does(texts):
    for tokenizer, tokenize, tokenize_with_offsets in ALGORITHMS:
        ids, starts, ends = tokenize_with_offsets(tf.constant(texts, tf.string))
        assert ids.to_list() == [greedy_ids(tokenizer, text) for text in texts]
        assert ids.to_list() == tokenize(tf.constant(texts, tf.string)).to_list()
        for text, row_starts, row_ends in zip(texts, starts.to_list(), ends.to_list(), strict=True):
            spans = list(zip(row_starts, row_ends, strict=True))
            assert all(0 <= s < e <= len(text) for s, e in spans)
            assert row_starts == sorted(row_starts) and row_ends == sorted(row_ends)


PIECES = [
    *SPECIAL,
    *"cafe[]#中文",
    "##a",
    "##f",
    "##e",
    "##é",
    "##é",
    "caf",
    "é",
    "й",
    "한",
    "##국",
]
ALGORITHMS = []
for normalization, lowercase in [("default", True), ("default", False), ("bert", True)]:
    made = WordPieceTokenizer([*dict.fromkeys(PIECES)], lowercase, normalization=normalization)
    graphs = [
        tf.function(method, input_signature=[tf.TensorSpec([None], tf.string)])
        for method in (made.tokenize, made.tokenize_with_offsets)
    ]
    ALGORITHMS.append((made, *graphs))


def test_invalid_bytes_do_not_disturb_their_neighbours(trained):
    ids, starts, ends = trained.tokenize_with_offsets([b"caf\xe9 \xff un", b"un"])
    assert ids[1].numpy().tolist() == trained.tokenize("un").numpy().tolist()
    assert ids[0].numpy().tolist()[-1] == trained.token_to_id("un")
    assert (starts[0].numpy()[-1], ends[0].numpy()[-1]) == (7, 9)


# Scripts.


def test_korean_stays_composed_and_known(trained):
    cased = WordPieceTokenizer.train(CORPUS * 2, 400, lowercase=False)
    for tokenizer in (trained, cased):
        assert tokens(tokenizer, "한국어 텍스트") == ["한국어", "텍스트"]
        assert round_trip(tokenizer, "한국어 텍스트") == "한국어 텍스트"
        decomposed = "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"
        assert tokens(tokenizer, decomposed) == ["한국어"]
    assert trained.unk_id not in trained.tokenize("어국한").numpy()


def test_marks_are_kept_when_accents_are_not_stripped(trained):
    assert round_trip(trained, "Й Ї हिन्दी") == "й ї हिन्दी"
    assert round_trip(trained, "CAFÉ Café") == "café café"


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_composed_and_decomposed_accents_give_the_same_ids(lowercase, strip_accents):
    options = {"lowercase": lowercase, "strip_accents": strip_accents}
    tokenizer = WordPieceTokenizer.train(["é É cafe ά ǰ й"] * 2, 100, **options)
    for composed, decomposed in [
        ("\u00e9", "e\u0301"),
        ("\u00c9", "E\u0301"),
        ("caf\u00e9", "cafe\u0301"),
        ("ά", "α\u0301"),
        ("ǰ", "j\u030c"),
        ("й", "и\u0306"),
    ]:
        ids = tokenizer.tokenize([composed, decomposed]).to_list()
        assert ids[0] == ids[1] and tokenizer.unk_id not in ids[0]
    assert slices(tokenizer, "E\u0301 \u00e9 e\u0301!")[:3] == ["E\u0301", "\u00e9", "e\u0301"]


def test_capitals_beyond_ascii_are_folded(trained):
    assert tokens(trained, "ΟΔΟΣ") == tokens(trained, "οδος") == tokens(trained, "οδοσ")


# Offsets.


def test_offsets_count_characters_and_bytes_of_the_text_as_given(trained):
    text = "🙂 CAFE\u0301 中文, 한국어!"
    assert slices(trained, text) == ["🙂", "CAFE\u0301", "中", "文", ",", "한국어", "!"]
    _, starts, ends = trained.tokenize_with_byte_offsets(text)
    raw = text.encode()
    assert [raw[s:e].decode() for s, e in zip(starts.numpy(), ends.numpy(), strict=True)] == slices(
        trained, text
    )
    for part in trained.tokenize_with_byte_offsets([["un", "é un"], ["", "中 un"]]):
        assert part.dtype == tf.int32 and part.shape.as_list() == [2, 2, None]
    assert trained.tokenize_with_byte_offsets(["é un"])[1].to_list() == [[0, 3]]


def test_offsets_reach_over_what_vanished_inside_a_word_and_marks_behind_it(reference):
    assert slices(reference, "un\u200bwanted\u200b ru\u0301nning\u0301") == [
        *("un", "want", "ed", "ru\u0301nn", "ing\u0301")
    ]


def test_offsets_of_nothing(trained):
    for texts in ([], ["", " \t\u3000"], tf.zeros([0, 2], tf.string)):
        for part in (
            *trained.tokenize_with_offsets(texts),
            *trained.tokenize_with_byte_offsets(texts),
        ):
            assert part.flat_values.shape == (0,)
    assert [part.shape for part in trained.tokenize_with_offsets("")] == [(0,)] * 3


# Special tokens.


def test_ids_of_special_tokens_are_the_vocabularys():
    tokenizer = WordPieceTokenizer(["a", "[MASK]", "[SEP]", "[UNK]", "[CLS]", "b", "[PAD]"])
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.mask_id) == (6, 3, 1)
    assert tokenizer.cls_id == tokenizer.bos_id == 4
    assert tokenizer.sep_id == tokenizer.eos_id == 2
    assert sorted(tokenizer.special_ids) == [1, 2, 4, 6]
    assert WordPieceTokenizer(["[UNK]"]).mask_id == -1
    with pytest.raises(ValueError, match=r"the vocabulary lacks the token \[UNK\]"):
        WordPieceTokenizer(["a"])


@pytest.mark.parametrize("normalization", ["default", "bert"])
def test_text_yields_a_control_id_only_when_asked_to(normalization):
    vocabulary = [*SPECIAL, "going", "to", "study", "[", "]", "mask", "MASK"]
    options = {"normalization": normalization}
    plain = WordPieceTokenizer(vocabulary, **options)
    assert tokens(plain, "going to [MASK] study") == ["going", "to", "[", "mask", "]", "study"]
    typed = "[PAD] [UNK] [CLS][SEP] [MASK] [[MASK]] x[MASK]x ##[MASK]"
    assert not set(plain.tokenize(typed).numpy()) & set(plain.special_ids)

    matching = WordPieceTokenizer(vocabulary, match_control_symbols=True, **options)
    text = "going to [MASK]study[MASK][[MASK]] [mask] [MASK"
    assert tokens(matching, text) == [
        *("going", "to", "[MASK]", "study", "[MASK]", "[", "[MASK]", "]"),
        *("[", "mask", "]", "[", "mask"),
    ]
    assert slices(matching, "é [MASK]to") == ["é", "[MASK]", "to"]
    masks = {matching.mask_id}
    assert set(matching.tokenize(typed).numpy()) & set(matching.special_ids) == masks
    assert matching.tokenize(["[MA", "SK]"]).to_list() == plain.tokenize(["[MA", "SK]"]).to_list()


def test_symbols_come_out_of_both_ends_of_a_batch():
    tokenizer = WordPieceTokenizer([*SPECIAL, "a"], match_control_symbols=True)
    ids, starts, ends = tokenizer.tokenize_with_offsets(["[MASK]", "", "a[MASK]", "[MASK]a"])
    assert ids.to_list() == [[4], [], [5, 4], [4, 5]]
    assert starts.to_list() == [[0], [], [0, 1], [0, 6]]
    assert ends.to_list() == [[6], [], [1, 7], [6, 7]]


def test_special_tokens_that_text_could_spell_are_refused():
    with pytest.raises(ValueError, match=r"special_tokens\[1\] must be one word in brackets"):
        WordPieceTokenizer(["[UNK]", "pad"], special_tokens=["[UNK]", "pad"])
    with pytest.raises(ValueError, match="holds '<s>' more than once"):
        WordPieceTokenizer(["[UNK]", "<s>"], special_tokens=["<s>", "<s>"])


# The way back.


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("中文文本", "中文文本"),
        ("中文 text 中文", "中文 text 中文"),
        ("日本語、です。", "日本語、です。"),
        ("他说：“你好，Bob！”《书》 (好)", "他说：“你好，bob！”《书》(好)"),
        ('Well-known (it\'s 50%), "no"!', 'well-known (it\'s 50%), " no "!'),
        ("  two   blanks\t", "two blanks"),
        ("", ""),
    ],
)
def test_the_rule_of_blanks(text, again):
    tokenizer = WordPieceTokenizer.train([text + " text"] * 2, 200)
    assert round_trip(tokenizer, text) == again


def test_detokenize_skips_special_ids_and_shows_unknown_ones(reference):
    un, ing = reference.token_to_id("un"), reference.token_to_id("##ing")
    ids = [
        [reference.cls_id, un, ing, reference.sep_id, 0, 0],
        [reference.mask_id, ing, 1, un, -1, 99],
    ]
    assert [text.decode() for text in reference.detokenize(ids).numpy()] == [
        *("uning", "ing \ufffd un \ufffd \ufffd")
    ]


def test_detokenize_takes_away_one_axis(trained):
    ids = trained.tokenize(["un café", "중국어"])
    assert trained.detokenize(ids[0]).shape == ()
    assert trained.detokenize(ids).shape == (2,)
    assert (
        trained.detokenize(ids.to_tensor()).numpy().tolist()
        == trained.detokenize(ids).numpy().tolist()
    )
    assert trained.detokenize(tf.ragged.stack([ids, ids])).to_list()[1][0] == "un café".encode()
    assert trained.detokenize(tf.zeros([0, 5], tf.int32)).shape == (0,)


# Files.


def test_save_and_load_keep_everything(tmp_path):
    tokenizer = WordPieceTokenizer.train(
        CORPUS * 2,
        300,
        lowercase=False,
        strip_accents=True,
        normalization="bert",
        reserved_tokens=[*SPECIAL, "[E1]"],
    )
    tokenizer.save(tmp_path / "run")
    loaded = load_tokenizer(tmp_path / "run")
    assert isinstance(loaded, WordPieceTokenizer)
    assert loaded.vocabulary == tokenizer.vocabulary and loaded.rules == tokenizer.rules
    assert loaded.special_ids == tokenizer.special_ids == (0, 2, 3, 4, 5)
    assert loaded.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()
    matching = WordPieceTokenizer.load(tmp_path / "run", match_control_symbols=True)
    assert matching.tokenize("[E1][MASK]").numpy().tolist() == [5, 4]
    # The file is the one that Hugging Face reads.
    lines = (tmp_path / "run" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert tuple(lines) == tokenizer.vocabulary
    again = WordPieceTokenizer.from_vocab(
        tmp_path / "run" / "vocab.txt", lowercase=False, strip_accents=True, normalization="bert"
    )
    assert again.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()


def test_load_says_what_is_wrong(trained, tmp_path):
    trained.save(tmp_path)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab.txt is damaged or belongs to another tokenizer"):
        load_tokenizer(tmp_path)
    vocabulary.unlink()
    with pytest.raises(ValueError, match="lacks vocab.txt, the vocabulary"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalization": "nfkc"}, "normalization must be one of .*default.*bert.* got 'nfkc'"),
        ({"lowercase": "yes"}, "lowercase must be True or False, got 'yes'"),
        ({"strip_accents": 1}, "strip_accents must be True or False, got 1"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer(["[UNK]"], **options)


# Graphs.

TEXTS = ["", "CAFE\u0301 中文, 한국어! [MASK] й", "\u200b \ufffd 🙂", "x" * 101 + " un", "don't"]


class Exported(tf.Module):
    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def run(self, text):
        ids, starts, ends = self.tokenizer.tokenize_with_offsets(text)
        _, start_bytes, end_bytes = self.tokenizer.tokenize_with_byte_offsets(text)
        return {
            "ids": self.tokenizer.tokenize(text).to_tensor(-1),
            "same_ids": ids.to_tensor(-1),
            "starts": starts.to_tensor(-1),
            "ends": ends.to_tensor(-1),
            "starts_byte": start_bytes.to_tensor(-1),
            "ends_byte": end_bytes.to_tensor(-1),
            "text": self.tokenizer.detokenize(ids),
        }


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """Loaded from a folder that is deleted, exported, and the export moved."""
    folder = tmp_path_factory.mktemp("wordpiece")
    WordPieceTokenizer(trained.vocabulary, match_control_symbols=True).save(folder / "files")
    module = Exported(load_tokenizer(folder / "files"))
    tf.saved_model.save(module, str(folder / "first"), signatures={"serving_default": module.run})
    shutil.rmtree(folder / "files")
    shutil.move(folder / "first", folder / "moved")
    return module, folder / "moved"


def as_lists(outputs):
    return {
        name: [text.decode() for text in value.numpy()]
        if value.dtype == tf.string
        else value.numpy().tolist()
        for name, value in outputs.items()
    }


def test_eager_graph_and_export_agree(exported):
    module, folder = exported
    eager = as_lists(module.run.python_function(tf.constant(TEXTS)))
    assert eager["ids"] == eager["same_ids"]
    assert as_lists(module.run(tf.constant(TEXTS))) == eager
    loaded = tf.saved_model.load(str(folder))
    assert as_lists(loaded.signatures["serving_default"](text=tf.constant(TEXTS))) == eager


def test_export_runs_without_python(exported, c_serve):  # noqa: F811
    module, folder = exported
    (together,) = c_serve.ask(folder, "serving_default", [{"text": TEXTS}])
    assert together == as_lists(module.run(tf.constant(TEXTS)))
    alone = c_serve.ask_alone(folder, "serving_default", TEXTS)
    assert [answer["text"][0] for answer in alone] == together["text"]


def test_export_holds_no_table_no_variable_and_no_xla(exported):
    _, folder = exported
    saved = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    forbidden = ("PyFunc", "HashTable", "LookupTable", "Xla", "Variable")
    assert {node.op for node in nodes if any(word in node.op for word in forbidden)} == set()
    reading_variables = {"/device:CPU:0", "/device:CPU:*"}  # there are none, but a saver
    assert {node.device for node in nodes} - reading_variables == {""}


def test_works_in_tf_data(trained):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(trained.tokenize)
    assert [row for batch in dataset for row in batch.to_list()] == trained.tokenize(
        TEXTS
    ).to_list()


def test_a_text_alone_and_in_a_batch_is_the_same(trained):
    batch = trained.tokenize_with_offsets(TEXTS)
    for row, text in enumerate(TEXTS):
        for one, many in zip(trained.tokenize_with_offsets(text), batch, strict=True):
            assert one.numpy().tolist() == many[row].numpy().tolist()
