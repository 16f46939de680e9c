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

/// A match of a pattern: the whole match and its groups. Groups that did not participate are empty.
using captures = std::array<std::string_view, 10>;

/// A value in `args` as written in the file; its texts may contain \0 to \9.
struct script_value;
struct script_entry;
using script_list = std::vector<script_value>;
using script_map = std::vector<script_entry>;
struct script_text {
  std::string text;
  bool is_quoted = false; ///< not converted to a number or keyword
};
struct script_value {
  std::variant<script_text, script_list, script_map> of;
};
struct script_entry {
  std::string name;
  script_value value;
};

/// A tool call that a rule makes.
struct script_call {
  std::string name;
  script_map args;
  std::shared_ptr<const re2::RE2> for_each; ///< one call per match; null: one call
};

/// The answer of a rule.
struct script_answer {
  std::string text;
  std::vector<script_call> calls;
  std::optional<token_usage> usage;
};

/// A rule: its conditions (unset ones always hold) and its answer.
struct script_rule {
  std::optional<message_type> type;
  std::optional<std::uint32_t> turn;
  std::optional<std::string> tool;
  std::shared_ptr<const re2::RE2> match; ///< null: any text
  script_answer answer;

  /// Returns the captures if the rule matches, pointing into `text`. `number` is the turn.
  [[nodiscard]] std::optional<captures> fits(const message& last, std::string_view text,
                                             std::uint32_t number) const;
};

/// The distribution of answer times, without the time for the text.
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
  double tokens_per_second = 0; ///< 0: text without delay
  std::vector<std::pair<model_errc, double>> faults;
  std::vector<script_rule> rules;
  std::optional<script_answer> default_answer;
};

/// Replaces \0 to \9 by captures and \\ by a backslash.
[[nodiscard]] std::string substitute(std::string_view text, const captures& with);
[[nodiscard]] json::object substitute(const script_map& args, const captures& with);

/// Returns the captures of all matches, at most `places_max`.
[[nodiscard]] std::vector<captures> find_all(const re2::RE2& pattern, std::string_view text,
                                             std::size_t places_max);

/// Returns the duration of an answer with this much text; `random` are two numbers in [0, 1).
[[nodiscard]] std::chrono::nanoseconds answer_time(const script& from, std::size_t text_bytes,
                                                   std::pair<double, double> random);

} // namespace superstep::models
