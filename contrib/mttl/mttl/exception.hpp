/*
 * Exceptions that cross processes.  What derives from a standard exception
 * arrives as that standard exception (`catch (const std::out_of_range &)` does
 * what it says), everything else as remote_error; all of them can be caught as
 * remote_origin, which tells the node and the type.  What() is kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_EXCEPTION_HPP
#define MTTL_EXCEPTION_HPP

#include "registry.hpp"
#include "serial.hpp"

#include <exception>
#include <new>
#include <stdexcept>

namespace [[gnu::visibility("default")]] mttl {

/** Where an exception was thrown, and what it was there. */
struct remote_origin {
    int node = -1;
    std::string type;

protected:
    ~remote_origin() = default;
};

/** An exception of another node. */
template <class E> struct remote final : E, remote_origin {
    remote(const std::string &what, int n, std::string t) : E(what)
    {
        node = n;
        type = std::move(t);
    }
};
template <> struct remote<std::bad_alloc> final : std::bad_alloc, remote_origin {
    remote(const std::string &, int n, std::string t)
    {
        node = n;
        type = std::move(t);
    }
};

/** An exception of another node that is none of the standard ones. */
struct remote_error final : error, remote_origin {
    remote_error(const std::string &what, int n, std::string t) : error(what)
    {
        node = n;
        type = std::move(t);
    }
};

namespace detail {

// Derived ones before their bases: the place in this list is what travels.
template <class... E> struct exception_list {
    /** Of the exception that is being handled. */
    static void put(writer &w)
    {
        uint8_t code = 0;
        std::string what;
        try {
            throw;
        } catch (const std::exception &e) {
            what = e.what();
            ((code == 0 ? (void)(code = static_cast<uint8_t>(place<E>() * bool(dynamic_cast<const E *>(&e)))) : (void)0), ...);
        } catch (...) {
            what = "not a std::exception";
        }
        const std::type_info *t = abi::__cxa_current_exception_type();
        w.raw(code);
        serial<std::string>::put(w, t ? demangled(t->name()) : "");
        serial<std::string>::put(w, what);
    }

    static std::exception_ptr get(reader &r, int node)
    {
        const auto code = r.raw<uint8_t>();
        std::string type = serial<std::string>::get(r);
        const std::string what = serial<std::string>::get(r);
        std::exception_ptr p;
        ((code == place<E>() ? (void)(p = std::make_exception_ptr(remote<E>(what, node, type))) : (void)0), ...);
        return p ? p : std::make_exception_ptr(remote_error(what, node, type));
    }

private:
    template <class T> static constexpr int place()
    {
        int i = 0, at = 0;
        ((++i, std::is_same_v<T, E> ? (void)(at = i) : (void)0), ...);
        return at;
    }
};

using exceptions =
    exception_list<std::invalid_argument, std::domain_error, std::length_error, std::out_of_range, std::logic_error,
                   std::range_error, std::overflow_error, std::underflow_error, std::runtime_error, std::bad_alloc>;

} // namespace detail
} // namespace mttl

#endif
