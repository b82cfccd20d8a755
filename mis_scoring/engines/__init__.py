"""Engines, one a file, behind `mis_scoring.core.engine.Engine`; torch is loaded when one is constructed, not before.

Threads that wait for each other must sleep, not spin: an engine shares its cores with Ray, Spark or a neighbour, and a
spinning thread takes the core that the other one needs. Measured on 2 busy cores with 2 threads: 39 and 45 s spinning,
3.9 and 3.0 s sleeping, for the same 20 requests; with one thread, which never waits, 2.1 and 4.3 s. libgomp reads the
setting once, when torch is loaded, and inside a Ray worker only what was there when the process started. On cores of
its own an engine may be a little faster with OMP_WAIT_POLICY=ACTIVE.
"""

import os

WAIT_POLICY = os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
