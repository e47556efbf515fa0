"""The field reports as study files, read once."""

from pathlib import Path

from whichbits.study.read import read_study

_FOLDER = Path(__file__).parents[2] / "studies"
SEED_L4 = read_study(_FOLDER / "seed-l4.yaml")
SEED_A100 = read_study(_FOLDER / "seed-a100.yaml")
