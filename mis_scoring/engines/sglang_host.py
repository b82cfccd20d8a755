"""The first process of an SGLang engine's group: `python -m mis_scoring.engines.sglang_host ARGUMENTS ANSWERS`.

ARGUMENTS are those of `sglang.Engine`, as JSON; requests come as lines on the standard input, answers go to the file
number ANSWERS. It asks the engine for scores alone: a request to generate in the same pass would unmask packed items.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any, TextIO

READY = 0


def main(engine_arguments: str, answers: str) -> None:
    """Serve until the input ends, then end the whole group."""
    loop: Future[asyncio.AbstractEventLoop] = Future()
    requests: asyncio.Queue[str] = asyncio.Queue()
    threading.Thread(target=_read, args=(loop, requests), daemon=True).start()
    with os.fdopen(int(answers), "w", encoding="utf-8") as out:
        started = time.monotonic()
        try:
            import sglang

            engine = sglang.Engine(**json.loads(engine_arguments))
        except BaseException as error:
            _write(out, {"number": READY, "error": f"{type(error).__name__}: {error}"})
            raise
        _write(out, {"number": READY, "start_s": time.monotonic() - started})
        asyncio.run(_serve(engine, loop, requests, out))


async def _serve(
    engine: Any, loop: "Future[asyncio.AbstractEventLoop]", requests: "asyncio.Queue[str]", out: TextIO
) -> None:
    loop.set_result(asyncio.get_running_loop())
    under_way = set()
    while True:
        task = asyncio.create_task(_answer(engine, json.loads(await requests.get()), out))
        under_way.add(task)  # the loop itself keeps no task alive
        task.add_done_callback(under_way.discard)


async def _answer(engine: Any, request: dict[str, Any], out: TextIO) -> None:
    try:
        found = await engine.async_score(
            query=request["query"], items=request["items"], label_token_ids=request["labels"], apply_softmax=False
        )
        answer = {"probabilities": found.scores}
    except Exception as error:  # told to whoever asked, who decides
        answer = {"error": f"{type(error).__name__}: {error}"}
    _write(out, {"number": request["number"], **answer})


def _read(loop: "Future[asyncio.AbstractEventLoop]", requests: "asyncio.Queue[str]") -> None:
    """Hand requests over; the end of the input means that nobody is left to answer, also while the engine starts."""
    for line in sys.stdin:
        loop.result().call_soon_threadsafe(requests.put_nowait, line)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _write(out: TextIO, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
