// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message.hpp>
#include <superstep/models/model_error.hpp>

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

/// What a pattern found: the whole match and its groups; empty where a group took no part.
using captures = std::array<std::string_view, 10>;

/// A value in `args` as it stands in the file. Texts may refer to captures.
struct script_value;
struct script_entry;
using script_list = std::vector<script_value>;
using script_map = std::vector<script_entry>;
struct script_text {
  std::string text;
  bool is_quoted = false; ///< stays text whatever it looks like
};
struct script_value {
  std::variant<script_text, script_list, script_map> of;
};
struct script_entry {
  std::string name;
  script_value value;
};

struct script_call {
  std::string name;
  script_map args;
  std::shared_ptr<const re2::RE2> for_each; ///< may be nullptr
};

/// What is answered.
struct script_answer {
  std::string text;
  std::vector<script_call> calls;
  std::optional<token_usage> usage;
};

/// When it is answered.
struct script_rule {
  std::optional<message_type> type;
  std::optional<std::uint32_t> turn;
  std::optional<std::string> tool;
  std::shared_ptr<const re2::RE2> match; ///< may be nullptr
  script_answer answer;

  /// The captures when it fits; they point into `text`.
  [[nodiscard]] std::optional<captures> fits(const message& last, std::string_view text,
                                             std::uint32_t number) const;
};

/// How long an answer takes, without its text.
struct script_latency {
  enum class shape : std::uint8_t { fixed, uniform, lognormal };
  shape kind = shape::fixed;
  double low_ms = 0;  ///< fixed: the time; lognormal: the median
  double high_ms = 0; ///< uniform and lognormal: the longest
  double sigma = 0;
};

/// A whole file.
struct script {
  std::uint64_t seed = 0;
  script_latency latency;
  double tokens_per_second = 0; ///< 0 = at once
  std::vector<std::pair<model_errc, double>> faults;
  std::vector<script_rule> rules;
  std::optional<script_answer> otherwise;
};

/// Replaces \0 to \9 and \\.
[[nodiscard]] std::string substitute(std::string_view text, const captures& with);
[[nodiscard]] json::object substitute(const script_map& args, const captures& with);

/// The captures of each place that the pattern finds, at most `places_max`.
[[nodiscard]] std::vector<captures> find_all(const re2::RE2& pattern, std::string_view text,
                                             std::size_t places_max);

/// Time of an answer with so much text; `random` are two numbers in [0, 1).
[[nodiscard]] std::chrono::nanoseconds answer_time(const script& from, std::size_t text_bytes,
                                                   std::pair<double, double> random);

} // namespace superstep::models
