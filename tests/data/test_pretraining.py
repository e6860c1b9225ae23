"""Sentence pairs, masks, and the batches made of both."""

import collections

import numpy as np
import pytest
from data.bert_tokenizers import CLS, MASK, SEP, letters_tokenizer, words_tokenizer
from realdata import real_data

from keras_transformer.data import (
    Masking,
    SentencePairs,
    TextDocuments,
    builtin_documents,
    document_files,
    pretraining_batches,
    single_texts,
)
from keras_transformer.text import WordPieceTokenizer


def corpus(*sizes, tokens=4):
    """Documents of sentences that all differ: sentence s of document d begins 1000 d + 10 s."""
    return [
        [np.arange(tokens) + 1000 * d + 10 * s for s in range(size)]
        for d, size in enumerate(sizes, start=1)
    ]


def documents_of(*documents):
    return TextDocuments("documents", lambda: iter([list(document) for document in documents]))


def generator(seed=0):
    return np.random.default_rng(seed)


# Sentence pairs.


def test_half_of_the_pairs_follow_and_the_others_come_from_another_document():
    documents = corpus(*[30] * 40, tokens=4)
    pairs = list(SentencePairs(documents, room=24, short_share=0).one_pass(generator()))
    assert 0.45 < np.mean([pair.follows for pair in pairs]) < 0.55
    for first, second, follows in pairs:
        assert (first[0] // 1000 == second[0] // 1000) == follows
        if follows and len(first) + len(second) < 24:
            assert second[0] == (first[-1] // 10 + 1) * 10  # the very next sentence


def test_pairs_are_half_and_half_even_where_many_sentences_are_the_last_of_their_document():
    pairs = list(SentencePairs(corpus(*[3] * 300), room=24).one_pass(generator(1)))
    assert 0.42 < np.mean([pair.follows for pair in pairs]) < 0.58


def test_texts_are_filled_up_and_first_texts_and_what_follows_them_cover_all():
    documents = corpus(50, 50, 50, tokens=4)
    pairs = list(SentencePairs(documents, room=40, short_share=0).one_pass(generator()))
    lengths = [len(first) + len(second) for first, second, _ in pairs]
    assert max(lengths) <= 40 and np.mean(lengths) > 32
    told = np.concatenate([np.concatenate((a, b)) if f else a for a, b, f in pairs])
    assert set(told.tolist()) == {int(n) for d in documents for s in d for n in s}


def test_some_pairs_are_short():
    lengths = [
        len(first) + len(second)
        for first, second, _ in SentencePairs(corpus(*[60] * 20, tokens=2), 40).one_pass(
            generator()
        )
    ]
    assert 0.02 < np.mean(np.array(lengths) < 30) < 0.35


def test_long_sentences_are_cut_and_both_texts_keep_tokens():
    documents = [[np.arange(1, 90), np.arange(101, 300)], [np.array([500]), np.arange(600, 700)]]
    for seed in range(50):
        for first, second, _ in SentencePairs(documents, room=10).one_pass(generator(seed)):
            assert len(first) and len(second) and len(first) + len(second) <= 10
            assert (np.diff(first) == 1).all() and (np.diff(second) == 1).all()  # in one piece


def test_one_document_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"1 document\(s\).*blank lines .*without sentence pairs"):
        SentencePairs(corpus(3), room=20)
    with pytest.raises(ValueError, match="0 document"):
        SentencePairs([], room=20)


def test_documents_of_one_sentence_are_refused():
    with pytest.raises(ValueError, match="none of the 2 documents has two sentences"):
        SentencePairs(corpus(1, 1), room=20)


def test_what_really_follows_is_never_labelled_random_even_where_documents_repeat_each_other():
    a, b, c = (np.array([n]) for n in (11, 12, 13))
    documents = [[a, b], [a, b], [a, b, c]]
    seen = collections.Counter()
    for seed in range(200):
        for first, second, follows in SentencePairs(documents, room=4).one_pass(generator(seed)):
            seen[follows] += 1
            if not follows and first[-1] == 11:
                assert second[0] != first[-1] + 1
    assert seen[True] > 50 and seen[False] > 50


def test_where_only_what_follows_is_to_be_had_the_error_says_so():
    a, b = np.array([11]), np.array([12])
    with pytest.raises(ValueError, match="nothing that does not follow"):
        for seed in range(100):
            list(SentencePairs([[a, b], [b]], room=2, short_share=0).one_pass(generator(seed)))


def test_texts_without_pairs_hold_every_token_once():
    documents = corpus(40, 7, tokens=5) + [[np.arange(5000, 5100)]]
    texts = list(single_texts(documents, 32, generator()))
    assert max(map(len, texts)) <= 32
    assert sorted(np.concatenate(texts)) == sorted(n for d in documents for s in d for n in s)


# Masks.


def test_special_tokens_and_padding_are_never_masked():
    tokenizer = words_tokenizer()
    masking = Masking(tokenizer)
    ids = np.array([CLS, 5, 6, SEP, 0, 0])
    chosen = collections.Counter()
    for draw in range(1000):
        masked = masking(ids, generator(draw))
        chosen.update(masked.positions.tolist())
        assert masked.labels.tolist() == ids[masked.positions].tolist()
        untouched = np.delete(np.arange(6), masked.positions)
        assert (masked.token_ids[untouched] == ids[untouched]).all()
    assert set(chosen) == {1, 2} and sum(chosen.values()) == 1000
    assert abs(chosen[1] - 500) < 60


def test_fifteen_percent_are_chosen_of_which_80_10_10():
    tokenizer = words_tokenizer()
    ids = np.concatenate([[CLS], np.full(200, 9), [SEP]])
    fate = collections.Counter()
    drawn = set()
    for draw in range(500):
        token_ids, positions, _ = Masking(tokenizer)(ids, generator(draw))
        assert len(positions) == 30
        for token in token_ids[positions].tolist():
            fate["mask" if token == MASK else "same" if token == 9 else "random"] += 1
            drawn.add(token)
    shares = {kind: count / 15_000 for kind, count in fate.items()}
    assert abs(shares["mask"] - 0.8) < 0.015
    assert abs(shares["random"] - 0.1) < 0.015
    assert abs(shares["same"] - 0.1) < 0.015
    assert drawn == {MASK, *range(5, 205)}  # random ids: every word, nothing special


def test_unknown_and_unused_tokens_are_neither_masked_nor_drawn():
    names = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
    masking = Masking(WordPieceTokenizer(names), share=0.9)
    seen = set()
    for draw in range(300):
        token_ids, positions, _ = masking(np.array([3, 2, 6, 1, 7, 4]), generator(draw))
        assert set(positions.tolist()) <= {2, 4}
        seen |= set(token_ids[positions].tolist())
    assert seen == {5, 6, 7}


def test_whole_words_are_masked_with_all_their_pieces():
    tokenizer = letters_tokenizer()
    (ids,) = [tokenizer.tokenize("some words of several letters stand here ok").numpy()]
    continues = np.array([tokenizer.id_to_token(i).startswith("##") for i in ids])
    word = np.cumsum(~continues)
    masking = Masking(tokenizer, share=0.3, whole_words=True)
    for draw in range(100):
        _, positions, labels = masking(ids, generator(draw))
        assert 1 <= len(positions) <= round(0.3 * len(ids))
        for number in set(word[positions]):
            assert set(np.flatnonzero(word == number)) <= set(positions)
        assert labels.tolist() == ids[positions].tolist()


def test_a_text_of_one_long_word_is_masked_whole():
    ids = letters_tokenizer().tokenize("abcdefgh").numpy()
    _, positions, _ = Masking(letters_tokenizer(), whole_words=True)(ids, generator())
    assert positions.tolist() == list(range(8))


def test_a_text_of_special_tokens_alone_has_nothing_to_guess():
    masked = Masking(words_tokenizer())(np.array([CLS, SEP]), generator())
    assert not len(masked.positions) and masked.token_ids.tolist() == [CLS, SEP]


def test_impossible_tokenizers_and_shares_are_refused():
    with pytest.raises(ValueError, match=r"no mask_id: its vocabulary must hold .* \[MASK\]"):
        Masking(WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"]))
    with pytest.raises(ValueError, match="pad_id is 1"):
        Masking(WordPieceTokenizer(["[UNK]", "[PAD]", "[MASK]", "a"]))
    with pytest.raises(ValueError, match="special tokens only"):
        Masking(WordPieceTokenizer(["[PAD]", "[UNK]", "[MASK]"]))
    with pytest.raises(ValueError, match="share is 1.5"):
        Masking(words_tokenizer(), share=1.5)


# Batches.


def word_documents(count=30, size=12):
    rng = generator()
    return documents_of(
        *(
            [" ".join(f"w{n}" for n in rng.integers(0, 200, 6)) for _ in range(size)]
            for _ in range(count)
        )
    )


def epoch_of(batches, epoch):
    return [
        (x["token_ids"].tolist(), y["masked_tokens"].tolist(), y["next_sentence"].tolist())
        for x, y in batches.batches(epoch)
    ]


def test_a_batch_for_pretraining():
    batches = pretraining_batches(
        word_documents(), words_tokenizer(), max_length=32, batch_size=8, replicas=4
    )
    fillers = 0
    for features, labels in batches.dataset.as_numpy_iterator():
        ids, segments = features["token_ids"], features["segment_ids"]
        positions, masked = features["masked_positions"], labels["masked_tokens"]
        assert ids.shape == segments.shape and ids.shape[1] <= 32
        assert positions.shape == masked.shape and len(ids) % 4 == 0
        for row, label in enumerate(labels["next_sentence"]):
            real = ids[row][ids[row] > 0]
            fillers += label == -1
            if label == -1:
                assert not real.any() and not masked[row].any()
                continue
            assert label in (0, 1)
            assert real[0] == CLS and real[-1] == SEP and (real == SEP).sum() == 2
            border = int(np.flatnonzero(real == SEP)[0]) + 1
            assert segments[row].tolist() == [0] * border + [1] * (len(real) - border) + [0] * (
                ids.shape[1] - len(real)
            )
            guessed = positions[row][masked[row] > 0]
            assert len(guessed) and not np.isin(ids[row][guessed], (CLS, SEP, 0)).any()
            assert (positions[row][masked[row] == 0] == 0).all()
    assert fillers == -batches.count_examples % 4
    assert "30 documents" in str(batches.report)


def test_epochs_draw_anew_and_repeat_exactly():
    def make(seed, training=True):
        return pretraining_batches(
            word_documents(), words_tokenizer(), max_length=32, seed=seed, training=training
        )

    one, again = make(0), make(0)
    epochs = [epoch_of(one, epoch) for epoch in (0, 1, 2)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert [epoch_of(again, epoch) for epoch in (2, 0, 1)] == [epochs[2], epochs[0], epochs[1]]
    assert len({sum(len(ids) for ids, *_ in epoch) for epoch in epochs}) == 1
    assert epoch_of(make(1), 0) != epochs[0]
    still = make(0, training=False)
    assert epoch_of(still, 0) == epoch_of(still, 5)


def test_without_pairs_the_labels_are_the_masked_tokens_alone():
    one = documents_of(["w1 w2 w3", "w4"])  # a single document will do
    batches = pretraining_batches(one, words_tokenizer(), next_sentence=False, max_length=8)
    ((features, labels),) = batches.batches()
    assert set(features) == {"token_ids", "segment_ids", "masked_positions"}
    assert labels.shape == features["masked_positions"].shape and labels.any()


def test_sentences_without_tokens_are_counted_and_too_few_documents_named():
    odd = documents_of(["w1 w2", "\u200b"], ["w3", "w4"], ["\u200b"])
    report = pretraining_batches(odd, words_tokenizer()).report.texts
    assert (report.kept, report.documents, dict(report.dropped)) == (3, 2, {"no tokens": 2})
    with pytest.raises(ValueError, match="without sentence pairs"):
        pretraining_batches(documents_of(["w1", "w2"]), words_tokenizer())
    with pytest.raises(ValueError, match="max_length must be at least 5, not 4"):
        pretraining_batches(odd, words_tokenizer(), max_length=4)


def test_a_corpus_of_single_sentences_gets_a_warning():
    documents = documents_of(["w1", "w2"], *([f"w{n}"] for n in range(3, 60)))
    with pytest.warns(UserWarning, match=r"only \d of 5\d pairs follow each other"):
        pretraining_batches(documents, words_tokenizer())


def test_builtin_documents_make_batches():
    documents = builtin_documents("valid")
    tokenizer = WordPieceTokenizer.train(documents.sentences(), 500)
    batches = pretraining_batches(documents, tokenizer, max_length=64)
    share = np.concatenate([y["next_sentence"] for _, y in batches.batches()]).mean()
    assert batches.report.longest <= 64 and 0.4 < share < 0.6


def test_a_real_book_makes_batches():
    documents = document_files(real_data("gutenberg_en") / "alice.txt.gz")
    tokenizer = WordPieceTokenizer.train(documents.sentences(), 1000)
    batches = pretraining_batches(documents, tokenizer, max_length=128)
    labels = np.concatenate([y["next_sentence"] for _, y in batches.batches()])
    assert 0.4 < labels.mean() < 0.6
    assert 100 < batches.report.tokens / batches.report.examples <= 128
