/*
 * Words that users write and read: sizes, times, parameters.  Sizes as the bench has
 * them (../bench/wanbenchlib/sizes.py), latencies and rates as a map has them
 * (topo/cluster_map.hpp).
 *
 * Whatever is wrong with them is a `wrong_word`: what, and what to write.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_WORDS_HPP
#define INFO_WORDS_HPP

#include "wan_core.h"

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace info {

/** Something that the user gave is wrong: exit code 2. */
struct wrong_word : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** As printf does it; at most 1023 bytes. */
template <typename... A> std::string format(const char *text, A... values)
{
    char out[1024];
    std::snprintf(out, sizeof out, text, values...);
    return out;
}

std::string joined(const std::vector<std::string> &words, const char *between);
/** "a, b, c": of many the first, and how many more there are. */
std::string some_of(std::vector<std::string> words);

/** To a file, or with - to standard output; throws wrong_word, with the option that named it.  What a file had stays where that fails. */
void write_file(const char *option, const std::string &file, const std::string &text);
/** Throws wrong_word for a file (not -) whose name has an ending, and none of these: ".svg .html".  what: "a picture in SVG". */
void ending_check(const char *option, const std::string &file, const std::string &endings, const char *what, const char *remedy);

/** 65536 of "64K"; binary units, at most 2^40.  option: what it was given for, "": a size. */
uint64_t size_parse(std::string_view text, std::string_view option = "");
/** "1,1K,64K", "1..16M", "64K..16M:4": ascending, each once. */
std::vector<uint64_t> sizes_parse(std::string_view text, std::string_view option);
std::string size_text(uint64_t bytes);

/** "12.3 ms", three digits. */
std::string time_text(int64_t ns);
/** "400 Mb/s" of bytes a second. */
std::string rate_text(double bytes_per_s);

/** ns of "10ms". */
int64_t latency_of(const std::string &text, const char *option);
/** Bytes a second of "400Mb/s". */
int64_t rate_of(const std::string &text, const char *option);

/** "bcast", "allgatherv", "MPI_Bcast", "iallreduce": of all their forms. */
wan_collective_t collective_of(std::string_view text);
/** "bcast, allreduce, ...". */
std::string collective_names(const char *between = ", ");

/** Parameters of coll/wan.  Ranges are the knobs'. */
class parameters {
public:
    /** Defaults only. */
    parameters();
    /**
     * As a job would have them: defaults, OMPI_MCA_coll_wan_* of the environment, then `settings`
     * ("links=4", "coll_wan_bcast_algorithm=chain").  Throws wrong_word for the first that is wrong.
     */
    explicit parameters(const std::vector<std::string> &settings);
    const wan_params_t &values() const { return values_; }
    /** Any parameter, with or without "coll_wan_".  Throws wrong_word for a name or value that there is not. */
    void set(const std::string &name, const std::string &value);
    /** A string parameter, as if nobody had told it. */
    void leave(const std::string &name);
    /** What environment and settings told: "coll_wan_links=4 (environment)", "coll_wan_links=4". */
    const std::vector<std::string> &told() const { return told_; }

    /** What OMPI_MCA_coll_wan_NAME is; "": not set. */
    static std::string environment(const std::string &name);

private:
    wan_params_t values_{};
    std::vector<std::string> told_;
    std::vector<std::string> strings_;      // owns what values_ points to; reserved for all knobs
};

} // namespace info

#endif
