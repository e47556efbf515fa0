"""A GGUF file as OpenVINO's own model folder: made once, because parsing GGUF takes most of a start."""

import shutil
import tempfile
from pathlib import Path

import openvino_genai


def folder_of(gguf: Path) -> Path:
    """Return where the OpenVINO form of a GGUF file lies, made or not."""
    return gguf.with_suffix(".openvino")


def openvino_folder(gguf: Path) -> Path:
    """Return the folder of ``gguf``'s OpenVINO form, beside it; convert if it is missing or older.

    The folder appears under its name only when it is complete, so that a kill leaves nothing half-made.
    """
    folder = folder_of(gguf)
    if folder.exists() and folder.stat().st_mtime < gguf.stat().st_mtime:
        shutil.rmtree(folder)
    if not folder.exists():
        _convert(gguf.resolve(), folder)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".openvino-"))
    try:
        link = unfinished / "model.gguf"
        link.symlink_to(gguf)
        # The property makes the reader write openvino_*.xml beside the file that it is given.
        openvino_genai.Tokenizer(link, enable_save_ov_model=True)
        smallest = openvino_genai.SchedulerConfig()
        smallest.num_kv_blocks = 1
        openvino_genai.ContinuousBatchingPipeline(
            link,
            openvino_genai.Tokenizer(unfinished),
            smallest,
            "CPU",
            enable_save_ov_model=True,
            # What it compiles is thrown away; bfloat16 would end the process on one core with AMX.
            INFERENCE_PRECISION_HINT="f32",
        )
        link.unlink()
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
