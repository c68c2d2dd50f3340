"""Small faults put into a source, one at a time: each must turn the source's own test file red.

1. The choice is the same each time: every nth of the places where a fault can be put.
2. A fault is a change of behaviour: a comparison turned round, a `not` dropped, an operator or a constant exchanged,
   nothing returned, a statement of a branch left out.
3. Docstrings, annotations, messages of errors and `repr`s are no behaviour.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Collection, Iterator
from typing import Final, cast

import attrs

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
SILENT_CALLS: Final = {"cast", "Refused", "TypeError", "ValueError", "AssertionError", "assert_never"}


@attrs.frozen
class Mutant:
    """A faulty version of a source."""

    line: int
    text: str
    """The whole source, faulty."""
    diff: str


def mutants(source: str, count: int, leave: Collection[str] = ()) -> list[Mutant]:
    """`count` faulty versions of a source, spread over it; lines whose text is in `leave` are left alone."""
    tree = ast.parse(source)
    lines = [line.strip() for line in source.splitlines()]
    places = [number for number, node in _places(tree) if lines[_line(node) - 1] not in leave]
    if not places:
        return []
    step = max(1, len(places) // count)
    return [_mutated(tree, place) for place in places[step // 2 :: step][:count]]


def _line(node: ast.AST) -> int:
    return cast("int", getattr(node, "lineno", 1))


def _places(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """The nodes that can be made faulty, with their numbers in walking order, from the top of the file to its end."""
    behaviour = {id(node) for function in _functions(tree) for node in _body_nodes(function)}
    branches = {id(statement) for node in ast.walk(tree) for statement in _branch(node)}
    found = [
        (number, node)
        for number, node in enumerate(ast.walk(tree))
        if id(node) in behaviour and (_can_break(node) or (id(node) in branches and _can_leave_out(node)))
    ]
    yield from sorted(found, key=lambda place: (_line(place[1]), place[0]))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in {"__repr__", "__str__"}:
            yield node


def _body_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from _behaving(statement)


def _behaving(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, but for what is no behaviour."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in {"__repr__", "__str__"}:
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


def _branch(node: ast.AST) -> list[ast.stmt]:
    """The statements that run only sometimes."""
    match node:
        case ast.If(body=body, orelse=other) | ast.For(body=body, orelse=other):
            return [*body, *other]
        case ast.match_case(body=body) | ast.ExceptHandler(body=body):
            return body
        case _:
            return []


def _can_leave_out(node: ast.AST) -> bool:
    """Statements for their effect; without a plain assignment every later line fails, which tells nothing."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.Await()):
            return not (isinstance(node.value, ast.Call) and _is_silent(node.value))
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Continue():
            return True
        case _:
            return False


def _is_silent(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in SILENT_CALLS


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
        case ast.Return(value=ast.Constant(value=value)):
            return isinstance(value, int | str) and not isinstance(value, bool)
        case ast.Return(value=value):
            return value is not None
        case _:
            return False


def _mutated(tree: ast.Module, number: int) -> Mutant:
    faulty = copy.deepcopy(tree)
    node = next(node for at, node in enumerate(ast.walk(faulty)) if at == number)
    faulty = cast("ast.Module", _LeaveOut(node).visit(faulty)) if _can_leave_out(node) else _broken(faulty, node)
    before, after = ast.unparse(tree), ast.unparse(ast.fix_missing_locations(faulty))
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return Mutant(_line(node), after, "\n".join(list(diff)[2:]))


@attrs.define
class _LeaveOut(ast.NodeTransformer):
    left_out: ast.AST

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.Pass() if node is self.left_out else self.generic_visit(node)


def _broken(tree: ast.Module, node: ast.AST) -> ast.Module:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [SWAPS[type(op)]()]  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            node.op = SWAPS[type(op)]()  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            node.op, node.operand = ast.Not(), ast.UnaryOp(op=ast.Not(), operand=operand)
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Return(value=ast.Constant(value=int(value))):
            node.value = ast.Constant(value=value + 1)
        case ast.Return(value=ast.Constant(value=str(value))):
            node.value = ast.Constant(value=value + "?")
        case ast.Return():
            node.value = ast.Constant(value=None)
        case _:
            raise AssertionError(f"nothing to break in {ast.dump(node)}")
    return tree
