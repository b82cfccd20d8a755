"""A micro-batch is a run of kind `profile_updates`: pin, scope, retrieve, rounds, publish, as every refresh does.

The steps before publishing are plain Python over the rules that the Spark jobs share (`jobs.rules`), since a handful of
members costs Spark seconds a query; a test holds their rows equal to the jobs'. Publishing is `publish_labels.run`
itself, so that audit, replay and rollback see these labels as any others. Every step is keyed by the run, and the run
by the batch: a batch that is taken again goes on from what is committed.
"""

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from jobs import pin_inputs
from jobs.artifact_folder import load_artifact
from jobs.errors import CeilingError, HeldError
from jobs.labeler import registry
from jobs.ledger import FAILED, PUBLISHED, append_event, event_payload
from jobs.pins import Pins
from jobs.rules.standing import PROFILE_UPDATES
from jobs.settings import Settings
from jobs.table_admin import create_missing, require
from jobs.table_reader import pins_of
from jobs.updates.batch_candidates import STEP, write_candidates
from jobs.updates.batch_ceiling import refuse_batch_above_ceiling
from jobs.updates.batch_inputs import read_profiles
from jobs.updates.batch_rounds import walk_rounds
from jobs.updates.batch_scope import counts_of, write_scope
from jobs.updates.embeddings import Embeddings
from jobs.updates.inbox import Batch
from jobs.updates.kept_scorer import KeptScorer, MakeScorer
from jobs.updates.pinned_catalog import PinnedCatalog, load_catalog
from jobs.updates.profiles_table import write_profiles
from jobs.updates.scorer import OtherArtifactError
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError
from schemas.catalog import CATALOG
from schemas.every import RUN_TABLES
from schemas.profiles import PROFILES

log = logging.getLogger(__name__)

State = Literal["published", "held", "failed", "outdated"]
Publish = Callable[[str], Mapping[str, Any]]
"""run_id -> what `publish_labels` returns."""


@dataclass(frozen=True, kw_only=True)
class BatchRun:
    """What became of a batch.

    Attributes:
        state: held: it waits for a person's approval; failed: the same again would fail again, or cost more than a
            ceiling. In both cases the members stay in scope of the next refresh. outdated: another labeler is the
            champion and what scores has no other, so the updates are for a new run to pin anew.
        seconds: by step.
    """

    run_id: str
    state: State
    seconds: Mapping[str, float]


class MicroBatches:
    """Runs batches one after the other; keeps the catalog's index, the labeler and the engine between them."""

    def __init__(self, settings: Settings, make_scorer: MakeScorer, publish: Publish) -> None:
        self._settings, self._publish = settings, publish
        self._scorer = KeptScorer(settings, make_scorer)
        self._embeddings = Embeddings(settings.tables, settings.minilm_dir)
        self._kept: dict[str, tuple[Any, Any]] = {}

    def run(self, batch: Batch) -> BatchRun:
        """Bring the labels of the batch's members up to date, and return what became of the run.

        Raises:
            EngineError, OSError and errors of Delta, Spark or MLflow: something is away; the same batch again goes on.
        """
        timed = Stopwatch()
        if self._settings.updates_write_profiles:
            timed("merge_profiles", lambda: write_profiles(self._settings.tables, batch.updates))
        params = pin_inputs.Params(kind=PROFILE_UPDATES, trigger_id=batch.batch_id)
        run_id = str(timed("pin_inputs", lambda: pin_inputs.run(self._settings, params))["run_id"])
        return BatchRun(run_id=run_id, state=self._finish(run_id, batch, timed), seconds=timed.seconds)

    def warm_up(self) -> None:
        """Load the index of the catalog, the labeler and the engine that a run would pin now; pins none.

        Raises:
            what `run` raises where something is away, and MissingRequirementError where no tables are there yet.
        """
        root = self._settings.tables
        require(root, PROFILES, CATALOG)
        create_missing(root, *RUN_TABLES)
        params = pin_inputs.Params(kind=PROFILE_UPDATES, trigger_id=f"warm-up-{uuid.uuid4()}")
        pins = pin_inputs.resolve(self._settings, params, params.trigger_id)
        artifact = self._artifact(pins)
        self._catalog(pins, artifact)
        self._scorer.of(pins, artifact)

    def close(self) -> None:
        """Let go of the scorer."""
        self._scorer.close()

    def _finish(self, run_id: str, batch: Batch, timed: "Stopwatch") -> State:
        """Do what is left of a pinned run."""
        root = self._settings.tables
        if event_payload(root, run_id, PUBLISHED) is not None:  # the worker died before it finished the batch
            return "published"
        pins = pins_of(root, run_id)
        try:
            self.prepare(pins, [update.member_id for update in batch.updates], timed)
            published = timed("publish_labels", lambda: self._publish(run_id))
        except HeldError as error:
            log.warning("%s", error)
            return "held"
        except OtherArtifactError as error:
            if self._is_champion(pins):
                raise
            return self._failed(run_id, "outdated", error)
        except (CeilingError, DataError) as error:
            return self._failed(run_id, "failed", error)
        append_event(root, run_id, "publish_labels", {**published, "seconds": timed.seconds["publish_labels"]})
        return "published"

    def _failed(self, run_id: str, state: State, error: Exception) -> State:
        log.error("run %s %s: %s", run_id, state, error)
        append_event(self._settings.tables, run_id, FAILED, {"message": str(error)})
        return state

    def _is_champion(self, pins: Pins) -> bool:
        """Whether a new run would pin the same labeler; also where nobody can tell."""
        version = registry.champion_version(self._settings)
        return version is None or (self._settings.labeler_name, version) == (pins.labeler, pins.labeler_version)

    def prepare(self, pins: Pins, member_ids: Collection[str], timed: "Stopwatch") -> None:
        """Do all of a pinned run but its publication, for some members: scope, candidates, rounds.

        Raises:
            CeilingError: the rounds may take more than a setting allows; nothing was scored.
        """
        root, record = self._settings.tables, partial(append_event, self._settings.tables, pins.run_id)
        scope = timed("scope_members", lambda: write_scope(root, pins, member_ids))
        record("scope_members", counts_of(scope) | {"seconds": timed.seconds["scope_members"]})
        here = [row["member_id"] for row in scope if row["reason"] != "member_removed"]
        if not here:
            return
        artifact = self._artifact(pins)
        catalog = timed("load_catalog", lambda: self._catalog(pins, artifact))
        profiles = read_profiles(root, pins, here)
        queries = [artifact.prompt.render_query(row.text) for row in profiles.values() if row.hash and row.text]
        with self._asking(pins, artifact, queries):
            candidates, counts = timed(STEP, lambda: write_candidates(root, pins, profiles, catalog, self._embeddings))
            record(STEP, counts | {"seconds": timed.seconds[STEP]})
            texts = {member: profiles[member].text or "" for member in candidates}
            refuse_batch_above_ceiling(self._settings, pins, artifact, texts, candidates, catalog.texts)
            score = partial(self._scorer.score, pins, artifact)
            timed(
                "rounds",
                lambda: walk_rounds(root, pins, artifact.prompt, texts, candidates, catalog.texts, score, record),
            )

    def _asking(self, pins: Pins, artifact: LabelerArtifact, queries: Sequence[str]) -> AbstractContextManager[None]:
        """See `KeptScorer.asking`; under a ceiling nothing is computed before it is known that the batch is below."""
        has_ceiling = self._settings.max_pairs is not None or self._settings.max_cost_usd is not None
        return nullcontext() if has_ceiling else self._scorer.asking(pins, artifact, queries)

    def _artifact(self, pins: Pins) -> LabelerArtifact:
        found: LabelerArtifact = self._keep("artifact", pins.artifact_folder, lambda: load_artifact(pins))
        return found

    def _catalog(self, pins: Pins, artifact: LabelerArtifact) -> PinnedCatalog:
        key = pins.catalog_delta_version, pins.retriever_id, pins.artifact_id
        found: PinnedCatalog = self._keep(
            "catalog", key, lambda: load_catalog(self._settings, pins, artifact, self._embeddings)
        )
        return found

    def _keep(self, what: str, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made for the same key, else make it; one of a kind is kept."""
        if what not in self._kept or self._kept[what][0] != key:
            self._kept.pop(what, None)  # two indexes at once may be more than the memory holds
            self._kept[what] = key, make()
        return self._kept[what][1]


class Stopwatch:
    """Calls the work of a step, and keeps how long it took, also where it failed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[[], Any]) -> Any:
        """Return what the work returns."""
        started = time.monotonic()
        try:
            return work()
        finally:
            self.seconds[step] = round(time.monotonic() - started, 3)
