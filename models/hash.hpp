// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::models {

/// Returns the FNV-1a hash of a text. It is the same on every machine and in every release. It
/// identifies content, but is not a cryptographic hash.
[[nodiscard]] constexpr std::uint64_t hash(std::string_view text,
                                           std::uint64_t seed = 0xcbf29ce484222325) noexcept {
  for (const auto c : text)
    seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

/// Returns the hash as 16 hexadecimal digits.
[[nodiscard]] inline std::string hash_text(std::string_view text) {
  return fmt::format("{:016x}", hash(text));
}

/// Generates random numbers (splitmix64) that depend only on the key, `a` and `b`. The
/// distributions of <random> are not used, because they differ between standard libraries.
class seeded_random {
public:
  seeded_random(std::string_view key, std::uint64_t a, std::uint64_t b) noexcept
      : state_{hash(key) ^ (a * 0x9e3779b97f4a7c15) ^ (b * 0xc2b2ae3d27d4eb4f)} {}

  [[nodiscard]] std::uint64_t next() noexcept {
    auto z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, 1).
  [[nodiscard]] double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_;
};

} // namespace superstep::models
