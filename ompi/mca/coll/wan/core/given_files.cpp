/*
 * See given_files.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "given_files.hpp"

#include <filesystem>

namespace wan {

namespace {

std::string name_of(const char *file) { return file ? file : ""; }

/** What is kept of a file; the first time by `read`. */
template <class T, class F> const T &kept(std::map<std::string, T> &all, const std::string &file, F read)
{
    const auto [at, fresh] = all.try_emplace(file);
    if (input_error ignored; fresh && !file.empty() && !read(file, at->second, ignored))
        at->second = {};
    return at->second;
}

bool read_rules(const std::string &file, rules &r, input_error &error) { return rules::read(file, false, r, error); }
bool read_learned(const std::string &file, rules &r, input_error &error) { return rules::read(file, true, r, error); }
bool read_links(const std::string &file, links_file &l, input_error &error) { return links_file::read(file, false, l, error); }

} // namespace

bool given_files::begin(const wan_params_t &p, input_error &error)
{
    std::lock_guard hold(lock_);
    rules_.clear();
    learned_.clear();
    links_.clear();
    hints_.clear();
    std::error_code unknown;
    began_in_ = std::filesystem::current_path(unknown).string();
    const auto good = [&](auto &all, const char *file, auto read) {
        const std::string name = name_of(file);
        if (name.empty() || read(name, all[name], error))
            return true;
        all[name] = {};
        return false;
    };
    return good(links_, p.links_file, read_links) && good(rules_, p.rules, read_rules) && good(learned_, p.tune_file, read_learned);
}

std::vector<rule> given_files::rules_of(const std::string &file, bool learned, const topology &t)
{
    std::lock_guard hold(lock_);
    return (learned ? kept(learned_, file, read_learned) : kept(rules_, file, read_rules)).of(t);
}

std::optional<known_links> given_files::links_of(const std::string &file, const std::vector<std::string> &sites)
{
    std::lock_guard hold(lock_);
    const known_links *l = kept(links_, file, read_links).find(sites);
    return l ? std::optional(*l) : std::nullopt;
}

std::string given_files::path_of(const std::string &file)
{
    std::lock_guard hold(lock_);
    return file.starts_with('/') || began_in_.empty() ? file : began_in_ + '/' + file;
}

link_hints given_files::hints_of(const std::string &map)
{
    std::lock_guard hold(lock_);
    return kept(hints_, map, link_hints_read);
}

given_files &files()
{
    static given_files f;
    return f;
}

} // namespace wan
