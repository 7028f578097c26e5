/*
 * Every knob is whole: a name, a sentence with unit and range, a default
 * inside its range; enumerators are those of the registry.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/service.hpp"
#include "algo/registry.hpp"
#include "wan_core.h"

#include "unit.hpp"

#include <set>
#include <string_view>

namespace {

using namespace wan_test;

std::string grouped(int64_t v) { return std::to_string(v); }

/** Ways of writing a number in a sentence. */
bool mentions(const std::string &text, int64_t v)
{
    if (text.find(grouped(v)) != text.npos)
        return true;
    for (int bit = 4; bit < 63; ++bit)
        if (v == int64_t{1} << bit && text.find("2^" + std::to_string(bit)) != text.npos)
            return true;
    return false;
}

std::string check_knobs()
{
    std::set<std::string> names;
    std::set<size_t> offsets;
    WAN_CHECK(wan_knob_count() > 0 && !wan_knob_get(wan_knob_count()));
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        WAN_CHECK_THAT(names.insert(k.name).second, k.name);
        WAN_CHECK_THAT(offsets.insert(k.offset).second && k.offset < sizeof(wan_params_t), k.name);
        for (char c : std::string_view(k.name))
            WAN_CHECK_THAT((c >= 'a' && c <= 'z') || c == '_', k.name);
        const std::string help = k.help ? k.help : "";
        WAN_CHECK_THAT(help.size() > 20 && help[0] >= 'A' && help[0] <= 'Z', k.name);
        WAN_CHECK_THAT(help.back() != '.' && help.find('\n') == help.npos, k.name);
        WAN_CHECK_THAT(k.level >= 1 && k.level <= 9, k.name);
        switch (k.type) {
        case WAN_KNOB_INT:
        case WAN_KNOB_INT64:
            WAN_CHECK_THAT(k.minimum <= k.initial && k.initial <= k.maximum, k.name);
            // Its unit opens the sentence or the range does; the range is said.
            WAN_CHECK_THAT(mentions(help, k.minimum) && mentions(help, k.maximum), std::string(k.name) + ": no range in: " + help);
            if (k.type == WAN_KNOB_INT)
                WAN_CHECK_THAT(k.minimum >= INT32_MIN && k.maximum <= INT32_MAX, k.name);
            if (k.initial == 0 && std::string(k.name) != "verbose")
                WAN_CHECK_THAT(help.find("0: ") != help.npos, std::string(k.name) + ": what 0 means is not said");
            break;
        case WAN_KNOB_STRING:
            WAN_CHECK_THAT(help.find("mpty: ") != help.npos, std::string(k.name) + ": what empty means is not said");
            break;
        case WAN_KNOB_ENUM:
            WAN_CHECK_THAT(std::string(wan_knob_enumerator(&k, static_cast<int>(k.initial), nullptr)) == "automatic", k.name);
            break;
        }
    }
    for (const char *unit : {"threshold", "segment"})
        for (size_t i = 0; i < wan_knob_count(); ++i)
            if (std::string(wan_knob_get(i)->name) == unit)
                WAN_CHECK_THAT(std::string(wan_knob_get(i)->help).starts_with("Bytes"), unit);
    for (const char *promised : {"priority", "cluster_id", "cluster_map", "threshold", "links", "segment", "bcast_algorithm", "allreduce_algorithm", "verbose"})
        WAN_CHECK_THAT(names.contains(promised), promised);
    return "";
}

std::string check_enumerators()
{
    int by_trees = 0;
    size_t seen = 0;
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        const char *help = "unset";
        if (k.type != WAN_KNOB_ENUM) {
            WAN_CHECK(!wan_knob_enumerator(&k, 0, &help) && !help);
            continue;
        }
        const std::string name = k.name;
        WAN_CHECK(name.ends_with("_algorithm"));
        const std::string collective = name.substr(0, name.size() - 10);
        std::vector<const wan::algorithm *> expected;
        for (const auto *a : wan::algorithms())
            if (collective == wan_collective_name(a->collective))
                expected.push_back(a);
        WAN_CHECK(wan_knob_enumerator(&k, 0, &help) && help);
        WAN_CHECK(!wan_knob_enumerator(&k, -1, nullptr));
        for (size_t e = 0; e < expected.size(); ++e, ++seen) {
            const char *got = wan_knob_enumerator(&k, static_cast<int>(e) + 1, &help);
            WAN_CHECK_THAT(got && std::string(got) == expected[e]->name && std::string(help) == expected[e]->summary, name);
            WAN_CHECK(wan::algorithm_at(expected[e]->collective, static_cast<int>(e) + 1) == expected[e]);
        }
        int next = static_cast<int>(expected.size()) + 1;
        if (wan::adaptive_serves(expected.at(0)->collective)) {     // not an algorithm like those, and after them
            const char *got = wan_knob_enumerator(&k, next++, &help);
            WAN_CHECK_THAT(got && std::string(got) == "adaptive" && std::string(help) == wan::adaptive_summary(expected.at(0)->collective), name);
            ++by_trees;
        }
        WAN_CHECK(!wan_knob_enumerator(&k, next, &help) && !help);
    }
    WAN_CHECK(by_trees == 5);
    WAN_CHECK_THAT(seen == wan::algorithms().size(), "a collective without an enumerated parameter");
    return "";
}

std::string check_registry()
{
    std::set<std::string> names;
    for (const auto *a : wan::algorithms()) {
        const std::string name = std::string(wan_collective_name(a->collective)) + "/" + a->name;
        WAN_CHECK_THAT(names.insert(name).second, name);
        WAN_CHECK_THAT(a->build && a->cost && a->serves && a->senders, name);
        WAN_CHECK_THAT(std::string(a->summary).size() > 20 && std::string(a->summary).find('\n') == std::string::npos, name);
        WAN_CHECK_THAT(a->source && *a->source, name);
    }
    for (int c = 0; c < WAN_COLLECTIVES; ++c) {
        const auto collective = static_cast<wan_collective_t>(c);
        WAN_CHECK(!wan::algorithm_at(collective, 0) && !wan::algorithm_at(collective, 99) && !wan::algorithm_named(collective, "none"));
        for (bool longer : {false, true}) {
            if (!wan::algorithm_at(collective, 1) || (longer && collective == WAN_BARRIER))
                continue;
            int automatic = 0;
            for (const auto *a : wan::algorithms())
                automatic += a->collective == collective && a->automatic && a->long_messages == longer;
            WAN_CHECK_THAT(automatic > 0 || (longer && (collective == WAN_ALLGATHER || collective == WAN_ALLTOALL)), wan_collective_name(collective));
        }
    }
    WAN_CHECK(std::string(wan_collective_name(WAN_COUNTED)) == "?");
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_knobs>), cmocka_unit_test(test<check_enumerators>), cmocka_unit_test(test<check_registry>)};
    return cmocka_run_group_tests_name("knobs", tests, nullptr, nullptr);
}
