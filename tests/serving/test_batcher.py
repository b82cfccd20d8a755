"""The queue before an engine holds what waits and nothing else, whatever the engine does."""

import asyncio
import gc
import weakref
from collections.abc import Sequence
from typing import Any

from mis_scoring.serving.batcher import Batcher, Work


def test_who_has_gone_is_held_no_more_while_a_forward_hangs() -> None:
    async def story() -> None:
        is_over = asyncio.Event()
        seen: list[int] = []

        async def hang(batch: Sequence[Work]) -> list[Any]:
            seen.append(len(batch))
            await is_over.wait()
            return [len(work.items) for work in batch]

        batcher = Batcher(hang, max_batch_tokens=100, n_concurrent=1)
        under_way = Work(query=[1], items=[[2]])
        batcher.add(under_way)
        held = weakref.WeakSet[Work]()
        for _ in range(50):
            gone = Work(query=[0] * 10, items=[[1] * 10])
            held.add(gone)
            batcher.add(gone)
            gone.done.cancel()
            await asyncio.sleep(0)  # the loop's turn
        del gone
        stays = Work(query=[1], items=[[2], [3]])
        batcher.add(stays)
        gc.collect()
        assert (len(held), len(batcher), batcher.is_waiting(stays)) == (0, 1, True)
        is_over.set()
        assert [await under_way.done, await stays.done] == [1, 2]
        assert seen == [1, 1] and len(batcher) == 0

    asyncio.run(story())


def test_one_that_is_done_and_has_not_left_yet_is_not_scored() -> None:
    async def story() -> None:
        async def forward(batch: Sequence[Work]) -> list[int]:
            return [len(work.items) for work in batch]

        batcher = Batcher(forward, max_batch_tokens=100, n_concurrent=1)
        first, gone, last = (Work(query=[1], items=[[2]] * number) for number in (1, 2, 3))
        batcher.add(first)
        for work in (gone, last):
            batcher.add(work)
        gone.done.cancel()
        assert [await first.done, await last.done] == [1, 3] and gone.done.cancelled()

    asyncio.run(story())
