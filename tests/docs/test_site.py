"""The pages as a site; needs the extra [docs]."""

import re
import subprocess
import sys

import doc_pages as pages
import pytest

pytest.importorskip("mkdocs", reason="needs the extra [docs]")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=pages.ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_docstrings_are_pages_with_their_examples_as_code(site):
    page = (site / "api" / "layers" / "index.html").read_text("utf-8")
    assert 'id="keras_transformer.layers.TokenEmbedding"' in page
    text = re.sub(r"<[^>]+>", "", page)
    assert "&gt;&gt;&gt; embedding = TokenEmbedding(vocab_size=10, hidden_size=4)" in text
    assert "<blockquote>" not in page  # what Markdown makes of >>>


def test_links_to_lines_lead_to_these_lines(site):
    page = (site / "transformer_in_code" / "index.html").read_text("utf-8")
    links = re.findall(r'href="\.\./(files/[^"#]+)#(__codelineno-0-\d+)"[^>]*><code>([\w.]+)', page)
    assert len(links) > 30
    for path, anchor, name in links:
        file = (site / path / "index.html").read_text("utf-8")
        line = file.split(f'id="{anchor}"')[1].split("\n")[0]
        assert name.split(".")[-1] in re.sub(r"<[^>]+>", "", line), f"{path}{anchor}: {name}"


def test_blocks_of_code_are_blocks_whatever_tests_do_with_them(site):
    for page in ("first_hour", "translation", "files/README.md"):
        text = (site / page / "index.html").read_text("utf-8")
        assert "<pre>" in text and "```" not in text and "no-run" not in text
