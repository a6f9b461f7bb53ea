#!/usr/bin/env python3
"""Three clients that speak Flower's protocol, written from its field list with grpc and numpy alone, in a federation.

    flower_probe.py FEROMA

Starts `FEROMA server` with Feroma as its method. One client sends its profile as a .npy file, one sends the moments
that the reference implementation names, one is a plain client that knows nothing of profiles. Ends with 0 if
everything went as it must, with 77 where grpc or numpy are missing.
"""

import json
import queue
import re
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

try:
    import grpc
    import numpy as np

    from flower_wire import count, entries, fields, from_npy, parameters, part, read_config, read_parameters, to_npy, varint
except ImportError as missing:
    print(f"flower_probe: {missing} (Debian: python3-grpcio, python3-numpy): NOT tested")
    sys.exit(77)

CONFIG = """
[scenario]
dataset = "fmnist"
clients = 3
rounds = 5
seed = 1
[training]
model = "mlp"
local_epochs = 2
batch_size = 16
learning_rate = 0.05
[[algorithm]]
name = "feroma"
warmup_rounds = 2
profile.latent = "penultimate"
[server]
input = "1x4x4"
classes = 3
min_clients = 3
quorum = 1
linger_seconds = 5
"""
ROUNDS, WARMUP, CLASSES, SIDE = 5, 2, 3, 16


class Client:
    """An MLP of two hidden layers on points around three centres; `kind` says what it tells of its data."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng(seed)
        centres = np.random.default_rng(99).normal(size=(CLASSES, SIDE))
        self.kind = kind
        self.labels = rng.integers(0, CLASSES, 240)
        self.samples = (centres[self.labels] + 0.5 * rng.normal(size=(240, SIDE))).astype(np.float32)
        self.rng = rng
        self.calls = []
        self.goodbye = None
        self.accuracy = 0.0

    def forward(self, model, samples):
        first = np.maximum(samples @ model[0].T + model[1], 0)
        second = np.maximum(first @ model[2].T + model[3], 0)
        logits = second @ model[4].T + model[5]
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        return first, second, shares / shares.sum(axis=1, keepdims=True)

    def train(self, model, config):
        model = [np.array(tensor) for tensor in model]
        for _ in range(config["local_epochs"]):
            order = self.rng.permutation(200)
            for begin in range(0, 200, config["batch_size"]):
                rows = order[begin:begin + config["batch_size"]]
                samples = self.samples[rows]
                first, second, error = self.forward(model, samples)
                error[np.arange(len(rows)), self.labels[rows]] -= 1
                error /= len(rows)
                back = (error @ model[4]) * (second > 0)
                back_first = (back @ model[2]) * (first > 0)
                steps = [back_first.T @ samples, back_first.sum(0), back.T @ first, back.sum(0),
                         error.T @ second, error.sum(0)]
                for tensor, step in zip(model, steps):
                    tensor -= config["learning_rate"] * step
        return model

    def profile(self, model, config):
        assert config["feroma_latent"] == "penultimate"
        latents = self.forward(model, self.samples)[1].astype(np.float64)
        projector = from_npy(config["feroma_projector"])
        centre = from_npy(config["feroma_projector_centre"])
        assert projector.shape == (config["feroma_conditional"], latents.shape[1])
        projected = (latents - centre) @ projector.T
        shares = np.bincount(self.labels, minlength=CLASSES) / len(self.labels)
        if self.kind == "moments":
            groups = [latents[self.labels == label] for label in range(CLASSES)]
            return {"latent_space_mean": json.dumps(latents.mean(0).tolist()),
                    "latent_space_std": json.dumps(latents.std(0).tolist()),
                    "latent_space_mean_by_label": json.dumps([group.mean(0).tolist() for group in groups]),
                    "latent_space_std_by_label": json.dumps([group.std(0).tolist() for group in groups]),
                    "class_shares": json.dumps(shares.tolist())}
        blocks = [latents.mean(0), latents.std(0)]
        for label in range(CLASSES):
            group = projected[self.labels == label]
            blocks += [group.mean(0), group.std(0)]
        values = np.concatenate(blocks + [shares])
        assert len(values) == config["feroma_profile_length"]
        return {"profile": to_npy(values.astype(np.float32))}

    def fit(self, model, config):
        self.calls.append(("profile" if config["extract_descriptors"] else "fit", config["current_round"]))
        if config["extract_descriptors"] and self.kind != "plain":
            return part(4, count(3, len(self.samples)) + entries(4, self.profile(model, config)))
        trained = self.train(model, config)
        # NumPy's habits: 64 bits, and a transposed array that lies in Fortran order.
        trained[0] = np.asfortranarray(trained[0].astype(np.float64))
        return part(4, part(2, parameters(trained)) + count(3, 200) + entries(4, {"train_loss": 0.5}))

    def evaluate(self, model, config):
        self.calls.append(("evaluate", config["current_round"]))
        shares = self.forward(model, self.samples[200:])[2]
        self.accuracy = float((shares.argmax(1) == self.labels[200:]).mean())
        loss = float(-np.log(shares[np.arange(40), self.labels[200:]] + 1e-9).mean())
        return part(5, varint(2 << 3 | 5) + struct.pack("<f", loss) + count(3, 40) +
                    entries(4, {"accuracy": self.accuracy}))

    def answer(self, request):
        (number, body), = fields(request)
        if number == 1:
            self.goodbye = dict(fields(body)).get(1, 0)
            return None
        if number == 2:
            self.calls.append(("properties", 0))
            return part(2, part(1, count(1, 1) + part(2, b"not implemented")))
        content = list(fields(body))
        model = read_parameters(dict(content)[1])
        config = read_config(value for field, value in content if field == 2)
        return self.fit(model, config) if number == 4 else self.evaluate(model, config)

    def join(self, port):
        """Answers every request before the next one is read; goes when it is told to."""
        answers = queue.Queue()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            for request in channel.stream_stream("/flwr.proto.FlowerService/Join")(iter(answers.get, None)):
                answer = self.answer(request)
                answers.put(answer)
                if answer is None:
                    return


def expect(holds, text):
    if not holds:
        raise AssertionError(text)


def run(feroma, folder):
    config = folder / "federation.toml"
    config.write_text(CONFIG)
    server = subprocess.Popen([feroma, "server", config, "--insecure", "--listen", "127.0.0.1:0", "--flower-address",
                               "127.0.0.1:0", "--state", folder / "state"], stdout=subprocess.PIPE, text=True)
    try:
        lines = []
        port = None
        while port is None:
            line = server.stdout.readline()
            expect(line, "the server ended: " + "".join(lines))
            lines.append(line)
            found = re.search(r"Flower on (\d+)", line)
            port = found and int(found.group(1))
        clients = [Client("npy", 1), Client("moments", 2), Client("plain", 3)]
        threads = [threading.Thread(target=client.join, args=(port,), daemon=True) for client in clients]
        for thread in threads:
            thread.start()
        lines += server.communicate(timeout=120)[0].splitlines(keepends=True)
        for thread in threads:
            thread.join(timeout=10)
        output = "".join(lines)
        print(output, end="")
        expect(server.returncode == 0, f"the server ended with {server.returncode}")
        for client in clients:
            expect(client.goodbye == 0, f"{client.kind}: no goodbye, got {client.goodbye}")
            wanted = [("properties", 0)]
            for number in range(1, ROUNDS + 1):
                asks = number > WARMUP and (client.kind != "plain" or number == WARMUP + 1)
                wanted += [("profile", number)] if asks else []
                wanted += [("evaluate", number), ("fit", number), ("evaluate", number)]
            expect(client.calls == wanted, f"{client.kind}: was asked {client.calls}, expected {wanted}")
            expect(client.accuracy > 0.8, f"{client.kind}: an accuracy of {client.accuracy} after training")
        models = list((folder / "state" / "results" / "models").glob("*-client-*.safetensors"))
        expect(len(models) == 2, f"two clients have profiles, {len(models)} models were kept")
        expect(f"round {ROUNDS}/{ROUNDS}: 3 clients, 0 dropped" in output, "the last round was not whole")
    finally:
        if server.poll() is None:
            server.kill()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        run(sys.argv[1], Path(name))
    print("flower_probe: all as it must be")
