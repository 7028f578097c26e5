"""A simulated network: its figures, who sits where, and lower bounds.

SPDX-License-Identifier: BSD-3-Clause
"""

import dataclasses
import random

# Of a rate limit in the lab, what is left for data: TCP segments of 1448 bytes in Ethernet
# frames of 1514 (the lab's long flows reach 4.785 of 5 MB/s: this share).
PAYLOAD = 1448 / 1514


@dataclasses.dataclass(frozen=True)
class Network:
    """Sites of equal size.  Rates count frames in Mb/s, as the lab's and as links are sold."""
    sites: int
    hosts: int              # of each site, one rank each
    nic: float = 1000       # Mb/s of an interface, each direction
    uplink: float = 10000   # Mb/s of a site's uplink, each direction
    delay: float = 10       # ms one way between sites
    lan: float = 50         # us one way inside a site
    overhead: float = 5     # us that a process spends on a message, at either end
    fifo: int = 1           # messages that an interface sends at once; 0: any number share it

    burst: int = 0          # bytes that an interface lets pass at once after a pause
    cores: int = 0          # processors that all hosts share (emulated ones do); 0: each has its own
    core: float = 0         # us of theirs for a message

    @property
    def ranks(self):
        return self.sites * self.hosts

    @property
    def shape(self):
        return f'{self.sites}x{self.hosts}'

    def text(self):
        """Names the network in records and titles."""
        return (f'{self.shape}: NIC {self.nic:g} Mb/s, uplink {self.uplink:g}, {self.delay:g} ms one way, '
                f'LAN {self.lan:g} us, {self.overhead:g} us a message, '
                + ('messages in turn' if self.fifo == 1 else f'fifo {self.fifo}')
                + (f', burst {self.burst}' if self.burst else '')
                + (f', {self.cores} cores share {self.core:g} us a message' if self.cores else ''))

    def nic_rate(self):
        """Payload bytes/s."""
        return self.nic * 1e6 / 8 * PAYLOAD

    def uplink_rate(self):
        return self.uplink * 1e6 / 8 * PAYLOAD

    def environment(self):
        """For sim_platform.cpp."""
        return (f'sites={self.sites} hosts={self.hosts} nic={self.nic_rate():.12g} uplink={self.uplink_rate():.12g} '
                f'lan={self.lan * 1e-6:.12g} wan={self.delay * 1e-3:.12g} fifo={self.fifo} burst={self.burst} '
                f'cores={self.cores} core={self.core * 1e-6:.12g}')

    def placed(self, placement):
        """Host of each rank: 'block', 'roundrobin' (over sites), 'shuffled' or 'shuffled:SEED'."""
        hosts = [f'h{h}.s{s}' for s in range(self.sites) for h in range(self.hosts)]
        kind, _, seed = placement.partition(':')
        if kind == 'roundrobin':
            return [f'h{h}.s{s}' for h in range(self.hosts) for s in range(self.sites)]
        if kind == 'shuffled':
            random.Random(int(seed or 1)).shuffle(hosts)
        elif kind != 'block':
            raise ValueError(f"'{placement}' is no placement: block, roundrobin, shuffled[:seed]")
        return hosts

    def bound_us(self, op, size):
        """As the bench's bounds (../bench/README.md), and what must pass an uplink."""
        latency = self.delay * 1e3 + self.lan
        us = lambda size, rate: size / rate * 1e6
        nic, uplink, p = self.nic_rate(), self.uplink_rate(), self.ranks
        if op == 'barrier':
            return latency
        if op in ('bcast', 'reduce', 'scan', 'exscan'):
            return latency + us(size, nic)
        if op == 'allreduce':
            return max(us(2 * (p - 1) / p * size, nic), latency + us(size, nic))
        far = p - self.hosts
        crossing = far * self.hosts if op == 'alltoall' else far
        return max(us((p - 1) * size, nic), latency + us(far * size, nic), latency + us(crossing * size, uplink))


def shape_parse(text):
    """(sites, hosts) of '2x16'."""
    sites, _, hosts = text.partition('x')
    if not (sites.isdigit() and hosts.isdigit() and int(sites) > 1 and int(hosts) > 0):
        raise ValueError(f"'{text}' is no shape: write SITESxHOSTS, as in 2x16")
    return int(sites), int(hosts)
