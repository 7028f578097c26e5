/* SPDX-License-Identifier: BSD-3-Clause */
#include "seal.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <new>
#include <vector>

namespace udp {
namespace {

void put(std::vector<uint8_t> &to, uint64_t v)
{
    for (int i = 56; i >= 0; i -= 8)
        to.push_back(static_cast<uint8_t>(v >> i));
}

secret mac(std::span<const uint8_t> key, std::span<const uint8_t> text)
{
    secret r{};
    unsigned n = 0;
    static const uint8_t none = 0;
    if (!HMAC(EVP_sha256(), key.empty() ? &none : key.data(), static_cast<int>(key.size()), text.data(), text.size(), r.data(), &n))
        throw std::bad_alloc();
    return r;
}

secret labelled(const secret &key, const char *label, uint64_t from, uint64_t to)
{
    std::vector<uint8_t> text(label, label + std::strlen(label));
    put(text, from);
    put(text, to);
    return mac(key, text);
}

void nonce(uint8_t iv[12], uint64_t number)
{
    std::memset(iv, 0, 4);
    for (int i = 0; i < 8; ++i)
        iv[4 + i] = static_cast<uint8_t>(number >> (56 - 8 * i));
}

} // namespace

secret secret_make()
{
    secret s;
    if (RAND_bytes(s.data(), static_cast<int>(s.size())) != 1)
        throw std::bad_alloc();
    return s;
}

pair_keys pair_derive(const secret &mine, uint64_t my_id, const secret &theirs, uint64_t their_id,
                      std::span<const uint8_t> shared)
{
    const bool first = my_id < their_id || (my_id == their_id && mine <= theirs);
    const secret &a = first ? mine : theirs, &b = first ? theirs : mine;
    std::vector<uint8_t> both(a.begin(), a.end());
    both.insert(both.end(), b.begin(), b.end());
    put(both, first ? my_id : their_id);
    put(both, first ? their_id : my_id);
    const secret root = mac(shared, both);
    pair_keys k;
    // Two processes with one id (never in a job) would still have two directions.
    k.out = labelled(root, first ? "low to high" : "high to low", my_id, their_id);
    k.in = labelled(root, first ? "high to low" : "low to high", their_id, my_id);
    const secret t = labelled(root, "token", 0, 0);
    std::memcpy(&k.token, t.data(), sizeof k.token);
    return k;
}

uint64_t secret_name(std::span<const uint8_t> shared)
{
    static const uint8_t label[] = "name of the shared secret";
    const secret s = mac(shared, label);
    uint64_t r;
    std::memcpy(&r, s.data(), sizeof r);
    return r;
}

struct seal::cipher {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool encrypt = false;
    ~cipher() { EVP_CIPHER_CTX_free(context); }
};

seal::seal() = default;
seal::seal(const secret &key) : key_(key) {}
seal::seal(seal &&) noexcept = default;
seal &seal::operator=(seal &&) noexcept = default;
seal::~seal() = default;

bool seal::ready(bool encrypt)
{
    if (cipher_)
        return true;
    // Looked up once: each look-up takes a lock and a microsecond.
    static EVP_CIPHER *const aes = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    auto c = std::make_unique<cipher>();
    c->encrypt = encrypt;
    if (!aes || !c->context || EVP_CipherInit_ex(c->context, aes, nullptr, key_.data(), nullptr, encrypt) != 1)
        return false;
    cipher_ = std::move(c);
    return true;
}

void seal::rest() { cipher_.reset(); }

bool seal::close(std::span<uint8_t> datagram, const wire::header &h)
{
    uint8_t iv[12];
    nonce(iv, h.number);
    if (!ready(true))
        return false;
    EVP_CIPHER_CTX *const c = cipher_->context;
    const size_t clear = h.mode == wire::security::encrypt ? wire::header_bytes : datagram.size();
    const int rest = static_cast<int>(datagram.size() - clear);
    uint8_t *const at = datagram.data() + clear;
    int n = 0;
    return EVP_EncryptInit_ex(c, nullptr, nullptr, nullptr, iv) == 1
           && EVP_EncryptUpdate(c, nullptr, &n, datagram.data(), static_cast<int>(clear)) == 1
           && (rest == 0 || EVP_EncryptUpdate(c, at, &n, at, rest) == 1)
           && EVP_EncryptFinal_ex(c, at + rest, &n) == 1
           && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, wire::tag_bytes, at + rest) == 1;
}

bool seal::open(std::span<uint8_t> datagram, const wire::header &h)
{
    if (datagram.size() < wire::header_bytes + wire::tag_bytes)
        return false;
    uint8_t iv[12];
    nonce(iv, h.number);
    if (!ready(false))
        return false;
    EVP_CIPHER_CTX *const c = cipher_->context;
    const size_t text = datagram.size() - wire::tag_bytes;
    const size_t clear = h.mode == wire::security::encrypt ? wire::header_bytes : text;
    const int rest = static_cast<int>(text - clear);
    uint8_t *const at = datagram.data() + clear;
    int n = 0;
    return EVP_DecryptInit_ex(c, nullptr, nullptr, nullptr, iv) == 1
           && EVP_DecryptUpdate(c, nullptr, &n, datagram.data(), static_cast<int>(clear)) == 1
           && (rest == 0 || EVP_DecryptUpdate(c, at, &n, at, rest) == 1)
           && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, wire::tag_bytes, at + rest) == 1
           && EVP_DecryptFinal_ex(c, at + rest, &n) == 1;
}

} // namespace udp
