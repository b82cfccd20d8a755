"""Render queries and items as columns, exactly as `mis_scoring.core.prompt` renders one text.

A test holds both together; the hash of a rendered text is the SHA-256 of its UTF-8 bytes on either side.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from mis_scoring.core.prompt import PromptLayout


def query_text(profile_text: Column, layout: PromptLayout) -> Column:
    """The rendered query of a profile."""
    return F.concat(F.lit(layout.query_prefix), profile_text, F.lit(layout.query_suffix))


def item_text(qualification_text: Column, layout: PromptLayout) -> Column:
    """The rendered item of a qualification."""
    return F.concat(F.lit(layout.item_prefix), qualification_text, F.lit(layout.item_suffix))


def text_hash(text: Column) -> Column:
    """SHA-256 of the UTF-8 bytes, lower-case hex."""
    return F.sha2(text, 256)
