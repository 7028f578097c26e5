/*
 * The functions that may be invoked from elsewhere.  Each instantiation of a
 * handler (invoke.hpp) registers itself before main, under its mangled name;
 * on the wire it is a 32-bit hash of that, so neither the place of code in
 * memory nor the order of initialisation matters, and a library that is loaded
 * later adds to the registry, until it is closed.  The digest tells programs
 * with other functions, or with arguments of other sizes, apart.  It must not
 * know what the functions do.
 *
 * Two libraries may have different functions of one name, so the file name of
 * the library in which a handler is instantiated belongs to its name; what the
 * program itself instantiates has none.  Handlers are hidden for that, or the
 * loader would make one of those of several libraries.
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
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

/** Runs one invocation; the argument is a detail::call. */
using handler_function = void (*)(void *call);

namespace detail {

struct registration {
    /** `sizes`: of what is passed and returned. */
    registration(const std::type_info &t, handler_function f, std::span<const size_t> s);
    registration(const registration &) = delete;
    ~registration();            // at dlclose of its library, or at exit
    std::string name;           // mangled, with "@file name of the library" behind it
    handler_function run;
    std::span<const size_t> sizes;
    uint32_t id;
    registration *next;
};

inline constinit registration *registered = nullptr;
inline constinit size_t registered_changes = 0;

inline uint64_t fnv1a(std::string_view s, uint64_t h = 14695981039346656037u)
{
    for (const char c : s)
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

inline uint32_t function_id(std::string_view name)
{
    const uint64_t h = fnv1a(name);
    const auto id = static_cast<uint32_t>(h ^ (h >> 32));
    return id < 16 ? id + 16 : id;      // those below mean something else, see virtual_space.hpp
}

/** The file name of the library that an address is in; "" for the program itself. */
inline std::string library_of(const void *p)
{
    Dl_info info;
    void *map = nullptr;
    if (!dladdr1(p, &info, &map, RTLD_DL_LINKMAP) || !map)
        return "";
    const std::string_view path = static_cast<const link_map *>(map)->l_name;
    return std::string(path.substr(path.rfind('/') + 1));
}

inline registration::registration(const std::type_info &t, handler_function f, std::span<const size_t> s)
    : name(t.name()), run(f), sizes(s), next(registered)
{
    const std::string library = library_of(this);
    if (!library.empty())
        name += '@' + library;
    id = function_id(name);
    registered = this;
    ++registered_changes;
}

inline registration::~registration()
{
    registration **at = &registered;
    while (*at && *at != this)
        at = &(*at)->next;
    if (*at)
        *at = next;
    ++registered_changes;
}

inline std::string demangled(const char *name)
{
    int status = 0;
    char *d = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const std::string s = d ? d : name;
    std::free(d);
    return s;
}
/** A function as a reader knows it, from a registration's name. */
inline std::string described(const std::string &name)
{
    const size_t at = name.find('@');
    return demangled(name.substr(0, at).c_str()) + (at == name.npos ? "" : " of " + name.substr(at + 1));
}

} // namespace detail

class registry {
public:
    handler_function find(uint32_t id)
    {
        if (seen_ != detail::registered_changes)
            update();
        for (size_t i = id & mask_; table_[i].run; i = (i + 1) & mask_)
            if (table_[i].id == id)
                return table_[i].run;
        return nullptr;
    }

    /** In order, one each: "name<tab>sizes of what is passed and returned"; throws what makes the registry unusable. */
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
        std::sort(all.begin(), all.end(), [](const auto *a, const auto *b) { return a->name < b->name; });
        size_t size = 16;
        while (size < 2 * all.size() + 1)
            size *= 2;
        std::vector<slot> table(size);
        std::vector<std::string> names;
        const detail::registration *before = nullptr;
        for (const auto *r : all) {
            if (before && before->name == r->name) {
                if (before->run != r->run)
                    throw error("two functions have the same name, " + detail::described(r->name) +
                                ", in two source files, or in two libraries of the same file name: " +
                                "give one another name");
                continue;
            }
            before = r;
            names.push_back(r->name + '\t');
            for (const size_t bytes : r->sizes)
                names.back() += std::to_string(bytes) + ' ';
            size_t i = r->id & (size - 1);
            for (; table[i].run; i = (i + 1) & (size - 1))
                if (table[i].id == r->id)
                    throw error("the names of two functions have the same hash; give one another name: " +
                                detail::described(r->name));
            table[i] = {r->id, r->run};
        }
        table_ = std::move(table);
        mask_ = size - 1;
        names_ = std::move(names);
        seen_ = detail::registered_changes;
    }

    size_t seen_ = SIZE_MAX;
    size_t mask_ = 0;
    std::vector<slot> table_;
    std::vector<std::string> names_;
};

} // namespace mttl

#endif
