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

/// The writes of a tool to the state: fields, and messages under the messages key of its node.
struct tool_update {
  json::object fields;                            ///< values by the name of the field
  std::optional<std::vector<message>> messages{}; ///< messages; unset: their key is not written
  /// The position of the messages among the writes: the number of fields before them. Events list
  /// the writes in this order. Default: last.
  std::size_t messages_at = static_cast<std::size_t>(-1);
};

/// A node that runs next because of a command of a tool. With an input it is a Send.
struct tool_target {
  std::string node;                   ///< name of the node
  std::optional<json::value> input{}; ///< the Send's input; unset: an ordinary next node
  friend bool operator==(const tool_target&, const tool_target&) = default;
};

/// A result of a tool that writes to the state and chooses the next nodes. Its update must contain
/// the tool message that answers the call, unless the command has no update, goes to the parent
/// graph, or only removes all messages.
/// Source: `Command` in LangGraph 1.2.22, types.py, as handled by prebuilt/tool_node.py.
struct tool_command {
  /// The writes. Nodes whose input is a list of messages take a list of messages; all other nodes
  /// take a tool_update.
  std::variant<std::monostate, tool_update, std::vector<message>> update{};
  /// The next nodes. Sends to the parent by several calls are merged into one command.
  std::variant<std::monostate, tool_target, std::vector<tool_target>> go_to{};
  bool to_parent = false; ///< whether the command applies to the parent graph
};

/// One item of a tool's result.
using tool_item = std::variant<message, tool_command>;
/// A result that replaces the content: a message, a command, or a list of these. Exactly one
/// message in a list must be the answer to the call.
using tool_reply = std::variant<message, tool_command, std::vector<tool_item>>;

/// @cond
namespace detail {
// Compiled in the library, because the destructor of a reply slows down the compilation of every
// file that makes a tool.
extern template void block_ptr<tool_reply>::destroy(tool_reply*) noexcept;
} // namespace detail
/// @endcond

/// An argument of a tool that the tool node sets. It is hidden from the model.
struct injection {
  /// Where the value comes from.
  enum class source : std::uint8_t {
    state,        ///< the whole state
    field,        ///< one field of the state
    store,        ///< no argument is set; the tool uses the store of its context, which must exist
    tool_call_id, ///< the id of the call
    runtime,      ///< no argument is set; the tool uses the runtime of its context
  };
  std::string argument;        ///< name of the argument
  source from = source::state; ///< where the value comes from
  std::string field{};         ///< name of the field, for source::field
  /// Value to use if the state has no such field; unset: the call fails.
  std::optional<json::value> default_value{};
};

/// Read access to the state of a graph, for tools. Implementations convert to JSON only the parts
/// that a tool asks for.
/// @par Threads
/// Immutable; all members may be called by any number of threads.
class tool_state {
public:
  tool_state() = default;
  tool_state(const tool_state&) = delete;
  tool_state& operator=(const tool_state&) = delete;
  virtual ~tool_state() = default;

  /// Returns the messages under a key; an empty list if there is no such key. If the value is not a
  /// list of messages, the list is empty, or an exception derived from std::exception is thrown.
  [[nodiscard]] virtual message_list messages(std::string_view key) const = 0;
  /// Returns the field `name` as JSON; nullopt if the state has no such field.
  [[nodiscard]] virtual std::optional<json::value> field(std::string_view name) const = 0;
  /// Returns all fields as JSON.
  [[nodiscard]] virtual json::object whole() const = 0;
  /// Whether the state is only a list of messages and has no fields.
  [[nodiscard]] virtual bool is_list() const noexcept { return false; }
};
/// Shared, immutable access to a state.
using tool_state_ptr = std::shared_ptr<const tool_state>;

/// Makes a state from a JSON object, whose members are the fields. May be called from any thread.
[[nodiscard]] tool_state_ptr json_tool_state(json::object state);
/// Makes a state that is only a list of messages. May be called from any thread.
[[nodiscard]] tool_state_ptr message_tool_state(message_list messages);

/// The kind of input that a tool node got. It determines which Commands its tools may return.
enum class tool_input_form : std::uint8_t {
  state, ///< a state with fields, one of which contains the messages
  list,  ///< a list of messages
  calls, ///< tool calls, without the messages that contain them
};

/// The environment of the calls of one activation; created once and shared by them.
struct tool_environment {
  tool_input_form form = tool_input_form::state; ///< kind of the node's input
  tool_state_ptr state{};                        ///< state of the graph; null outside a graph
  superstep::store* store = nullptr;       ///< long-term memory; outlives the calls; null: none
  std::optional<superstep::runtime> run{}; ///< runtime of the node: context, events, interrupts
  tool_definitions tools{}; ///< all tools of the node; null for a call outside a node
};

/// Returns the call with the arguments set that come from the state. Values that the model gave for
/// injected arguments are discarded. The id of the call and default values are not set here:
/// tool_node sets them when it runs the call. May be called from any thread.
/// @param wanted the arguments to set, from tool::injections()
/// @param call the call as the model made it
/// @param environment the source of the values
/// @param messages_key the name under which a state that is only a list of messages offers the list
/// @throws missing_state_field if the state lacks a field without default value
/// @throws tool_value_error if there is no store, or the state is a list but the tool needs fields
[[nodiscard]] tool_call inject_tool_args(const std::vector<injection>& wanted, tool_call call,
                                         const tool_environment& environment,
                                         std::string_view messages_key = "messages");

struct tool_context;
/// Returns the store of a call's environment; it outlives the call. May be called from any thread.
/// @param context the context of the call
/// @throws tool_value_error if there is none
[[nodiscard]] superstep::store* store_of(const tool_context& context);

/// A tool call that has ended, and how long it took.
struct call_time {
  std::string call_id;              ///< id of the tool call
  std::string tool;                 ///< name of the tool
  std::chrono::nanoseconds took{0}; ///< from its start to its end; negative if it was cancelled
  bool is_error = false;            ///< whether the result is an error, or the call threw
  std::uint32_t attempt = 1;        ///< attempt of the node, from 1
};

/// Receives notifications of the calls that a tool_node runs; see tool_context::observer.
///
/// A call starts after it has waited for its limits and before its arguments are checked. It ends
/// exactly once, also if it is cancelled.
/// @par Threads
/// All members may be called by any thread. They must be short and must not throw.
class call_observer {
public:
  virtual ~call_observer() = default;
  /// Called when a call starts.
  /// @param call_id id of the tool call
  /// @param tool name of the tool
  virtual void on_start(std::string_view call_id, std::string_view tool) const = 0;
  /// Called when a call ends.
  /// @param ended the call
  virtual void on_end(call_time ended) const = 0;
};

/// The result of a tool.
struct tool_output {
  std::string content;                ///< the text that the model reads
  bool is_error = false;              ///< whether `content` is an error
  json::value artifact;               ///< data for the program, not sent to the model
  optional_box<json::array> blocks{}; ///< content blocks; if set, `content` is empty
  optional_box<tool_reply> reply{};   ///< messages or commands; if set, replaces all other members
};

/// Converts a value to a tool's result: a text becomes the content, and a list of content blocks
/// (also an empty list) becomes `blocks`. Any other value becomes JSON text. May be called from any
/// thread.
[[nodiscard]] tool_output output_of(json::value result);

/// Information about one call for its tool. Each call has an object of its own, which one thread at
/// a time uses.
struct tool_context {
  std::string run_key;          ///< key of the row or run, for logs and side effects
  std::string tool_call_id;     ///< id of the call; assigned by the model
  std::string node;             ///< name of the node that runs the call
  std::uint32_t attempt = 1;    ///< attempt of the node, from 1
  std::uint32_t step = 0;       ///< number of the super-step
  std::uint32_t task_index = 0; ///< see runtime::task_index()
  std::uint32_t repeat = 0;     ///< number of earlier calls of the same task with the same id
  /// The place of the calling task in its thread. If the run is not saved, it only has the
  /// configuration, and is null if the run has no thread_id. Rows of batch jobs have one each.
  detail::task_place_ptr place{};
  /// Set when the call is cancelled; blocking tools should check it. May be without a state if
  /// tool::uses_environment() is false.
  std::stop_token stop;
  /// The time at which the call is cancelled if it still runs: the earlier of runtime::deadline()
  /// and the end of the tool's timeout(). Not set: there is neither. A blocking tool
  /// should end its own waits by this time.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  const superstep::clock* time = &system_clock(); ///< the clock to use
  /// State, store, runtime and tools of the calling node; null for a call outside a node. May lack
  /// all of them if tool::uses_environment() is false.
  std::shared_ptr<const tool_environment> environment{};
  /// Notified when the call's body starts and ends; null: no observer.
  std::shared_ptr<const call_observer> observer{};

  /// Returns a key for the call that external services can use to detect repetitions: 32
  /// hexadecimal digits. It is unique to the call, and the same whenever the super-step is run
  /// again, in this process or another. Derived from thread, super-step, path of the task, id of
  /// the call and `repeat`. Without a saved thread, node and task index replace the path, and the
  /// key is also derived from the run key.
  [[nodiscard]] std::string idempotency_key() const;
};

/// Whether a call may be repeated if the process died while it ran.
enum class tool_effects : std::uint8_t {
  repeatable, ///< may be repeated: its effects, if any, may happen twice
  idempotent, ///< may be repeated with the same idempotency key, which the service recognises
  journaled,  ///< never repeated; its start is recorded first
};

/// A tool: a definition for the model and a function to run. This is the interface of all tools;
/// most are made with make_tool().
///
/// Immutable after construction. Any number of runs share one object.
/// @par Threads
/// All members may be called by any number of threads at once.
class tool {
public:
  virtual ~tool() = default;
  /// Returns name, description and JSON Schema of the arguments, as the model reads them. Valid as
  /// long as the tool.
  [[nodiscard]] virtual const tool_definition& definition() const noexcept = 0;
  /// Returns the arguments that the node sets. They may be part of the definition, because the node
  /// removes them from the definition that the model reads. Default: none.
  [[nodiscard]] virtual std::vector<injection> injections() const { return {}; }
  /// Returns whether a call may be repeated after a crash. Default: repeatable; idempotent() and
  /// journaled() make tools of the other kinds.
  [[nodiscard]] virtual tool_effects effects() const noexcept { return tool_effects::repeatable; }
  /// Returns the timeout of one call, including the check of its arguments; nullopt, the default,
  /// for none. with_timeout() and make_command() set it.
  [[nodiscard]] virtual std::optional<std::chrono::milliseconds> timeout() const noexcept {
    return std::nullopt;
  }
  /// Whether the results of the tool are commands to the parent graph, as of make_handoff_tool().
  /// An agent that cannot pass on such commands rejects the tool when it is compiled. Default:
  /// false.
  [[nodiscard]] virtual bool commands_parent() const noexcept { return false; }
  /// Whether run() uses tool_context::environment or tool_context::stop. If false, the node need
  /// not create them, which makes the call cheaper. A tool with injections gets both in any case.
  /// Default: true.
  [[nodiscard]] virtual bool uses_environment() const noexcept { return true; }
  /// Runs one call.
  ///
  /// The function may suspend or block. While it blocks, it keeps its thread, and the engine
  /// continues its other work on another thread. If it throws, the node's tool_errors decide
  /// whether the exception becomes an error that the model reads or fails the run. Exceptions for
  /// which is_unavailable() is true, such as tool_unavailable, always fail the run.
  ///
  /// @param call the call with parsed and checked arguments, including the injected ones. Must live
  /// until the task is destroyed, so coroutines need no copy
  /// @param context information about the call; must live as long as `call`
  /// @return the result; is_error for a failure that the model should read
  /// @par Cancellation
  /// Destroying the task cancels the call. A blocking body is notified by tool_context::stop.
  /// @par Lifetime
  /// The tool must outlive the task.
  [[nodiscard]] virtual task<tool_output> run(const tool_call& call,
                                              const tool_context& context) const = 0;
};

/// A shared, immutable tool.
using tool_ptr = std::shared_ptr<const tool>;
/// A list of tools; names must be unique.
using tool_list = std::vector<tool_ptr>;

/// Returns for each call the number of earlier calls with the same id. Ids come from models, which
/// do not guarantee that they are unique. May be called from any thread.
[[nodiscard]] std::vector<std::uint32_t> repeats_of(std::span<const tool_call> calls);

// Types for members of a make_tool() argument struct that the tool node sets. These members are
// hidden from the model.

/// A string literal as a template argument.
template <std::size_t N>
struct fixed_text {
  /// Copies the literal.
  constexpr fixed_text(const char (&given)[N]) { std::copy_n(given, N, text); }
  /// Returns the text without the terminating NUL byte.
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N]{}; ///< the literal with its terminating NUL byte
};

/// A field of the state: `from_state<"user", std::string> user;`. A missing field is an error,
/// unless T is a std::optional.
/// Source: `InjectedState` in LangGraph 1.2.22, prebuilt/tool_node.py.
template <fixed_text Field, class T>
struct from_state {
  T value{};                                              ///< value of the field
  static constexpr std::string_view field = Field.view(); ///< name of the field
};

/// The whole state as JSON.
/// Source: `InjectedState` in LangGraph 1.2.22, prebuilt/tool_node.py.
struct whole_state {
  json::object value; ///< all fields of the state
};

/// The long-term memory of the run. Never null in a call: without a store, tool_value_error is
/// thrown before the tool runs.
/// Source: `InjectedStore` in LangGraph 1.2.22, prebuilt/tool_node.py.
struct injected_store {
  superstep::store* value = nullptr; ///< the store; outlives the call
  /// Gives access to the store.
  [[nodiscard]] superstep::store* operator->() const noexcept { return value; }
};

/// The id of the tool call.
/// Source: `InjectedToolCallId` in langchain-core 1.7.2, tools/base.py.
struct injected_call_id {
  std::string value; ///< the id
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
