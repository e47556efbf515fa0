"""What the flags of ``whichbits load`` amount to: an ordinary study with one arm that runs already."""

import asyncio
import math
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml

from whichbits.errors import BadInput
from whichbits.serve.attached import api_key, served_models
from whichbits.study.address import plain_address
from whichbits.study.arm import ServersThatRun
from whichbits.study.model import Study
from whichbits.study.read import parse_study

ARM = "server"
_LOADS = "1,8,32"
_FLAGS = "what these flags ask"
_DRAWN = ("input_tokens", "output_tokens", "range_ratio", "prefix_tokens", "prefixes")
_FLAGS_OF_KEY = {
    "arms": ("url",),
    "traffic": ("traffic", *_DRAWN),
    "loads": ("concurrency", "rate"),
    "cell": ("requests", "seconds"),
    "repeats": ("repeats",),
    "request": ("api", "prompt", "forced_length"),
}


@dataclass(frozen=True)
class AskedLoad:
    """The flags as given; None is not given."""

    url: str | None
    concurrency: str | None = None
    rate: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    range_ratio: float | None = None
    prefix_tokens: int | None = None
    prefixes: int | None = None
    traffic: str | None = None
    requests: int | None = None
    seconds: float | None = None
    repeats: int = 1
    api: str = "completions"
    prompt: str | None = None
    forced_length: bool = True
    model: str | None = None
    engine: str = "openai"
    api_key_variable: str | None = None
    more: tuple[str, ...] = ()


def load_study(asked: AskedLoad) -> Study:
    """Return the study; the model's name is asked of the server unless it is given.

    Raises:
        BadInput: flags that contradict each other, or make no study.
        ServerNotReady: nothing answers at the address.
    """
    url = _url(asked.url)
    study = {
        "name": "load-" + re.sub(r"[^A-Za-z0-9._-]", "-", urlsplit(url).netloc),
        "arms": {ARM: _arm(asked, url)},
        "traffic": _traffic(asked),
        "loads": _loads(asked),
        "cell": _cell(asked),
        "repeats": asked.repeats,
        "request": _request(asked),
    }
    for text in asked.more:
        key, value = _pair(text)
        if (flag := _flag_given(asked, key)) is not None:
            raise _contradiction(flag, f"--set {key}")
        study[key] = value
    return parse_study(yaml.safe_dump({key: value for key, value in study.items() if value != {}}), _FLAGS)


def _flag_given(asked: AskedLoad, key: str) -> str | None:
    """Return the flag, if any, that already says what a key of the study file says."""
    nothing = AskedLoad(url=None)
    for name in _FLAGS_OF_KEY.get(key, ()):
        if getattr(asked, name) != getattr(nothing, name):
            return "the address" if name == "url" else f"--{name.replace('_', '-')}"
    return None


def _url(url: str | None) -> str:
    if url is None:
        raise BadInput(
            "load_without_url",
            "no address is given",
            why="`whichbits load` drives a server that runs already",
            fix="whichbits load http://host:8000, or `whichbits load --self-test` for this machine's own limit",
        )
    try:
        return plain_address(url)
    except ValueError as error:
        raise BadInput(
            "load_url_unusable",
            f"the address cannot be used: {error}",
            why="an address is a scheme, a host, a port and perhaps a path",
            fix="write it as http://host:8000",
        ) from error


def _arm(asked: AskedLoad, url: str) -> dict[str, Any]:
    target: dict[str, Any] = {"urls": [url]}
    if asked.api_key_variable is not None:
        target["api_key_variable"] = asked.api_key_variable
    model = asked.model or _only_model(url, asked.api_key_variable)
    return {
        "weight_format": "unknown",
        "engine": asked.engine,
        "model": model,
        "served_model_name": model,
        "target": target,
    }


def _only_model(url: str, key_variable: str | None) -> str:
    key = api_key(ServersThatRun(urls=(url,), api_key_variable=key_variable))
    names = asyncio.run(served_models(url, key))
    if len(names) == 1:
        return names[0]
    raise BadInput(
        "load_model_unclear",
        f"{url} serves {len(names)} models: {', '.join(names) or 'none'}",
        why="requests must name one",
        fix="choose with --model",
    )


def _traffic(asked: AskedLoad) -> Any:
    drawn = {name: value for name in _DRAWN if (value := getattr(asked, name)) is not None}
    if asked.traffic is not None:
        if drawn:
            raise _contradiction("--traffic", f"--{next(iter(drawn)).replace('_', '-')}")
        return _read(asked.traffic, "--traffic")
    if "prefix_tokens" not in drawn and "prefixes" not in drawn:
        return {"kind": "random"} | drawn
    if "range_ratio" in drawn:
        raise _contradiction("--range-ratio", "--prefix-tokens")
    own = {"suffix_tokens": drawn.pop("input_tokens")} if "input_tokens" in drawn else {}
    return {"kind": "prefix_repetition"} | drawn | own


def _loads(asked: AskedLoad) -> list[dict[str, float]]:
    if asked.rate is None:
        streams = _numbers(asked.concurrency or _LOADS, "--concurrency")
        return [{"concurrency": each} for each in streams]
    caps = _numbers(asked.concurrency, "--concurrency") if asked.concurrency is not None else []
    if len(caps) > 1:
        raise BadInput(
            "load_caps",
            "--concurrency has several numbers beside --rate",
            why="with a rate it is the most in flight, one number for all rates",
            fix="give one cap, or leave out --rate for a closed loop at each concurrency",
        )
    cap = {"concurrency": caps[0]} if caps else {}
    return [{"request_rate": rate} | cap for rate in _numbers(asked.rate, "--rate")]


def _numbers(text: str, flag: str) -> list[float]:
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(math.isfinite(each) for each in found):
        raise BadInput(
            "load_numbers",
            f"{flag} {text!r} is no list of numbers",
            why="loads are numbers with commas between",
            fix=f"write {flag} 1,8,64",
        )
    return [int(each) if each.is_integer() else each for each in found]


def _cell(asked: AskedLoad) -> dict[str, float]:
    if asked.seconds is None:
        return {} if asked.requests is None else {"requests": asked.requests}
    if asked.requests is not None:
        raise _contradiction("--requests", "--seconds")
    if asked.rate is None:
        raise BadInput(
            "load_seconds_without_rate",
            "--seconds needs --rate",
            why="in a closed loop the server decides how long its requests take",
            fix="give --requests, or --rate as well",
        )
    return {"seconds": asked.seconds}


def _request(asked: AskedLoad) -> dict[str, Any]:
    prompt = asked.prompt or ("text" if asked.api == "chat" else "token_ids")
    said = {"api": asked.api, "prompt": prompt, "forced_length": asked.forced_length}
    plain = {"api": "completions", "prompt": "token_ids", "forced_length": True}
    return {name: value for name, value in said.items() if value != plain[name]}


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise BadInput(
            "load_set_unreadable",
            f"--set {text!r} is no KEY=VALUE",
            why="a key of the study file and its value in YAML are wanted",
            fix='write for example --set "slo={ttft_ms: 500}"',
        )
    return key, _read(value, f"--set {key}")


def _read(text: str, flag: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(
            "load_flag_not_yaml",
            f"{flag}: {text!r} is no YAML",
            why=" ".join(str(error).split()),
            fix="write a mapping as {key: value}, in quotes",
        ) from error


def _contradiction(one: str, other: str) -> BadInput:
    return BadInput(
        "load_flags_contradict",
        f"{one} and {other} are both given",
        why="one of them would silently not be applied",
        fix="leave one out",
    )
