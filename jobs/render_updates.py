"""What the commands of `semlabel updates` and `semlabel kv` print for a person."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

_console = Console(highlight=False)


def _print(text: str) -> None:
    _console.print(text, markup=False, soft_wrap=True)


def print_sent(sent: Mapping[str, Any]) -> None:
    """Say what became of an update and, where it was waited for, the labels."""
    _print(f"{sent['outcome']}: {sent['member_id']}, version {sent['profile_version']}")
    if "readable_s" in sent:
        _print(f"readable {sent['readable_s']:.2f} s after the acknowledgement, {sent.get('run_id', 'removed')}")
        _print_scores(sent["labels"])


def print_inbox(figures: Mapping[str, Any]) -> None:
    """Say what lies in the inbox."""
    age = figures["oldest_age_s"]
    oldest = "" if age is None else f"; the oldest came {age:.1f} s ago"
    _print(f"{figures['waiting']} update(s) wait, {figures['taken']} are worked on{oldest}")


def print_labels(document: Mapping[str, Any]) -> None:
    """List a member's labels with what they stand on."""
    version, position = document["profile_version"], document["position"]
    _print(f"{document['member_id']}: {len(document['labels'])} label(s) of profile version {version}")
    _print_scores(document["labels"])
    _print(f"  since publication {document['labels_version']}, {document['run_id']}, {document['published_at']}")
    _print(f"  store fed to publication {position['labels_version']}, {position['published_at']}")


def _print_scores(labels: list[dict[str, Any]]) -> None:
    for label in labels:
        _print(f"  {label['score']:.4f}  {label['qualification_id']}")


def print_check(found: Mapping[str, Any]) -> None:
    """Say whether store and tables agree, and who differs."""
    if found["agrees"]:
        _print(f"store and tables agree: {found['members']} member(s)")
        return
    _print(
        f"{found['n_differences']} of {found['members']} member(s) differ; {found['runs_behind']} run(s) not fed yet"
    )
    for row in found["differences"]:
        _print(f"  {row['member_id']}")
        for side in ("store", "tables"):
            _print(f"    {side:6} {row[side]}")
    _print("`semlabel kv feed` goes on; `semlabel kv rebuild` fills the store anew.")
