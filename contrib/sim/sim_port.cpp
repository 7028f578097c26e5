/*
 * See sim_port.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_port.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>

namespace sim {

namespace {

/** Addresses for folded buffers; memory is taken for what is touched only. */
constexpr size_t common_bytes = size_t{1} << 36;

std::byte *common_memory()
{
    static void *const at = mmap(nullptr, common_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte *>(at);
}

} // namespace

memory::memory(size_t bytes, bool folded, size_t offset)
{
    if (folded) {
        at_ = common_memory();
        if (!at_ || offset + bytes > common_bytes)
            throw std::bad_alloc();
        at_ += offset;
    } else {
        own_ = std::make_unique<std::byte[]>(bytes ? bytes : 1);
        at_ = own_.get();
    }
}

port::port(MPI_Comm comm, const wan::topology &topo) : comm_(comm), topo_(topo)
{
    int me = 0;
    MPI_Comm_rank(comm, &me);
    mine_ = topo.site_of(me);
    crossed_.bytes_to.resize(static_cast<size_t>(topo.site_count()));

    table_.post_send = [](void *ctx, const void *buf, size_t count, int peer, int label, uint32_t token) {
        port &p = *static_cast<port *>(ctx);
        if (const wan::site_id there = p.topo_.site_of(peer); there != p.mine_) {
            ++p.crossed_.messages;
            p.crossed_.bytes_to[value(there)] += static_cast<int64_t>(count * p.element_.bytes);
        }
        MPI_Request request;
        const int code = MPI_Isend(buf, static_cast<int>(count), p.element_.type, peer, label, p.comm_, &request);
        return p.follow(code, request, token);
    };
    table_.post_recv = [](void *ctx, void *buf, size_t count, int peer, int label, uint32_t token) {
        port &p = *static_cast<port *>(ctx);
        MPI_Request request;
        const int code = MPI_Irecv(buf, static_cast<int>(count), p.element_.type, peer, label, p.comm_, &request);
        return p.follow(code, request, token);
    };
    table_.reduce = [](void *ctx, const void *src, void *dst, size_t count) -> int {
        port &p = *static_cast<port *>(ctx);
        if (p.folded_)
            return WAN_OK;
        const int code = MPI_Reduce_local(const_cast<void *>(src), dst, static_cast<int>(count), p.element_.type, p.element_.op);
        return code == MPI_SUCCESS ? WAN_OK : WAN_ERR_PORT;
    };
    table_.copy = [](void *ctx, const void *src, void *dst, size_t count) -> int {
        port &p = *static_cast<port *>(ctx);
        if (!p.folded_)
            std::memmove(dst, src, count * p.element_.bytes);
        return WAN_OK;
    };
    table_.scratch = [](void *ctx, size_t count) -> void * {
        port &p = *static_cast<port *>(ctx);
        try {
            p.scratch_.emplace_back(count * p.element_.bytes, p.folded_);
            return p.scratch_.back().data();
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    };
    table_.now_ns = [](void *) { return static_cast<int64_t>(now_s() * 1e9); };
}

void port::begin(const element &e, bool folded)
{
    element_ = e;
    folded_ = folded;
    scratch_.clear();
    crossed_.messages = 0;
    std::fill(crossed_.bytes_to.begin(), crossed_.bytes_to.end(), 0);
}

int port::follow(int code, MPI_Request request, uint32_t token)
{
    if (code != MPI_SUCCESS)
        return WAN_ERR_PORT;
    requests_.push_back(request);
    tokens_.push_back(token);
    return WAN_OK;
}

int port::wait(wan::engine &e)
{
    int i = MPI_UNDEFINED;
    const int code = MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &i, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || i == MPI_UNDEFINED)
        return WAN_ERR_PORT;
    const auto at = static_cast<size_t>(i);
    e.complete(tokens_[at], 0);
    requests_.erase(requests_.begin() + i);     // what was posted first is looked at first
    tokens_.erase(tokens_.begin() + i);
    return WAN_OK;
}

int port::run(wan::engine &e)
{
    for (;;) {
        int code = e.progress();
        if (code == WAN_OK && !e.pending())
            code = wait(e);
        if (code != WAN_OK) {
            scratch_.clear();
            return code;
        }
    }
}

} // namespace sim
