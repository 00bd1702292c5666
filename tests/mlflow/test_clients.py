"""Real clients of MLflow 3 and 2, unchanged scripts: what they log is the run's, and what they ask is answered."""

import json
import os
from collections import Counter

import pytest

from jig.runner.folder import Home
from tests.mlflow.speaking import logged

CORE = """
import os, warnings
warnings.simplefilter("ignore")
import mlflow
from mlflow.entities import Metric, Param, RunTag

major = int(mlflow.__version__.split(".")[0])
client = mlflow.MlflowClient()
mlflow.set_experiment("tuning")
with mlflow.start_run(run_name="first") as run:
    own = run.info.run_id
    assert own == os.environ["JIG_RUN_ID"], own
    mlflow.log_param("lr", 0.1)
    mlflow.log_params({"depth": 3, "kind": "tree"})
    for step in range(3):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
    mlflow.log_metrics({"x": 1, "bad": float("nan"), "huge": float("inf")}, step=7)
    client.log_batch(own, [Metric("many", i, 1700000000000 + i, i) for i in range(1000)], [Param("batch", "yes")],
                     [RunTag("from", "batch")])
    mlflow.set_tag("team", "a")
    mlflow.set_tags({"one": "1", "two": "2"})
    mlflow.delete_tag("two")
    try:
        mlflow.log_param("lr", 0.2)
    except mlflow.MlflowException as error:
        assert error.error_code == "INVALID_PARAMETER_VALUE" and "Changing param values is not allowed" in str(error)
    else:
        raise AssertionError("a parameter was changed")
    mlflow.log_metric("later", 5, step=1, synchronous=False)
    mlflow.flush_async_logging()

    mlflow.log_text("hello", "notes/a.txt")
    mlflow.log_dict({"a": 1}, "d.json")
    with open("f.bin", "wb") as file:
        file.write(b"bytes")
    mlflow.log_artifact("f.bin")
    mlflow.log_artifacts("outputs/notes", "copy")
    mlflow.log_table({"q": [1, 2]}, "table.json")
    mlflow.log_table({"q": [3]}, "table.json")
    assert list(mlflow.load_table("table.json", run_ids=[own])["q"]) == [1, 2, 3]
    assert mlflow.artifacts.load_text("runs:/%s/notes/a.txt" % own) == "hello"
    names = sorted(one.path for one in client.list_artifacts(own))
    assert names == ["copy", "d.json", "f.bin", "notes", "table.json"], names

    for name in ("left", "right"):
        with mlflow.start_run(nested=True, run_name=name) as kid:
            mlflow.log_param("side", name)
            mlflow.log_metric("score", {"left": 1, "right": 2}[name])
            mlflow.log_text(name, "side.txt")
    assert kid.info.run_id == own + "-2"
    assert client.get_run(kid.info.run_id).data.tags["mlflow.parentRunId"] == own

    found = client.get_run(own)
    assert found.data.params == {"lr": "0.1", "depth": "3", "kind": "tree", "batch": "yes"}
    assert found.data.metrics["loss"] == 1 / 3 and found.data.metrics["many"] == 999.0
    assert found.data.metrics["bad"] != found.data.metrics["bad"] and found.data.metrics["huge"] == float("inf")
    assert found.data.tags["team"] == "a" and "two" not in found.data.tags
    history = client.get_metric_history(own, "loss")
    assert [(point.step, point.value) for point in history] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert len(client.get_metric_history(own, "many")) == 1000
    best = mlflow.search_runs(filter_string="metrics.score > 0", order_by=["metrics.score DESC"])
    assert list(best["run_id"]) == [own + "-2", own + "-1"] and list(best["params.side"]) == ["right", "left"]
    assert len(mlflow.search_runs(search_all_experiments=True, filter_string="params.kind = 'tree'")) == 1
    kids = client.search_runs([run.info.experiment_id], "tags.mlflow.parentRunId = '%s'" % own, max_results=1)
    assert len(kids) == 1 and kids.token
    assert len(client.search_runs([run.info.experiment_id], "tags.mlflow.parentRunId = '%s'" % own, max_results=1,
                                  page_token=kids.token)) == 1
    client.delete_run(own + "-1")
    assert len(mlflow.search_runs(filter_string="metrics.score > 0")) == 1
    client.restore_run(own + "-1")
    client.set_terminated(own + "-1", "FAILED")
    assert client.get_run(own + "-1").info.status == "FAILED"
    data = mlflow.data.from_numpy(__import__("numpy").zeros((2, 2)), name="zeros")
    mlflow.log_input(data, context="training")
    assert client.get_run(own).inputs.dataset_inputs[0].dataset.name == "zeros"
assert client.get_run(own).info.status == "FINISHED"
assert mlflow.get_experiment_by_name("tuning").experiment_id == run.info.experiment_id
assert mlflow.get_experiment_by_name("none") is None
assert sorted(one.name for one in mlflow.search_experiments()) == ["Default", "tuning"]
number = mlflow.create_experiment("other", tags={"a": "b"})
assert mlflow.get_experiment(number).tags == {"a": "b"}
mlflow.delete_experiment(number)
try:
    client.create_registered_model("best")
except mlflow.MlflowException as error:
    assert error.error_code == "ENDPOINT_NOT_FOUND" and "jig history promote" in str(error), error
else:
    raise AssertionError("a registry was found")
print("all is well, MLflow", major)
"""
PICTURES = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt, mlflow, numpy as np
from PIL import Image
with mlflow.start_run():
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    mlflow.log_figure(figure, "plots/curve.png")
    mlflow.log_image(np.zeros((4, 4, 3), dtype=np.uint8), "black.png")
    mlflow.log_image(Image.new("RGB", (4, 4)), key="seen", step=3)
"""
MODELS = """
import os, warnings
warnings.simplefilter("ignore")
import mlflow, numpy as np
from sklearn.linear_model import LogisticRegression

x = np.random.RandomState(0).rand(40, 3)
y = (x[:, 0] > 0.5).astype(int)
fitted = LogisticRegression().fit(x, y)
major = int(mlflow.__version__.split(".")[0])
with mlflow.start_run() as run:
    for step in range(3):
        mlflow.log_metric("loss", 1.0 / (step + 1), step=step)
    if major == 2:
        info = mlflow.sklearn.log_model(fitted, "mine", pip_requirements=["scikit-learn"])
    else:
        info = mlflow.sklearn.log_model(fitted, name="mine", pip_requirements=["scikit-learn"], params={"k": "v"},
                                        serialization_format="cloudpickle", tags={"a": "b"})
for address in (info.model_uri, "runs:/%s/mine" % run.info.run_id):
    assert list(mlflow.sklearn.load_model(address).predict(x)) == list(fitted.predict(x)), address
if major > 2:
    model = mlflow.get_logged_model(info.model_id)
    assert (model.name, str(model.status.value), model.params["k"], model.tags["a"]) == ("mine", "READY", "v", "b")
    mlflow.set_logged_model_tags(info.model_id, {"c": "d"})
    mlflow.delete_logged_model_tag(info.model_id, "a")
    mlflow.log_metric("accuracy", 0.75, model_id=info.model_id, step=2)
    model = mlflow.get_logged_model(info.model_id)
    assert "a" not in model.tags and model.tags["c"] == "d"
    assert [(one.key, one.value, one.step) for one in model.metrics] == [("accuracy", 0.75, 2), ("loss", 1.0, 0)]
    (found,) = mlflow.search_logged_models(filter_string="params.k = 'v' AND metrics.accuracy > 0.5",
                                           order_by=[{"field_name": "metrics.accuracy", "ascending": False}],
                                           output_format="list")
    assert found.model_id == info.model_id
    (out,) = mlflow.MlflowClient().get_run(run.info.run_id).outputs.model_outputs
    assert out.model_id == info.model_id
print("all is well, MLflow", major)
"""
AUTOLOG = """
import os, warnings
warnings.simplefilter("ignore")
import mlflow, numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

mlflow.sklearn.autolog(log_models=False, silent=True)
x = np.random.RandomState(0).rand(40, 3)
y = (x[:, 0] > 0.5).astype(int)
LogisticRegression(C=2.0).fit(x, y).score(x, y)
GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(x, y)
"""
LIGHTNING = """
import os, warnings
warnings.simplefilter("ignore")
import torch, pytorch_lightning as lightning
from pytorch_lightning.loggers import MLFlowLogger

class Module(lightning.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, index):
        loss = (self.layer(batch[0]) ** 2).mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.lr)

if __name__ == "__main__":
    rows = torch.utils.data.TensorDataset(torch.ones(8, 2))
    logger = MLFlowLogger(experiment_name="lit", tracking_uri=os.environ["MLFLOW_TRACKING_URI"], log_model=True)
    trainer = lightning.Trainer(max_epochs=2, logger=logger, accelerator="cpu", enable_progress_bar=False,
                                log_every_n_steps=1, enable_model_summary=False)
    trainer.fit(Module(lr=0.1), torch.utils.data.DataLoader(rows, batch_size=2, num_workers=1))
    assert logger.run_id == os.environ["JIG_RUN_ID"]
"""


@pytest.fixture(params=["mlflow3", "mlflow2"])
def python(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def submit(project, cli, jig_home):
    """submit(python, code) → the run's folder, after it has ended well."""

    def call(python: str, code: str):
        project.write("aml_config/local.compute", f"type: local\npythonLocation: {python}\n")
        project.write("a.py", code)
        said = cli("submit", "-c", "local", "a.py")
        assert said.code == 0, said.out + said.err
        return Home(str(jig_home)).run(said.run_id)

    return call


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def files(folder) -> "set[str]":
    """What is in outputs/."""
    top = folder.outputs
    return {os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top) for name in names}


def test_what_a_script_logs_and_asks(submit, python):
    folder = submit(python, CORE)
    assert "all is well, MLflow" in read(folder.log)
    lines = logged(read(folder.metrics))
    own = [line for line in lines if "run" not in line]
    points = Counter(name for line in own for name in line.get("values", {}))
    assert points == {"loss": 3, "many": 1000, "x": 1, "bad": 1, "huge": 1, "later": 1}
    assert {key: value for line in own for key, value in line.get("params", {}).items()} == {
        "lr": 0.1, "depth": 3, "kind": "tree", "batch": "yes"}  # fmt: skip
    assert [line["values"]["score"] for line in lines if "run" in line and "values" in line] == [1.0, 2.0]
    assert files(folder) == {"notes/a.txt", "d.json", "f.bin", "copy/a.txt", "table.json", "nested/1/side.txt",
                             "nested/2/side.txt"}  # fmt: skip


def test_pictures(submit, mlflow3):
    folder = submit(mlflow3, PICTURES)
    found = files(folder)
    assert {"plots/curve.png", "black.png"} <= found
    assert [name for name in found if name.startswith("images/seen") and name.endswith(".png")]


def test_models(submit, python):
    folder = submit(python, MODELS)
    assert "all is well, MLflow" in read(folder.log)
    assert {"mine/MLmodel", "mine/model.pkl"} <= files(folder)
    losses = [line["values"]["loss"] for line in logged(read(folder.metrics)) if "loss" in line.get("values", {})]
    assert losses == [1.0, 0.5, 1 / 3], "MLflow 3 sends what a model is logged with again, and that is no point"


def test_autologging_of_scikit_learn(submit, python):
    folder = submit(python, AUTOLOG)
    lines = [json.loads(line) for line in read(folder.metrics).splitlines()]
    own = {key: value for line in lines if "run" not in line for key, value in line.get("params", {}).items()}
    assert (own["C"], own["max_iter"]) == (2.0, 100)
    values = {key for line in lines if "run" not in line for key in line.get("values", {})}
    assert {"training_score", "training_accuracy_score", "LogisticRegression_score_x"} <= values
    parents = {line["run"]: line["parent"] for line in lines if "parent" in line}
    assert parents == {"1": "", "2": "1", "3": "1"}
    scores = {line["run"] for line in lines if "mean_test_score" in line.get("values", {})}
    assert scores == {"2", "3"}
    statuses = {line["run"]: line["status"] for line in lines if "run" in line and "status" in line}
    assert statuses == {"1": "FINISHED", "2": "FINISHED", "3": "FINISHED"}


@pytest.mark.timeout(900)  # PyTorch is installed for it, once
def test_the_logger_of_lightning(submit, lightning):
    folder = submit(lightning, LIGHTNING)
    lines = logged(read(folder.metrics))
    assert [line["step"] for line in lines if "loss" in line.get("values", {})] == list(range(8))
    assert {"params": {"lr": 0.1}} in lines
    assert any(name.endswith(".ckpt") for name in files(folder))
