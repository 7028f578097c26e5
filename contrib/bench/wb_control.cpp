// See wb_control.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "wb_control.hpp"

#include <algorithm>

namespace wb {

namespace {

// 1 ms: thirty followers then cost a few per cent of one core.
constexpr ns_t poll_ns = millisecond_ns;

}  // namespace

void wait_politely(MPI_Request &request, MPI_Status *status) {
    int done = 0;
    for (;;) {
        MPI_Test(&request, &done, status);
        if (done)
            return;
        local_sleep_until(local_now_ns() + poll_ns, 0);
    }
}

void idle_until(const world &w, ns_t local_ns) {
    int flag = 0;
    for (ns_t now = local_now_ns(); now < local_ns; now = local_now_ns()) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w.control, &flag, MPI_STATUS_IGNORE);
        local_sleep_until(std::min(local_ns, now + 2 * poll_ns), 0);
    }
}

void command_send(const world &w, int to, const command &c) {
    MPI_Send(&c, sizeof c, MPI_BYTE, to, tag_command, w.control);
}

void command_send_all(const world &w, const command &c) {
    for (int r = 1; r < w.size; ++r)
        command_send(w, r, c);
}

command command_receive(const world &w) {
    command c;
    MPI_Request request;
    MPI_Irecv(&c, sizeof c, MPI_BYTE, 0, tag_command, w.control, &request);
    wait_politely(request, MPI_STATUS_IGNORE);
    return c;
}

std::vector<std::int64_t> report_gather(const world &w, const std::vector<std::int64_t> &mine) {
    const int count = static_cast<int>(mine.size());
    std::vector<std::int64_t> all;
    if (w.rank != 0) {
        MPI_Request request;
        MPI_Isend(mine.data(), count, MPI_INT64_T, 0, tag_report, w.control, &request);
        wait_politely(request, MPI_STATUS_IGNORE);
        return all;
    }
    all.resize(mine.size() * static_cast<std::size_t>(w.size));
    std::copy(mine.begin(), mine.end(), all.begin());
    std::vector<MPI_Request> requests(static_cast<std::size_t>(w.size) - 1);
    for (int r = 1; r < w.size; ++r)
        MPI_Irecv(all.data() + mine.size() * static_cast<std::size_t>(r), count, MPI_INT64_T, r,
                  tag_report, w.control, &requests[static_cast<std::size_t>(r) - 1]);
    for (auto &request : requests)
        wait_politely(request, MPI_STATUS_IGNORE);
    return all;
}

std::vector<std::string> text_gather(const world &w, const std::string &mine) {
    std::vector<std::string> all;
    if (w.rank != 0) {
        MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, tag_text, w.control);
        return all;
    }
    all.push_back(mine);
    for (int r = 1; r < w.size; ++r) {
        MPI_Status status;
        int length = 0;
        MPI_Probe(r, tag_text, w.control, &status);
        MPI_Get_count(&status, MPI_CHAR, &length);
        std::string text(static_cast<std::size_t>(length), '\0');
        MPI_Recv(text.data(), length, MPI_CHAR, r, tag_text, w.control, MPI_STATUS_IGNORE);
        all.push_back(text);
    }
    return all;
}

}  // namespace wb
