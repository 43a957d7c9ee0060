"""The command `swarmgate`; also `python -m gateway`."""

import sys


def main() -> None:
    """Run the command line and exit: 0 fine, 1 a finding, 2 wrong use."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        from gateway.cli.run import plain, run

        is_plain, config = plain(arguments[1:])
        if is_plain:
            sys.exit(run(config))
    from gateway.cli.main import app

    app(prog_name="swarmgate")


if __name__ == "__main__":
    main()
