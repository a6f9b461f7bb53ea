#!/usr/bin/env python3
"""A server that speaks Flower's protocol, written from its field list with grpc and numpy alone, and our client at it.

    flower_server_probe.py FEROMA

Asks `FEROMA client --flower` everything that a Flower server may ask, sends the config of examples/flower_server.py and
tensors that do not fit, lets it come again, and says goodbye. Ends with 0 if everything went as it must, with 77 where grpc or numpy are missing.
"""

import queue
import struct
import subprocess
import sys
import tempfile
import types
from concurrent import futures
from pathlib import Path

try:
    import grpc
    import numpy as np

    from flower_wire import count, entries, fields, parameters, part, read_config, read_parameters
except ImportError as missing:
    print(f"flower_server_probe: {missing} (Debian: python3-grpcio, python3-numpy): NOT tested")
    sys.exit(77)

# The example's own functions; flwr itself is no part of our tests.
sys.modules["flwr"] = types.ModuleType("flwr")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import flower_server as example

CONFIG = """
[scenario]
dataset = "fmnist"
[training]
model = "mlp"
batch_size = 16
learning_rate = 0.05
[[algorithm]]
name = "fedavg"
"""
DATASET = """
[dataset]
kind = "npy"
inputs = "x.npy"
labels = "y.npy"
shape = "1x4x4"
classes = 3
"""
SHAPES = [(200, 16), (200,), (200, 200), (200,), (3, 200), (3,)]


class Server:
    """One call at a time; the probe asks, the client at the other end answers."""

    def __init__(self):
        self.calls = queue.Queue()
        handler = grpc.stream_stream_rpc_method_handler(self.join)
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("flwr.proto.FlowerService", {"Join": handler}),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def join(self, answers, _context):
        requests, received = queue.Queue(), queue.Queue()
        self.calls.put((requests, received))
        while True:
            request = requests.get(timeout=60)
            yield request
            if request[0] == 1 << 3 | 2:  # a goodbye needs no answer
                return
            received.put(next(answers))

    def accept(self):
        self.requests, self.received = self.calls.get(timeout=60)

    def ask(self, number, body=b""):
        self.requests.put(part(number, body))
        (answered, content), = fields(self.received.get(timeout=60))
        expect(answered == number, f"request {number} was answered with {answered}")
        return list(fields(content))

    def goodbye(self, seconds):
        self.requests.put(part(1, count(1, seconds)))


def expect(holds, text):
    if not holds:
        raise AssertionError(text)


def status_of(answer):
    status = dict(fields(dict(answer).get(1, b"")))
    return status.get(1, 0), status.get(2, b"").decode()


def run(feroma, folder):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 300)
    centres = rng.normal(size=(3, 16))
    data = folder / "data"
    data.mkdir()
    np.save(data / "x.npy", (centres[labels] + 0.5 * rng.normal(size=(300, 16))).astype(np.float32))
    np.save(data / "y.npy", labels)
    (data / "dataset.toml").write_text(DATASET)
    (folder / "client.toml").write_text(CONFIG)
    private = subprocess.run([feroma, "client", folder / "client.toml", "--data", data, "--state", folder / "private",
                              "--set", "privacy.mode=paper", "--flower", "127.0.0.1:1"],
                             capture_output=True, text=True, timeout=60)
    expect(private.returncode == 2 and "privacy.mode must be off" in private.stderr,
           f"a client that asks for privacy: {private.returncode}, {private.stderr}")
    server = Server()
    client = subprocess.Popen([feroma, "client", folder / "client.toml", "--data", data, "--client", "3", "--state",
                               folder / "state", "--flower", f"127.0.0.1:{server.port}"])
    try:
        server.accept()
        properties = read_config(value for number, value in server.ask(2) if number == 2)
        expect(properties["cid"] == 3, f"the client calls itself {properties}")
        model = read_parameters(dict(server.ask(3))[2])
        expect([tensor.shape for tensor in model] == SHAPES, f"shapes {[tensor.shape for tensor in model]}")

        def evaluate(tensors):
            answer = server.ask(5, part(1, parameters(tensors)))
            expect(status_of(answer) == (0, ""), f"evaluate: {status_of(answer)}")
            expect(dict(answer)[3] == 60, "a fifth of the samples is held out")
            metrics = read_config(value for number, value in answer if number == 4)
            return struct.unpack("<f", dict(answer)[2])[0], metrics["accuracy"]

        loss, accuracy = evaluate(model)
        expect(loss > 0.5 and accuracy < 0.7, f"untrained: loss {loss}, accuracy {accuracy}")
        for number in range(1, 4):
            # NumPy's habits: 64 bits, and a transposed array that lies in Fortran order.
            model[0] = np.asfortranarray(model[0].astype(np.float64))
            config = entries(2, {"server_round": number, "local_epochs": 2, "learning_rate": 0.05, "unknown": b"\x00"})
            answer = server.ask(4, part(1, parameters(model)) + config)
            expect(status_of(answer) == (0, ""), f"fit: {status_of(answer)}")
            expect(dict(answer)[3] == 240, f"{dict(answer)[3]} examples")
            model = read_parameters(dict(answer)[2])
        answer = server.ask(4, part(1, parameters(model)) + entries(2, example.fit_config(4)))
        expect(status_of(answer) == (0, ""), f"a fit as in the example: {status_of(answer)}")
        model = read_parameters(dict(answer)[2])
        loss, accuracy = evaluate(model)
        mean = example.mean_accuracy([(60, {"accuracy": accuracy}), (0, {"accuracy": 0.0})])["accuracy"]
        expect(abs(mean - accuracy) < 1e-9, f"the example's mean of one client's accuracy {accuracy} is {mean}")
        expect(loss < 0.5 and accuracy > 0.8, f"trained: loss {loss}, accuracy {accuracy}")

        wrong = [model[0].T] + model[1:]
        code, text = status_of(server.ask(4, part(1, parameters(wrong))))
        expect(code == 3 and "must be 200x16, got 16x200" in text, f"wrong shape: {code}, {text}")
        code, text = status_of(server.ask(5, part(1, parameters(model[:-1]))))
        expect(code == 4 and "has 6 tensors, got 5" in text, f"too few tensors: {code}, {text}")
        code, text = status_of(server.ask(4, part(1, parameters(model)) + entries(2, {"learning_rate": -1.0})))
        expect(code == 3 and "learning_rate must be" in text, f"learning rate: {code}, {text}")

        server.goodbye(1)
        server.accept()
        expect(evaluate(model)[1] == accuracy, "the client came again with other data")
        server.goodbye(0)
        expect(client.wait(timeout=30) == 0, f"the client ended with {client.returncode}")
    finally:
        if client.poll() is None:
            client.kill()
        server.server.stop(0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        run(sys.argv[1], Path(name))
    print("flower_server_probe: all as it must be")
