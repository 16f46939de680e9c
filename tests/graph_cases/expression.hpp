// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace superstep::graph_cases {

/// What the expressions of a recorded case may read.
struct scope {
  const json::value* input = nullptr;    ///< of the node, or the state that a branch sees
  const json::object* context = nullptr; ///< of the call
  std::uint32_t attempt = 1;
  std::int64_t count = 0; ///< how often the program has been started
  std::map<std::string, json::value, std::less<>> locals;
};

/// The value of an expression. None can fail: what has the wrong type counts as 0 or as an empty
/// list. The language is described with the recorded cases.
[[nodiscard]] json::value evaluate(const json::value& expression, scope& in);

/// False are null, false, 0, "", [] and {}.
[[nodiscard]] bool is_true(const json::value&) noexcept;
/// Text as it is, everything else as canonical JSON.
[[nodiscard]] std::string as_text(const json::value&);

/// A member that a well-formed case has, or null.
[[nodiscard]] const json::value& member(const json::object&, std::string_view name);
[[nodiscard]] std::string text_member(const json::object&, std::string_view name);

} // namespace superstep::graph_cases
