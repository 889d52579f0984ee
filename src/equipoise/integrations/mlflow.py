"""MLflow: models logged as model files, with their certificates as metrics and their page.

A logged model is an equipoise model file, not a pickle: loading it runs no code from it. It can be
loaded as itself (`load_model`) and as MLflow's python function, which serves decisions.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from equipoise.files import load, save
from equipoise.files.manifest import versions
from equipoise.report import ReportContents, write_model_card, write_report

try:
    import mlflow
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri
except ImportError as error:  # pragma: no cover - said, not tested: the tests have MLflow
    raise ImportError(
        "equipoise.integrations.mlflow needs MLflow: pip install mlflow, or mlflow-skinny."
    ) from error

#: The name of this flavour in an MLmodel file, and of the model file beside it.
FLAVOR, FILE = "equipoise", "model.equipoise"


def log_model(
    model: Any,
    name: str = "model",
    *,
    report: ReportContents | None = None,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    registered_model_name: str | None = None,
) -> ModelInfo:
    """Log a fitted model to the current run, with what is known about it.

    Parameters
    ----------
    model : FairClassifier, ExponentiatedGradient, GridSearch or Frontier
        Fitted; or a scikit-learn Pipeline that ends in one of them. A Frontier is logged as well,
        but decides nothing: log ``frontier.at(eps)`` to serve it.
    name : str, default="model"
        The name of the logged model.
    report : ReportContents, optional
        From `equipoise.report.report_of`: its page and model card become artifacts of the run, and
        what was measured on test people becomes metrics.
    signature, input_example, registered_model_name : optional
        As for MLflow's own flavours.

    Returns
    -------
    mlflow.models.model.ModelInfo
        With ``model_uri``, for `load_model` and for ``mlflow.pyfunc.load_model``.

    Notes
    -----
    The run gets the numbers of the certificate as metrics ``certificate_error``,
    ``certificate_violation``, ``certificate_gap`` and so on; and as tags whether the bounds are met
    (``equipoise.bounds``), the constraint, and the fingerprint of the people learned from.
    """
    run = mlflow.active_run() or mlflow.start_run()
    info = Model.log(
        artifact_path=None,
        name=name,
        flavor=_Flavor,
        run_id=run.info.run_id,
        model=model,
        signature=signature,
        input_example=input_example,
        registered_model_name=registered_model_name,
    )
    mlflow.log_metrics(_metrics(model, report))
    mlflow.set_tags(_tags(model))
    if report is not None:
        with TemporaryDirectory() as folder:
            write_report(Path(folder, "report.html"), report)
            write_model_card(Path(folder, "model_card.md"), report)
            mlflow.log_artifacts(folder, "equipoise")
    return info


def save_model(model: Any, path: str | Path, mlflow_model: Model | None = None) -> None:
    """Write a model as a folder in MLflow's layout, without a run."""
    folder, described = Path(path), Model() if mlflow_model is None else mlflow_model
    folder.mkdir(parents=True, exist_ok=True)
    save(model, folder / FILE)
    known = versions()
    needs = [f"{name}=={known[name]}" for name in ("equipoise", "scikit-learn", "skops")]
    (folder / "requirements.txt").write_text("\n".join(needs) + "\n", encoding="utf-8")
    mlflow.pyfunc.add_to_model(described, loader_module=__name__, data=FILE)
    described.add_flavor(FLAVOR, equipoise_version=known["equipoise"], data=FILE)
    described.save(str(folder / "MLmodel"))


def load_model(model_uri: str) -> Any:
    """Return the model that was logged, as it was before."""
    return load(Path(_download_artifact_from_uri(model_uri), FILE))


class _Flavor:
    """What MLflow asks of the module of a flavour."""

    @staticmethod
    def save_model(
        path: str,
        mlflow_model: Model,
        model: Any,
        signature: ModelSignature | None = None,
        input_example: Any = None,
    ) -> None:
        if signature is not None:
            mlflow_model.signature = signature
        if input_example is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
            mlflow.models.utils._save_example(mlflow_model, input_example, str(path))
        save_model(model, path, mlflow_model)


class _Decisions:
    """A model as MLflow's python function: rows in, decisions out."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Decide for each row; ``params={"key": ...}`` says who is who, as ``predict(key=)``."""
        return self.model.predict(model_input, **(params or {}))


def _load_pyfunc(path: str) -> _Decisions:
    file = Path(path)
    return _Decisions(load(file / FILE if file.is_dir() else file))


def _metrics(model: Any, report: ReportContents | None) -> dict[str, float]:
    """Return the finite numbers of the certificate, and those measured on test people."""
    certificate = getattr(_last_step(model), "certificate_", None)
    found = {} if certificate is None else certificate.to_dict()
    names = ("error", "violation", "lower", "upper", "gap", "least_slack", "free_error", "n_calls")
    metrics: dict[str, Any] = {f"certificate_{name}": found.get(name) for name in names}
    for point in [] if report is None or report.kind == "frontier" else report.points:
        for entry in point.measured:
            metrics[f"{entry.data}_error"] = entry.error[0]
            metrics[f"{entry.data}_excess"] = entry.excess[0]
    return {name: float(value) for name, value in metrics.items() if _is_finite(value)}


def _tags(model: Any) -> dict[str, str]:
    step = _last_step(model)
    certificate = getattr(step, "certificate_", None)
    people = getattr(step, "people_", None)
    tags = {"equipoise.constraint": str(getattr(step, "constraint_", step.constraint))}
    if certificate is not None:
        tags["equipoise.bounds"] = certificate.status.value
        tags["equipoise.scope"] = certificate.scope.value
    if people is not None:
        tags["equipoise.people"] = people.digest
    return tags


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))
