// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// What read_json() takes for JSON.
struct json_dialect {
  bool relaxed = false;    ///< comments, words, single quotes, trailing commas; no key twice
  bool keep_proto = false; ///< a member named `__proto__` is kept, for callers that refuse it
};

[[nodiscard]] result<json::value> read_json(std::string_view text, json_dialect dialect);

} // namespace superstep
