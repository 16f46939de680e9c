// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// Bounds of one document. Aliases can make a small text a large value.
struct yaml_limits {
  std::size_t values_max = 100'000; ///< scalars, lists and mappings, those of aliases counted again
  std::size_t depth_max = 100;
  std::size_t bytes_max = 1024 * 1024; ///< of the text, and of all scalars together
};

/// Parses one document by the core schema of YAML 1.2: yes, no, on, off and dates are strings. Keys
/// become strings. Rejects repeated keys, tabs as indentation, and a second document. Null if the
/// text has no document.
[[nodiscard]] result<json::value> read_yaml(std::string_view text, yaml_limits limits = {});
/// As read_yaml(), but always with yaml-cpp, without the fast path for plain texts.
[[nodiscard]] result<json::value> read_any_yaml(std::string_view text, yaml_limits limits = {});

/// Returns the value of a plain scalar: null, true, false, a number (null if infinite) or the text.
[[nodiscard]] json::value plain_scalar(std::string_view text);

/// Parses a mapping in the plain form that models mostly write: unindented keys, with a text on the
/// same line, a literal block, or a list of texts below. About fifty times faster than yaml-cpp.
/// Nullopt if the text is not plain or not valid; read_any_yaml() decides then.
/// @param values_max the maximum number of keys and texts; nullopt if there are more
[[nodiscard]] std::optional<json::object> read_plain_yaml(std::string_view text,
                                                          std::size_t values_max);

/// Writes block style with an indentation of two spaces and without a final line end. Strings are
/// plain where they read back unchanged.
[[nodiscard]] std::string write_yaml(const json::value& value);

} // namespace superstep
