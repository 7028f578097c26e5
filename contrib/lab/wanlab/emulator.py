# SPDX-License-Identifier: BSD-3-Clause
"""The WAN daemon: find or build it, configure it, start it, talk to it."""
import glob
import json
import os
import shutil
import socket
import subprocess

from . import LabError, shape

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def tool(state, name, say):
    """Path of wanemu or idle.so: in the build tree, beside the script, or built now."""
    built = os.environ.get('WAN_BUILD_DIR') or os.environ.get('WAN_BUILD')
    places = ([os.path.join(built, 'contrib/lab'), built] if built else []) + [HERE]
    for place in places:
        for path in (os.path.join(place, name), os.path.join(place, '.libs', name)):
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    own = state.path('bin', name)
    if not os.path.exists(own):
        os.makedirs(state.path('bin'), exist_ok=True)
        say(f'compiling {name} (not found in a build tree; WAN_BUILD_DIR names one)')
        compile_tool(name, own)
    return own


def compile_tool(name, target):
    if name == 'wanemu':
        compiler = os.environ.get('CXX', 'c++')
        command = [compiler, '-std=c++20', '-O2', '-I', HERE, '-o', target,
                   os.path.join(HERE, 'wanemu.cpp'), *sorted(glob.glob(HERE + '/emu/*.cpp'))]
    else:
        compiler = os.environ.get('CC', 'cc')
        command = [compiler, '-O2', '-shared', '-fPIC', '-o', target, os.path.join(HERE, 'idle.c')]
    if not shutil.which(compiler.split()[0]):
        raise LabError(f'{name} is not built and there is no compiler ({compiler}): '
                       'run make tools, or apt-get install g++')
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f'{name} did not compile:\n{done.stderr}')


def configuration(state, facts, switch_pids):
    """The lines wanemu reads; what they mean is in emu/control.cpp."""
    lines = [{'op': 'daemon', 'socket': state.path('emu.sock'), 'tick_us': facts['tick'],
              'priority': facts['priority'], 'seed': facts['seed']}]
    names = [shape.site_name(s) for s in range(len(facts['sizes']))]
    for s, name in enumerate(names):
        lines.append({'op': 'site', 'name': name, 'net': f'10.{s + 1}.0.0', 'bits': 16,
                      'netns': f'/proc/{switch_pids[s]}/ns/net', 'tun': 'wan0'})
    for name in names:
        lines.append({'op': 'uplink', 'site': name, 'rate_mbit': facts['uplink'],
                      'queue_bytes': facts['queue']})
    for a in names:
        for b in names:
            if a != b:
                lines.append({'op': 'pair', 'from': a, 'to': b, 'delay_ms': facts['delay'],
                              'loss': facts['loss'], 'jitter': facts['jitter'], 'queue_bytes': facts['queue']})
    for text in facts['pairs']:
        ways, settings = shape.parse_pair(text, names)
        for a, b in ways:
            lines.append({'op': 'pair', 'from': a, 'to': b,
                          **{shape.PAIR_KEYS[k]: v for k, v in settings.items()}})
    return ''.join(json.dumps(line) + '\n' for line in lines)


def start(state, facts, switch_pids, say):
    program = tool(state, 'wanemu', say)
    state.write('wanemu.conf', configuration(state, facts, switch_pids))
    with open(state.path('wanemu.log'), 'w') as log:
        daemon = subprocess.Popen([program, state.path('wanemu.conf')], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    state.record(daemon.pid, 'wanemu')
    if daemon.stdout.readline() != b'ready\n':
        with open(state.path('wanemu.log')) as log:
            raise LabError('the WAN daemon did not start: ' + log.read().strip())


def ask(state, **line):
    """One command to the daemon, its answer as a dictionary."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
            wire.settimeout(10)
            wire.connect(state.path('emu.sock'))
            wire.sendall(json.dumps(line).encode() + b'\n')
            answer = b''.join(iter(lambda: wire.recv(65536), b''))
    except OSError as error:
        raise LabError(f'the WAN daemon does not answer ({error}); its log: '
                       f"{state.path('wanemu.log')}; lab down && lab up again") from None
    answer = json.loads(answer)
    if not answer['ok']:
        raise LabError(answer['error'])
    return answer
