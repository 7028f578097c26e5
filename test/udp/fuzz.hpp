/*
 * What the fuzz targets share: reading an input, and, without libFuzzer, the test that
 * plays the kept seeds and changes of them from a seed of the generator.
 *
 * A target defines play() and one_play() and includes this; then, last, UDP_FUZZ_MAIN("seeds", PLAYS).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UDP_FUZZ_HPP
#define TEST_UDP_FUZZ_HPP

#include "endpoint.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace udp_test {

class reader {
public:
    reader(const uint8_t *p, size_t n) : at_(p), left_(n) {}
    bool empty() const { return left_ == 0; }
    uint8_t byte() { return left_ ? --left_, *at_++ : 0; }
    uint32_t number() { return static_cast<uint32_t>(byte() | byte() << 8); }
    std::span<const uint8_t> bytes(size_t n)
    {
        n = std::min(n, left_);
        const std::span<const uint8_t> s(at_, n);
        at_ += n, left_ -= n;
        return s;
    }

private:
    const uint8_t *at_;
    size_t left_;
};

[[noreturn]] inline void broken(const char *what)
{
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

/** An endpoint whose blocks must be freed once each. */
struct fuzzed : udp::events {
    fuzzed(const udp::config &c, uint32_t id) : end(c, id, *this) {}
    void sent(uint32_t, udp::outgoing &o, bool) override
    {
        if (flying.erase(&o) != 1)
            broken("a block was freed twice");
    }
    void send(uint32_t peer, uint8_t stream, uint32_t length, udp::time_ns now)
    {
        auto b = std::make_unique<block>();
        b->bytes.assign(length ? length : 1, stream);
        b->o.data = b->bytes.data();
        b->o.length = length;
        b->o.stream = stream;
        udp::outgoing &o = b->o;
        flying[&o] = std::move(b);
        end.submit(peer, o, now);
    }
    struct block {
        udp::outgoing o;
        std::vector<uint8_t> bytes;
    };
    udp::endpoint end;
    std::map<udp::outgoing *, std::unique_ptr<block>> flying;
};

} // namespace udp_test

#ifdef UDP_LIBFUZZER

#define UDP_FUZZ_MAIN(seeds, usual) \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) \
    { \
        play(p, n); \
        return 0; \
    }

#else

#include "unit.hpp"

#include <filesystem>
#include <random>
#include <vector>

namespace udp_test {

using play_t = void (*)(const uint8_t *, size_t);
using make_t = std::vector<uint8_t> (*)(std::mt19937_64 &);

inline std::string seeds_and_changes(const char *seeds, uint64_t usual, play_t play, make_t one_play)
{
    std::vector<std::vector<uint8_t>> corpus;
    for (const auto &f : std::filesystem::directory_iterator(wan_test::test_file(std::string("udp/") + seeds))) {
        const std::string s = wan_test::read_all(f.path());
        corpus.emplace_back(s.begin(), s.end());
        play(corpus.back().data(), corpus.back().size());
    }
    WAN_CHECK_THAT(corpus.size() >= 8, "seeds are missing: " + std::to_string(corpus.size()));
    const char *text = std::getenv("UDP_FUZZ");
    const uint64_t runs = text ? std::strtoull(text, nullptr, 0) : usual;
    std::mt19937_64 r(wan_test::test_seed());
    for (uint64_t i = 0; i < runs; ++i) {
        std::vector<uint8_t> p = r() % 2 ? one_play(r) : corpus[r() % corpus.size()];
        for (unsigned k = static_cast<unsigned>(r() % 6); k && !p.empty(); --k) {
            const size_t at = r() % p.size();
            switch (r() % 4) {
            case 0: p[at] = static_cast<uint8_t>(r()); break;
            case 1: p[at] ^= static_cast<uint8_t>(1 << r() % 8); break;
            case 2: p.erase(p.begin() + static_cast<long>(at)); break;
            default: {
                const std::vector<uint8_t> piece(p.begin() + static_cast<long>(at), p.begin() + static_cast<long>(std::min(p.size(), at + r() % 64)));
                p.insert(p.begin() + static_cast<long>(at), piece.begin(), piece.end());
            }
            }
        }
        if (const char *keep = std::getenv("UDP_FUZZ_LAST")) {     // what was played when it crashed
            std::ofstream f(keep, std::ios::binary);
            f.write(reinterpret_cast<const char *>(p.data()), static_cast<std::streamsize>(p.size()));
        }
        play(p.data(), p.size());
    }
    std::printf("%zu seeds, %llu plays\n", corpus.size(), static_cast<unsigned long long>(runs));
    return "";
}

/** Plays as first seeds. */
inline void seeds_make(const char *directory, make_t one_play)
{
    std::mt19937_64 r(1);
    for (int i = 0; i < 8; ++i) {
        const std::vector<uint8_t> p = one_play(r);
        std::ofstream f(std::string(directory) + "/play" + std::to_string(i), std::ios::binary);
        f.write(reinterpret_cast<const char *>(p.data()), static_cast<std::streamsize>(p.size()));
    }
}

} // namespace udp_test

#define UDP_FUZZ_MAIN(seeds, usual) \
    namespace { \
    std::string plays() { return udp_test::seeds_and_changes(seeds, usual, play, one_play); } \
    } \
    int main() \
    { \
        if (const char *directory = std::getenv("UDP_FUZZ_MAKE")) { \
            udp_test::seeds_make(directory, one_play); \
            return 0; \
        } \
        const CMUnitTest tests[] = {cmocka_unit_test_prestate(wan_test::test<plays>, nullptr)}; \
        return cmocka_run_group_tests(tests, nullptr, nullptr); \
    }

#endif

#endif
