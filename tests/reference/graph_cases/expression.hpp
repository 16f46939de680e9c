// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace superstep::graph_cases {

/// The variables that expressions of a recorded case can read.
struct scope {
  const json::value* input = nullptr;    ///< input of the node, or the state that a branch sees
  const json::object* context = nullptr; ///< context of the call
  std::uint32_t attempt = 1;
  std::int64_t count = 0; ///< number of starts of the program so far
  std::map<std::string, json::value, std::less<>> locals;
};

/// Evaluates an expression: a constant, or a list of an operator and its arguments. An argument of
/// the wrong type counts as 0 or as an empty list. Throws std::invalid_argument if the list does
/// not start with a known operator.
[[nodiscard]] json::value evaluate(const json::value& expression, scope& in);

/// Whether a value is true; null, false, 0, "", [] and {} are false.
[[nodiscard]] bool is_true(const json::value&) noexcept;
/// Returns text unchanged, and every other value as canonical JSON.
[[nodiscard]] std::string as_text(const json::value&);

/// Returns a member of an object, or null if it is missing.
[[nodiscard]] const json::value& member(const json::object&, std::string_view name);
[[nodiscard]] std::string text_member(const json::object&, std::string_view name);

} // namespace superstep::graph_cases
