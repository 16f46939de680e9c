// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/channel.hpp>
#include <superstep/runtime/detail/fields.hpp>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace superstep {

namespace detail {

constexpr auto no_field = ~std::uint32_t{0};

/// Returns the position in State of the field with the name and type of D, or no_field.
template <class State, class D>
consteval std::uint32_t place_in() {
  auto index = std::uint32_t{0};
  auto found = no_field;
  boost::mp11::mp_for_each<fields_of<State>>([&](auto d) {
    using mine = std::remove_cvref_t<decltype(std::declval<State&>().*d.pointer)>;
    using of_part = typename field<D::pointer>::type;
    if (std::string_view{d.name} == D::name && std::is_same_v<mine, of_part>)
      found = index;
    ++index;
  });
  return found;
}

template <class Projection, class State>
consteval bool is_projection_of() {
  if constexpr (described<Projection> && described<State> && !std::is_same_v<Projection, State>) {
    auto all = true;
    boost::mp11::mp_for_each<fields_of<Projection>>(
        [&](auto d) { all = all && place_in<State, decltype(d)>() != no_field; });
    return all;
  } else {
    return false;
  }
}

} // namespace detail

/// A schema of a graph's input or output: a described struct whose fields are fields of the state,
/// by name and type. Fields of the state that are in neither schema are private to the nodes.
template <class Projection, class State>
concept projection_of = detail::is_projection_of<Projection, State>();

/// Returns the fields of a state that a projection has.
///
///     auto answer = project<reply>(engine.invoke(graph, question{"…"}));
template <class Projection, class State>
  requires projection_of<Projection, std::remove_cvref_t<State>>
[[nodiscard]] Projection project(State&& state) {
  using whole = std::remove_cvref_t<State>;
  auto out = Projection{};
  boost::mp11::mp_for_each<detail::fields_of<Projection>>([&](auto d) {
    constexpr auto place = detail::place_in<whole, decltype(d)>();
    constexpr auto from = boost::mp11::mp_at_c<detail::fields_of<whole>, place>::pointer;
    out.*d.pointer = std::forward<State>(state).*from;
  });
  return out;
}

} // namespace superstep
