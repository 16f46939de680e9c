// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/json_schema.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

/// A property of a tool's schema, with facts that are needed for every call.
struct parameter {
  std::string_view name;
  const json::value* schema = nullptr;
  schema::kind kind = schema::kind::none;
  bool is_plain_string = false;  ///< whether the type is string
  bool can_grow = false;         ///< whether coercion never changes a string for this property
  bool has_object_items = false; ///< whether it is a list of objects
  bool is_scalar = false;        ///< whether it is a scalar, optionally with an enum of strings
  const json::array* texts = nullptr; ///< members of the enum; null if any string matches
  std::unique_ptr<parameter> items;   ///< the items of a list of scalars; null otherwise
};

/// Facts of a tool's schema that are computed once instead of for every call. With them, most calls
/// need neither coerce() nor matches_schema(). Schemas with keywords that this class does not know
/// always use these functions. The schema must outlive the object.
class argument_shape {
public:
  explicit argument_shape(const json::value& schema);

  /// Returns the property with this name, or null if the schema has no such property.
  [[nodiscard]] const parameter* find(std::string_view name) const noexcept;
  /// Returns the index of a parameter that find() returned.
  [[nodiscard]] std::size_t index_of(const parameter& p) const noexcept {
    return static_cast<std::size_t>(&p - parameters_.data());
  }
  /// Whether arguments can be coerced one by one. False if a keyword of the schema relates several
  /// arguments, such as anyOf.
  [[nodiscard]] bool is_memberwise() const noexcept { return is_memberwise_; }
  /// Whether the arguments certainly match the schema, so that coerce() would not change them and
  /// matches_schema() would accept them. False if this is not known.
  [[nodiscard]] bool fits(const json::object& arguments) const noexcept;

private:
  std::vector<parameter> parameters_; // by name
  std::vector<std::string_view> required_;
  bool is_memberwise_ = false;
};

/// Whether the string certainly matches the schema of the property and coerce() would not change
/// it.
[[nodiscard]] bool takes_text(const parameter& p, std::string_view text) noexcept;

/// Coerces a string to a scalar property without the cost of coerce(). Nullopt if only coerce() can
/// determine the result.
[[nodiscard]] std::optional<json::value> bend_text(std::string_view text, const parameter& to);

/// The argument_shape of each tool, created when the tool is first called.
class argument_shapes {
public:
  explicit argument_shapes(const std::vector<protocol_tool>& tools) noexcept : tools_{tools} {}
  /// Returns the shape of a tool. @pre `tool` is an element of the list given to the constructor
  [[nodiscard]] const argument_shape& of(const protocol_tool& tool);

private:
  const std::vector<protocol_tool>& tools_;
  std::vector<std::unique_ptr<const argument_shape>> shapes_;
};

} // namespace superstep
