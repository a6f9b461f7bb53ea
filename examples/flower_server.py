"""A server of the Flower framework whose clients are ours: docs/flower.md.

    pip install 'flwr>=1.8,<1.31'
    python3 flower_server.py --clients 2 --rounds 5
    feroma client configs/federation.toml --client 0 --flower 127.0.0.1:8080      # and 1 in another terminal

The model is that of the clients' own file ([training] model): the first one that joins gives its initial weights.
"""

import argparse

import flwr


def fit_config(server_round):
    """What our clients read of a fit's config. What is left out, they take from [training] of their own file."""
    return {"current_round": server_round, "local_epochs": 1, "batch_size": 32, "learning_rate": 0.01, "momentum": 0.9}


def mean_accuracy(results):
    """Over the samples of all clients that evaluated: (samples, metrics) of each."""
    samples = sum(count for count, _ in results)
    return {"accuracy": sum(count * metrics["accuracy"] for count, metrics in results) / max(samples, 1)}


def main():
    arguments = argparse.ArgumentParser(description="Let clients of Feroma's train for a Flower server")
    arguments.add_argument("--address", default="127.0.0.1:8080")
    arguments.add_argument("--clients", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    strategy = flwr.server.strategy.FedAvg(
        min_fit_clients=options.clients, min_evaluate_clients=options.clients, min_available_clients=options.clients,
        on_fit_config_fn=fit_config, on_evaluate_config_fn=lambda server_round: {"current_round": server_round},
        evaluate_metrics_aggregation_fn=mean_accuracy)
    history = flwr.server.start_server(server_address=options.address, strategy=strategy,
                                       config=flwr.server.ServerConfig(num_rounds=options.rounds))
    for server_round, accuracy in history.metrics_distributed.get("accuracy", []):
        print(f"round {server_round}: {100 * accuracy:.2f} % on the clients' held-out samples")


if __name__ == "__main__":
    main()
