"""The tokenizing actor: texts in, token ids out, one row a row. A text that can't be rendered back is an error row."""

from typing import Any

import pyarrow as pa

from mis_scoring.core.errors import DataError
from mis_scoring.engines.score_spec import ScoreSpec

_IDS = pa.list_(pa.int32())
TOKENIZED = pa.schema(
    [
        ("member_id", pa.string()),
        ("query_hash", pa.string()),
        ("item_ids", pa.list_(pa.string())),
        ("item_hashes", pa.list_(pa.string())),
        ("query_tokens", _IDS),
        ("item_tokens", pa.list_(_IDS)),
        ("error", pa.string()),
    ]
)


class TokenizeRows:
    """Encodes the query and the items of each row, apart."""

    def __init__(self, spec: ScoreSpec) -> None:
        self._tokenizer = spec.tokenizer()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return the rows of `TOKENIZED`, in their order."""
        return pa.Table.from_pylist([self._row(row) for row in batch.to_pylist()], schema=TOKENIZED)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        kept = {name: row[name] for name in ("member_id", "query_hash", "item_ids", "item_hashes")}
        try:
            return kept | {
                "query_tokens": self._tokenizer.encode_query(row["query_text"]),
                "item_tokens": [self._tokenizer.encode_item(text) for text in row["item_texts"]],
            }
        except DataError as error:
            return kept | {"error": str(error)}
