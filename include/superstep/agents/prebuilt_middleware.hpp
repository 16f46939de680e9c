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

/// Which calls wait for a person, and what that person may do.
struct review_options {
  std::vector<std::string> tools{}; ///< by name; empty: all
  human_interrupt_config config{true, true, true, true};
  /// What the person reads; empty: that the call of the tool is to be reviewed.
  std::function<std::string(const tool_call&)> describe{};
};

/// An interceptor (tool_node_options::wrap_call) that asks before it runs a call: the run is
/// interrupted with a list of one human_interrupt, and resumes with a human_response or a list of
/// one. Accepted calls run, edited ones with the new arguments; words of a person are the answer in
/// place of the tool's, and of an ignored call the model reads that it was.
///
/// What the config does not allow, and what is no response, is the call's error: the model reads
/// about it. Calls of unknown tools are not reviewed. The node must be run by a graph.
[[nodiscard]] tool_interceptor review_calls(review_options options = {});

/// How often something was called, by what is limited; a field of the state. Several limits of an
/// agent share it.
struct call_counts {
  std::map<std::string, std::int64_t> thread; ///< over all runs of the thread
  std::map<std::string, std::int64_t> run;    ///< since the latest input
  friend bool operator==(const call_counts&, const call_counts&) = default;
};
BOOST_DESCRIBE_STRUCT(call_counts, (), (thread, run))

/// What becomes of a run that reaches a limit.
enum class at_limit : std::uint8_t {
  proceed, ///< calls of tools beyond it are answered with an error; the model may continue without
  finish,  ///< the run ends with a message about it
  fail,    ///< the run fails with call_limit_error
};

class call_limit_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct model_call_limit_options {
  std::optional<std::int64_t> thread_max{};
  std::optional<std::int64_t> run_max{};
  at_limit then = at_limit::finish; ///< not proceed: there is nothing to continue with
};

struct tool_call_limit_options {
  std::string tool{}; ///< the one that is limited; empty: all together
  std::optional<std::int64_t> thread_max{};
  std::optional<std::int64_t> run_max{};
  at_limit then = at_limit::proceed;
};

namespace detail {

/// What a limit says: nothing, or what to write and where to go.
struct limit_step {
  std::optional<call_counts> counts{};
  message_list messages{};
  jump to = jump::none;
};

/// Throws std::invalid_argument for options without a limit. @{
void check_limits(const model_call_limit_options& options);
void check_limits(const tool_call_limit_options& options);
/// @}
[[nodiscard]] std::string key_of(const tool_call_limit_options& options);
inline constexpr auto model_limit_key = "model";

[[nodiscard]] limit_step begin_run(const call_counts& counts, const std::string& key);
[[nodiscard]] limit_step before_model(const model_call_limit_options& options,
                                      const call_counts& counts);
[[nodiscard]] limit_step after_model(const call_counts& counts);
[[nodiscard]] limit_step after_model(const tool_call_limit_options& options,
                                     const call_counts& counts, const message_list& messages);

template <auto Member>
auto step_of(limit_step said) {
  using state = typename field<Member>::state;
  auto out = hook_step<state>{};
  if (said.counts)
    out.update.add(set<Member>(*std::move(said.counts)));
  if (!said.messages.empty())
    out.update.add(set<&state::messages>(std::move(said.messages)));
  out.to = said.to;
  return out;
}

/// The hook that begins to count anew when a run begins; resumed runs go on counting.
template <auto Member>
auto run_counter(std::string key) {
  using state = typename field<Member>::state;
  return [key = std::move(key)](const state& s, runtime) {
    return step_of<Member>(begin_run(s.*Member, key));
  };
}

} // namespace detail

/// Limits how often the model is asked: `model_call_limit<&desk::calls>({.run_max = 5})`, the field
/// being of type call_counts.
template <auto Member>
[[nodiscard]] middleware<typename detail::field<Member>::state>
model_call_limit(model_call_limit_options options) {
  using state = typename detail::field<Member>::state;
  detail::check_limits(options);
  auto out = middleware<state>{};
  out.name = "ModelCallLimitMiddleware";
  out.before_agent = detail::run_counter<Member>(detail::model_limit_key);
  out.before_model = {[options](const state& s, runtime) {
                        return detail::step_of<Member>(detail::before_model(options, s.*Member));
                      },
                      {jump::finish}};
  out.after_model = [](const state& s, runtime) {
    return detail::step_of<Member>(detail::after_model(s.*Member));
  };
  return out;
}

/// Limits how often tools are called, or one of them. Calls beyond the limit are not made.
template <auto Member>
[[nodiscard]] middleware<typename detail::field<Member>::state>
tool_call_limit(tool_call_limit_options options) {
  using state = typename detail::field<Member>::state;
  detail::check_limits(options);
  auto out = middleware<state>{};
  out.name = "ToolCallLimitMiddleware";
  if (!options.tool.empty())
    out.name += '[' + options.tool + ']';
  out.before_agent = detail::run_counter<Member>(detail::key_of(options));
  out.after_model = {[options](const state& s, runtime) {
                       return detail::step_of<Member>(
                           detail::after_model(options, s.*Member, s.messages));
                     },
                     {jump::finish}};
  return out;
}

/// Which results of tools the model no longer reads.
struct context_editing_options {
  std::int64_t tokens_max = 100'000; ///< a longer conversation is edited
  std::size_t keep = 3;              ///< the newest results stay
  std::int64_t clear_at_least = 0;   ///< stops when so many tokens are saved; 0: clears all it may
  bool clear_inputs = false;         ///< also empties the arguments of those calls
  std::vector<std::string> exclude_tools{};
  std::string placeholder = "[cleared]";
  token_counter count = approximate_tokens{};
};

/// The conversation with old results of tools cleared; as it is when it is short enough.
[[nodiscard]] message_list clear_tool_results(message_list messages,
                                              const context_editing_options& options);

/// Lets the model read that in place of the conversation; the state keeps everything.
[[nodiscard]] message_middleware context_editing(context_editing_options options = {});

/// After an answer of the model: the run is interrupted with a list of one human_interrupt for each
/// call that is to be reviewed, in their order, and resumes with a list of as many human_responses.
/// Accepted calls are made, edited ones as they were edited; words of a person are the answer in
/// place of the tool's, and of an ignored call the model reads that the user rejected it.
///
/// All calls of an answer are reviewed at once; review_calls() asks about each by itself.
/// A response that the config does not allow, and another number of them, fail the run.
[[nodiscard]] message_middleware human_in_the_loop(review_options options = {});

/// Where a text holds what it should not: bytes [begin, end).
struct pii_match {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const pii_match&, const pii_match&) = default;
};
/// Finds them, from left to right, without overlaps. Called by any number of runs at once.
using pii_detector = std::function<std::vector<pii_match>(std::string_view)>;

/// The detector of a kind that is known: email, credit_card (with a valid check digit), ip,
/// mac_address, url. Throws std::invalid_argument for others.
[[nodiscard]] pii_detector detector_of(std::string_view kind);
/// All that matches a pattern (RE2). Throws std::invalid_argument when it is none.
[[nodiscard]] pii_detector detector_by_pattern(const std::string& pattern);

/// What becomes of what was found.
enum class pii_strategy : std::uint8_t {
  redact, ///< [REDACTED_EMAIL]
  mask,   ///< the last part stays, depending on the kind: ************1111
  hash,   ///< <email_hash:12345678>, the same for the same value
  block,  ///< the run fails with pii_error
};

class pii_error : public std::runtime_error {
public:
  pii_error(const std::string& kind, std::size_t count);
};

/// The text after that. Throws pii_error.
[[nodiscard]] std::string without_pii(std::string_view text, const std::string& kind,
                                      const pii_detector& find, pii_strategy strategy);

struct pii_options {
  std::string kind; ///< a known one, or any name with a detector
  pii_strategy strategy = pii_strategy::redact;
  pii_detector find{}; ///< empty: that of the kind
  bool input = true;   ///< the newest message of a person
  bool output = false; ///< answers of the model. Streams have told them by then
  bool tool_results = false;
};

/// Looks for personal data in a conversation: before a call of the model in what is new, and after
/// it in the answer. Messages are replaced in the state. One for each kind.
[[nodiscard]] message_middleware pii(pii_options options);

/// When a call that failed is made again, and what becomes of one that has failed for good.
struct retry_options {
  /// Empty retry_on: what is_worth_a_retry(), and of errors of a model is_worth_another_try().
  retry_policy policy{.max_attempts = 3,
                      .initial_interval = std::chrono::milliseconds{1'000},
                      .backoff_factor = 2.0,
                      .max_interval = std::chrono::milliseconds{60'000},
                      .jitter = true,
                      .retry_on = {}};
  /// The failure is thrown; else it becomes the answer of the model or of the tool.
  bool then_throw = false;
  /// The words of that answer; empty: how often it was tried, and the error.
  std::function<std::string(const std::exception&)> words{};
};

/// Asks the model again when it fails. An answer that broke off after somebody was told a piece of
/// it is not asked for again.
[[nodiscard]] message_middleware model_retry(retry_options options = {});

/// Makes calls of tools again that threw; arguments that do not fit are answered at once. Tools of
/// a tool_node of one's own must be allowed to throw by its `errors`.
/// @param tools by name; empty: all
[[nodiscard]] message_middleware tool_retry(retry_options options = {},
                                            std::vector<std::string> tools = {});

/// Asks these models, in their order, when the agent's fails; the last error counts.
[[nodiscard]] message_middleware model_fallback(std::vector<chat_model_ptr> others);

/// When a conversation is too long, and what is kept of it.
struct summarisation_options {
  chat_model_ptr model; ///< writes the summary
  /// A conversation of so many tokens or messages is summarised; at least one must be set.
  std::optional<std::int64_t> tokens_max{};
  std::optional<std::size_t> messages_max{};
  /// The newest messages stay as they are; more of them when a call would lose its answers.
  std::size_t messages_to_keep = 20;
  token_counter count = approximate_tokens{};
  std::string prompt{};                   ///< read before the conversation; empty: ours
  std::int64_t summary_tokens_max = 4000; ///< the newest part that the summary is made of
};

/// Before a call of the model: older messages become one, a summary that a model writes. When that
/// model fails, the conversation stays as it is until the next call.
/// Throws std::invalid_argument for options without a model or without a limit.
[[nodiscard]] message_middleware summarisation(summarisation_options options);

/// One task that an agent has set itself. `status` is pending, in_progress or completed.
struct todo {
  std::string content;
  std::string status = "pending";
  friend bool operator==(const todo&, const todo&) = default;
};
BOOST_DESCRIBE_STRUCT(todo, (), (content, status))

struct todo_list_options {
  std::string prompt{};      ///< added to the system message; empty: ours
  std::string description{}; ///< of the tool; empty: ours
};

namespace detail {

/// All of it but the field's type: a tool that writes the list to the field of this name.
[[nodiscard]] message_middleware todo_list_for(std::string field, todo_list_options options);

template <auto Member>
std::string name_of_field() {
  auto name = std::string{};
  boost::mp11::mp_for_each<fields_of<typename field<Member>::state>>([&](auto d) {
    if (same_member<decltype(d)::pointer, Member>())
      name = d.name;
  });
  return name;
}

} // namespace detail

/// Gives the model a tool `write_todos`, by which it keeps a list of what it has to do:
/// `todo_list<&desk::todos>()`, the field being a std::vector<todo>. Each call replaces the whole
/// list, so several in one answer are refused.
template <auto Member>
[[nodiscard]] middleware<typename detail::field<Member>::state>
todo_list(todo_list_options options = {}) {
  static_assert(std::is_same_v<typename detail::field<Member>::type, std::vector<todo>>,
                "the field of a to-do list is a std::vector<superstep::todo>");
  return detail::todo_list_for(detail::name_of_field<Member>(), std::move(options));
}

} // namespace superstep
