"""The page of a report as a reader sees it: it asks for nothing, complains of nothing, fits
the screen, cuts no text off, and its numbers are the report's.  Run by test/mpi/page.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import os
import re
import subprocess
import unittest

import browser
import job_tests
import report_check

WIDTHS = (1280, 360)

# Of each communicator on the page: its heading and the cells of its calls, as they are shown.
TABLES = '''[...document.querySelectorAll('.communicator')].map(h => {
    let at = h.nextElementSibling;
    while (at && !at.matches('.calls, .communicator, h2')) at = at.nextElementSibling;
    return {name: h.innerText, rows: at && at.matches('.calls')
        ? [...at.querySelectorAll(':scope > .wide > table > tbody > tr')].map(
            r => [...r.cells].map(c => (c.querySelector('summary') || c).innerText)) : []};
})'''

# Texts that are not seen whole: beyond the edge of their picture, or of what does not scroll.
CUT = '''(() => {
    const cut = [];
    for (const t of document.querySelectorAll('svg text')) {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        if (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1)
            cut.push(t.textContent);
    }
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let n; (n = walk.nextNode());) {
        const e = n.parentElement;
        if (!n.data.trim() || e.closest('svg') || !e.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(n);
        for (let box = e, a = range.getBoundingClientRect(); box && box !== document.body; box = box.parentElement) {
            const style = getComputedStyle(box);
            if (style.overflowX === 'auto') break;              // it can be scrolled there
            const b = box.getBoundingClientRect();
            if (style.display !== 'inline' && (a.left < b.left - 1 || a.right > b.right + 1)) {
                cut.push(n.data);
                break;
            }
        }
    }
    return cut;
})()'''

# Pairs of texts of a picture that lie on each other.
OVERLAPS = '''(() => {
    const on = [];
    for (const s of document.querySelectorAll('svg')) {
        const all = [...s.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
        all.forEach(([x, a], i) => all.slice(i + 1).forEach(([y, b]) => {
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
                && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
                on.push(x + ' / ' + y);
        }));
    }
    return on;
})()'''

SMALLEST = '''Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.checkVisibility()).map(
    t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a))'''

# What does not fit into its box.
SCROLLS = '''[...document.querySelectorAll('.wide')].filter(d => d.scrollWidth > d.clientWidth && d.querySelector(WHAT)).map(
    d => d.innerText.slice(0, 80))'''

# Rows of tables of more than two columns: of each cell, what the page says before it, its column's head, and where it is.
ROWS = '''[...document.querySelectorAll('.wide > .cards')].flatMap(t => {
    const heads = [...t.tHead.rows[t.tHead.rows.length - 1].cells].map(c => c.textContent);
    return [...t.tBodies[0].rows].filter(r => r.checkVisibility()).map(r => [...r.cells].map((c, i) => {
        const name = getComputedStyle(c, '::before'), a = c.getBoundingClientRect();
        return {name: name.content.replace(/^"|"$/g, ''), display: name.display, size: parseFloat(name.fontSize), head: heads[i],
                left: a.left, right: a.right, top: a.top, bottom: a.bottom};
    }));
})'''
# Columns whose head says what they are only under the head of their group.
ALONE = {'in all': ['time in all'], 'sent': ['sent across'], 'least possible': ['least time', 'least across']}

# Those that are seen: where a large one is drawn another time for narrow screens, one of both.
PICTURES = '''[...document.querySelectorAll('svg')].filter(s => s.checkVisibility()).map(s => {
    const inside = s.getBBox(), a = s.getBoundingClientRect();
    return [s.querySelector('title').textContent, inside.width, inside.height, a.width, a.height];
})'''

# Of each picture of hosts that is seen, its dots: how many lie in no site's box, on each other, or in all.
DOTS = '''[...document.querySelectorAll('svg.way')].filter(s => s.checkVisibility()).map(s => {
    const [dots, boxes] = ['.host', '.place'].map(c => [...s.querySelectorAll(c)].map(e => e.getBoundingClientRect()));
    const on = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const inside = (a, b) => a.left > b.left && a.right < b.right && a.top > b.top && a.bottom < b.bottom;
    return [dots.filter(a => boxes.filter(b => inside(a, b)).length != 1).length,
            [...dots.keys()].filter(i => dots.some((b, k) => k > i && on(dots[i], b))).length
                + [...boxes.keys()].filter(i => boxes.some((b, k) => k > i && on(boxes[i], b))).length, dots.length];
})'''

# The least contrast of text to paper.
CONTRAST = '''(() => {
    const light = c => {
        const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255).map(
            v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const inks = [...document.querySelectorAll('td, p, .good, .fair, .bad, .facts div')].flatMap(
        e => [getComputedStyle(e).color, getComputedStyle(e, '::before').color]);
    return Math.min(...inks.map(c => {
        const ink = light(c);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }));
})()'''

UNITS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}
SIZES = {'B': 1, 'KB': 1 << 10, 'MB': 1 << 20, 'GB': 1 << 30}


def scrolling(page, what):
    return page.ask(SCROLLS.replace('WHAT', json.dumps(what)))


def cards_wrong(rows):
    """What is wrong with rows that stand by themselves: figures without the name of their column, or on each other."""
    wrong = []
    for row in rows:
        names = [c['name'] for c in row]
        if len(set(names)) != len(names):
            wrong.append(f'one name twice: {names}')
        for c in row:
            if c['name'] not in ALONE.get(c['head'], [c['head']]) or c['display'] != 'block' or c['size'] < 11:
                wrong.append(f'not named: {c}')
        for i, a in enumerate(row):
            for b in row[i + 1:]:
                if min(a['right'], b['right']) - max(a['left'], b['left']) > 1 and min(a['bottom'], b['bottom']) - max(a['top'], b['top']) > 1:
                    wrong.append(f'on each other: {a}, {b}')
    return wrong


def number(words, units):
    value, unit = words.split()
    return float(value) * units[unit]


class Pages(report_check.Job):
    def setUp(self):
        super().setUp()
        self.job('--mca', 'coll_wan_report', 'run.json')
        self.report = self.read('run.json')

    def page_of(self, report, name='run'):
        with open(os.path.join(self.dir, name + '.json'), 'w') as f:
            json.dump(report, f)
        file = os.path.join(self.dir, name + '.html')
        subprocess.run([report_check.TOOL, 'report', os.path.join(self.dir, name + '.json'), '--html', file], check=True)
        return file

    def look(self, b, file, width, dark=False):
        """What every page must be."""
        page = b.open(file, width, dark)
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.requests(), [page.url])
        # Not the page scrolls, but boxes on it.
        self.assertEqual(page.ask('innerWidth'), width)
        self.assertLessEqual(page.ask('document.documentElement.scrollWidth'), width)
        self.assertEqual(page.ask(CUT), [])
        for title, *lengths in page.ask(PICTURES):
            self.assertTrue(min(lengths) > 10, (title, lengths))
        # Opened, too.
        page.ask('document.querySelectorAll("details").forEach(d => { d.open = true; })')
        self.assertLessEqual(page.ask('document.documentElement.scrollWidth'), width)
        self.assertEqual(page.ask(CUT), [])
        rows = page.ask(ROWS)
        self.assertGreater(len(rows), 5)
        # Heads are seen, or said in each cell.
        self.assertEqual(page.ask("[...document.querySelectorAll('table')].filter(t => t.checkVisibility() && !t.tHead.checkVisibility()).length"),
                         page.ask("[...document.querySelectorAll('.cards')].filter(t => t.checkVisibility()).length") if width < 640 else 0)
        # Each picture is there once, whatever the width.
        self.assertEqual(page.ask('''[...document.querySelectorAll('.broad')].filter(
            e => e.checkVisibility() == e.nextElementSibling.checkVisibility()
                 || !e.nextElementSibling.matches('.narrow') || !e.nextElementSibling.querySelector('svg')).length'''), 0)
        if width < 640:     # nothing has to be scrolled; rows are cards
            self.assertEqual(scrolling(page, '*'), [])
            self.assertEqual(cards_wrong(rows), [])
        else:
            self.assertEqual({c['name'] for row in rows for c in row}, {'none'})
        return page

    def check_numbers(self, page, report):
        tables = {t['name']: t['rows'] for t in page.ask(TABLES)}
        self.assertEqual(len(tables), len(report['communicators']))
        for c in report['communicators']:
            rows = tables[f'{c["name"]} ({c["communicator"]}): {c["ranks"]} ranks']
            self.assertEqual(len(rows), len(c['calls']))
            for row, k in zip(rows, c['calls']):
                self.assertTrue(row[0].startswith(k['collective']), row)
                self.assertEqual(('non-blocking' in row[0], 'differ' in row[0]), (k['form'] != 'blocking', k['blocks'] == 'different'))
                self.assertEqual(int(row[2]), k['calls'])
                for cell, ns in ((3, k['time_ns']['sum']), (4, k['time_ns']['median']), (5, k['time_ns']['p95']),
                                 (6, k['predicted_ns']), (7, k['bound_ns'])):
                    if ns is None:
                        self.assertEqual(row[cell], '-')
                    else:
                        self.assertAlmostEqual(number(row[cell], UNITS), ns, delta=ns * 0.006 + 1, msg=row)
                self.assertEqual(row[8], '-' if k['times_bound'] is None else f'{k["times_bound"]:.2f}')
                for cell, what in ((9, 'bytes'), (10, 'least_bytes')):
                    if k['wan']['calls'] == 0:
                        self.assertEqual(row[cell], '-')
                    else:
                        size = k['wan'][what]
                        self.assertAlmostEqual(number(row[cell], SIZES), size, delta=size * 0.006, msg=row)
                self.assertTrue(row[11].startswith(max(k['plans'], key=lambda p: p['calls'])['algorithm']), row)
        facts = dict(zip(page.ask('[...document.querySelectorAll(".facts div")].map(d => d.lastChild.data)'),
                         page.ask('[...document.querySelectorAll(".facts b")].map(b => b.innerText)')))
        self.assertEqual(int(facts['calls']), report['totals']['calls'])
        self.assertEqual(int(facts['calls']), sum(int(row[2]) for rows in tables.values() for row in rows))
        self.assertEqual(int(facts['communicators served']), len(report['communicators']))
        # What took most is first.
        order = [sum(number(row[3], UNITS) for row in t['rows']) for t in page.ask(TABLES)]
        for a, b in zip(order, order[1:]):
            self.assertGreaterEqual(a * 1.01, b)

    def test_numbers_and_screens(self):
        file = self.page_of(self.report)
        with browser.Browser() as b:
            for width in WIDTHS:
                for dark in (False, True):
                    page = self.look(b, file, width, dark)
                    self.check_numbers(page, self.report)
                    self.assertEqual(page.ask(OVERLAPS), [])
                    self.assertGreater(page.ask(CONTRAST), 4.5)
                    self.assertGreater(page.ask(SMALLEST), 11)
                    paper = page.ask('getComputedStyle(document.body).backgroundColor')
                    self.assertEqual(paper, 'rgb(15, 23, 42)' if dark else 'rgb(255, 255, 255)')
            # Between the two, tables may scroll under their first column, which says what is what.
            page = self.look(b, file, 700)
            left, moved, more = page.ask('''(() => {
                const box = document.querySelector('.calls .wide'), cell = box.querySelector('tbody td');
                const before = cell.getBoundingClientRect().left;
                box.scrollLeft = 200;
                return [before, cell.getBoundingClientRect().left, box.scrollLeft];
            })()''')
            self.assertEqual((left, more), (moved, 200))
            # On a wide screen nothing has to be scrolled.
            page = b.open(file, 1280)
            self.assertEqual(scrolling(page, '*'), [])

    def test_few_on_a_phone(self):
        """Pictures of two and of four sites need no scrolling; no arrow goes over a name."""
        with browser.Browser() as b:
            for sites in (2, 4):
                changed = json.loads(json.dumps(self.report))
                names = ['eu/paris', 'eu/amsterdam', 'us/boston', 'asia/tokyo'][:sites]
                for c in changed['communicators']:
                    c['sites'] = [{'site': s, 'hosts': 1, 'ranks': 4} for s in names]
                    c['hosts'] = [[s, 4 * s, 4] for s in range(sites)]
                    for p in (p for k in c['calls'] for p in k['plans']):
                        p['flows'] = [[f, t, 1 << 20, 1] for f in range(sites) for t in range(sites) if f != t]
                for l in changed['links']:
                    l['sites'] = [{'site': s, 'uplink_bytes_per_s': None} for s in names]
                    l['between'] = [{'a': a, 'b': b_, 'latency_ns': 25400000, 'each_measured': True, 'bytes_per_s': None}
                                    for i, a in enumerate(names) for b_ in names[i + 1:]]
                page = self.look(b, self.page_of(changed, f'few{sites}'), 360)
                self.assertEqual(page.ask(OVERLAPS), [])
                boxes = page.ask('[...document.querySelectorAll("svg")].filter(s => s.querySelector(".site, .place")).map('
                                 's => [s.parentElement.scrollWidth, s.parentElement.clientWidth])')
                self.assertGreater(len(boxes), 1)
                for needs, has in boxes:
                    self.assertLessEqual(needs, has)
                order = page.ask('[...document.querySelectorAll("svg.way")].map('
                                 's => [...s.querySelectorAll("path.far, path.near, text")].map(e => e.nodeName).join(" "))')
                for drawn in order:
                    self.assertRegex(drawn, r'^(path )+(text ?)+$')

    def test_many_hosts(self):
        """Who sends to whom, of more hosts than fit side by side: each one in its site's box, on a phone as well."""
        with browser.Browser() as b:
            for sites, hosts in ((2, 16), (2, 1), (3, 7), (5, 4), (16, 2)):
                changed = json.loads(json.dumps(self.report))
                for c in changed['communicators']:
                    c['sites'] = [{'site': f'region-of-many/site{s}', 'hosts': hosts, 'ranks': hosts} for s in range(sites)]
                    c['hosts'] = [[s, s * hosts + h, 1] for s in range(sites) for h in range(hosts)]
                    for p in (p for k in c['calls'] for p in k['plans']):
                        p['flows'] = [[h, (h + hosts) % (sites * hosts), 1 << 20, 1] for h in range(sites * hosts)]
                file = self.page_of(changed, f'hosts{sites}x{hosts}')
                for width in WIDTHS:
                    page = self.look(b, file, width)
                    seen = page.ask(DOTS)
                    self.assertGreater(len(seen), 0)
                    self.assertEqual(seen, [[0, 0, sites * hosts]] * len(seen), (sites, hosts, width))
                    self.assertGreater(page.ask(SMALLEST), 11)
                    self.assertEqual(page.ask(OVERLAPS), [], (sites, hosts, width))

    def test_many_and_long(self):
        """Sites up to what is drawn, long names, many communicators."""
        with browser.Browser() as b:
            for sites in (3, 4, 5, 6, 12, 40, 41):
                changed = json.loads(json.dumps(self.report))
                names = [f'region-with-a-name-of-its-own/site{i}-that-is-called-something-long' for i in range(sites)]
                for c in changed['communicators']:
                    c['sites'] = [{'site': s, 'hosts': 200, 'ranks': 12800} for s in names]
                    c['name'] = 'communicator-' + 'of-some-solver-' * 8
                for l in changed['links']:
                    l['sites'] = [{'site': s, 'uplink_bytes_per_s': 1000000} for s in names]
                    l['between'] = [{'a': a, 'b': b_, 'latency_ns': 5000000 + i, 'each_measured': True, 'bytes_per_s': 125000000}
                                    for i, a in enumerate(names) for b_ in names[i + 1:]]
                file = self.page_of(changed, f'sites{sites}')
                for width in WIDTHS:
                    page = self.look(b, file, width)
                    self.assertEqual(page.ask('[...document.querySelectorAll("circle.site")].filter(c => c.checkVisibility()).length'),
                                     sites if sites <= 40 else 0)
                    # What numbers stand for is told below.
                    told = page.ask('[...document.querySelectorAll(".narrow li")].filter(e => e.checkVisibility()).map(e => e.innerText)')
                    self.assertEqual(told, [f'{s}, 200 hosts, 12800 ranks' for s in names] if width < 640 and sites <= 40 else [])
                    numbers = page.ask('[...document.querySelectorAll(".narrow circle.site")].filter(c => c.checkVisibility()).map('
                                       'c => { const a = c.getBoundingClientRect(); return [...c.ownerSVGElement.querySelectorAll("text:not(.told)")].filter(t => {'
                                       'const b = t.getBoundingClientRect(); return Math.abs(a.left + a.right - b.left - b.right) < 2'
                                       ' && Math.abs(a.top + a.bottom - b.top - b.bottom) < 8; }).map(t => t.textContent).join(); })')
                    self.assertEqual(numbers, [str(i + 1) for i in range(len(told))])
                    self.assertGreater(page.ask(SMALLEST), 11)
                    if sites <= 12:
                        self.assertEqual(page.ask(OVERLAPS), [], (sites, width))

    def test_evil_and_old(self):
        """Nothing that a report says is markup; reports without what later ones have can be shown."""
        text = json.dumps(self.report)
        evil = json.dumps('<img src="http://example.org/x" onerror="console.log(1)"/><script>console.log(2)</script>')[1:-1]
        for name in ('site0', 'MPI_COMM_WORLD', 'all ranks are in one site', 'is served'):
            text = text.replace(name, evil)
        changed = json.loads(text)
        changed['process'].pop('spawned', None)
        with browser.Browser() as b:
            page = self.look(b, self.page_of(changed, 'evil'), 360)
            self.assertEqual(page.ask('document.querySelectorAll("img, script").length'), 0)
            self.assertIn('<script>console.log(2)</script>', page.ask('document.body.innerText'))
            self.assertEqual(page.requests(), [page.url])
            self.assertEqual(page.complaints(), [])

    def test_that_these_tests_can_fail(self):
        """A page with each of the faults is told from one without."""
        with open(self.page_of(self.report)) as f:
            good = f.read()
        faults = {
            'a request': (lambda p: p.requests() != [p.url], '<p>', '<p><img src="file:///nowhere.png"/>'),
            'a complaint': (lambda p: p.complaints() != [], '<p>', '<p><script>console.log(1)</script>'),
            'too wide': (lambda p: p.ask('document.documentElement.scrollWidth') > 360, '<h2>', '<div style="width:500px">x</div><h2>'),
            'cut off': (lambda p: p.ask(CUT) != [], '<h2>', '<div style="width:4em;overflow:hidden;white-space:nowrap">a long line of text</div><h2>'),
            'cut off in a picture': (lambda p: p.ask(CUT) != [], '</svg>', '<text x="-999" y="20">left</text></svg>'),
            'on each other': (lambda p: p.ask(OVERLAPS) != [], '</svg>', '<text x="90" y="20">one</text><text x="92" y="22">two</text></svg>'),
            'a table that scrolls': (lambda p: scrolling(p, 'table') != [], '<td data-of=', '<td style="min-width:500px" data-of='),
            'a time line that scrolls': (lambda p: scrolling(p, '.life') != [], 'min-width:20rem;max-width:30rem', 'min-width:34rem!important;max-width:30rem'),
            'a picture that scrolls': (lambda p: scrolling(p, '.site, .place') != [], 'style="min-width:', 'style="min-width:900px!important;min-width:'),
            'a figure without its name': (lambda p: cards_wrong(p.ask(ROWS)) != [], 'data-of="bytes"', 'data-of=""'),
            'two figures of one name': (lambda p: cards_wrong(p.ask(ROWS)) != [], 'data-of="least across"', 'data-of="least time"'),
            'cells on each other': (lambda p: cards_wrong(p.ask(ROWS)) != [], '<td data-of=', '<td style="margin-bottom:-1rem" data-of='),
            'a pale name': (lambda p: p.ask(CONTRAST) < 4.5, '--name:#475569', '--name:#999999'),
            'pale': (lambda p: p.ask(CONTRAST) < 4.5, '<p>', '<p style="color:#999999">'),
        }
        file = os.path.join(self.dir, 'fault.html')
        with browser.Browser() as b:
            for name, (found, place, instead) in faults.items():
                with open(file, 'w') as f:
                    f.write(good)
                self.assertFalse(found(b.open(file, 360)), name)
                with open(file, 'w') as f:
                    f.write(good.replace(place, instead, 1))
                self.assertTrue(found(b.open(file, 360)), name)


if __name__ == '__main__':
    job_tests.main(report_check.Job)
