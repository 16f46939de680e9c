// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace superstep {

/// Eight bytes of a text, asked in one word: most of a text is nothing that a parser stops at.
class eight_bytes {
public:
  explicit eight_bytes(const char* begin) noexcept { std::memcpy(&word_, begin, sizeof word_); }

  [[nodiscard]] bool has(char c) const noexcept {
    return has_below(word_ ^ (ones * static_cast<unsigned char>(c)), 1);
  }
  [[nodiscard]] bool has_control() const noexcept { return has_below(word_, 0x20); }
  [[nodiscard]] bool is_printable_ascii() const noexcept {
    return ((word_ | (word_ + ones)) & highs) == 0 && !has_control();
  }

private:
  static constexpr auto ones = std::uint64_t{0x0101010101010101};
  static constexpr auto highs = ones << 7U;
  /// Of bytes below 0x80 exactly those borrow that are below `n`.
  static bool has_below(std::uint64_t word, std::uint64_t n) noexcept {
    return ((word - ones * n) & ~word & highs) != 0;
  }

  std::uint64_t word_ = 0;
};

} // namespace superstep
