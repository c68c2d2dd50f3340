"""Values that are given away. No I/O.

A frozen value may hold JSON: a dictionary or a list, which whoever holds it can change. What foreign code is given is detached from what is
ours, and the parts that nobody can change are shared: most of what is said is text, and costs a look at its type.
"""

from __future__ import annotations

from functools import cache
from operator import is_
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import inspect

T = TypeVar("T")

_ATOMS: Final = frozenset({str, int, float, bool, bytes, type(None)})


def detached(value: T) -> T:
    """A value that shares nothing with this one that could change; the same object where nothing in it can."""
    return cast("T", _detached(value))


class Detaching(Generic[T]):
    """Detaches one tuple after the other, as `detached` does. What begins as the one before it costs what it adds, and what can change."""

    def __init__(self) -> None:
        self._last: tuple[T, ...] = ()
        self._open: list[int] = []
        """Where those stand that can change."""

    def detached(self, values: tuple[T, ...]) -> tuple[T, ...]:
        """The same values, sharing nothing with these that could change."""
        known = len(self._last)
        if known > len(values) or not all(map(is_, self._last, values)):
            self._open, known = [], 0
        copies = [*values]
        for at in self._open:
            copies[at] = detached(values[at])
        for at in range(known, len(values)):
            copies[at] = detached(values[at])
            if copies[at] is not values[at]:
                self._open.append(at)
        self._last = values
        return tuple(copies)


def _detached(value: Any) -> Any:
    kind: type = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple:
        copies: list[Any] | None = None
        for at, item in enumerate(value):
            copy = _detached(item)
            if copy is not item:
                copies = copies or [*value]
                copies[at] = copy
        return value if copies is None else tuple(copies)
    if kind is dict or kind is list:
        return _copy(value)
    changes: dict[str, Any] = {}
    for name in _open_fields(kind):
        was = getattr(value, name)
        copy = _detached(was)
        if copy is not was:
            changes[name] = copy
    return value if not changes else msgspec.structs.replace(value, **changes)


def _copy(value: Any) -> Any:
    """However deep, and each container once."""
    copies: dict[int, Any] = {id(value): value.copy()}
    todo = [copies[id(value)]]
    while todo:
        holder = todo.pop()
        for key, item in holder.items() if type(holder) is dict else enumerate(holder):
            if type(item) is dict or type(item) is list:
                if id(item) not in copies:
                    copies[id(item)] = item.copy()
                    todo.append(copies[id(item)])
                holder[key] = copies[id(item)]
            elif type(item) not in _ATOMS:
                holder[key] = _detached(item)
    return copies[id(value)]


@cache
def _open_fields(kind: type) -> tuple[str, ...]:
    """The fields of a type that may hold what can be changed; of a type that is none of ours nothing is known."""
    if not issubclass(kind, msgspec.Struct):
        return ()
    try:
        told = inspect.type_info(kind)
    except TypeError:  # no type of ours that is read: each of its fields is looked at
        return kind.__struct_fields__
    if not isinstance(told, inspect.StructType):
        return kind.__struct_fields__
    return tuple(field.name for field in told.fields if _is_open(field.type))


def _is_open(told: inspect.Type) -> bool:
    match told:
        case inspect.StructType(cls=kind):
            return bool(_open_fields(kind))
        case inspect.UnionType(types=types):
            return any(map(_is_open, types))
        case inspect.VarTupleType(item_type=item):
            return _is_open(item)
        case inspect.TupleType(item_types=items):
            return any(map(_is_open, items))
        case inspect.Metadata(type=inner):
            return _is_open(inner)
        case inspect.AnyType() | inspect.DictType() | inspect.ListType() | inspect.CustomType():
            return True
        case _:
            return False
