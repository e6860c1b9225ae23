"""Options of `export.py`."""

from dataclasses import dataclass, field

from bert_use import Use
from training_options import export_folder


@dataclass
class ExportOptions:
    """Export the model of a run as a SavedModel for TensorFlow Serving, with a page about it."""

    model: str | None = None
    """Folder of a run, of any task, or with --use a Hugging Face directory too."""
    use: Use | None = None
    """Take the encoder of a BERT for this, whatever the folder's own task is: to guess masked
    tokens, or for the vectors of texts and tokens."""
    export: str | None = None
    """Folder of the SavedModel, a sub-folder a version; by default one in saved_models/ with the
    name of --model, or of --use. That is what a server calls the model, too."""
    version: int | None = None
    """Number of the version; one more than the newest by default. None is overwritten."""
    signatures: list[str] | None = field(default=None, metadata={"nargs": "+"})
    """Which of the task's signatures to serve beside serving_default; by default all of them but
    alignment (of translators and question answerers), which is served where it is named only."""
    xla: bool = False
    """Add signatures whose search XLA compiles (translation, text generation), with _xla behind
    their names; the others stay as they are. A server has to have XLA switched on for them."""
    warmup: str | None = None
    """File of requests that a server is to answer before it takes others: a text a line, or
    (*.jsonl) an object of named inputs a line. Each is run here first."""
    xla_warmup: bool = False
    """Warm up the _xla signatures, too. Only a server that has XLA switched on can then load the
    version."""

    def __post_init__(self) -> None:
        if self.model is None:
            raise ValueError("--model is missing: give the folder of a run.")
        if self.export is None:
            self.export = export_folder(self.use or self.model)
        if self.xla_warmup and not (self.xla and self.warmup):
            raise ValueError("--xla-warmup goes with --xla and --warmup: give these, too.")
