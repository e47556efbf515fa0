"""Every text that the program tells without knowing the language: of errors, of the doctor, of what a file means."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.language.phrases_in_source import SOURCE
from whichbits.errors import WhichbitsError
from whichbits.language.language import has_words

ERRORS = {"WhichbitsError", *(kind.__name__ for kind in WhichbitsError.__subclasses__())}
PLACES = {
    **dict.fromkeys(ERRORS, (1, "why", "fix")),
    "Diagnosis": (2, 3, "found", "why", "fix"),
    "good": (1, 2, "found"),
    "unknown": (1, 2, "found"),
    "_dead": (0, 1),
    "_target": (0,),
    "stage.writer.note": (0,),
    "writer.note": (0,),
    "notes.append": (0,),
    "Notice": (0,),
    "Pace": (4,),
    "Decision": (0,),
}
"""Where calls are given texts: by place, or by name."""
WORDINGS = {
    "doctor/cards.py": ("_UNQUANTISED",),
    "report/inspection/meanings.py": ("_OF_STARTS", "_OF_FILES", "_OF_BENCHMARKS", "_OF_SPEED"),
    "drive/answer/failure.py": ("MEANINGS",),
    "record/definitions.py": ("DEFINITIONS", "_CLIENT_TOKENS"),
    "study/complaint.py": ("_WORDS", "_ANY_SCALAR"),
    "analyze/comparison/comparison.py": ("THIN", "NO_LOAD", "_NOT_TOLD"),
    "serve/mock/facts.py": ("DEVICE",),
    "arms/gpus.py": ("_OPERANDS",),
    "conduct/self_test/result.py": ("_WHY_ENDED",),
    "predict/deployment/kernels.py": ("note",),
}
"""Modules whose named texts are told as they are."""
RETURNED = {
    "cli/misuse.py": ("_kind",),
    "study/complaint.py": ("_message", "_choice", "_suggestion"),
    "analyze/curves/meaning.py": ("_refusal",),
    "analyze/comparison/sides.py": ("refusal", "_different_work"),
    "arms/layers.py": ("_why_kept", "_misfit"),
    "conduct/self_test/result.py": ("_sentence", "_why"),
    "doctor/builds.py": ("_unended",),
    "doctor/packages.py": ("_releases",),
    "plan/fleets.py": ("binding",),
    "predict/shipped.py": ("__str__",),
    "serve/kubernetes/pods.py": ("_change", "_change_of_one"),
    "serve/kubernetes/fleet.py": ("_silent",),
}
"""Functions whose returned texts are told as they are."""


WHOLE = ("conduct/searching/choice.py", "conduct/searching/standing.py", "conduct/searching/repeat_search.py")
"""Modules of which every text may be told."""


@dataclass(frozen=True)
class _Module:
    """A module, and where its names and the parameters of its functions get their texts from."""

    tree: ast.Module

    def values(self, name: str) -> Iterator[ast.expr]:
        """Yield what a name is assigned, and what calls in the module give as a parameter of that name."""
        functions = {}
        for node in ast.walk(self.tree):
            match node:
                case ast.Assign(targets=[*targets], value=value) if name in map(ast.unparse, targets):
                    yield value
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                    yield from (each for to, each in zip(names, values, strict=True) if ast.unparse(to) == name)
                case ast.FunctionDef(args=ast.arguments(args=arguments, kwonlyargs=named)):
                    places = [each.arg for each in arguments]
                    if name in places or name in [each.arg for each in named]:
                        functions[node.name] = places.index(name) if name in places else None
        yield from self._given(functions, name)

    def _given(self, functions: dict[str, int | None], name: str) -> Iterator[ast.expr]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                place = functions[node.func.id]
                yield from node.args[place : place + 1] if place is not None else ()
                yield from (word.value for word in node.keywords if word.arg == name)


def texts() -> dict[str, str]:
    """Return each template with the module in which it stands."""
    return {
        template: path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        for template in _of_module(path)
        if has_words(template)
    }


def _of_module(path: Path) -> Iterator[str]:
    name, module = path.relative_to(SOURCE).as_posix(), _Module(ast.parse(path.read_text(encoding="utf-8")))
    for value in _all_texts(module.tree) if name in WHOLE else ():
        yield from _templates(value, module)
    for node in ast.walk(module.tree):
        yield from _of_node(node, name, module)


def _of_node(node: ast.AST, name: str, module: _Module) -> Iterator[str]:
    match node:
        case ast.Call(func=called) if (name_called := _dotted(called)) in PLACES:
            for value in _given(node, PLACES[name_called]):
                yield from _templates(value, module)
        case ast.Assign(targets=[ast.Name(id=named)], value=value) if named in WORDINGS.get(name, ()):
            yield from _constants(value)
        case ast.AnnAssign(target=ast.Name(id=named), value=ast.expr() as value) if named in WORDINGS.get(name, ()):
            yield from _constants(value)
        case ast.FunctionDef(name=named) if named in RETURNED.get(name, ()):
            for each in ast.walk(node):
                if isinstance(each, ast.Return | ast.Yield) and each.value is not None:
                    yield from _templates(each.value, module)


def _dotted(called: ast.expr) -> str:
    """Return what is called, as it is written; nothing where it is no name."""
    match called:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{_dotted(value)}.{attribute}"
        case _:
            return ""


def _all_texts(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the texts of a module that have more than one word, but for what documents it."""
    written = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for text in written for part in ast.walk(text)}
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from written
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text.strip() and id(node) not in parts | documents:
                yield node


def _constants(value: ast.expr) -> Iterator[str]:
    """Yield the texts in a structure, but for keys and codes, which have no space."""
    for each in ast.walk(value):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and " " in each.value:
            yield _escaped(each.value)


def _given(call: ast.Call, places: tuple[int | str, ...]) -> Iterator[ast.expr]:
    for place in places:
        if isinstance(place, int):
            yield from call.args[place : place + 1]
        else:
            yield from (word.value for word in call.keywords if word.arg == place)


def _templates(value: ast.expr, module: _Module, depth: int = 0) -> Iterator[str]:
    """Yield the templates that an expression can be, and those of the texts within its fields."""
    match value:
        case ast.Constant(value=str(text)):
            yield _escaped(text)
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            yield from _written_out(value, module, depth)
        case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other]):
            yield from _templates(one, module, depth)
            yield from _templates(other, module, depth)
        case ast.Call(func=ast.Attribute(attr="join"), args=[ast.GeneratorExp(elt=each)]):
            yield from _templates(each, module, depth)
        case ast.Name(id=name) if depth < 2:
            for each in module.values(name):
                yield from _templates(each, module, depth + 1)


def _written_out(value: ast.expr, module: _Module, depth: int) -> Iterator[str]:
    fields: dict[str, str] = {}
    yield "".join(_written(part, fields) for part in _parts(value))
    for part in _parts(value):
        if not isinstance(part, ast.Constant):
            yield from _within(part, module, depth)


def _within(part: ast.expr, module: _Module, depth: int) -> Iterator[str]:
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(inner, ast.IfExp | ast.BoolOp | ast.Name):
        yield from _templates(inner, module, depth + 1)


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.JoinedStr(values=values):
            yield from values
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _parts(left)
            yield from _parts(right)
        case _:
            yield value


def _written(part: ast.expr, fields: dict[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return _escaped(str(part.value))
    source = ast.unparse(part.value if isinstance(part, ast.FormattedValue) else part)
    return "{" + fields.setdefault(source, f"{_name(part)}{len(fields) or ''}") + "}"


def _name(part: ast.expr) -> str:
    """Return a word for a field: the last name in its expression."""
    named = [each for each in ast.walk(part) if isinstance(each, ast.Name | ast.Attribute)]
    words = [each.attr if isinstance(each, ast.Attribute) else each.id for each in named]
    return words[0].strip("_").lower() if words else "value"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
