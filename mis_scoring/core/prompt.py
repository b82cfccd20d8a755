"""The prompt of one decision: what goes into the query, what into the item (paper, section 3.1).

Instructions and profile are in the query; whatever depends on the candidate is in the item, which ends at the answer
position. One layout an artifact, on every path. Only the template holds special tokens: a text that contains one is
inert.
"""

from dataclasses import dataclass

from mis_scoring.core.errors import PromptError


@dataclass(frozen=True, kw_only=True)
class PromptLayout:
    """Fixed text around a profile and around a qualification."""

    name: str
    query_prefix: str
    query_suffix: str
    item_prefix: str
    item_suffix: str

    def render_query(self, profile_text: str) -> str:
        """Return the query of a profile."""
        return self.query_prefix + profile_text + self.query_suffix

    def render_item(self, qualification_text: str) -> str:
        """Return the item of a qualification."""
        return self.item_prefix + qualification_text + self.item_suffix

    def profile_of(self, query_text: str) -> str:
        """Return the profile that a query was rendered from.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        return self._inside(query_text, self.query_prefix, self.query_suffix)

    def qualification_of(self, item_text: str) -> str:
        """Return the qualification that an item was rendered from.

        Raises:
            PromptError: the text was rendered by another layout.
        """
        return self._inside(item_text, self.item_prefix, self.item_suffix)

    def _inside(self, text: str, prefix: str, suffix: str) -> str:
        is_whole = len(text) >= len(prefix) + len(suffix) and text.startswith(prefix) and text.endswith(suffix)
        if not is_whole:
            raise PromptError(
                f"a rendered text of layout {self.name!r} starts with {prefix!r} and ends with {suffix!r}"
            )
        return text[len(prefix) : len(text) - len(suffix)]


COMPACT = PromptLayout(
    name="compact",
    query_prefix="Profile:\n",
    query_suffix="\nQualification:",
    item_prefix=" ",
    item_suffix="<|readout|>",
)
