// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/json_schema.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

/// A property of a schema, with the facts that every call needs.
struct parameter {
  std::string_view name;
  const json::value* schema = nullptr;
  schema::kind kind = schema::kind::none;
  bool is_plain_string = false;       ///< a string
  bool can_grow = false;              ///< coercion never changes its strings
  bool has_closed_items = false;      ///< a list of objects without additional members
  bool is_scalar = false;             ///< the schema has a type and at most an enum of strings
  const json::array* texts = nullptr; ///< members of the enum; null if any string matches
  std::unique_ptr<parameter> items;   ///< of a list of scalars; null otherwise
};

/// The facts of a tool's schema, computed once instead of for every call. Only plain schemas are
/// understood; for others, coerce() and matches_schema() do the complete work. The schema must
/// outlive the object.
class argument_shape {
public:
  explicit argument_shape(const json::value& schema);

  /// Returns the property, or null if the schema has none with this name.
  [[nodiscard]] const parameter* find(std::string_view name) const noexcept;
  /// Returns the index of a parameter that find() returned.
  [[nodiscard]] std::size_t index_of(const parameter& p) const noexcept {
    return static_cast<std::size_t>(&p - parameters_.data());
  }
  /// Whether arguments can be coerced one by one, because no part of the schema relates them.
  [[nodiscard]] bool is_memberwise() const noexcept { return is_memberwise_; }
  /// Whether coerce() is known to leave the arguments unchanged and matches_schema() to accept
  /// them. False if unknown.
  [[nodiscard]] bool fits(const json::object& arguments) const noexcept;

private:
  std::vector<parameter> parameters_; // by name
  std::vector<std::string_view> required_;
  bool is_memberwise_ = false;
};

/// Whether coerce() is known to leave the string unchanged and the schema to accept it.
[[nodiscard]] bool takes_text(const parameter& p, std::string_view text) noexcept;

/// Returns the result of coerce() for a string of this parameter; nullopt if it is not known.
[[nodiscard]] std::optional<json::value> bend_text(std::string_view text, const parameter& to);

/// The shapes of the tools of one stream, each created with the first call of its tool.
class argument_shapes {
public:
  explicit argument_shapes(const std::vector<protocol_tool>& tools) noexcept : tools_{tools} {}
  /// @param tool one of them
  [[nodiscard]] const argument_shape& of(const protocol_tool& tool);

private:
  const std::vector<protocol_tool>& tools_;
  std::vector<std::unique_ptr<const argument_shape>> shapes_;
};

} // namespace superstep
