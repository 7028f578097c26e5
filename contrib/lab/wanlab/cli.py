# SPDX-License-Identifier: BSD-3-Clause
"""The command line: arguments, help, and which function does what."""
import argparse
import json
import os
import sys

from . import LabError, emulator, job, network, shape
from .state import State, labs

EXAMPLES = '''\
examples:
  lab up 2x16                              two sites of 16 hosts, 40/400 Mb/s, 10 ms
  lab up 3+11+5 --pair a:c,delay=50        unequal sites, one long way
  lab run ./hello                          one rank per host, in blocks
  lab run --placement shuffled:3 --mca coll ^wan ./bench
  lab set a:b delay=30 loss=0.001          while a job runs
  lab set a uplink=100                     one site's uplink, both directions
  lab stat --reset                         bytes, drops, lateness
  lab exec b3 ping -c 3 a0                 a command in a host
  lab map > sites.map                      which host is in which site
  lab down
'''

UPLINK_KEYS = {'uplink': 'rate_mbit', 'uplink-queue': 'queue_bytes'}


def say(text):
    print(f'lab: {text}', file=sys.stderr, flush=True)


def parser_make():
    parser = argparse.ArgumentParser(
        prog='lab', description='Clusters and wide-area networks emulated on one machine.',
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('--name', default=os.environ.get('WAN_LAB_NAME', 'lab'),
                        help='which lab, several may exist (default: %(default)s)')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)

    def add(name, text):
        return commands.add_parser(name, parents=[common], help=text, description=text)

    up_arguments(add('up', 'make sites, hosts and the WAN between them'))
    run_arguments(add('run', 'run an MPI program in the lab'))
    change = add('set', 'change links, also while a job runs')
    change.add_argument('target', help="a:b (a pair), 'a>b' (one direction), a (a site's uplink), "
                        'a3 (a host), all').words = ['all']
    change.add_argument('settings', nargs='+', metavar='KEY=VALUE',
                        help='pair or all: delay (ms) jitter (part of it, 0..1) loss (0..1) rate (Mb/s, 0: none) queue (bytes); '
                        'site or all: uplink (Mb/s) uplink-queue (bytes); host, site or all: nic (Mb/s)'
                        ).words = [f'{key}=' for key in (*shape.PAIR_KEYS, *UPLINK_KEYS, 'nic')]
    stat = add('stat', 'what the WAN and the NICs did since the last reset')
    stat.add_argument('--json', action='store_true', help='for programs')
    stat.add_argument('--reset', action='store_true', help='start counting anew afterwards')
    add('down', 'remove everything the lab made').add_argument(
        '--all', action='store_true', help='every lab on this machine')
    inside = add('exec', 'run a command in a host')
    inside.add_argument('host')
    inside.add_argument('arguments', nargs=argparse.REMAINDER, metavar='CMD')
    add('status', 'which labs are up')
    add('map', "print the sites as 'host-range site' lines")
    return parser


def up_arguments(up):
    up.add_argument('sites', nargs='?', help='2x16 (sites x hosts) or 3+11+5 (hosts per site)')
    up.add_argument('--hosts', metavar='N,N,..', help='hosts per site, another way to say 3+11+5')
    up.add_argument('--nic', default='40', help='rate of every NIC, Mb/s each way; 0: no limit '
                    '(default: %(default)s)')
    up.add_argument('--uplink', default='400', help="rate of every site's uplink, Mb/s each way "
                    '(default: %(default)s)')
    up.add_argument('--delay', default='10', help='one-way delay between sites, ms (default: %(default)s)')
    up.add_argument('--loss', default='0', help='probability that a frame is lost between sites')
    up.add_argument('--jitter', default='0', help="each packet's delay is drawn from so much less to so much more than that "
                    '(0.2: a fifth); packets of two sites keep their order')
    up.add_argument('--queue', help='bytes that may wait for an uplink (default: rate x longest '
                    'round trip, at least 1000000)')
    up.add_argument('--nic-queue', default='2000000', help='bytes that may wait for a NIC or a switch '
                    'port (default: %(default)s)')
    up.add_argument('--burst', default='10240', help='bytes a NIC may send at once after a pause '
                    '(default: %(default)s)')
    up.add_argument('--pair', action='append', default=[], metavar='A:B,KEY=VALUE,..',
                    help="other delay, jitter, rate, loss, queue between two sites; 'A>B,..' for one direction")
    up.add_argument('--cc', default='cubic', help="TCP congestion control; 'inherit': the machine's "
                    '(default: %(default)s)')
    up.add_argument('--seed', default='1', help='of loss and jitter (default: %(default)s)')
    up.add_argument('--tick', default='100', help='the WAN daemon wakes at most this often, us '
                    '(default: %(default)s)')
    up.add_argument('--priority', default='50', help='its SCHED_FIFO priority, 0: none '
                    '(default: %(default)s)')


def run_arguments(run):
    run.usage = 'lab run [options] [mpirun arguments] PROGRAM [arguments]'
    run.add_argument('--placement', default='block',
                     help='ranks over sites: block, roundrobin, shuffled[:seed] (default: %(default)s)'
                     ).words = ['block', 'roundrobin', 'shuffled']
    run.add_argument('--ppn', type=int, default=1, help='ranks per host (default: 1)')
    run.add_argument('--site-ids', dest='site_ids', action='store_true', default=True,
                     help="set OMPI_MCA_coll_wan_cluster_id to the site's name on every host (default)")
    run.add_argument('--no-site-ids', dest='site_ids', action='store_false')
    run.add_argument('--idle', dest='idle', action='store_true', default=True,
                     help='idle ranks sleep in poll instead of spinning (default)')
    run.add_argument('--no-idle', dest='idle', action='store_false')
    run.add_argument('--timeout', type=int, default=600, help='seconds (default: %(default)s)')
    run.add_argument('--stat', action='store_true', help='reset the counters before, show them after')
    run.add_argument('--verbose', action='store_true', help='show the mpirun command')


def split_run(arguments):
    """lab's own options come first; from the first other word on it is mpirun's."""
    takes_value = {'--name', '--placement', '--ppn', '--timeout'}
    flags = {'--site-ids', '--no-site-ids', '--idle', '--no-idle', '--stat', '--verbose', '-h', '--help'}
    at = 0
    while at < len(arguments):
        word = arguments[at].partition('=')[0]
        if word in takes_value:
            at += 1 if '=' in arguments[at] else 2
        elif word in flags:
            at += 1
        else:
            break
    if at < len(arguments) and arguments[at] == '--':
        return arguments[:at], arguments[at + 1:]
    return arguments[:at], arguments[at:]


def up_facts(options):
    if bool(options.sites) == bool(options.hosts):
        raise LabError('say the shape once: lab up 2x16, lab up 3+11+5, or lab up --hosts 3,11,5')
    sizes = shape.parse_sites(options.sites or options.hosts)
    facts = {'sizes': sizes, 'pairs': options.pair, 'cc': options.cc}
    for key, low, high in (('nic', 0, 1e6), ('uplink', 0, 1e6), ('delay', 0, 1e5), ('loss', 0, 1), ('jitter', 0, 1),
                           ('nic_queue', 3000, 1e10), ('burst', 1600, 1e9), ('seed', 0, 2**32),
                           ('tick', 0, 10000), ('priority', 0, 99)):
        facts[key] = shape.number(getattr(options, key), '--' + key.replace('_', '-'), low, high)
    names = [shape.site_name(s) for s in range(len(sizes))]
    delays = [facts['delay']] + [settings['delay'] for _, settings in
                                 (shape.parse_pair(text, names) for text in options.pair)
                                 if 'delay' in settings]
    bdp = facts['uplink'] * 1e6 / 8 * 2 * max(delays) / 1e3
    facts['queue'] = (shape.number(options.queue, '--queue', 1600, 1e12)
                      if options.queue else max(bdp, 1e6))
    return facts


def describe(facts):
    return (f"{shape.shape_text(facts['sizes'])}: NIC {facts['nic']:g} Mb/s, uplink {facts['uplink']:g}, "
            f"{facts['delay']:g} ms one way" + (f", jitter {facts['jitter']:g}" if facts['jitter'] else '') +
            f", loss {facts['loss']:g}, queues {facts['queue']:.0f} (uplink) "
            f"and {facts['nic_queue']:.0f} (NIC) bytes, burst {facts['burst']:.0f}, TCP "
            f"{facts['cc'] or 'as the machine has it'}" +
            ''.join(f', {pair}' for pair in facts['pairs']))


def do_set(state, options):
    network.check_machine()
    facts = state.load()
    sites = [shape.site_name(s) for s in range(len(facts['sizes']))]
    hosts = [(name, site) for name, site, _ in shape.hosts_of(facts['sizes'])]
    target = options.target
    way_keys, uplink_keys = list(shape.PAIR_KEYS), list(UPLINK_KEYS)
    if target == 'all':
        allowed, ways = way_keys + uplink_keys + ['nic'], [(a, b) for a in sites for b in sites if a != b]
        chosen, named = sites, [name for name, _ in hosts]
    elif target in sites:
        allowed, ways, chosen = uplink_keys + ['nic'], [], [target]
        named = [name for name, site in hosts if site == target]
    elif target in dict(hosts):
        allowed, ways, chosen, named = ['nic'], [], [], [target]
    else:
        allowed, ways, chosen, named = way_keys, shape.parse_way(target, sites), [], []
    settings = shape.parse_settings(options.settings, allowed, f'lab set {target}')
    pair = {shape.PAIR_KEYS[key]: value for key, value in settings.items() if key in way_keys}
    uplink = {UPLINK_KEYS[key]: value
              for key, value in settings.items() if key in uplink_keys}
    if pair:
        for a, b in ways:
            emulator.ask(state, **{'op': 'pair', 'from': a, 'to': b, **pair})
    if uplink:
        for site in chosen:
            emulator.ask(state, op='uplink', site=site, **uplink)
    if 'nic' in settings:
        network.nic_set(state, facts, named, settings['nic'])
    return 0


def do_status():
    for name in labs():
        state = State(name)
        alive = [role for _, alive, _, role in state.recorded() if alive]
        dead = [role for _, alive, _, role in state.recorded() if not alive]
        try:
            print(f'{name}: {describe(state.load())}; {len(alive)} processes' +
                  (f'; BROKEN, ended: {", ".join(dead)}' if dead else ''))
        except LabError as error:
            print(f'{name}: {error}')
    if not labs():
        print('no lab is up')
    return 0 if labs() else 1


def dispatch(arguments):
    rest = []
    if arguments[:1] == ['run']:
        own, rest = split_run(arguments[1:])
        arguments = ['run'] + own
    options = parser_make().parse_args(arguments)
    state = State(options.name)
    if options.command == 'up':
        facts = up_facts(options)
        network.up(state, facts, say)
        say('up: ' + describe(facts))
        return 0
    if options.command == 'run':
        return job.run(state, options, rest, say)
    if options.command == 'set':
        return do_set(state, options)
    if options.command == 'stat':
        if options.json:
            print(json.dumps(job.collect(state, options.reset)))
        else:
            job.report(state, sys.stdout, options.reset)
        return 0
    if options.command == 'down':
        network.check_machine()
        for name in labs() if options.all else [options.name]:
            if not network.down(State(name), say):
                say('nothing to remove')
        return 0
    if options.command == 'exec':
        network.check_machine()
        if not options.arguments:
            raise LabError('nothing to run: lab exec HOST CMD')
        command = network.inside(state, options.host, options.arguments)
        os.execvp(command[0], command)
    if options.command == 'map':
        print(shape.cluster_map(state.load()['sizes']), end='')
        return 0
    return do_status()


def main():
    try:
        return dispatch(sys.argv[1:])
    except LabError as error:
        print(f'lab: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
