"""How a script ends whose reader, user or disk has had enough: in a line and with a status."""
import os
import pathlib
import sys

INTERRUPTED, BROKEN_PIPE = 130, 141


def flush_or_drop():
    """What nobody takes would else fail once more as Python ends, with words of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(main):
    """The exit status of main(), which may be a message for stderr."""
    try:
        status = main()
        sys.stdout.flush()  # here, where it is known what to do if it fails
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        flush_or_drop()
        return BROKEN_PIPE
    except OSError as error:
        flush_or_drop()
        where = f"{error.filename}: " if error.filename else ""
        return f"{pathlib.Path(sys.argv[0]).name}: {where}{error.strerror}"
