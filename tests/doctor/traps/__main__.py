"""Make the traps under a folder and print what the doctor says of each, as a table for docs/doctor.md.

python -m tests.doctor.traps /tmp/traps [--large]
"""

import sys
from pathlib import Path

from tests.doctor.traps.recipes import TRAPS, doctor_on


def main(folder: Path, *, large: bool) -> None:
    print("| trap | what the doctor says |\n|---|---|")
    for number, trap in enumerate(each for each in TRAPS if large or not each.is_large):
        found = doctor_on(trap.make(folder / str(number)))
        said = [f"`{code}`: {each['found']}" for code in trap.finds for each in found.get(code, [])]
        print(f"| {trap.name} | {'<br>'.join(said) or 'nothing'} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), large="--large" in sys.argv)
