"""What a value of the config must be: checks that say what must hold and what came, and the types that are made of them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

MOST_DEPTH = 1_000_000


def is_number(value: Any) -> bool:
    """Whether this is a finite number that a float can hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 10**300
    return isinstance(value, float) and math.isfinite(value)


def whole(low: int, high: int = 2**31 - 1) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        good = is_number(value) and value == int(value)
        if not good or not low <= value <= high:
            limit = f"from {low} to {high}" if high < 2**31 - 1 or good else f"of at least {low}"
            raise ValueError(f"must be a whole number {limit}, got {shown(value)}")
        return int(value)

    return check


def real(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        good = is_number(value)
        if not good or not low <= value <= high or (above and value == low):
            limit = f" from {low:g} to {high:g}" if high < math.inf else (f" above {low:g}" if above else f" of at least {low:g}")
            raise ValueError(f"must be a number{limit if low > -math.inf else ''}, got {shown(value)}")
        return float(value)

    return check


def one_of(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed or not isinstance(value, str):
            near = difflib.get_close_matches(str(value), allowed, n=1)
            raise ValueError(
                f"must be one of {', '.join(allowed)}, got {shown(value)}" + (f"; nearest: {near[0]}" if near else "")
            )
        return value

    return check


def text_value(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, got {shown(value)}")
    return value


def filled(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text that is not empty, got {shown(value)}")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"{str(value).lower()} (YAML reads on, off, yes and no as true or false; if text is meant, put quotes)"
    if isinstance(value, (dict, list)):
        return f"a {'mapping' if isinstance(value, dict) else 'list'}"
    return "nothing" if value is None else repr(value)[:80]


class ListItemsError(ValueError):
    """What does not hold in a list: the index of each item (None: the list itself) and what must hold."""

    def __init__(self, items: list[tuple[int | None, str]]) -> None:
        super().__init__("; ".join(text for _, text in items))
        self.items = items


def each(items: list[Any], check: Callable[[Any], Any]) -> list[Any]:
    good, bad = [], []
    for i, item in enumerate(items):
        try:
            good.append(check(item))
        except ValueError as error:
            bad.append((i, str(error)))
    if bad:
        raise ListItemsError(list(bad))
    return good


Whole = Annotated[int, BeforeValidator(whole(1))]
Text = Annotated[str, BeforeValidator(text_value)]
Filled = Annotated[str, BeforeValidator(filled)]
Flag = Annotated[bool, BeforeValidator(flag)]
Weight = Annotated[float, BeforeValidator(real(0, 1))]
K1 = Annotated[float, BeforeValidator(real(0, 1000))]
B = Annotated[float, BeforeValidator(real(0, 1))]
Delta = Annotated[float, BeforeValidator(real(0, 1000))]
Depth = Annotated[int, BeforeValidator(whole(1, MOST_DEPTH))]
RrfK = Annotated[int, BeforeValidator(whole(1, MOST_DEPTH))]


class Block(BaseModel):
    """A mapping of the config: frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)
