// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
class direct_call;
} // namespace detail

/// A mixin that gives an exception a class name for the model: `Error: Name('text')`. For
/// exceptions without this mixin the model reads only the text, because the name of a C++ class
/// does not help it. Derive from the mixin and from an exception class of std.
class named_error {
public:
  /// Returns the name that the model reads; valid as long as the exception.
  [[nodiscard]] virtual std::string_view error_name() const noexcept = 0;

protected:
  ~named_error() = default;
};

/// Thrown by a tool that cannot do what the model asked for. The model reads the text.
/// Source: `ToolException` in langchain-core 1.7.2, tools/base.py.
class tool_exception : public std::runtime_error, public named_error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ToolException"; }
};

/// Thrown if a tool cannot run for a reason outside the call: the machine lacks descriptors,
/// processes or memory (is_shortage(code())), or the configuration is wrong. It always fails the
/// node, independent of tool_errors, and the model gets no result.
class tool_unavailable : public std::system_error {
public:
  /// Makes the exception with code and text of the error `why`.
  explicit tool_unavailable(const error& why) : std::system_error{why.code}, text_{why.text} {}
  /// Returns the error's text without the code's general message, which system_error would append.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Whether the exception `failure`, or one nested in it, must not become an answer for the model.
/// Such exceptions are tool_unavailable, std::bad_alloc, any std::system_error whose code is a
/// shortage, and a write error of a checkpointer (checkpoint_errc::failed). May be called from any
/// thread.
[[nodiscard]] bool is_unavailable(const std::exception_ptr& failure) noexcept;

/// Thrown if the arguments of a call do not match the tool's schema or argument struct.
class tool_invocation_error : public tool_exception {
public:
  /// @param tool name of the tool
  /// @param arguments the arguments of the call, for the text
  /// @param faults the errors of the arguments
  tool_invocation_error(std::string_view tool, const json::object& arguments,
                        std::vector<argument_fault> faults)
      : tool_exception{describe_faults(tool, arguments, faults)}, faults_{std::move(faults)} {}
  [[nodiscard]] std::string_view error_name() const noexcept override {
    return "ToolInvocationError";
  }
  /// The errors of the arguments; valid as long as the exception.
  [[nodiscard]] const std::vector<argument_fault>& faults() const noexcept { return faults_; }

private:
  std::vector<argument_fault> faults_;
};

/// Thrown for an input that a tool node cannot use, or for a tool's result that the node cannot
/// pass on. The model reads the name `ValueError`, as in LangGraph.
class tool_value_error : public std::invalid_argument, public named_error {
public:
  using std::invalid_argument::invalid_argument;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ValueError"; }
};

/// Thrown if the input of a tool node is an empty list. The model reads the name `IndexError`, as
/// in LangGraph.
class empty_message_list : public std::out_of_range, public named_error {
public:
  /// Makes the exception with LangGraph's text.
  empty_message_list() : std::out_of_range{"list index out of range"} {}
  [[nodiscard]] std::string_view error_name() const noexcept override { return "IndexError"; }
};

/// Thrown if a tool requires a field that the state does not have. The model reads the name
/// `KeyError`, as in LangGraph.
class missing_state_field : public std::out_of_range, public named_error {
public:
  /// @param field name of the field
  /// @param tool name of the tool
  /// @param argument name of the argument that the field is injected into
  missing_state_field(std::string field, const std::string& tool, const std::string& argument);
  [[nodiscard]] std::string_view error_name() const noexcept override { return "KeyError"; }
  /// The name of the missing field.
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
  std::string field_;
};

/// A predicate for a class of exceptions and the classes derived from it. Any number of threads may
/// use one object at once.
class error_type {
public:
  /// Returns the predicate for class E.
  template <class E>
  [[nodiscard]] static error_type of() noexcept {
    return error_type{[]([[maybe_unused]] const std::exception& e) {
      if constexpr (std::same_as<E, std::exception>)
        return true;
      else
        return dynamic_cast<const E*>(&e) != nullptr;
    }};
  }
  /// Whether the exception `e` belongs to the class.
  [[nodiscard]] bool matches(const std::exception& e) const { return matches_(e); }

private:
  using test = bool (*)(const std::exception&);
  explicit error_type(test is_one) noexcept : matches_{is_one} {}
  test matches_;
};

namespace detail {

/// The parameter type of a function object with one parameter.
template <class Call>
struct parameter_of;
template <class F, class R, class E>
struct parameter_of<R (F::*)(E) const> : std::remove_cvref<E> {};

} // namespace detail

/// Returns the standard text for the model: `Error: Name('text')`, or `Error: text` for exceptions
/// that are not a named_error, with the advice to fix the mistake. May be called from any thread.
/// @param e the failure of a call
///
/// Source: `TOOL_CALL_ERROR_TEMPLATE` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] std::string error_template(const std::exception& e);

/// Selects the failures of tool calls that become answers for the model, and the texts of these
/// answers. Failures that are not selected are thrown by the call and fail the node. So are all
/// failures for which is_unavailable() is true, whatever is selected.
///
/// Calls of unknown tools are always answered. Copyable and immutable; any number of calls share
/// one object. Source: `handle_tool_errors` of `ToolNode` in LangGraph 1.2.22,
/// prebuilt/tool_node.py.
class tool_errors {
public:
  /// A function that returns the text for an exception.
  using function = std::function<std::string(const std::exception&)>;

  /// Answers all failures with error_template(), but invalid arguments with the text of
  /// tool_invocation_error.
  tool_errors() = default;
  /// Answers all failures with error_template().
  [[nodiscard]] static tool_errors all();
  /// Answers all failures with the text `content`.
  [[nodiscard]] static tool_errors text(std::string content);
  /// Answers failures of the classes in `types` with error_template().
  [[nodiscard]] static tool_errors only(std::vector<error_type> types);
  /// Answers failures of the classes E... with error_template().
  template <class... E>
  [[nodiscard]] static tool_errors only() {
    return only({error_type::of<E>()...});
  }
  /// Answers failures with the text that a function returns.
  /// @param words returns the text; may be called by any number of threads at once
  /// @param types the classes of failures to answer; empty: all
  [[nodiscard]] static tool_errors by(function words, std::vector<error_type> types = {});
  /// Answers failures of the class of the function's parameter, with the text that the function
  /// returns: `by([](const std::out_of_range& e) { … })`.
  /// @param words a function object with one parameter; may be called by any number of threads at
  /// once
  template <class F>
    requires(!std::convertible_to<F, function>)
  [[nodiscard]] static tool_errors by(F words) {
    using caught = typename detail::parameter_of<decltype(&F::operator())>::type;
    static_assert(std::derived_from<caught, std::exception>,
                  "the parameter of an error handler must be a class derived from std::exception");
    return by(function{[words = std::move(words)](const std::exception& e) -> std::string {
                if (const auto* one = dynamic_cast<const caught*>(&e))
                  return words(*one);
                return error_template(e); // another class, thrown by an interceptor
              }},
              {error_type::of<caught>()});
  }
  /// Answers only invalid arguments, with the text of tool_invocation_error. Throws all other
  /// exceptions, also those of interceptors.
  [[nodiscard]] static tool_errors bad_calls();
  /// Answers nothing: every failure is thrown.
  [[nodiscard]] static tool_errors none();

  /// Returns the answer to the failure `e`; nullopt if the failure must be thrown.
  [[nodiscard]] std::optional<std::string> answer(const std::exception& e) const;
  /// Returns the answer to the exception `e` of an interceptor, whatever its class; nullopt only
  /// for none(), and for exceptions that bad_calls() does not answer.
  [[nodiscard]] std::optional<std::string> answer_any(const std::exception& e) const;

private:
  enum class kind : std::uint8_t { plain, all, text, types, function, bad_calls, none };
  [[nodiscard]] std::string words(const std::exception& e) const;

  kind kind_ = kind::plain;
  std::string text_{};
  std::vector<error_type> types_{};
  function words_{};
};

/// The outcome of one call: the message that answers it, or the items that its tool returned. One
/// thread at a time may change an object.
struct tool_answer {
  message_ptr answer;             ///< the answer; null if `items` is not empty
  std::vector<tool_item> items{}; ///< commands and messages, in the tool's order

  /// Returns the message.
  /// @throws tool_value_error if the tool returned a command
  operator message_ptr() const;
  /// Returns the message. @pre answer is not null
  const message& operator*() const { return *answer; }
  /// Gives access to the message. @pre answer is not null
  const message* operator->() const { return answer.get(); }
};

/// A tool call as an interceptor sees it. Interceptors may change it before it runs.
struct tool_request {
  tool_call call{};                      ///< name, id and arguments
  const superstep::tool* tool = nullptr; ///< the tool; null if no tool has this name
  tool_context context{};                ///< information about the call
};
/// A function that runs the call; may be called several times. The task throws failures that the
/// node does not answer.
using tool_execute = std::function<task<tool_answer>(tool_request)>;
/// A function that wraps every call of a node, also calls of unknown tools: it receives the request
/// and a function that runs the call, and returns the answer. It may call the function any number
/// of times, also never. Called by any number of threads at once. Source: `wrap_tool_call` in
/// LangGraph 1.2.22, prebuilt/tool_node.py.
using tool_interceptor = std::function<task<tool_answer>(tool_request, tool_execute)>;

/// A limit on the concurrent calls of one tool, over all runs that share the node. With a limit of
/// 1 the tool is exclusive. Tools without a tool_limit have no limit of their own.
struct tool_limit {
  std::string tool{};      ///< name of the tool
  std::size_t at_once = 1; ///< maximum number of calls in flight; at least 1
  /// Name of an argument: the limit applies separately to each of its values. Empty: to all calls.
  std::string key{};
  friend bool operator==(const tool_limit&, const tool_limit&) = default;
};

/// Options of a tool_node.
struct tool_node_options {
  tool_errors errors{};                       ///< the failures that become answers
  std::size_t result_bytes_max = 1024 * 1024; ///< size limit; a longer result is an error result
  std::string messages_key = "messages";      ///< key of the messages in the state
  std::string name = "tools";                 ///< name of the node
  std::vector<std::string> tags{};            ///< tags of the node
  /// Maximum number of calls in flight in this node and its copies, over all runs, at least 1; not
  /// set: no limit. Further calls wait.
  std::optional<std::size_t> calls_at_once{};
  std::vector<tool_limit> limits{}; ///< limits of single tools, in addition to calls_at_once
  /// Wraps every call; may be empty. Its exceptions are answered, whatever their class, except with
  /// tool_errors::none() or bad_calls(), or if is_unavailable() is true.
  tool_interceptor wrap_call{};
  /// Returns the answer to a call that has already run (see agent_options::early_tools), or null to
  /// run the call. Used by run_each() and run() of an input. May be empty.
  std::function<message_ptr(const runtime&, const tool_call&)> precomputed_result{};
};

/// The input of a tool node; see tool_node::from_state().
struct tool_node_input {
  tool_input_form form = tool_input_form::calls;   ///< kind of the input
  std::vector<tool_call> calls;                    ///< the calls to run
  tool_state_ptr state{};                          ///< source of injected arguments; may be null
  std::shared_ptr<const call_observer> observer{}; ///< see tool_context
};

/// The output of a tool node.
struct tool_node_output {
  tool_input_form form = tool_input_form::calls; ///< kind of the input
  /// The results in the order of the calls. Commands to the parent that only contain Sends are
  /// merged into one command, which is the last item.
  std::vector<tool_item> items{};
  /// Whether one of the items is a command. May be called from any thread.
  [[nodiscard]] bool has_commands() const noexcept;
};

/// Runs the tool calls of a model. For each call it finds the tool, sets the injected arguments,
/// checks the arguments against the schema, runs the tool, and converts the result or failure to
/// the message that answers the call.
///
/// The message gets the call's id and the tool's name, unless the tool made it. Most texts of
/// errors follow LangGraph's, because models read them.
/// @par Threads
/// Immutable; all members may be called by any number of threads. Observers, interceptors and the
/// functions in the options are called on the thread that runs the call.
/// @par Lifetime
/// Calls keep tools and options alive, so the node need not outlive them. Copies share their
/// limits. Source: `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
class tool_node {
public:
  /// Compiles the schemas of the tools.
  /// @param tools the tools; none may be null
  /// @param options see tool_node_options
  /// @throws std::invalid_argument if two tools have the same name, a name is empty, a tool's
  /// schema is not valid, or a limit is 0, a duplicate or refers to an unknown tool
  explicit tool_node(tool_list tools, tool_node_options options = {});

  /// Runs one call, after waiting for its limits. Destroying the task cancels the call.
  /// @param call the call; a call of an unknown tool is answered with an error
  /// @param context information for the tool; its environment may be null unless
  /// needs_environment(call.name)
  /// @return the answer; the task throws failures that tool_node_options::errors does not answer
  [[nodiscard]] task<tool_answer> run(tool_call call, tool_context context) const;

  /// Makes the input of run_each() from a state: the calls of the last AI message under
  /// tool_node_options::messages_key.
  /// @param state must not be null
  /// @throws tool_value_error if there are no messages or no AI message
  [[nodiscard]] tool_node_input from_state(tool_state_ptr state) const;
  /// Makes the input of run_each() from the list `messages`: the calls of its last AI message.
  /// @throws empty_message_list for an empty list
  /// @throws tool_value_error if there is no AI message
  [[nodiscard]] tool_node_input from_list(message_list messages) const;
  /// Makes the input of run_each() from calls, without a state.
  [[nodiscard]] tool_node_input from_calls(std::vector<tool_call> calls) const;
  /// Makes the input of run_each() from one call and the state at the time of the call, as a
  /// Send carries them. The state may be null.
  [[nodiscard]] tool_node_input from_call(tool_call call, tool_state_ptr state) const;

  /// Runs the calls concurrently, at most `run_config::max_concurrency` at once. Destroying the
  /// task cancels them.
  /// @param input see from_state()
  /// @param rt runtime of the node; tools get its config, store, events and interrupts
  /// @return the answer or failure of each call, in the order of the calls. The task throws
  /// tool_value_error before the first call if a tool needs a store, there is none, and the node
  /// has no interceptor
  [[nodiscard]] task<std::vector<settled<tool_answer>>> run_each(tool_node_input input,
                                                                 runtime rt) const;
  /// Runs the calls of `input` like run_each() and combines their results. `rt` is the runtime of
  /// the node.
  /// @return the output of the node; the task throws the failure of the first call that failed, in
  /// the order of the calls
  [[nodiscard]] task<tool_node_output> run(tool_node_input input, runtime rt) const;
  /// Returns the error message that answers a call whose arguments could not be parsed.
  [[nodiscard]] message answer_invalid(const invalid_tool_call& call) const;
  /// Applies superstep::inject_tool_args() to a call of one of the node's tools, and throws its
  /// exceptions. Returns a call of an unknown tool unchanged.
  [[nodiscard]] tool_call inject_tool_args(tool_call call,
                                           const tool_environment& environment) const;

  /// Returns the definitions for the model, in the order of the tools, without injected arguments.
  /// Shared by all copies of the node; not null.
  [[nodiscard]] tool_definitions definitions() const noexcept;
  /// Returns the tool with this name, valid as long as the node; nullptr if there is none.
  [[nodiscard]] const tool* find(std::string_view name) const noexcept;
  /// Whether a call of the tool `name` needs tool_context::environment: the tool has injections or
  /// uses the environment, or the node has an interceptor. False for unknown tools.
  [[nodiscard]] bool needs_environment(std::string_view name) const noexcept;
  /// Returns the tools in the order in which they were given.
  [[nodiscard]] tool_list tools() const;
  /// The options of this node; valid as long as the node.
  [[nodiscard]] const tool_node_options& options() const noexcept;
  /// Returns a node with the same tools and other options. Limits that are equal in both options
  /// are shared: calls of both nodes are counted together. Other limits count only the calls of the
  /// new node and its copies.
  /// @throws std::invalid_argument if a limit is not valid, as in the constructor
  [[nodiscard]] tool_node with_options(tool_node_options options) const;

  struct table;

private:
  friend class detail::direct_call;
  explicit tool_node(std::shared_ptr<const table> t) noexcept : table_{std::move(t)} {}

  std::shared_ptr<const table> table_;
};

/// Returns the node that follows the model in an agent. May be called from any thread.
/// @return "tools" if the last message contains tool calls, otherwise "__end__";
/// errc::invalid_argument if there are no messages. The text is valid forever
///
/// Source: `tools_condition` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] result<std::string_view> tools_condition(const message_list& messages);

/// Returns the node that follows the model, for a JSON state. May be called from any thread.
/// @param state the state of the graph
/// @param messages_key the key of the messages in the state
/// @return "tools" if the last message contains tool calls, otherwise "__end__";
/// errc::invalid_argument if there are no messages under the key. The text is valid forever
[[nodiscard]] result<std::string_view> tools_condition(const json::object& state,
                                                       std::string_view messages_key = "messages");

} // namespace superstep
