"""Types of a manager's arguments, so that editors complete the options and `help()` lists them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Concatenate, ParamSpec

from ..clock import new_id, utc_now
from ..config import Config, Options
from ..log.contract import Log


@dataclass(frozen=True)
class ManagerArguments(Options):
    """The arguments of a manager, among them the options of the configuration."""

    transcript_path: str | os.PathLike[str] | None = None
    _: KW_ONLY
    config: Config | None = None
    log: Log | None = None
    coordinator: Any | None = None
    session_id: str | None = None
    parent_id: str | None = None
    working_dir: str | None = None
    now: Callable[[], str] = utc_now
    new_id: Callable[[], str] = new_id


P = ParamSpec("P")


def taking_arguments_of(
    arguments: Callable[P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """Give a constructor a dataclass's arguments, so that editors complete them and `help()` lists them."""

    def typed(init: Callable[..., None]) -> Callable[Concatenate[Any, P], None]:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        listed = inspect.signature(arguments).parameters.values()
        init.__signature__ = inspect.Signature([own, *listed])  # type: ignore[attr-defined]  # functions have it
        return init

    return typed
