"""Whether an interpreter's Python and packages are what its vLLM requires."""

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from whichbits.doctor.builds import TORCH_FAMILY, wheel_index
from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.doctor.interpreter import Distribution, Interpreter
from whichbits.doctor.releases import accepted_pythons, known_releases, releases_for
from whichbits.language.amounts import amount
from whichbits.study.model import Study

_FIRST_RELEASE = (0, 2)


def check_python(patient: Patient) -> Iterator[Diagnosis]:
    """Hold each interpreter's Python against what its vLLM, or the one that the study wants, accepts."""
    for interpreter in patient.interpreters:
        yield _python(interpreter, patient.study)


def check_release(patient: Patient) -> Iterator[Diagnosis]:
    """Hold each vLLM against the releases that this program was made for."""
    for interpreter in patient.interpreters:
        yield from _release(interpreter)


def _release(interpreter: Interpreter) -> Iterator[Diagnosis]:
    """Say that a release is outside of those known; a checkout without tags calls itself 0.1.dev, and says nothing."""
    engine, version = interpreter.engine, interpreter.engine_version
    if engine is None or version is None or version.release[:2] < _FIRST_RELEASE:
        return
    oldest, newest = known_releases()
    if version.release[:2] > newest.release:
        yield Diagnosis(
            "engine_newer",
            "note",
            interpreter.path,
            f"{engine.name} {engine.version} is newer than {newest}, the newest that this whichbits knows",
            why="flags, lines of its log and names of metrics change between releases; what is not found is left out, "
            "and predictions go by the newest known",
            fix=f"look for a newer whichbits, or serve with vLLM {oldest} to {newest}",
        )
    elif version.release[:2] < oldest.release:
        yield Diagnosis(
            "engine_older",
            "note",
            interpreter.path,
            f"{engine.name} {engine.version} is older than {oldest}, the oldest that this whichbits knows",
            why="its flags, log and metrics were never read here: a start may be refused, and facts may be missing",
            fix=f"serve with vLLM {oldest} to {newest}",
        )
    else:
        yield good(
            "engine",
            interpreter.path,
            f"{engine.name} {engine.version} is one of {oldest} to {newest}, which are known",
        )


def _python(interpreter: Interpreter, study: Study | None) -> Diagnosis:
    subject, found = interpreter.path, f"Python {interpreter.version}"
    engine = interpreter.engine
    if engine is None:
        return _without_engine(interpreter, study)
    wanted = engine.requires_python
    if wanted is None or interpreter.version in SpecifierSet(wanted):
        return good("python", subject, f"{found}, {engine.name} {engine.version}")
    return Diagnosis(
        "python_refused",
        "problem",
        subject,
        f"{found}, but {engine.name} {engine.version} accepts {wanted} only",
        why="it was installed past pip's check, or Python was changed under it",
        fix=f"make an environment with a Python of {wanted} and install {engine.name} there",
    )


def _without_engine(interpreter: Interpreter, study: Study | None) -> Diagnosis:
    found = f"Python {interpreter.version} without vLLM"
    wanted = None if study is None else study.engine_version
    if wanted is not None and interpreter.version not in (accepts := accepted_pythons(Version(wanted))):
        return Diagnosis(
            "python_refused",
            "problem",
            interpreter.path,
            f"{found}; vLLM {wanted}, which the study names, accepts Python {accepts} only",
            why="pip then finds no matching distribution, however the version is written",
            fix=f"take what Python {interpreter.version} can have ({_releases(interpreter.version)}), "
            f"or a Python of {accepts}",
        )
    can = _releases(interpreter.version)
    return Diagnosis(
        "engine_missing",
        "problem" if interpreter.users else "note",
        interpreter.path,
        found,
        why="vLLM lives in an environment of its own, since it pins torch and much else",
        fix=f"name the interpreter that has it, or install one there (this Python can have {can})",
    )


def _releases(python: str) -> str:
    """Return the newest stretch of releases: older ones that say no upper bound pin a torch that has no wheel."""
    stretches = releases_for(python)
    if not stretches:
        return "none"
    (first, end), (_, newest) = stretches[-1], known_releases()
    if end is None:
        return f"any vLLM from {first} on, of which {newest} is the newest known here"
    return f"vLLM from {first} to the last before {end}"


def check_requirements(patient: Patient) -> Iterator[Diagnosis]:
    """Hold what each vLLM requires against what is there."""
    for interpreter in patient.interpreters:
        if interpreter.engine is not None:
            yield from _requirements(interpreter, interpreter.engine)


def _requirements(interpreter: Interpreter, engine: Distribution) -> Iterator[Diagnosis]:
    required = [need for text in engine.requires if (need := _needed(text, interpreter)) is not None]
    missing = [need for need in required if _held(interpreter, need.name) is None]
    wrong = [need for need in required if _is_wrong(need, _held(interpreter, need.name))]
    absent = [need for need in missing if need.name in TORCH_FAMILY]
    if absent:
        yield _missing_torch(interpreter, engine, absent)
    yield from (_wrong_version(interpreter, engine, need) for need in wrong if need.name in TORCH_FAMILY)
    others = [f"{need.name} (missing)" for need in missing if need.name not in TORCH_FAMILY]
    others += [f"{need.name} {_held(interpreter, need.name)}" for need in wrong if need.name not in TORCH_FAMILY]
    if others:
        yield _other_requirements(interpreter, engine, others)
    if not missing and not wrong:
        yield good(
            "requirements",
            interpreter.path,
            f"nothing that {engine.name} requires is missing ({amount(len(required), 'requirement')})",
        )


def _needed(text: str, interpreter: Interpreter) -> Requirement | None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    environment = {**interpreter.markers, "extra": ""}
    return requirement if requirement.marker is None or requirement.marker.evaluate(environment) else None


def _held(interpreter: Interpreter, name: str) -> str | None:
    found = interpreter.distributions.get(name) or interpreter.distributions.get(name.lower().replace("_", "-"))
    return None if found is None else found.version


def _is_wrong(requirement: Requirement, held: str | None) -> bool:
    """Compare with the build only where the requirement names one: 2.8.0+cu128 is a 2.8.0."""
    if held is None:
        return False
    names_build = any("+" in clause.version for clause in requirement.specifier)
    return not requirement.specifier.contains(held if names_build else held.partition("+")[0], prereleases=True)


def _missing_torch(interpreter: Interpreter, engine: Distribution, absent: list[Requirement]) -> Diagnosis:
    names, written = [need.name for need in absent], [_written(need) for need in absent]
    quoted = " ".join(f"'{need}'" for need in written)
    return Diagnosis(
        "requirement_missing",
        "note" if interpreter.on_cpu and "torch" not in names else "problem",
        interpreter.path,
        f"missing: {', '.join(names)}; {engine.name} {engine.version} requires {', '.join(written)}",
        why="vLLM imports models that a server never uses, and the import ends the engine's start; "
        "uninstalling a package whose CUDA clashes is the usual way here",
        fix=f"pip install {quoted} --index-url https://download.pytorch.org/whl/{wheel_index(interpreter)}",
    )


def _wrong_version(interpreter: Interpreter, engine: Distribution, need: Requirement) -> Diagnosis:
    return Diagnosis(
        "requirement_broken",
        "problem",
        interpreter.path,
        f"{need.name} {_held(interpreter, need.name)} is installed, and {engine.name} {engine.version} requires "
        f"{_written(need)}",
        why="another package was installed later and brought its own; compiled extensions do not survive that",
        fix=f"pip install '{_written(need)}' --index-url https://download.pytorch.org/whl/{wheel_index(interpreter)}",
    )


def _other_requirements(interpreter: Interpreter, engine: Distribution, others: list[str]) -> Diagnosis:
    shown = ", ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
    return Diagnosis(
        "requirements_unmet",
        "note",
        interpreter.path,
        f"{amount(len(others), 'requirement')} of {engine.name} not met: {shown}",
        why="some are for features that a server may never use; one that is used ends the start",
        fix="if a start fails with an import error, install what it names",
    )


def _written(need: Requirement) -> str:
    return f"{need.name}{need.specifier}"
