"""Pretrains a BERT: masked tokens, and whether two texts follow each other.

Without arguments it learns from the English that comes with Python, in a few minutes.
"""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import command_line
import keras
import numpy as np
import training_run
from bert_pretrain_options import BertPretrainOptions
from bert_start import start
from run_folder import check_folders, write_json
from waiting import check, waiting

from keras_transformer.data import (
    ExampleBatches,
    TextDocuments,
    TooFewDocuments,
    document_files,
    hold_out,
    load_documents,
    pretraining_batches,
)
from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.models import BertMaskedLM, BertPretraining
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
COUNTED_BATCHES = 2000  # the tokens' frequencies do not need all of a large corpus


def main() -> None:
    options = command_line.parse_resumable(BertPretrainOptions, __doc__)
    check_folders(options)
    with training_run.begin(options) as report:
        train_and_export(options, report)


def train_and_export(options: BertPretrainOptions, report: TrainingReport) -> None:
    """Everything from the texts to the SavedModel."""
    texts = load_texts(options)
    for split, documents in texts.items():
        print(counts := check(documents), flush=True)
        report.add_data(split, counts)
    model_class = BertPretraining if options.next_sentence else BertMaskedLM
    model, tokenizer = start(options, texts["train"].sentences, model_class)
    print(f"Model: {model.count_params():,} weights", flush=True)
    fill_mask = FillMask(model, tokenizer)  # refuses what does not fit before training
    batches = {}
    for split, documents in texts.items():
        with waiting(f"Tokenising {documents.name}"):
            batches[split] = make_batches(options, documents, tokenizer, split)
    print(batches["train"].report, flush=True)
    report.add_data("train", batches["train"].report)
    compile_model(model, options, batches["train"].count_batches())
    frequencies = token_frequencies(batches["train"], model.config.vocab_size)
    begin_with(frequencies, model)
    training_run.fit(model, batches["train"], batches["valid"], options, report)

    fill_mask.save(options.output)
    scores = score(model, batches["test"], frequencies)
    results = scores | {"updates": updates_made(model)}
    write_json(results, Path(options.output, "results.json"))
    exported = training_run.export(fill_mask, options)
    report.finish(scores, show_guesses(fill_mask, texts["test"]))
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


def compile_model(model: keras.Model, options: BertPretrainOptions, batches_an_epoch: int) -> None:
    """Gives the model its losses, of both tasks, and BERT's Adam (Devlin et al. 2019, A.2).

    Of a token that is rare, most gradients are small: all of them shorten its vector's product with
    a common hidden state. With a shorter memory than BERT's (`beta_2`) Adam makes each of them as
    large as others, and the vectors of rare tokens grow alike.
    """
    total = options.max_steps or options.epochs * batches_an_epoch
    warmup = min(max(1, round(options.warmup_share * total)), total - 1)
    optimizer = adamw(
        training_run.schedule(options.schedule, options.learning_rate, warmup, total),
        weight_decay=options.weight_decay,
        beta_2=0.999,
        epsilon=1e-6,
        clip_norm=options.clip_norm,
    )
    if options.next_sentence:
        loss: Any = {
            "masked_tokens": TokenCrossEntropy(),
            "next_sentence": TokenCrossEntropy(pad_id=NO_ROW),
        }
        metrics: Any = {
            "masked_tokens": [TokenLoss(), TokenAccuracy()],
            "next_sentence": [TokenAccuracy(pad_id=NO_ROW)],
        }
    else:
        loss, metrics = TokenCrossEntropy(), [TokenLoss(), TokenAccuracy()]
    model.compile(
        optimizer=optimizer,
        loss=loss,
        metrics=metrics,
        weighted_metrics=[],
        train_step=training_run.train_step(options),
    )


def token_frequencies(train: ExampleBatches, vocab_size: int) -> np.ndarray:
    """Share of each token among the masked ones of training, add-one smoothed: [vocab_size]."""
    with waiting("Counting tokens", total=min(COUNTED_BATCHES, train.count_batches())) as bar:
        tokens, _ = labels_of(bar.count(islice(train.batches(), COUNTED_BATCHES)))
    counts = np.bincount(tokens, minlength=vocab_size) + 1.0
    return counts / counts.sum()


def begin_with(frequencies: np.ndarray, model: keras.Model) -> None:
    """Lets the model guess by the tokens' frequencies before it has learned anything.

    Otherwise they are what it learns first, by moving the vectors of all rare tokens one way.
    """
    bias = model.token_head.bias
    if not np.any(keras.ops.convert_to_numpy(bias)):  # else it has been learned before
        bias.assign(np.log(frequencies))


def score(model: keras.Model, test: ExampleBatches, frequencies: np.ndarray) -> dict[str, float]:
    """What the model guesses of the test texts, beside what counting tokens would."""
    tokens, follows = labels_of(test.batches())
    with waiting("Scoring", total=test.count_batches()) as bar:
        found = model.evaluate(
            test.dataset, verbose=0, return_dict=True, callbacks=[bar.callback()]
        )
    both = isinstance(model, BertPretraining)
    loss = found["masked_tokens_token_loss" if both else "token_loss"]
    results = {
        "masked_token_accuracy": found[
            "masked_tokens_token_accuracy" if both else "token_accuracy"
        ],
        "masked_token_perplexity": perplexity(loss),
        "unigram_accuracy": float(np.mean(tokens == frequencies.argmax())),
        "unigram_perplexity": float(np.exp(-np.log(frequencies)[tokens].mean())),
    }
    print(
        f"Test: accuracy of masked tokens {results['masked_token_accuracy']:.4f} (the commonest "
        f"token always: {results['unigram_accuracy']:.4f}), perplexity "
        f"{results['masked_token_perplexity']:.1f} (by the tokens' frequencies: "
        f"{results['unigram_perplexity']:.1f})"
    )
    if both:
        share = float(np.mean(follows == np.bincount(follows).argmax()))
        results["next_sentence_accuracy"] = found["next_sentence_token_accuracy"]
        results["next_sentence_chance"] = share
        print(
            f"Test: accuracy of next sentences {results['next_sentence_accuracy']:.4f} "
            f"(one answer always: {share:.4f})"
        )
    return results


def labels_of(batches: Iterable[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The masked tokens of batches, and their labels of next sentences (none without pairs)."""
    tokens, follows = [], []
    for _, labels in batches:
        if isinstance(labels, dict):
            tokens.append(labels["masked_tokens"].ravel())
            follows.append(labels["next_sentence"])
        else:
            tokens.append(labels.ravel())
    tokens = np.concatenate(tokens)
    follows = np.concatenate(follows) if follows else np.zeros(0, np.int32)
    return tokens[tokens != 0], follows[follows != NO_ROW]


def show_guesses(fill_mask: FillMask, test: TextDocuments, count: int = 5) -> list[dict[str, str]]:
    """Prints a few test sentences with a word masked, and what the model says; gives them, too."""
    sentences = [s for s in test.sentences() if 6 <= len(s.split()) <= 20]
    samples = []
    for sentence in sentences[:: max(1, len(sentences) // count)][:count]:
        words = sentence.split()
        middle = len(words) // 2
        word, words[middle] = words[middle], "[MASK]"
        text = " ".join(words)
        (guesses,) = fill_mask([text])
        samples.append({"text": text, "model": ", ".join(guesses.tokens), "word": word})
        print("  {text}\n    model: {model}\n    word:  {word}".format_map(samples[-1]))
    return samples


if __name__ == "__main__":
    command_line.run(main)
