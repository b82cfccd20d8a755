"""Greedy decoding of many prompts at once, left to right with a key-value cache, in plain torch.

Prompts are padded on the left, so that every row's next token is at the same place; padding is masked and does not
count as a position.
"""

import inspect
from collections.abc import Sequence
from typing import Any


def greedy_decode(
    decoder: Any, prompts: Sequence[Sequence[int]], *, end_id: int, pad_id: int, max_new_tokens: int, rows: int = 64
) -> list[list[int]]:
    """Return what follows each prompt: up to and with `end_id`, or `max_new_tokens` tokens.

    Args:
        decoder: a causal language model; its own dtype is used.
        rows: prompts decoded together; those of like length go together.
    """
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    generated: list[list[int]] = [[] for _ in prompts]
    for start in range(0, len(order), rows):
        chosen = order[start : start + rows]
        answers = _decode_rows(
            decoder, [prompts[i] for i in chosen], end_id=end_id, pad_id=pad_id, max_new_tokens=max_new_tokens
        )
        for i, tokens in zip(chosen, answers, strict=True):
            generated[i] = tokens
    return generated


def _decode_rows(
    decoder: Any, prompts: Sequence[Sequence[int]], *, end_id: int, pad_id: int, max_new_tokens: int
) -> list[list[int]]:
    import torch
    from transformers import DynamicCache

    device = next(decoder.parameters()).device
    longest = max(map(len, prompts))
    padded = [[pad_id] * (longest - len(p)) + list(p) for p in prompts]
    is_token = torch.tensor([[False] * (longest - len(p)) + [True] * len(p) for p in prompts], device=device)
    tokens = torch.tensor(padded, device=device)
    positions = (is_token.long().cumsum(1) - 1).clamp(min=0)
    mask = _prefill_mask(is_token)
    cache: Any = {_cache_name(decoder): DynamicCache()}
    is_done = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    new: list[Any] = []
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            hidden = decoder.model(
                input_ids=tokens, position_ids=positions, attention_mask=mask, use_cache=True, **cache
            ).last_hidden_state
            tokens = decoder.lm_head(hidden[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.where(is_done[:, None], end_id, tokens)
            new.append(tokens)
            is_done |= tokens[:, 0] == end_id
            if bool(is_done.all()):
                break
            positions = positions[:, -1:] + 1
            is_token = torch.cat([is_token, torch.ones_like(tokens, dtype=torch.bool)], dim=1)
            mask = is_token[:, None, None, :]
    return [_until(row, end_id) for row in torch.cat(new, dim=1).tolist()]


def _cache_name(decoder: Any) -> str:
    """Return what this version of transformers calls the key-value cache."""
    return "cache" if "cache" in inspect.signature(decoder.model.forward).parameters else "past_key_values"


def _prefill_mask(is_token: Any) -> Any:
    """Return (B, 1, T, T) bool: causal over tokens; padding sees itself, so that no row is empty."""
    import torch

    n_tokens = is_token.shape[1]
    causal = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=is_token.device).tril()
    diagonal = torch.eye(n_tokens, dtype=torch.bool, device=is_token.device)
    return ((causal & is_token[:, None, :]) | diagonal)[:, None]


def _until(row: list[int], end_id: int) -> list[int]:
    return row[: row.index(end_id) + 1] if end_id in row else row
