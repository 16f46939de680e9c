// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/json_messages.hpp>
#include <superstep/channels/detail/stored_value.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/detail/named_fields.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/tools/tool.hpp>

#include <boost/mp11/algorithm.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Gives tools access to the fields of a described state, as JSON in the form that checkpoints use.
// Fields that checkpoints cannot store are not accessible.
namespace superstep::detail {

/// Converts a field to JSON, in the form that checkpoints use.
template <class T>
json::value field_json(const T& from) {
  auto text = std::string{};
  write_stored(text, from);
  return parse_json(text).value();
}

/// Returns the names of the fields of a described state that tools may read; if `readable` is
/// false, of the fields that they may not read.
template <class State>
std::vector<std::string> tool_fields(bool readable) {
  auto out = std::vector<std::string>{};
  boost::mp11::mp_for_each<fields_of<State>>([&](auto d) {
    using held = typename field<decltype(d)::pointer>::type;
    if (storable<held> == readable)
      out.emplace_back(d.name);
  });
  return out;
}

/// The state that the tools of one activation may read. Keeps a pointer to the state, which must
/// outlive the body that runs the calls.
template <class State>
class described_tool_state final : public tool_state {
public:
  explicit described_tool_state(const State& state) : state_{&state} {}

  [[nodiscard]] message_list messages(std::string_view key) const override {
    auto out = message_list{};
    each([&](std::string_view name, const auto& held) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, message_list>)
        if (name == key)
          out = held;
    });
    return out;
  }
  [[nodiscard]] std::optional<json::value> field(std::string_view wanted) const override {
    auto out = std::optional<json::value>{};
    each([&](std::string_view name, const auto& held) {
      if constexpr (storable<std::remove_cvref_t<decltype(held)>>)
        if (name == wanted)
          out = field_json(held);
    });
    return out;
  }
  [[nodiscard]] json::object whole() const override {
    auto out = json::object{};
    each([&](std::string_view name, const auto& held) {
      if constexpr (storable<std::remove_cvref_t<decltype(held)>>)
        out[name] = field_json(held);
    });
    return out;
  }

private:
  /// Calls `visit(name, value)` for each field.
  template <class Visit>
  void each(Visit visit) const {
    boost::mp11::mp_for_each<fields_of<State>>(
        [&](auto field) { visit(std::string_view{field.name}, state_->*field.pointer); });
  }

  const State* state_;
};

} // namespace superstep::detail
