/*
 * Every parameter of btl/udp, once: type, unit, range, default, sentence.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_core.h"

#include <iterator>

namespace {

constexpr int64_t KiB = 1 << 10, MiB = 1 << 20;

#define AT(field) offsetof(udp_params_t, field)

const udp_knob_t knobs[] = {
    {"mode", UDP_KNOB_ENUM, AT(mode), 0, 1, 0, 4,
     "Protocol, the same in all processes. modern: selective Acks, congestion control, permission by the receiver; strict: go-back-N as in the Suci paper"},
    {"security", UDP_KNOB_ENUM, AT(security), 0, 2, 1, 2,
     "What seals a datagram, the same in all processes. off: nothing (trusted networks only); authenticate: a tag; encrypt: AES-256-GCM"},
    {"control", UDP_KNOB_ENUM, AT(control), 0, 3, 0, 3,
     "Congestion control. tolerant: CUBIC that ignores loss without signs of a queue; cubic: RFC 9438; bbr: by measured rate and round trip; fixed: see rate"},
    {"rate", UDP_KNOB_INT64, AT(rate), 1, 1000000, 1000, 4,
     "Mb/s to each peer with the fixed controller, 1 to 1000000"},
    {"key_file", UDP_KNOB_STRING, AT(key_file), 0, 0, 0, 3,
     "File with a secret of the job, the same on all hosts, mixed into all keys: without it the keys are as secret as what the runtime carries. Empty: none"},
    {"interfaces", UDP_KNOB_STRING, AT(interfaces), 0, 0, 0, 2,
     "Devices whose addresses are told to peers, by name or network, separated by commas, such as eth0,ib0 or 10.0.0.0/8. Empty: all that are up, loopback only if there is no other"},
    {"address", UDP_KNOB_STRING, AT(address), 0, 0, 0, 3,
     "IPv4 or IPv6 address that is told to peers in place of those of the devices, for hosts behind NAT or with public addresses in a cloud. Empty: those of the devices"},
    {"port_min", UDP_KNOB_INT, AT(port_min), 0, 65535, 0, 3,
     "First UDP port to try, 0 to 65535. 0: any free port"},
    {"port_range", UDP_KNOB_INT, AT(port_range), 1, 65536, 1000, 3,
     "How many ports to try from port_min on, 1 to 65536"},
    {"mtu", UDP_KNOB_INT, AT(mtu), 0, 65535, 0, 5,
     "Largest IP packet in bytes that probes may find, 0 or 328 to 65535 (IPv6: from 348 on). 0: that of the devices, and inside a host 65535"},
    {"socket_buffer", UDP_KNOB_INT64, AT(socket_buffer), 64 * KiB, 1024 * MiB, 4 * MiB, 4,
     "Bytes of buffer asked from the kernel in each direction, 64 KiB to 1 GiB (Linux: at most net.core.rmem_max and wmem_max)"},
    {"window", UDP_KNOB_INT64, AT(window), 4 * MiB, 4096 * MiB, 32 * MiB, 4,
     "Bytes that a peer may have on the way to this process, 4 MiB to 4 GiB; at least rate times round trip"},
    {"unscheduled", UDP_KNOB_INT64, AT(unscheduled), 1 * KiB, 16 * MiB, 64 * KiB, 5,
     "Bytes of these without asking, 1 KiB to 16 MiB, the same in all processes. Less protects a receiver of many, more saves a round trip"},
    {"incast", UDP_KNOB_INT64, AT(incast), 0, 1024 * MiB, 0, 5,
     "Bytes permitted to all peers together when several have more to send, 0 to 1 GiB. 0: twice what arrives in a round trip"},
    {"buffer", UDP_KNOB_INT64, AT(buffer), 0, 4096 * MiB, 16 * MiB, 5,
     "Bytes to a peer that may be queued before a sender waits, 0 to 4 GiB; as TCP's send buffer, but no more than keeps the path busy, and only what is used is taken"},
    {"ack_delay", UDP_KNOB_INT, AT(ack_delay), 0, 1000000, 1000, 5,
     "Longest time in microseconds that an Ack waits for company, 0 to 1000000"},
    {"ack_every", UDP_KNOB_INT, AT(ack_every), 1, 1000, 8, 5,
     "Datagrams after which an Ack waits no longer, 1 to 1000"},
    {"retransmit_pass", UDP_KNOB_INT, AT(retransmit_pass), 1, 10000, 64, 6,
     "Datagrams to one peer in a pass, new and again, before others have their turn, 1 to 10000; not of peers that a program gave a priority"},
    {"dead", UDP_KNOB_INT, AT(dead), 0, 86400, 0, 4,
     "Seconds without an answer after which a peer is reported as dead, 0 to 86400. 0: never, the runtime sees to that. Processes answer only inside MPI calls: longer than the longest computation between two. Not watched: who was never sent to nor heard of"},
    {"linger", UDP_KNOB_INT, AT(linger), 0, 3600, 5, 5,
     "Seconds that MPI_Finalize waits for the last Acks at most, 0 to 3600"},
    {"gso", UDP_KNOB_INT, AT(gso), 0, 1, 1, 6,
     "Whether several datagrams may pass the kernel as one (UDP_SEGMENT, UDP_GRO), 0 or 1. Given up by itself where a device refuses"},
    {"timer", UDP_KNOB_INT, AT(timer), 0, 1, 0, 6,
     "Whether a descriptor in Open MPI's event base tells when something is due, 0 or 1: for processes that sleep until one is ready, instead of looking again and again"},
    {"watch", UDP_KNOB_INT, AT(watch), 0, 10000, 50, 6,
     "Milliseconds after which a thread answers peers and sends again what was lost while this process is not in MPI, or waits in it without looking at the network, 0 to 10000; 0: none does"},
    {"verbose", UDP_KNOB_INT, AT(verbose), 0, 9, 0, 3,
     "What is told, 0 to 9. 1: counters of every process at its end, 2: also of each peer"},
};

const char *const modes[] = {"modern", "strict", nullptr};
const char *const securities[] = {"off", "authenticate", "encrypt", nullptr};
const char *const controls[] = {"tolerant", "cubic", "bbr", "fixed", nullptr};

} // namespace

extern "C" {

size_t udp_knob_count(void) { return std::size(knobs); }
const udp_knob_t *udp_knob_get(size_t i) { return &knobs[i]; }

const char *udp_knob_enumerator(const udp_knob_t *knob, int k)
{
    const char *const *list = knob->offset == AT(mode) ? modes : knob->offset == AT(security) ? securities : controls;
    for (int i = 0; i < k; ++i)
        if (!list[i])
            return nullptr;
    return list[k];
}

}
