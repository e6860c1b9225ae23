"""Pretrains a BERT: masked tokens, and whether two texts follow each other.

Without arguments it learns from the English that comes with Python, in a few minutes.
"""

from pathlib import Path
from typing import Any

import bert_start
import command_line
import keras
import numpy as np
import training_run
from bert_pretrain_options import BertPretrainOptions

from keras_transformer.data import (
    ExampleBatches,
    TextDocuments,
    TooFewDocuments,
    document_files,
    hold_out,
    load_documents,
    pretraining_batches,
)
from keras_transformer.models import Bert, BertMaskedLM, BertPretraining
from keras_transformer.tasks import FillMask
from keras_transformer.text import Tokenizer
from keras_transformer.training import (
    TokenAccuracy,
    TokenCrossEntropy,
    TokenLoss,
    adamw,
    perplexity,
    updates_made,
)

NO_ROW = -1  # the label of rows that only fill up a batch


def main() -> None:
    options = command_line.parse_resumable(BertPretrainOptions, __doc__)
    training_run.check_folders(options)
    with training_run.begin(options):
        train_and_export(options)


def train_and_export(options: BertPretrainOptions) -> None:
    """Everything from the texts to the SavedModel."""
    texts = load_texts(options)
    for documents in texts.values():
        print(documents.check(), flush=True)
    bert, tokenizer = bert_start.start(options, texts["train"].sentences)
    batches = {split: make_batches(options, texts[split], tokenizer, split) for split in texts}
    print(batches["train"].report, flush=True)
    model = compiled(options, bert, batches["train"].count_batches())
    training_run.fit(model, batches["train"], batches["valid"], options)

    fill_mask = FillMask(model, tokenizer)
    fill_mask.save(options.output)
    results = score(model, batches)
    results["updates"] = updates_made(model)
    training_run.write_json(results, Path(options.output, "results.json"))
    exported = fill_mask.export(options.export)
    show_guesses(fill_mask, texts["test"])
    print(f"Run: {options.output}\nSavedModel: {exported}")


def load_texts(options: BertPretrainOptions) -> dict[str, TextDocuments]:
    """Training, validation and test documents, the last two held out of the first where need be."""
    given = {"valid": options.valid_text, "test": options.test_text}
    texts = {split: document_files(path) for split, path in given.items() if path}
    others = [split for split in given if split not in texts]
    if options.text == "builtin" or "{split}" in options.text or not others:
        texts |= {split: load_documents(options.text, split) for split in ("train", *others)}
    else:
        # Texts that do not follow each other come from two documents.
        least = 2 if options.next_sentence else 1
        try:
            texts |= hold_out(load_documents(options.text), options.held_out, others, least)
        except TooFewDocuments as error:
            flags = " and ".join(f"--{split}-text" for split in others)
            raise ValueError(
                f"{str(error).removesuffix('.')} (--held-out is the share; {flags} take files and "
                "folders)."
            ) from None
    return {split: texts[split] for split in ("train", "valid", "test")}


def make_batches(
    options: BertPretrainOptions, documents: TextDocuments, tokenizer: Tokenizer, split: str
) -> ExampleBatches:
    """Batches of a split; those of validation and test are the same in every run of a seed."""
    return pretraining_batches(
        documents,
        tokenizer,
        max_length=options.max_length,
        next_sentence=options.next_sentence,
        masked_share=options.masked_share,
        whole_words=options.whole_words,
        batch_size=options.batch_size,
        training=split == "train",
        seed=options.seed,
    )


def compiled(options: BertPretrainOptions, bert: Bert, batches_an_epoch: int) -> keras.Model:
    """The model with its losses: the sum of both tasks' (Devlin et al. 2019, A.2)."""
    total = options.max_steps or options.epochs * batches_an_epoch
    warmup = min(max(1, round(options.warmup_share * total)), total - 1)
    optimizer = adamw(
        training_run.schedule(options.schedule, options.learning_rate, warmup, total),
        weight_decay=options.weight_decay,
        clip_norm=options.clip_norm,
    )
    if options.next_sentence:
        model = BertPretraining(bert)
        loss: Any = {
            "masked_tokens": TokenCrossEntropy(),
            "next_sentence": TokenCrossEntropy(pad_id=NO_ROW),
        }
        metrics: Any = {
            "masked_tokens": [TokenLoss(), TokenAccuracy()],
            "next_sentence": [TokenAccuracy(pad_id=NO_ROW)],
        }
    else:
        model = BertMaskedLM(bert)
        loss, metrics = TokenCrossEntropy(), [TokenLoss(), TokenAccuracy()]
    model.build()
    model.compile(
        optimizer=optimizer,
        loss=loss,
        metrics=metrics,
        weighted_metrics=[],
        train_step=training_run.train_step(options),
    )
    print(f"Model: {options.preset}, {model.count_params():,} weights", flush=True)
    return model


def score(model: keras.Model, batches: dict[str, ExampleBatches]) -> dict[str, float]:
    """What the model guesses of the test texts, beside what counting tokens would."""
    labels = {split: split_labels(batches[split]) for split in ("train", "test")}
    found = model.evaluate(batches["test"].dataset, verbose=0, return_dict=True)
    both = isinstance(model, BertPretraining)
    loss = found["masked_tokens_token_loss" if both else "token_loss"]
    results = {
        "masked_token_accuracy": found[
            "masked_tokens_token_accuracy" if both else "token_accuracy"
        ],
        "masked_token_perplexity": perplexity(loss),
    } | unigram_scores(labels["train"][0], labels["test"][0], model.config.vocab_size)
    print(
        f"Test: accuracy of masked tokens {results['masked_token_accuracy']:.4f} (the commonest "
        f"token always: {results['unigram_accuracy']:.4f}), perplexity "
        f"{results['masked_token_perplexity']:.1f} (by the tokens' frequencies: "
        f"{results['unigram_perplexity']:.1f})"
    )
    if both:
        follows = labels["test"][1]
        share = float(np.mean(follows == np.bincount(follows).argmax()))
        results["next_sentence_accuracy"] = found["next_sentence_token_accuracy"]
        results["next_sentence_chance"] = share
        print(
            f"Test: accuracy of next sentences {results['next_sentence_accuracy']:.4f} "
            f"(one answer always: {share:.4f})"
        )
    return results


def split_labels(batches: ExampleBatches) -> tuple[np.ndarray, np.ndarray]:
    """The masked tokens of an epoch, and its labels of next sentences (none without pairs)."""
    tokens, follows = [], []
    for _, labels in batches.batches():
        if isinstance(labels, dict):
            tokens.append(labels["masked_tokens"].ravel())
            follows.append(labels["next_sentence"])
        else:
            tokens.append(labels.ravel())
    tokens = np.concatenate(tokens)
    follows = np.concatenate(follows) if follows else np.zeros(0, np.int32)
    return tokens[tokens != 0], follows[follows != NO_ROW]


def unigram_scores(train: np.ndarray, test: np.ndarray, vocab_size: int) -> dict[str, float]:
    """Accuracy and perplexity of guessing by the tokens' frequencies in training, add-one
    smoothed."""
    counts = np.bincount(train, minlength=vocab_size) + 1.0
    log_probabilities = np.log(counts / counts.sum())
    return {
        "unigram_accuracy": float(np.mean(test == counts.argmax())),
        "unigram_perplexity": float(np.exp(-log_probabilities[test].mean())),
    }


def show_guesses(fill_mask: FillMask, test: TextDocuments, count: int = 5) -> None:
    """A few test sentences with a word masked, and what the model says."""
    sentences = [s for s in test.sentences() if 6 <= len(s.split()) <= 20]
    chosen = sentences[:: max(1, len(sentences) // count)][:count]
    for sentence in chosen:
        words = sentence.split()
        middle = len(words) // 2
        word, words[middle] = words[middle], "[MASK]"
        (guesses,) = fill_mask([" ".join(words)])
        print(f"  {' '.join(words)}\n    model: {', '.join(guesses.tokens)}\n    word:  {word}")


if __name__ == "__main__":
    command_line.run(main)
