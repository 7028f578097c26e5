/*
 * See card.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "card.hpp"

#include <cstring>

namespace udp {

namespace {

constexpr uint8_t card_version = 3;

class bytes_out {
public:
    explicit bytes_out(uint8_t *to) : to_(to) {}
    void put(const void *p, size_t n) { std::memcpy(to_ + n_, p, n), n_ += n; }
    template <class T> void value(T v)
    {
        for (size_t i = sizeof v; i-- > 0;)
            to_[n_++] = static_cast<uint8_t>(v >> 8 * i);
    }
    size_t size() const { return n_; }

private:
    uint8_t *to_;
    size_t n_ = 0;
};

class bytes_in {
public:
    bytes_in(const void *p, size_t n) : at_(static_cast<const uint8_t *>(p)), left_(n) {}
    bool get(void *p, size_t n)
    {
        if (n > left_)
            return false;
        std::memcpy(p, at_, n);
        at_ += n, left_ -= n;
        return true;
    }
    template <class T> bool value(T &v)
    {
        uint8_t b[sizeof v];
        if (!get(b, sizeof b))
            return false;
        v = 0;
        for (uint8_t x : b)
            v = static_cast<T>(static_cast<uint64_t>(v) << 8 | x);
        return true;
    }

private:
    const uint8_t *at_;
    size_t left_;
};

} // namespace

size_t card::write(void *to, std::span<const place> places) const
{
    bytes_out b(static_cast<uint8_t *>(to));
    b.value(uint8_t('u'));
    b.value(card_version);
    b.value(mode);
    b.value(security);
    b.value(unscheduled);
    b.value(first);
    b.value(id);
    b.value(host);
    b.value(shared_name);
    b.put(own.data(), own.size());
    b.value(port);
    b.value(static_cast<uint8_t>(places.size()));
    for (const place &p : places) {
        b.put(&p.ip, sizeof p.ip);
        b.value(p.prefix);
    }
    return b.size();
}

card::fault card::read(const void *from, size_t length, std::vector<place> &places)
{
    bytes_in b(from, length);
    uint8_t magic = 0, version = 0, count = 0;
    if (!b.value(magic) || !b.value(version) || magic != 'u' || version != card_version || !b.value(mode) || !b.value(security)
        || !b.value(unscheduled) || !b.value(first) || !b.value(id) || !b.value(host) || !b.value(shared_name) || !b.get(own.data(), own.size())
        || !b.value(port) || !b.value(count) || count == 0)
        return fault::version;
    places.resize(count);
    for (place &p : places)
        if (!b.get(&p.ip, sizeof p.ip) || !b.value(p.prefix))
            return fault::cut;
    return fault::none;
}

} // namespace udp
