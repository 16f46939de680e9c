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

} // namespace superstep
