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

/// A field of the state and the value that is written to it.
template <auto Member>
struct assignment {
  typename detail::field<Member>::type value;
  bool overwrite = false;
};

/// Returns a write to a field: `set<&chat::calls>(1)`. If the field has a reducer, the value is
/// folded in. A number of a type that the field may not be able to hold does not compile: cast it.
template <auto Member>
[[nodiscard]] assignment<Member>
set(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), false};
}

/// Returns a write that replaces the value of a field with a reducer instead of folding into it.
template <auto Member>
[[nodiscard]] assignment<Member>
overwrite(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), true};
}

/// An update of some fields of the state. An empty one changes nothing.
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

  /// The writes of the update, in the order in which they were added.
  [[nodiscard]] auto& writes() noexcept { return writes_; }

private:
  boost::container::small_vector<write, 1> writes_;
};
template <auto M, auto... Ms>
update(assignment<M>, assignment<Ms>...) -> update<typename detail::field<M>::state>;

/// Returns the value of the last of these writes to a field; null if none writes it. For the result
/// of a task (task_snapshot::result). @pre the writes are of a graph over the field's struct
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

/// An update and the next destinations (`Command` in langgraph/types.py).
///
/// As the result of a node: the node's own edges fire as well, and `resume` must not be set. As the
/// input of a run: the update is written to the thread before it continues. A destination that the
/// graph does not have is graph_errc::unknown_node.
template <class State>
struct command {
  superstep::update<State> update{};
  destinations go_to{}; ///< nodes to activate, and Sends
  optional_box<superstep::resume> resume{};
};

/// A command to the parent graph: an update of the parent's state and its next destinations. The
/// graph whose node returns it ends at once. The command becomes the result of the node that this
/// graph is in its parent.
template <class Parent>
struct parent_command {
  superstep::update<Parent> update{};
  destinations go_to{};
};

/// A command to the parent graph that names fields and nodes as text. For nodes that do not know
/// the type of the parent's state, such as a node of tools.
struct named_command {
  /// A write to the field of this name. The value has the field's own type, or is a json::value in
  /// the form that checkpoints have.
  struct field_write {
    std::string field;
    value content;
  };
  std::vector<field_write> update{};
  std::vector<std::string> go_to{};
};

/// Declares how a field combines the writes of a step; see channels/rules.hpp.
template <auto Member, class Rule>
struct by {};
/// The rules of a state, as its member type `reducers`. Fields without a rule keep the last value.
template <class... Rules>
struct reducers {};

} // namespace superstep
