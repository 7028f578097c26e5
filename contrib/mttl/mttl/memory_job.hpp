/*
 * A whole job inside one process, for tests: N nodes over the in-memory port,
 * stepped one after the other in an order that comes from a seed.  That no node
 * can go on is found at once, and is an error; so is what was sent and not
 * received.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MEMORY_JOB_HPP
#define MTTL_MEMORY_JOB_HPP

#include "memory_port.hpp"
#include "runtime.hpp"

namespace [[gnu::visibility("default")]] mttl {

class memory_job {
public:
    memory_job(int nodes, uint64_t seed, options o = {}) : options_(o), fabric_(nodes, seed, o.small)
    {
        for (int i = 0; i < nodes; ++i)
            nodes_.push_back(std::make_unique<node>(fabric_.at(i), o.node));
    }

    node &at(int i) { return *nodes_[static_cast<size_t>(i)]; }
    memory_fabric &fabric() { return fabric_; }
    int code() const { return code_; }

    /** Runs main() as options.mode says; "" or what went wrong. */
    template <class Main> std::string run(Main main)
    {
        std::vector<std::unique_ptr<detail::life>> lives;
        for (auto &n : nodes_) {
            node::enter(n.get());
            lives.push_back(std::make_unique<detail::life>(*n, options_.mode));
            lives.back()->begin(main);
        }
        std::string why = step(lives);
        node::enter(nullptr);
        if (why.empty())
            why = fabric_.rest();
        for (auto &n : nodes_)
            n->network().finish();
        code_ = lives[0]->code();
        return why;
    }

private:
    std::string step(std::vector<std::unique_ptr<detail::life>> &lives)
    {
        std::vector<size_t> order(nodes_.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        for (;;) {
            std::shuffle(order.begin(), order.end(), fabric_.random());
            bool progress = false, running = false;
            for (const size_t i : order) {
                if (lives[i]->stopped())
                    continue;
                running = true;
                node::enter(nodes_[i].get());
                try {
                    progress |= nodes_[i]->step(false);
                } catch (const std::exception &e) {
                    return "node " + std::to_string(i) + ": " + e.what();
                }
                if (lives[i]->stopped())
                    nodes_[i]->out().flush();
                if (lives[i]->main_failed())
                    return "main on node " + std::to_string(i) + ": " + detail::text_of(lives[i]->failed());
            }
            if (!running)
                break;
            if (!progress)
                return "no node can go on";
        }
        for (size_t i = 0; i < lives.size(); ++i)
            if (lives[i]->failed())
                return "node " + std::to_string(i) + ": " + detail::text_of(lives[i]->failed());
        return "";
    }

    options options_;
    memory_fabric fabric_;
    std::vector<std::unique_ptr<node>> nodes_;
    int code_ = 0;
};

} // namespace mttl

#endif
