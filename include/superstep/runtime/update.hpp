// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/channels/detail/value.hpp>
#include <superstep/runtime/detail/exact.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// The input that resumes an interrupted thread, as in LangGraph's `Command(resume=...)`.
///
///     engine.invoke(graph, resume("yes"), config);                  // one pending interrupt
///     engine.invoke(graph, resume({{first_id, "yes"}, {second_id, 250}}), config);
///     engine.invoke(graph, resume(), config);                       // continue without a value
///
/// The ids are those of run_result::interrupts. A value without an id answers the first body that
/// asks. With several pending interrupts it is refused (graph_errc::ambiguous_resume), and so is an
/// id that is not pending (graph_errc::unknown_interrupt).
class resume {
public:
  /// Continues where the thread stopped, without a value.
  resume() = default;
  /// Resumes the pending interrupt with this value.
  explicit resume(json::value value) : value_(std::move(value)) {}
  /// Resumes pending interrupts by their ids.
  resume(std::initializer_list<std::pair<std::string_view, json::value>> values) {
    for (const auto& [id, value] : values)
      by_id_.insert_or_assign(std::string{id}, value);
  }
  /// Resumes pending interrupts by their ids.
  explicit resume(std::map<std::string, json::value> values) : by_id_{std::move(values)} {}

  /// Ignores values for interrupts that are not pending, as LangGraph does, instead of failing.
  [[nodiscard]] resume&& ignoring_unknown_ids() && noexcept {
    ignores_unknown_ids_ = true;
    return std::move(*this);
  }

  /// The value without an id; empty if there is none.
  [[nodiscard]] const std::optional<json::value>& value() const noexcept { return value_; }
  /// The values by interrupt id.
  [[nodiscard]] const std::map<std::string, json::value>& by_id() const noexcept { return by_id_; }
  /// Whether values for interrupts that are not pending are ignored.
  [[nodiscard]] bool ignores_unknown_ids() const noexcept { return ignores_unknown_ids_; }

private:
  std::optional<json::value> value_;
  std::map<std::string, json::value> by_id_;
  bool ignores_unknown_ids_ = false;
};

/// The name of a node and the type of its input, declared once as a constant:
/// `constexpr node<chat> agent{"agent"};`. A node whose input is not the state is activated by
/// Sends only. The name is a view and must outlive the graph's construction.
template <class Input>
struct node {
  std::string_view name;

  constexpr node(std::string_view text) noexcept : name{text} {}
  constexpr node(const char* text) noexcept : name{text} {}
  node(const std::string&&) = delete; // the name would dangle
};

inline constexpr auto start = detail::start_node;
inline constexpr auto end = detail::end_node;

/// A node to activate, or a Send: a node with an input of its own (`Send` in langgraph/types.py).
/// Names are views: of node constants, or of text that outlives the call that uses the destination.
class destination {
public:
  destination(std::string_view name) noexcept : name_{name} {}
  destination(const char* name) noexcept : name_{name} {}
  destination(const std::string&&) = delete; // the name would dangle
  template <class Input>
  destination(node<Input> to) noexcept : name_{to.name} {}
  /// Creates a Send. The type of the payload is checked against the node's at compile time.
  template <class Input>
  destination(node<Input> to, detail::written_as<Input> input)
      : name_{to.name}, input_{detail::unwrap<Input>(std::move(input))} {}

  /// The name of the node.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Whether the destination has an input of its own.
  [[nodiscard]] bool is_send() const noexcept { return input_.has_value(); }
  /// Sets the timeout of each attempt of a Send, instead of its node's. @pre is_send(); the limit
  /// is positive and below 49 days
  [[nodiscard]] destination within(std::chrono::milliseconds limit) && {
    SUPERSTEP_ASSERT(is_send() && limit.count() > 0 && limit.count() < UINT32_MAX);
    timeout_ = std::chrono::duration_cast<send::milliseconds>(limit);
    return std::move(*this);
  }
  /// Adds the destination to the output of a node. Throws graph_error{unknown_node} if the graph
  /// has no such node.
  void add_to(node_output& out, const detail::program& table) && {
    if (!is_send()) {
      table.go_to(out, name_);
      return;
    }
    table.send_to(out, name_, std::move(input_));
    if (timeout_.count() > 0)
      out.sends.back().timeout = timeout_;
  }

private:
  std::string_view name_;
  value input_;
  send::milliseconds timeout_{0}; // 0: that of the node
};

using destinations = std::vector<destination>;

/// Returns one Send to a node for each item of a range, in the order of the range: the `map` of a
/// map-reduce.
template <class Input, std::ranges::input_range Items>
  requires std::convertible_to<std::ranges::range_reference_t<Items>, Input>
[[nodiscard]] destinations send_each(node<Input> to, Items&& items) {
  auto out = destinations{};
  if constexpr (std::ranges::sized_range<Items>)
    out.reserve(std::ranges::size(items));
  for (auto&& item : items)
    out.emplace_back(to, Input(std::forward<decltype(item)>(item)));
  return out;
}

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

/// Declares how a field combines the writes of a step; see channels/kinds.hpp.
template <auto Member, class Rule>
struct by {};
/// The rules of a state, as its member type `reducers`. Fields without a rule keep the last value.
template <class... Rules>
struct reducers {};

} // namespace superstep
