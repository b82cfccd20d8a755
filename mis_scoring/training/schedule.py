"""What changes over a training run, as functions of its progress in [0, 1].

Progress is the larger of the share of steps and the share of time used, so that a run ends in time on any machine
and still anneals.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Learning rate (warm-up, then cosine), weight of the language-model loss, and the short-profile start."""

    max_steps: int
    max_seconds: float
    peak_learning_rate: float = 1.5e-3
    final_share: float = 0.01
    warm_up_steps: int = 200
    lm_until: float = 0.35
    short_until: float = 0.12

    def progress(self, *, step: int, elapsed_s: float) -> float:
        """Return the share of the run that is done."""
        return min(1.0, max(step / self.max_steps, elapsed_s / self.max_seconds))

    def learning_rate(self, *, step: int, progress: float) -> float:
        """Return the step's learning rate."""
        cosine = 0.5 * (1.0 + math.cos(math.pi * progress))
        share = self.final_share + (1.0 - self.final_share) * cosine
        return self.peak_learning_rate * share * min(1.0, (step + 1) / self.warm_up_steps)

    def lm_weight(self, progress: float) -> float:
        """Return the weight of the auxiliary loss: 1, falling to 0 at `lm_until`."""
        return max(0.0, 1.0 - progress / self.lm_until) if self.lm_until else 0.0

    def is_short(self, progress: float) -> bool:
        """Tell whether the run is still in its short-profile start."""
        return progress < self.short_until
