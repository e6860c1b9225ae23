"""The page around a model's view, and the small server that shows it."""

import os
import socket
from html import escape

# Read when gradio is imported: it tells its makers nothing, and asks them for no newer version.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

import gradio
from playground_models import Model
from playground_views import STYLE, VIEWS

# Those of the system: none is loaded.
FONTS = {
    "font": [gradio.themes.Font(name) for name in ("system-ui", "sans-serif")],
    "font_mono": [gradio.themes.Font(name) for name in ("ui-monospace", "monospace")],
}


def page(model: Model) -> gradio.Blocks:
    """The page that fits what the model does."""
    title, view = VIEWS[model.kind]
    with gradio.Blocks(title=title, analytics_enabled=False) as blocks:
        gradio.HTML(f"<h1>{escape(title)}</h1><p class='note'>{escape(model.where)}</p>")
        view(model)
    return blocks


def serve(model: Model, host: str, port: int) -> gradio.Blocks:
    """Shows the page in threads of its own, at its `local_url`, until its `close` is called.

    Args:
        model: what is asked.
        host: of this machine, by its name or address.
        port: 0 for one that is free.

    Raises:
        OSError: when the port is taken, or the host none of this machine.
    """
    port = free_port(host, port)
    ask_without_proxy(host, "localhost", "127.0.0.1")
    blocks = page(model)
    blocks.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        ssr_mode=False,  # needs Node
        footer_links=[],
        theme=gradio.themes.Soft(primary_hue="indigo", neutral_hue="slate", **FONTS),
        css=STYLE,
    )
    return blocks


def ask_without_proxy(*hosts: str) -> None:
    """Has hosts asked directly: gradio asks its own page whether it is there, and would ask a proxy
    of the environment for it."""
    names = ("no_proxy", "NO_PROXY")  # where both are set, the first counts
    known = [host for name in names for host in os.environ.get(name, "").split(",")]
    os.environ.update(dict.fromkeys(names, ",".join(dict.fromkeys(filter(None, [*known, *hosts])))))


def free_port(host: str, port: int) -> int:
    """The port itself when nobody has it, or any such port for 0."""
    try:
        with socket.create_server((host, port)) as listener:
            return listener.getsockname()[1]
    except OSError as error:
        raise OSError(f"The page cannot be at {host}, port {port}: {error.strerror}.") from None
