#!/usr/bin/env python3
"""scripts/attention_html.py: what it reads, refuses and writes, and the page in a real browser.

usage: attention_html_test.py PROGRAMS_FOLDER SCRIPTS_FOLDER. Exits 77 where h5py is missing; without
a Chromium the page itself is not tried, and that is said.
"""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import h5py
    import numpy as np
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

from headless_browser import Browser, chromium

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
CHROMIUM = chromium()
SCRIPT = pathlib.Path(sys.argv[2]).resolve() / "attention_html.py"
FOLDER = tempfile.TemporaryDirectory(prefix="attention-html-test-")
HERE = pathlib.Path(FOLDER.name)
TEXT = "3 5 7 9 1 3 5 7 9 1 3 5"
HOSTILE = ["</script><script>document.title='hit'</script>", "<img src=x onerror=document.title='hit'>",
           "\u202eabc", "\n", " ", "", "'\"&amp;", "@DATA@ @TITLE@", "日本", "é" * 60, "\x1b[2J", "<!--"]


def convert(*arguments, **options):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True,
                          **options)


def made(name, *arguments):
    """The page of a file in the test's folder."""
    path = HERE / (name + ".html")
    run = convert(HERE / (name + ".h5"), "-o", path, *arguments)
    assert run.returncode == 0, run.stderr.decode()
    return path


def data_of(page):
    text = pathlib.Path(page).read_text("utf-8")
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text)[1])


def weights_of(part):
    """Undoes the coding: the root of a weight, in steps of 1 / (2^bits - 3)."""
    codes = np.frombuffer(base64.b64decode(part["weights"]), "<u%d" % (part["bits"] // 8)).astype(float)
    top = 2 ** part["bits"] - 3
    values = (codes / top) ** 2
    values[codes == top + 1] = np.nan
    values[codes == top + 2] = -1
    return values.reshape(len(part["blocks"]), len(part["heads"]), len(part["at"][0]), len(part["at"][1]))


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype("f4")


def causal(n, blocks, heads, seed=0):
    scores = np.random.default_rng(seed).normal(0, 2, (blocks, heads, n, n))
    hidden = np.triu(np.ones((n, n), bool), 1)
    scores[..., hidden] = -np.inf
    return softmax(scores), hidden.astype("u1")


def write_dump(name, weights, hidden=None, tokens=None):
    with h5py.File(HERE / (name + ".h5"), "w") as file:
        file["attention"] = weights
        if hidden is not None:
            file["hidden"] = hidden
        for side in ("query", "key") if tokens else ():
            file[side + "_token"] = np.array([token.encode("utf-8") for token in tokens])


def setUpModule():
    train = subprocess.run([PROGRAMS / "tinygpt-train", "--steps", "10", "-q", "-o", HERE / "model.h5"],
                           capture_output=True)
    assert train.returncode in (0, 1), train.stderr.decode()
    subprocess.run([PROGRAMS / "tinygpt-generate", HERE / "model.h5", "--prompt", TEXT, "--new-tokens", "0",
                    "-q", "--dump-attention", HERE / "dump.h5"], check=True, capture_output=True)
    subprocess.run([PROGRAMS / "attn-check", "--tokens", "6", "-q", "-o", HERE / "check.h5"], check=True,
                   capture_output=True)
    write_dump("hostile", softmax(np.random.default_rng(1).normal(0, 3, (3, 2, 12, 12))), tokens=HOSTILE)
    with h5py.File(HERE / "two-stacks.h5", "w") as file:
        for group, queries, keys in (("encoder", 4, 4), ("decoder", 5, 5), ("cross", 5, 4)):
            file[group + "/attention"] = softmax(np.random.default_rng(2).normal(0, 1, (2, 3, queries, keys)))
            file[group + "/query_token"] = np.array([b"q%d" % i for i in range(queries)])
            file[group + "/key_token"] = np.array([b"k%d" % i for i in range(keys)])


class Conversion(unittest.TestCase):
    def test_dump_comes_through_to_sixteen_bits(self):
        part = data_of(made("dump"))["parts"][0]
        with h5py.File(HERE / "dump.h5") as file:
            weights, hidden = file["attention"][:], file["hidden"][:] != 0
        got = weights_of(part)
        self.assertTrue((got[..., hidden] == -1).all())
        # Half a step of the root, twice: 1 / 65533.
        self.assertLess(np.abs(got - weights)[..., ~hidden].max(), 2e-5)
        self.assertEqual(part["tokens"][0], TEXT.split())

    def test_attn_check_maps_tell_masked_from_open(self):
        data = data_of(made("check"))
        self.assertEqual([part["name"] for part in data["parts"]], ["weights", "weights, causal"])
        opened, masked = (weights_of(part)[0, 0] for part in data["parts"])
        self.assertTrue((opened >= 0).all())
        self.assertTrue(((masked == -1) == np.triu(np.ones((6, 6), bool), 1)).all())
        self.assertEqual(data["history"], ["attn-check --tokens 6"])

    def test_groups_are_parts(self):
        names = [part["name"] for part in data_of(made("two-stacks"))["parts"]]
        self.assertEqual(names, ["encoder self-attention", "decoder self-attention", "cross-attention"])

    def test_same_input_same_bytes_through_pipes_too(self):
        first = made("dump").read_bytes()
        content = (HERE / "dump.h5").read_bytes()
        piped = convert("-", "-o", "-", "--title", "dump.h5", "-q", input=content)
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))
        self.assertEqual(piped.stdout, first)

    def test_pipes_by_name_stay_pipes_and_links_links(self):
        pipe, link = HERE / "pipe", HERE / "link.html"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
        self.assertEqual(convert(HERE / "dump.h5", "-o", pipe).returncode, 0)
        self.assertEqual(reader.communicate(timeout=60)[0], made("dump").read_bytes())
        self.assertTrue(pipe.is_fifo())
        link.symlink_to("linked.html")
        self.assertEqual(convert(HERE / "dump.h5", "-o", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(link.read_bytes(), made("dump").read_bytes())

    def test_a_token_as_long_as_a_book_is_cut(self):
        write_dump("book", np.full((1, 1, 2, 2), 0.5, "f4"), tokens=["a" * 60000, "b"])
        self.assertEqual(data_of(made("book"))["parts"][0]["tokens"][0], ["a" * 199 + "…", "b"])

    def test_a_name_that_is_no_text(self):
        name = os.fsencode(HERE) + b"/\xff.h5"
        with open(name, "wb") as copy:
            copy.write((HERE / "dump.h5").read_bytes())
        run = convert(os.fsdecode(name), "-o", HERE / "named.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(data_of(HERE / "named.html")["title"], r"\xff.h5")

    def test_nothing_is_asked_from_elsewhere(self):
        text = made("dump").read_text("utf-8")
        self.assertNotRegex(text, r"https?:|//[a-z]+\.|@import|<link|\bsrc=")
        self.assertIn("default-src 'none'", text)

    def test_slices(self):
        part = data_of(made("dump", "--blocks", "1", "--heads", "0,2-3", "--tokens", "4-11"))["parts"][0]
        self.assertEqual((part["blocks"], part["heads"]), ([1], [0, 2, 3]))
        self.assertEqual(part["at"], [[str(i) for i in range(4, 12)]] * 2)
        with h5py.File(HERE / "dump.h5") as file:
            whole = file["attention"][1, 2, 4:, 4:]
        got = weights_of(part)[0, 1]
        self.assertLess(np.abs(np.where(got < 0, 0, got) - whole).max(), 2e-5)

    def test_what_is_too_large_is_pooled_and_says_so(self):
        weights, hidden = causal(256, 8, 7)
        write_dump("large", weights, hidden)
        run = convert(HERE / "large.h5", "-o", HERE / "large.html")
        self.assertIn(b"each cell is the largest of 2 x 2", run.stderr)
        self.assertLess((HERE / "large.html").stat().st_size, 5_000_000)
        data = data_of(HERE / "large.html")
        self.assertEqual(data["notes"], ["each cell is the largest of 2 x 2"])
        got = weights_of(data["parts"][0])
        pooled = weights.reshape(8, 7, 128, 2, 128, 2).max((3, 5))
        seen = got >= 0
        self.assertTrue((seen == np.tril(np.ones((128, 128), bool))).all())
        self.assertLess(np.abs(got - pooled)[seen].max(), 0.5 * 2 / 253 + 1e-4)
        refused = convert(HERE / "large.h5", "-o", HERE / "no.html", "--pool", "1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"--pool 2", refused.stderr)
        self.assertFalse((HERE / "no.html").exists())

    def test_not_finite_is_kept_apart(self):
        weights = np.full((1, 1, 2, 2), 0.5, "f4")
        weights[0, 0, 1, 0] = np.nan
        write_dump("nan", weights, np.zeros((2, 2), "u1"))
        got = weights_of(data_of(made("nan"))["parts"][0])
        self.assertTrue((np.isnan(got) == np.isnan(weights)).all())

    def test_a_command_before_the_pipe_that_failed(self):
        run = subprocess.run([sys.executable, SCRIPT, "-", "-o", HERE / "no.html"], input=b"",
                             capture_output=True, check=False)
        self.assertEqual(run.returncode, 3)
        self.assertEqual(run.stderr, b"attention_html.py: stdin: input is empty (did the command "
                         b"before the pipe fail?)\n")

    def test_refusals(self):
        (HERE / "text.h5").write_text("no HDF5")
        with h5py.File(HERE / "empty.h5", "w") as file:
            file["x"] = np.zeros(3)
        write_dump("negative", np.full((1, 1, 2, 2), -0.5, "f4"))
        write_dump("labels", np.full((1, 1, 2, 2), 0.5, "f4"), tokens=["one", "two", "three"])
        with h5py.File(HERE / "link.h5", "w") as file:
            file["attention"] = h5py.ExternalLink("dump.h5", "/attention")
        for name, status, words, arguments in (
                ("text", 3, "not a whole HDF5 file", []), ("missing", 3, "No such file", []),
                ("empty", 3, "holds no attention maps", []), ("link", 3, "holds no attention maps", []),
                ("negative", 3, "-0.5 is no attention weight", []),
                ("labels", 3, "has shape (3,), but there are 2 tokens", []),
                ("dump", 2, "--heads: self-attention has none of them: it has 0 to 3", ["--heads", "4"]),
                ("dump", 2, "there is no 12", ["--tokens", "0-12"]),
                ("dump", 2, "no list like", ["--tokens", "a"]),
                ("dump", 2, "give either", ["--tokens", "1", "--keys", "1"]),
                ("dump", 2, "--help' explains the options", ["--head", "1"]),
                ("dump", 2, "is the input file itself", ["-o", HERE / "dump.h5"]),
                ("dump", 3, "/dev/full: No space left on device", ["-o", "/dev/full"]),
                ("dump", 3, "holds no dataset /no", ["--dataset", "/no"])):
            with self.subTest(name=name, arguments=arguments):
                run = convert(HERE / (name + ".h5"), "-o", HERE / "no.html", *arguments)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertIn(words, run.stderr.decode())
                self.assertLessEqual(run.stderr.count(b"\n"), 2, run.stderr)
                self.assertFalse((HERE / "no.html").exists())


@unittest.skipUnless(CHROMIUM, "no Chromium")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.browser = Browser(CHROMIUM)
        except OSError as error:  # not in every container
            raise unittest.SkipTest("%s does not start here: %s" % (CHROMIUM, error)) from error
        cls.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1,
                         mobile=False)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def weights(self, name="dump", dataset="attention"):
        with h5py.File(HERE / (name + ".h5")) as file:
            return file[dataset][:]

    def shown(self):
        return [self.browser.text("#head-name"), self.browser.text("#sentence")]

    def percent(self, weight):
        return "%.1f %%" % (100 * weight)

    def test_opens_on_all_heads_and_the_last_query(self):
        self.browser.open(made("dump"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#thumbnails button').length"), 8)
        head, sentence = self.shown()
        self.assertEqual(head, "block 0 head 0")
        row = self.weights()[0, 0, 11]
        best = int(row.argmax())
        token = TEXT.split()[best]
        self.assertTrue(sentence.startswith(
            "query 11 “5” looks at %d “%s”: %s" % (best, token, self.percent(row[best]))), sentence)
        # The table is the same in numbers, largest first.
        self.assertEqual(self.browser.text("#weights tbody tr th"), str(best))
        self.assertEqual(self.browser.text("#weights tbody td.number"), self.percent(row[best]))

    def test_arrows_go_along_heads_and_blocks(self):
        self.browser.open(made("dump"))
        self.browser.press("ArrowRight", 2)
        self.browser.press("ArrowDown")
        self.assertEqual(self.shown()[0], "block 1 head 2")
        self.assertIn("block=1&head=2", self.browser.evaluate("location.hash"))
        self.assertTrue(self.browser.text("#said").startswith("block 1 head 2: query 11"))
        self.browser.press("ArrowLeft", 3)
        self.assertEqual(self.shown()[0], "block 1 head 3")
        self.assertEqual(self.browser.evaluate("document.querySelector('#thumbnails [aria-pressed=true]').title"),
                         "block 1 head 3")

    def test_everything_is_reached_by_tab_and_arrows(self):
        self.browser.open(made("two-stacks"))
        reached = []
        for _ in range(16):
            self.browser.press("Tab")
            reached.append(self.browser.evaluate(
                "(({id, name, title, className}) => id || name || title || className)(document.activeElement)"))
        for wanted in ("part", "view", "scale", "ramp", "theme", "block 0 head 0", "map-box", "save", "“q0”", "“k0”"):
            self.assertTrue(any(str(one).endswith(wanted) or wanted in str(one).split() for one in reached),
                            (wanted, reached))

    def test_a_thumbnail_is_chosen_by_click_and_by_keys(self):
        self.browser.open(made("dump"))
        self.browser.click(*self.browser.middle("button[title='block 1 head 1']"))
        self.assertEqual(self.shown()[0], "block 1 head 1")
        self.browser.press("ArrowUp")
        self.assertEqual(self.browser.evaluate("document.activeElement.title"), "block 0 head 1")
        self.assertEqual(self.shown()[0], "block 0 head 1")
        self.assertIn("entropy", self.browser.evaluate("document.activeElement.ariaLabel"))

    def test_a_token_under_the_mouse_shows_what_it_looks_at(self):
        self.browser.open(made("dump"))
        self.browser.mouse("mouseMoved", *self.browser.middle("#text-0 [data-index='4']"))
        self.assertTrue(self.shown()[1].startswith("query 4 “1” looks at "))
        self.assertTrue(self.shown()[1].endswith("; 7 masked."))
        masked = self.browser.evaluate("document.querySelectorAll('#text-1 .masked').length")
        self.assertEqual(masked, 7)
        # Colours of the keys are those of the weights: 1 is the brightest, a masked one has none.
        weight = self.weights()[0, 0, 4, 4]
        self.assertEqual(self.browser.evaluate("document.querySelector('#text-1 [data-index=\"4\"]').ariaLabel"),
                         "4 “1”, " + self.percent(weight))
        self.browser.mouse("mouseMoved", *self.browser.middle("#text-1 [data-index='4']"))
        self.assertTrue(self.shown()[1].startswith("key 4 “1” is looked at by "))
        self.browser.mouse("mouseMoved", 2, 2)
        self.assertTrue(self.shown()[1].startswith("query 11 “5” "))

    def test_tokens_by_keyboard_are_read_out(self):
        self.browser.open(made("dump"))
        self.browser.click(*self.browser.middle("#text-0 [data-index='2']"))
        self.assertTrue(self.browser.text("#said").startswith("block 0 head 0: query 2 “7” looks at "))
        self.browser.press("ArrowRight")
        self.assertTrue(self.shown()[1].startswith("query 3 “9” "))
        self.browser.press("ArrowDown")
        self.assertTrue(self.shown()[1].startswith("key 3 “9” is looked at by "))
        self.browser.press("End")
        self.assertTrue(self.shown()[1].startswith("key 11 “5” "))
        self.browser.press("Escape")
        self.assertTrue(self.shown()[1].startswith("query 11 “5” "))

    def test_the_map_tells_the_cell_under_the_mouse(self):
        self.browser.open(made("dump"))
        box = self.browser.evaluate("(() => { const box = document.getElementById('map').getBoundingClientRect();"
                                    "return [box.left, box.top, box.right, box.bottom]; })()")
        # Twelve equal cells end at the right and lower edge.
        cell = (box[2] - box[0] - 20) / 12.5
        self.browser.mouse("mouseMoved", box[2] - 2 - cell * 0.5, box[3] - 2 - cell * 0.5)
        weight = self.weights()[0, 0, 11, 11]
        said = "query 11 “5” on key 11 “5”: " + ("<0.1 %" if weight < 1e-3 else self.percent(weight))
        self.assertTrue(self.shown()[1].startswith(said), (self.shown(), said))
        self.browser.mouse("mouseMoved", box[2] - 2 - cell * 0.5, box[1] + 4)
        self.assertTrue(self.shown()[1].startswith("key 11 “5” is looked at by "))

    def test_arrows_inside_the_map_go_from_cell_to_cell(self):
        self.browser.open(made("dump"))
        self.browser.evaluate("document.getElementById('map-box').focus()")
        self.browser.press("ArrowUp")
        self.browser.press("ArrowRight", 2)
        self.assertTrue(self.shown()[1].startswith("query 10 “3” on key 1 “5”: "), self.shown())
        self.assertIn("query 10 “3” on key 1 “5”", self.browser.text("#said"))

    def pixel(self, canvas, x, y):
        return self.browser.evaluate("Array.from(document.getElementById('%s').getContext('2d')"
                                     ".getImageData(%d, %d, 1, 1).data).slice(0, 3)" % (canvas, x, y))

    def test_colours_follow_the_weights_and_scale(self):
        write_dump("plain", np.array([[[[1, 0], [0.5, 0.5]]]], "f4"), np.array([[0, 1], [0, 0]], "u1"))
        self.browser.open(made("plain"))
        size = self.browser.evaluate("[document.getElementById('map').width, document.getElementById('map').height]")
        cell = 46
        left, top = size[0] - 2 - 2 * cell, size[1] - 2 - 2 * cell
        corner = lambda q, k: self.pixel("map", left + k * cell + 5, top + q * cell + 5)
        self.assertEqual(corner(0, 0), [0xfd, 0xe7, 0x25])    # 1: viridis's last
        self.assertEqual(corner(0, 1), [0xe4, 0xe4, 0xe0])    # masked, of no place on the ramp
        self.assertEqual(corner(1, 0), [0x22, 0x90, 0x8b])    # 0.5: viridis's middle
        self.browser.open(made("plain"), "#scale=row")
        self.assertEqual(corner(1, 0), [0xfd, 0xe7, 0x25])    # the largest of its row

    def test_lines_of_the_chosen_token_alone(self):
        ink = ("(() => { const canvas = document.getElementById('lines');"
               "const {width, height} = canvas; const data = canvas.getContext('2d')"
               ".getImageData(width / 2 - 20, 24, 40, height - 24).data; let sum = 0;"
               "for (let i = 0; i < data.length; i += 4) sum += data[i] < 250; return sum; })()")
        self.browser.open(made("dump"), "#view=lines")
        everything = self.browser.evaluate(ink)
        self.browser.click(*self.browser.middle("#text-0 [data-index='0']"))
        alone = self.browser.evaluate(ink)
        self.assertGreater(alone, 40)              # one horizontal line
        self.assertLess(alone, everything / 3)

    def test_parts_are_switched(self):
        self.browser.open(made("two-stacks"))
        self.browser.click(*self.browser.middle("#parts input[value='2']"))
        self.assertTrue(self.shown()[1].startswith("query 4 “q4” looks at "))
        self.assertEqual(self.browser.evaluate("document.getElementById('text-1').children.length"), 4)
        self.browser.press("ArrowLeft")            # radio buttons keep their own arrows
        self.assertEqual(self.browser.evaluate("document.querySelector('#parts input:checked').value"), "1")
        self.assertEqual(self.shown()[0], "block 0 head 0")

    def test_hostile_tokens_are_text(self):
        self.browser.open(made("hostile", "--title", "</title><script>1</script>"))
        self.assertEqual(self.browser.text("h1"), "</title><script>1</script>")
        self.assertEqual(self.browser.evaluate("document.title"), "</title><script>1</script>")
        tokens = self.browser.evaluate("Array.from(document.querySelectorAll('#text-0 .token'), t => t.textContent)")
        seen = [token.replace(" ", "␣") for token in HOSTILE]
        self.assertEqual(tokens, [*seen[:2], "\\u202eabc", "⏎", "␣", "∅", *seen[6:8], "日本", "é" * 60, "\\u001b[2J", "<!--"])
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('script, img').length"), 2)

    def test_light_and_dark_and_a_narrow_screen(self):
        page = made("dump")
        for theme, background in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 23, 26)")):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": theme}])
            self.browser.open(page)
            self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"), background)
        self.browser.call("Emulation.setEmulatedMedia", features=[])
        self.browser.call("Emulation.setDeviceMetricsOverride", width=380, height=800, deviceScaleFactor=2,
                          mobile=True)
        self.browser.open(page)
        try:
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 380)
        finally:
            self.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900,
                              deviceScaleFactor=1, mobile=False)

    def test_a_touch_chooses_a_token(self):
        self.browser.open(made("dump"))
        x, y = self.browser.middle("#text-0 [data-index='5']")
        self.browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        # The tap's click follows the touch in the browser's own time.
        until = time.monotonic() + 30
        while not self.shown()[1].startswith("query 5 “3” ") and time.monotonic() < until:
            time.sleep(0.02)
        self.assertTrue(self.shown()[1].startswith("query 5 “3” "), self.shown())


if __name__ == "__main__":
    if not CHROMIUM:
        print("no Chromium: the page itself is not tried")
    unittest.main(argv=sys.argv[:1], verbosity=1)
