"""Where requests go: one server process, as the driver needs to know it."""

from dataclasses import dataclass, field

from whichbits.errors import BadInput
from whichbits.study.request import RequestForm


@dataclass(frozen=True)
class Target:
    """An OpenAI-style endpoint; ``replica`` names it in the records."""

    host: str
    port: int
    model: str
    path: str = "/v1/completions"
    api_key: str | None = field(default=None, repr=False)
    tls: bool = False
    ca_file: str | None = None
    """Certificates to trust instead of the system's; there is no way to trust any."""
    proxy: str | None = field(default=None, repr=False)
    """Where an HTTP proxy listens; requests then go by aiohttp."""
    keeps_text: bool = False
    """Whether records keep the text, since this server counts no tokens."""
    replica: str | None = None
    form: RequestForm = field(default_factory=RequestForm)

    def __post_init__(self) -> None:
        """Refuse what would break out of a header line."""
        for value in (self.host, self.path, self.api_key or ""):
            if any(character in value for character in "\r\n\0"):
                raise BadInput(
                    "target_not_one_line",
                    f"The address or API key of {self.host!r} holds a line break.",
                    why="A key read from a file or a variable often keeps its final newline.",
                    fix="Strip it, for example with $(tr -d '\\n' < key.txt).",
                )

    @property
    def authority(self) -> str:
        """The Host header: ``host:port``, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
