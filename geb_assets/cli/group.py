"""The group of all subcommands: what goes wrong becomes one plain line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from geb_assets.cli.output import Output


class Group(click.Group):
    """Exits 0 on success, 1 on what the user can mend, 2 on bad usage, 130 when interrupted."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, **extra: Any
    ) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        output = Output("--json" in arguments)
        try:
            code = super().main(
                arguments, **{**extra, "prog_name": "geb", "standalone_mode": False}
            )
        except click.exceptions.NoArgsIsHelpError as help_:
            help_.show()
            sys.exit(help_.exit_code)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            where = context.command_path if context else "geb"
            output.fail(f"{error.format_message()} See: {where} --help")
            sys.exit(error.exit_code)
        except click.Abort as abort:
            if not isinstance(abort.__cause__, KeyboardInterrupt):
                output.fail("not confirmed; nothing was changed")
                sys.exit(1)
            output.fail("interrupted; the same command goes on from here")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)
