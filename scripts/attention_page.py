"""The page of attention_html.py: maps as data, in one HTML file with the viewer of attention_html/.

The same maps give the same bytes, and never more than 5 MB.
"""
import base64
import hashlib
import html
import json
import pathlib

import numpy as np

MOST_BYTES = 5_000_000      # of the whole page
FINE_BYTES = 400_000        # up to here a weight may take 16 bits
LONGEST = 200               # letters of a token, or a browser does not come to an end with them
FILES = pathlib.Path(__file__).resolve().parent / "attention_html"
# In this order: a later file uses what an earlier one defines.
SCRIPTS = ("data", "colors", "state", "thumbnails", "map", "lines", "tokens", "words", "main")


class TooLarge(Exception):
    """More than a page holds: a part must be chosen."""


def coded(part, bits):
    """One number a cell, fine where weights are small: the root of the weight times `top`, then
    one number for what is not finite and one for what is masked."""
    top = (1 << bits) - 3
    with np.errstate(invalid="ignore"):
        codes = np.rint(np.sqrt(np.minimum(part.weights, 1.0)) * top)
    codes = np.where(np.isfinite(part.weights), codes, top + 1)
    codes = np.where(part.hidden, top + 2, codes)
    return base64.b64encode(codes.astype("<u%d" % (bits // 8)).tobytes()).decode("ascii")


def described(part, bits):
    """A part as the viewer reads it."""
    cut = lambda token: token if len(token) <= LONGEST else token[:LONGEST - 1] + "…"
    tokens = [side and list(map(cut, side)) for side in part.tokens]
    return {"name": part.name, "outer": part.outer, "blocks": part.blocks, "heads": part.heads,
            "at": part.at, "tokens": tokens, "oneText": bool(part.one_text), "bits": bits,
            "weights": coded(part, bits)}


def coded_bytes(parts, bits, pool=1):
    cells = 0
    for part in parts:
        blocks, heads, queries, keys = part.weights.shape
        cells += blocks * heads * -(-queries // pool) * -(-keys // pool)
    return cells * bits // 8 * 4 // 3 + 8 * len(parts)


def script_data(data):
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page(data):
    script = "(() => {\n'use strict';\n" + "".join(
        (FILES / (name + ".js")).read_text("utf-8") for name in SCRIPTS) + "})();\n"
    style = (FILES / "page.css").read_text("utf-8")
    digest = lambda text: base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
    text = (FILES / "page.html").read_text("utf-8")
    # The data come last, so that nothing in them is taken for a place to fill.
    for place, filling in (("@SCRIPT_DIGEST@", digest(script)), ("@STYLE@", style),
                           ("@SCRIPT@", script), ("@TITLE@", html.escape(data["title"])),
                           ("@DATA@", script_data(data))):
        before, after = text.split(place)
        text = before + filling + after
    return text.encode("utf-8")


def build(parts, pool, title, history):
    """The bytes of the page and what is to be said about it."""
    notes = sorted({part.note for part in parts if part.note})
    data = lambda bits: {"title": title, "history": history, "notes": notes, "pool": pool,
                         "parts": [described(part, bits) for part in parts]}
    longest = max(max(part.weights.shape[2:]) for part in parts)
    # What names, history and the viewer take is not known before they are written: leave room.
    room = MOST_BYTES - 400_000
    fitting = next((p for p in range(1, longest + 1) if coded_bytes(parts, 8, p) <= room), None)
    if pool is None:
        pool = fitting
    if pool is None or coded_bytes(parts, 8, pool) > room:
        raise TooLarge("%.1f MB of weights do not fit in a page of %d MB: choose a part by --blocks, "
                         "--heads or --tokens%s" % (coded_bytes(parts, 8, pool or 1) / 1e6,
                                                    MOST_BYTES // 10**6,
                                                    ", or --pool %d" % fitting if fitting else ""))
    if pool > 1:
        for part in parts:
            part.pool(pool)
        notes.append("each cell is the largest of %d x %d" % (pool, pool))
    text = page(data(16 if coded_bytes(parts, 16) <= FINE_BYTES else 8))
    if len(text) > MOST_BYTES:
        raise TooLarge("%d bytes are more than a page of %d MB: choose a part by --blocks, --heads "
                         "or --tokens" % (len(text), MOST_BYTES // 10**6))
    return text, notes
