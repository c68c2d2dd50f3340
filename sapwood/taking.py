"""What a host hands in, checked before anything is done with it.

1. What is not what is asked for is `Refused("bad-input", …)`, a wrong type as well as a wrong value; the sentence says what to give.
2. When it is raised nothing was opened, written or published.
3. An argument that is missing, or has a name that there is not, is Python's own `TypeError`.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Final, cast, get_args

import msgspec

from sapwood.actors.agent.prepare import SystemPrompt
from sapwood.actors.environment import Environment
from sapwood.actors.session_log.capping import MOST_BYTES, too_large, too_long
from sapwood.actors.session_log.hygiene import uncontrolled
from sapwood.actors.tools.tool import AskPerson, Tool, tool
from sapwood.events.base import Json, is_array, is_object, listed
from sapwood.events.codec import why_unwritable
from sapwood.events.commands import Input
from sapwood.events.content import ImageContent
from sapwood.events.context import CounterName
from sapwood.events.copies import detached
from sapwood.events.entries import Replacement
from sapwood.events.errors import Refused, shown
from sapwood.events.hooks import Source
from sapwood.events.ids import EntryId
from sapwood.events.models import Model
from sapwood.events.runtime import Event
from sapwood.settings import Settings
from sapwood.store.port import Durability, Store

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from sapwood.actors.kernel import Tap  # who only reads sessions does not pay for trio
    from sapwood.actors.model.providers.base import Provider
    from sapwood.actors.outgoing.veil import Redactor

STORE: Final = tuple(name for name in vars(Store) if not name.startswith("_"))
"""What a store of the host's own must have: the members of the port.

`isinstance` with a `runtime_checkable` port would refuse, from Python 3.12 on, a store that hands on to another one by `__getattr__`.
"""


def take_path(path: object, what: str = "a session's file") -> str:
    """A path as text. One that is bytes is refused like anything else: what the session tells of its path is text."""
    named: object = os.fspath(cast("os.PathLike[str]", path)) if _has(path, "__fspath__") else path
    if isinstance(named, str):
        return named
    advice = ": os.fsdecode(…) makes text of it" if isinstance(named, bytes) else ""
    raise Refused("bad-input", f"{what} is named by a str or a pathlib.Path, not by {shown(path)}{advice}")


def take_folder(folder: object) -> str | None:
    """A working folder, or None for the present one. It need not be there: who looks for something in it says so."""
    if folder is None:
        return None
    path = take_path(folder, "the folder of a session")
    if not os.path.isabs(path):  # noqa: PTH117 - a plain path, as it came
        raise Refused(
            "bad-input", f"the folder of a session is absolute, for it is kept in its file: not {shown(path)}"
        )
    return path


def take_place(where: object) -> str | Store | None:
    """Where a session is kept: a path, None for memory, or a store of the host's own."""
    if where is None:
        return None
    if _has(where, *STORE):
        return cast("Store", where)
    if isinstance(where, str | bytes) or _has(where, "__fspath__"):
        return take_path(where)
    raise Refused("bad-input", f"a session is opened from a path, from None or from a Store, not from {shown(where)}")


def take_model(model: object) -> Model:
    """A model. Its fields were checked when it was made."""
    if not isinstance(model, Model):
        raise Refused("bad-input", f"a model is a sapwood.Model(provider=…, id=…), not {shown(model)}")
    return model


def take_providers(providers: object) -> dict[str, Provider]:
    """The providers by the names under which models speak of them."""
    given = listed(providers)
    if given is None:
        raise Refused("bad-input", f"providers is a list of providers, not {shown(providers)}")
    taken: dict[str, Provider] = {}
    for one in given:
        if not _has(one, "id", "stream"):
            raise Refused("bad-input", f"a provider is an object with an id and a stream(request), not {shown(one)}")
        provider = cast("Provider", one)
        if not _is_text(provider.id):
            raise Refused("bad-input", f"the id of a provider is text, not {shown(provider.id)}")
        if provider.id in taken:
            raise Refused("bad-input", f"two providers are called {provider.id!r}: models could not tell them apart")
        taken[provider.id] = provider
    return taken


def take_system_prompt(prompt: object) -> SystemPrompt | None:
    """A system prompt; text is its preamble, and None leaves the session's own as it is."""
    if isinstance(prompt, str):
        return SystemPrompt(preamble=prompt)
    if prompt is not None and not isinstance(prompt, SystemPrompt):
        raise Refused("bad-input", f"a system prompt is text or a sapwood.SystemPrompt, not {shown(prompt)}")
    return prompt


def take_tools(tools: object) -> dict[str, Tool] | None:
    """Tools by their names, as they are told; a plain function is made one. None: the host says nothing of tools."""
    if tools is None:
        return None
    given = listed(tools)
    if given is None:
        raise Refused("bad-input", f"tools is a list of functions and tools, not {shown(tools)}")
    taken: dict[str, Tool] = {}
    for one in given:
        if not isinstance(one, Tool) and not callable(one):
            raise Refused("bad-input", f"a tool is a function with typed arguments, not {shown(one)}")
        made = one if isinstance(one, Tool) else tool(one)
        if made.name in taken:
            raise Refused("bad-input", f"two tools are called {made.name!r}: a call could not tell them apart")
        taken[made.name] = made
    return taken


def take_ask(ask: object) -> AskPerson:
    """How a tool asks the person; without one whoever asks is refused."""
    if ask is None:
        return _nobody
    if not callable(ask):
        raise Refused("bad-input", f"ask is an async function of a question, not {shown(ask)}")
    return cast("AskPerson", ask)


async def _nobody(question: str, /) -> str:
    raise Refused(
        "bad-input", f"nobody can be asked here (open_session has no ask=…), and this was to be: {question:.200}"
    )


def take_settings(settings: object) -> Settings:
    """How a session behaves."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise Refused("bad-input", f"settings is a sapwood.Settings, not {shown(settings)}")
    return settings


def take_redactor(redactor: object) -> Redactor | None:
    """What finds the secrets of a text, or nothing."""
    if redactor is not None and not callable(redactor):
        raise Refused("bad-input", f"redactor is a function from a text to {{secret: name}}, not {shown(redactor)}")
    return cast("Redactor | None", redactor)


def take_tracer(tracer: object) -> Tracer | None:
    """A tracer of OpenTelemetry's, or none."""
    if tracer is not None and not _has(tracer, "start_span"):
        raise Refused("bad-input", f"a tracer is OpenTelemetry's, with a start_span, not {shown(tracer)}")
    return cast("Tracer | None", tracer)


def take_environment(environment: object) -> Environment:
    """The outside world: the real one, unless the host has another."""
    if environment is None:
        return Environment()
    if not isinstance(environment, Environment):
        raise Refused("bad-input", f"an environment is a sapwood.Environment, not {shown(environment)}")
    return environment


def take_counter(counter: object) -> CounterName:
    """The name of what counts tokens (T1)."""
    if counter not in get_args(CounterName):
        known = ", ".join(map(repr, get_args(CounterName)))
        raise Refused("bad-input", f"a counter is one of {known}, not {shown(counter)}")
    return cast("CounterName", counter)


def take_tap(tap: object) -> Tap | None:
    """A tap, or none."""
    if tap is not None and not _has(tap, "receipt", "operation"):
        raise Refused("bad-input", f"a tap is an object with a receipt and an operation, not {shown(tap)}")
    return cast("Tap | None", tap)


def take_session_id(session_id: object) -> str | None:
    """An id for a new session, if the host has one; whether it is a good one is seen when it is needed."""
    if session_id is not None and not isinstance(session_id, str):
        raise Refused("bad-input", f"a session id is text, not {shown(session_id)}")
    return session_id


def take_durability(durability: object) -> Durability:
    """What an acknowledged entry survives (S5)."""
    if durability not in get_args(Durability):
        raise Refused("bad-input", f"a durability is 'os' or 'disk', not {shown(durability)}")
    return cast("Durability", durability)


def take_flag(flag: object, what: str) -> bool:
    """Yes or no."""
    if not isinstance(flag, bool):
        raise Refused("bad-input", f"{what} is True or False, not {shown(flag)}")
    return flag


def take_names(names: object) -> tuple[str, ...]:
    """Names of tools."""
    given = listed(names)
    if given is None or not all(isinstance(one, str) for one in given):
        raise Refused("bad-input", f"tools are set by a list of their names, not by {shown(names)}")
    return cast("tuple[str, ...]", given)


def take_text(text: object, what: str) -> str:
    """Text that can be written."""
    if not _is_text(text):
        raise Refused("bad-input", f"{what} is text, not {shown(text)}")
    return cast("str", text)


def take_replacement(replacement: object) -> Replacement | None:
    """What an entry is shown as, or None to hide it."""
    if replacement is not None and not isinstance(replacement, Replacement):
        raise Refused("bad-input", f"an edit has a Replacement, or None, not {shown(replacement)}")
    return detached(replacement)


def take_json(value: object) -> Json:
    """A copy of what can be written as JSON: whoever gave it may change it later."""
    what = _no_json(value)
    if what is not None:
        raise Refused("bad-input", f"what is kept in the log is JSON, and {what} is none")
    try:
        copy: Json = msgspec.to_builtins(value)
        why_not = why_unwritable(copy)
        if why_not is None and (too_much := too_large(copy)) is not None:
            raise Refused("bad-input", too_much)
        if why_not is None:
            return msgspec.json.decode(msgspec.json.encode(copy))
    except (TypeError, ValueError, RecursionError, OverflowError) as fault:
        why_not = str(fault)
    raise Refused("bad-input", f"what is kept in the log is JSON, and this is not: {why_not}")


def _no_json(value: object) -> str | None:
    """What of it would be kept as something else: a key that is no text, bytes, a number that is none."""
    try:
        todo: list[Json] = [msgspec.to_builtins(value, builtin_types=(bytes, bytearray))]
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None  # what writes it says why
    while todo:
        one = todo.pop()
        if is_object(one):
            if strange := [key for key in cast("dict[object, Json]", one) if not isinstance(key, str)]:
                return f"the key {shown(strange[0])}"
            todo.extend(one.values())
        elif is_array(one):
            todo.extend(one)
        elif isinstance(one, bytes | bytearray) or (isinstance(one, float) and not math.isfinite(one)):
            return shown(one)
    return None


def take_event(event: object) -> Event:
    """An event of the vocabulary."""
    if not isinstance(event, get_args(Event)):
        raise Refused("bad-input", f"an event is one of those in sapwood.events.runtime, not {shown(event)}")
    return cast("Event", event)


def take_since(since: object) -> int | None:
    """The number of an event, or None."""
    if since is not None and (isinstance(since, bool) or not isinstance(since, int)):
        raise Refused("bad-input", f"since is the number of an event, not {shown(since)}")
    return since


def take_input(text: object, images: object, *, entry_id: EntryId, now_ms: int, source: Source = "host") -> Input:
    """An input that can be written and read back, and that has something in it: blank text alone would not be sent (P5).

    Half a character is replaced, and control characters go; a text that is longer than the log takes is refused whole (S12).
    """
    if not isinstance(text, str):
        raise Refused("bad-input", f"an input is a text and images, and its text is a str, not {shown(text)}")
    seen = take_images(images)
    size = too_long(text)
    if size is not None:
        raise Refused("bad-input", f"an input has at most {MOST_BYTES:,} bytes, and this one has {size:,}: name a file")
    said = uncontrolled(text)
    if not said.strip() and not seen:
        raise Refused("bad-input", "an input is a text and images: there is neither in this one")
    return Input(entry_id=entry_id, text=said, images=seen, timestamp=now_ms, source=source)


def take_images(images: object) -> tuple[ImageContent, ...]:
    """Images that can be written and read back."""
    taken = listed(images)
    if taken is None:
        raise Refused("bad-input", f"an input is a text and images, a list of ImageContent, not {shown(images)}")
    for one in taken:
        if not isinstance(one, ImageContent):
            raise Refused(
                "bad-input", f"an input is a text and images, and an image is an ImageContent, not {shown(one)}"
            )
        for field, value in (("data", one.data), ("mime_type", one.mime_type)):
            if not _is_text(value):
                raise Refused(
                    "bad-input", f"an input is a text and images, and {field} of an image is text, not {shown(value)}"
                )
    return cast("tuple[ImageContent, ...]", taken)


def _is_text(value: object) -> bool:
    """Whether it is text that can be written: half a character cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has(value: object, *names: str) -> bool:
    """Whether an object, and not a class, has these."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)
