"""The attention page holds what it shows, whole and right, and asks for nothing else."""

import base64
import json
import re
import sys
import tomllib
import zlib
from importlib.resources import files

import attention as app
import command_line
import numpy as np
import pytest
import small_berts
import small_generators
from inspection import made_up_attention as made_up

from keras_transformer.checkpoints import save_byte_level_bpe, save_huggingface
from keras_transformer.inspection import (
    Token,
    attention_of,
    attention_page,
    write_attention_page,
)
from keras_transformer.inspection.attention_page import packed_weights
from keras_transformer.layers import capture_attention

TRANSLATION = made_up.translation(["这", "是", "苹果"], ["␣This", "␣</script><b>is</b>", "␣an"])


def data_of(page: str) -> dict:
    (data,) = re.findall(
        r'<script type="application/json" id="attention-data">(.*?)</script>', page
    )
    return json.loads(data)


def unpacked(part: dict) -> np.ndarray:
    """As the page does it."""
    dtype = "<u2" if part["levels"] > 255 else "u1"
    codes = np.frombuffer(zlib.decompress(base64.b64decode(part["data"])), dtype)
    shape = part["layers"], part["heads"], len(part["queries"]), len(part["keys"])
    return ((codes / part["levels"]) ** part["power"]).reshape(shape)


def test_a_page_holds_tokens_and_weights():
    data = data_of(attention_page([TRANSLATION], "A title"))
    (text,) = data["texts"]
    assert data["title"] == "A title" and text["written"] == "This </script><b>is</b> an"
    for part, whole in zip(text["maps"], TRANSLATION.maps.values(), strict=True):
        assert [Token(*token) for token in part["keys"]] == whole.keys
        np.testing.assert_allclose(unpacked(part), whole.weights, atol=1e-5)
        assert not unpacked(part)[whole.weights == 0].any()


def test_large_maps_take_one_byte_a_weight():
    part = made_up.weights(1, 2, 60, 60)
    small, large = packed_weights(part), packed_weights(part, large=True)
    assert len(large["data"]) < len(small["data"])
    shape = {"layers": 1, "heads": 2, "queries": range(60), "keys": range(60)}
    np.testing.assert_allclose(unpacked(large | shape), part, atol=4e-3)
    assert np.abs(unpacked(large | shape) - part)[part < 0.01].max() < 4e-4


def test_nothing_of_a_page_lies_elsewhere():
    page = attention_page([TRANSLATION], "<script>alert(1)</script>")
    assert "http" not in page and "@import" not in page and "url(" not in page
    assert not re.search(r"""\s(src|href)=""", page)
    assert "<b>is</b>" not in page  # no token is HTML
    assert "<script>alert" not in page


def test_a_page_is_written_as_a_whole(tmp_path):
    path = tmp_path / "new" / "page.html"
    write_attention_page(path, [TRANSLATION])
    assert path.read_text("utf-8") == attention_page([TRANSLATION])
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]
    with pytest.raises(ValueError, match="no text"):
        write_attention_page(path, [])


def test_the_templates_are_installed_with_the_package():
    root = files("keras_transformer").parent
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["keras_transformer.inspection"]
    folder = root / "keras_transformer" / "inspection"
    templates = set((folder / "templates").iterdir())
    assert len(templates) >= 9
    assert templates <= {file for pattern in patterns for file in folder.glob(pattern)}


def run(monkeypatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["attention.py", *arguments])
    command_line.run(app.main)


def test_the_command_shows_a_run(tmp_path, monkeypatch, capsys):
    small_berts.make("answerer").save(tmp_path / "qa")
    page = tmp_path / "page.html"
    given = ["--model", str(tmp_path / "qa"), "--output", str(page), "--text", "who lives?"]
    context = "the dog lives in London. " * 5
    run(monkeypatch, *given, "--text-pair", context, "--window", "1")
    said = capsys.readouterr()
    assert "page.html" in said.out and "Window 1 of 2 is shown of 'who lives?'" in said.err
    data = data_of(page.read_text("utf-8"))
    assert data["title"] == "Attention of qa" and data["texts"][0]["pair"] == context
    with pytest.raises(SystemExit, match="QuestionAnswerer, which takes no --seed"):
        run(monkeypatch, *given, "--text-pair", context, "--seed", "1")
    with pytest.raises(SystemExit, match="QuestionAnswerer, which does not translate"):
        run(monkeypatch, *given, "--text-pair", context, "--translate")
    with pytest.raises(SystemExit, match="as many --text-pair as --text, not 1 and 2"):
        run(monkeypatch, *given, "--text", "a", "--text-pair", context)
    with pytest.raises(SystemExit, match="at least one text"):
        run(monkeypatch, *given[:4])


def test_the_command_shows_a_prompt_of_two_texts(tmp_path, monkeypatch):
    small_generators.generator("characters").save(tmp_path / "gpt")
    page = tmp_path / "page.html"
    given = ["--model", str(tmp_path / "gpt"), "--output", str(page), "--max-new-tokens", "0"]
    run(monkeypatch, *given, "--text", "a cat", "--text", "a dog")
    texts = data_of(page.read_text("utf-8"))["texts"]
    assert [text["text"] for text in texts] == ["a cat", "a dog"]
    assert [token[0] for token in texts[1]["maps"][0]["keys"]] == ["</s>", *"a␣dog"]


def test_a_hugging_face_directory_of_bert_needs_no_head(tmp_path):
    bert = small_berts.make("embedder").model.bert
    save_huggingface(bert, tmp_path)
    (tmp_path / "vocab.txt").write_text("".join(f"{t}\n" for t in small_berts.VOCABULARY), "utf-8")
    task = app.open_task(str(tmp_path), app.around_bert)
    (shown,) = attention_of(task, ["the [MASK] runs"], ["a dog"])
    part = shown.maps["encoder"]
    assert [token.text for token in part.keys][:4] == ["[CLS]", "the", "[MASK]", "runs"]
    ids = [task.tokenizer.token_to_id(token.text) for token in part.keys]
    with capture_attention() as weights:
        parts = np.array([[token.part for token in part.keys]])
        bert({"token_ids": np.array([ids]), "segment_ids": parts})
    np.testing.assert_allclose(part.weights, [w[0] for w in weights.values()], atol=1e-6)


def test_a_hugging_face_directory_of_gpt2_goes_on_from_prompts(tmp_path):
    generator = small_generators.generator("byte_pairs")
    save_huggingface(generator.model, tmp_path)
    save_byte_level_bpe(generator.tokenizer, tmp_path)
    task = app.open_task(str(tmp_path), app.around_bert)
    (shown,), (same,) = (attention_of(t, ["a cat"], max_new_tokens=0) for t in (task, generator))
    found, expected = shown.maps["decoder"], same.maps["decoder"]
    assert found.queries == expected.queries and found.queries[0].text == "<|endoftext|>"
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
