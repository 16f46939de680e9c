// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/detail/stored_value.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/update.hpp>

#include <boost/mp11/algorithm.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// Writes to fields of a described state by name.
namespace superstep::detail {

/// Throws graph_error{invalid_update}: the field cannot be written, for the reason `why`.
[[noreturn]] void throw_bad_field(std::string_view name, std::string_view why);

/// Returns a write to the field with this name. Throws graph_error{invalid_update} if there is no
/// such field, or the value does not fit it; see named_command::field_write for the value.
template <class State>
write write_of_field(std::string_view name, const value& given) {
  auto out = std::optional<write>{};
  auto fault = std::string{"the state has no field of this name"};
  auto index = std::uint32_t{0};
  boost::mp11::mp_for_each<fields_of<State>>([&](auto field) {
    using type = std::remove_cvref_t<decltype(std::declval<State&>().*field.pointer)>;
    if (name == field.name) {
      if (given.holds<type>()) {
        out = write{index, false, value{given.as<type>()}};
      } else if constexpr (storable<type>) {
        auto into = type{};
        const auto* form = given.get_if<json::value>();
        if (form == nullptr)
          fault = "the value does not have the field's type";
        else if (auto read = read_stored(*form, into, std::string{name}))
          out = write{index, false, value{std::move(into)}};
        else
          fault = read.error().text;
      }
    }
    ++index;
  });
  if (!out)
    throw_bad_field(name, fault);
  return *std::move(out);
}

/// Adds the command that a subgraph returned to its parent, a graph over State, to the output of
/// the subgraph's node. Throws graph_error if the command is for another state type, or names
/// fields or nodes that the parent does not have.
template <class State>
void add_parent_command(const value& given, const program& table, const std::string& child,
                        node_output& out) {
  if (given.holds<parent_command<State>>()) {
    auto typed = given.as<parent_command<State>>();
    into_output(command<State>{std::move(typed.update), std::move(typed.go_to)}, table, out);
    return;
  }
  if (!given.holds<named_command>())
    throw_wrong_parent(table, child);
  const auto& named = given.as<named_command>();
  for (const auto& one : named.update)
    out.writes.push_back(write_of_field<State>(one.field, one.content));
  for (const auto& node : named.go_to)
    table.go_to(out, node);
}

} // namespace superstep::detail
