"""The files that a server starts with are what it reads, and fit each other and the commands."""

import inspect
import re
from pathlib import Path

import pytest
import yaml

from keras_transformer.serving import Client

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "serving"

# Fields of `BatchingParameters`, whose message no Python package has.
BATCHING_FIELDS = {
    "max_batch_size",
    "batch_timeout_micros",
    "max_enqueued_batches",
    "num_batch_threads",
    "allowed_batch_sizes",
    "pad_variable_length_inputs",
}


@pytest.fixture(scope="module")
def service():
    compose = yaml.safe_load((FOLDER / "docker-compose.yml").read_text(encoding="utf-8"))
    (service,) = compose["services"].values()
    return service


@pytest.fixture(scope="module")
def flags(service):
    pairs = (flag.removeprefix("--").split("=", 1) for flag in service["command"])
    return {name: value for name, value in pairs}


@pytest.fixture(scope="module")
def models():
    protos = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
    from google.protobuf import text_format

    text = (FOLDER / "models.config").read_text(encoding="utf-8")
    config = text_format.Parse(text, protos.ModelServerConfig())
    return {model.name: model for model in config.model_config_list.config}


def lines_of(name: str) -> str:
    """A file without its comments."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return re.sub(r"#.*", "", text)


def batching() -> dict[str, int]:
    text = lines_of("batching.config")
    found = re.findall(r"(\w+)\s*\{\s*value:\s*(\d+)\s*\}", text)
    assert not re.sub(r"(\w+)\s*\{\s*value:\s*(\d+)\s*\}", "", text).strip()  # nothing else
    assert len(dict(found)) == len(found)
    return {name: int(value) for name, value in found}


def test_the_image_is_pinned_to_a_version_of_our_tensorflow(service):
    image = re.fullmatch(
        r"tensorflow/serving:\$\{TENSORFLOW_SERVING_VERSION:-(\d+\.\d+)\.\d+\}", service["image"]
    )
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    least, below = re.search(r'"tensorflow>=([\d.]+),<([\d.]+)"', project).groups()
    version = tuple(map(int, image[1].split(".")))
    assert tuple(map(int, least.split("."))) <= version < tuple(map(int, below.split(".")))


def test_files_are_where_the_server_looks_for_them(service, flags):
    mounts = {target: source for source, target, _ in (v.split(":") for v in service["volumes"])}
    assert mounts == {"/config": ".", "/models": "../saved_models"}
    assert all(volume.endswith(":ro") for volume in service["volumes"])
    for name, value in flags.items():
        if name.endswith("_file"):
            folder, file = value.rsplit("/", 1)
            assert folder == "/config" and (FOLDER / file).is_file(), name


def test_both_ports_are_open(service, flags):
    assert service["ports"] == ["8500:8500", "8501:8501"]
    assert flags["port"] == "8500" and flags["rest_api_port"] == "8501"


def test_xla_is_off_as_exports_need_it(flags):
    assert "xla_cpu_compilation_enabled" not in flags


def test_requests_are_merged_as_clients_send_them(flags):
    assert flags["enable_batching"] == "true"
    values = batching()
    assert values.keys() <= BATCHING_FIELDS
    most = inspect.signature(Client).parameters["batch_size"].default
    assert most <= values["max_batch_size"]
    timeout = inspect.signature(Client).parameters["timeout"].default
    assert timeout * 1000 >= int(flags["rest_api_timeout_in_ms"])
    assert values["batch_timeout_micros"] < 10_000 and values["num_batch_threads"] >= 1


@pytest.fixture
def default_exports(monkeypatch):
    """Where the training commands put SavedModels that nobody names."""
    monkeypatch.syspath_prepend(str(ROOT / "apps"))
    from bert_finetune_options import BertFinetuneOptions
    from bert_pretrain_options import BertPretrainOptions
    from gpt_train_options import GptTrainOptions
    from translate_options import TranslateTrainOptions

    fine_tuned = [BertFinetuneOptions(task=task) for task in ("classify", "tag", "qa")]
    others = [TranslateTrainOptions(), BertPretrainOptions(), GptTrainOptions()]
    return [options.export for options in [*fine_tuned, *others]]


def test_models_are_those_of_the_training_commands(models, default_exports):
    assert {Path(export).parent for export in default_exports} == {Path("saved_models")}
    assert set(models) == {*(Path(export).name for export in default_exports), "embed"}
    for name, model in models.items():
        assert model.base_path == f"/models/{name}" and model.model_platform == "tensorflow"


def test_two_versions_have_labels_and_are_both_loaded(models, flags):
    model = models["translate"]
    loaded = set(model.model_version_policy.specific.versions)
    assert len(loaded) == 2 and set(model.version_labels) == {"stable", "canary"}
    assert set(model.version_labels.values()) == loaded
    assert flags["allow_version_labels_for_unavailable_models"] == "true"
    assert int(flags["model_config_file_poll_wait_seconds"]) > 0  # else labels would never move


def test_text_files_balance_their_braces():
    """As far as it can be said without the server's messages."""
    for name in ("models.config", "batching.config", "monitoring.config"):
        text = lines_of(name)
        assert text.count("{") == text.count("}") > 0 and text.count('"') % 2 == 0
