// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/optional_box.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/runtime/destination.hpp>
#include <superstep/runtime/detail/exact.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/resume.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <concepts>
#include <span>
#include <utility>

namespace superstep {

/// One field and the value a node writes to it.
template <auto Member>
struct assignment {
  typename detail::field<Member>::type value;
  bool overwrite = false;
};

/// `set<&chat::calls>(1)`: writes a field. With a reducer the value is folded in. A number that the
/// field may not be able to hold does not compile: cast it.
template <auto Member>
[[nodiscard]] assignment<Member>
set(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), false};
}

/// Replaces the value of a field that has a reducer, instead of folding into it.
template <auto Member>
[[nodiscard]] assignment<Member>
overwrite(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), true};
}

/// What a node changes: some fields of the state. Empty: nothing.
template <class State>
class update {
public:
  update() = default;
  template <auto... Members>
    requires(std::same_as<typename detail::field<Members>::state, State> && ...)
  explicit(sizeof...(Members) == 0) update(assignment<Members>... values) {
    (add(std::move(values)), ...);
  }

  template <auto Member>
    requires std::same_as<typename detail::field<Member>::state, State>
  update& add(assignment<Member> a) {
    writes_.push_back({detail::field_index<Member>(), a.overwrite, value{std::move(a.value)}});
    return *this;
  }

  [[nodiscard]] auto& writes() noexcept { return writes_; }

private:
  boost::container::small_vector<write, 1> writes_;
};
template <auto M, auto... Ms>
update(assignment<M>, assignment<Ms>...) -> update<typename detail::field<M>::state>;

/// The value that the last of these writes to a field has; null if none writes the field. For the
/// result of a task (task_snapshot::result). @pre the writes are of a graph over the field's struct
template <auto Member>
[[nodiscard]] const typename detail::field<Member>::type*
written(std::span<const write> writes) noexcept {
  const auto is_of_field = [](const write& w) {
    return w.channel == detail::field_index<Member>();
  };
  const auto last = std::find_if(writes.rbegin(), writes.rend(), is_of_field);
  return last == writes.rend()
             ? nullptr
             : last->content.template get_if<typename detail::field<Member>::type>();
}

/// An update and where to go next.
///
/// As the result of a node: the node's own edges fire as well, and `resume` is not set. As the
/// input of a run: what is written to the thread before it continues, as LangGraph's Command.
/// graph_errc::unknown_node if the graph does not have a destination.
template <class State>
struct command {
  superstep::update<State> update{};
  destinations go_to{}; ///< nodes to activate, and Sends
  optional_box<superstep::resume> resume{};
};

/// An update of the parent graph's state and where that goes on: ends the graph whose node returns
/// it, at once, and becomes the result of the node which that graph is in its parent.
template <class Parent>
struct parent_command {
  superstep::update<Parent> update{};
  destinations go_to{};
};

/// A command to the parent graph by the names of its fields and nodes, from a node that does not know
/// the parent's state, such as a node of tools.
struct named_command {
  /// Writes the field of this name: with a value of the field's own type, or with a json::value in
  /// the form that checkpoints have.
  struct field_write {
    std::string field;
    value content;
  };
  std::vector<field_write> update{};
  std::vector<std::string> go_to{};
};

/// How one field combines the writes of a step; see channels/rules.hpp.
template <auto Member, class Rule>
struct by {};
/// The rules of a state, as its member type `reducers`. Fields without a rule keep the last value.
template <class... Rules>
struct reducers {};

} // namespace superstep
