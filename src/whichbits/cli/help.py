"""The pages of ``--help`` in another language: cyclopts lays them out, a catalogue has the texts by their English."""

from typing import Any

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel, InlineText
from cyclopts.help.specs import DefaultStyled, get_default_command_columns, get_default_parameter_columns
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from whichbits.language.language import catalogue

USAGE = "Usage:"
NOTES = ("choices: {}", "env var: {}", "default: {}", "required")
"""What cyclopts says of a flag behind its meaning."""


def paragraphs(text: str) -> list[str]:
    """Return a help text's paragraphs, each in one line: the keys of the catalogue."""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


class SpokenHelp:
    """Prints help pages in a language; a text that its catalogue lacks stays English."""

    def __init__(self, code: str) -> None:
        """Take the texts from the catalogue ``help.CODE``."""
        self._texts = catalogue(f"help.{code}")

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a panel of verbs or flags."""
        entries = [entry.copy(description=self._described(entry)) for entry in panel.entries]
        spoken = panel.copy(title=self._text(str(panel.title)), entries=entries)
        usual = get_default_command_columns if panel.format == "command" else get_default_parameter_columns
        *names, meanings = usual(console, options, entries)
        # A description here has its notes already, which cyclopts would add in English.
        columns = (*names, meanings.copy(renderer=_description))
        DefaultFormatter(column_specs=columns)(console, options, spoken)

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Any) -> None:
        """Print how a verb is called; placeholders such as PATH stay."""
        console.print(DefaultStyled(Text(f"{self._text(USAGE)} ", style="cyclopts.usage") + usage))

    def render_description(self, console: Console, _options: ConsoleOptions, description: Any) -> None:
        """Print what a verb does."""
        console.print(self._inline(description))

    def _described(self, entry: HelpEntry) -> InlineText:
        described = self._inline(entry.description)
        given = (entry.choices, entry.env_var, entry.default, entry.required)
        styles = ("choices", "env_var", "default", "required")
        for note, style, value in zip(NOTES, styles, given, strict=True):
            if value:
                said = ", ".join(value) if isinstance(value, tuple) else str(value)
                described.append(Text(f"[{self._text(note).format(said)}]", f"cyclopts.{style}"))
        return described

    def _inline(self, shown: InlineText) -> InlineText:
        """Return a text of cyclopts in the language, laid out as it was: as Markdown, or as plain text."""
        laid_out: Any = shown.primary_renderable
        is_plain = isinstance(laid_out, Text)
        text = laid_out.plain if is_plain else laid_out.markup
        said = "\n\n".join(map(self._text, paragraphs(text)))
        form = "plaintext" if is_plain else "markdown"
        return InlineText.from_format(said, form, force_empty_end=shown.force_empty_end)

    def _text(self, english: str) -> str:
        return self._texts.get(english, english)


def _description(entry: HelpEntry) -> RenderableType:
    described: RenderableType = entry.description
    return described
