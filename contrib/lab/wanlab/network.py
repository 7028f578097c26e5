# SPDX-License-Identifier: BSD-3-Clause
"""Namespaces and links: `up`, `down`, and commands inside a host.

A site is a namespace with a bridge and a TUN (the daemon's end is in emulator.py);
a host is a network, UTS and mount namespace held by one sleeping process, joined to
the bridge by a veth pair. Nothing is named outside: namespaces live as long as the
recorded processes, so ending these removes everything.
"""
import json
import os
import shutil
import subprocess

from . import LabError, emulator, shape
from .state import State, labs

# A host's TCP is the kernel's default, stated because the machine may be tuned
# otherwise; metrics of earlier connections would couple one job to the next.
HOST_SYSCTLS = {
    'net/ipv4/tcp_rmem': '4096 131072 6291456',
    'net/ipv4/tcp_wmem': '4096 16384 4194304',
    'net/ipv4/tcp_no_metrics_save': '1',
}
QUIET_SYSCTLS = {
    'net/ipv6/conf/all/disable_ipv6': '1',
    'net/ipv6/conf/default/disable_ipv6': '1',
}
SWITCH_SYSCTLS = {
    'net/ipv4/ip_forward': '1',
    'net/ipv4/conf/all/send_redirects': '0',
    'net/ipv4/conf/default/send_redirects': '0',
    'net/bridge/bridge-nf-call-iptables': '0',
    'net/bridge/bridge-nf-call-arptables': '0',
}
ALLOWED_CC = '/proc/sys/net/ipv4/tcp_allowed_congestion_control'
# Super-packets up to this size cross NICs and WAN in one piece: half the CPU.
# They must fit into the NIC's burst, otherwise tbf cuts them up.
GSO_BYTES = 8000


def check_machine():
    if os.geteuid() != 0:
        raise LabError('lab needs root: it makes network namespaces and TUN devices (sudo lab ...)')
    if not os.path.exists('/dev/net/tun'):
        raise LabError('no tun: /dev/net/tun is missing (modprobe tun; in a container, pass the device)')
    for name, package in (('ip', 'iproute2'), ('tc', 'iproute2'), ('nsenter', 'util-linux'),
                          ('unshare', 'util-linux')):
        if not shutil.which(name):
            raise LabError(f"'{name}' is missing: apt-get install {package}")


def sysctl_script(values):
    return ''.join(f"[ ! -w /proc/sys/{key} ] || echo '{value}' > /proc/sys/{key} || true\n"
                   for key, value in values.items())


def hold(state, role, script, *unshare):
    """Starts a namespace's holder; it prints 'ready' when its script is through.

    At the usual priority, whatever `lab up` has: writing disable_ipv6, the kernel tries again and again
    for a lock, which at real-time priority keeps whoever has it from going on."""
    script = f'set -e\n{script}echo ready\nexec sleep infinity\n'
    with open(state.path('holders.log'), 'a') as log:
        process = subprocess.Popen(['chrt', '--other', '0', 'unshare', *unshare, '/bin/sh', '-c', script, role],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                   start_new_session=True, cwd='/')
    state.record(process.pid, role)
    return process


def await_ready(state, process, role):
    if process.stdout.readline() != b'ready\n':
        with open(state.path('holders.log')) as log:
            raise LabError(f'{role} could not be made: {log.read().strip()}')
    state.record(process.pid, role)     # now with its namespace
    process.stdout.close()


def batch(tool, commands, pid):
    """Starts `ip -batch` or `tc -batch` inside pid's network namespace."""
    process = subprocess.Popen(['nsenter', '--target', str(pid), '--net', tool, '-batch', '-'],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write('\n'.join(commands) + '\n')
    process.stdin.close()
    return process


def await_batches(processes):
    for process in processes:
        error = process.stderr.read()
        if process.wait():
            raise LabError('network set-up failed: ' + error.strip())


def tbf(device, rate_mbit, facts, verb='add'):
    if rate_mbit <= 0:
        return f'qdisc {verb} dev {device} root pfifo limit 10000'
    return (f'qdisc {verb} dev {device} root tbf rate {int(rate_mbit * 1e6)}bit '
            f"burst {int(facts['burst'])}b limit {int(facts['nic_queue'])}b")


def host_script(state, name, facts):
    """What a host's holder does first: its own name, files, TCP settings."""
    script = f'hostname {name}\n'
    for file in ('hosts', 'resolv.conf', 'nsswitch.conf'):
        script += f'[ ! -e /etc/{file} ] || mount --bind {state.path(file)} /etc/{file}\n'
    sysctls = dict(HOST_SYSCTLS)
    if facts['cc']:
        sysctls['net/ipv4/tcp_congestion_control'] = facts['cc']
    return script + sysctl_script({**QUIET_SYSCTLS, **sysctls})


def choose_congestion_control(state, wanted, say):
    """A namespace may select an algorithm only when the machine allows it to all."""
    if wanted == 'inherit':
        return ''
    with open(ALLOWED_CC) as file:
        allowed = file.read().split()
    if wanted not in allowed:
        try:
            with open(ALLOWED_CC, 'w') as file:
                file.write(' '.join(allowed + [wanted]))
            state.write('allowed_cc', wanted)      # down takes it back
        except OSError:
            say(f'this kernel has no {wanted}: hosts use what it has by default')
            return ''
    return wanted


def files_write(state, hosts):
    state.write('hosts', '127.0.0.1 localhost\n' +
                ''.join(f'{address} {name}\n' for name, _, address in hosts) +
                f"{'10.1.255.1'} {shape.HEAD}\n")
    # No name is ever asked of the network: an unreachable resolver would hold up
    # every start for minutes.
    state.write('resolv.conf', '# no resolver inside a lab\n')
    state.write('nsswitch.conf', 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n'
                'networks: files\nprotocols: files\nservices: files\n')


def up(state, facts, say):
    check_machine()
    if state.exists():
        what = 'is up already' if os.path.exists(state.path('lab.json')) else 'was not completed'
        raise LabError(f"lab '{state.name}' {what}: lab down first, or choose another --name")
    os.makedirs(state.path('hosts.d'))
    try:
        build(state, facts, say)
    except BaseException:
        down(state, lambda text: None)
        raise


def build(state, facts, say):
    sizes = facts['sizes']
    hosts = shape.hosts_of(sizes)
    files_write(state, hosts)
    facts['cc'] = choose_congestion_control(state, facts['cc'], say)
    say(f'{len(sizes)} sites, {len(hosts)} hosts: namespaces')
    switches = [hold(state, f'switch:{shape.site_name(s)}',
                     sysctl_script({**QUIET_SYSCTLS, **SWITCH_SYSCTLS}), '--net')
                for s in range(len(sizes))]
    everyone = hosts + [(shape.HEAD, 'a', '10.1.255.1')]
    holders = [hold(state, f'host:{name}', host_script(state, name, facts),
                    '--net', '--uts', '--mount') for name, _, _ in everyone]
    for s, process in enumerate(switches):
        await_ready(state, process, f'switch:{shape.site_name(s)}')
    for process, (name, site, _) in zip(holders, everyone):
        await_ready(state, process, f'host:{name}')
        state.write(f'hosts.d/{name}', f'{process.pid} {site}\n')
    switch_pids = [process.pid for process in switches]
    say('the WAN daemon')
    emulator.start(state, facts, switch_pids, say)
    say('links')
    links_build(facts, everyone, [process.pid for process in holders], switch_pids)
    facts['switches'] = switch_pids
    state.save(facts)


def hardware_address(address):
    """A NIC's address, made from its IPv4 address (locally administered, unicast)."""
    return '02:00:' + ':'.join(f'{int(byte):02x}' for byte in address.split('.'))


def neighbours(site_addresses, own, device):
    """
    `ip` commands that tell all hardware addresses of a site, for ever. The kernel's table of
    those it asks for (net.ipv4.neigh.default.gc_thresh3, 1024) is one for all namespaces of
    the machine: four sites of 16 hosts fill it, and connections fail.
    """
    return [f'neigh replace {address} lladdr {hardware_address(address)} dev {device} nud permanent'
            for address in site_addresses if address != own]


def links_build(facts, hosts, host_pids, switch_pids):
    gateways = [shape.GATEWAY % (s + 1) for s in range(len(switch_pids))]
    addresses = [[gateway] for gateway in gateways]
    for _, site, address in hosts:
        addresses[ord(site) - ord('a')].append(address)
    ip_switch = [['link set lo up',
                  f'link add br0 address {hardware_address(gateway)} type bridge stp_state 0 forward_delay 0 '
                  'mcast_snooping 0',
                  f'addr add {gateway}/16 dev br0', 'link set br0 up', *neighbours(site, gateway, 'br0'),
                  'link set wan0 txqueuelen 10000', 'link set wan0 up', 'route add 10.0.0.0/8 dev wan0']
                 for gateway, site in zip(gateways, addresses)]
    tc_switch = [['qdisc add dev wan0 root pfifo limit 10000'] for _ in switch_pids]
    ip_host, tc_host = [], []
    for (name, site, address), pid in zip(hosts, host_pids):
        s = ord(site) - ord('a')
        ip_switch[s] += [f'link add p-{name} type veth peer name eth0 address {hardware_address(address)} '
                         f'netns {pid}',
                         f'link set p-{name} gso_max_size {GSO_BYTES} master br0 up']
        ip_host.append(['link set lo up', f'link set eth0 gso_max_size {GSO_BYTES} up',
                        f'addr add {address}/16 brd + dev eth0', *neighbours(addresses[s], address, 'eth0'),
                        f'route add default via {gateways[s]}'])
        rate = 0 if name == shape.HEAD else facts['nic']
        tc_switch[s].append(tbf(f'p-{name}', rate, facts))
        tc_host.append([tbf('eth0', rate, facts)])
    for tool, switch, host in (('ip', ip_switch, ip_host), ('tc', tc_switch, tc_host)):
        await_batches([batch(tool, commands, pid) for commands, pid in zip(switch, switch_pids)])
        await_batches([batch(tool, commands, pid) for commands, pid in zip(host, host_pids)])


def down(state, say):
    """Removes whatever of the lab is there; fine when nothing is."""
    if not state.exists():
        return False
    count = state.kill_all()
    allowed = state.path('allowed_cc')
    if os.path.exists(allowed) and not any(
            os.path.exists(State(other).path('allowed_cc')) for other in labs() if other != state.name):
        with open(allowed) as file:
            added = file.read()
        with open(ALLOWED_CC) as file:
            left = [name for name in file.read().split() if name != added]
        with open(ALLOWED_CC, 'w') as file:
            file.write(' '.join(left))
    state.remove()
    say(f'{count} processes ended, namespaces and {state.dir} removed')
    return True


def host_pid(state, name):
    try:
        with open(state.path('hosts.d', name)) as file:
            return int(file.read().split()[0])
    except (FileNotFoundError, IsADirectoryError):
        state.load()
        known = sorted(os.listdir(state.path('hosts.d')))
        raise LabError(f"no host '{name}' in this lab; there are {', '.join(known)}") from None


def inside(state, name, command):
    """The command line that runs `command` in a host, in the current directory."""
    return ['nsenter', '--target', str(host_pid(state, name)), '--net', '--uts', '--mount', '--',
            '/bin/sh', '-c', 'cd "$0" 2>/dev/null || cd /; exec "$@"', os.getcwd(), *command]


def nic_set(state, facts, names, rate_mbit):
    sites = [shape.site_name(s) for s in range(len(facts['sizes']))]
    by_name = {name: site for name, site, _ in shape.hosts_of(facts['sizes'])}
    for name in names:
        await_batches([
            batch('tc', [tbf('eth0', rate_mbit, facts, 'replace')], host_pid(state, name)),
            batch('tc', [tbf(f'p-{name}', rate_mbit, facts, 'replace')],
                  facts['switches'][sites.index(by_name[name])])])


def nic_counters(facts):
    """{device: {'drops', 'backlog', 'bytes'}} of all switch ports (towards the hosts) and TUNs."""
    found = {}
    for s, pid in enumerate(facts['switches']):
        output = subprocess.run(['nsenter', '--target', str(pid), '--net', 'tc', '-s', '-j', 'qdisc'],
                                capture_output=True, text=True).stdout
        for qdisc in json.loads(output or '[]'):
            device = qdisc.get('dev', '')
            if qdisc.get('root') and (device.startswith('p-') or device == 'wan0'):
                name = device[2:] if device != 'wan0' else f'wan0@{shape.site_name(s)}'
                found[name] = {key: qdisc.get(key, 0) for key in ('drops', 'backlog', 'bytes')}
    return found
