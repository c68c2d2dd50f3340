"""Small faults put into a source, one at a time: each must turn the source's own test file red.

1. The choice is the same each time: every nth of the places where a fault can be put.
2. A fault is a change of behaviour: a comparison turned round, a `not` dropped, an operator or a constant exchanged, nothing returned.
3. Docstrings, annotations, messages of errors and `repr`s are no behaviour.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Final, cast

SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SILENT_CALLS: Final = {"cast", "Refused", "TypeError", "ValueError", "AssertionError"}


def mutants(source: str, count: int) -> list[tuple[str, str]]:
    """`count` faulty versions of a source, spread over it, each with a line that says what was done."""
    tree = ast.parse(source)
    places = list(_places(tree))
    if not places:
        return []
    step = max(1, len(places) // count)
    return [_mutated(tree, place) for place in places[step // 2 :: step][:count]]


def _places(tree: ast.Module) -> Iterator[int]:
    """The numbers (in walking order) of nodes that can be made faulty."""
    behaviour = {id(node) for function in _functions(tree) for node in _body_nodes(function)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in behaviour and _can_break(node):
            yield number


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__repr__":
            yield node


def _body_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from _behaving(statement)


def _behaving(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, but for what is no behaviour."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SILENT_CALLS:
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # zip's own assertion
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        children = cast("list[object]", value if isinstance(value, list) else [value])
        for child in children:
            if isinstance(child, ast.AST):
                yield from _behaving(child)


def _can_break(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op]):
            return type(op) in SWAPS
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            return type(op) in SWAPS
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Constant(value=bool()):
            return True
        case ast.Return(value=value):
            return value is not None and not isinstance(value, ast.Constant)
        case _:
            return False


def _mutated(tree: ast.Module, number: int) -> tuple[str, str]:
    faulty = copy.deepcopy(tree)
    node = next(node for at, node in enumerate(ast.walk(faulty)) if at == number)
    before = ast.unparse(node)
    _break(node)
    line = getattr(node, "lineno", 0)
    return ast.unparse(ast.fix_missing_locations(faulty)), f"line {line}: {before}  →  {ast.unparse(node)}"


def _break(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [SWAPS[type(op)]()]  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            node.op = SWAPS[type(op)]()  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            node.op, node.operand = ast.Not(), ast.UnaryOp(op=ast.Not(), operand=operand)
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Return():
            node.value = ast.Constant(value=None)
        case _:
            raise AssertionError(f"nothing to break in {ast.dump(node)}")
