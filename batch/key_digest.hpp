// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace superstep::detail {

/// A 16-byte digest of a row key. It keeps sets of millions of keys small. The probability of a
/// collision among 10^6 keys is about 2^-90, so collisions are not handled.
struct key_digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const key_digest&, const key_digest&) = default;
  friend std::size_t hash_value(const key_digest& key) noexcept {
    return static_cast<std::size_t>(key.low ^ (key.high * 0x9E3779B97F4A7C15ULL));
  }
};

/// Returns the digest of a key, computed with the 128-bit hash FNV-1a.
[[nodiscard]] inline key_digest digest_of(std::string_view key) noexcept {
  __extension__ using wide = unsigned __int128;
  constexpr auto prime = (wide{1} << 88U) | 0x13BU;
  auto hash = (wide{0x6C62272E07BB0142ULL} << 64U) | 0x62B821756295C58DULL;
  for (auto c : key)
    hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return {static_cast<std::uint64_t>(hash), static_cast<std::uint64_t>(hash >> 64U)};
}

} // namespace superstep::detail
