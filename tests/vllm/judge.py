"""What a model answers in vLLM, for its own interpreter: greedy tokens, and how it takes a given text.

    python judge.py MODEL

Prints one JSON object: ``text`` of the greedy answer, ``best`` (the likeliest token at each place of the given text)
and ``surprise`` (mean negative log-probability of the text's own tokens, in nats).
"""

import json
import sys

TEXT = (
    "The history of the city begins with a small village on the bank of the river. In the early years, the people who "
    "lived there were farmers and fishermen. They built houses of wood and stone, and in the middle of the village "
    "they built a church. When the railway came, the village grew into a town, and the town became an important "
    "centre of trade. Today it is known for its university, its museums, and its beautiful old bridges."
)


def main(model: str) -> None:
    from vllm import LLM, SamplingParams

    llm = LLM(model, enforce_eager=True, max_model_len=256, max_num_seqs=2, gpu_memory_utilization=0.2)
    asked = SamplingParams(temperature=0, max_tokens=8, prompt_logprobs=1)
    answered, given = llm.generate(["The capital of France is", TEXT], asked)
    places = [
        (token, place) for token, place in zip(given.prompt_token_ids, given.prompt_logprobs, strict=True) if place
    ]
    told = {
        "text": answered.outputs[0].text,
        "best": [min(place, key=lambda one: place[one].rank) for _, place in places],
        "surprise": -sum(place[token].logprob for token, place in places) / len(places),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
