/*
 * Fuzzing of the card by which processes tell each other where they are and with which
 * secret: one that the runtime garbled, another version, a liar.  One input is changes of a
 * genuine card.  Whatever it says, it is taken as a whole or refused with a reason; what is cut is refused;
 * nothing is sent.
 *
 *   test/udp/libfuzzer; or WAN_TEST_SEED=n UDP_FUZZ=100000 fuzz_card
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "default_params.hpp"

#include "fuzz.hpp"

#include <cstring>
#include <netinet/in.h>
#include <string>
#include <vector>

using udp_test::broken, udp_test::reader;

namespace {

void deliver(void *, uint32_t, uint8_t, const void *, size_t) { broken("something came"); }
void sent(void *, uint32_t, udp_outgoing_t *, bool) { broken("something was sent"); }
void peer(void *, uint32_t) { broken("a peer was heard of"); }

udp_engine_t *engine(uint64_t id)
{
    static char loopback[] = "lo";
    udp_params_t p = default_params();
    p.interfaces = loopback;
    udp_engine_t *e = nullptr;
    udp_message_t m;
    static const udp_events_t events = {deliver, sent, peer, peer, peer};
    if (udp_engine_open(&e, &p, id, 1000, 7, &events, nullptr, &m) != UDP_OK)
        broken("no engine");
    return e;
}

void play(const uint8_t *p, size_t n)
{
    static udp_engine_t *here = nullptr;
    static std::vector<uint8_t> genuine;
    static unsigned plays = 0;
    if (!here || ++plays % 1000 == 0) {     // peers stay until the end
        if (here)
            udp_engine_close(here);
        here = engine(1);
        udp_engine_t *there = engine(2);
        genuine.resize(UDP_CARD_MAX);
        genuine.resize(udp_engine_card(there, genuine.data()));
        udp_engine_close(there);
    }
    reader in(p, n);
    const uint8_t how = in.byte();
    std::vector<uint8_t> card = genuine;
    if (how & 1) {      // any number of places
        const unsigned places = in.byte();
        const size_t each = sizeof(in6_addr) + 1, fixed = card.size() - each * card[card.size() - each - 1];
        const std::vector<uint8_t> first(card.begin() + static_cast<long>(fixed), card.begin() + static_cast<long>(fixed + each));
        card.resize(fixed);
        card[fixed - 1] = static_cast<uint8_t>(places);
        for (unsigned i = 0; i < places && i < 8; ++i)
            card.insert(card.end(), first.begin(), first.end());
    }
    const size_t whole = card.size();
    bool changed_count = how & 1;
    for (unsigned k = 0; k < 40u && !in.empty() && (how & 2); ++k) {
        const size_t at = in.number() % card.size();
        card[at] = in.byte();
        changed_count |= true;
    }
    if (how & 4)
        card.resize(in.number() % (whole + 20));
    // A block of its own, so that what reads beyond it is found.
    const std::vector<uint8_t> exact(card);
    uint32_t index = 0;
    udp_message_t m;
    std::memset(&m, 'x', sizeof m);
    const int rc = udp_engine_peer(here, exact.data(), exact.size(), &index, &m);
    if (rc != UDP_OK && rc != UDP_ERR_PEER)
        broken("neither taken nor refused");
    if (rc == UDP_ERR_PEER && (!std::memchr(m.what, 0, sizeof m.what) || m.what[0] == 'x' || m.what[0] == 0))
        broken("refused without a reason");
    if (rc == UDP_OK && !changed_count && exact.size() < whole)
        broken("a cut card was taken");
    if (rc == UDP_OK) {
        char text[160];
        udp_engine_where(here, index, text, sizeof text);
        if (!std::strstr(text, " port "))
            broken("a peer that is nowhere");
    }
}

} // namespace

#ifndef UDP_LIBFUZZER

namespace {

std::vector<uint8_t> one_play(std::mt19937_64 &r)
{
    std::vector<uint8_t> p{static_cast<uint8_t>(r())};
    for (unsigned n = static_cast<unsigned>(r() % 30); n; --n)
        p.push_back(static_cast<uint8_t>(r()));
    return p;
}

} // namespace

#endif

UDP_FUZZ_MAIN("seeds_card", 20000)
