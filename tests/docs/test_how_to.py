"""Each question that people ask in public has an entry that a reader can find, with a command or a page to go on to."""

import re

import pytest

from tests.docs.pages import page

PAGE = page("how-to.md")
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))

# Public threads by what they ask; number 1 of each list is the plainest case.
ASKED = {
    "My 4-bit model is slower than 16 bits. Why?": ["vllm#3399", "vllm#2268", "vllm#2980", "AutoAWQ#119"],
    "bitsandbytes: fast for one user, slow for two": ["vllm#22780"],
    "Quantised, and hardly smaller or faster": ["llm-compressor#2025"],
    "FP8 gives nothing, and the documentation promises 1.5 times": [
        *("vllm#16261", "sglang#11045", "vllm#16490", "vllm#9992", "vllm#7579", "AutoFP8#38"),
    ],
    "A kernel is 50 % faster, the service 10 %": ["vllm-omni#5257"],
    "Eight GPUs in 16 bits, or four in 8 bits?": ["llm-compressor#2069"],
    "Requests per second fell with fewer bits": ["vllm#19264"],
    "Which rate can each format hold?": ["vllm#5316"],
    "Prompts are long and answers short": ["vllm#21266", "vllm#20469"],
    "AWQ or GPTQ?": ["vllm#1853"],
    "A new engine version, or another image, is slower or takes more memory": [
        "vllm#15105",
        "vllm#56945",
        "vllm#55509",
    ],
    'What does "Maximum concurrency for 8,192 tokens per request: 4.61x" mean?': ["vllm#8031", "vllm#27017"],
    "KV cache size and maximum concurrency do not fit together": ["vllm#40691", "vllm#40002", "vllm#54458"],
    "Only 2 GiB are left for the KV cache": ["vllm#28228", "vllm#8185"],
    "Two engines give the same model KV caches of different sizes": ["vllm#21348"],
    "Why does a 4-bit model take as much memory as a 16-bit one?": ["vllm#15204", "vllm#822"],
    "Tensor parallel or data parallel: where is more KV cache?": ["vllm#51454"],
    "More than 100 requests never run at once": ["vllm#7241"],
    "What do Running, Waiting and 99 % KV usage mean?": ["vllm#3561"],
    "Two runs of one server differ by half": ["vllm#54227"],
    "TPOT is 875 ms, and tokens come every 45 ms": ["vllm#9722"],
    "Two tools give different TTFT or TPOT": ["tt-metal#31542", "tt-inference-server#190"],
    "99 of 100 requests failed, and the table looks normal": ["vllm#24005"],
    "TTFT jumps between 55 and 600 ms": ["vllm#3918"],
    "Median ITL is 0.02 ms": ["tt-inference-server#4681"],
}


def test_42_public_questions_have_an_entry() -> None:
    threads = [thread for found in ASKED.values() for thread in found]

    assert len(threads) == len(set(threads)) == 42
    assert set(ASKED) <= set(SECTIONS)


@pytest.mark.parametrize("heading", SECTIONS)
def test_an_entry_leads_on(heading: str) -> None:
    text = SECTIONS[heading]

    assert "```" in text or "](" in text or re.search(r"`[a-z]+_[a-z_]+`", text), (
        "neither a command, a page nor a finding"
    )
    assert len(text.split()) < 130, "an entry is read in half a minute"
