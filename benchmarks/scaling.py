"""What a training step costs on several replicas or workers of one machine, beside one device.

    python benchmarks/scaling.py [--preset tiny] [--steps 20] [--json FILE]

Two cores cannot show a speed-up: the same batch is shared out, so all that is lost is overhead. See
benchmarks/README.md.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from benchmarks.peers.jobs import TrainingJob

DEVICES = ("one", "mirrored:1", "mirrored:2", "mirrored:4", "multiworker:1", "multiworker:2")


def main() -> None:
    """Runs the devices one after the other and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="tiny", help="sizes, as in train_step.py")
    parser.add_argument("--steps", type=int, default=20, help="counted steps")
    parser.add_argument("--batch-size", type=int, default=128, help="pairs of a whole batch")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here, too")
    parser.add_argument("--devices", help=argparse.SUPPRESS)  # this process is one of the workers
    flags = parser.parse_args()
    if flags.devices:
        print(json.dumps(measure(flags)))
        return
    rows = [{"devices": devices} | run(devices, sys.argv[1:]) for devices in DEVICES]
    one = rows[0]["tokens_per_second"]
    print(f"{'':15}{'tokens/s':>10}{'of one':>8}{'exchanged a step':>20}")
    for row in rows:
        rate, sent = row["tokens_per_second"], row["bytes_a_step"] / row["model_bytes"]
        print(f"{row['devices']:15}{rate:10,.0f}{rate / one:8.2f}{sent:13.2f} x model")
    if flags.json:
        flags.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def run(devices: str, arguments: list[str]) -> dict[str, float]:
    """What the first of the processes that these devices take has measured."""
    kind, _, count = devices.partition(":")
    environments = cluster(int(count)) if kind == "multiworker" else [{}]
    command = [sys.executable, __file__, *arguments, "--devices", devices]
    processes = [
        subprocess.Popen(command, env=os.environ | more, stdout=subprocess.PIPE, text=True)
        for more in environments
    ]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{devices} failed.")
    return json.loads(outputs[0].splitlines()[-1])


def cluster(count: int) -> list[dict[str, str]]:
    """The environment of each of several workers of this machine, on ports that are free."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    workers = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    tasks = [{"type": "worker", "index": index} for index in range(count)]
    return [{"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": t})} for t in tasks]


def measure(flags: argparse.Namespace) -> dict[str, float]:
    """Trains in this process."""
    from keras_transformer.training.distribution import make_strategy, wait_for_workers

    kind, _, count = flags.devices.partition(":")
    strategy = make_strategy(kind, int(count) if kind == "mirrored" else None)
    import keras

    from benchmarks.peers.ours import Training  # makes nothing of TensorFlow's before that

    job = TrainingJob(flags.preset, flags.batch_size, 32, threads=2)
    with strategy.scope():
        training = Training(job)
    marks: list[tuple[float, int]] = []  # when each step was done, and bytes sent by then

    def mark(batch: int, logs: dict) -> None:
        marks.append((time.perf_counter(), loopback_bytes()))

    # (The end of `fit` may wait for threads of tf.data, which is no part of a step.)
    training.run(3 + flags.steps, [keras.callbacks.LambdaCallback(on_train_batch_end=mark)])
    wait_for_workers(strategy)
    (begin, before), (end, after) = marks[2], marks[-1]
    return {
        "tokens_per_second": job.tokens() * flags.steps / (end - begin),
        "bytes_a_step": (after - before) / flags.steps,
        "model_bytes": 4 * training.parameters,
    }


def loopback_bytes() -> int:
    """Bytes that processes of this machine have sent each other over the network so far."""
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


if __name__ == "__main__":
    main()
