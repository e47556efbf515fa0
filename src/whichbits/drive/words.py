"""Prompts as text: messages as they are, and a common English word for each planned id, so that prefixes stay equal."""

from collections.abc import Sequence

from whichbits.traffic.request import Message

_WORDS = """
time year people way day man thing woman life child world school state family student group country problem hand
part place case week company system program question work number night point home water room mother area money
story fact month lot right study book eye job word business issue side kind head house service friend father
power hour game line end member law car city name team minute idea body back parent face level office door
health person art war history party result change morning reason research girl guy moment air teacher force
education food rain stone river tree field paper letter table music light color sound voice heart mind dog bird
fish horse garden street bridge road train ship window wall floor glass bottle cup plate knife fork spoon chair
desk lamp clock phone radio picture film stage song dance sport ball goal race test plan map list note page sign
form shape size cost price value rate trade bank market store shop gift card coat shirt shoe hat ring watch bag
box key lock tool wheel engine fire smoke ice snow wind storm cloud sun moon star sky earth sea lake island hill
mountain forest leaf flower grass seed fruit apple bread rice meat milk salt sugar tea coffee wine dinner lunch
summer winter spring autumn north south east west red blue green white black young old new long short high low
large small early late hard soft warm cold fast slow clear open full free sure true real whole main major local
public
""".split()  # noqa: SIM905 - a paragraph reads better than a page of strings


def as_words(token_ids: Sequence[int]) -> str:
    """Return a text of as many words as there are ids.

    Most tokenisers make one token of each word; how many there were, the server's usage says.
    """
    return " ".join(_WORDS[token_id % len(_WORDS)] for token_id in token_ids)


def as_text(messages: Sequence[Message]) -> str:
    """Return messages as one text for an API that has no roles: a blank line between them."""
    return "\n\n".join(message.content for message in messages)
