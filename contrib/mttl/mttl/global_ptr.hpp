/*
 * GlobalPtr<T>: a T, or an array of them, in the memory of some node.  It
 * travels as it is (16 bytes).  Small writes return at once, and may be held
 * for others to the same node (outbox.hpp); what this thread does to that node
 * later sees them there.  Larger ones return when they have arrived, reads when
 * the data is here.  Only types that are copied as bytes are
 * read and written; others are reached by invoking their member functions.
 *
 * Memory of one's own node is used at once, and written when a call returns;
 * only behind functions of this node that it has invoked and that have not been
 * started, the call travels and waits, so that order is the same everywhere.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_GLOBAL_PTR_HPP
#define MTTL_GLOBAL_PTR_HPP

#include "invoke.hpp"

#include <compare>

namespace [[gnu::visibility("default")]] mttl {

template <class T> class GlobalPtr;

namespace detail {
template <class T> struct is_global_ptr : std::false_type {};
template <class T> struct is_global_ptr<GlobalPtr<T>> : std::true_type {};

/** Calls a member function of an object of this node. */
template <auto M, class C> struct member_call {
    template <class... A> decltype(auto) operator()(GlobalPtr<C> at, A &&...a) const
    {
        return std::invoke(M, *at.local(), std::forward<A>(a)...);
    }
};

template <class C, class List> struct with_object;
template <class C, class... P> struct with_object<C, types<P...>> {
    using type = types<GlobalPtr<C>, P...>;
};
template <auto M, class C> struct parameters_of<member_call<M, C>> {
    using type = typename with_object<C, typename parameters_of<decltype(M)>::type>::type;
};
} // namespace detail

/** What *p is when p is elsewhere: reads when it is converted, writes when it is assigned to. */
template <class T> class global_ref {
public:
    explicit global_ref(GlobalPtr<T> p) : p_(p) {}
    global_ref(const global_ref &) = default;
    operator T() const { return p_.get(); }
    const global_ref &operator=(const T &value) const
    {
        p_.put(value);
        return *this;
    }
    const global_ref &operator=(const global_ref &o) const { return *this = static_cast<T>(o); }
    GlobalPtr<T> operator&() const { return p_; }

    /** **p, where p points to a global pointer: two reads, or a read and a write. */
    auto operator*() const
        requires detail::is_global_ptr<T>::value
    {
        return *static_cast<T>(*this);
    }

private:
    GlobalPtr<T> p_;
};

template <class T> class GlobalPtr {
public:
    using element = T;

    GlobalPtr() = default;
    /** An object of this node. */
    explicit GlobalPtr(T *p) : address_(reinterpret_cast<uint64_t>(p)), node_(p ? node::here().id() : -1) {}
    GlobalPtr(int node, uint64_t address) : address_(address), node_(node) {}

    int node() const { return node_; }
    uint64_t address() const { return address_; }
    explicit operator bool() const { return node_ >= 0; }
    bool is_local() const { return node_ == node::here().id(); }
    /** The pointer itself; throws where it means nothing. */
    T *local() const
    {
        if (!is_local())
            throw error("a pointer to node " + std::to_string(node_) + " was used as a local one on node " +
                        std::to_string(node::here().id()));
        return reinterpret_cast<T *>(address_);
    }

    global_ref<T> operator*() const { return global_ref<T>(*this); }
    global_ref<T> operator[](ptrdiff_t i) const { return *(*this + i); }
    T get() const
    {
        T t;
        nread(&t, 1);
        return t;
    }
    void put(const T &t) const { nwrite(&t, 1); }

    /** Copies `n` elements from there. */
    void nread(T *to, size_t n) const
    {
        check();
        if (at_once())
            std::memmove(to, local(), n * sizeof(T));
        else
            node::here().read(node_, address_, to, n * sizeof(T));
    }
    /** Copies `n` elements to there; `from` may be reused on return. */
    void nwrite(const T *from, size_t n) const
    {
        check();
        if (at_once())
            std::memmove(local(), from, n * sizeof(T));
        else if (is_local())
            node::here().write_async(node_, address_, from, n * sizeof(T)).get();
        else
            node::here().write(node_, address_, from, n * sizeof(T));
    }
    /** The same without waiting; `to` is filled, `from` may be reused, when the future is ready. */
    future<void> anread(T *to, size_t n) const
    {
        check();
        return at_once() ? here([&] { nread(to, n); }) : started([p = *this, to, n] { p.nread(to, n); });
    }
    future<void> anwrite(const T *from, size_t n) const
    {
        check();
        return at_once() ? here([&] { nwrite(from, n); }) : node::here().write_async(node_, address_, from, n * sizeof(T));
    }

    /** Calls a member function of the object there: p.invoke<&C::f>(arguments...). */
    template <auto M, class... A> auto invoke(A &&...a) const
    {
        return mttl::invoke(node_, detail::member_call<M, T>{}, *this, std::forward<A>(a)...);
    }
    template <auto M, class... A> auto ainvoke(A &&...a) const
    {
        return mttl::ainvoke(node_, detail::member_call<M, T>{}, *this, std::forward<A>(a)...);
    }
    template <auto M, class... A> void post(A &&...a) const
    {
        mttl::post(node_, detail::member_call<M, T>{}, *this, std::forward<A>(a)...);
    }

    GlobalPtr &operator+=(ptrdiff_t n)
    {
        address_ += static_cast<uint64_t>(n) * sizeof(T);
        return *this;
    }
    GlobalPtr &operator-=(ptrdiff_t n) { return *this += -n; }
    GlobalPtr &operator++() { return *this += 1; }
    GlobalPtr &operator--() { return *this -= 1; }
    GlobalPtr operator++(int)
    {
        GlobalPtr p = *this;
        ++*this;
        return p;
    }
    GlobalPtr operator--(int)
    {
        GlobalPtr p = *this;
        --*this;
        return p;
    }
    friend GlobalPtr operator+(GlobalPtr p, ptrdiff_t n) { return p += n; }
    friend GlobalPtr operator+(ptrdiff_t n, GlobalPtr p) { return p += n; }
    friend GlobalPtr operator-(GlobalPtr p, ptrdiff_t n) { return p -= n; }
    /** Elements between two pointers into one array; throws for different nodes. */
    friend ptrdiff_t operator-(GlobalPtr a, GlobalPtr b)
    {
        if (a.node_ != b.node_)
            throw error("the difference of pointers to different nodes");
        return static_cast<ptrdiff_t>(a.address_ - b.address_) / static_cast<ptrdiff_t>(sizeof(T));
    }
    friend bool operator==(const GlobalPtr &a, const GlobalPtr &b) { return a.node_ == b.node_ && a.address_ == b.address_; }
    friend std::strong_ordering operator<=>(const GlobalPtr &a, const GlobalPtr &b)
    {
        return a.node_ != b.node_ ? a.node_ <=> b.node_ : a.address_ <=> b.address_;
    }

private:
    void check() const
    {
        static_assert(detail::direct<T>,
                      "mttl: only what is copied as its bytes is read and written from elsewhere: invoke member functions");
        if (node_ < 0)
            throw error("a global pointer that points nowhere was used");
    }
    /** Whether the memory is this node's, and nothing that must come before is under way. */
    bool at_once() const { return is_local() && node::here().own_started(); }
    /** Done already, on one's own node. */
    template <class F> static future<void> here(F f)
    {
        promise<void> p;
        p.run(f);
        return p.get_future();
    }
    template <class F> static future<void> started(F f)
    {
        promise<void> p;
        future<void> result = p.get_future();
        node::here().threads().spawn_detached([f = std::move(f), p = std::move(p)]() mutable { p.run([&] { f(); }); });
        return result;
    }

    uint64_t address_ = 0;
    int node_ = -1;
    int unused_ = 0;        // 16 bytes, all of them defined
};

static_assert(detail::direct<GlobalPtr<int>> && sizeof(GlobalPtr<int>) == 16);

} // namespace mttl

#endif
