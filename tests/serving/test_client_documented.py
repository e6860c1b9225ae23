"""The requests that the page about serving shows are such as the signatures take."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest
from serving_stub import PREDICT, Function, columns_of, value_of
from small_exports import DOCUMENTED, signatures_of

from keras_transformer.serving import Client

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
REQUESTS = re.findall(r"curl -d '([^']*)'[\s\\]*localhost:8501(/v1/\S+)", PAGE)


def request_of(body: str, path: str) -> tuple[str, str, dict]:
    """Model, signature and the document of a request."""
    request = json.loads(body)
    return PREDICT.fullmatch(path)[1], request.get("signature_name", "serving_default"), request


@pytest.mark.parametrize(("body", "path"), REQUESTS)
def test_a_request_fits_its_signature(body, path):
    model, signature, request = request_of(body, path)
    function = signatures_of(DOCUMENTED[model])[signature]
    specs = {spec.name: spec for spec in function.input_signature}
    columns = columns_of(request, Function(None, specs, {}))
    assert columns.keys() == specs.keys()
    assert len({len(values) for values in columns.values()}) == 1
    for name, values in columns.items():
        for value in values:
            value_of(value, specs[name].dtype)


def test_every_signature_of_every_task_is_shown():
    shown = {request_of(*found)[:2] for found in REQUESTS}
    exported = {
        (model, signature)
        for model, kind in DOCUMENTED.items()
        for signature in signatures_of(kind)
    }
    assert shown == exported
    assert '"instances"' in PAGE and '"inputs"' in PAGE


def test_clients_of_the_examples_have_the_methods_and_options():
    blocks = re.findall(r"^```python no-run[^\n]*\n(.*?)^```", PAGE, re.S | re.M)
    calls = [node for block in blocks for node in ast.walk(ast.parse(block))]
    calls = [node for node in calls if isinstance(node, ast.Call)]
    names = set()
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id == "Client":
            values = [ast.literal_eval(part) for part in call.args]
            options = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
            inspect.signature(Client).bind(*values, **options)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in vars(Client):
            names.add(call.func.attr)
            keywords = {word.arg: None for word in call.keywords}
            method = getattr(Client, call.func.attr)
            inspect.signature(method).bind(None, *call.args, **keywords)
    assert {"translate", "answer", "generate"} <= names


def test_all_methods_are_listed():
    table = PAGE.split("| model of a | methods |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)\(", table))
    methods = {name for name in vars(Client) if not name.startswith("_")} - {"close"}
    assert listed == methods
