/*
 * The C boundary of the report (wan_report.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"

#include "guarded.hpp"
#include "wan_report.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

struct wan_report {
    std::shared_ptr<wan::book> book;
    std::string text = {}, summary = {};        // once all is over
};

extern "C" {

int wan_report_spawned(const char *job)
{
    const char *at = job ? std::strrchr(job, '@') : nullptr;
    char *end = nullptr;
    const long number = at && at[1] >= '0' && at[1] <= '9' ? std::strtol(at + 1, &end, 10) : 0;
    return number > 1 && number < INT_MAX && !*end ? static_cast<int>(number - 1) : 0;
}

int wan_report_file(const char *parameter, int rank, int spawned, char *file, size_t size, wan_message_t *message)
{
    const std::string_view name = parameter ? parameter : "";
    const size_t mark = name.find("%r");
    const bool each = mark != name.npos;
    if (name.empty())
        return WAN_DECLINED;
    const auto refuse = [&](const char *what, const std::string_view remedy) {
        if (rank != 0)      // one says so
            return static_cast<int>(WAN_DECLINED);
        std::snprintf(message->where, sizeof message->where, "coll_wan_report");
        std::snprintf(message->what, sizeof message->what, "'%.256s' %s", parameter, what);
        std::snprintf(message->remedy, sizeof message->remedy, "%.*s", static_cast<int>(remedy.size()), remedy.data());
        return static_cast<int>(WAN_ERR_INPUT);
    };
    return wan::guarded([&]() -> int {
        if (name.ends_with(".html") || name.ends_with(".htm")) {
            const std::string stem(name.substr(0, name.rfind('.')));
            return refuse(
                "is a page, which is made from the report",
                ("let the job write " + stem + ".json, then: wan-info report " + stem + ".json --html " + stem + ".html")
                    .substr(0, 500));
        }
        if (!name.ends_with(".json"))
            return refuse("does not end in .json", "give the report a name such as run.json; wan-info report run.json shows it");
        std::string whole(name);
        if (each)
            whole.replace(mark, 2, std::to_string(rank));
        if (spawned)
            whole.insert(whole.size() - std::strlen(".json"), "-spawned" + std::to_string(spawned));
        if (whole.size() >= size)
            return refuse("is too long", "give the report a shorter name");
        std::memcpy(file, whole.c_str(), whole.size() + 1);
        return each || rank == 0 ? WAN_OK : WAN_DECLINED;
    });
}

int wan_report_open(const wan_report_process_t *process, const wan_params_t *params, int64_t (*now_ns)(void *),
                    wan_report_t **report)
{
    *report = nullptr;
    return wan::guarded([&]() -> int {
        const auto told = [](const char *text) { return text ? text : ""; };
        wan::book::process who{process->rank,     process->spawned,     process->host,          process->began_s,
                               told(process->job), told(process->batch), told(process->command)};
        *report = new wan_report{std::make_shared<wan::book>(std::move(who), *params, [now_ns] { return now_ns(nullptr); })};
        return WAN_OK;
    });
}

void wan_report_event(wan_report_t *report, const char *what, const char *text)
{
    (void) wan::guarded([&]() -> int {
        report->book->event(what, text);
        return WAN_OK;
    });
}

void wan_report_refused(wan_report_t *report, uint32_t communicator, int ranks, wan_reason_t reason, const char *why)
{
    (void) wan::guarded([&]() -> int {
        report->book->refused(communicator, ranks, reason, why);
        return WAN_OK;
    });
}

int wan_report_serves(wan_report_t *report, wan_comm_t *comm, uint32_t communicator)
{
    return wan::guarded([&]() -> int {
        auto made = std::make_unique<wan::record>(report->book, *comm, communicator);
        made->happened("served", "is served, " + std::to_string(comm->topo.size()) + " ranks on "
                                     + std::to_string(comm->topo.site_count()) + " sites; links "
                                     + comm->links.how_known());
        if (comm->counters.links_looked_at > 0 && !comm->links.unsure())     // before there was a report of it
            made->happened("links_looked_at", comm->links.from_file() ? "links are known from a file, and are as they were"
                                                              : "links are known from a file, and are not as they were: measured anew");
        made->links(comm->links.how_known());
        std::lock_guard hold(comm->lock);
        comm->report = std::move(made);
        return WAN_OK;
    });
}

void wan_report_ends(wan_report_t *report, wan_comm_t *comm, const char *name, uint64_t passed)
{
    (void) wan::guarded([&]() -> int {
        if (comm && comm->report) {
            comm->report->call(name);
            comm->report->passed(passed);
        } else {
            report->book->passed(passed);
        }
        return WAN_OK;
    });
}

void wan_report_finalizes(wan_report_t *report)
{
    (void) wan::guarded([&]() -> int {
        report->book->end();
        return WAN_OK;
    });
}

int wan_report_text(wan_report_t *report, int ranks, const char **json, char **summary)
{
    *json = *summary = nullptr;
    return wan::guarded([&]() -> int {
        report->text = report->book->json(ranks);
        report->summary = report->book->summary();
        *json = report->text.c_str();
        *summary = report->summary.data();
        return WAN_OK;
    });
}

void wan_report_close(wan_report_t *report) { delete report; }

} // extern "C"
