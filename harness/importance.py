"""Which parameters the trials moved most by. Home of Optuna's importance evaluators, imported late."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence

from harness.config import PARAM_NAMES, Config
from harness.study import Trial, distribution_of, params_of

HOME = "optuna.importance"
FEWEST_TRIALS = 20  # the best tenth of fewer is one or two trials


def importances(trials: Sequence[Trial], config: Config) -> dict[str, float]:
    """Each searched parameter's share, summing to 1: how differently it is distributed among the best tenth of the trials.

    PED-ANOVA (Watanabe et al. 2023), as in optuna-dashboard. Only parameters that every trial drew are compared; empty with two
    objectives, fewer than FEWEST_TRIALS complete trials, or where all trials score alike.
    """
    complete = [trial for trial in trials if trial.state == "COMPLETE"]
    if len(config.objective) > 1 or len(complete) < FEWEST_TRIALS or len({t.values[0] for t in complete}) < 2:
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with _without_sklearn():
        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
    space = {name: distribution_of(name, config.search.space.get(name)) for name in PARAM_NAMES}
    study = optuna.create_study(direction="maximize")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sampler may have left the range of an older leg; values are only counted
        for trial in complete:
            drawn = {name: space[name] for name in trial.params if space.get(name) is not None}
            full = params_of(trial, config)
            params = {name: getattr(full, name) for name in drawn}
            study.add_trial(optuna.create_trial(params=params, distributions=drawn, value=trial.values[0]))  # type: ignore[arg-type]
        with contextlib.suppress(ValueError, RuntimeError):  # too few different values for its density estimate
            everywhere = [name for name in complete[0].params if all(name in trial.params for trial in complete)]
            return dict(get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(), params=everywhere))
    return {}


@contextlib.contextmanager
def _without_sklearn() -> Iterator[None]:
    """Optuna's evaluators, imported without scikit-learn, which only the others need: a sixth of a whole `tune`.

    They are forgotten again after it, so that whoever imports them later in this process gets them whole.
    """
    import optuna

    if "sklearn" in sys.modules or HOME in sys.modules:
        yield
        return
    before = vars(optuna).get("importance")
    sys.modules["sklearn"] = None  # type: ignore[assignment]  # Optuna takes it for not installed
    try:
        yield
    finally:
        del sys.modules["sklearn"]
        for name in [name for name in sys.modules if name == HOME or name.startswith(f"{HOME}.")]:
            del sys.modules[name]
        if before is not None:
            optuna.importance = before
