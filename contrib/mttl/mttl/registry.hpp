/*
 * The functions that may be invoked from elsewhere.  Each instantiation of a
 * handler (invoke.hpp) registers itself before main, under its mangled name;
 * on the wire it is a 32-bit hash of that, so neither the place of code in
 * memory nor the order of initialisation matters, and a library that is loaded
 * later adds to the registry.  The digest tells programs with other functions
 * apart.  It must not know what the functions do.
 *
 * A program that loads libraries with dlopen must be linked with -rdynamic, so
 * that they find this registry and do not bring their own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_REGISTRY_HPP
#define MTTL_REGISTRY_HPP

#include "port.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace mttl [[gnu::visibility("default")]] {

/** Runs one invocation; the argument is a detail::call. */
using handler_function = void (*)(void *call);

namespace detail {

struct registration {
    registration(const char *n, handler_function f);
    const char *name;
    handler_function run;
    uint32_t id;
    registration *next;
};

inline constinit registration *registered = nullptr;
inline constinit size_t registered_count = 0;

inline uint64_t fnv1a(std::string_view s, uint64_t h = 14695981039346656037u)
{
    for (const char c : s)
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

inline uint32_t function_id(std::string_view name)
{
    const uint64_t h = fnv1a(name);
    return static_cast<uint32_t>(h ^ (h >> 32));
}

inline registration::registration(const char *n, handler_function f) : name(n), run(f), id(function_id(n)), next(registered)
{
    registered = this;
    ++registered_count;
}

inline std::string demangled(const char *name)
{
    int status = 0;
    char *d = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const std::string s = d ? d : name;
    std::free(d);
    return s;
}

} // namespace detail

class registry {
public:
    handler_function find(uint32_t id)
    {
        if (seen_ != detail::registered_count)
            update();
        for (size_t i = id & mask_; table_[i].run; i = (i + 1) & mask_)
            if (table_[i].id == id)
                return table_[i].run;
        return nullptr;
    }

    /** Names in order, one each; throws what makes the registry unusable. */
    std::vector<std::string> names()
    {
        update();
        return names_;
    }

    uint64_t digest()
    {
        uint64_t h = 14695981039346656037u;
        for (const std::string &n : names())
            h = detail::fnv1a(n + '\n', h);
        return h;
    }

private:
    struct slot {
        uint32_t id = 0;
        handler_function run = nullptr;
    };

    void update()
    {
        std::vector<const detail::registration *> all;
        for (const auto *r = detail::registered; r; r = r->next)
            all.push_back(r);
        std::sort(all.begin(), all.end(), [](const auto *a, const auto *b) { return std::string_view(a->name) < b->name; });
        size_t size = 16;
        while (size < 2 * all.size() + 1)
            size *= 2;
        std::vector<slot> table(size);
        std::vector<std::string> names;
        const detail::registration *before = nullptr;
        for (const auto *r : all) {
            if (before && std::string_view(before->name) == r->name) {
                if (before->run != r->run && module(before) == module(r))
                    throw error("two functions have the same name, " + detail::demangled(r->name) +
                                ", in two source files: give one another name");
                continue;       // one function, brought by several libraries
            }
            before = r;
            names.emplace_back(r->name);
            size_t i = r->id & (size - 1);
            for (; table[i].run; i = (i + 1) & (size - 1))
                if (table[i].id == r->id)
                    throw error("the names of two functions have the same hash; give one another name: " + detail::demangled(r->name));
            table[i] = {r->id, r->run};
        }
        table_ = std::move(table);
        mask_ = size - 1;
        names_ = std::move(names);
        seen_ = detail::registered_count;
    }

    static const void *module(const detail::registration *r)
    {
        Dl_info info;
        return dladdr(reinterpret_cast<const void *>(r), &info) ? info.dli_fbase : nullptr;
    }

    size_t seen_ = SIZE_MAX;
    size_t mask_ = 0;
    std::vector<slot> table_;
    std::vector<std::string> names_;
};

} // namespace mttl

#endif
