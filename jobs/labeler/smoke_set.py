"""A profile and candidates that every labeler must be able to score, whatever it was trained on."""

PROFILE = """EXPERIENCE
Ward nurse, Harrow Group (2012-2019)
Tax accountant at Oakfield Ltd, 4 years
BSc patient care science, 2011
Licensed for lorries over 3.5 tonnes. Ärztin im Praktikum, naïve café owner: 5 yrs.
I have never done yoga myself."""

_WHAT = (
    "a registered nurse", "a tax accountant", "a welder", "a café owner", "a lorry driver", "a teacher",
    "a software developer", "a lawyer", "a chef", "an electrician",
)  # fmt: skip
_YEARS = (1, 2, 3, 5, 7, 10, 15)


def smoke_texts(n_items: int) -> list[str]:
    """Return so many qualification texts; after 70 they come again."""
    texts = [f"{years}+ {'year' if years == 1 else 'years'} as {what}" for years in _YEARS for what in _WHAT]
    return [texts[number % len(texts)] for number in range(n_items)]
