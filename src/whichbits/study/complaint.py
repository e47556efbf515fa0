"""What is wrong with a study, one line a fault: where it stands, and in plain words what belongs there."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import yaml
from pydantic_core import ErrorDetails

from whichbits.study.schema import keys_at, study_schema

Location = tuple[str | int, ...]

_WORDS = (
    (("tuple_type", "list_type"), "must be a list, such as [0, 1]"),
    (("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    (("float_type", "float_parsing"), "must be a number"),
    (("bool_type", "bool_parsing"), "must be true or false"),
    (("string_type",), "must be text; put it in quotes"),
    (("dict_type", "model_type", "model_attributes_type"), "must be keys with values, such as {key: value}"),
    (("missing",), "must be given"),
    (("too_short",), "must not be empty"),
    (("union_tag_not_found",), "must say its `kind`"),
    (("string_pattern_mismatch",), "must start with a letter or digit, and hold only these and . _ -"),
    (("invalid_key",), "keys must be words; put numbers in quotes"),
)
_PLAIN = {kind: words for kinds, words in _WORDS for kind in kinds}
_SCALARS = ("str", "int", "float", "bool")
"""Members of the type of an option, which complain one by one."""
_WHOLE, _ANY_NUMBER = "constrained-int", "constrained-float"
"""Members of the type of a number that stays whole where it is written so: the second complains of all."""
_ANY_SCALAR = "must be text, a number, true or false"


def complaints(details: Sequence[ErrorDetails], root: yaml.Node) -> list[str]:
    """Return a line for each fault, in the order of the file, what only follows from another left out."""
    details = [_in_the_file(detail) for detail in details if detail["loc"][-1:] != (_WHOLE,)]
    told = (_complaint(detail, root) for detail in details if not _only_follows(detail, details))
    return [f"line {line}: {said}" for line, said in sorted(dict.fromkeys(told), key=lambda each: each[0])]


def told_at(root: yaml.Node, location: Location, message: str) -> str:
    """Return a line of complaint about what stands at ``location``; a key of every_arm is looked for there, too."""
    line, written = _found(root, location)
    if location[0] == "arms" and location[-1] not in _keys_on(root, location):
        shared = ("every_arm", *location[2:])
        if shared[-1] in _keys_on(root, shared):
            line, written = _found(root, shared)
    return f"line {line}: {'.'.join(str(part) for part in written)}: {message}"


def _keys_on(root: yaml.Node, location: Location) -> list[str | int]:
    return [part for _, part in _steps(root, location)]


def _in_the_file(detail: ErrorDetails) -> ErrorDetails:
    """Leave out of the way to a fault the tags that only tell two ways of writing apart."""
    written = tuple(part for part in detail["loc"] if part != _ANY_NUMBER and not str(part).startswith("#"))
    return {**detail, "loc": written}


def _only_follows(detail: ErrorDetails, details: Sequence[ErrorDetails]) -> bool:
    """Return whether the fault is gone as soon as others are: a list is short of what was wrong in it."""
    if _lacks_a_model(detail):
        return any(other["loc"][:1] == ("every_arm",) for other in details)
    where = detail["loc"]
    if detail["type"] == "missing":
        return any(_means(other, where) for other in details)
    inside = (other["loc"] for other in details if len(other["loc"]) > len(where))
    return detail["type"] == "too_short" and any(location[: len(where)] == where for location in inside)


def _means(detail: ErrorDetails, key: Location) -> bool:
    """Return whether an unknown key is the one that is missing, misspelt."""
    if detail["type"] != "extra_forbidden" or detail["loc"][:-1] != key[:-1]:
        return False
    return _closest(detail["loc"]) == key[-1]


def _lacks_a_model(detail: ErrorDetails) -> bool:
    return detail["type"] == "missing" and detail["loc"][:1] == ("arms",) and detail["loc"][2:] == ("model",)


def _complaint(detail: ErrorDetails, root: yaml.Node) -> tuple[int, str]:
    """Return the line and what is wrong there."""
    location, message = detail["loc"], _message(detail)
    if location and location[-1] in _SCALARS and "options" in location:
        location, message = location[:-1], _ANY_SCALAR
    line, written = _found(root, location)
    where = ".".join(str(part) for part in written) or "the study"
    return line, f"{where}: {message}"


def _message(detail: ErrorDetails) -> str:
    match detail:
        case {"type": "extra_forbidden", "loc": location}:
            return f"unknown key{_suggestion(location)}"
        case {"type": "literal_error", "loc": ("repeats",), "input": value}:
            return f"cannot be {value!r}: a whole number, such as 3, or auto"
        case {"type": "literal_error", "ctx": {"expected": str(known)}, "input": value}:
            return _choice(value, known)
        case {"type": "union_tag_invalid", "ctx": {"expected_tags": str(known), "tag": value}}:
            return _choice(value, known)
    raw = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return _PLAIN.get(detail["type"], raw)


def _choice(value: object, known: str) -> str:
    """Return what may stand here, and first what was probably meant; ``known`` is pydantic's `'a', 'b' or 'c'`."""
    names = re.findall(r"'([^']*)'", known)
    close = get_close_matches(str(value), names, n=1)
    guess = f"; did you mean '{close[0]}'?" if close else ""
    return f"cannot be {value!r}{guess or ': one of ' + ', '.join(names)}"


def _suggestion(location: Location) -> str:
    close = _closest(location)
    known = keys_at(study_schema(), location[:-1])
    return f"; did you mean '{close}'?" if close else f"; known here: {', '.join(sorted(known))}"


def _closest(location: Location) -> str | None:
    """Return the key that was probably meant by the unknown one at ``location``."""
    close = get_close_matches(str(location[-1]), keys_at(study_schema(), location[:-1]), n=1)
    return close[0] if close else None


def _found(root: yaml.Node, location: Location) -> tuple[int, Location]:
    """Return the line of the deepest node on the way, and the way as written: tags of unions are no nodes."""
    steps = list(_steps(root, location))
    line = steps[-1][0] if steps else root.start_mark.line
    written = tuple(part for _, part in steps)
    return line + 1, written if written[-1:] == location[-1:] else (*written, location[-1])


def _steps(node: yaml.Node, location: Location) -> Iterator[tuple[int, str | int]]:
    for part in location:
        match node:
            case yaml.MappingNode():
                found = [(key, value) for key, value in node.value if key.value == str(part)]
                if found:
                    node = found[0][1]
                    yield found[0][0].start_mark.line, part
            case yaml.SequenceNode() if isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                yield node.start_mark.line, part
