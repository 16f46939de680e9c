// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_runner.hpp"

#include <superstep/models/model_error.hpp>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <utility>

namespace superstep::cli {

namespace {

class running_agent final : public running_row {
public:
  explicit running_agent(run_handle run) : run_{std::move(run)} {}
  void cancel() noexcept override { run_.cancel(); }

private:
  run_handle run_;
};

class nothing_running final : public running_row {
public:
  void cancel() noexcept override {}
};

row_outcome refused(std::string kind, std::string text) {
  auto out = row_outcome{};
  out.status = row_status::error;
  auto why = row_error{};
  why.kind = std::move(kind);
  why.message = std::move(text);
  out.error = std::move(why);
  return out;
}

// What the body threw, when it was an error of ours.
std::error_code thrown_code(const std::exception_ptr& cause) {
  if (!cause)
    return {};
  try {
    std::rethrow_exception(cause);
  } catch (const std::system_error& e) {
    return e.code();
  } catch (...) {
    return {};
  }
}

row_error describe_row_error(const run_error& e) {
  auto out = row_error{};
  out.kind = error_kind(e);
  out.message = e.text;
  out.node = e.node;
  out.step = e.step;
  out.attempts = e.attempts;
  return out;
}

void take_state(row_outcome& out, chat_state& state) {
  // The server's own name for what answered, when it gives one.
  if (!state.messages.empty())
    if (const auto* name = state.messages.back().response_metadata.if_contains("model_name"))
      if (name->is_string())
        out.model = name->get_string().c_str();
  out.messages = std::move(state.messages);
  out.usage = std::move(state.usage);
  out.model_calls = state.model_calls;
  out.tool_calls = state.tool_calls;
}

row_outcome outcome_of(run_result<chat_state>& run, const call_times& tool_times) {
  auto out = row_outcome{};
  if (run.error) {
    const auto is_cancelled = run.error->code == graph_errc::cancelled;
    out.status = is_cancelled ? row_status::cancelled : row_status::error;
    out.error = describe_row_error(*run.error);
  }
  if (run.state)
    take_state(out, *run.state);
  const auto& waits = run.stats.barrier_wait_ns;
  out.barrier_wait = std::chrono::nanoseconds{
      static_cast<std::int64_t>(std::accumulate(waits.begin(), waits.end(), std::uint64_t{0}))};
  out.steps = static_cast<std::uint32_t>(run.stats.steps);
  out.tool_times = tool_times.take();
  return out;
}

} // namespace

std::string error_kind(const run_error& e) {
  if (e.code == graph_errc::recursion_limit)
    return "recursion_limit";
  if (e.code == graph_errc::deadline)
    return "timed_out";
  if (e.code == graph_errc::cancelled)
    return "cancelled";
  if (e.code == graph_errc::actor_exited)
    return "actor_exited";
  const auto thrown = thrown_code(e.cause);
  if (thrown && thrown.category() == make_error_code(model_errc::bad_request).category())
    return "model_error";
  return thrown == errc::invalid_argument ? "invalid_input" : "node_failed";
}

std::unique_ptr<running_row> agent_runner::submit(row_request request, done_function done) {
  if (!request.input.empty()) {
    done(refused("invalid_input", "the state of this agent has no '" +
                                      std::string{request.input.begin()->key()} +
                                      "'; it has: messages"));
    return std::make_unique<nothing_running>();
  }
  auto times = std::make_shared<const call_times>();
  auto context = agent_context{};
  context.parameters = std::move(request.parameters);
  context.tool_times = times;
  if (events_)
    context.observe = [events = events_, key = request.key](std::string_view event,
                                                            std::string_view call_id) {
      events->add(key, event, call_id);
    };
  request.config.context = std::make_shared<const agent_context>(std::move(context));
  auto state = chat_state{};
  state.messages = std::move(request.messages);
  auto run = engine_.submit(agent_.graph(), std::move(state), std::move(request.config),
                            std::function<void(run_result<chat_state>)>{
                                [times, done = std::move(done)](run_result<chat_state> ended) {
                                  done(outcome_of(ended, *times));
                                }});
  return std::make_unique<running_agent>(std::move(run));
}

} // namespace superstep::cli
