"""A client of the Flower framework in a federation of Feroma's: docs/flower.md.

    pip install 'flwr>=1.8,<1.31' torch
    feroma server configs/federation.toml --insecure --flower-address 127.0.0.1:8080 --set server.input=1x28x28
    python3 flower_client.py --client 0          # and 1 to 4 in other terminals

Pictures are made up; `--data visits.npz` takes your own: `x` (samples x 1 x 28 x 28, 0..1) and `y` (labels). Without
`profile` this is an ordinary NumPyClient: Feroma then gives it the mean of all models.
"""

import argparse
import io

import flwr
import numpy as np
import torch
from torch import nn


class LeNet5(nn.Module):
    """The federation's lenet5 for gray pictures of 28 x 28: its tensors, in its order and shapes."""

    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def latent(self, x):
        x = nn.functional.avg_pool2d(self.conv1(x).relu(), 2)
        return nn.functional.avg_pool2d(self.conv2(x).relu(), 2).flatten(1)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(self.latent(x)).relu()).relu())


def made_up(client, count=600):
    """Ten kinds of noisy pictures, the same for everybody, but for odd clients, who hold theirs on the side."""
    kinds = np.random.default_rng(1).random((10, 7, 7)).repeat(4, axis=1).repeat(4, axis=2)
    rng = np.random.default_rng(100 + client)
    labels = rng.integers(0, len(kinds), count)
    pictures = np.clip(kinds[labels] + 0.2 * rng.normal(size=(count, 28, 28)), 0, 1)
    return {"x": np.rot90(pictures, client % 2, axes=(1, 2))[:, None].copy(), "y": labels}


def read_array(data):
    return np.load(io.BytesIO(data), allow_pickle=False)


def profile(model, x, y, config):
    """What the data look like: moments of the encoder's latents, of their projections by class, and class shares."""
    with torch.no_grad():
        latents = model.latent(x).double().numpy()
    projected = (latents - read_array(config["feroma_projector_centre"])) @ read_array(config["feroma_projector"]).T
    blocks = [latents.mean(0), latents.std(0)] if config["feroma_marginal"] == latents.shape[1] else [
        projected.mean(0), projected.std(0)]
    shares = np.zeros(config["feroma_classes"])
    for label in range(config["feroma_classes"]):
        rows = projected[y.numpy() == label]
        enough = len(rows) >= 2  # a class needs two samples before its spread means anything
        shares[label] = len(rows) if enough else 0
        blocks += [rows.mean(0), rows.std(0)] if enough else [np.zeros(projected.shape[1])] * 2
    if config["feroma_class_shares"]:
        blocks.append(shares / max(shares.sum(), 1))
    out = io.BytesIO()
    np.save(out, np.concatenate(blocks).astype(np.float32))
    return out.getvalue()


class Client(flwr.client.NumPyClient):
    def __init__(self, cid, x, y):
        held_out = len(x) // 5
        self.cid = cid
        self.train = x[held_out:], y[held_out:]
        self.held_out = x[:held_out], y[:held_out]
        self.model = LeNet5()

    def get_properties(self, config):
        return {"cid": self.cid}

    def get_parameters(self, config):
        return [tensor.numpy() for tensor in self.model.state_dict().values()]

    def load(self, parameters):
        state = zip(self.model.state_dict().keys(), map(torch.tensor, parameters))
        self.model.load_state_dict(dict(state))

    def fit(self, parameters, config):
        self.load(parameters)
        x, y = self.train
        if config.get("extract_descriptors"):
            return parameters, len(x), {"profile": profile(self.model, x, y, config)}
        optimiser = torch.optim.SGD(self.model.parameters(), lr=config["learning_rate"], momentum=config["momentum"])
        for _ in range(config["local_epochs"]):
            for rows in torch.randperm(len(x)).split(config["batch_size"]):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
                loss.backward()
                optimiser.step()
        return self.get_parameters(config), len(x), {"train_loss": float(loss)}

    def evaluate(self, parameters, config):
        self.load(parameters)
        x, y = self.held_out
        with torch.no_grad():
            logits = self.model(x)
        loss = nn.functional.cross_entropy(logits, y)
        return float(loss), len(x), {"accuracy": float((logits.argmax(1) == y).float().mean())}


def main():
    arguments = argparse.ArgumentParser(description="Take part in a federation as a Flower client")
    arguments.add_argument("--server", default="127.0.0.1:8080")
    arguments.add_argument("--client", type=int, default=0)
    arguments.add_argument("--data", help="a .npz file with x and y; without it pictures are made up")
    arguments.add_argument("--ca", help="the federation's ca.pem; without it the connection is not encrypted")
    options = arguments.parse_args()
    data = np.load(options.data, allow_pickle=False) if options.data else made_up(options.client)
    client = Client(options.client, torch.tensor(data["x"]).float(), torch.tensor(data["y"]).long())
    certificate = open(options.ca, "rb").read() if options.ca else None
    flwr.client.start_client(server_address=options.server, client=client.to_client(), root_certificates=certificate,
                             insecure=certificate is None)


if __name__ == "__main__":
    main()
