"""Why client and engine may rightly count differently: each explanation is a rule over one page of the books."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, listed, phrase

Total = Literal["requests_finished", "prompt_tokens", "generation_tokens", "prefix_queries"]
"""What both sides count; the client's side of ``prefix_queries`` is its prompt tokens, all of which are looked up."""

Explanation = Literal[
    "restarted",
    "failed_requests",
    "test_request",
    "probe",
    "other_client",
    "bos_added",
    "retokenised",
    "looked_up_again",
]

RETOKENISED_SHARE = 0.01
"""Prompts sent as text come back within this share of their own count; more is another tokenizer or template."""


@dataclass(frozen=True)
class Page:
    """One cell's totals on one replica (None: all together) by client and engine; None where a side does not say.

    The client's totals are those of its good requests. ``failed`` counts its others, ``failed_output_tokens`` what
    these asked for at most. ``restarted`` names engine cores that lost their counts.
    """

    cell: int
    arm: str
    replica: str | None
    client: Mapping[Total, int | None]
    engine: Mapping[Total, int | None]
    failed: int = 0
    failed_output_tokens: int = 0
    preemptions: int | None = None
    restarted: tuple[str, ...] = ()
    sent_as_text: bool = False

    def over(self, total: Total) -> int | None:
        """Return what the engine counts beyond the client; None if one of them does not say."""
        engine, client = self.engine.get(total), self.client.get(total)
        return None if engine is None or client is None else engine - client

    @property
    def prompt_over(self) -> int | None:
        """Return the prompt tokens beyond the client's, by look-ups where the engine does not count prompts."""
        over = self.over("prompt_tokens")
        return self.over("prefix_queries") if over is None else over

    @property
    def surplus(self) -> tuple[int | None, int | None, int | None]:
        """Return requests, prompt tokens and output tokens beyond the client's."""
        return self.over("requests_finished"), self.prompt_over, self.over("generation_tokens")


Rule = Callable[[Page, Sequence[Page]], str | None]
"""Returns the explanation of a page in words, or None. The other pages are those of its arm, its own included."""


def explain(page: Page, arm: Sequence[Page]) -> tuple[Explanation | None, str]:
    """Return the first rule that accounts for a page's differences, with its words."""
    for name, rule in RULES.items():
        words = rule(page, arm)
        if words is not None:
            return name, words
    return None, ""


def _restarted(page: Page, _: Sequence[Page]) -> str | None:
    if not page.restarted:
        return None
    cores = joined(", ", (core for core in page.restarted if core))
    return phrase(
        "the engine{core} was restarted and lost its counts",
        core=phrase(" core {cores}", cores=cores) if cores else "",
    )


def _failed_requests(page: Page, _: Sequence[Page]) -> str | None:
    """Accept what requests that failed for the client may have left in the engine's counters."""
    requests, prompt, output = page.surplus
    bounded = _within(requests, page.failed) and _within(output, page.failed_output_tokens)
    if not page.failed or not bounded or (prompt is not None and prompt < 0):
        return None
    return phrase("{failed} left work that no answer shows", failed=amount(page.failed, "failed request"))


def _probe(page: Page, arm: Sequence[Page]) -> str | None:
    alike = [other for other in arm if other.replica == page.replica]
    same = len(alike) > 1 and len({other.surplus for other in alike}) == 1
    return (
        phrase("{extra} in each cell alike: a probe or another client", extra=_extra(page))
        if same and _has_extra(page, arm)
        else None
    )


def _test_request(page: Page, arm: Sequence[Page]) -> str | None:
    single = page.over("requests_finished") == 1 and _has_extra(page, arm)
    return phrase("{extra}: a test request, or one of another client", extra=_extra(page)) if single else None


def _other_client(page: Page, arm: Sequence[Page]) -> str | None:
    several = (page.over("requests_finished") or 0) > 1 and _has_extra(page, arm)
    return phrase("{extra}: another client's traffic", extra=_extra(page)) if several else None


def _bos_added(page: Page, _: Sequence[Page]) -> str | None:
    requests, prompt, output = page.surplus
    each = page.client.get("requests_finished")
    if each and prompt == each and not requests and not output:
        return phrase("exactly one prompt token a request: the server puts a BOS token before each prompt")
    return None


def _retokenised(page: Page, _: Sequence[Page]) -> str | None:
    requests, prompt, output = page.surplus
    own = page.client.get("prompt_tokens")
    if not (page.sent_as_text and requests == 0 and not output and prompt and own):
        return None
    if abs(prompt) > RETOKENISED_SHARE * own:
        return None
    return phrase(
        "prompt tokens over the same requests {prompt:+,}: prompts went as text, which the server splits otherwise",
        prompt=prompt,
    )


def _looked_up_again(page: Page, _: Sequence[Page]) -> str | None:
    """Accept more look-ups than prompts if requests were preempted: vLLM up to 0.11 counts them each time."""
    others = (page.over("requests_finished"), page.over("prompt_tokens"), page.over("generation_tokens"))
    if (page.over("prefix_queries") or 0) > 0 and page.preemptions and not any(others):
        return phrase("{preemptions} looked up again", preemptions=amount(page.preemptions, "preempted request"))
    return None


RULES: dict[Explanation, Rule] = {
    "restarted": _restarted,
    "failed_requests": _failed_requests,
    "looked_up_again": _looked_up_again,
    "bos_added": _bos_added,
    "retokenised": _retokenised,
    "probe": _probe,
    "test_request": _test_request,
    "other_client": _other_client,
}
"""The first that holds counts: what is seen directly stands before what is inferred."""


def _has_extra(page: Page, arm: Sequence[Page]) -> bool:
    """Tell whether the engine answered whole requests that the client did not send, to any of its replicas.

    One replica's surplus beside another's lack is no extra request: the client took one for the other.
    """
    requests, prompt, output = page.surplus
    lacking = any((other.over("requests_finished") or 0) < 0 for other in arm if other.cell == page.cell)
    more = (requests or 0) > 0 or (requests is None and (prompt or 0) > 0)
    # A request has a token to prompt it with and none that the client could be owed.
    plausible = (prompt is None or prompt >= max(1, requests or 1)) and (output is None or output >= 0)
    return more and plausible and not lacking


def _extra(page: Page) -> str:
    requests, prompt, output = page.surplus
    what = phrase("requests") if requests is None else amount(requests, "request")
    prompts = [] if prompt is None else [amount(prompt, "prompt token")]
    outputs = [] if output is None else [amount(output, "output token")]
    told = listed([*prompts, *outputs]) if prompts or outputs else ""
    return phrase(
        "{what}{tokens} that the client did not send",
        what=what,
        tokens=phrase(" with {told}", told=told) if told else "",
    )


def _within(surplus: int | None, most: int) -> bool:
    return surplus is None or 0 <= surplus <= most
