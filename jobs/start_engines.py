"""Set a run's engines up: end those that runs which are over left behind, so that this run's find their place.

The run's own engines start with the first round that has something to score (`score_round`), so a run without one
starts none.
"""

from jobs.end_orphan_engines import Params as Params
from jobs.end_orphan_engines import run as run
