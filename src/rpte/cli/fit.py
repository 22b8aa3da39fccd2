"""`rpte fit`: from a table to a model file, and an estimate of how good it is."""

from __future__ import annotations

import logging
import shlex
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpte.cli.fit_request import CHECKER, FitRequest, Training
from rpte.cli.terminal import console, print_json, progress, say, told_in_one_line
from rpte.errors import InputError
from rpte.utils.interrupts import telling
from rpte.utils.output import write_bytes

if TYPE_CHECKING:
    from rpte.model.model import Model
    from rpte.utils.progress import Progress
    from rpte.validation.cross_validate import Estimate


def fit(**given: Any) -> None:
    """Fit a model to a table, write it, then estimate by cross-validation how good it is.

    The model is written before the estimate is begun; interrupting (Ctrl-C, exit code 130) loses
    nothing that is written. The file then keeps the estimate, too.

    Example: rpte fit loans.csv --target bad -o model.json --monotone income=decreasing
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)  # says when kernels are compiled
    request = FitRequest(**given)
    state = f"{request.output} is written and complete, only the estimate is missing"
    with telling(request.output, state), told_in_one_line():
        request.check()
        checker = (files("rpte") / "check" / CHECKER).read_bytes()
        with progress(f"reading {request.table}") as tell:
            training = request.read()
            tell(f"fitting {training.description()}")
            fitted = training.fit(lambda now: tell(_progress_text(now), now.share, 1.0))
        _say_noticed(fitted)
        if request.checker is not None:
            write_bytes(checker, request.checker)
        fitted.save(request.output)
        _finish(training, fitted, request)


# The command line reads the options of a command from its signature.
fit.__signature__ = signature(FitRequest, eval_str=True)  # type: ignore[attr-defined]


def _say_noticed(fitted: Any) -> None:
    """Say how to declare the codes that the fit warned of, and its hints."""
    if fitted.sentinels_:
        found = [f"{name}={','.join(map(str, at))}" for name, at in fitted.sentinels_.items()]
        say(f"note: as options: {' '.join(f'--special {shlex.quote(text)}' for text in found)}")
    for hint in fitted.hints_:
        say(f"hint: {hint}")


def _progress_text(now: Progress) -> str:
    """Say how far the fit is, and the validated deviance of the best model so far."""
    if now.deviance is None:
        return now.stage
    return f"{now.stage}; deviance {now.deviance:.4f}, {now.conditions} conditions"


def _finish(training: Training, fitted: Any, request: FitRequest) -> None:
    """Say what was written; then estimate, keep that in the file, and say it."""
    from rpte.model.file import to_dict
    from rpte.model.summary import counted

    model, out = fitted.model_, console()
    load = model.audit()
    if not request.as_json:
        out.print(f"Read {request.table}: {training.description()}.", soft_wrap=True)
        size = f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')} to read"
        bound = f"(bound before training: {load.bound})"
        out.print(f"Wrote {request.output}: {size} {bound}.", soft_wrap=True)
    found = _estimated(training, request)
    if found is not None:
        model = _kept(model, found, request.output)
    if request.as_json:
        record = {
            "model": str(request.output),
            "rows": len(training.y),
            "terms": load.mu,
            "conditions": load.miu,
            "bound": load.bound,
            "components": len(model.components),
            "hash": to_dict(model)["hash"],
        }
        print_json({**record, "estimate": None if found is None else found.to_dict()})
        return
    if found is not None:
        out.print(_estimate_text(found), soft_wrap=True)
    out.print(_next(request), soft_wrap=True)


def _kept(model: Model, found: Estimate, path: Path) -> Model:
    """Write the model once more with its figures; not to what is no file, as a pipe."""
    from rpte.validation.cross_validate import with_estimate

    if not path.is_file():
        return model
    complete = with_estimate(model, found)
    complete.save(path)
    return complete


def _next(request: FitRequest) -> str:
    """Say the commands that show and prove the model."""
    show = ["rpte", "show", str(request.output)]
    verify = ["rpte", "verify", str(request.output), str(request.table), "--target", request.target]
    if request.weight_column is not None:
        verify += ["--weight-column", request.weight_column]
    if request.missing is not None:
        verify += ["--missing", request.missing]
    return f"Next: {shlex.join(show)}; {shlex.join(verify)}"


def _estimated(training: Training, request: FitRequest) -> Estimate | None:
    """Return the estimate, or None where none is asked for or possible."""
    if not request.folds:
        return None
    try:
        with progress("estimating") as tell:
            return training.estimate(
                lambda number, count, share: tell(
                    f"estimating, fold {number} of {count}", number - 1 + share, count
                )
            )
    except InputError as error:
        say(f"note: no estimate: {error}")
        return None


def _estimate_text(found: Estimate) -> str:
    from rpte.model.summary import NAMES, measure_text

    record = found.record()
    head = (
        f"On rows not seen in training ({record['folds']}-fold cross-validation; the whole fit is "
        "repeated in each fold, ± is one standard error over folds; kept in the model file):"
    )
    texts = {
        name: measure_text(record[measure], 1 if measure == "miu" else 4)
        for measure, name in NAMES.items()
    }
    return "\n".join([head, *(f"  {name:<12}{text}" for name, text in texts.items())])
