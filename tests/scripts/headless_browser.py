"""A page in a headless Chromium, driven over the pipe of its DevTools protocol: nothing listens on a
port, and keys and mouse are those a user has."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Tab": 9,
        "Home": 36, "End": 35, " ": 32}
PATIENCE = 120  # seconds for any one answer, on however busy a machine


def chromium():
    """The path of a browser that runs here, or None: Ubuntu's chromium-browser may only tell of a snap."""
    for path in filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        try:
            if subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0:
                return path
        except (OSError, subprocess.TimeoutExpired):
            pass
    return None


class Browser:
    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="attention-html-")
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()

        def as_three_and_four():
            # By way of high numbers: either end may itself be 3 or 4.
            os.dup2(commands_read, 103)
            os.dup2(answers_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", "--user-data-dir=" + self.profile, "about:blank"],
            preexec_fn=as_three_and_four, pass_fds=(3, 4), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.profile))
        os.close(commands_read)
        os.close(answers_write)
        self.rest = b""
        self.number = 0
        self.session = None
        self.events = []
        try:
            self.attach()
        except OSError:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.profile, ignore_errors=True)
            raise

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except OSError:
            pass
        self.process.wait(timeout=60)
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self.answers, 1 << 16)
            if not read:
                raise ConnectionError("the browser has gone")
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self.events.append(answer)

    def open(self, path, fragment=""):
        self.events.clear()
        # A change of the fragment alone would keep the page.
        self.call("Page.navigate", url="about:blank")
        self.wait_for_load()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri() + fragment)
        self.wait_for_load()

    def wait_for_load(self):
        loaded = lambda event: event.get("method") == "Page.loadEventFired"
        while not any(map(loaded, self.events)):
            self.events.append(self.receive())
        self.events = [event for event in self.events if not loaded(event)]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def text(self, selector):
        return self.evaluate("document.querySelector(%s).textContent" % json.dumps(selector))

    def press(self, key, times=1):
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                          windowsVirtualKeyCode=KEYS[key])

    def mouse(self, kind, x, y):
        buttons = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **buttons)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def middle(self, selector):
        """Where an element's middle is, scrolled to where it can be seen."""
        return self.evaluate("(() => { const one = document.querySelector(%s);"
                             "one.scrollIntoView({block: 'center'});"
                             "const box = one.getBoundingClientRect();"
                             "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
                             % json.dumps(selector))

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def complaints(self):
        """Exceptions, lines of the console, and everything asked for that is not in the page."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["exception"].get("description", "exception"))
            elif method == "Log.entryAdded":
                # Reading a canvas back is slow, and only tests do it.
                if "getImageData" not in parameters["entry"]["text"]:
                    found.append(parameters["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(str(parameters["args"]))
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "about:", "data:", "blob:")):
                    found.append("asked for " + url)
        return found
