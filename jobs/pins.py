"""What a run pinned, as a value that every job can read (also one without Spark)."""

from dataclasses import dataclass

from jobs.rules.stop_sample import SampleRule
from mis_scoring.core.identity import digest

PINNED = "pinned"  # the event that holds the pins


@dataclass(frozen=True, kw_only=True)
class Pins:
    """All moving things of a run, resolved once.

    Attributes:
        catalog_version: content digest of the whole catalog; `catalog_delta_version` is where it was read.
        artifact_folder: the labeler's artifact under the staging root, its digests checked.
        pinned_at: UTC, ISO 8601. Orders the artifacts of two runs: an alias may move back to an older version. The run
            leaves out the judgments that were revoked by then.
        generation: of the judgments that the run makes; it reuses none of an older one. 0, unless it recomputes.
        rolls_back: the run that a rollback undoes, else empty; `is_forced`: also where a newer run has published since.
        stop_sample_share, stop_sample_at_least, stop_sample_from: see `SampleRule`; a run that was pinned before there
            was a sample has none.
    """

    run_id: str
    kind: str
    trigger_id: str
    pinned_at: str
    profiles_delta_version: int
    catalog_delta_version: int
    catalog_version: str
    labeler: str
    labeler_version: str
    artifact_id: str
    scorer_id: str
    artifact_folder: str
    threshold: float
    candidates_per_round: int
    stop_below: float
    candidates_per_member: int
    retriever_id: str
    engine: str
    is_validated: bool
    unvalidated_reason: str
    generation: int = 0
    rolls_back: str = ""
    is_forced: bool = False
    stop_sample_share: float = 0.0
    stop_sample_at_least: int = 0
    stop_sample_from: int = 0

    @property
    def stop_sample(self) -> SampleRule:
        """How many members go on past their stop."""
        return SampleRule(
            share=self.stop_sample_share, at_least=self.stop_sample_at_least, from_members=self.stop_sample_from
        )

    @property
    def n_rounds(self) -> int:
        """ceil(K / N), the most rounds that a member can have."""
        return -(-self.candidates_per_member // self.candidates_per_round)

    def last_rank(self, round: int) -> int:
        """The rank after the last one of a round."""
        return min((round + 1) * self.candidates_per_round, self.candidates_per_member)


def run_id_of(kind: str, trigger_id: str, environment: str) -> str:
    """Return the identity of a run: the same trigger fired twice is the same run."""
    return f"{kind}-{digest({'kind': kind, 'trigger': trigger_id, 'environment': environment})[:12]}"
