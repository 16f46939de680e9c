// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/messages/history.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/node_options.hpp>
#include <superstep/tools/human_review.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// Options of review_calls() and human_in_the_loop(): the calls that a person reviews, and the
/// answers that the person may give.
struct review_options {
  std::vector<std::string> tools{}; ///< names of tools; empty: all
  /// The allowed answers; default: all.
  human_interrupt_config config{true, true, true, true};
  /// Returns the description that the person reads. Called by any number of runs at once. Empty:
  /// the description is a text with the name of the tool.
  std::function<std::string(const tool_call&)> describe{};
};

/// Makes an interceptor (tool_node_options::wrap_call) that asks a person before it runs a call.
/// May be called from any thread.
///
/// The run is interrupted with a list of one human_interrupt and resumes with a human_response or a
/// list of one. An accepted call runs; an edited call runs with the new arguments. A response in
/// words replaces the tool's result. The answer to an ignored call states that it was ignored, with
/// the text of the response as the reason.
///
/// A response that the config does not allow, that names another tool, whose arguments do not match
/// its type, or that is malformed, becomes the error of the call, which the model reads. Calls of
/// unknown tools are not reviewed. The tool node must be run by a graph, and the run can resume
/// only if that graph has a checkpointer.
/// @param options see review_options
/// @return the interceptor; any number of runs may use it at once
[[nodiscard]] tool_interceptor review_calls(review_options options = {});

/// The calls that model_call_limit() and tool_call_limit() have counted. Add a field of this type
/// to the state of the agent; several limits may share it. The keys of the maps name the limits.
struct call_counts {
  std::map<std::string, std::int64_t> thread; ///< calls made in all runs of the thread
  /// Calls since the latest input of the thread, including calls that a limit refused.
  std::map<std::string, std::int64_t> run;
  friend bool operator==(const call_counts&, const call_counts&) = default;
};
BOOST_DESCRIBE_STRUCT(call_counts, (), (thread, run))

/// The reaction to a run that reaches a limit.
enum class at_limit : std::uint8_t {
  proceed, ///< further tool calls are answered with an error, and the model continues without them
  finish,  ///< the run ends with a message that names the limit; open tool calls do not run
  fail,    ///< the run fails with call_limit_error
};

/// Thrown by a run that reaches a limit with at_limit::fail.
class call_limit_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Options of model_call_limit(). At least one maximum is required.
struct model_call_limit_options {
  std::optional<std::int64_t> thread_max{}; ///< per thread
  std::optional<std::int64_t> run_max{};    ///< per run
  at_limit then = at_limit::finish;         ///< reaction; at_limit::proceed is not allowed
};

/// Options of tool_call_limit(). At least one maximum is required.
struct tool_call_limit_options {
  std::string tool{};                       ///< name of the limited tool; empty: all tools together
  std::optional<std::int64_t> thread_max{}; ///< per thread
  std::optional<std::int64_t> run_max{};    ///< per run
  at_limit then = at_limit::proceed;        ///< reaction to a call beyond the limit
};

namespace detail {

/// The result of a limit's hook: new counts, messages to write, and where to continue.
struct limit_step {
  std::optional<call_counts> counts{};
  message_list messages{};
  jump to = jump::none;
};

/// Throws std::invalid_argument for options without a maximum, or with a reaction that is not
/// possible. @{
void check_limits(const model_call_limit_options& options);
void check_limits(const tool_call_limit_options& options);
/// @}
/// Returns the key of a tool limit in call_counts.
[[nodiscard]] std::string key_of(const tool_call_limit_options& options);
/// The key of the model limit in call_counts.
inline constexpr auto model_limit_key = "model";

/// Resets the count of the run.
[[nodiscard]] limit_step begin_run(const call_counts& counts, const std::string& key);
/// Ends or fails the run if a limit is reached.
[[nodiscard]] limit_step before_model(const model_call_limit_options& options,
                                      const call_counts& counts);
/// Counts a call of the model.
[[nodiscard]] limit_step after_model(const call_counts& counts);
/// Counts the tool calls of an answer, and reacts to those beyond the limit.
[[nodiscard]] limit_step after_model(const tool_call_limit_options& options,
                                     const call_counts& counts, const message_list& messages);

/// Converts the result of a limit's hook to writes to the field `Member` and to the messages.
template <auto Member, class State = typename field<Member>::state>
auto step_of(limit_step said) {
  auto out = hook_step<State>{};
  if (said.counts)
    out.update.add(set<Member>(*std::move(said.counts)));
  if (!said.messages.empty())
    out.update.add(set<&State::messages>(std::move(said.messages)));
  out.to = said.to;
  return out;
}

/// Makes the hook that resets the counts of a run when it begins. A resumed run keeps its counts.
template <auto Member, class State = typename field<Member>::state>
auto run_counter(std::string key) {
  return [key = std::move(key)](const State& s, runtime) {
    return step_of<Member>(begin_run(s.*Member, key));
  };
}

} // namespace detail

/// Makes a middleware that limits the number of model calls:
/// `model_call_limit<&desk::calls>({.run_max = 5})`. May be called from any thread.
/// @tparam Member the field of the state, of type call_counts, that stores the counts
/// @param options see model_call_limit_options
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument for options without a maximum, or with at_limit::proceed
///
/// Source: `ModelCallLimitMiddleware` in langchain 1.4.7, agents/middleware/model_call_limit.py.
template <auto Member, class State = typename detail::field<Member>::state>
[[nodiscard]] middleware<State> model_call_limit(model_call_limit_options options) {
  detail::check_limits(options);
  auto out = middleware<State>{};
  out.name = "ModelCallLimitMiddleware";
  out.before_agent = detail::run_counter<Member>(detail::model_limit_key);
  out.before_model = {[options](const State& s, runtime) {
                        return detail::step_of<Member>(detail::before_model(options, s.*Member));
                      },
                      {jump::finish}};
  out.after_model = [](const State& s, runtime) {
    return detail::step_of<Member>(detail::after_model(s.*Member));
  };
  return out;
}

/// Makes a middleware that limits the number of calls of all tools or of one tool. Calls beyond the
/// limit are not made. May be called from any thread.
/// @tparam Member the field of the state, of type call_counts, that stores the counts
/// @param options see tool_call_limit_options
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument for options without a maximum
///
/// Source: `ToolCallLimitMiddleware` in langchain 1.4.7, agents/middleware/tool_call_limit.py.
template <auto Member, class State = typename detail::field<Member>::state>
[[nodiscard]] middleware<State> tool_call_limit(tool_call_limit_options options) {
  detail::check_limits(options);
  auto out = middleware<State>{};
  out.name = "ToolCallLimitMiddleware";
  if (!options.tool.empty())
    out.name += '[' + options.tool + ']';
  out.before_agent = detail::run_counter<Member>(detail::key_of(options));
  out.after_model = {[options](const State& s, runtime) {
                       return detail::step_of<Member>(
                           detail::after_model(options, s.*Member, s.messages));
                     },
                     {jump::finish}};
  return out;
}

/// Options of context_editing(): selects the tool results that are hidden from the model.
struct context_editing_options {
  std::int64_t tokens_max = 100'000; ///< conversations with more tokens are edited
  std::size_t keep = 3;              ///< number of newest results to keep
  std::int64_t clear_at_least = 0; ///< stop after saving this many tokens; 0: clear all but `keep`
  bool clear_inputs = false;       ///< whether to clear the arguments of the calls as well
  std::vector<std::string> exclude_tools{};   ///< names of tools whose results are kept
  std::string placeholder = "[cleared]";      ///< text that replaces a result
  token_counter count = approximate_tokens{}; ///< counts the tokens of a message
};

/// Replaces old tool results of a conversation by a placeholder. May be called from any thread.
/// @param messages the conversation
/// @param options see context_editing_options
/// @return the edited conversation; `messages` unchanged if it has at most `tokens_max` tokens
[[nodiscard]] message_list clear_tool_results(message_list messages,
                                              const context_editing_options& options);

/// Makes a middleware that passes the model a conversation without old tool results; see
/// clear_tool_results(). The state stays unchanged. May be called from any thread.
/// @param options see context_editing_options
/// @return the middleware; any number of runs may use it at once
///
/// Source: `ContextEditingMiddleware` in langchain 1.4.7, agents/middleware/context_editing.py.
[[nodiscard]] message_middleware context_editing(context_editing_options options = {});

/// Makes a middleware that asks a person after each answer of the model. The run is interrupted
/// with a list of human_interrupts, one for each call to review, and resumes with a list of as many
/// human_responses in the same order. An accepted call runs; an edited call runs with the tool name
/// and arguments of the edit. A response in words replaces the tool's result. The answer to an
/// ignored call states that the user rejected it, or is the text of the response. May be called
/// from any thread.
///
/// All calls of an answer are reviewed at once; review_calls() reviews each call separately. A
/// response that the config does not allow, whose arguments do not match its type, or a different
/// number of responses, fails the run with std::invalid_argument. The run can resume only if the
/// agent has a checkpointer.
/// @param options see review_options
/// @return the middleware; any number of runs may use it at once
///
/// Source: `HumanInTheLoopMiddleware` in langchain 1.4.7, agents/middleware/human_in_the_loop.py.
[[nodiscard]] message_middleware human_in_the_loop(review_options options = {});

/// A match of personal data in a text: bytes [begin, end).
struct pii_match {
  std::size_t begin = 0; ///< offset of the first byte
  std::size_t end = 0;   ///< offset behind the last byte
  friend bool operator==(const pii_match&, const pii_match&) = default;
};
/// A function that returns the matches in a text from left to right, without overlaps. Called by
/// any number of runs at once.
using pii_detector = std::function<std::vector<pii_match>(std::string_view)>;

/// Returns a built-in detector. May be called from any thread.
/// @param kind email, credit_card (with a valid check digit), ip, mac_address or url
/// @throws std::invalid_argument for other kinds
[[nodiscard]] pii_detector detector_of(std::string_view kind);
/// Returns a detector for all matches of a regular expression. May be called from any thread.
/// @param pattern the expression, in RE2 syntax
/// @throws std::invalid_argument if the expression is not valid
[[nodiscard]] pii_detector detector_by_pattern(const std::string& pattern);

/// The treatment of matches.
enum class pii_strategy : std::uint8_t {
  redact, ///< replaced by the name of the kind: [REDACTED_EMAIL]
  /// Asterisks hide all but a part that depends on the kind: ************1111. They hide all of a
  /// value that does not have the form of its kind.
  mask,
  hash,  ///< replaced by a text that is the same for the same value: <email_hash:12345678>
  block, ///< the run fails with pii_error; the message stays in the thread
};

/// Thrown for a match with pii_strategy::block.
class pii_error : public std::runtime_error {
public:
  /// @param kind the kind of personal data, e.g. `email`
  /// @param count number of matches
  pii_error(const std::string& kind, std::size_t count);
};

/// Returns the text with the strategy applied to all matches. May be called from any thread.
/// @param kind the kind of personal data, for replacements and errors
/// @param find finds the matches
/// @throws pii_error if there is a match and the strategy is block
[[nodiscard]] std::string without_pii(std::string_view text, const std::string& kind,
                                      const pii_detector& find, pii_strategy strategy);

/// Options of pii().
struct pii_options {
  std::string kind{};                           ///< a built-in kind, or any name if `find` is set
  pii_strategy strategy = pii_strategy::redact; ///< treatment of matches
  pii_detector find{};                          ///< detector; empty: the built-in one of the kind
  bool input = true;                            ///< check the newest message of the user
  bool output = false;       ///< check answers of the model, after they were streamed
  bool tool_results = false; ///< check results of tools
};

/// Makes a middleware that detects personal data of one kind: in new messages before a call of the
/// model, and in the model's answer after it. The messages are replaced in the state. May be called
/// from any thread.
/// @param options see pii_options; `kind` is required
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument for an unknown kind without a detector
///
/// Source: `PIIMiddleware` in langchain 1.4.7, agents/middleware/pii.py.
[[nodiscard]] message_middleware pii(pii_options options);

/// Options of model_retry() and tool_retry(): selects the failed calls that are repeated, and the
/// reaction to the failure of the last attempt.
struct retry_options {
  /// Number of attempts and the waits between them. A failure that retry_on excludes is thrown at
  /// once. If retry_on is empty, a failure is repeated if is_worth_a_retry() accepts it. An error
  /// with a code (std::system_error), such as one of a model, must also be accepted by
  /// is_worth_another_try(). Other failures of a model are then thrown at once, for example a wrong
  /// API key. Those of a tool are treated like the failure of the last attempt.
  retry_policy policy{.max_attempts = 3,
                      .initial_interval = std::chrono::milliseconds{1'000},
                      .backoff_factor = 2.0,
                      .max_interval = std::chrono::milliseconds{60'000},
                      .jitter = true,
                      .retry_on = {}};
  /// Whether the failure of the last attempt is thrown. If not, a text about it becomes the answer
  /// of the model or the tool. Shortages of the machine, broken answers, and failures of calls that
  /// request a structured response are always thrown. A thrown failure of a tool fails the run only
  /// if the agent's tools are a tool_node with tool_errors::none() or bad_calls(). With a list of
  /// tools, the model reads the error.
  bool then_throw = false;
  /// Returns the text that replaces the answer. Empty: the text contains the number of attempts and
  /// the error. Called by any number of runs at once.
  std::function<std::string(const std::exception&)> words{};
};

/// Makes a middleware that repeats failed calls of the model. An answer that broke off after a
/// piece of it was streamed is not repeated. Waiting suspends the call and blocks no thread. May be
/// called from any thread.
/// @param options see retry_options
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument if the policy allows no attempt
///
/// Source: `ModelRetryMiddleware` in langchain 1.4.7, agents/middleware/model_retry.py.
[[nodiscard]] message_middleware model_retry(retry_options options = {});

/// Makes a middleware that repeats tool calls that threw. Calls with invalid arguments are answered
/// at once. An agent whose tools are a tool_node must not answer exceptions in that node
/// (tool_errors::none() or bad_calls()), because only calls that throw are repeated. Waiting
/// suspends the call and blocks no thread. May be called from any thread.
/// @param options see retry_options
/// @param tools names of tools; empty: all
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument if the policy allows no attempt
///
/// Source: `ToolRetryMiddleware` in langchain 1.4.7, agents/middleware/tool_retry.py.
[[nodiscard]] message_middleware tool_retry(retry_options options = {},
                                            std::vector<std::string> tools = {});

/// Makes a middleware that tries other models, in order, if the agent's model fails. If all models
/// fail, the run gets the last error. After a piece of an answer was streamed, no other model is
/// tried. May be called from any thread.
/// @param others at least one model; shared by the middleware
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument if there are no other models or one is null
///
/// Source: `ModelFallbackMiddleware` in langchain 1.4.7, agents/middleware/model_fallback.py.
[[nodiscard]] message_middleware model_fallback(std::vector<chat_model_ptr> others);

/// Options of summarisation(): selects the conversations that are summarised, and the messages that
/// are kept.
struct summarisation_options {
  chat_model_ptr model{}; ///< writes the summary; required
  /// Conversations of at least this many tokens are summarised. This limit or `messages_max` is
  /// required.
  std::optional<std::int64_t> tokens_max{};
  /// Conversations of at least this many messages are summarised.
  std::optional<std::size_t> messages_max{};
  /// Number of newest messages to keep; more are kept if a call would be separated from its answer.
  std::size_t messages_to_keep = 20;
  token_counter count = approximate_tokens{}; ///< counts the tokens of a message
  std::string prompt{};                   ///< instructions for the summary; empty: a default text
  std::int64_t summary_tokens_max = 4000; ///< the newest tokens that the summary is made from
};

/// Makes a middleware that replaces older messages by a summary before a call of the model. If the
/// summarising model fails, or its answer is blank or cut, the conversation stays unchanged until
/// the next call. May be called from any thread.
/// @param options see summarisation_options
/// @return the middleware; any number of runs may use it at once
/// @throws std::invalid_argument for options without a model or without a limit
///
/// Source: `SummarizationMiddleware` in langchain 1.4.7, agents/middleware/summarization.py.
[[nodiscard]] message_middleware summarisation(summarisation_options options);

/// One task in the list of tasks that an agent maintains; see todo_list().
struct todo {
  std::string content;            ///< description of the task
  std::string status = "pending"; ///< pending, in_progress or completed
  friend bool operator==(const todo&, const todo&) = default;
};
BOOST_DESCRIBE_STRUCT(todo, (), (content, status))

/// Options of todo_list().
struct todo_list_options {
  std::string prompt{};      ///< added to the system message; empty: a default text
  std::string description{}; ///< description of the tool; empty: a default text
};

namespace detail {

/// Makes the middleware for the field of this name, independent of the state's type.
[[nodiscard]] message_middleware todo_list_for(std::string field, todo_list_options options);

/// Returns the name of the field `Member`.
template <auto Member, class State = typename field<Member>::state>
std::string name_of_field() {
  auto name = std::string{};
  boost::mp11::mp_for_each<fields_of<typename field<Member>::state>>([&](auto d) {
    if (same_member<decltype(d)::pointer, Member>())
      name = d.name;
  });
  return name;
}

} // namespace detail

/// Makes a middleware that gives the model a tool `write_todos`, with which it maintains a list of
/// tasks: `todo_list<&desk::todos>()`. Each call replaces the whole list, so several calls in one
/// answer are rejected. May be called from any thread.
/// @tparam Member the field of the state, a std::vector<todo>
/// @param options see todo_list_options
/// @return the middleware; any number of runs may use it at once
///
/// Source: `TodoListMiddleware` in langchain 1.4.7, agents/middleware/todo.py.
template <auto Member, class State = typename detail::field<Member>::state>
[[nodiscard]] middleware<State> todo_list(todo_list_options options = {}) {
  static_assert(std::is_same_v<typename detail::field<Member>::type, std::vector<todo>>,
                "the field of the to-do list must be a std::vector<superstep::todo>");
  return detail::todo_list_for(detail::name_of_field<Member>(), std::move(options));
}

} // namespace superstep
