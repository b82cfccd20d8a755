"""All tables, by who makes them."""

from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.embeddings import EMBEDDINGS
from schemas.erasures import ERASURES
from schemas.holds import HOLDS
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_plans import MEMBER_PLANS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE
from schemas.reference import REFERENCE
from schemas.revocations import REVOCATIONS
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.runs import RUNS
from schemas.scope import SCOPE
from schemas.stop_sample import STOP_SAMPLE
from schemas.texts import TEXTS

UPSTREAM_TABLES = (PROFILES, CATALOG, REFERENCE)
RUN_TABLES = (
    REFERENCE,  # empty where no answer is known
    TEXTS,
    EMBEDDINGS,
    SCOPE,
    CANDIDATES,
    MEMBER_PLANS,
    MEMBER_ROUNDS,
    ROUND_OUTCOMES,
    STOP_SAMPLE,
    JUDGMENTS,
    COVERAGE,
    LABELS,
    LABEL_CHANGES,
    RUNS,
    QUARANTINE,
    REVOCATIONS,
    HOLDS,
    ERASURES,
)
