"""Ids as TREC files write them: percent-encoded where they hold white space."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable

from harness.errors import HarnessError


def encode_id(text: str) -> str:
    """An id for a white-space separated file: percent-encoded where it holds white space, else as it is."""
    return urllib.parse.quote(text, safe="") if any(character.isspace() for character in text) else text


def encode_ids(ids: Iterable[str]) -> dict[str, str]:
    """Every id as `encode_id` writes it; HarnessError where two become one."""
    encoded: dict[str, str] = {text: encode_id(text) for text in ids}
    sources: dict[str, str] = {}
    for text, code in encoded.items():
        if sources.setdefault(code, text) != text:
            raise HarnessError(
                f"ids {sources[code]!r} and {text!r} must differ in the TREC files, where white space is percent-encoded and both"
                f" are {code!r}; rename one of them in the data"
            )
    return encoded
