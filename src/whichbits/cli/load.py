"""``whichbits load``: drive one endpoint that runs, without a study file, or find this machine's own limit."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter

from whichbits.cli.asked_load import AskedLoad, load_study
from whichbits.cli.lang import Lang
from whichbits.cli.run import carry_out
from whichbits.cli.task import Task
from whichbits.conduct.order import visits
from whichbits.conduct.preflight import preflight
from whichbits.errors import BadInput
from whichbits.language.language import Language, language
from whichbits.report.load_table import print_load
from whichbits.report.provenance import set_only
from whichbits.study.model import Study

Switch = Annotated[bool, Parameter(negative=())]


def load(
    url: str | None = None,
    *,
    concurrency: str | None = None,
    rate: str | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    range_ratio: float | None = None,
    prefix_tokens: int | None = None,
    prefixes: int | None = None,
    traffic: str | None = None,
    requests: int | None = None,
    seconds: float | None = None,
    repeats: int = 1,
    api: Literal["completions", "chat"] = "completions",
    prompt: Literal["token_ids", "text"] | None = None,
    forced_length: bool = True,
    model: str | None = None,
    engine: str = "openai",
    api_key_variable: str | None = None,
    set_keys: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    output: Path | None = None,
    dry_run: Switch = False,
    json: Switch = False,
    plain: Switch = False,
    self_test: Switch = False,
    lang: Lang = "en",
) -> int:
    """Drive one OpenAI-style endpoint and say how fast it answers, and whether this client could keep up.

    The result is an ordinary run folder. --dry-run prints the study that it amounts to, to go on from.

    Args:
        url: Address of the server, as http://host:8000.
        concurrency: Streams of a closed loop, as 1,8,64; with --rate the most in flight, one number.
        rate: Requests per second of an open loop, as 0.5,2,8.
        input_tokens: Prompt length; with --prefix-tokens, what each request has of its own.
        output_tokens: Answer length.
        range_ratio: Lengths vary by this share, both ways.
        prefix_tokens: Length of the prefixes that requests share.
        prefixes: How many such prefixes there are.
        traffic: The study file's `traffic` instead of these flags, as "{kind: chat, output_tokens: 200}".
        requests: Requests at each load.
        seconds: With --rate: how long each load lasts.
        repeats: How often each load is met.
        api: Which API is called.
        prompt: Prompts as token ids, or as text; the chat API takes text only.
        forced_length: Insist on answers of the planned length, beyond the plain OpenAI API.
        model: The model's name in requests; asked of the server where this is not given.
        engine: What serves, where it is known: vllm, sglang, llamacpp; its logs and caches are then understood.
        api_key_variable: Environment variable that holds the API key; the key itself is never recorded.
        set_keys: Any other key of the study file, as "slo={ttft_ms: 500}"; may be given again.
        output: Folder for run folders.
        dry_run: Print the study that this amounts to, and drive nothing.
        json: Print summary.json on stdout, everything else on stderr.
        plain: Print progress as plain lines, even on a terminal.
        self_test: Drive a mock instead and find this machine's honest limit; --seconds is then about how long that
            takes, 30 by default.
        lang: Language of the reports and of what is printed; summary.json stays English.
    """
    asked = AskedLoad(
        url=url,
        concurrency=concurrency,
        rate=rate,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        range_ratio=range_ratio,
        prefix_tokens=prefix_tokens,
        prefixes=prefixes,
        traffic=traffic,
        requests=requests,
        seconds=seconds,
        repeats=repeats,
        api=api,
        prompt=prompt,
        forced_length=forced_length,
        model=model,
        engine=engine,
        api_key_variable=api_key_variable,
        more=set_keys,
    )
    if self_test:
        return _test_itself(asked, alone=not dry_run and output is None, json=json, spoken=language(lang))
    study = load_study(asked)
    task = Task(study, visits(study), None)
    preflight(task.arms)
    if dry_run:
        sys.stdout.write(_as_yaml(study))
        return 0
    return carry_out(task, output, json=json, plain=plain, show=print_load, lang=lang)


def _as_yaml(study: Study) -> str:
    given = study.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return yaml.safe_dump(set_only(given), sort_keys=False, allow_unicode=True, width=100)


def _test_itself(asked: AskedLoad, *, alone: bool, json: bool, spoken: Language) -> int:
    if not alone or replace(asked, seconds=None) != AskedLoad(url=None):
        raise BadInput(
            "self_test_alone",
            "--self-test drives a mock of its own",
            why="an address or other flags are given as well, which would silently not be used",
            fix="leave them out (--seconds and --json go with it), or leave out --self-test",
        )
    from whichbits.cli.self_test import run_self_test

    return run_self_test(asked.seconds, json=json, spoken=spoken)
