// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/detail/short_list.hpp>
#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/channels/detail/value.hpp>
#include <superstep/runtime/detail/exact.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
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
///     engine.invoke(graph, resume(json::value{{"ok", true}}), config);  // the value is an object
///     engine.invoke(graph, resume(), config);                       // continue without a value
///
/// Two braces contain ids and their values, so write json::value if the value is an object. The ids
/// are those of run_result::interrupts. A value without an id resumes the first interrupt of the
/// interrupted task.
///
/// The run fails with graph_errc::empty_input if the thread has no checkpoint, and with
/// graph_errc::no_checkpointer if a value is passed to a run without a checkpointer. It fails
/// with graph_errc::ambiguous_resume for a value without an id if several tasks are interrupted,
/// and with graph_errc::unknown_interrupt for an id that is not pending.
class resume {
public:
  /// Continues where the thread stopped, without a value.
  resume() = default;
  /// Resumes the only interrupted task with this value.
  explicit resume(json::value value) : value_(std::move(value)) {}
  /// Resumes the only interrupted task with a text, for example a line that the user has typed.
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // nullptr is the JSON null
  explicit resume(const Text& text) : value_(json::string(std::string_view{text})) {}
  /// Resumes pending interrupts, each with the value for its id. Of several values for one id the
  /// last one is used.
  resume(std::initializer_list<std::pair<std::string_view, json::value>> values);
  /// Resumes pending interrupts, each with the value for its id.
  explicit resume(std::map<std::string, json::value> values);

  /// Makes the run ignore values for interrupts that are not pending, as LangGraph does, also on a
  /// thread without checkpoints. Otherwise such a value fails the run.
  [[nodiscard]] resume&& ignoring_unknown_ids() && noexcept {
    ignores_unknown_ids_ = true;
    return std::move(*this);
  }

  /// Returns the value without an id; not set if there is none.
  [[nodiscard]] const std::optional<json::value>& value() const noexcept { return value_; }
  /// Returns the values by interrupt id. Valid as long as the object.
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
/// Sends only. The name is a view: its text must outlive every use of the constant.
template <class Input>
struct node {
  std::string_view name; ///< unique in its graph

  /// Names a node. Does not copy the text.
  constexpr node(std::string_view text) noexcept : name{text} {}
  /// Names a node. Does not copy the text.
  constexpr node(const char* text) noexcept : name{text} {}
  /// Deleted, because the name would dangle.
  node(const std::string&&) = delete;
};

/// The name of the entry of every graph (`START` in langgraph/constants.py).
inline constexpr auto start = detail::start_node;
/// The name of the end of every graph (`END` in langgraph/constants.py). It activates no node.
inline constexpr auto end = detail::end_node;

/// A node to activate in the next super-step. With an input it is a Send: an additional task of the
/// node, which receives that input instead of the state (`Send` in langgraph/types.py). The name is
/// a view: its text must outlive the destination. A body or router must not return the name of a
/// local string.
class destination {
public:
  /// Names the node to activate. Does not copy the name.
  destination(std::string_view name) noexcept : name_{name} {}
  /// Names the node to activate. Does not copy the name.
  destination(const char* name) noexcept : name_{name} {}
  /// Deleted, because the name would dangle.
  destination(const std::string&&) = delete;
  /// Names the node to activate by its constant.
  template <class Input>
  destination(node<Input> to) noexcept : name_{to.name} {}
  /// Creates a Send. An input that is not of the node's type does not compile.
  template <class Input>
  destination(node<Input> to, detail::written_as<Input> input)
      : name_{to.name}, input_{detail::unwrap<Input>(std::move(input))} {}

  /// Returns the name of the node.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Whether the destination is a Send.
  [[nodiscard]] bool is_send() const noexcept { return input_.has_value(); }
  /// Sets timeout_policy::run of a Send, in place of the limit of its node.
  /// @param limit at least 1 ms and below 49 days
  /// @pre is_send()
  [[nodiscard]] destination within(std::chrono::milliseconds limit) && {
    SUPERSTEP_ASSERT(is_send() && limit.count() > 0 && limit.count() < UINT32_MAX);
    timeout_ = std::chrono::duration_cast<send::milliseconds>(limit);
    return std::move(*this);
  }
  /// Adds the destination to the output of a node; for the library. Throws
  /// graph_error{unknown_node} if the graph has no such node and does not ignore unknown ones.
  /// Throws graph_error{invalid_update} for a Send to END, and for a node that needs an input but
  /// gets none.
  [[gnu::always_inline]] void add_to(node_output& out, const detail::program& table) && {
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

/// Several nodes to activate and Sends. Sends run in the order of the list.
using destinations = std::vector<destination>;

/// The name of a node as the argument of a function that copies it, for example of graph::edge().
/// Unlike a destination, it may come from any text, also from a temporary string.
class node_name {
public:
  node_name(std::string_view name) noexcept : name_{name} {}
  node_name(const char* name) noexcept : name_{name} {}
  node_name(const std::string& name) noexcept : name_{name} {}
  template <class Input>
  node_name(node<Input> of) noexcept : name_{of.name} {}
  node_name(const destination& of) noexcept : name_{of.name()} {}

  /// Returns the name. Valid as long as the text that the object was made from.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

private:
  std::string_view name_;
};

namespace detail {

/// Copies the names of nodes.
[[nodiscard]] std::vector<std::string> owned_names(std::initializer_list<node_name> nodes);

/// A range whose items are convertible to T. The concepts of <ranges> are not used, because that
/// header takes a twentieth of the compile time of a user's file.
template <class Items, class T>
concept range_of = requires(Items& items) {
  { *std::begin(items) } -> std::convertible_to<T>;
  std::end(items);
};

} // namespace detail

/// Returns one Send to a node for each item of a range, in the order of the range, as in the map
/// step of a map-reduce.
/// @param items a range whose items are convertible to Input
template <class Input, detail::range_of<Input> Items>
[[nodiscard]] destinations send_each(node<Input> to, Items&& items) {
  auto out = destinations{};
  if constexpr (requires { std::size(items); })
    out.reserve(std::size(items));
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

/// A projection of a state: a described struct, each of whose fields has the name and type of a
/// field of the state. It serves as an input or output schema (`input_schema` and `output_schema`
/// of LangGraph's StateGraph).
template <class Projection, class State>
concept projection_of = detail::is_projection_of<Projection, State>();

/// Returns a projection with the values of a state. The values are moved if `state` is an rvalue,
/// else copied.
///
///     auto answer = project<reply>(engine.invoke(graph, request{"…"}).state);
template <class Projection, class State>
  requires projection_of<Projection, std::remove_cvref_t<State>>
[[nodiscard]] Projection project(State&& state) {
  using whole = std::remove_cvref_t<State>;
  detail::check_fields<Projection>();
  auto out = Projection{};
  boost::mp11::mp_for_each<detail::fields_of<Projection>>([&](auto d) {
    constexpr auto place = detail::place_in<whole, decltype(d)>();
    constexpr auto from = boost::mp11::mp_at_c<detail::fields_of<whole>, place>::pointer;
    out.*d.pointer = std::forward<State>(state).*from;
  });
  return out;
}

/// A field of the state and the value that is written to it.
template <auto Member, class State = typename detail::field<Member>::state>
struct assignment {
  typename detail::field<Member>::type value; ///< the value that is written
  bool overwrite = false; ///< replaces the value without calling the reducer of the field
};

/// Returns a write to a field: `set<&chat::calls>(1)`. If the field has a reducer, the reducer
/// combines the value with the old one. A number of a type that the field may not be able to hold
/// does not compile: cast it.
template <auto Member, class State = typename detail::field<Member>::state>
[[nodiscard]] assignment<Member>
set(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), false};
}

/// Returns a write that replaces the value of a field without calling its reducer (`Overwrite` in
/// langgraph/types.py). If a super-step overwrites a field with a reducer twice, the run fails with
/// channel_errc::invalid_update.
template <auto Member, class State = typename detail::field<Member>::state>
[[nodiscard]] assignment<Member>
overwrite(detail::written_as<typename detail::field<Member>::type> value) {
  return {detail::unwrap<typename detail::field<Member>::type>(std::move(value)), true};
}

/// An update of some fields of the state, as returned by nodes. An empty update changes nothing.
template <class State>
class update {
public:
  /// Creates an empty update.
  update() = default;
  /// Creates an update from writes: `update{set<&chat::calls>(1), overwrite<&chat::name>("x")}`.
  /// For several writes to one field see add().
  template <auto... Members>
    requires(std::same_as<typename detail::field<Members>::state, State> && ...)
  explicit(sizeof...(Members) == 0) update(assignment<Members>... values) {
    (add(std::move(values)), ...);
  }

  /// Adds a write; returns *this. A second write of a field fails the run with
  /// channel_errc::invalid_update, unless its reducer or rule accepts several writes.
  template <auto Member>
    requires std::same_as<typename detail::field<Member>::state, State>
  update& add(assignment<Member> a) {
    writes_.push_back({detail::field_index<Member>(), a.overwrite, value{std::move(a.value)}});
    return *this;
  }

  /// Returns the writes, in the order in which they were added; for the library. A container of
  /// write, valid as long as the update.
  [[nodiscard]] auto& writes() noexcept { return writes_; }

private:
  detail::short_list<write, 1> writes_;
};
template <auto M, auto... Ms>
update(assignment<M>, assignment<Ms>...) -> update<typename detail::field<M>::state>;

/// Returns the value of the last write to a field, or null if `writes` has none. For the result of
/// a task (task_snapshot::result). The pointer is valid as long as the writes.
/// @pre the writes belong to a graph over the struct of the field
template <auto Member, class State = typename detail::field<Member>::state>
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

/// An update of the state and the next destinations (`Command` in langgraph/types.py).
///
/// As the result of a node: the destinations are activated in addition to the targets of the node's
/// own edges. The node must not set `resume`; otherwise its task fails with
/// graph_errc::invalid_update.
///
/// As the input of a run: the update is written to the thread before the thread continues.
///
/// A destination that the graph does not have is an error (graph_errc::unknown_node).
template <class State>
struct command {
  superstep::update<State> update{};        ///< the writes to the state
  destinations go_to{};                     ///< nodes to activate, and Sends
  optional_box<superstep::resume> resume{}; ///< resume values, in the input of a run only
};

/// A command to the parent graph (`Command.PARENT` in langgraph/types.py): an update of the
/// parent's state and the parent's next destinations. A node of a subgraph returns it. The subgraph
/// ends at once, and the command becomes its result in the parent graph. Without a parent graph, it
/// is an error (graph_errc::no_parent).
template <class Parent>
struct parent_command {
  superstep::update<Parent> update{}; ///< the writes to the parent's state
  destinations go_to{};               ///< nodes of the parent graph to activate, and Sends
};

/// A parent_command that names fields and nodes as text. For nodes that do not know the type of the
/// parent's state, such as a node that runs tools.
struct named_command {
  /// A write to the field with this name. The value has the type of the field, or is a json::value
  /// in the field's checkpoint form (stored_form).
  struct field_write {
    std::string field; ///< name of the field
    value content;     ///< the value that is written
  };
  std::vector<field_write> update{}; ///< the writes to the parent's state
  std::vector<std::string> go_to{};  ///< nodes of the parent graph to activate
};

/// Declares how a field combines the writes of a step, in the list `reducers` of its state. `Rule`
/// is a reducer or one of the rules in channels/kinds.hpp.
template <auto Member, class Rule>
struct by {};
/// The list of the rules of a state: the state defines it as its member type `reducers`. Fields
/// without a rule keep the last value.
template <class... Rules>
struct reducers {};

} // namespace superstep
