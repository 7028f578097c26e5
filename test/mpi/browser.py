"""A page as a browser shows it: headless Chromium, driven by DevTools' protocol over two
pipes (no network, no further package).  Knows nothing of what is on the page.

SPDX-License-Identifier: BSD-3-Clause
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')


def program():
    """The browser's path; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """with Browser() as b: page = b.open(file, width=360)"""

    def __enter__(self):
        self.dir = tempfile.mkdtemp()
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        # It reads from 3 and writes to 4.  Every name and every address is nowhere.
        words = [program(), '--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run',
                 '--host-resolver-rules=MAP * ~NOTFOUND', '--proxy-server=127.0.0.1:9', '--disable-background-networking',
                 '--disable-dev-shm-usage', '--user-data-dir=' + self.dir]
        self.log = open(os.path.join(self.dir, 'log'), 'w+')
        self.process = subprocess.Popen(
            ['bash', '-c', 'in=$1 out=$2; shift 2; exec "$@" 3<&"$in" 4>&"$out"', 'bash', str(to_browser), str(from_browser), *words],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.events = b'', 0, []
        return self

    def __exit__(self, *why):
        try:
            self.tell('Browser.close')
            self.process.wait(20)
        except Exception:       # whatever it is, it does not stay
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def message(self, deadline):
        while b'\0' not in self.rest:
            ready, _, _ = select.select([self.into], [], [], max(0, deadline - time.monotonic()))
            more = os.read(self.into, 1 << 20) if ready else b''
            if not more:
                self.log.seek(0)
                raise RuntimeError('the browser ' + ('has gone' if ready else 'does not answer') + ': ' + self.log.read()[-2000:])
            self.rest += more
        one, self.rest = self.rest.split(b'\0', 1)
        return json.loads(one)

    def tell(self, method, session=None, **words):
        """Its answer; what else comes meanwhile is kept in `events`."""
        self.number += 1
        said = {'id': self.number, 'method': method, 'params': words, **({'sessionId': session} if session else {})}
        os.write(self.out, json.dumps(said).encode() + b'\0')
        deadline = time.monotonic() + 60
        while True:
            heard = self.message(deadline)
            if heard.get('id') == self.number:
                if 'error' in heard:
                    raise RuntimeError(f'{method}: {heard["error"]}')
                return heard['result']
            self.events.append(heard)

    def open(self, file, width, dark=False):
        return Page(self, file, width, dark)


class Page:
    """One that has been loaded, on a screen so wide (below 700: a phone's)."""

    def __init__(self, browser, file, width, dark):
        self.browser = browser
        self.url = pathlib.Path(file).resolve().as_uri()
        target = browser.tell('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.tell('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.tell(domain + '.enable')
        self.tell('Emulation.setDeviceMetricsOverride', width=width, height=800, deviceScaleFactor=1, mobile=width < 700)
        self.tell('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        browser.events.clear()
        self.tell('Page.navigate', url=self.url)
        deadline = time.monotonic() + 60
        while not self.heard('Page.loadEventFired'):
            browser.events.append(browser.message(deadline))

    def tell(self, method, **words):
        return self.browser.tell(method, self.session, **words)

    def heard(self, *methods):
        return [e['params'] for e in self.browser.events if e.get('sessionId') == self.session and e['method'] in methods]

    def complaints(self):
        """What a console would show."""
        return self.heard('Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded')

    def requests(self):
        return [e['request']['url'] for e in self.heard('Network.requestWillBeSent')]

    def ask(self, script):
        """The value of an expression in the page."""
        got = self.tell('Runtime.evaluate', expression=script, returnByValue=True)
        if 'exceptionDetails' in got:
            raise RuntimeError(f'{script}: {got["exceptionDetails"]}')
        return got['result'].get('value')

    def picture(self, file):
        """All of it, as PNG."""
        with open(file, 'wb') as f:
            f.write(base64.b64decode(self.tell('Page.captureScreenshot', captureBeyondViewport=True)['data']))
