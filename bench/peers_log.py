"""What one scalar costs other trackers, as their own documentation logs it; run by the interpreter that has them.

python peers_log.py trackio|wandb|mlflow FOLDER   → microseconds a call, the best of several rounds
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
CALLS = {"trackio": 2000, "wandb": 2000, "mlflow": 60}


def trackio(folder: str) -> Callable[[float], None]:
    """Trackio, which keeps calls in memory and writes them from a thread."""
    os.environ["TRACKIO_DIR"] = folder
    import trackio as tracker

    tracker.init(project="bench")
    return lambda value: tracker.log({"loss": value})


def wandb(folder: str) -> Callable[[float], None]:
    """Weights & Biases without a network."""
    os.environ.update(WANDB_MODE="offline", WANDB_DIR=folder, WANDB_SILENT="true")
    import wandb as tracker

    tracker.init(project="bench")
    return lambda value: tracker.log({"loss": value})


def mlflow(folder: str) -> Callable[[float], None]:
    """MLflow straight into SQLite, without its server."""
    import mlflow as tracker

    tracker.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    tracker.set_experiment("bench")
    tracker.start_run()
    return lambda value: tracker.log_metric("loss", value)


def main() -> None:
    """Print the figure of the tracker that was named, which keeps its files in the folder that was named."""
    name, folder = sys.argv[1:]
    log = {"trackio": trackio, "wandb": wandb, "mlflow": mlflow}[name](folder)
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for number in range(CALLS[name]):
            log(number * 0.1234)
        rounds.append((time.perf_counter() - start) / CALLS[name] * 1e6)
    print(f"\nmicroseconds {min(rounds)}", flush=True)


if __name__ == "__main__":
    main()
