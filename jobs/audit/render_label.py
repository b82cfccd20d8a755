"""How a person sees the audit of one pair: its state, then the lineage from the decision back to the texts."""

from typing import Any

from rich.markup import escape

from jobs.audit import lines


def print_label(found: dict[str, Any]) -> None:
    """Print what `audit_label` found."""
    lines.state(found)
    lines.line("decision", _decision(found))
    if found["rank"] is not None:
        similarity, round_ = lines.number(found["similarity"]), lines.shown(found["round"])
        lines.line("candidate", f"rank {found['rank']}, similarity {similarity}, round {round_}")
    lines.coverage(found["coverage"])
    for role, run in found["runs"].items():
        if run is not None:
            lines.line(role, lines.run(run))
    if found["judgment"] is not None:
        _print_judgment(found["judgment"])
    if found["artifact"] is not None:
        _print_artifact(found["artifact"])
    if found["cost"] is not None:
        lines.line("cost", _cost(found["cost"]))
    profile, entry = found["profile"], found["qualification"]
    _text(f"profile, version {lines.shown(profile['profile_version'])}", profile["query_hash"], profile["query_text"])
    _text(f"qualification, catalog {lines.short(entry['catalog_version'])}", entry["item_hash"], entry["item_text"])
    for sentence in found["taken_away"]:
        lines.line("not kept", sentence)


def _decision(found: dict[str, Any]) -> str:
    if found["score"] is None:
        return "its score is not known any more" if found["state"] == "rejected" else "not scored"
    sign = ">=" if found["state"] == "accepted" else "<"
    cut = lines.number(found["threshold"])
    return f"score {found['score']:.6f} {sign} threshold {cut}, margin {lines.number(found['margin'])}"


def _print_judgment(judgment: dict[str, Any]) -> None:
    by = "the reference, alone (tie rule)" if judgment["is_reference"] else "the engine"
    lines.line("judgment", f"generation {judgment['generation']}, {judgment['judged_at'][:19]}, by {by}")
    engine = ", ".join(f"{name} {value}" for name, value in judgment["engine"].items())
    lines.line("engine", f"{engine}; fingerprint {lines.short(judgment['fingerprint'])}")
    if judgment["revocation"] is not None:
        lines.line("revoked", str(judgment["revocation"]))


def _print_artifact(artifact: dict[str, Any]) -> None:
    ids = f"artifact {lines.short(artifact['artifact_id'])}, scorer {lines.short(artifact['scorer_id'])}"
    lines.line("labeler", f"{artifact['labeler']} version {artifact['labeler_version']}, {ids}")
    if artifact["prompt_digest"] is None:
        lines.line("", "neither staging nor MLflow has the artifact any more: its parts are not known")
        return
    parts = ("prompt", "checkpoint", "tokenizer")
    lines.line("", ", ".join(f"{part} {lines.short(artifact[f'{part}_digest'])}" for part in parts))
    tokens = ", ".join(f"{name} {value!r}" for name, value in artifact["label_tokens"].items())
    numeric = ", ".join(f"{name} {value}" for name, value in artifact["numeric_profile"].items())
    lines.line("", f"label tokens {tokens}; {numeric}; tie eps {artifact['tie_eps']}")


def _cost(cost: dict[str, Any]) -> str:
    usd = "no price is set" if cost["usd"] is None else f"{cost['usd']:.2e} USD"
    mean = f"the mean of the {cost['pairs']:,} pairs that its run scored"
    return f"{cost['tokens']:.1f} tokens, {cost['seconds']:.2e} s, {usd}: {mean}"


def _text(title: str, hash_: str | None, text: str | None) -> None:
    if hash_ is not None:
        lines.console.print(f"  {title}, text {lines.short(hash_)}", soft_wrap=True)
        found = escape(text) if text is not None else "no text of this hash is kept"
        lines.console.print(found, soft_wrap=True, style="dim")
