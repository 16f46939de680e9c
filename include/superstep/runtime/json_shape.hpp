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

/// What a JSON value should look like, all the way down. Written as JSON:
///
///     "number"                            any, null, boolean, integer, number, string, list,
///     object "string?"                           or null; a member: or absent
///     ["integer"]                         a list of these
///     {"name": "string", "tags": ["string"], "age": "integer?"}
///
/// Members that the shape does not name are allowed.
class json_shape {
public:
  /// Fails with what is wrong and where: `$.tags[0]: …`. At most depth_max levels deep.
  [[nodiscard]] static result<json_shape> parse(const json::value& written);
  static constexpr int depth_max = 64;

  /// Where a value is of another shape, and how; nothing: it fits. `path` is what the text begins
  /// with, e.g. `cart` in `cart.items[2].price should be a number, got "x"`.
  [[nodiscard]] std::optional<std::string> misfit(const json::value&,
                                                  const std::string& path) const;

private:
  enum class kind : std::uint8_t { any, null, boolean, integer, number, string, list, object };

  static result<json_shape> parse(const json::value& written, const std::string& path, int depth);
  static result<json_shape> parse_word(std::string word, const std::string& path);
  [[nodiscard]] bool is_kind(const json::value&) const noexcept;

  kind kind_ = kind::any;
  bool may_be_null_ = false;
  std::vector<json_shape> items_; // of a list: one, or none when anything may be in it
  std::vector<std::pair<std::string, json_shape>> members_;
};

} // namespace superstep
