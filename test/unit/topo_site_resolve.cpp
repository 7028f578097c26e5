/*
 * Where a process is: the order of the sources, through the C boundary, and
 * the messages for malformed ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_resolve.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "unit.hpp"

namespace {

using namespace wan_test;

/* A file in a directory of its own, removed at the end. */
class text_file {
public:
    explicit text_file(const std::string &text)
    {
        char dir[] = "/tmp/wan_topo_XXXXXX";
        dir_ = mkdtemp(dir) ? dir : "/nonexistent";
        path_ = dir_ + "/file";
        if (FILE *f = std::fopen(path_.c_str(), "w")) {
            std::fwrite(text.data(), 1, text.size(), f);
            std::fclose(f);
        }
    }
    ~text_file()
    {
        unlink(path_.c_str());
        rmdir(dir_.c_str());
    }
    text_file(const text_file &) = delete;
    text_file &operator=(const text_file &) = delete;
    const std::string &path() const { return path_; }
    const std::string &dir() const { return dir_; }

private:
    std::string dir_, path_;
};

struct sources {
    std::string id, id_file, map;                   // parameters
    std::string host, pmix_id, pmix_peers;          // hints
    int rank = 0;
};

struct outcome {
    int code;
    std::string site, where, what, remedy;
};

outcome resolve(sources s)
{
    wan_params_t params{};
    params.cluster_id = s.id.data();
    params.cluster_id_file = s.id_file.data();
    params.cluster_map = s.map.data();
    const wan_runtime_hints_t hints{s.host.c_str(), s.pmix_id.c_str(), s.pmix_peers.c_str(), s.rank};
    char site[WAN_SITE_MAX];
    std::memset(site, 'x', sizeof site);
    wan_message_t message;
    std::memset(&message, 'x', sizeof message);
    const int code = wan_site_resolve(&params, &hints, site, &message);
    return {code, site, message.where, message.what, message.remedy};
}

std::string check_order()
{
    const text_file id("# this host\n\n  eu/lyon:r1  # rack 1\nignored\n");
    const text_file map("n[1-9] eu/paris\nlink eu/paris jp/tokyo latency=120ms\n");
    const text_file with_default("n[1-9] eu/paris\ndefault us/east\n");
    const text_file links("link a b latency=1ms\n");
    const text_file slurm("SwitchName=l1 Nodes=n[1-9]\nSwitchName=core Switches=l1\nSwitchName=alone Nodes=m1\n");
    const struct {
        sources given;
        const char *site;
    } table[] = {
        {{"", "", "", "", "", ""}, ""},
        {{"a", id.path(), map.path(), "n1", "pmix", ""}, "a"},
        {{" a:b/c ", "", "", "", "", ""}, "a:b:c"},
        {{"", id.path(), map.path(), "n1", "pmix", ""}, "eu/lyon/r1"},
        {{"", "", map.path(), "n1", "pmix", ""}, "eu/paris"},
        {{"", "", map.path(), "n1.paris.example.org", "", ""}, "eu/paris"},
        {{"", "", map.path(), "n10", "pmix", ""}, ""},                  // the map is the authority
        {{"", "", with_default.path(), "n10", "pmix", ""}, "us/east"},
        {{"", "", links.path(), "n1", "pmix", ""}, "pmix"},
        {{"", "", slurm.path(), "n1", "pmix", ""}, "core:l1"},
        {{"", "", slurm.path(), "m1", "pmix", ""}, ""},                 // a lone leaf switch
        {{"", "", "", "n1", "pmix", ""}, "pmix"},
        {{"", "", "", "n1", "eu/paris/x", ""}, "eu/paris/x"},
        {{"", "", "", "n1", "slurm 4@host\n", ""}, "slurm_4_host_"},
        {{"", "", "", "n1", "a//b", ""}, "a__b"},
        {{"", "", "", "n1", std::string(300, 'p'), ""}, nullptr},       // cut to 255
        // The switch, by its lowest rank: a level inside the site, never a site.
        {{"", "", "", "n1", "pmix", "4-7,12", 6}, "pmix:switch-4"},
        {{"", "", "", "n1", "pmix", "12,4,7", 12}, "pmix:switch-4"},
        {{"", "", "", "n1", "pmix", "5,6,7", 4}, "pmix:switch-4"},      // without this process
        {{"", "", "", "n1", "eu/paris", "8", 8}, "eu/paris/switch-8"},
        {{"", "", map.path(), "n1", "pmix", "4-7", 5}, "eu/paris/switch-4"},
        {{"", "", slurm.path(), "n1", "", "4-7", 5}, "core:l1"},        // the map tells the level
        {{"a/b/c", "", "", "n1", "", "4-7", 5}, "a/b/c"},
        {{"", "", "", "n1", "", "4-7", 5}, ""},
        {{"", "", slurm.path(), "m1", "", "4-7", 5}, ""},
        {{"", "", "", "n1", "pmix", "n[1-4]", 2}, "pmix"},              // not what the standard says
        {{"", "", "", "n1", "pmix", "1,,2", 2}, "pmix"},
        {{"", "", "", "n1", "pmix", "1;2", 2}, "pmix"},
        {{"", "", "", "n1", "pmix", "-3", 2}, "pmix"},
        {{"", "", "", "n1", "pmix", "99999999999", 2}, "pmix"},
    };
    for (const auto &t : table) {
        const outcome o = resolve(t.given);
        const std::string site = t.site ? t.site : std::string(255, 'p');
        if (o.code != WAN_OK || o.site != site)
            return "expected '" + site + "': code " + std::to_string(o.code) + ", '" + o.site + "', " + o.what;
    }
    return {};
}

std::string check_malformed()
{
    const text_file bad_id("# x\neu paris\n"), no_id("# x\n\n"), bad_map("n1 a\r\nn[2-1] b\r\n"), empty(""), good_id("a\n");
    const struct {
        sources given;
        std::string where;
        const char *what;
    } table[] = {
        {{"a b", "", "", "", "", ""}, "coll_wan_cluster_id", "the character ' '"},
        {{std::string(256, 'a'), "", "", "", "", ""}, "coll_wan_cluster_id", "256 bytes"},
        {{"", bad_id.path(), "", "", "", ""}, bad_id.path() + ":2", "the character ' '"},
        {{"", no_id.path(), "", "", "", ""}, no_id.path(), "no site name"},
        {{"", empty.path(), "", "", "", ""}, empty.path(), "no site name"},
        {{"", empty.dir(), "", "", "", ""}, empty.dir(), "directory"},
        {{"", "/nonexistent/id", "", "", "", ""}, "/nonexistent/id", "No such file"},
        {{"", "", bad_map.path(), "n1", "p", ""}, bad_map.path() + ":2", "runs backwards"},
        {{"", "", empty.path(), "n1", "p", ""}, empty.path(), "says nothing"},
        {{"", "", empty.dir(), "n1", "p", ""}, empty.dir(), "directory"},
        {{"", "", "/nonexistent/map", "n1", "p", ""}, "/nonexistent/map", "No such file"},
        {{"a", "", bad_map.path(), "n1", "p", ""}, bad_map.path() + ":2", "runs backwards"},       // it may tell links
        {{"", good_id.path(), bad_map.path(), "n1", "p", ""}, bad_map.path() + ":2", "runs backwards"},
        {{"", "", "/" + std::string(5000, 'm'), "n1", "p", ""}, "/" + std::string(510, 'm'), "cannot be opened"},
    };
    for (const auto &t : table) {
        const outcome o = resolve(t.given);
        if (o.code != WAN_ERR_INPUT || o.where != t.where || o.what.find(t.what) == o.what.npos
            || o.remedy.empty() || !o.site.empty())
            return "expected " + t.where + ": " + t.what + "\ncode " + std::to_string(o.code) + ", " + o.where
                   + " | " + o.what + " | " + o.remedy;
    }
    return {};
}

std::string check_absent()
{
    wan_params_t params{};
    char site[WAN_SITE_MAX] = "x";
    if (wan_site_resolve(&params, nullptr, site, nullptr) != WAN_OK || site[0])
        return "no parameter, no hint: '" + std::string(site) + "'";
    char id[] = "a b";
    params.cluster_id = id;
    if (wan_site_resolve(&params, nullptr, site, nullptr) != WAN_ERR_INPUT)
        return "a malformed id without a message";
    const wan_runtime_hints_t hints{};
    char map[] = "/dev/null";
    params.cluster_id = nullptr;
    params.cluster_map = map;
    if (wan_site_resolve(&params, &hints, site, nullptr) != WAN_ERR_INPUT)
        return "/dev/null is a map";
    if (wan_site_resolve(nullptr, &hints, site, nullptr) != WAN_ERR_INTERNAL
        || wan_site_resolve(&params, &hints, nullptr, nullptr) != WAN_ERR_INTERNAL)
        return "null arguments pass";
    return {};
}

std::string check_notes()
{
    const text_file map("n[1-9] eu/paris\n");
    std::string path = map.path();
    wan_params_t params{};
    params.cluster_map = path.data();
    const wan_runtime_hints_t hints{"m1", "pmix", nullptr, 0};
    wan::site_answer answer;
    wan::input_error error;
    if (!wan::site_resolve(params, &hints, answer, error) || answer.source != wan::site_source::cluster_map
        || answer.note.find("does not list the host 'm1'") == answer.note.npos)
        return "note: " + answer.note;
    params.cluster_map = nullptr;
    if (!wan::site_resolve(params, nullptr, answer, error) || answer.source != wan::site_source::none
        || answer.note.empty() || std::string(wan::site_source_name(answer.source)) != "none")
        return "no note where nothing is known";
    const outcome unlisted = resolve({"", "", path, "m1", "pmix", ""}), nothing = resolve({"", "", "", "m1", "", ""});
    if (unlisted.where != path || unlisted.what.find("does not list the host 'm1'") == std::string::npos || !nothing.where.empty()
        || nothing.what.empty())
        return "what users are told: " + unlisted.where + " | " + unlisted.what + " | " + nothing.where + " | " + nothing.what;
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_order>), cmocka_unit_test(test<check_malformed>),
        cmocka_unit_test(test<check_absent>), cmocka_unit_test(test<check_notes>),
    };
    return cmocka_run_group_tests_name("topo_site_resolve", tests, nullptr, nullptr);
}
