"""Whether a function can be called as a handler is, told when it is registered. No I/O, no awaits.

1. A handler is called with a question and a context, by position. What cannot be called so is refused at once: in a session it would be
   an `extension_error` at each asking, and a `tool_call` that never lets a tool run.
2. What yields gives no answer, and is refused too.
3. A callable that does not tell what it takes is believed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from sapwood.events.errors import Refused, shown


def check_handler(handler: object) -> Callable[[Any, Any], object]:
    """The handler as it is. `Refused("bad-input", …)`, which says how it is written, for what is none."""
    if not callable(handler):
        raise Refused("bad-input", f"a handler is a function (question, context), not {shown(handler)}")
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        raise Refused("bad-input", f"the handler {_named(handler)} yields: have it return its one answer")
    try:
        signature = inspect.signature(handler)
    except Exception:  # noqa: BLE001 - one of C tells of no parameters, and a host's own may raise whatever it likes
        return cast("Callable[[Any, Any], object]", handler)
    try:
        signature.bind("question", "context")
    except TypeError as fault:
        raise Refused(
            "bad-input",
            f"the handler {_named(handler)}{_parameters(signature)} is called with a question and a context, which it cannot take: "
            f"{fault}. Write it as (question, context); a method is registered bound to its object",
        ) from fault
    return cast("Callable[[Any, Any], object]", handler)


def _named(handler: object) -> str:
    name: object = getattr(handler, "__qualname__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else shown(handler)


def _parameters(signature: inspect.Signature) -> str:
    """Those that must be given, by their names: annotations are a host's objects, and long."""
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values() if one.default is one.empty]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
