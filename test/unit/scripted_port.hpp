/*
 * A port that records what the engine asks for and completes only what the
 * test tells it to, from the thread that the test likes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UNIT_SCRIPTED_PORT_HPP
#define TEST_UNIT_SCRIPTED_PORT_HPP

#include "exec/engine.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace wan_test {

class scripted_port {
public:
    struct post {
        wan::op_kind kind;
        const char *address;
        size_t count;
        int peer, label;
        uint32_t token;
    };

    std::vector<post> posts;        // everything in order; reduce and copy too (token 0)
    size_t extent = 1;
    size_t fail_post_at = SIZE_MAX; // the how-manieth call fails
    int fail_with = WAN_ERR_PORT;
    int scratch_limit = 1 << 30;    // allocations that succeed
    wan::engine *complete_at_once = nullptr;    // before post_* returns
    std::vector<std::vector<char>> memory;
    int64_t now = 0;

    scripted_port()
    {
        table_.post_send = [](void *c, const void *b, size_t n, int peer, int label, uint32_t token) {
            return self(c).add({wan::op_kind::send, static_cast<const char *>(b), n, peer, label, token});
        };
        table_.post_recv = [](void *c, void *b, size_t n, int peer, int label, uint32_t token) {
            return self(c).add({wan::op_kind::recv, static_cast<const char *>(b), n, peer, label, token});
        };
        table_.reduce = [](void *c, const void *, void *dst, size_t n) {
            return self(c).add({wan::op_kind::reduce, static_cast<const char *>(dst), n, -1, -1, 0});
        };
        table_.copy = [](void *c, const void *, void *dst, size_t n) {
            return self(c).add({wan::op_kind::copy, static_cast<const char *>(dst), n, -1, -1, 0});
        };
        table_.scratch = [](void *c, size_t n) -> void * {
            auto &p = self(c);
            if (p.scratch_limit-- <= 0)
                return nullptr;
            return p.memory.emplace_back(n * p.extent).data();
        };
        table_.now_ns = [](void *c) { return self(c).now; };
    }
    const wan_port_t *port() const { return &table_; }

private:
    static scripted_port &self(void *c) { return *static_cast<scripted_port *>(c); }
    int add(const post &p)
    {
        if (posts.size() >= fail_post_at)
            return fail_with;
        posts.push_back(p);
        if (complete_at_once && (p.kind == wan::op_kind::send || p.kind == wan::op_kind::recv))
            complete_at_once->complete(p.token, 0);
        return WAN_OK;
    }
    wan_port_t table_{};
};

inline std::shared_ptr<const wan::program> program_of(const std::string &text)
{
    std::string why;
    auto s = wan::parse_schedule(text, &why);
    return s ? std::make_shared<const wan::program>(std::move(*s)) : nullptr;
}

} // namespace wan_test

#endif
