"""What scripts that look at a program's HDF5 file share: options, errors of one line, reading from
files and pipes, and writing whole or not at all. Needs python3-h5py only when a file is opened.
"""
import argparse
import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile

DONE, USAGE, DATA = 0, 2, 3
MOST_PIPED = 1 << 30  # bytes of a file that comes through a pipe
PIPED = {}  # what h5py calls a file that came through one -> what it is called here

# A reader that leaves, such as head, and an interrupt end a script quietly.
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def tool():
    return pathlib.Path(sys.argv[0]).name


def printable(words):
    """Names of a stranger's file must not steer the terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode()
                   for letter in words)


def refuse(message, hint=None, status=DATA):
    """Ends the script with one line on stderr, and one of advice."""
    print(f"{tool()}: {printable(message)}" + (f"\n  {printable(hint)}" if hint else ""), file=sys.stderr)
    sys.exit(status)


class Parser(argparse.ArgumentParser):
    """Without abbreviations, and with errors of one line."""

    def __init__(self, **settings):
        super().__init__(prog=tool(), allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message):
        refuse(message, f"'{tool()} --help' explains the options", USAGE)


def read_whole(name, stream):
    """What a pipe holds."""
    content = stream.read(MOST_PIPED + 1)
    if not content:
        refuse(f"{name}: input is empty (did the command before the pipe fail?)")
    if len(content) > MOST_PIPED:
        refuse(f"{name}: more than {MOST_PIPED} bytes: write a file first")
    return io.BytesIO(content)


@contextlib.contextmanager
def opened(path):
    """The HDF5 file of that name; stdin for -, and pipes such as <(command), are read whole."""
    import h5py
    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            if sys.stdin is None or sys.stdin.isatty():
                refuse("stdin is no file or pipe: an HDF5 file is wanted", status=USAGE)
            source = read_whole(name, sys.stdin.buffer)
        else:
            with open(path, "rb") as stream:  # for the system's own words on what cannot be opened
                source = path if os.path.isfile(path) else read_whole(name, stream)
        file = h5py.File(source, "r")
    except OSError as error:
        refuse(f"{name}: {error.strerror if error.errno else 'not a whole HDF5 file'}")
    if source is not path:
        PIPED[file.filename] = name
    with file:
        yield file


def name_of(file):
    """What it is called in messages."""
    return PIPED.get(file.filename, file.filename)


def check_output(path, inputs):
    """Ends the script where -o would be written over an input, or binary data go to a terminal."""
    if path == "-":
        if sys.stdout is None or sys.stdout.isatty():
            refuse("-o -: stdout is no file or pipe", status=USAGE)
        return
    for one in inputs:
        if one != "-" and os.path.exists(one) and os.path.exists(path) and os.path.samefile(one, path):
            refuse(f"-o {path} is the input file itself", status=USAGE)


def write_whole(path, content):
    """Under its name a file is whole; into stdout, a pipe or a device bytes go as they come."""
    try:
        if path == "-":
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        elif os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as stream:
                stream.write(content)
        else:
            write_beside(os.path.realpath(path), content)  # a link stays one
    except OSError as error:
        refuse(f"{'stdout' if path == '-' else path}: {error.strerror}")


def write_beside(path, content):
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # they wait until nothing half is left
    try:
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path),
                                                 prefix=f".{os.path.basename(path)}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
