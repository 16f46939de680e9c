// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <simdjson.h>

namespace superstep {

/// Number of readable bytes that must follow a text so that simdjson can parse it without a copy.
inline constexpr auto json_padding = std::size_t{64};

/// Parses a JSON text like parse_json(). If `spare` is at least json_padding, the text is parsed in
/// place instead of being copied first, which matters for texts of megabytes.
///
/// @param spare number of readable bytes after the text, for example the unused capacity of a
/// string
[[nodiscard]] result<json::value> parse_padded_json(std::string_view text, std::size_t spare,
                                                    json_limits limits = {},
                                                    json::storage_ptr memory = {});

/// A parser that keeps its memory between texts, unless a text is large.
class tree_parser {
public:
  /// Parses a text like parse_padded_json(), but does not copy simdjson's tree. The tree is valid
  /// until the next call of parse() or trim().
  ///
  /// @return the error of parse_json(), except that a key may appear twice in an object
  [[nodiscard]] result<simdjson::dom::element> parse(std::string_view text, std::size_t spare,
                                                     json_limits limits = {});
  /// Frees the memory that a large text needed. Not necessary after an error.
  void trim();

private:
  simdjson::dom::parser parser_;
};

/// Copies simdjson's tree to a value. Returns false if an object has a key twice.
[[nodiscard]] bool to_value(const simdjson::dom::element& from, json::value& into);
/// Whether an object of the tree has a key twice.
[[nodiscard]] bool has_key_twice(const simdjson::dom::element& tree);
/// Returns the error of parse_json() for a text that it rejects.
[[nodiscard]] error json_fault(std::string_view text, json_limits limits = {});

} // namespace superstep
