// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>

#include <re2/re2.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace superstep::models {

/// The captures of a match: the whole match and its groups. A group that did not match is empty.
using captures = std::array<std::string_view, 10>;

/// A value in `args` as the file has it. Its texts may contain \0 to \9, which captures replace.
struct script_value;
struct script_entry;
using script_list = std::vector<script_value>;
using script_map = std::vector<script_entry>;
struct script_text {
  std::string text;
  bool is_quoted = false; ///< quoted texts are not converted to numbers or keywords
};
struct script_value {
  std::variant<script_text, script_list, script_map> of;
};
struct script_entry {
  std::string name;
  script_value value;
};

/// A tool call in the answer of a rule.
struct script_call {
  std::string name;
  script_map args;
  /// Makes one call for each match; null makes a single call.
  std::shared_ptr<const re2::RE2> for_each;
};

/// The answer of a rule or of the default.
struct script_answer {
  std::string text;
  std::vector<script_call> calls;
  std::optional<token_usage> usage;
};

/// A rule: its conditions and its answer. A condition that is not set always holds.
struct script_rule {
  std::optional<message_type> type;
  std::optional<std::uint32_t> turn;
  std::optional<std::string> tool;
  std::shared_ptr<const re2::RE2> match; ///< null matches any text
  script_answer answer;

  /// Returns the captures if all conditions hold, otherwise nullopt. The captures refer to `text`.
  /// @param number number of the turn, from 0
  [[nodiscard]] std::optional<captures> fits(const message& last, std::string_view text,
                                             std::uint32_t number) const;
};

/// The distribution of answer times. The time for writing the text is added to it.
struct script_latency {
  enum class shape : std::uint8_t { fixed, uniform, lognormal };
  shape kind = shape::fixed;
  double low_ms = 0;  ///< fixed: the value; uniform: the minimum; lognormal: the median
  double high_ms = 0; ///< uniform and lognormal: the maximum
  double sigma = 0;
};

/// The content of a script file.
struct script {
  std::uint64_t seed = 0;
  script_latency latency;
  double tokens_per_second = 0; ///< 0: writing the text takes no time
  std::vector<std::pair<model_errc, double>> faults;
  std::vector<script_rule> rules;
  std::optional<script_answer> default_answer;
};

/// Replaces \0 to \9 by captures, and \\ by a backslash.
[[nodiscard]] std::string substitute(std::string_view text, const captures& with);
[[nodiscard]] json::object substitute(const script_map& args, const captures& with);

/// Returns the captures of all matches in the text, at most `places_max`.
[[nodiscard]] std::vector<captures> find_all(const re2::RE2& pattern, std::string_view text,
                                             std::size_t places_max);

/// Returns the time for an answer whose text has `text_bytes` bytes. `random` are two numbers in
/// [0, 1).
[[nodiscard]] std::chrono::nanoseconds answer_time(const script& from, std::size_t text_bytes,
                                                   std::pair<double, double> random);

} // namespace superstep::models
