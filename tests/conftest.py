"""What holds for all tests: garbage is collected in larger steps, and what is slow to make is
made once.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest

# Tracing makes hundreds of thousands of objects that stay. By default the youngest are looked
# through after each 700 of them, and all again and again: a sixth of the time of all tests.
gc.set_threshold(50_000, 5, 5)  # before TensorFlow is imported, which makes as many

# Files that use the same tasks, traced and exported: one process runs them all.
TOGETHER = {
    f"tests/{folder}/test_{name}.py": group
    for group, folder, names in (
        ("translators", "tasks", ["translator", "export"]),
        ("berts", "tasks", ["bert_tasks", "berts_elsewhere"]),
        (
            "text generators",
            "tasks",
            [
                "text_generator",
                "text_generator_beams",
                "text_generator_kinds_export",
                "text_generator_scores",
                "text_generator_texts",
            ],
        ),
        (
            "exports",
            "serving",
            [
                "client_tasks",
                "concurrency",
                "fuzz",
                "no_devices",
                "operations",
                "proof",
                "proof_program",
            ],
        ),
    )
    for name in names
}


def pytest_collection_finish() -> None:
    """What was imported stays: it is not looked at again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under `--dist loadfile` gives each process whole files, and of those above whole groups."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Scheduling(config, log)
