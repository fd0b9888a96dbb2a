"""Debian's Chromium without a window, spoken to through two pipes in the protocol of its developer tools.

Nothing has to be installed beside the browser: messages are JSON, each ended by a zero byte.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60  # that an answer may take

# The browser reads from 3 and writes to 4; both pipes are moved out of the way before, since they may be 3 or 4.
START = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, 10) for number in sys.argv[1:3]]
for pipe, number in zip(pipes, (3, 4)):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found():
    """The browser's file: FEWATOMS_CHROMIUM, or the first of the usual names; None where there is none."""
    named = os.environ.get("FEWATOMS_CHROMIUM")
    return named or next((file for file in map(shutil.which, NAMES) if file), None)


class Browser:
    """One process; `with Browser(file) as browser: page = browser.open(address)`."""

    def __init__(self, file):
        self._folder = tempfile.TemporaryDirectory()
        theirs, self._send = os.pipe()
        self._read, ours = os.pipe()
        options = [
            "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
            f"--user-data-dir={self._folder.name}",
        ]  # fmt: skip
        start = [sys.executable, "-c", START, str(theirs), str(ours), file, *options]
        self._process = subprocess.Popen(
            start, pass_fds=(theirs, ours), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(ours)
        self._number, self._rest, self.heard = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self.ask("Browser.close")
            self._process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(10)
        os.close(self._send)
        os.close(self._read)
        for _ in range(20):  # the last of its children still tidy up
            try:
                self._folder.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def ask(self, method, session=None, **words):
        """The answer to one question; whatever happens meanwhile is put into `heard`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": words}
        if session is not None:
            message["sessionId"] = session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        number, until = self._number, time.monotonic() + SECONDS
        while True:
            said = self._next(until)
            if said.get("id") == number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']['message']}")
                return said["result"]
            self.heard.append(said)

    def wait_for(self, method, session):
        """The first event of that name; those before stay heard."""
        until = time.monotonic() + SECONDS
        while True:
            for event in self.heard:
                if event.get("method") == method and event.get("sessionId") == session:
                    return event
            self.heard.append(self._next(until))

    def _next(self, until):
        while b"\0" not in self._rest:
            if time.monotonic() > until:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._read, 1 << 16)
            if not piece:
                raise EOFError("the browser has gone")
            self._rest += piece
        said, _, self._rest = self._rest.partition(b"\0")
        return json.loads(said)

    def open(self, file, *, width=1400, height=900, scheme="light", script=True):
        """A page of a file, loaded."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.ask("Emulation.setScriptExecutionDisabled", value=not script)
        page.resize(width, height)
        page.ask("Page.navigate", url=Path(file).absolute().as_uri())
        self.wait_for("Page.loadEventFired", session)
        return page


class Page:
    """One tab."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def ask(self, method, **words):
        return self.browser.ask(method, self.session, **words)

    def resize(self, width, height):
        narrow = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=narrow)

    def run(self, script):
        """What an expression (or a promise) is; an error in it is raised."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(json.dumps(told["exceptionDetails"])[:2000])
        return told["result"].get("value")

    def press(self, key, number, text=""):
        """A key, by its name and number; `text` is what it would write."""
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            words = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number, **words)

    def screenshot(self, file, *, whole=True):
        """A picture of the page, from its top to its end."""
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(file).write_bytes(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

    def complaints(self):
        """Errors and warnings of the console, and requests for anything but the page itself and its data."""
        self.run("1")  # whatever is on its way has come now
        told = []
        for event in self.browser.heard:
            if event.get("sessionId") != self.session:
                continue
            method, words = event["method"], event["params"]
            if method == "Log.entryAdded" and words["entry"]["level"] in ("error", "warning"):
                told.append(words["entry"]["text"])
            elif method == "Runtime.exceptionThrown":
                told.append(words["exceptionDetails"]["text"])
            elif method == "Runtime.consoleAPICalled" and words["type"] in ("error", "warning", "assert"):
                told.append(str(words["args"]))
            elif method == "Network.requestWillBeSent" and not words["request"]["url"].startswith(("file:", "data:")):
                told.append(f"asked for {words['request']['url']}")
        return told

    def close(self):
        self.browser.ask("Target.closeTarget", targetId=self.target)
