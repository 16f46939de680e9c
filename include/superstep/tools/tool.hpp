// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/json.hpp>
#include <superstep/base/task.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/detail/task_place.hpp>
#include <superstep/runtime/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

/// What a tool writes to the state: fields, and messages under the messages key of its node.
struct tool_update {
  json::object fields;
  std::optional<std::vector<message>> messages{}; ///< unset: the key is not written at all
  /// The number of fields before the messages, for readers that see the writes in order. By default
  /// the messages come last.
  std::size_t messages_at = static_cast<std::size_t>(-1);
};

/// Where a tool sends the graph: a node, or a Send when there is an input.
struct tool_target {
  std::string node;
  std::optional<json::value> input{};
  friend bool operator==(const tool_target&, const tool_target&) = default;
};

/// What a tool may hand back instead of a result: writes to the state, and where the graph goes on.
/// Unless it goes to the parent it must hold the tool message that answers the call.
struct tool_command {
  /// A list of messages is for nodes whose input is a list of messages; all others take fields.
  std::variant<std::monostate, tool_update, std::vector<message>> update{};
  /// One target, or a list. Lists of Sends to the parent by several calls become one command.
  std::variant<std::monostate, tool_target, std::vector<tool_target>> go_to{};
  bool to_parent = false;
};

/// A part of what a call came to.
using tool_item = std::variant<message, tool_command>;
/// What a tool may hand back instead of content: a message of its own, a command, or a list of
/// these, exactly one message in it being the answer to the call.
using tool_reply = std::variant<message, tool_command, std::vector<tool_item>>;

/// An argument of a tool that its node fills in. The model neither sees nor sets it.
struct injection {
  enum class source : std::uint8_t {
    state,        ///< the whole state
    field,        ///< one field of it
    store,        ///< nothing is written: the tool finds it in its context, and there is one
    tool_call_id, ///< the id of the call
    runtime,      ///< nothing is written: the tool finds it in its context
  };
  std::string argument;
  source from = source::state;
  std::string field{}; ///< of source::field
  /// What is written when the state has no such field; unset: that is an error.
  std::optional<json::value> default_value{};
};

/// The state of a graph as tools may see it. Written as JSON only where a tool asks for it.
/// @par Threads
/// Immutable: any number may read at once.
class tool_state {
public:
  tool_state() = default;
  tool_state(const tool_state&) = delete;
  tool_state& operator=(const tool_state&) = delete;
  virtual ~tool_state() = default;

  /// The messages under a key; empty when there are none. Throws where they are no messages.
  [[nodiscard]] virtual message_list messages(std::string_view key) const = 0;
  [[nodiscard]] virtual std::optional<json::value> field(std::string_view name) const = 0;
  [[nodiscard]] virtual json::object whole() const = 0;
  /// The state is nothing but a list of messages: it has no fields.
  [[nodiscard]] virtual bool is_list() const noexcept { return false; }
};
using tool_state_ptr = std::shared_ptr<const tool_state>;

/// A state of JSON channels.
[[nodiscard]] tool_state_ptr json_tool_state(json::object state);
/// Messages alone.
[[nodiscard]] tool_state_ptr message_tool_state(message_list messages);

/// What a node of tools was given: it decides which Commands its tools may hand back.
enum class tool_input_form : std::uint8_t { state, list, calls };

/// What the calls of one activation have around them; made once and shared by them.
struct tool_environment {
  tool_input_form form = tool_input_form::state;
  tool_state_ptr state{};                  ///< null: none, as for direct calls outside a graph
  superstep::store* store = nullptr;       ///< long-term memory; outlives the calls
  std::optional<superstep::runtime> run{}; ///< of the node: context, events, interrupts
};

/// The call as its tool gets it: without what the model gave for injected arguments, and with what
/// the node has for them. `call` stays as it is.
/// Throws missing_state_field, or tool_value_error: no store, or a list of messages where the tool
/// wants fields.
/// @param messages_key what a list of messages counts as
[[nodiscard]] tool_call inject_tool_args(const std::vector<injection>& wanted, tool_call call,
                                         const tool_environment& environment,
                                         std::string_view messages_key = "messages");

struct tool_context;
/// The store around a call. Throws tool_value_error when there is none.
[[nodiscard]] superstep::store* store_of(const tool_context& context);

/// Is notified of the calls that a tool_node runs (tool_context::observer).
///
/// A call is notified after it has waited for its limits and before its arguments are checked. It
/// ends once, also when it is given up: then its frame ends it.
/// @par Threads
/// Both members from any thread. They must be short and must not throw.
class call_observer {
public:
  virtual ~call_observer() = default;
  /// @param call_id id of the tool call
  virtual void on_start(std::string_view call_id) const = 0;
  /// @param took time since on_start() by the clock of the call's home; negative: the call was
  /// given up
  virtual void on_end(std::string_view call_id, std::chrono::nanoseconds took) const = 0;
};

class call_observer;

/// What a tool hands back. `content` is the text the model reads.
struct tool_output {
  std::string content;
  bool is_error = false;
  json::value artifact;
  optional_box<json::array> blocks{}; ///< of content, instead of a text; `content` is empty then
  optional_box<tool_reply> reply{};   ///< instead of all that
};

/// A value as the content of a result: text as it is, a list of content blocks (also the empty one)
/// as blocks, everything else as JSON text.
[[nodiscard]] tool_output output_of(json::value result);

/// What a tool may know about the call it serves. Owned by the call; copied freely.
struct tool_context {
  std::string run_key; ///< key of the row or run, for logs and effects
  std::string tool_call_id;
  std::string node;
  std::uint32_t attempt = 1;
  std::uint32_t step = 0;
  std::uint32_t task_index = 0; ///< see runtime::task_index()
  std::uint32_t repeat = 0;     ///< how many calls of the same task with the same id are before it
  /// Of the task that makes the call; null when its run is not kept.
  detail::task_place_ptr place{};
  std::stop_token stop; ///< set when the call is cancelled; a blocking tool may look at it
  std::chrono::milliseconds spent{0}; ///< of the tool's time_limit(), by the check of the arguments
  const superstep::clock* time = &system_clock();
  /// State, store and run around the call, when the node has been given any; null otherwise.
  std::shared_ptr<const tool_environment> environment{};
  tool_definitions tools{}; ///< all tools of the node; set for tools with injected arguments
  /// Notified when the call's body starts and ends; null: nothing observes the call.
  std::shared_ptr<const call_observer> observer{};

  /// Names the call to the world outside, as 32 hexadecimal digits: the same whenever its
  /// super-step is run again, in this process or another, and of no other call. Made of thread,
  /// super-step, path of the task and id of the call.
  [[nodiscard]] std::string idempotency_key() const;
  /// What the task is that makes the call.
  void come_from(const runtime& task);
};

/// What it means to run a call again that a process did not live to see the end of.
enum class tool_effects : std::uint8_t {
  repeatable, ///< no harm: it changes nothing outside, or may change it twice
  idempotent, ///< whoever is told the idempotency key again does nothing twice
  journaled,  ///< it must not be: that it begins is noted before it does
};

/// A tool: a definition for the model and a body. Immutable and shared by all runs.
///
/// run() may be called by any number of actors at once. It may block (the engine moves its siblings
/// out of the way) or suspend; it may throw: the exception becomes that call's error.
class tool {
public:
  virtual ~tool() = default;
  [[nodiscard]] virtual const tool_definition& definition() const noexcept = 0;
  /// Arguments that the node fills in; they may stand in the definition, the model never sees them.
  [[nodiscard]] virtual std::vector<injection> injections() const { return {}; }
  /// See tool_wrappers.hpp, which makes tools of the other kinds.
  [[nodiscard]] virtual tool_effects effects() const noexcept { return tool_effects::repeatable; }
  /// The limit of one call's time, the check of its arguments included; 0 if the tool sets none.
  [[nodiscard]] virtual std::chrono::milliseconds time_limit() const noexcept {
    return std::chrono::milliseconds{0};
  }
  /// Whether its results are commands to the graph around the agent, as those of a handoff are. An
  /// agent that cannot pass them on refuses the tool when it is compiled.
  [[nodiscard]] virtual bool commands_parent() const noexcept { return false; }
  /// Whether run() may look at tool_context::environment. A tool that returns false is called
  /// without it, which is cheaper. A tool with injections gets it in any case.
  [[nodiscard]] virtual bool reads_surroundings() const noexcept { return true; }
  [[nodiscard]] virtual task<tool_output> run(tool_call call, tool_context context) const = 0;
};

using tool_ptr = std::shared_ptr<const tool>;
using tool_list = std::vector<tool_ptr>;

/// For each call how many of those before it have its id; models number their calls, or fail to.
[[nodiscard]] std::vector<std::uint32_t> repeats_of(std::span<const tool_call> calls);

// Members of the arguments of make_tool() that the node fills in: the model neither sees nor sets
// them.

/// A text as a template argument.
template <std::size_t N>
struct fixed_text {
  constexpr fixed_text(const char (&given)[N]) { std::copy_n(given, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N]{};
};

/// A field of the state: `from_state<"user", std::string> user;`. A std::optional may be absent.
template <fixed_text Field, class T>
struct from_state {
  T value{};
  static constexpr std::string_view field = Field.view();
};

/// The whole state, as JSON.
struct whole_state {
  json::object value;
};

/// Long-term memory; never null in a call.
struct injected_store {
  superstep::store* value = nullptr;
  [[nodiscard]] superstep::store* operator->() const noexcept { return value; }
};

/// The id of the call.
struct injected_call_id {
  std::string value;
};

namespace detail {

template <class T>
struct from_state_of : std::false_type {};
template <fixed_text Field, class T>
struct from_state_of<from_state<Field, T>> : std::true_type {
  using type = T;
};

template <class T>
inline constexpr bool is_injected =
    from_state_of<T>::value || std::is_same_v<T, whole_state> ||
    std::is_same_v<T, injected_store> || std::is_same_v<T, injected_call_id>;

} // namespace detail
} // namespace superstep
