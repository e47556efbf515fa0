"""An error as a person reads it: what happened, why it usually does, what to do, and its code."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whichbits.errors import WhichbitsError
from whichbits.report.wording import plain


def print_error(error: WhichbitsError, console: Console) -> None:
    """Print the error's parts, each under a label, wrapped to the console; give a console on stderr."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text("error", style="bold red"), Text(plain(error.what), style="bold"))
    table.add_row(Text("why", style="dim"), Text(plain(error.why)))
    table.add_row(Text("do", style="dim"), Text(plain(error.fix)))
    table.add_row(Text("code", style="dim"), Text(plain(error.code), style="dim"))
    console.print(table)
