/*
 * What sealing and opening a datagram costs: btl/udp's seal (AES-256-GCM of libcrypto) beside
 * libsodium's AES-256-GCM and ChaCha20-Poly1305, which are looked for when it runs.
 * Rounds of all take turns; a line tells the median over rounds, the least and the most.
 *
 *     seal_bench [ROUNDS]
 *     authenticate  1400 bytes  libcrypto AES-256-GCM  close 0.31 us (0.30 to 0.33)  open ...
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "seal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

using namespace udp;

namespace {

double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

/** An AEAD of libsodium, as in its documentation (key or expanded key last). */
using sodium_close = int (*)(uint8_t *, uint8_t *tag, unsigned long long *tag_bytes, const uint8_t *, unsigned long long, const uint8_t *ad,
                             unsigned long long ad_bytes, const uint8_t *, const uint8_t *nonce, const uint8_t *key);
using sodium_open = int (*)(uint8_t *, uint8_t *, const uint8_t *, unsigned long long, const uint8_t *tag, const uint8_t *ad,
                            unsigned long long ad_bytes, const uint8_t *nonce, const uint8_t *key);

struct way {
    std::string name;
    std::function<bool(std::vector<uint8_t> &, const wire::header &)> close, open;
    std::vector<double> closing, opening;
};

template <class F> F find(void *library, const std::string &name) { return reinterpret_cast<F>(dlsym(library, name.c_str())); }

void add_sodium(std::vector<way> &ways)
{
    void *const library = dlopen("libsodium.so.23", RTLD_NOW);
    if (!library || find<int (*)()>(library, "sodium_init")() < 0) {
        std::puts("no libsodium here");
        return;
    }
    static const uint8_t key[32] = {1};
    alignas(64) static uint8_t expanded[512];
    const auto add = [&](const char *name, sodium_close close, sodium_open open, const uint8_t *k) {
        const auto part = [](std::vector<uint8_t> &d, const wire::header &h, auto call) {
            uint8_t nonce[12] = {};
            std::memcpy(nonce + 4, &h.number, 8);
            const size_t text = d.size() - wire::tag_bytes, clear = h.mode == wire::security::encrypt ? wire::header_bytes : text;
            return call(nonce, d.data() + clear, text - clear, clear) == 0;
        };
        ways.push_back({name,
                        [=](std::vector<uint8_t> &d, const wire::header &h) {
                            return part(d, h, [&](const uint8_t *nonce, uint8_t *at, size_t n, size_t clear) {
                                return close(at, d.data() + clear + n, nullptr, at, n, d.data(), clear, nullptr, nonce, k);
                            });
                        },
                        [=](std::vector<uint8_t> &d, const wire::header &h) {
                            return part(d, h, [&](const uint8_t *nonce, uint8_t *at, size_t n, size_t clear) {
                                return open(at, nullptr, at, n, d.data() + clear + n, d.data(), clear, nonce, k);
                            });
                        }, {}, {}});
    };
    const std::string aes = "crypto_aead_aes256gcm_", chacha = "crypto_aead_chacha20poly1305_ietf_";
    if (find<int (*)()>(library, aes + "is_available")()) {
        find<int (*)(uint8_t *, const uint8_t *)>(library, aes + "beforenm")(expanded, key);
        add("libsodium AES-256-GCM", find<sodium_close>(library, aes + "encrypt_detached_afternm"), find<sodium_open>(library, aes + "decrypt_detached_afternm"), expanded);
    } else {
        std::puts("libsodium: no AES-256-GCM on this processor");
    }
    add("libsodium ChaCha20-Poly1305", find<sodium_close>(library, chacha + "encrypt_detached"), find<sodium_open>(library, chacha + "decrypt_detached"), key);
}

std::string told(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    char b[80];
    std::snprintf(b, sizeof b, "%.2f us (%.2f to %.2f)", v[v.size() / 2], v.front(), v.back());
    return b;
}

} // namespace

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
    if (rounds < 1) {
        std::fprintf(stderr, "usage: seal_bench [ROUNDS]\n");
        return 2;
    }
    secret key{};
    seal out(key), in(key);
    std::vector<way> ways = {{"libcrypto AES-256-GCM",
                              [&](std::vector<uint8_t> &d, const wire::header &h) { return out.close({d.data(), d.size() - wire::tag_bytes}, h); },
                              [&](std::vector<uint8_t> &d, const wire::header &h) { return in.open(d, h); }, {}, {}}};
    add_sodium(ways);
    for (const wire::security mode : {wire::security::authenticate, wire::security::encrypt})
        for (const size_t bytes : {size_t(64), size_t(1400), size_t(65000)}) {
            const unsigned count = static_cast<unsigned>(3'000'000 / (bytes + 300));
            for (way &w : ways)
                w.closing.clear(), w.opening.clear();
            for (int round = 0; round < rounds; ++round)
                for (way &w : ways) {
                    std::vector<uint8_t> d(bytes + wire::tag_bytes);
                    double closing = 0, opening = 0;
                    for (unsigned i = 0; i < count; ++i) {
                        const wire::header h{mode, 1, 0, 5, i + 1};
                        const double a = now();
                        const bool closed = w.close(d, h);
                        const double b = now();
                        const bool opened = w.open(d, h);
                        closing += b - a, opening += now() - b;
                        if (!closed || !opened) {
                            std::fprintf(stderr, "seal_bench: %s fails\n", w.name.c_str());
                            return 1;
                        }
                    }
                    w.closing.push_back(closing / count);
                    w.opening.push_back(opening / count);
                }
            for (const way &w : ways)
                std::printf("%-12s %6zu bytes  %-28s close %s, open %s\n", mode == wire::security::encrypt ? "encrypt" : "authenticate", bytes, w.name.c_str(),
                            told(w.closing).c_str(), told(w.opening).c_str());
        }
    return 0;
}
