"""Which attention kernel vLLM chose, under the one name that its versions print in different words."""

import re
from collections.abc import Sequence

from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import Reading

_CHOICES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^Using (?P<name>[A-Z][A-Z0-9_]+) attention backend\b",
        r"^Using (?P<name>.+?) backend on V1 engine",
        r"^Using (?:AttentionBackendEnum|_Backend)\.(?P<name>\w+) backend\b",
        r"^Using (?P<name>[A-Z][A-Z0-9_]+) backend (?:out of potential backends|\(selected via --attention-backend\))",
        r"^Using (?P<name>[A-Z0-9_]*(?:ATTN|MLA|FLASHINFER|XFORMERS|SDPA)[A-Z0-9_]*) backend\.",
    )
)
_CHOICE_BY_NAME = re.compile(r"^Using (?P<name>[\w/ -]+?) (?:attention )?backend\.")
"""Also said of other parts of the engine: only a name of an attention backend makes it the choice."""

_NAMES = {
    "flash attention": "FLASH_ATTN",
    "flashattention": "FLASH_ATTN",
    "flashattention-2": "FLASH_ATTN",
    "xformers": "XFORMERS",
    "flashinfer": "FLASHINFER",
    "rocmflashattention": "ROCM_FLASH",
    "rocm attention": "ROCM_ATTN",
    "rocm/aiter attention": "ROCM_ATTN",
    "aiter flash attention": "ROCM_AITER_FA",
    "aiter mla": "ROCM_AITER_MLA",
    "aiter unified attention": "ROCM_AITER_UNIFIED_ATTN",
    "torch sdpa": "TORCH_SDPA",
    "triton attention": "TRITON_ATTN",
    "triton mla": "TRITON_MLA",
    "flashmla": "FLASHMLA",
    "flashinfer mla": "FLASHINFER_MLA",
    "flashattn mla": "FLASH_ATTN_MLA",
    "flash attention mla": "FLASH_ATTN_MLA",
    "cutlass mla": "CUTLASS_MLA",
    "flexattention": "FLEX_ATTENTION",
    "flex attention": "FLEX_ATTENTION",
    "tree attention": "TREE_ATTN",
    "pallas": "PALLAS",
    "pallas v1": "PALLAS",
    "ipex": "IPEX",
    "ipex attention": "IPEX",
    "hpuattention": "HPU_ATTN",
    "blocksparse flash attention": "BLOCK_SPARSE_FLASH_ATTN",
}


def attention_backend(lines: Sequence[LogLine]) -> Reading | None:
    """Return the first choice; a second one belongs to other layers or to a drafter.

    Lines with the same words about samplers, vision towers, all-reduce or Mamba name no attention backend.
    """
    for line in lines:
        if not line.text.startswith("Using ") or "ackend" not in line.text:
            continue
        for text in line.readings:
            if name := _chosen(text):
                return Reading("attention_backend", name, line)
    return None


def _chosen(text: str) -> str | None:
    for choice in _CHOICES:
        if found := choice.match(text):
            return _NAMES.get(found["name"].lower(), found["name"])
    by_name = _CHOICE_BY_NAME.match(text)
    return _NAMES.get(by_name["name"].lower()) if by_name else None
