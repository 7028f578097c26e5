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
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace info {

/** Something that the user gave is wrong: exit code 2. */
struct wrong_word : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** 65536 of "64K"; binary units, at most 2^40. */
uint64_t size_parse(std::string_view text);
/** "1,1K,64K", "1..16M", "64K..16M:4": ascending, each once. */
std::vector<uint64_t> sizes_parse(std::string_view text);
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
std::string collective_names();

/**
 * Parameters of coll/wan as a job would have them: defaults, OMPI_MCA_coll_wan_* of the environment,
 * then `settings` ("links=4", "coll_wan_bcast_algorithm=chain").  Ranges are the knobs'.
 */
class parameters {
public:
    explicit parameters(const std::vector<std::string> &settings);
    const wan_params_t &values() const { return values_; }
    /** Overrides a string parameter. */
    void set(const std::string &name, const std::string &value);
    /** "links=4 (environment)", what is not as by default. */
    const std::vector<std::string> &told() const { return told_; }

private:
    wan_params_t values_{};
    std::vector<std::string> told_;
    std::vector<std::string> strings_;      // owns what values_ points to; reserved for all knobs
};

} // namespace info

#endif
