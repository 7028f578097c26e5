# SPDX-License-Identifier: BSD-3-Clause
"""Sites, hosts, addresses, link settings and rank placement: pure, no I/O.

Sites are named a, b, c, ...; hosts a0, a1, ..., b0, ...; host j of site s has the
address 10.(s+1).(j/250).(j%250+1). Rates are Mb/s, delays ms one way, queues bytes.
"""
import random
import re

from . import LabError

SITES_MAX = 26
HOSTS_MAX = 4000
PAIR_KEYS = {'delay': 'delay_ms', 'rate': 'rate_mbit', 'loss': 'loss', 'jitter': 'jitter', 'queue': 'queue_bytes'}
GATEWAY = '10.%d.255.254'
HEAD = 'head'                           # mpirun's own host, in site a, no ranks


def parse_sites(text):
    """Hosts per site of '2x16' or '3+11+5'."""
    if re.fullmatch(r'\d+x\d+', text):
        sites, hosts = (int(n) for n in text.split('x'))
        sizes = [hosts] * sites
    elif re.fullmatch(r'\d+([+,]\d+)*', text):
        sizes = [int(n) for n in re.split(r'[+,]', text)]
    else:
        raise LabError(f"'{text}' is no shape: write 2x16 (sites x hosts) or 3+11+5 (hosts per site)")
    if not 1 <= len(sizes) <= SITES_MAX or min(sizes) < 1 or sum(sizes) > HOSTS_MAX:
        raise LabError(f"'{text}': 1 to {SITES_MAX} sites, at least one host in each, "
                       f'at most {HOSTS_MAX} hosts')
    return sizes


def shape_text(sizes):
    if len(set(sizes)) == 1:
        return f'{len(sizes)}x{sizes[0]}'
    return '+'.join(map(str, sizes))


def site_name(index):
    return chr(ord('a') + index)


def hosts_of(sizes):
    """[(host, site, address), ...], site by site."""
    return [(f'{site_name(s)}{j}', site_name(s), f'10.{s + 1}.{j // 250}.{j % 250 + 1}')
            for s, size in enumerate(sizes) for j in range(size)]


def number(text, what, low=0.0, high=1e12):
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise LabError(f"{what}: '{text}' is not a number from {low:g} to {high:g}")
    return value


def parse_settings(words, allowed, what):
    """{'delay': 5.0, ...} of ['delay=5', ...]."""
    settings = {}
    for word in words:
        key, equals, value = word.partition('=')
        if not equals or key not in allowed:
            raise LabError(f"{what}: '{word}' is none of " + ', '.join(f'{k}=..' for k in allowed))
        settings[key] = number(value, f'{what}: {key}', 0, 1 if key in ('loss', 'jitter') else 1e12)
    return settings


def parse_way(text, sites):
    """[(from, to), ...] of 'a:b' (both directions) or 'a>b' (one)."""
    match = re.fullmatch(r'(\w+)(:|>)(\w+)', text)
    if not match or match[1] == match[3] or match[1] not in sites or match[3] not in sites:
        raise LabError(f"'{text}' is no pair of two of the sites {', '.join(sites)}: "
                       "write a:b, or 'a>b' for one direction")
    way = [(match[1], match[3])]
    return way if match[2] == '>' else way + [(match[3], match[1])]


def parse_pair(text, sites):
    """([(from, to), ...], settings) of 'a:b,delay=20,rate=100,loss=0.01'."""
    way, *words = text.split(',')
    return parse_way(way, sites), parse_settings(words, PAIR_KEYS, f'--pair {way}')


def placement_order(hosts, text):
    """Hosts in rank order for block, roundrobin or shuffled[:seed]."""
    kind, _, seed = text.partition(':')
    if kind == 'block' and not seed:
        return list(hosts)
    if kind == 'roundrobin' and not seed:
        by_site = {}
        for host in hosts:
            by_site.setdefault(host[1], []).append(host)
        order = []
        for turn in range(max(map(len, by_site.values()))):
            order += [members[turn] for members in by_site.values() if turn < len(members)]
        return order
    if kind == 'shuffled' and (not seed or seed.isdigit()):
        order = list(hosts)
        random.Random(int(seed or 1)).shuffle(order)
        return order
    raise LabError(f"placement '{text}' is none of block, roundrobin, shuffled, shuffled:SEED")


def rank_hosts(hosts, placement, per_host):
    """Host name of every rank. block: neighbours share a host; else one round per slot."""
    order = placement_order(hosts, placement)
    if placement == 'block':
        return [host[0] for host in order for _ in range(per_host)]
    if placement == 'roundrobin':
        return [host[0] for _ in range(per_host) for host in order]
    slots = [host[0] for host in hosts for _ in range(per_host)]
    random.Random(int(placement.partition(':')[2] or 1)).shuffle(slots)
    return slots


def cluster_map(sizes):
    """The sites as a map file: 'host-range site' lines."""
    lines = ['# host-range site']
    for s, size in enumerate(sizes):
        name = site_name(s)
        lines.append(f'{name}[0-{size - 1}] {name}' if size > 1 else f'{name}0 {name}')
    return '\n'.join(lines) + '\n'
