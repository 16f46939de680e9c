// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/tools/human_review.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Parsing of what users type in `superstep chat`, and texts that they read.
namespace superstep::cli {

/// One parsed line of the prompt.
struct typed_line {
  enum class kind : std::uint8_t { nothing, words, history, help, resume, quit, unknown };
  kind what = kind::nothing;
  std::string text{}; ///< words: the message; unknown: the unknown command
};
/// Parses a line. It is a command if it begins with a slash; two slashes begin a message with one.
[[nodiscard]] typed_line read_typed(std::string_view line);

/// Parses the answer to a review: `accept`, `edit {JSON}`, `respond TEXT` or `ignore`, or their
/// first letters; `yes` and `no` accept and ignore. An error for anything else, and for an answer
/// that the review does not allow.
[[nodiscard]] result<human_response> read_review(std::string_view line,
                                                 const human_interrupt& asked);
/// Returns the allowed answers as they are typed.
[[nodiscard]] std::string choices_of(const human_interrupt_config& config);

/// Whether a line is valid UTF-8. Other lines could not be saved.
[[nodiscard]] bool is_utf8(std::string_view line);

/// Returns a text as visible_text() shows it, on one line of at most `bytes_max` bytes; `…` marks a
/// cut. Never cuts within a character.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes_max);

} // namespace superstep::cli
