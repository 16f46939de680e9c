// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// Limits of one document. They are needed because aliases can expand a small text to a large
/// value.
struct yaml_limits {
  std::size_t values_max = 100'000;    ///< scalars, lists and mappings; each use of an alias counts
  std::size_t depth_max = 100;         ///< nesting of lists and mappings
  std::size_t bytes_max = 1024 * 1024; ///< of the text; also of all scalars, counting aliases
};

/// Parses one document by the core schema of YAML 1.2, in which yes, no, on, off and dates are
/// strings. Keys become strings.
/// @return the value, null for a text without a document; an error for invalid YAML, repeated keys,
/// tabs as indentation, several documents, or a document beyond the limits
[[nodiscard]] result<json::value> read_yaml(std::string_view text, yaml_limits limits = {});
/// Parses like read_yaml(), but always with yaml-cpp and without the fast path. For tests and for
/// texts that the fast path rejects.
[[nodiscard]] result<json::value> read_any_yaml(std::string_view text, yaml_limits limits = {});

/// Converts an unquoted scalar: null, true, false, a number, or else the text itself. Infinite
/// numbers and NaN become null, because JSON cannot represent them.
[[nodiscard]] json::value plain_scalar(std::string_view text);

/// The fast path of read_yaml(), about fifty times faster than yaml-cpp. Parses a mapping in the
/// form that models mostly write: keys without indentation, each followed by a text on the same
/// line, a literal block, or a list of texts.
/// @param values_max maximum number of keys and texts
/// @return nullopt for any other text, valid or not; read_any_yaml() must then parse it
[[nodiscard]] std::optional<json::object> read_plain_yaml(std::string_view text,
                                                          std::size_t values_max);

/// Formats a value as YAML in block style, with an indentation of two spaces and without a final
/// line end. A string is quoted only if it would not be parsed back unchanged without quotes.
[[nodiscard]] std::string write_yaml(const json::value& value);

} // namespace superstep
