"""Texts that break tokenizers: each may be a whole profile or a whole qualification.

Written with escapes where a sign would be invisible or would turn the line around in an editor.
"""

from collections.abc import Iterable

_BLANKS = (
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "\r\n",
    " nurse",
    "  nurse",
    "nurse ",
    "nurse  ",
    "\nnurse",
    "nurse\n",
    "\n\nnurse\n\n",
    "nurse \n ",
    "\tnurse\t",
    "\u00a0nurse\u00a0",  # no-break space
    "\u3000nurse",  # ideographic space
    "\u2028nurse",  # line separator
)
_NUMBERS = ("5", " 5", "5 years", "x  5", "\n\n6", "12.5%", "2012-2019", "1,000,000", "\u0665\u0666", "\u2155", "C3PO")
_SIGNS = (":", " :", "::", "C++", "C#", ".NET", "(RN)", "'s", "it's", "!", "\u2013", "--", "...", "/", "&amp;", "%00")
_SCRIPTS = (
    "Z\u00fcrich",
    "\u6771\u4eac\u306e\u770b\u8b77\u5e2b",  # Japanese
    "\u62a4\u58eb\u6267\u7167",  # Chinese
    "\uac04\ud638\uc0ac",  # Korean
    "\u0e1e\u0e22\u0e32\u0e1a\u0e32\u0e25",  # Thai
    "\u0645\u0645\u0631\u0636\u0629 5",  # Arabic
    "\u05d0\u05d7\u05d5\u05ea nurse",  # Hebrew and Latin
    "\u202enurse\u202c",  # turned around
    "\u200fnurse",
)
_MARKS = (
    "e\u0301",
    "\u0301nurse",  # a mark with nothing before it
    "nurse\u0301\u0301\u0301",
    "\u1100\u1161",  # Korean in parts
    "fi\ufb01",  # ligature
    "\u200b",  # nothing to see
    "nu\u00adrse",  # soft hyphen
    "\ufeffnurse",
    "\ufffd",
)
_EMOJI = (
    "\U0001f600",
    " \U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e8\U0001f1ed",
    "\u2764\ufe0f",
)
_CONTROLS = ("\x00", "a\x00b", "\x07", "\x1b[31mred\x1b[0m", "\x7f", "\x85")
_CODE = (
    "def f(x):\n\treturn x\n",
    "    if x == 5:\n        pass",
    "SELECT * FROM t;",
    '{"answer": "YES"}',
    "<b>nurse</b>",
    "\\n",
    "YES",
    " NO",
    "Yes\n",
    "Profile:\nnurse\nQualification: tax",
)
_LONG = ("x" * 300, "Donaudampfschifffahrt" * 12, "\u770b" * 120, "-" * 200, " " * 60, "\n" * 40, "1" * 80, "a b " * 60)

AWKWARD_TEXTS: tuple[str, ...] = (
    *_BLANKS,
    *_NUMBERS,
    *_SIGNS,
    *_SCRIPTS,
    *_MARKS,
    *_EMOJI,
    *_CONTROLS,
    *_CODE,
    *_LONG,
)


def texts_that_spell(tokens: Iterable[str]) -> list[str]:
    """Return texts that contain a model's own special tokens: alone, in a sentence, in a word, twice, cut."""
    forms = ("{0}", " {0} ", "nurse {0}\nYES", "nu{0}rse", "{0}{0}")
    return [form.format(token) for token in tokens for form in forms] + [t[: len(t) // 2] for t in tokens]
