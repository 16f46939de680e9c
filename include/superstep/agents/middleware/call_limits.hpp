// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/detail/fields.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep {

/// Numbers of calls, by what is limited. Type of a field of the state, which several limits of an
/// agent may share.
struct call_counts {
  std::map<std::string, std::int64_t> thread; ///< in all runs of the thread
  std::map<std::string, std::int64_t> run;    ///< since the latest input
  friend bool operator==(const call_counts&, const call_counts&) = default;
};
BOOST_DESCRIBE_STRUCT(call_counts, (), (thread, run))

/// The reaction to a run that reaches a limit.
enum class at_limit : std::uint8_t {
  proceed, ///< further tool calls are answered with an error, and the model continues without them
  finish,  ///< the run ends with a message that names the limit
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
  at_limit then = at_limit::finish;         ///< not proceed: no run continues without a model
};

/// Options of tool_call_limit(). At least one maximum is required.
struct tool_call_limit_options {
  std::string tool{};                       ///< name of the limited tool; empty: all tools together
  std::optional<std::int64_t> thread_max{}; ///< per thread
  std::optional<std::int64_t> run_max{};    ///< per run
  at_limit then = at_limit::proceed;
};

namespace detail {

/// The result of a limit's hook: new counts, messages to write, and where to continue.
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

/// Makes the hook that resets the counts of a run when it begins. A resumed run keeps its counts.
template <auto Member>
auto run_counter(std::string key) {
  using state = typename field<Member>::state;
  return [key = std::move(key)](const state& s, runtime) {
    return step_of<Member>(begin_run(s.*Member, key));
  };
}

} // namespace detail

/// Limits the number of model calls: `model_call_limit<&desk::calls>({.run_max = 5})`.
/// @tparam Member the field of the state, of type call_counts, that stores the counts
/// @throws std::invalid_argument for options without a maximum
/// Source: `ModelCallLimitMiddleware` in langchain 1.4.7, agents/middleware/model_call_limit.py.
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

/// Limits the number of calls of all tools or of one tool. Calls beyond the limit are not made.
/// @tparam Member the field of the state, of type call_counts, that stores the counts
/// @throws std::invalid_argument for options without a maximum
/// Source: `ToolCallLimitMiddleware` in langchain 1.4.7, agents/middleware/tool_call_limit.py.
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

} // namespace superstep
