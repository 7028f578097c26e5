/*
 * Seals: AES-256-GCM by libcrypto.  Every pair of processes and direction has its
 * own key, so that the datagram's number alone is a nonce that never returns.
 *
 *   authenticate   header and frames in clear, a tag over both
 *   encrypt        frames encrypted, a tag over header and frames
 *
 * Next: endpoint.hpp; README.md (who can know the secrets).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_CORE_SEAL_HPP
#define UDP_CORE_SEAL_HPP

#include "wire.hpp"

#include <array>
#include <memory>
#include <span>

namespace udp {

using secret = std::array<uint8_t, 32>;

/** What a pair of processes shares. */
struct pair_keys {
    secret in{}, out{};
    uint32_t token = 0;
};

/** A secret of this process, from the system's generator. */
secret secret_make();

/** Both sides come to the same keys; `shared` is what only members of the job know (may be empty). */
pair_keys pair_derive(const secret &mine, uint64_t my_id, const secret &theirs, uint64_t their_id,
                      std::span<const uint8_t> shared);

/** Names a shared secret without telling it: two processes with different ones say so instead of being silent. */
uint64_t secret_name(std::span<const uint8_t> shared);

/** One direction; opens its cipher when first used. */
class seal {
public:
    seal();
    explicit seal(const secret &key);
    seal(seal &&) noexcept;
    seal &operator=(seal &&) noexcept;
    ~seal();

    /** `datagram` is header and frames; the tag is written behind it (room for tag_bytes). */
    bool close(std::span<uint8_t> datagram, const wire::header &h);
    /** `datagram` includes the tag; on success its frames are in clear. */
    bool open(std::span<uint8_t> datagram, const wire::header &h);
    /** Gives back the cipher's memory, more than a kilobyte; the next use makes it again. */
    void rest();

private:
    struct cipher;
    bool ready(bool encrypt);
    secret key_{};
    std::unique_ptr<cipher> cipher_;
};

} // namespace udp

#endif
