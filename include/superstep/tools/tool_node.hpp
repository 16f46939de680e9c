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

/// An exception whose class the model is told: `Error: Name('text')`. Of others it reads the text
/// alone, for names of C++ classes tell it nothing. A base beside one of std's exceptions.
class named_error {
public:
  [[nodiscard]] virtual std::string_view error_name() const noexcept = 0;

protected:
  ~named_error() = default;
};

/// What a tool throws to tell the model that it could not do what was asked.
class tool_exception : public std::runtime_error, public named_error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ToolException"; }
};

/// A tool could not be run for a reason that is neither the model's nor the tool's: the machine is
/// short of something (is_shortage(code())), or the set-up is wrong. Never answered, whatever the
/// node's tool_errors: it fails the node, and the model gets no result.
class tool_unavailable : public std::system_error {
public:
  explicit tool_unavailable(const error& why) : std::system_error{why.code}, text_{why.text} {}
  /// The text alone: system_error would add the code's general message to it.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Whether an exception, or one nested in it, is a tool_unavailable, a std::bad_alloc, another
/// system_error whose code is a shortage, or that of a checkpointer that cannot write
/// (checkpoint_errc::failed).
[[nodiscard]] bool is_unavailable(const std::exception_ptr& failure) noexcept;

/// The arguments of a call do not fit the tool's schema.
class tool_invocation_error : public tool_exception {
public:
  tool_invocation_error(std::string_view tool, const json::object& arguments,
                        std::vector<argument_fault> faults)
      : tool_exception{describe_faults(tool, arguments, faults)}, faults_{std::move(faults)} {}
  [[nodiscard]] std::string_view error_name() const noexcept override {
    return "ToolInvocationError";
  }
  [[nodiscard]] const std::vector<argument_fault>& faults() const noexcept { return faults_; }

private:
  std::vector<argument_fault> faults_;
};

/// An input that a node of tools cannot use, or a result that it cannot pass on.
class tool_value_error : public std::invalid_argument, public named_error {
public:
  using std::invalid_argument::invalid_argument;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ValueError"; }
};

/// The input of a node of tools is a list without messages.
class empty_message_list : public std::out_of_range, public named_error {
public:
  empty_message_list() : std::out_of_range{"list index out of range"} {}
  [[nodiscard]] std::string_view error_name() const noexcept override { return "IndexError"; }
};

/// A tool wants a field that the state does not have.
class missing_state_field : public std::out_of_range, public named_error {
public:
  explicit missing_state_field(std::string field);
  [[nodiscard]] std::string_view error_name() const noexcept override { return "KeyError"; }
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
  std::string field_;
};

/// A class of exceptions, derived ones included.
class error_type {
public:
  template <class E>
  [[nodiscard]] static error_type of() noexcept {
    return error_type{[]([[maybe_unused]] const std::exception& e) {
      if constexpr (std::same_as<E, std::exception>)
        return true;
      else
        return dynamic_cast<const E*>(&e) != nullptr;
    }};
  }
  [[nodiscard]] bool matches(const std::exception& e) const { return matches_(e); }

private:
  using test = bool (*)(const std::exception&);
  explicit error_type(test is_one) noexcept : matches_{is_one} {}
  test matches_;
};

namespace detail {

/// What the class of a function object with one parameter is called with.
template <class Call>
struct parameter_of;
template <class F, class R, class E>
struct parameter_of<R (F::*)(E) const> : std::remove_cvref<E> {};

} // namespace detail

/// `Error: Name('text')`, or `Error: text` of what has no name for models, and the advice to fix
/// it.
[[nodiscard]] std::string error_template(const std::exception& e);

/// Which failures of calls become answers that the model reads, and in which words
/// (handle_tool_errors of the reference). What is not handled is thrown by the call.
///
/// Calls of unknown tools are always answered. Copyable; shared by all calls.
class tool_errors {
public:
  using function = std::function<std::string(const std::exception&)>;

  /// All; wrong arguments in the words of tool_invocation_error, the rest by the template.
  tool_errors() = default;
  /// All, by the template: `Error: Name('text')` and that the model should fix its mistakes.
  [[nodiscard]] static tool_errors all();
  /// All, with one text.
  [[nodiscard]] static tool_errors text(std::string content);
  /// These classes, by the template.
  [[nodiscard]] static tool_errors only(std::vector<error_type> types);
  template <class... E>
  [[nodiscard]] static tool_errors only() {
    return only({error_type::of<E>()...});
  }
  /// The classes that `types` lists (empty: all), in the words of a function, which may be called
  /// by any number of calls at once.
  [[nodiscard]] static tool_errors by(function words, std::vector<error_type> types = {});
  /// The class that the function's parameter names: by([](const std::out_of_range& e) { … }).
  template <class F>
    requires(!std::convertible_to<F, function>)
  [[nodiscard]] static tool_errors by(F words) {
    using caught = typename detail::parameter_of<decltype(&F::operator())>::type;
    static_assert(std::derived_from<caught, std::exception>,
                  "the parameter of a handler of errors is a class of exceptions");
    return by(function{[words = std::move(words)](const std::exception& e) -> std::string {
                if (const auto* one = dynamic_cast<const caught*>(&e))
                  return words(*one);
                return error_template(e); // through an interceptor, of another class
              }},
              {error_type::of<caught>()});
  }
  /// Wrong arguments alone, in the words of tool_invocation_error.
  [[nodiscard]] static tool_errors bad_calls();
  /// None.
  [[nodiscard]] static tool_errors none();

  /// The answer to this failure; nothing: it is to be thrown on.
  [[nodiscard]] std::optional<std::string> answer(const std::exception& e) const;
  /// The answer to what came out of an interceptor, whatever its class; nothing only with none().
  [[nodiscard]] std::optional<std::string> answer_any(const std::exception& e) const;

private:
  enum class kind : std::uint8_t { plain, all, text, types, function, none };
  [[nodiscard]] std::string words(const std::exception& e) const;

  kind kind_ = kind::plain;
  std::string text_{};
  std::vector<error_type> types_{};
  function words_{};
};

/// What became of one call: the message that answers it, or the items its tool handed back.
struct tool_answer {
  message_ptr answer;             ///< null when there are items
  std::vector<tool_item> items{}; ///< commands and messages, in the order of the tool

  /// The message alone. Throws tool_value_error when the tool handed back a command.
  operator message_ptr() const;
  const message& operator*() const { return *answer; }
  const message* operator->() const { return answer.get(); }
};

/// What an interceptor sees of a call, and may change before it goes on.
struct tool_request {
  tool_call call;
  const superstep::tool* tool = nullptr; ///< null: no tool has that name
  tool_context context;
};
/// Runs the call (again). Its faults are thrown as far as the node does not answer them.
using tool_execute = std::function<task<tool_answer>(tool_request)>;
/// Stands around every call of a node, unknown tools included; what it returns is the call's
/// answer. Runs the call as often as it likes, or not at all.
using tool_interceptor = std::function<task<tool_answer>(tool_request, tool_execute)>;

/// How many calls of a tool may be under way at once, in all runs that share the node; one: the
/// tool is exclusive. Tools without a limit may be called any number of times at once.
struct tool_limit {
  std::string tool;
  std::size_t at_once = 1;
  /// An argument: calls that agree in it count together, others go on beside them. Empty: none.
  std::string key{};
};

struct tool_node_options {
  tool_errors errors{};                       ///< which failures become answers
  std::size_t result_bytes_max = 1024 * 1024; ///< of one result; a longer one is an error result
  std::string messages_key = "messages";      ///< of the state
  std::string name = "tools";
  std::vector<std::string> tags{};
  /// Of all calls of this node and its copies, in all runs; 0: no limit. Calls beyond it wait.
  std::size_t calls_at_once = 0;
  std::vector<tool_limit> limits{};
  /// What it throws is answered, whatever its class, unless no failures are. Empty: none.
  tool_interceptor wrap_call{};
  /// The answer to a call that was run before its turn; null: none, so the call is run. Asked by
  /// run_each() and run() of an input. Empty: no call ever was.
  std::function<message_ptr(const runtime&, const tool_call&)> precomputed_result{};
};

/// What a node of tools is given; see tool_node::from_state().
struct tool_node_input {
  tool_input_form form = tool_input_form::calls;
  std::vector<tool_call> calls;
  tool_state_ptr state{};
  std::shared_ptr<const call_observer> observer{}; ///< see tool_context
};

/// What a node of tools gives: what the calls came to, in their order.
struct tool_node_output {
  tool_input_form form = tool_input_form::calls;
  /// Commands to the parent with lists of Sends are one, the last item, and write nothing.
  std::vector<tool_item> items{};
  [[nodiscard]] bool has_commands() const noexcept;
};

/// Runs the tool calls of a model: finds the tool, fills in what the model must not set, checks the
/// arguments against the schema, runs the tool, and turns whatever comes of it into the message
/// that answers the call.
///
/// The message has the call's id and the tool's name, unless the tool made it. Texts of errors are
/// the reference's.
/// @par Threads
/// Immutable; any number of calls at once. Outlives the calls it runs.
class tool_node {
public:
  /// Throws std::invalid_argument when two tools have one name, a name is empty, the schema of a
  /// tool is none, or a limit is of no tool or of 0 calls.
  explicit tool_node(tool_list tools, tool_node_options options = {});

  /// Runs one call. A pointer to the message, because ten thousand calls may wait at once and each
  /// would hold room for one. Throws what the options do not answer.
  [[nodiscard]] task<tool_answer> run(tool_call call, tool_context context) const;

  /// The calls of the last AI message of a state or list; calls themselves; and a call with the
  /// state it was made in, which is what a Send carries. Throws tool_value_error without messages
  /// and without an AI message, empty_message_list for a list without any. @{
  [[nodiscard]] tool_node_input from_state(tool_state_ptr state) const;
  [[nodiscard]] tool_node_input from_list(message_list messages) const;
  [[nodiscard]] tool_node_input from_calls(std::vector<tool_call> calls) const;
  [[nodiscard]] tool_node_input from_call(tool_call call, tool_state_ptr state) const;
  /// @}

  /// Runs the calls at the same time, at most `run_config::max_concurrency` of them: what became of
  /// each, so that one that fails takes nothing from its siblings. Throws before the first call
  /// when a tool needs a store and there is none.
  /// @param rt of the node; its config, store, events and interrupts are the tools'
  [[nodiscard]] task<std::vector<settled<tool_answer>>> run_each(tool_node_input input,
                                                                 runtime rt) const;
  /// The same as one result; throws the failure of the first call that has one.
  [[nodiscard]] task<tool_node_output> run(tool_node_input input, runtime rt) const;

  /// Runs one call without a state around it, which is cheaper. @pre runs_bare(call.name)
  [[nodiscard]] task<tool_answer> run_bare(const tool_call& call, const runtime& rt,
                                           std::shared_ptr<const call_observer> observer) const;

  /// The answer to a call whose arguments could not be parsed.
  [[nodiscard]] message answer_invalid(const invalid_tool_call& call) const;
  /// The call as its tool gets it; a call of an unknown tool as it is. See superstep's function of
  /// this name.
  [[nodiscard]] tool_call inject_tool_args(tool_call call,
                                           const tool_environment& environment) const;

  /// What a model is told about the tools, in the order in which they were given: without the
  /// arguments that the node fills in.
  [[nodiscard]] tool_definitions definitions() const noexcept;
  /// Valid as long as this node; nullptr when there is no such tool.
  [[nodiscard]] const tool* find(std::string_view name) const noexcept;
  /// Whether a call of this name needs no tool_context::environment: its tool neither has
  /// injections nor reads it, and the node has no interceptor. True for unknown tools.
  [[nodiscard]] bool runs_bare(std::string_view name) const noexcept;
  /// In the order in which they were given.
  [[nodiscard]] tool_list tools() const;
  /// Whether some tool has injected arguments or the node an interceptor: then calls need
  /// tool_context::environment.
  [[nodiscard]] bool needs_surroundings() const noexcept;
  [[nodiscard]] const tool_node_options& options() const noexcept;
  /// The same tools, run in another way. How many calls may run at once stays as it is, and both
  /// nodes are counted together.
  [[nodiscard]] tool_node with_options(tool_node_options options) const;

  struct table;

private:
  explicit tool_node(std::shared_ptr<const table> t) noexcept : table_{std::move(t)} {}

  std::shared_ptr<const table> table_;
};

/// Where an agent goes after an answer of its model: to the node "tools" when the last message
/// calls some, else to the end ("__end__"). An error when there are no messages.
[[nodiscard]] result<std::string_view> tools_condition(const message_list& messages);

/// The same for a state of JSON channels, whose messages are under that key.
[[nodiscard]] result<std::string_view> tools_condition(const json::object& state,
                                                       std::string_view messages_key = "messages");

} // namespace superstep
