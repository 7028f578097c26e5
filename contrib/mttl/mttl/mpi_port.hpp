/*
 * The thin layer on MPI: any MPI 3.  One primitive, one MPI call; see port.hpp
 * for the table.  It must not look into messages and must not spin: while
 * nothing is ready, the process is inside MPI_Wait or MPI_Waitsome.
 *
 * Receives from any node are a ring of posted buffers.  MPI matches messages
 * to them in the order of posting, so only the oldest is looked at, and
 * messages of one node are taken in the order in which they were sent.
 *
 * Small sends go out of buffers of the port.  MPI completes nearly all at
 * once; they are collected when there are 16, with one MPI_Testsome, or twice as
 * many as were left the last time.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MPI_PORT_HPP
#define MTTL_MPI_PORT_HPP

#include "mpi_collectives.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace [[gnu::visibility("default")]] mttl {

class mpi_port final : public port {
public:
    /** `small`: bytes above which control and data travel apart.  4032 and
     *  MPI's own header fit what Open MPI sends at once through shared memory. */
    mpi_port(int *argc, char ***argv, size_t small = 4032) : small_(small)
    {
        int up = 0;
        MPI_Initialized(&up);
        if (!up) {
            int level;
            check(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
            ours_ = true;
        }
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
        MPI_Comm_rank(comm_, &node_);
        MPI_Comm_size(comm_, &nodes_);
        requests_.push_back(MPI_REQUEST_NULL);
        who_.emplace_back();
    }
    mpi_port(const mpi_port &) = delete;
    mpi_port &operator=(const mpi_port &) = delete;

    int node() const override { return node_; }
    int nodes() const override { return nodes_; }
    size_t small_bytes() const override { return small_; }
    MPI_Comm communicator() const { return comm_; }

    std::byte *send_buffer() override
    {
        if (sending_.size() >= collect_at_)
            collect_sends();
        if (free_.empty())
            free_.push_back(std::make_unique<std::byte[]>(small_));
        return free_.back().get();
    }

    void send(int to, size_t bytes) override
    {
        ++counters_.sends;
        counters_.send_bytes += bytes;
        MPI_Request r;
        check(MPI_Isend(free_.back().get(), static_cast<int>(bytes), MPI_BYTE, to, control_tag, comm_, &r), "MPI_Isend");
        sending_.push_back(r);
        busy_.push_back(std::move(free_.back()));
        free_.pop_back();
    }

    void nsend(int to, int channel, const void *data, size_t bytes, completion *c) override
    {
        ++counters_.nsends;
        counters_.send_bytes += bytes;
        MPI_Request r;
        check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, control_tag + 1 + channel, comm_, &r), "MPI_Isend");
        track(r, c);
    }

    void recv_node(int from, int channel, void *data, size_t bytes, completion *c) override
    {
        ++counters_.recv_nodes;
        MPI_Request r;
        check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, control_tag + 1 + channel, comm_, &r), "MPI_Irecv");
        track(r, c, true);
    }

    bool cancel(completion *c) override
    {
        for (size_t i = 1; i < who_.size(); ++i) {
            if (who_[i].told != c || !who_[i].receives)
                continue;
            check(MPI_Cancel(&requests_[i]), "MPI_Cancel");
            MPI_Status s;
            int ended = 0, cancelled = 0;
            check(MPI_Test(&requests_[i], &ended, &s), "MPI_Test");
            if (!ended) {
                who_[i].cancelling = true;
                return false;       // it has been matched and is arriving, or the cancelling takes time
            }
            MPI_Test_cancelled(&s, &cancelled);
            requests_.erase(requests_.begin() + static_cast<ptrdiff_t>(i));
            who_.erase(who_.begin() + static_cast<ptrdiff_t>(i));
            if (!cancelled)
                c->done();
            return cancelled;
        }
        // It has come, together with what is being taken now.
        for (completion *&t : told_)
            if (t == c)
                std::exchange(t, nullptr)->done();
        return false;
    }

    void discard(int from, int channel, completion *c) override
    {
        MPI_Message m;
        MPI_Status s;
        int bytes = 0;
        check(MPI_Mprobe(from, control_tag + 1 + channel, comm_, &m, &s), "MPI_Mprobe");
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        auto d = std::make_unique<discarded>(static_cast<size_t>(bytes), c);
        MPI_Request r;
        check(MPI_Imrecv(d->data.data(), bytes, MPI_BYTE, &m, &r), "MPI_Imrecv");
        track(r, d.release(), true);
    }

    void recv_any(port_sink *sink) override
    {
        sink_ = sink;
        for (size_t i = 0; i < posted; ++i) {
            inbox_.push_back(std::make_unique<std::byte[]>(small_));
            inbox_requests_.push_back(MPI_REQUEST_NULL);
            post(i);
        }
    }

    bool probe() override
    {
        ++counters_.probes;
        post_taken();
        if (requests_.size() == 1) {
            int flag = 0;
            MPI_Status s;
            check(MPI_Test(&inbox_requests_[head_], &flag, &s), "MPI_Test");
            if (flag)
                deliver(s);
            return flag;
        }
        return some(MPI_Testsome, "MPI_Testsome");
    }

    bool wait() override
    {
        ++counters_.waits;
        post_taken();
        if (requests_.size() == 1) {
            MPI_Status s;
            check(MPI_Wait(&inbox_requests_[head_], &s), "MPI_Wait");
            deliver(s);
            return true;
        }
        return some(MPI_Waitsome, "MPI_Waitsome");
    }

    std::unique_ptr<native_group> native(const std::vector<int> &members, uint32_t id, collectives how) override
    {
        return std::make_unique<mpi_group>(
            comm_, members, static_cast<int>(id & 0x7fff), operators_, [this](MPI_Request r, completion *c) { track(r, c); },
            how == collectives::mpi, counters_.collectives);
    }

    /** A request of the caller's own, such as of MPI_Iallreduce; not one of the eight. */
    void track(MPI_Request r, completion *c, bool receives = false)
    {
        requests_.push_back(r);
        who_.push_back({c, receives, false});
    }

    void finish() override
    {
        check(MPI_Waitall(static_cast<int>(sending_.size()), sending_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        sending_.clear();
        busy_.clear();
        post_taken();
        // Also the receives of threads and landings that are given up.
        for (size_t i = 1; i < who_.size(); ++i)
            if (who_[i].receives)
                inbox_requests_.push_back(requests_[i]);
        for (MPI_Request &r : inbox_requests_) {
            MPI_Cancel(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        inbox_requests_.clear();
        requests_.resize(1), who_.resize(1);
        operators_->finish();
        MPI_Comm_free(&comm_);
        if (ours_)
            MPI_Finalize();
    }

    [[noreturn]] void abort(int code) override
    {
        // A launcher that hears of the end first drops what was said last (MPICH's: one in twenty).
        std::fflush(nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, code);
        std::abort();
    }

private:
    static constexpr int control_tag = 1;
    static constexpr size_t posted = 8;         // receives ahead: more than a round trip brings from one node
    // Buffers collected at once: few, so that they and MPI's requests stay in the cache.
    static constexpr size_t send_batch = 16;

    struct waits {
        completion *told = nullptr;
        bool receives = false;
        bool cancelling = false;
    };
    struct discarded final : completion {
        discarded(size_t bytes, completion *c) : data(bytes), next(c) {}
        void done() override
        {
            next->done();
            delete this;
        }
        std::vector<std::byte> data;
        completion *next;
    };

    static void check(int code, const char *call)
    {
        if (code != MPI_SUCCESS)
            throw error(std::string(call) + " failed with code " + std::to_string(code));
    }

    void post(size_t i)
    {
        check(MPI_Irecv(inbox_[i].get(), static_cast<int>(small_), MPI_BYTE, MPI_ANY_SOURCE, control_tag, comm_,
                        &inbox_requests_[i]),
              "MPI_Irecv");
    }

    void deliver(const MPI_Status &s)
    {
        int bytes = 0;
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        ++counters_.messages;
        const size_t i = head_;
        sink_->message(s.MPI_SOURCE, inbox_[i].get(), static_cast<size_t>(bytes));
        head_ = (i + 1) % posted;
        taken_ = i;
    }
    /** Posts the buffer that was taken last once more: late, so that what a message leads to leaves before. */
    void post_taken()
    {
        if (taken_ < posted)
            post(std::exchange(taken_, posted));
    }

    template <class Call> bool some(Call call, const char *name)
    {
        requests_[0] = inbox_requests_[head_];
        const int n = static_cast<int>(requests_.size());
        indices_.resize(requests_.size());
        statuses_.resize(requests_.size());
        int done = 0;
        check(call(n, requests_.data(), &done, indices_.data(), statuses_.data()), name);
        if (done == MPI_UNDEFINED || done == 0)
            return false;
        // Told after the lists are in order again: who is told may add to them.
        told_.clear();
        withdrawn_.clear();
        bool message = false;
        MPI_Status status{};
        for (int k = 0; k < done; ++k) {
            const auto i = static_cast<size_t>(indices_[static_cast<size_t>(k)]);
            if (i == 0) {
                message = true;
                status = statuses_[static_cast<size_t>(k)];
            } else {
                int cancelled = 0;
                if (who_[i].cancelling)
                    MPI_Test_cancelled(&statuses_[static_cast<size_t>(k)], &cancelled);
                (cancelled ? withdrawn_ : told_).push_back(who_[i].told);
                who_[i].told = nullptr;
            }
        }
        size_t kept = 1;
        for (size_t i = 1; i < requests_.size(); ++i)
            if (who_[i].told) {
                requests_[kept] = requests_[i];
                who_[kept++] = who_[i];
            }
        requests_.resize(kept);
        who_.resize(kept);
        requests_[0] = MPI_REQUEST_NULL;
        if (message)
            inbox_requests_[head_] = MPI_REQUEST_NULL;
        for (completion *&c : told_)
            if (completion *one = std::exchange(c, nullptr))
                one->done();
        for (completion *c : withdrawn_)
            c->withdrawn();
        if (message)
            deliver(status);
        return true;
    }

    void collect_sends()
    {
        indices_.resize(sending_.size());
        int done = 0;
        ++counters_.probes;
        check(MPI_Testsome(static_cast<int>(sending_.size()), sending_.data(), &done, indices_.data(), MPI_STATUSES_IGNORE),
              "MPI_Testsome");
        if (done == MPI_UNDEFINED)
            done = 0;
        for (int k = 0; k < done; ++k)
            free_.push_back(std::move(busy_[static_cast<size_t>(indices_[static_cast<size_t>(k)])]));
        size_t kept = 0;
        for (size_t i = 0; i < sending_.size(); ++i)
            if (busy_[i]) {
                if (kept != i) {
                    sending_[kept] = sending_[i];
                    busy_[kept] = std::move(busy_[i]);
                }
                ++kept;
            }
        sending_.resize(kept);
        busy_.resize(kept);
        collect_at_ = std::max(send_batch, 2 * kept);       // a look costs as much as is under way
    }

    size_t small_;
    bool ours_ = false;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int node_ = 0, nodes_ = 1;
    std::shared_ptr<mpi_operators> operators_ = std::make_shared<mpi_operators>();
    port_sink *sink_ = nullptr;

    std::vector<std::unique_ptr<std::byte[]>> inbox_;
    std::vector<MPI_Request> inbox_requests_;
    size_t head_ = 0;
    size_t taken_ = posted;         // not posted again yet; none: `posted`

    std::vector<std::unique_ptr<std::byte[]>> free_, busy_;     // busy_[i] is sent by sending_[i]
    std::vector<MPI_Request> sending_;
    size_t collect_at_ = send_batch;

    std::vector<MPI_Request> requests_;                         // [0] stands for the head of the inbox
    std::vector<waits> who_;
    std::vector<completion *> told_, withdrawn_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
};

} // namespace mttl

#endif
