"""What comes from outside, as JSON and back: pieces of answers, results of tools, answers of handlers, errors. No I/O."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

import msgspec

from sapwood.actors.kernel.errors import alone
from sapwood.actors.kernel.testing import InjectedCrash
from sapwood.actors.model.masking import MASK
from sapwood.actors.model.providers.base import Finish, Piece
from sapwood.actors.tools.results import ToolResult, of_returned
from sapwood.actors.tools.tool import BadArguments
from sapwood.events import hooks
from sapwood.events.base import Json, is_object
from sapwood.events.content import UserBlock
from sapwood.events.deltas import Delta
from sapwood.events.errors import ProviderError
from sapwood.events.messages import Usage
from sapwood.store.disk import Status

_END: Final = {"end": True}
_BEARABLE: Final = re.compile(r"[\t -~]+")


def piece_out(piece: Piece | None) -> Json:
    """A piece of an answer; None for the end of the stream."""
    if piece is None:
        return _END
    if isinstance(piece, Finish):
        return {"finish": msgspec.to_builtins(piece)}
    return msgspec.to_builtins(piece)


def piece_in(value: Json) -> Piece | None:
    if value == _END:
        return None
    if "finish" in value:
        return msgspec.convert(value["finish"], Finish)
    return cast("Piece", msgspec.convert(value, Delta))


def result_out(value: object) -> Json:
    """What a tool returned, as the result that it comes to."""
    outcome = of_returned(value)
    return {
        "content": msgspec.to_builtins(outcome.content),
        "details": outcome.details,
        "isError": outcome.is_error,
        "useless": outcome.useless,
        "terminate": outcome.terminate,
        "usage": None if outcome.usage is None else msgspec.to_builtins(outcome.usage),
    }


def result_in(value: Json) -> object:
    return ToolResult(
        content=msgspec.convert(value["content"], list[UserBlock]),
        details=value["details"],
        is_error=value["isError"],
        useless=value["useless"],
        terminate=value["terminate"],
        usage=None if value["usage"] is None else msgspec.convert(value["usage"], Usage),
    )


def answer_out(value: object) -> Json:
    """What a handler answered. What is no answer is told by its kind and its `repr`, which is all that is told of it."""
    if isinstance(value, hooks.ChangeHeaders) and isinstance(cast("object", value.headers), Mapping):
        value = _headers_alone(value)
    kind = next((one for one in type(value).__mro__ if getattr(hooks, one.__name__, None) is one), None)
    if isinstance(value, msgspec.Struct) and kind is not None:
        with suppress(TypeError, ValueError):
            return {"answer": kind.__name__, "value": msgspec.to_builtins(value)}
    if isinstance(value, bool | int | float | str | None):
        return value
    try:
        seen = repr(value)
    except Exception as fault:  # noqa: BLE001 - foreign code, down to its words
        return {"strange": type(value).__name__, "raises": error_out(fault)}
    return {"strange": type(value).__name__, "repr": seen}


def _headers_alone(value: hooks.ChangeHeaders) -> hooks.ChangeHeaders:
    """What is put into a header is often a key, and a replay sends none (M1): its names stay, and what no header can bear."""
    given = cast("Mapping[str, object]", value.headers)  # foreign code made it
    bare = {name: _BEARABLE.sub(MASK, said) if isinstance(said, str) else said for name, said in given.items()}
    return msgspec.structs.replace(value, headers=bare)


def answer_in(value: Json) -> object:
    if is_object(value) and "answer" in value:
        return msgspec.convert(value["value"], getattr(hooks, str(value["answer"])))
    if is_object(value):

        def seen(_: object) -> str:
            if "raises" in value:
                raise error_in(value["raises"])
            return str(value["repr"])

        return type(str(value["strange"]), (), {"__repr__": seen})()
    return value


def redacted_out(value: object) -> Json:
    """What a redactor gave: names by secrets. What is no such thing is told by its kind alone."""
    kind = type(value).__name__
    if not isinstance(value, Mapping):
        return {"strange": kind}
    names = dict(cast("Mapping[object, object]", value))
    return {"gave": names} if all(isinstance(one, str) for pair in names.items() for one in pair) else {"strange": kind}


def redacted_in(value: Json) -> object:
    return value["gave"] if "gave" in value else type(str(value["strange"]), (), {})()


def disk_out(value: object) -> Json:
    """What a call of the disk gave."""
    match value:
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case Status(size=size, device=device, inode=inode):
            return {"status": [size, device, inode]}
        case _:
            return value


def disk_in(value: Json) -> object:
    if is_object(value):
        return base64.b64decode(value["bytes"]) if "bytes" in value else Status(*value["status"])
    return value


def error_out(error: BaseException) -> Json:
    """What was raised, as far as a session makes something of it."""
    fault = alone(error)
    if isinstance(fault, ProviderError):
        usage = None if fault.usage is None else msgspec.to_builtins(fault.usage)
        facts = {"kind": fault.kind, "status": fault.status, "retryAfterMs": fault.retry_after_ms, "usage": usage}
        return {"raised": "ProviderError", "said": str(fault), **facts}
    if isinstance(fault, OSError) and fault.errno is not None:
        name = fault.filename if isinstance(fault.filename, str) else None
        return {"raised": "OSError", "errno": fault.errno, "said": fault.strerror or "", "name": name}
    try:
        said = str(fault)
    except Exception:  # noqa: BLE001 - foreign code, down to its words
        said = "(it has no words)"
    return {"raised": type(fault).__name__, "said": said}


def error_in(value: Json) -> Exception:
    name, said = str(value["raised"]), str(value["said"])
    match name:
        case "ProviderError":
            usage = None if value["usage"] is None else msgspec.convert(value["usage"], Usage)
            return ProviderError(
                said, kind=value["kind"], status=value["status"], retry_after_ms=value["retryAfterMs"], usage=usage
            )
        case "OSError":
            return OSError(value["errno"], said, *filter(None, [value.get("name")]))
        case "InjectedCrash":
            return InjectedCrash(said)
        case "BadArguments":
            return BadArguments(said)
        case _:
            return cast("Exception", type(name, (Exception,), {})(said))
