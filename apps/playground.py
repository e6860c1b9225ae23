"""A page in the browser to try a model: of a run, of a SavedModel, or of a server.

What the model does decides what the page looks like: translations with what they looked at, answers
marked in their context, coloured words, guesses for a mask, labels, likeness, or texts as they are
written. The page loads nothing from elsewhere, and tells nobody about itself.
"""

import threading
from dataclasses import dataclass

import command_line
import playground_models


@dataclass
class PlaygroundOptions:
    """Try a model on a page in the browser."""

    model: str = "runs/translate"
    """Folder of a run or of a SavedModel (its newest version, or one of them), or the address of a
    server: http://HOST:8501 or https://... for REST, grpc://HOST:8500 or grpcs://... for gRPC."""
    name: str | None = None
    """What the server calls the model."""
    version: int | None = None
    """Version of the server's model; the newest by default."""
    label: str | None = None
    """Label of a version instead, such as stable."""
    timeout: float = 60.0
    """Seconds for each request to the server, with all its tries."""
    host: str = "127.0.0.1"
    """Where the page is: this machine only, or 0.0.0.0 for everyone who can reach it."""
    port: int = 7860
    """Its port; 0 for any that is free."""


def main() -> None:
    options = command_line.parse(PlaygroundOptions, __doc__)
    if not 0 <= options.port <= 65_535:
        raise ValueError(f"--port is {options.port}; it must be from 0 to 65535.")
    try:
        import playground_page
    except ImportError as error:
        if error.name != "gradio":
            raise
        raise ValueError("The page needs gradio: pip install -e '.[playground]'.") from None
    model = playground_models.open_model(
        options.model, options.name, options.version, options.label, options.timeout
    )
    page = playground_page.serve(model, options.host, options.port)
    print(f"{model.kind}, {model.where}: {page.local_url} (Ctrl-C ends it)", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    command_line.run(main)
