/*
 * VirtualPtr: a global pointer into a virtual node (virtual.hpp).  It names the
 * member, not an address, so it stays valid when the virtual node moves.
 *
 *   struct cell { std::vector<double> values; };
 *   mttl::VirtualPtr<&cell::values> p(cells, 17);
 *   p[3] = 2.5;
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_VIRTUAL_PTR_HPP
#define MTTL_VIRTUAL_PTR_HPP

#include "virtual.hpp"

namespace [[gnu::visibility("default")]] mttl {

namespace detail {
template <class M> struct member_of;
template <class C, class E> struct member_of<E C::*> {
    using object = C;
    using member = E;
};
template <class E> struct element_of {
    using type = E;
    static E *at(E &e) { return &e; }
    static size_t size(const E &) { return 1; }
};
template <class E, class A> struct element_of<std::vector<E, A>> {
    using type = E;
    static E *at(std::vector<E, A> &e) { return e.data(); }
    static size_t size(const std::vector<E, A> &e) { return e.size(); }
};
template <class E, size_t N> struct element_of<std::array<E, N>> {
    using type = E;
    static E *at(std::array<E, N> &e) { return e.data(); }
    static size_t size(const std::array<E, N> &) { return N; }
};
} // namespace detail

/** To the member M of a virtual node; to its elements if it is a vector or array. */
template <auto M> class VirtualPtr {
    using T = typename detail::member_of<decltype(M)>::object;
    using in = detail::element_of<typename detail::member_of<decltype(M)>::member>;

public:
    using element = typename in::type;
    static_assert(detail::direct<element>, "mttl: only what is copied as its bytes is read and written from elsewhere: invoke functions");

    VirtualPtr() = default;
    VirtualPtr(VirtualNodes<T> nodes, uint32_t v, int64_t index = 0) : nodes_(nodes), v_(v), index_(index) {}

    uint32_t virtual_node() const { return v_; }
    int64_t index() const { return index_; }

    /** Copies n elements from there; throws std::out_of_range where there are not so many. */
    void nread(element *to, size_t n) const
    {
        const std::vector<element> got = nodes_.invoke(v_, [](T &t, int64_t i, uint64_t k) {
            const element *p = range(t, i, k);
            return std::vector<element>(p, p + k);
        }, index_, static_cast<uint64_t>(n));
        if (got.size() != n)
            throw wire_error(std::to_string(got.size()) + " elements arrived, " + std::to_string(n) + " were asked for");
        std::copy_n(got.begin(), n, to);
    }
    /** Copies n elements to there; on return they are there. */
    void nwrite(const element *from, size_t n) const { anwrite(from, n).get(); }
    /** The same without waiting; `from` may be reused at once. */
    future<void> anwrite(const element *from, size_t n) const
    {
        return nodes_.ainvoke(v_, [](T &t, int64_t i, const std::vector<element> &data) {
            std::copy(data.begin(), data.end(), range(t, i, data.size()));
        }, index_, std::vector<element>(from, from + n));
    }
    element get() const
    {
        element e;
        nread(&e, 1);
        return e;
    }
    void put(const element &e) const { nwrite(&e, 1); }

    /** What *p is: reads when it is converted, writes when it is assigned to. */
    class reference {
    public:
        explicit reference(VirtualPtr p) : p_(p) {}
        operator element() const { return p_.get(); }
        const reference &operator=(const element &e) const
        {
            p_.put(e);
            return *this;
        }

    private:
        VirtualPtr p_;
    };
    reference operator*() const { return reference(*this); }
    reference operator[](int64_t i) const { return *(*this + i); }
    VirtualPtr &operator+=(int64_t n)
    {
        index_ += n;
        return *this;
    }
    VirtualPtr &operator-=(int64_t n) { return *this += -n; }
    friend VirtualPtr operator+(VirtualPtr p, int64_t n) { return p += n; }
    friend VirtualPtr operator-(VirtualPtr p, int64_t n) { return p -= n; }

private:
    static element *range(T &t, int64_t i, uint64_t n)
    {
        const uint64_t size = in::size(t.*M);
        if (i < 0 || static_cast<uint64_t>(i) > size || n > size - static_cast<uint64_t>(i))
            throw std::out_of_range("elements " + std::to_string(i) + " and " + std::to_string(n) + " from there, of " + std::to_string(size));
        return in::at(t.*M) + i;
    }

    VirtualNodes<T> nodes_;
    uint32_t v_ = 0;
    uint32_t unused_ = 0;       // 24 bytes, all of them defined
    int64_t index_ = 0;
};

} // namespace mttl

#endif
