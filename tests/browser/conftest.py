"""A browser for the tests: Chromium, driven by Selenium, and the built site behind a server."""

import functools
import http.server
import json
import pathlib
import shutil
import threading
import urllib.parse

import pytest

SITE = pathlib.Path(__file__).resolve().parents[2] / "site"
FAULTS = pathlib.Path(__file__).with_name("page_faults.js").read_text(encoding="utf-8")
HEIGHT = 900
INSTALL = "On Debian: apt-get install chromium chromium-driver"


def program(*names):
    """The path of the first of these programs that is installed."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(f"the browser tests need {' or '.join(names)}. {INSTALL}")


class Browser:
    """A window of Chromium that can do without the network, and remembers what it asked for."""

    def __init__(self):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = program("chromium", "google-chrome")
        for argument in (
            "--headless=new",
            "--no-sandbox",  # as root there is none
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--force-color-profile=srgb",
            # No other machine has an address.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(executable_path=program("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_script_timeout(30)
        self.driver.set_page_load_timeout(60)
        self.width = None
        # Every page is opened as by somebody new: the theme remembers the scheme of the last one.
        forget = "try { localStorage.clear(); } catch (error) { /* a page without storage */ }"
        self.command("Page.addScriptToEvaluateOnNewDocument", source=forget)

    def command(self, name, **arguments):
        """A command of Chrome's own protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script, *arguments):
        """The value that a script returns."""
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Waits for fonts and pictures, and until what was changed is laid out."""
        self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "const decoded = [...document.images].map((image) => image.decode().catch(() => 0));"
            "Promise.resolve(globalThis.formulasSet)"
            ".then(() => Promise.all([document.fonts.ready, ...decoded]))"
            ".then(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));"
        )

    def resize(self, width):
        """A window of this width; a narrow one is a phone's."""
        self.width = width
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, url, width, scheme):
        """Loads a page afresh; `scheme` is "light" or "dark"."""
        self.messages()  # of the page before
        self.driver.get("about:blank")
        self.resize(width)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.driver.get_log("performance")
        self.driver.get(url)
        self.settle()

    def messages(self):
        """What the console holds of warnings and errors since it was last asked."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] in {"WARNING", "SEVERE"}]

    def requests(self):
        """The addresses that were asked for since it was last asked, and the failures."""
        urls, failures = [], []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            details = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(details["request"]["url"])
            elif message["method"] == "Network.loadingFailed":
                failures.append(details["errorText"])
            elif message["method"] == "Network.responseReceived":
                response = details["response"]
                if response["status"] >= 400:
                    failures.append(f"{response['status']} {response['url']}")
        return urls, failures

    def faults(self, url, content, contrast=4.5):
        """What is wrong with the page that `url` opened, in a list of lines."""
        self.settle()
        found = self.run(FAULTS, self.width, content, contrast)
        found += [f"console: {message}" for message in self.messages()]
        urls, failures = self.requests()
        origin = urllib.parse.urlsplit(url)[:2]
        found += [
            f"asks for {each[:100]}"
            for each in urls
            if not each.startswith(("data:", "blob:", "about:"))
            and urllib.parse.urlsplit(each)[:2] != origin
        ]
        return found + [f"failed: {each}" for each in failures]


@pytest.fixture(scope="session")
def browser():
    """The one window of all tests."""
    window = Browser()
    yield window
    window.driver.quit()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def send_error(self, code, message=None, explain=None):
        """Sends the site's own page for what is not there, as servers of sites do."""
        if code != 404:
            return super().send_error(code, message, explain)
        page = (SITE / "404.html").read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture(scope="session")
def served():
    """The address of the built site, without a slash at its end."""
    if not (SITE / "index.html").is_file():
        raise FileNotFoundError(f"the site is not built: {SITE} has no index.html. Run make docs")
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
