"""``whichbits run STUDY --print-manifests``: what a cluster must be told to serve the study's arms."""

import sys
from pathlib import Path

import yaml
from rich.console import Console
from rich.text import Text

from whichbits.errors import BadInput
from whichbits.serve.kubernetes.manifests import Images, manifests
from whichbits.serve.kubernetes.manifests.environment import SECRET, secret_names
from whichbits.study.model import Study
from whichbits.study.read import read_study


def print_manifests(path: Path | None, image: str | None, driver_image: str | None) -> int:
    """Write the study's manifests to stdout, and to stderr which secrets they refer to."""
    if path is None:
        raise BadInput(
            "no_study",
            "--print-manifests needs a study",
            why="the quickstart is not served by vLLM",
            fix="name one, such as studies/a100-two-replicas.yaml",
        )
    study = read_study(path)
    images = Images(driver=driver_image) if image is None else Images(image, driver_image)
    yaml.safe_dump_all(manifests(study, images), sys.stdout, sort_keys=False, allow_unicode=True)
    _tell_of_secrets(study)
    return 0


def _tell_of_secrets(study: Study) -> None:
    arms = study.arms.values()
    keys = [arm.target.api_key_variable for arm in arms if arm.target is not None]
    names = dict.fromkeys([*(name for arm in arms for name in secret_names(arm)), *(key for key in keys if key)])
    if names:
        literals = " ".join(f"--from-literal={name}=..." for name in names)
        said = f"The pods wait for a Secret: kubectl create secret generic {SECRET} {literals}"
        Console(stderr=True).print(Text(said), soft_wrap=True)
