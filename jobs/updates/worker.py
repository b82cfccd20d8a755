"""Work on the inbox, batch by batch, and feed the key-value store after each; whatever is away is waited for.

One worker an inbox: a second one would merge profiles of a batch that the first has finished.
"""

import logging
import time
from dataclasses import dataclass, field
from threading import Event

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_when_event_set, wait_random_exponential

from jobs.kv.feeder import feed
from jobs.kv.store import LabelStore, StoreAwayError
from jobs.settings import Settings
from jobs.updates.inbox import Batch, Inbox
from jobs.updates.metrics import UpdateMetrics
from jobs.updates.micro_batch import BatchRun, MicroBatches
from jobs.updates.profiles_table import not_yet_written
from jobs.updates.warm_up import AWAY

log = logging.getLogger(__name__)

_WAIT_AT_MOST_S = 30.0
_LOOK_EVERY_S = 1.0  # for what other runs have published, and for updates that another process has put
_ANNOUNCED_WAITS_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Takes, runs and finishes batches until it is told to end.

    Attributes:
        wake: set when something waits. ending: set to end it after the batch at hand.
        unfed: when the updates came whose labels are published and not in the store yet.
        store_away: set while the store does not answer, so that it is said once.
    """

    settings: Settings
    inbox: Inbox
    store: LabelStore
    batches: MicroBatches
    metrics: UpdateMetrics
    wake: Event
    ending: Event
    unfed: list[float] = field(default_factory=list)
    store_away: Event = field(default_factory=Event)

    def run(self) -> None:
        """Work until it is told to end.

        Raises:
            SparkGoneError, and what nobody expected: end the process; the inbox keeps the batch.
        """
        while not self.ending.is_set():
            until_it_works = Retrying(
                retry=retry_if_exception_type(AWAY),
                wait=wait_random_exponential(max=_WAIT_AT_MOST_S),
                stop=stop_when_event_set(self.ending),
                sleep=self._rest,
                before_sleep=self._tell,
                retry_error_callback=lambda _: False,
            )
            if not until_it_works(self.step):
                self.wake.wait(_LOOK_EVERY_S)
            self.wake.clear()

    def step(self) -> bool:
        """Work on one batch, and feed what was published since, by whomever and also where the batch fails.

        Returns whether there was a batch.
        """
        try:
            return self._work()
        finally:
            self.feed()

    def _work(self) -> bool:
        """Work on one batch, and return whether there was one."""
        batch = self.inbox.take(self.settings.updates_per_batch)
        if batch is not None:
            batch = self._written(batch)
        if batch is not None:
            started = time.monotonic()
            ran = self.batches.run(batch)
            self.metrics.batch_seconds.observe(time.monotonic() - started)
            if ran.state == "outdated":
                self.inbox.put_back(batch.batch_id, [update.member_id for update in batch.updates], for_s=0)
            else:
                self.inbox.finish(batch.batch_id)
            self._count(batch, ran)
        return batch is not None

    def feed(self) -> None:
        """Feed what was published; labels are published and updates worked on while the store is away."""
        try:
            feed(self.store, self.settings.tables)
        except StoreAwayError as error:
            self.metrics.failures.labels(type(error).__name__).inc()
            if not self.store_away.is_set():
                log.warning("%s; labels are published, and fed when it is back", error)
            self.store_away.set()
            return
        self.store_away.clear()
        while self.unfed:
            self.metrics.readable_seconds.observe(time.time() - self.unfed.pop())

    def _written(self, batch: Batch) -> Batch | None:
        """Leave out what the source has announced and not written to `profiles` yet: it waits some time more."""
        if self.settings.updates_write_profiles:
            return batch
        late = {update.member_id for update in not_yet_written(self.settings.tables, batch.updates)}
        if late:
            self.inbox.put_back(batch.batch_id, late, for_s=_ANNOUNCED_WAITS_S)
        return batch.without(late)

    def _count(self, batch: Batch, ran: BatchRun) -> None:
        self.metrics.batches.labels(ran.state).inc()
        if ran.state == "published":
            self.unfed.extend(batch.received_s)
        seconds = ", ".join(f"{step} {spent:.2f} s" for step, spent in ran.seconds.items())
        log.info("%s %s: %d update(s), %s", ran.run_id, ran.state, len(batch.updates), seconds)

    def _rest(self, seconds: float) -> None:
        """Wait before another try, but for when it is told to end."""
        self.ending.wait(seconds)

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        self.metrics.failures.labels(type(error).__name__).inc()
        log.warning("tried %d time(s), trying again: %s: %s", state.attempt_number, type(error).__name__, error)
