"""Exports the model of a run for TensorFlow Serving: any task, text in and text out.

A BERT that was pretrained only, of a run or a Hugging Face directory, is exported by --use.
"""

import command_line
import pretrained
from bert_use import used_as
from export_options import ExportOptions
from waiting import waiting

from keras_transformer.serving import export_for_serving
from keras_transformer.serving.saved_signatures import saved_signatures
from keras_transformer.serving.signature_page import PAGE_FILE
from keras_transformer.serving.warmup import count_warmup
from keras_transformer.tasks import Task


def main() -> None:
    options = command_line.parse(ExportOptions, __doc__)
    if options.use is None and not pretrained.is_run(options.model):
        raise ValueError(
            f"{options.model} is a Hugging Face directory, which says nothing of a task: say by "
            "--use what a BERT is for, train from it (--init), or load it by "
            "keras_transformer.checkpoints and save a task."
        )
    with waiting(f"Exporting {options.model}"):
        task = used_as(options.model, options.use) if options.use else Task.load(options.model)
        exported = export_for_serving(
            task,
            options.export,
            options.version,
            signatures=options.signatures,
            xla=options.xla,
            warmup=options.warmup,
            xla_warmup=options.xla_warmup,
            run=options.model,
        )
    signatures = saved_signatures(exported)
    print(f"{type(task).__name__}: {', '.join(signature.name for signature in signatures)}")
    if options.warmup:
        print(f"Warm-up: {count_warmup(exported):,} records", end="")
        cold = [s.name for s in signatures if s.is_compiled and not options.xla_warmup]
        print(f"; none for {', '.join(cold)} (--xla-warmup)" if cold else "")
    print(f"How it is asked: {exported / PAGE_FILE}\nSavedModel: {exported}")


if __name__ == "__main__":
    command_line.run(main)
