/*
 * What may travel, and how it is written: trivially copyable types as their
 * bytes, standard containers and sums by their elements, own types by a
 * specialisation of mttl::serial.  All processes have the same byte order and
 * the same types; nothing describes itself.
 *
 * Nothing that means something in one process only is accepted: no pointers,
 * references, string_views, spans, and no closure with captures (it may hold a
 * reference, and its copy assignment, like that of anything that holds one, is
 * deleted: that is how it is recognised).  Pointers that an own trivially
 * copyable class hides cannot be seen; GlobalPtr is what travels.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_SERIAL_HPP
#define MTTL_SERIAL_HPP

#include "port.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

/** Bytes that arrived are not what they should be. */
struct wire_error : error {
    using error::error;
};

/** Writes into memory that is given, and into its own when that is full. */
class writer {
public:
    writer(std::byte *at, size_t room) : begin_(at), at_(at), end_(at + room) {}

    void bytes(const void *data, size_t n)
    {
        if (n > static_cast<size_t>(end_ - at_))
            grow(n);
        if (n)
            std::memcpy(at_, data, n);
        at_ += n;
    }
    template <class T> void raw(const T &t) { bytes(&t, sizeof t); }

    size_t size() const { return static_cast<size_t>(at_ - begin_); }
    /** Whether the memory given was too small. */
    bool spilled() const { return !own_.empty(); }
    std::vector<std::byte> take()
    {
        own_.resize(size());
        return std::move(own_);
    }

private:
    /** Refused here, before anything of the message has left. */
    void grow(size_t n)
    {
        const size_t used = size();
        if (n > port::nsend_bytes - used)
            throw error("one argument or result of more than 1 GiB");
        if (own_.empty())
            own_.assign(begin_, at_);
        own_.resize(2 * used + n);
        begin_ = own_.data();
        at_ = begin_ + used;
        end_ = begin_ + own_.size();
    }

    std::byte *begin_, *at_, *end_;
    std::vector<std::byte> own_;
};

/** Reads what a writer wrote; never beyond the end. */
class reader {
public:
    explicit reader(std::span<const std::byte> s) : at_(s.data()), left_(s.size()) {}

    void bytes(void *to, size_t n)
    {
        need(n);
        if (n)
            std::memcpy(to, at_, n);
        at_ += n;
        left_ -= n;
    }
    template <class T> T raw()
    {
        T t;
        bytes(&t, sizeof t);
        return t;
    }
    size_t left() const { return left_; }
    void need(size_t n) const
    {
        if (n > left_)
            throw wire_error("a message is too short: " + std::to_string(left_) + " bytes left, " + std::to_string(n) + " wanted");
    }
    void end() const
    {
        if (left_)
            throw wire_error("a message is " + std::to_string(left_) + " bytes too long");
    }

private:
    const std::byte *at_;
    size_t left_;
};

/** How T travels: `static void put(writer &, const T &)`, `static T get(reader &)`. */
template <class T> struct serial;

namespace detail {

template <class T> struct means_something_here_only : std::bool_constant<std::is_pointer_v<T> || std::is_member_pointer_v<T>> {};
template <class T> struct means_something_here_only<std::reference_wrapper<T>> : std::true_type {};
template <class C, class R> struct means_something_here_only<std::basic_string_view<C, R>> : std::true_type {};
template <class T, size_t N> struct means_something_here_only<std::span<T, N>> : std::true_type {};

// Standard sums and products are looked into, not copied as they are.
template <class T> struct looked_into : std::false_type {};
template <class T, size_t N> struct looked_into<std::array<T, N>> : std::true_type {};
template <class A, class B> struct looked_into<std::pair<A, B>> : std::true_type {};
template <class... T> struct looked_into<std::tuple<T...>> : std::true_type {};
template <class T> struct looked_into<std::optional<T>> : std::true_type {};
template <class... T> struct looked_into<std::variant<T...>> : std::true_type {};

template <class T>
concept direct = std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> && std::is_default_constructible_v<T> &&
                 !std::is_array_v<T> && !means_something_here_only<T>::value && !looked_into<T>::value;

} // namespace detail

template <class T>
concept serialisable = requires(writer &w, reader &r, const T &t) {
    serial<T>::put(w, t);
    { serial<T>::get(r) } -> std::convertible_to<T>;
};

template <detail::direct T> struct serial<T> {
    static void put(writer &w, const T &t)
    {
        if constexpr (!std::is_empty_v<T>)
            w.raw(t);
    }
    static T get(reader &r)
    {
        if constexpr (std::is_empty_v<T>)
            return T{};
        else
            return r.raw<T>();
    }
};

namespace detail {

template <class C>
concept sequence = requires(C c, typename C::value_type v) {
    c.size();
    c.begin();
    c.end();
    c.insert(c.end(), std::move(v));
};

// A map's value_type has a const key.
template <class T> struct element {
    using type = T;
};
template <class K, class V> struct element<std::pair<const K, V>> {
    using type = std::pair<K, V>;
};
template <class C> using element_t = typename element<typename C::value_type>::type;

template <class C>
concept block = requires(C c) {
    c.data();
    c.resize(size_t());
} && direct<typename C::value_type>;

} // namespace detail

/** vector, string, deque, list, set, map and their relatives. */
template <class C>
    requires(!detail::direct<C> && detail::sequence<C> && serialisable<detail::element_t<C>>)
struct serial<C> {
    static void put(writer &w, const C &c)
    {
        w.raw(static_cast<uint64_t>(c.size()));
        if constexpr (detail::block<C>) {
            w.bytes(c.data(), c.size() * sizeof(typename C::value_type));
        } else {
            for (const auto &e : c)
                serial<detail::element_t<C>>::put(w, e);
        }
    }
    static C get(reader &r)
    {
        const auto n = r.raw<uint64_t>();
        C c;
        if constexpr (detail::block<C>) {
            if (n > r.left() / sizeof(typename C::value_type))
                r.need(SIZE_MAX);
            c.resize(n);
            r.bytes(c.data(), n * sizeof(typename C::value_type));
        } else {
            for (uint64_t i = 0; i < n; ++i)
                c.insert(c.end(), serial<detail::element_t<C>>::get(r));
        }
        return c;
    }
};

template <serialisable T, size_t N> struct serial<std::array<T, N>> {
    static void put(writer &w, const std::array<T, N> &a)
    {
        for (const T &t : a)
            serial<T>::put(w, t);
    }
    static std::array<T, N> get(reader &r)
    {
        return [&]<size_t... I>(std::index_sequence<I...>) {
            return std::array<T, N>{((void)I, serial<T>::get(r))...};
        }(std::make_index_sequence<N>());
    }
};

template <serialisable A, serialisable B> struct serial<std::pair<A, B>> {
    static void put(writer &w, const std::pair<A, B> &p) { serial<A>::put(w, p.first), serial<B>::put(w, p.second); }
    static void put(writer &w, const std::pair<const A, B> &p) { serial<A>::put(w, p.first), serial<B>::put(w, p.second); }
    static std::pair<A, B> get(reader &r)
    {
        A a = serial<A>::get(r);
        return {std::move(a), serial<B>::get(r)};
    }
};

template <serialisable... T> struct serial<std::tuple<T...>> {
    static void put(writer &w, const std::tuple<T...> &t)
    {
        std::apply([&](const T &...e) { (serial<T>::put(w, e), ...); }, t);
    }
    // Braces: read from left to right.
    static std::tuple<T...> get([[maybe_unused]] reader &r) { return std::tuple<T...>{serial<T>::get(r)...}; }
};

template <serialisable T> struct serial<std::optional<T>> {
    static void put(writer &w, const std::optional<T> &o)
    {
        w.raw(static_cast<uint8_t>(o.has_value()));
        if (o)
            serial<T>::put(w, *o);
    }
    static std::optional<T> get(reader &r)
    {
        if (!r.raw<uint8_t>())
            return std::nullopt;
        return serial<T>::get(r);
    }
};

template <serialisable... T> struct serial<std::variant<T...>> {
    static void put(writer &w, const std::variant<T...> &v)
    {
        w.raw(static_cast<uint32_t>(v.index()));
        std::visit([&]<class E>(const E &e) { serial<E>::put(w, e); }, v);
    }
    static std::variant<T...> get(reader &r)
    {
        const auto index = r.raw<uint32_t>();
        std::optional<std::variant<T...>> v;
        [&]<size_t... I>(std::index_sequence<I...>) {
            ((index == I ? (void)v.emplace(std::in_place_index<I>, serial<T>::get(r)) : (void)0), ...);
        }(std::index_sequence_for<T...>());
        if (!v)
            throw wire_error("a variant with alternative " + std::to_string(index));
        return *std::move(v);
    }
};

} // namespace mttl

#endif
