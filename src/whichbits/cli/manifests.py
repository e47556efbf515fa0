"""``whichbits run STUDY --print-manifests``: what a cluster must be told to serve the study's arms."""

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from whichbits.errors import BadInput
from whichbits.language.language import Language
from whichbits.language.phrase import phrase
from whichbits.serve.kubernetes.manifests import Images, as_yaml, manifests
from whichbits.serve.kubernetes.manifests.environment import SECRET, secret_names
from whichbits.study.model import Study
from whichbits.study.read import quickstart, read_study


def print_manifests(path: Path | None, image: str | None, driver_image: str | None, spoken: Language) -> int:
    """Write the study's manifests to stdout, and to stderr which secrets they refer to."""
    study = quickstart() if path is None else read_study(path)
    images = Images(driver=driver_image) if image is None else Images(image, driver_image)
    sys.stdout.write(as_yaml(manifests(study, images)))
    _tell_of_secrets(study, spoken)
    return 0


def refuse_images(*images: str | None) -> None:
    """Raise BadInput if an image is named for a run, which starts no containers."""
    if any(images):
        raise BadInput(
            "images_without_manifests",
            "an image is named, and no manifests are asked for",
            why="whichbits starts no containers itself: --image and --driver-image go into manifests",
            fix="add --print-manifests, or leave the image out",
        )


def _tell_of_secrets(study: Study, spoken: Language) -> None:
    arms = study.arms.values()
    keys = [arm.target.api_key_variable for arm in arms if arm.target is not None]
    names = dict.fromkeys([*(name for arm in arms for name in secret_names(arm)), *(key for key in keys if key)])
    if names:
        literals = " ".join(f"--from-literal={name}=..." for name in names)
        command = f"kubectl create secret generic {SECRET} {literals}"
        said = phrase("The pods wait for a Secret: {command}", command=command)
        Console(stderr=True).print(Text(spoken.say(said)), soft_wrap=True)
