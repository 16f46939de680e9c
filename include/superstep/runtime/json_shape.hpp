// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// The expected structure of a JSON value, at all levels. Written as JSON:
///
///     "any" "null" "boolean" "integer" "number" "string" "list" "object"
///     "string?"                           or null; as a member: or absent
///     ["integer"]                         a list of integers
///     {"name": "string", "tags": ["string"], "age": "integer?"}
///
/// Members that the shape does not name are allowed.
class json_shape {
public:
  /// Parses a shape of at most depth_max levels. The error gives the place and the reason:
  /// `$.tags[0]: …`.
  [[nodiscard]] static result<json_shape> parse(const json::value& written);
  static constexpr int depth_max = 64;

  /// Returns where and how a value differs from the shape, or nothing if it matches.
  /// @param path the start of the returned text, e.g. `cart` in
  /// `cart.items[2].price should be a number, got "x"`
  [[nodiscard]] std::optional<std::string> misfit(const json::value&,
                                                  const std::string& path) const;

private:
  enum class kind : std::uint8_t { any, null, boolean, integer, number, string, list, object };

  static result<json_shape> parse(const json::value& written, const std::string& path, int depth);
  static result<json_shape> parse_word(std::string word, const std::string& path);
  [[nodiscard]] bool is_kind(const json::value&) const noexcept;

  kind kind_ = kind::any;
  bool may_be_null_ = false;
  std::vector<json_shape> items_; // of a list: one, or none if its items may have any shape
  std::vector<std::pair<std::string, json_shape>> members_;
};

} // namespace superstep
