"""The command line: a group whose commands are the files in commands/."""

from __future__ import annotations

import click

from patterns.errors import UnknownName, UserError
from patterns.plugin import load_module, modules

COMMANDS = "experiments.commands"


class Refused(click.ClickException):
    """A mistake of the user's, told without a traceback."""

    exit_code = 2


class CommandFolder(click.Group):
    """A group whose commands are the modules of a package; each has a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the files in the folder."""
        return list(modules(COMMANDS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The `command` of a file, loaded only when it is asked for."""
        if cmd_name not in modules(COMMANDS):
            return None
        found = load_module(COMMANDS, cmd_name, "command").command
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names. Raises UnknownName, with the nearest there is."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise UnknownName("command", args[0], known)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a UserError becomes its message and exit status 2."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            raise Refused(str(error)) from error


def print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """`--version`: name and version, nothing else is loaded."""
    if asked and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"patternloom {version('patternloom')}")
        ctx.exit()


@click.group(cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Say which version this is.",
)
def cli() -> None:
    """One graph of parallel patterns, two machines: kernels on a GPU beside metapipelines on an RDU."""
