"""How a script ends whose reader, user or disk has had enough: in a line and with a status."""
import os
import pathlib
import sys

INTERRUPTED, BROKEN_PIPE = 130, 141


def run(main):
    """The exit status of main(), which may be a message for stderr."""
    try:
        return main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more to be flushed
        return BROKEN_PIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return f"{pathlib.Path(sys.argv[0]).name}: {where}{error.strerror}"
