"""The serving benchmark: who is asked for what, latencies, and contestants that do the same."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import serving, timing
from benchmarks.peers import serving_jobs
from benchmarks.peers.serving_jobs import SEARCHING, SIGNATURES, ServingJob
from benchmarks.timing import Contestant


@pytest.fixture
def fake_library(monkeypatch):
    """Makes `fake_served_library` importable here and in the workers."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


class Worker:
    """Takes the seconds it was told, one list a turn."""

    def __init__(self, *turns):
        self.turns, self.work = list(turns), []

    def run(self, **work):
        self.work.append(work)
        return 1.0, self.turns.pop(0)


def measured(**running):
    parameters = dict.fromkeys(running, 12)
    return serving.measure("qa.n_best", 4, running, parameters, rounds=2, seconds=1, pause=0)


def test_latencies_are_of_all_requests_but_those_of_the_warm_up():
    ours = Worker([9.0], [0.1] * 98 + [0.2], [0.3])
    (row,) = measured(ours=ours)
    assert ours.work == [{"signature": "n_best", "batch_size": 4, "seconds": 1}] * 3
    assert (row.requests, row.p50, row.p99) == (100, 0.1, 0.3)
    assert (row.signature, row.batch_size, row.parameters) == ("qa.n_best", 4, 12)


def test_rates_and_ratios_are_medians_over_rounds_of_the_mean_of_a_round():
    ours, other = Worker([9.0], [0.1, 0.3], [0.4]), Worker([9.0], [0.4], [0.8])
    rows = measured(ours=ours, other=other)
    assert rows[0].rows_per_second == pytest.approx(4 / 0.3)
    assert rows[0].faster == {"ours": (1, 1, 1)}
    assert rows[1].faster["ours"] == pytest.approx((2, 2, 2))


def test_the_table_has_a_blank_where_a_contestant_of_ours_was_not_asked():
    rows = measured(ours=Worker([9], [0.1], [0.1]), ours_xla=Worker([9], [0.05], [0.05]))
    (alone,) = measured(ours=Worker([9], [0.1], [0.1]))
    table = serving.table([*rows, alone]).splitlines()
    head, _, *lines = ([c.strip() for c in line.split("|")[1:-1]] for line in table)
    assert head[-2:] == ["ours is faster by", "ours_xla is faster by"]
    assert lines[0][5:8] == ["100.0", "100.0", "40.0"]
    assert [line[-2:] for line in lines] == [
        ["1", "2.00 x (2.00 to 2.00)"],
        ["0.50 x (0.50 to 0.50)", "1"],
        ["1", ""],
    ]


def test_chosen_signatures_keep_their_order():
    assert serving.chosen_signatures(["classify.pair", "translate.serving_default"]) == {
        "translate": ("serving_default",),
        "classify": ("pair",),
    }
    assert serving.chosen_signatures(serving.NAMES) == SIGNATURES


def test_contestants_are_asked_for_what_they_can_do():
    assert serving.can("ours_xla", "generate") == ("serving_default", "generate")
    assert serving.can("ours_xla", "tag") == ()
    assert serving.can("ctranslate2_int8", "translate_beam") == ("n_best",)
    assert serving.can("ctranslate2", "embed") == ()
    assert serving.can("hugging_face", "generate") == SIGNATURES["generate"]
    for task, signatures in SEARCHING.items():
        assert set(signatures) <= set(SIGNATURES[task])


def test_a_peer_asks_for_as_long_as_it_is_told_but_at_least_twice():
    class Peer(serving_jobs.Requests):
        asked = 0

        def request(self, signature, batch_size):
            def ask():
                self.asked += 1

            return ask

    peer = Peer()
    assert len(peer.run("serving_default", 1, 0.0)) == peer.asked == 2
    latencies = peer.run("serving_default", 1, 0.02)
    assert len(latencies) == peer.asked - 2 > 2 and sum(latencies) <= 0.05


def test_the_command_runs_through(fake_library, monkeypatch, tmp_path, capsys):
    contestants = (
        Contestant("ours", "fake_served_library:Served", ()),
        Contestant("ours_xla", "fake_served_library:Quicker", ()),
        Contestant("ctranslate2", "fake_served_library:Served", ()),
    )
    monkeypatch.setattr(serving, "CONTESTANTS", contestants)
    asked = ["translate.serving_default", "qa.n_best"]
    flags = ["--quick", "--threads", "1", "--batch-sizes", "1", "8", "--signatures", *asked]
    rows = serving.main([*flags, "--json", str(tmp_path / "rows.json")])
    assert [(row.signature, row.batch_size, row.name) for row in rows] == [
        *((asked[0], size, c.name) for size in (1, 8) for c in contestants),
        *((asked[1], size, "ours") for size in (1, 8)),
    ]
    assert {row.requests for row in rows} == {4}  # two rounds of two
    assert rows[2].faster["ours_xla"].median == pytest.approx(2)
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][0]["p99"] == rows[0].p99
    assert "| qa.n_best" in capsys.readouterr().out


def test_when_the_time_is_over_nothing_more_is_begun_and_what_is_left_out_is_named(
    fake_library, monkeypatch, capsys
):
    ours = (Contestant("ours", "fake_served_library:Served", ()),)
    monkeypatch.setattr(serving, "CONTESTANTS", ours)
    ticks = iter([0.0, 0.0, 10.0, 50.0, 70.0])  # start, budget, task, first and second setting
    monkeypatch.setattr(serving.time, "perf_counter", lambda: next(ticks, 80.0))
    asked = ["--signatures", "tag.serving_default", "embed.tokens", "--batch-sizes", "1", "8"]
    rows = serving.main(["--quick", "--threads", "1", "--minutes", "1", *asked])
    assert [(row.signature, row.batch_size) for row in rows] == [("tag.serving_default", 1)]
    sentence = "The time was over before tag.serving_default, batch 8, embed: give more --minutes."
    assert sentence in capsys.readouterr().err


def test_a_command_that_could_measure_nothing_says_so(fake_library, monkeypatch):
    only = (Contestant("ctranslate2", "fake_served_library:Served", ()),)
    monkeypatch.setattr(serving, "CONTESTANTS", only)
    with pytest.raises(SystemExit, match="None of the libraries"):
        serving.main(["--quick", "--threads", "1", "--signatures", "tag.serving_default"])


# --- the work is the same for all


def job(task, **options):
    return ServingJob(task, "quick", SIGNATURES[task], 12, 24, 4, 1, **options)


def test_jobs_refuse_what_they_do_not_know_and_texts_without_room():
    with pytest.raises(ValueError, match="Unknown task 'sing': choose from translate"):
        ServingJob("sing", "quick", ())
    with pytest.raises(ValueError, match="length is 3; it must be at least 8"):
        ServingJob("tag", "quick", (), length=3)


@pytest.mark.parametrize("task", SIGNATURES)
def test_texts_have_the_tokens_that_other_libraries_get_as_ids(task):
    from benchmarks.peers import served_ours

    made = served_ours.build(job(task))
    for signature in SIGNATURES[task]:
        inputs = job(task).inputs(signature, 3)
        names = [spec.name for spec in made.signatures()[signature].input_signature]
        assert list(inputs) == names
        texts = [column for column in inputs.values() if isinstance(column[0], str)]
        tokenizer = made.source_tokenizer if "translate" in task else made.tokenizer
        unknown = 0
        tokens = np.zeros(3, int)
        for column in texts:
            ids = [tokenizer.tokenize(text.replace("[MASK]", "w0")).numpy() for text in column]
            tokens += [len(row) for row in ids]
            unknown += sum((row == tokenizer.unk_id).sum() for row in ids)
        special = {"translate": 1, "translate_beam": 1, "generate": 0}.get(task, 1 + len(texts))
        length = 24 if task == "qa" else 12
        assert (tokens + special).tolist() == [length] * 3 and unknown == 0


@pytest.mark.slow
@pytest.mark.parametrize("task", SIGNATURES)
def test_ours_answer(task):
    from benchmarks.peers import served_ours

    peers = [served_ours.Served(job(task))]
    if task in SEARCHING:
        peers.append(served_ours.CompiledServed(job(task)))
    for peer in peers:
        can = SEARCHING[task] if isinstance(peer, served_ours.CompiledServed) else SIGNATURES[task]
        for signature in can:
            assert len(peer.run(signature, 2, 0.0)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("task", SIGNATURES)
def test_hugging_face_answers_with_a_model_of_our_size(task):
    for package in ("torch", "transformers"):
        pytest.importorskip(package)
    from benchmarks.peers import served_hugging_face, served_ours

    peer = served_hugging_face.Served(job(task))
    for signature in SIGNATURES[task]:
        assert len(peer.run(signature, 2, 0.0)) == 2
    model = served_ours.build(job(task)).model
    assert peer.parameters == pytest.approx(model.count_params(), rel=0.02)


@pytest.mark.slow
def test_ctranslate2_answers_in_both_precisions():
    for package in ("torch", "transformers", "ctranslate2"):
        pytest.importorskip(package)
    from benchmarks.peers import served_ctranslate2

    for peer in (served_ctranslate2.Served, served_ctranslate2.Int8Served):
        assert len(peer(job("translate")).run("serving_default", 2, 0.0)) == 2


def test_all_contestants_exist():
    for contestant in serving.CONTESTANTS:
        module, _, name = contestant.factory.partition(":")
        path = Path(timing.__file__).parent / f"{module.removeprefix('benchmarks.')}.py".replace(
            "peers.", "peers/"
        )
        assert f"class {name}(" in path.read_text(encoding="utf-8")
