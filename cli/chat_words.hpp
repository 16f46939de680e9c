// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/tools/human_review.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Parses the lines that users type in `superstep chat`, and shortens texts for display.
namespace superstep::cli {

/// One parsed line of the prompt.
struct typed_line {
  enum class kind : std::uint8_t { nothing, words, history, help, resume, quit, unknown };
  kind what = kind::nothing;
  std::string text{}; ///< the message (`words`), or the unknown command (`unknown`)
};
/// Parses a line. A line that begins with a slash is a command. A line that begins with two slashes
/// is a message that begins with one slash.
[[nodiscard]] typed_line read_typed(std::string_view line);

/// Parses the answer to a review: `accept`, `edit {JSON}`, `respond TEXT` or `ignore`. The first
/// letter of each word is enough; `yes` and `no` mean `accept` and `ignore`. Fails for any other
/// text, and for an answer that the review does not allow.
[[nodiscard]] result<human_response> read_review(std::string_view line,
                                                 const human_interrupt& asked);
/// Returns a text with the allowed answers, such as `accept or ignore`.
[[nodiscard]] std::string choices_of(const human_interrupt_config& config);

} // namespace superstep::cli
