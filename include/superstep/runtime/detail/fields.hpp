// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace superstep {

template <auto Member, class Rule>
struct by;
template <class... Rules>
struct reducers;

namespace detail {

template <auto Member>
struct field;
template <class State, class T, T State::*Member>
struct field<Member> {
  using state = State;
  using type = T;
};

template <class State>
using fields_of = boost::describe::describe_members<State, boost::describe::mod_public>;

template <class State>
concept described = boost::describe::has_describe_members<State>::value;

template <auto A, auto B>
constexpr bool same_member() {
  if constexpr (std::is_same_v<decltype(A), decltype(B)>)
    return A == B;
  else
    return false;
}

/// Returns the position of a field in its struct's description, which is the number of its channel.
template <auto Member>
consteval std::uint32_t field_index() {
  using state = typename field<Member>::state;
  static_assert(described<state>,
                "describe the state: BOOST_DESCRIBE_STRUCT(your_state, (), (field, …))");
  auto index = std::uint32_t{0};
  auto found = ~std::uint32_t{0};
  boost::mp11::mp_for_each<fields_of<state>>([&](auto d) {
    if (same_member<decltype(d)::pointer, Member>())
      found = index;
    ++index;
  });
  return found == ~std::uint32_t{0} ? throw "describe the field: add it to BOOST_DESCRIBE_STRUCT"
                                    : found;
}

template <class State>
concept has_rules = requires { typename State::reducers; };

/// The `reducers` list of a state; empty if it has none.
template <class State>
struct rules_of {
  using type = superstep::reducers<>;
};
template <has_rules State>
struct rules_of<State> {
  using type = typename State::reducers;
};

/// The rule that the `reducers` list of a state has for a field; last_value_rule if it has none.
template <auto Member, class Rules>
struct rule_for {
  using type = last_value_rule;
};
template <auto Member, auto M, class Rule, class... Rest>
struct rule_for<Member, superstep::reducers<by<M, Rule>, Rest...>> {
  using type = typename std::conditional_t<same_member<Member, M>(), std::type_identity<Rule>,
                                           rule_for<Member, superstep::reducers<Rest...>>>::type;
};

/// Whether all described fields are members of the struct itself. Inherited fields cannot be
/// channels, because a pointer to such a field names its base class.
template <class State>
consteval bool has_own_fields_only() {
  using all = boost::describe::describe_members<State, boost::describe::mod_public |
                                                           boost::describe::mod_inherited>;
  auto found = true;
  boost::mp11::mp_for_each<all>([&](auto d) {
    found = found && std::is_same_v<typename field<decltype(d)::pointer>::state, State>;
  });
  return found;
}

/// Fails to compile if a state or a projection inherits fields.
template <class State>
consteval void check_fields() {
  static_assert(has_own_fields_only<State>(),
                "a state or projection cannot inherit fields: declare all fields in the struct "
                "itself, or move those of the base class into a member");
}

/// Whether a pointer to a member names a field in the description of a state.
template <class State, auto Member>
consteval bool is_field_of() {
  auto found = false;
  boost::mp11::mp_for_each<fields_of<State>>(
      [&](auto d) { found = found || same_member<decltype(d)::pointer, Member>(); });
  return found;
}

template <auto Member, auto... Members>
consteval bool is_listed_once() {
  return (int{same_member<Member, Members>()} + ...) == 1;
}

/// Fails to compile if a rule would have no effect.
template <class State, auto... Members, class... Rules>
consteval void check_rules(std::type_identity<superstep::reducers<by<Members, Rules>...>>) {
  static_assert((is_field_of<State, Members>() && ...),
                "`reducers` has a rule for a field that the state does not describe: use "
                "by<&your_state::field, rule>, and add the field to BOOST_DESCRIBE_STRUCT");
  static_assert((is_listed_once<Members, Members...>() && ...),
                "`reducers` has two rules for a field: remove one of them");
}

template <class T>
constexpr bool is_vector = false;
template <class Item>
constexpr bool is_vector<std::vector<Item>> = true;

/// Creates the channel of a field.
/// @tparam Rule a rule of channels/kinds.hpp, or a reducer
template <class Place, class Rule>
std::unique_ptr<const channel> make_channel(std::string name, Place place) {
  using T = typename Place::value_type;
  if constexpr (std::is_same_v<Rule, last_value_rule>) {
    return make_unique_as<const channel, last_value<Place, T>>(std::move(name), place);
  } else if constexpr (std::is_same_v<Rule, ephemeral_rule>) {
    return make_unique_as<const channel, ephemeral_value<Place, T>>(std::move(name), place);
  } else if constexpr (std::is_same_v<Rule, any_value_rule>) {
    return make_unique_as<const channel, ephemeral_value<Place, T>>(std::move(name), place, false);
  } else if constexpr (std::is_same_v<Rule, untracked_rule>) {
    return make_unique_as<const channel, untracked_value<Place, T>>(std::move(name), place);
  } else if constexpr (std::is_same_v<Rule, topic_rule> ||
                       std::is_same_v<Rule, accumulating_topic_rule>) {
    static_assert(is_vector<T>, "a topic is a field of the type std::vector");
    return make_unique_as<const channel, topic<Place, typename T::value_type>>(
        std::move(name), place, std::is_same_v<Rule, accumulating_topic_rule>);
  } else {
    static_assert(reducer_for<Rule, T>,
                  "a reducer must be callable as void(T& into, T&& more), as void(T& into, T&& "
                  "more, id_source&) or as T(const T&, const T&)");
    return make_unique_as<const channel, binary_operator_aggregate<Place, T, Rule>>(std::move(name),
                                                                                    place);
  }
}

/// Adds the channels of all fields of a state to the definition of a graph.
template <class State, class Builder>
void add_channels_of(Builder& into) {
  static_assert(
      std::semiregular<State>,
      "a state must be default-constructible, copyable and assignable: hold an object that "
      "is not, such as a std::unique_ptr, in a std::shared_ptr");
  using rules = typename rules_of<State>::type;
  check_fields<State>();
  check_rules<State>(std::type_identity<rules>{});
  boost::mp11::mp_for_each<fields_of<State>>([&into](auto d) {
    constexpr auto member = decltype(d)::pointer;
    using rule = typename rule_for<member, rules>::type;
    into.add_channel(make_channel<field_place<member>, rule>(d.name, {}));
  });
}

} // namespace detail
} // namespace superstep
