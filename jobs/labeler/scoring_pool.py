"""Scores members with labelers, in this process or spread over several with an engine each.

A pair's reference margin takes a pass of its own, too small for a second core to help: processes do. Which process
scored a member changes nothing, for each runs the same requests with the same threads.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from jobs.labeler.scoring import LabelerPrompt, LabelerScorer
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.engine_pair import load_engines
from mis_scoring.evaluation.label_cost import LabelCost
from mis_scoring.evaluation.members import EvaluationMember
from mis_scoring.evaluation.order_sensitivity import Order

LOG = logging.getLogger(__name__)
Scorers = tuple[LabelerScorer, LabelerScorer]
"""The engine's scorer and its reference's."""
_SAY_EVERY = 50  # members
_MEMBERS_AT_ONCE = 4  # sent to a process together


@dataclass(frozen=True, kw_only=True)
class ScorerSpec:
    """From what each process makes its scorers.

    Attributes:
        engine: a name, or `module:function`, as the setting of a refresh.
        threads: of each process.
        engine_options: as the setting of a refresh.
    """

    folder: Path
    contract: PromptContract
    engine: str
    threads: int
    engine_options: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Scorers:
        """Load the prompt, the engine and its reference."""
        prompt = LabelerPrompt.of(self.folder, self.contract)
        options = dict(self.engine_options)
        engine, reference = load_engines(self.engine, self.folder, threads=self.threads, options=options)
        return LabelerScorer(prompt=prompt, engine=engine), LabelerScorer(prompt=prompt, engine=reference)


class ScoringPool:
    """A context: processes end with it."""

    def __init__(self, processes: int = 1) -> None:
        self._here: dict[ScorerSpec, Scorers] = {}
        # spawned, for torch's threads do not survive a fork
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn")) if processes > 1 else None

    def __enter__(self) -> "ScoringPool":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def scorers(self, spec: ScorerSpec) -> Scorers:
        """Return this process's own scorers of a spec, made once."""
        if spec not in self._here:
            self._here[spec] = spec.make()
        return self._here[spec]

    def score(
        self,
        spec: ScorerSpec,
        members: Sequence[EvaluationMember],
        order: Order,
        *,
        what: str,
        by_reference: bool = False,
    ) -> tuple[list[FloatArray], LabelCost]:
        """Score members in an order.

        Args:
            what: named in the log.
            by_reference: by the engine's reference instead.
        Returns:
            margins, one array a member in its own candidates' order; and what it took, seconds summed over processes.
        """
        cost, found = LabelCost(), []
        for number, (margins, part) in enumerate(self._scored(spec, members, order, by_reference), start=1):
            found.append(margins)
            cost.add_all(part)
            if number % _SAY_EVERY == 0:
                LOG.info("%s: %d of %d members", what, number, len(members))
        return found, cost

    def _scored(
        self, spec: ScorerSpec, members: Sequence[EvaluationMember], order: Order, by_reference: bool
    ) -> Iterator[tuple[FloatArray, LabelCost]]:
        if self._pool is None:
            scorer = self.scorers(spec)[by_reference]
            return (scorer.in_groups(*asked, order.group_size) for asked in zip(members, order.places, strict=True))
        score = partial(_score_in_worker, spec, group_size=order.group_size, by_reference=by_reference)
        return self._pool.map(score, members, order.places, chunksize=_MEMBERS_AT_ONCE)


_worker_scorers: dict[ScorerSpec, Scorers] = {}  # of a pool's process, which ends with the pool


def _score_in_worker(
    spec: ScorerSpec, member: EvaluationMember, places: Sequence[int], *, group_size: int, by_reference: bool
) -> tuple[FloatArray, LabelCost]:
    if spec not in _worker_scorers:
        _worker_scorers[spec] = spec.make()
    return _worker_scorers[spec][by_reference].in_groups(member, places, group_size)
