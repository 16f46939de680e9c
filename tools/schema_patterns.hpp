// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace re2 {
class RE2;
} // namespace re2

namespace superstep::detail {

/// Compiled patterns, keyed by their text. RE2 matches in linear time. std::regex recurses for each
/// character and may take exponential time.
using pattern_table = std::unordered_map<std::string, std::unique_ptr<const re2::RE2>>;

/// Compiles a pattern of a schema (ECMA-262). Converts \uXXXX and (?<name>…) to RE2's syntax.
/// Returns an error for look-around, back references and repetitions of more than 1,000.
[[nodiscard]] result<std::unique_ptr<const re2::RE2>> compile_pattern(std::string_view pattern);

/// Whether the pattern matches a part of the text.
[[nodiscard]] bool matches(const re2::RE2& pattern, std::string_view text);

/// Checks the limits of a schema, and compiles the patterns in `pattern` and `patternProperties`
/// into `into`. Returns the first error; nullopt if there is none.
[[nodiscard]] std::optional<argument_fault> read_patterns(const json::object& schema,
                                                          pattern_table& into);

} // namespace superstep::detail
