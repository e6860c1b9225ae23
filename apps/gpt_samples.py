"""What a GPT makes of prompts: samples to look at while it learns, and when it has."""

import textwrap
from itertools import islice

from gpt_train_options import GptTrainOptions
from waiting import waiting

from keras_transformer.data import TextDocuments, TextPairs
from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.tasks import TextGenerator
from keras_transformer.training import updates_made

MOST_PROMPTS = 200  # that completions are scored of
SAMPLES = 3
RULE = "-" * 20


def sample_prompt(options: GptTrainOptions, data: TextDocuments | TextPairs) -> str:
    """How the samples begin."""
    if options.sample_prompt is not None:
        return options.sample_prompt
    return next(data.sources()) if isinstance(data, TextPairs) else ""


def show_sample(generator: TextGenerator, prompt: str, tokens: int, report: TrainingReport) -> None:
    """Prints how a prompt goes on with the weights of the moment, and puts it in the report."""
    (found,) = generator.generate([prompt], max_new_tokens=tokens)
    show(found.full_text)
    report.add_sample({"text": found.full_text}, updates_made(generator.model))


def show_texts(
    generator: TextGenerator, data: TextDocuments | TextPairs, options: GptTrainOptions
) -> list[dict[str, str]]:
    """Prints some texts of the trained model, or completions beside the right ones; gives them,
    too."""
    if not options.sample_tokens:
        return []
    print("Samples:", flush=True)
    if isinstance(data, TextPairs):
        pairs = list(islice(data, SAMPLES))
        found = generator([prompt for prompt, _ in pairs])
        samples = [
            {"prompt": prompt.strip(), "model": completion, "right": right}
            for (prompt, right), completion in zip(pairs, found, strict=True)
        ]
        for sample in samples:
            show("{prompt}\n  model: {model}\n  right: {right}".format_map(sample))
        return samples
    found = generator.generate([sample_prompt(options, data)] * SAMPLES)
    for generation in found:
        show(f"{RULE}\n{generation.full_text}")
    return [{"text": generation.full_text} for generation in found]


def show(text: str) -> None:
    """Prints a text set in."""
    print(textwrap.indent(text, "    "), flush=True)


def score_completions(generator: TextGenerator, pairs: TextPairs) -> dict[str, int]:
    """How many of the first prompts go on with exactly the right completion."""
    asked = list(islice(pairs, MOST_PROMPTS))
    with waiting("Completing prompts"):
        found = generator([prompt for prompt, _ in asked])
    right = sum(
        text.strip() == completion.strip()
        for text, (_, completion) in zip(found, asked, strict=True)
    )
    print(f"Completions: {right} of {len(asked)} are exactly right", flush=True)
    return {"right": right, "asked": len(asked)}
