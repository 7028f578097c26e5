/*
 * A double-ended queue in one growing array: no allocation once it has found
 * its size, none at all while it has never been used.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_RING_HPP
#define UDP_CORE_RING_HPP

#include <cstddef>
#include <memory>
#include <utility>

namespace udp {

template <class T> class ring {
public:
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T &operator[](size_t i) { return at_[(first_ + i) & (capacity_ - 1)]; }
    const T &operator[](size_t i) const { return at_[(first_ + i) & (capacity_ - 1)]; }
    T &front() { return (*this)[0]; }
    T &back() { return (*this)[size_ - 1]; }
    void push_back(T v)
    {
        if (size_ == capacity_)
            grow();
        (*this)[size_++] = std::move(v);
    }
    void pop_front()
    {
        front() = T();
        first_ = (first_ + 1) & (capacity_ - 1);
        --size_;
    }
    void clear()
    {
        while (!empty())
            pop_front();
    }
    /** Gives the memory back; for a peer that has been silent for long. */
    void release()
    {
        at_.reset();
        first_ = size_ = capacity_ = 0;
    }
    size_t memory_bytes() const { return capacity_ * sizeof(T); }

private:
    void grow()
    {
        const size_t wider = capacity_ ? 2 * capacity_ : 16;
        auto to = std::make_unique<T[]>(wider);
        for (size_t i = 0; i < size_; ++i)
            to[i] = std::move((*this)[i]);
        at_ = std::move(to);
        first_ = 0;
        capacity_ = wider;
    }
    std::unique_ptr<T[]> at_;
    size_t first_ = 0, size_ = 0, capacity_ = 0;
};

} // namespace udp

#endif
