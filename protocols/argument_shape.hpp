// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/coerce_schema.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

/// One property of a schema, with all that is asked of it for every call.
struct parameter {
  std::string_view name;
  const json::value* schema = nullptr;
  schema::kind kind = schema::kind::none;
  bool is_plain_string = false;       ///< a text
  bool can_grow = false;              ///< coercion leaves its texts as they are
  bool has_closed_items = false;      ///< a list of objects that take no other members
  bool is_scalar = false;             ///< its type, and at most a list of texts, is all it asks for
  const json::array* texts = nullptr; ///< the texts it may be; null: any
  std::unique_ptr<parameter> items;   ///< of a list of scalars; null: it is none
};

/// What a schema says of the arguments of a call, looked up once instead of for every call. Knows
/// plain schemas only; of others it says that it does not know, and the long way is gone.
/// The schema outlives it.
class argument_shape {
public:
  explicit argument_shape(const json::value& schema);

  /// Null: no property is called that.
  [[nodiscard]] const parameter* find(std::string_view name) const noexcept;
  /// The place of a parameter that find() gave.
  [[nodiscard]] std::size_t index_of(const parameter& p) const noexcept {
    return static_cast<std::size_t>(&p - parameters_.data());
  }
  /// Arguments may be bent one by one: no part of the schema asks for several of them at once.
  [[nodiscard]] bool is_memberwise() const noexcept { return is_memberwise_; }
  /// The arguments are what the schema asks for as they stand: coerce() leaves them alone, and
  /// matches_schema() takes them. False: not known.
  [[nodiscard]] bool fits(const json::object& arguments) const noexcept;

private:
  std::vector<parameter> parameters_; // by name
  std::vector<std::string_view> required_;
  bool is_memberwise_ = false;
};

/// A text that coerce() leaves alone and the schema takes. False: not known.
[[nodiscard]] bool takes_text(const parameter& p, std::string_view text) noexcept;

/// What coerce() makes of a text for this parameter, when that is plain; nothing: not known.
[[nodiscard]] std::optional<json::value> bend_text(std::string_view text, const parameter& to);

/// The shapes of the tools of one stream, made when they are first called.
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
