// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string_view>

namespace superstep {

/// Bounds of one document: aliases make much of little.
struct yaml_limits {
  std::size_t values_max = 100'000; ///< scalars, lists and mappings, those of aliases counted again
  std::size_t depth_max = 100;
  std::size_t bytes_max = 1024 * 1024; ///< of the text, and of all scalars together
};

/// One document as data, by the core schema of YAML 1.2: yes, no, on, off and dates are texts. Keys
/// become texts. Refuses a key that stands twice, tabs as indentation, and a second document.
/// null: there is no document.
[[nodiscard]] result<json::value> read_yaml(std::string_view text, yaml_limits limits = {});
/// The same by the parser of all of YAML alone, without the short way for plain texts.
[[nodiscard]] result<json::value> read_any_yaml(std::string_view text, yaml_limits limits = {});

/// What a plain scalar says: null, true, false, a number (infinite: null) or itself.
[[nodiscard]] json::value plain_scalar(std::string_view text);

} // namespace superstep
