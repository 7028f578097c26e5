/*
 * The life of a job: start, main, exit.  At the start the nodes compare their
 * registries; then main runs on node 0 while the others serve, or on every node
 * (SPMD).  When it has returned, node 0 waits until nothing is under way any
 * more and no thread is ready anywhere (what was sent equals what was taken,
 * twice in a row: Mattern's four counters), tells all nodes to stop and waits
 * for each.  A thread that is still blocked then is given up: its destructors
 * do not run.
 *
 * run() is for MPI; the same life over the in-memory port is `memory_job`.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_RUNTIME_HPP
#define MTTL_RUNTIME_HPP

#include "invoke.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

enum class start {
    main_on_zero,       // main on node 0, the others serve
    spmd,               // main on every node
};

struct options {
    start mode = start::main_on_zero;
    node_options node;
    /** Bytes above which control and data travel apart (environment: MTTL_SMALL_BYTES). */
    size_t small = 4032;
    /** Variables of the environment that begin as mttl's and are none, with blanks between; node 0 says so. */
    std::string unknown;

    /** The defaults, but for what MTTL_STACK_BYTES, MTTL_GUARDED_STACKS, MTTL_WINDOW, MTTL_SMALL_BYTES,
     *  MTTL_COLLECTIVES say. */
    static options from_environment()
    {
        options o;
        std::vector<std::string> known{"MTTL_COLLECTIVES"};
        const auto take = [&](const char *name, auto &to, size_t least, size_t most) {
            known.emplace_back(name);
            if (const char *s = std::getenv(name)) {
                char *end;
                const unsigned long long v = std::strtoull(s, &end, 0);
                if (!*s || *end || v < least || v > most)
                    throw error(std::string(name) + "=" + s + ": a number from " + std::to_string(least) + " to " +
                                std::to_string(most) + " was expected");
                to = static_cast<std::remove_reference_t<decltype(to)>>(v);
            }
        };
        take("MTTL_STACK_BYTES", o.node.stacks.bytes, 16384, size_t(1) << 30);
        take("MTTL_GUARDED_STACKS", o.node.stacks.guarded, 0, 1u << 30);
        take("MTTL_WINDOW", o.node.window, 1, 1u << 30);
        take("MTTL_SMALL_BYTES", o.small, 256, 65535);
        if (const char *s = std::getenv("MTTL_COLLECTIVES")) {
            const std::string how = s;
            if (how == "mpi")
                o.node.collective = collectives::mpi;
            else if (how == "mpi_nonblocking")
                o.node.collective = collectives::mpi_nonblocking;
            else if (how != "own")
                throw error("MTTL_COLLECTIVES=" + how + ": own, mpi or mpi_nonblocking was expected");
        }
        for (char **entry = environ; entry && *entry; ++entry) {
            const std::string_view text = *entry, name = text.substr(0, text.find('='));
            if (name.starts_with("MTTL_") && std::find(known.begin(), known.end(), name) == known.end())
                o.unknown += (o.unknown.empty() ? "" : " ") + std::string(name);
        }
        return o;
    }
};

namespace detail {

/** What one node does from start to exit. */
class life {
public:
    life(node &n, start mode) : node_(n), mode_(mode) { n.runtime = this; }

    template <class Main> void begin(Main main)
    {
        node_.threads().spawn_detached([this, main = std::move(main)]() mutable {
            try {
                compare_registries();
            } catch (...) {
                failed_ = std::current_exception();
                stopped_ = true;
                return;
            }
            try {
                if (mode_ == start::spmd || node_.id() == 0)
                    code_ = main();
            } catch (...) {
                failed_ = std::current_exception();
                main_failed_ = stopped_ = true;
                return;
            }
            if (mode_ == start::spmd)
                gather_codes();
            if (node_.id() == 0)
                end();
        });
    }

    bool stopped() const { return stopped_; }
    int code() const { return code_; }
    const std::exception_ptr &failed() const { return failed_; }
    /** The others do not know: the job must be aborted. */
    bool main_failed() const { return main_failed_; }

    void stop() { stopped_ = true; }

private:
    struct hello {
        uint32_t magic = 0x6D74746C;
        uint32_t version = 2;
        uint64_t digest = 0;
        uint64_t names_bytes = 0;
    };
    enum number : uint32_t { greeting, verdict, names, verdict_text, codes };
    static constexpr uint32_t runtime_group = 0;    // those of group.hpp are odd

    void compare_registries()
    {
        hello mine;
        std::string all;
        for (const std::string &n : node_.functions().names())
            all += n + '\n';
        mine.digest = node_.functions().digest();
        mine.names_bytes = all.size();
        if (node_.id() != 0) {
            node_.send_collective(0, runtime_group, greeting, me(), &mine, sizeof mine);
            uint64_t text_bytes = 0;
            node_.receive_collective(runtime_group, verdict, 0, &text_bytes, sizeof text_bytes);
            if (text_bytes == 0)
                return;
            node_.send_collective(0, runtime_group, names, me(), all.data(), all.size());
            node_.receive_collective(runtime_group, verdict_text, 0, &text_bytes, sizeof text_bytes);
            std::string text(text_bytes, ' ');
            node_.receive_collective(runtime_group, verdict_text, 1, text.data(), text.size());
            throw error(text);
        }
        std::vector<hello> theirs(static_cast<size_t>(node_.size()), mine);
        bool same = true;
        for (int r = 1; r < node_.size(); ++r) {
            hello &h = theirs[static_cast<size_t>(r)];
            node_.receive_collective(runtime_group, greeting, static_cast<uint32_t>(r), &h, sizeof h);
            same &= h.digest == mine.digest && h.magic == mine.magic && h.version == mine.version;
        }
        const uint64_t differ = !same;
        for (int r = 1; r < node_.size(); ++r)
            node_.send_collective(r, runtime_group, verdict, 0, &differ, sizeof differ);
        if (same)
            return;
        std::string text;
        for (int r = 1; r < node_.size(); ++r) {
            const hello &h = theirs[static_cast<size_t>(r)];
            std::string its(h.names_bytes, ' ');
            node_.receive_collective(runtime_group, names, static_cast<uint32_t>(r), its.data(), its.size());
            if (!text.empty())
                continue;
            if (h.magic != mine.magic || h.version != mine.version)
                text = "node " + std::to_string(r) +
                       " was compiled with another version of mttl than node 0. Compile all anew.";
            else if (h.digest != mine.digest)
                text = difference(r, all, its);
        }
        const uint64_t bytes = text.size();
        for (int r = 1; r < node_.size(); ++r) {
            node_.send_collective(r, runtime_group, verdict_text, 0, &bytes, sizeof bytes);
            node_.send_collective(r, runtime_group, verdict_text, 1, text.data(), text.size());
        }
        throw error(text);
    }

    /** What registry::names() says, by function. */
    static std::map<std::string, std::string> sizes_by_name(const std::string &s)
    {
        std::map<std::string, std::string> all;
        for (size_t at = 0; at < s.size();) {
            // Another version of mttl may write no tab.
            const size_t end = std::min(s.find('\n', at), s.size()), tab = std::min(s.find('\t', at), end);
            all[s.substr(at, tab - at)] = s.substr(tab, end - tab);
            at = end + 1;
        }
        return all;
    }
    static std::string difference(int r, const std::string &mine, const std::string &its)
    {
        const auto a = sizes_by_name(mine), b = sizes_by_name(its);
        const std::string remedy = ". Start the same program on all nodes.";
        std::string text = "node " + std::to_string(r) + " runs another program than node 0: ";
        for (const auto &[n, sizes] : a) {
            const auto there = b.find(n);
            if (there == b.end())
                return text + "it lacks the function " + described(n) + remedy;
            if (there->second != sizes)
                return text + "an argument or the result of the function " + described(n) + " has another size there" + remedy;
        }
        for (const auto &[n, sizes] : b)
            if (!a.count(n))
                return text + "node 0 lacks the function " + described(n) + remedy;
        return text + "the versions of mttl differ" + remedy;
    }

    uint32_t me() const { return static_cast<uint32_t>(node_.id()); }

    void gather_codes()
    {
        if (node_.id() != 0) {
            node_.send_collective(0, runtime_group, codes, me(), &code_, sizeof code_);
            return;
        }
        for (int r = 1; r < node_.size(); ++r) {
            int c = 0;
            node_.receive_collective(runtime_group, codes, static_cast<uint32_t>(r), &c, sizeof c);
            if (!code_)
                code_ = c;
        }
    }

    struct state_of_work {
        uint64_t sent, taken, active, lost;
        bool operator==(const state_of_work &) const = default;
    };
    template <class F, class... A> static auto ask_system(int to, F, A... a)
    {
        return ask<handler_for<F, A...>>(wire::system, to, a...);
    }

    void end()
    {
        state_of_work before{1, 0, 1, 0};
        for (;;) {
            std::vector<future<state_of_work>> all;
            for (int r = 0; r < node_.size(); ++r)
                all.push_back(ask_system(r, [] {
                    const node &n = node::here();
                    return state_of_work{n.sent(), n.taken(), n.active(), n.lost()};
                }));
            state_of_work now{};
            for (auto &f : all) {
                const state_of_work one = f.get();
                now = {now.sent + one.sent, now.taken + one.taken, now.active + one.active, now.lost + one.lost};
            }
            if (now == before && now.sent == now.taken && now.active == 0)
                break;
            before = now;
            node_.threads().yield();
        }
        if (before.lost && !code_)
            code_ = 1;
        std::vector<future<void>> all;
        for (int r = 1; r < node_.size(); ++r)
            all.push_back(ask_system(r, [] { static_cast<life *>(node::here().runtime)->stop(); }));
        for (auto &f : all)
            f.get();
        stopped_ = true;
    }

    node &node_;
    start mode_;
    int code_ = 0;
    bool stopped_ = false, main_failed_ = false;
    std::exception_ptr failed_;
};

inline std::string text_of(const std::exception_ptr &p)
{
    try {
        std::rethrow_exception(p);
    } catch (const std::exception &e) {
        return e.what();
    } catch (...) {
        return "not a std::exception";
    }
}

} // namespace detail

/** Runs a job over a port, from start to exit; main() is called as options.mode says.
 *  Returns its code; 1 when the job could not start, or when an exception of a posted function was lost. */
template <class Main> int run(port &p, Main main, const options &o)
{
    node n(p, o.node);
    node::enter(&n);
    detail::life l(n, o.mode);
    l.begin(std::move(main));
    try {
        n.run([&] { return l.stopped(); });
    } catch (const std::exception &e) {
        std::fprintf(stderr, "mttl: node %d: %s\n", n.id(), e.what());
        p.abort(1);
    }
    int code = l.code();
    if (l.failed()) {
        code = 1;
        if (l.main_failed() || n.id() == 0)
            std::fprintf(stderr, "mttl: node %d: %s\n", n.id(), detail::text_of(l.failed()).c_str());
        if (l.main_failed())
            p.abort(1);
    }
    p.finish();
    node::enter(nullptr);
    return code;
}

} // namespace mttl

#endif
