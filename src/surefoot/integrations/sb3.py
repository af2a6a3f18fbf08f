"""A Stable-Baselines3 callback that checks the policy every so many steps and logs interval and heat map.

callback = check_callback(problem, every=20_000, threshold="<= 0.1", folder="checks")
model.learn(200_000, callback=callback)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot.integrations.checks import Check, Checks, CheckSettings, ProblemOfNetwork


def check_callback(
    problem: ProblemOfNetwork | api.Problem,
    *,
    every: int = 10_000,
    engine: api.Engine | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    threshold: str | None = None,
    folder: str | Path | None = None,
    x: str | None = None,
    y: str | None = None,
    y_down: bool = False,
    on_critical: Callable[[Sequence[api.State]], None] | None = None,
    record: Callable[[Mapping[str, float], int], object] | None = None,
) -> Any:
    """A `BaseCallback`; its `checks.done` holds every check. The policy is asked as it acts when deployed:
    the problem says whether it takes the best output or draws. Numbers and heat map go to the model's own
    logger (TensorBoard with `tensorboard_log`), and the numbers to `record` too: `record=wandb.log`.
    """
    try:
        from stable_baselines3.common.callbacks import BaseCallback
    except ImportError:
        raise api.missing_backend("stable-baselines3", "train") from None
    settings = CheckSettings(
        problem,
        every,
        engine or api.Explicit(),
        seconds,
        seed,
        threshold,
        None if folder is None else Path(folder),
        x,
        y,
        y_down,
        on_critical,
        record,
    )

    class CheckCallback(BaseCallback):  # type: ignore[misc]
        """Checks on the way, and once more at the end if the last check was earlier."""

        def __init__(self) -> None:
            super().__init__()
            self.checks = Checks(settings)

        def _on_step(self) -> bool:
            if self.checks.due(self.num_timesteps):
                self._check()
            return True

        def _on_training_end(self) -> None:
            if self.num_timesteps > self.checks.last:
                self._check()

        def _check(self) -> None:
            _log_image(self.checks.check(self.model, self.num_timesteps, self.logger), self.logger)

    return CheckCallback()


def _log_image(found: Check, logger: Any) -> None:
    """The heat map where the logger shows pictures (TensorBoard)."""
    from stable_baselines3.common.logger import Image

    if found.figure is not None:
        picture = Image(api.render_pixels(api.draw_figure(found.figure), zoom=1), "HWC")
        logger.record("surefoot/heatmap", picture, exclude=("stdout", "log", "json", "csv"))
