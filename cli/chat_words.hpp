// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/tools/human_review.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// What people type in `superstep chat`, and how what they read is made of texts of others.
namespace superstep::cli {

/// One line at the prompt.
struct typed_line {
  enum class kind : std::uint8_t { nothing, words, history, help, resume, quit, unknown };
  kind what = kind::nothing;
  std::string text{}; ///< words: what is said; unknown: the command that there is not
};
/// A line that begins with a slash is a command; with two, words that begin with one.
[[nodiscard]] typed_line read_typed(std::string_view line);

/// The answer to a review: `accept`, `edit {JSON}`, `respond TEXT` or `ignore`, or their first
/// letters; `yes` and `no` accept and ignore. An error for what is none of these, and for what the
/// review does not allow.
[[nodiscard]] result<human_response> read_review(std::string_view line,
                                                 const human_interrupt& asked);
/// What may be answered, as it is typed.
[[nodiscard]] std::string choices_of(const human_interrupt_config& config);

/// Whether a line may be said: what is no UTF-8 could not be read from where threads are kept.
[[nodiscard]] bool is_utf8(std::string_view line);

/// Returns a text as visible_text() shows it, in one line of at most so many bytes; `…` ends what
/// was cut. Never cuts a character.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes_max);

} // namespace superstep::cli
