"""Where a score stage runs: pools, places and times. Nothing here changes a score."""

from dataclasses import dataclass

_SMALL_CPUS = 4


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the stage runs. The defaults fit one machine with two cores; `for_cluster` those of a larger Ray.

    CPUs are Ray's bookkeeping, not a limit. Two cores must hold both pools, a reader, a writer and, on resume, the
    checkpoint's filter (1 CPU, 1 GiB) at once, or the dataset waits for ever; hence fractions.

    Attributes:
        engines: names of engines that outlive this stage (`named_engines`); empty: it owns a pool of `n_engines`.
        rows_per_block: members a batch: what one kill can lose, the step of the progress, and an epoch of the canary,
            which costs some 700 tokens in ten passes: 3% of the CPU of 32 members with 50 items each (bundled labeler,
            one thread, 2 cores, 2026-11-30).
        batches_per_engine: that an engine scores at once, and that one kill can lose; more than one where it takes
            requests of several callers, or its device stands idle from the end of one batch to the start of the next.
        n_io_tasks: readers and writers at a time; each is one more Python process to start. None: as Ray likes.
        max_restarts: of an actor that dies; Ray's default is without bound, and a row that kills its process would
            loop. 0: the job fails, and run again it goes on from the checkpoint.
        request_timeout_s: an engine that takes longer for one member hangs; its process is ended.
        start_timeout_s: named engines that are not ready by then are an error.
        idle_after_s: named engines of another owner, without work for so long, give way where there is no place.
    """

    engines: tuple[str, ...] = ()
    rows_per_block: int = 32
    n_tokenizers: int = 1
    n_engines: int = 1
    cpus_per_actor: float = 0.2
    gpus_per_engine: float = 0.0
    batches_per_engine: int = 1
    n_io_tasks: int | None = 1
    cpus_per_io_task: float = 0.2
    max_restarts: int = 0
    request_timeout_s: float = 900.0
    start_timeout_s: float = 900.0
    idle_after_s: float = 30.0

    @classmethod
    def for_cluster(cls, n_cpus: float) -> "Placement":
        """Return a placement for a Ray of so many CPUs."""
        return cls() if n_cpus <= _SMALL_CPUS else cls(n_io_tasks=None, max_restarts=2)
