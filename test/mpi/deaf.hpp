/*
 * Whether this process can still be sent to over Open MPI 5.0's shared memory (btl/sm).
 *
 * Each process has a queue there that all others write to, in two steps: the tail is exchanged, then the message linked, as
 * the head where there was none.  One that is killed between them leaves a queue that nothing comes out of any more: its
 * owner is deaf, and what it waits for hangs, with or without coll/wan.  The head is empty then, and the tail is not, for
 * ever.  (Both are the first two words of the segment of the owner; empty is -2.)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_DEAF_HPP
#define WAN_TEST_DEAF_HPP

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

class own_queue {
public:
    /** After MPI_Init.  Without a queue in shared memory nobody is ever deaf. */
    void find(int world_rank)
    {
        const std::string ends = "." + std::to_string(world_rank);
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            const size_t name = line.find("/sm_segment.");
            if (name != std::string::npos && line.ends_with(ends)) {
                uintptr_t first = 0;
                if (std::sscanf(line.c_str(), "%" SCNxPTR, &first) == 1)
                    words_ = reinterpret_cast<volatile int64_t *>(first);
                return;
            }
        }
    }

    /** As it looks now: a writer that lives is through with it at once, and so is its owner, who also empties the head first: ask
     *  twice, and let the owner go on between.  May be called by a signal handler. */
    bool broken() const { return words_ && words_[0] == nothing && words_[1] != nothing; }

private:
    static constexpr int64_t nothing = -2;
    volatile int64_t *words_ = nullptr;
};

#endif
