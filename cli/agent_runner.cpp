// SPDX-License-Identifier: Apache-2.0
// Runs each row of a batch as a run of an agent. Converts rows to inputs of the agent's graph, and
// results to outcomes of rows. An error is either the row's own, so that the row fails, or a fault
// of the machine, after which the row runs again or the job stops.
#include "cli/agent_runner.hpp"

#include "actors/engine_access.hpp"
#include "base/digest.hpp"
#include "base/held_exception.hpp"
#include "base/utf8.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/detail/response_reader.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/tools/detail/tool_failure.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

namespace superstep::cli {

namespace {

class running_agent final : public running_row {
public:
  /// Must be called once, before cancel().
  void set(run_handle run) { run_ = std::move(run); }
  void cancel() noexcept override { run_.cancel(); }

private:
  run_handle run_;
};

/// The handle of a row that ended before a run was started.
class nothing_running final : public running_row {
public:
  void cancel() noexcept override {}
};

/// Returns the id of the thread that stores a row's checkpoints. It begins with thread_prefix_of().
/// It contains a digest of the row's input. If the input was changed and the job is resumed with
/// --force, the row does not resume the thread of the old input.
std::string thread_of(const row_request& request) {
  auto text = to_text(request.parameters) + '\n';
  for (const auto& m : request.messages)
    append_text(text, to_json(m));
  constexpr auto digits = std::size_t{16};
  return thread_prefix_of(request.job) + request.key + '/' + digest_text(text).substr(0, digits);
}

/// Returns the outcome of a row that fails without a run.
row_outcome refused(std::string kind, std::string text) {
  auto out = row_outcome{};
  out.status = row_status::error;
  auto why = row_error{};
  why.kind = std::move(kind);
  why.code = why.kind;
  why.message = std::move(text);
  out.error = std::move(why);
  return out;
}

/// Returns the error code of an exception; an empty code if it has none.
std::error_code code_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
    return make_error_code(errc::shortage);
  const auto* of_asio = dynamic_cast<const boost::system::system_error*>(&e);
  if (of_asio != nullptr && is_shortage(of_asio->code()))
    return make_error_code(errc::shortage);
  const auto* failed = dynamic_cast<const std::system_error*>(&e);
  return failed != nullptr ? failed->code() : std::error_code{};
}

/// Returns the error code of the exception that a node's body threw; an empty code if it has none.
std::error_code thrown_code(const std::exception_ptr& cause) {
  if (!cause)
    return {};
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    return code_of(e);
  } catch (...) {
    return {};
  }
}

/// Returns the HTTP status of the model server's answer that caused an exception; 0 for any other
/// exception.
int http_status_of(const std::exception_ptr& cause) {
  if (!cause)
    return 0;
  try {
    std::rethrow_exception(cause);
  } catch (const model_error& e) {
    return e.http_status();
  } catch (...) {
    return 0;
  }
}

/// Adds a failed call of the model, which is not in the run's state, and the answers that it has
/// received, for example invalid structured responses.
void add_failed_call(row_outcome& out, const std::exception_ptr& cause) {
  if (!cause)
    return;
  try {
    std::rethrow_exception(cause);
  } catch (const model_error& e) {
    out.model_calls += std::max(e.answers(), std::uint32_t{1});
    if (const auto* usage = e.usage())
      add_token_usage{}(out.usage, token_usage{*usage});
  } catch (...) { // not an error of the model
    return;
  }
}

/// Adds a failed tool call, whose step has no results in the run's state.
void add_failed_tool_call(row_outcome& out, const std::exception_ptr& cause) {
  if (thrown_code(cause) != tool_errc::worker_failed)
    return;
  ++out.tool_calls;
  ++out.failed_tool_calls;
}

/// Whether a server has reported no tokens at all. Answers from the cache have details.
bool is_unreported(const token_usage& usage) {
  return usage.input_tokens == 0 && usage.output_tokens == 0 && usage.total_tokens == 0 &&
         usage.input_details.empty();
}

/// Whether a failed call has received answers whose tokens the server did not report.
bool has_unreported_answers(const std::exception_ptr& cause) {
  if (!cause)
    return false;
  try {
    std::rethrow_exception(cause);
  } catch (const model_error& e) {
    return e.answers() > 0 && (e.usage() == nullptr || is_unreported(*e.usage()));
  } catch (...) { // not an error of the model
    return false;
  }
}

/// Whether an error means that the checkpoint database or a recording cannot be read or written.
/// The other checkpoint errors are caused by the values of a single row.
bool is_of_storage(std::error_code code) {
  if (code == errc::io_failed)
    return true;
  if (code.category() != make_error_code(checkpoint_errc::failed).category())
    return false;
  return code != checkpoint_errc::not_storable && code != checkpoint_errc::type_changed &&
         code != checkpoint_errc::node_gone;
}

/// Returns a fault if an error code means that the machine failed; nullopt for an error of the row.
std::optional<row_fault> fault_of(std::error_code code, const std::string& text) {
  if (code == model_errc::quota_exhausted)
    return row_fault{row_fault::kind::quota, text};
  if (is_of_storage(code))
    return row_fault{row_fault::kind::broken, text};
  if (is_shortage(code))
    return row_fault{row_fault::kind::shortage, text};
  return std::nullopt;
}

/// Returns the fault of the machine that caused an exception; nullopt for an error of the row.
/// Nested exceptions are searched too, because an agent that is called as a tool wraps the error of
/// its own tool.
std::optional<row_fault> fault_in(const std::exception_ptr& cause, const std::string& text) {
  auto found = std::optional<row_fault>{};
  detail::visit_nested(cause, [&](const std::exception& e) {
    found = fault_of(code_of(e), text);
    if (!found && dynamic_cast<const tool_unavailable*>(&e) != nullptr)
      found = row_fault{row_fault::kind::broken, text}; // the tool fails for every row
    return found.has_value();
  });
  return found;
}

bool is_of_model(std::error_code code) {
  return code && code.category() == make_error_code(model_errc::bad_request).category();
}

/// Returns the text of the answer that made a structured response invalid; empty for any other
/// exception.
std::string answer_of(const std::exception_ptr& cause) {
  if (!cause)
    return {};
  try {
    std::rethrow_exception(cause);
  } catch (const react::invalid_response& e) {
    return std::string{utf8_prefix(e.answer(), row_error_answer_max)};
  } catch (...) {
    return {};
  }
}

/// Returns the text of an error without its place in the graph, so that it begins with what went
/// wrong. The place is in members of row_error. So is the error code of a model, which its text
/// therefore does not repeat.
std::string text_without_place(const run_error& e) {
  auto why = e.cause ? describe(e.cause) : std::string{};
  if (why.empty() || !e.text.ends_with(why))
    return e.text;
  try {
    std::rethrow_exception(e.cause);
  } catch (const graph_error& below) { // the error of a sub-agent has a place of its own
    return text_without_place(below.details());
  } catch (const model_error& failed) {
    const auto code = ": " + failed.code().message();
    return why.ends_with(code) ? why.substr(0, why.size() - code.size()) : why;
  } catch (...) {
    return why;
  }
}

row_error describe_row_error(const run_error& e) {
  auto out = row_error{};
  out.kind = error_kind(e);
  out.code = error_code_name(e);
  out.http_status = http_status_of(e.cause);
  out.message = text_without_place(e);
  out.node = e.node;
  out.step = e.step;
  out.attempts = e.attempts;
  out.answer = answer_of(e.cause);
  return out;
}

/// Counts the tool calls of this row that failed. The first `before` messages are input.
void count_failed_calls(row_outcome& out, const message_list& messages, std::size_t before) {
  for (auto i = std::min(before, messages.size()); i < messages.size(); ++i)
    out.failed_tool_calls += messages[i].is_error ? 1U : 0U;
}

/// Copies the results in the run's final state to the row's outcome. They cannot be moved, because
/// the checkpointer of a saved row shares the state.
void copy_state(row_outcome& out, const chat_state& state, const row_input_size& input) {
  count_failed_calls(out, state.messages, input.messages);
  // Some servers report the name of the model that gave the answer.
  if (!state.messages.empty())
    if (const auto* name = state.messages.back().response_metadata.if_contains("model_name"))
      if (name->is_string())
        out.model = name->get_string().c_str();
  out.messages = state.messages;
  out.usage = state.usage;
  // The counter of the state starts with the answers in the input; see agent_front::turn().
  out.model_calls = state.model_calls - std::min(state.model_calls, input.answers);
  out.tool_calls = state.tool_calls;
  if (!state.structured_response.is_null())
    out.state["structured_response"] = state.structured_response;
}

// A row that has been started more often fails instead of running again after another process.
constexpr auto overtaken_attempts_max = std::uint32_t{20};

/// Whether another process has run the same row, which it has lost or given away: either after
/// begin() has looked for checkpoints of the row, or because this process lost its lease on the
/// row's thread. When the row runs again, it resumes from the checkpoints of the other process.
bool is_overtaken(std::error_code code) {
  return code == graph_errc::used_thread || code == checkpoint_errc::conflict;
}

/// Returns a row's outcome without the parts that come from the run's final state: status, error,
/// fault, times and steps.
row_outcome outcome_of(const detail::raw_result& run, std::int64_t steps_before,
                       std::uint32_t attempt, const std::vector<call_time>& tool_times) {
  auto out = row_outcome{};
  if (run.error) {
    const auto is_cancelled = run.error->code == graph_errc::cancelled;
    out.status = is_cancelled ? row_status::cancelled : row_status::error;
    out.error = describe_row_error(*run.error);
    if (!is_cancelled) {
      out.fault = fault_of(run.error->code, out.error->message);
      if (!out.fault)
        out.fault = fault_in(run.error->cause, out.error->message);
      if (is_overtaken(run.error->code) && attempt <= overtaken_attempts_max)
        out.fault = row_fault{row_fault::kind::overtaken, "another process has just run it"};
    }
  }
  const auto& waits = run.stats.barrier_wait_ns;
  out.barrier_wait = std::chrono::nanoseconds{
      static_cast<std::int64_t>(std::accumulate(waits.begin(), waits.end(), std::uint64_t{0}))};
  const auto steps = static_cast<std::int64_t>(run.stats.steps) + steps_before;
  out.steps = static_cast<std::uint32_t>(std::max<std::int64_t>(steps, 0));
  out.tool_times.reserve(tool_times.size());
  for (const auto& call : tool_times)
    out.tool_times.push_back(call.took);
  return out;
}

/// Whether the API of an agent's model has the parameter `seed`. The other APIs reject it. A
/// recording may be of any API, so its model ignores a seed that was not recorded. Other models
/// without a server choose by the row's key, which differs between samples.
bool takes_seed(const agent& a) {
  const auto& model = a.spec().model;
  const auto* provider = std::get_if<provider_model_options>(&model);
  return provider != nullptr
             ? provider->api == provider_api::openai_chat || provider->api == provider_api::ollama
             : std::holds_alternative<replayed_model_options>(model);
}

/// Returns the model that the parameters name; `otherwise` if they name none.
std::string model_in(const json::object& parameters, const std::string& otherwise) {
  const auto* const named = parameters.if_contains("model");
  return named != nullptr && named->is_string() ? std::string{named->get_string()} : otherwise;
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
  if (is_of_model(thrown))
    return "model_error";
  return thrown == errc::invalid_argument ? "invalid_input" : "node_failed";
}

std::string error_code_name(const run_error& e) {
  auto kind = error_kind(e);
  if (kind != "model_error" && kind != "node_failed")
    return kind;
  auto code = std::error_code{e.code};
  if (const auto thrown = thrown_code(e.cause); thrown && code == graph_errc::node_failed)
    code = thrown;
  const auto name = to_string(code);
  const auto at = name.find("::");
  return at == std::string::npos ? kind : name.substr(at + 2);
}

std::string model_name_of(const agent& a) {
  const auto* options = std::get_if<provider_model_options>(&a.spec().model);
  return options != nullptr ? model_in(options->parameters, options->model) : std::string{};
}

std::string model_name_of(const agent& a, const json::object& parameters) {
  return model_in(parameters, model_name_of(a));
}

agent_runner::agent_runner(const agent& a, engine& e, event_log* events, trace_log* trace,
                           open_checkpointer open, price_table prices, bool needs_price,
                           std::shared_ptr<const call_activity> activity)
    : agent_{a}, engine_{e}, events_{events}, trace_{trace}, open_{std::move(open)},
      prices_{std::make_shared<const price_table>(std::move(prices))}, needs_price_{needs_price},
      activity_{std::move(activity)} {}

result<void> agent_runner::begin_job(const std::string& job) {
  if (open_) {
    auto opened = open_(job);
    if (!opened)
      return opened.error();
    checkpointer_ = *std::move(opened);
  }
  // Opening the event log clears the log of another job. So it comes last, when the job can no
  // longer be rejected.
  if (trace_ != nullptr)
    if (auto opened = trace_->open(); !opened)
      return opened;
  return events_ != nullptr ? events_->open(job) : result<void>{};
}

void agent_runner::complete(batch_progress& now) const {
  if (!activity_)
    return;
  auto calls = activity_->now();
  now.retries = calls.retries;
  now.calls_repeating = calls.repeating;
  now.calls_waiting = calls.waiting;
  if (!calls.last_error.empty())
    now.last_error = std::move(calls.last_error);
}

std::unique_ptr<running_row> agent_runner::submit(row_request request, done_function done) {
  if (!request.input.empty()) {
    auto ended = std::make_unique<nothing_running>();
    done(refused("invalid_input", "the agent's state has no member '" +
                                      std::string{request.input.begin()->key()} +
                                      "'; the only member is messages"));
    return ended;
  }
  if (request.seed && (passes_seeds_ || takes_seed(agent_)))
    request.parameters["seed"] = *request.seed;
  // Also without checkpoints: rows of other jobs, which may have the same ids, must not make tool
  // calls with the same idempotency key.
  request.config.thread_id =
      checkpointer_ ? thread_of(request) : thread_prefix_of(request.job) + request.key;
  auto price = price_for(request.parameters);
  if (needs_price_ && !price) {
    auto ended = std::make_unique<nothing_running>();
    done(refused("invalid_input", "the price of the row's model is not known, but --budget-usd "
                                  "needs it; add it to the key prices of the agent file"));
    return ended;
  }
  auto trace = trace_ != nullptr ? trace_->begin_row(request.key) : nullptr;
  const auto calls = request.config.deadline ? std::make_shared<row_calls>() : nullptr;
  const auto context = context_for(request, trace, calls);
  request.config.context = context;
  const auto input = row_input_size{request.messages.size(), react::answers_in(request.messages)};
  auto from = beginning{};
  try {
    from = begin(request);
  } catch (const checkpoint_error& e) {
    auto ended = std::make_unique<nothing_running>();
    if (trace)
      trace->end("node_failed", {});
    auto out = refused("node_failed", e.what());
    out.fault = fault_of(e.code(), e.what());
    done(std::move(out));
    return ended;
  }
  const auto modes = trace ? stream_mode::debug : stream_mode::none;
  auto end = ending{.context = context,
                    .input = input,
                    .steps_before = from.steps,
                    .attempt = request.attempt,
                    .saved_steps = checkpointer_ ? saved_steps_of(request) : nullptr,
                    .price = price,
                    .trace = trace,
                    .calls = calls,
                    .done = std::move(done)};
  auto running = std::make_unique<running_agent>(); // first, because nothing may throw later
  running->set(detail::engine_access::start(engine_, detail::program_of(agent_.graph()),
                                            std::move(from.input), std::move(request.config),
                                            end_of(std::move(end)), modes, std::move(trace)));
  return running;
}

std::shared_ptr<const agent_context>
agent_runner::context_for(row_request& request, const std::shared_ptr<row_trace>& trace,
                          const std::shared_ptr<row_calls>& calls) const {
  auto out = agent_context{};
  out.parameters = std::move(request.parameters);
  out.sample = request.sample;
  out.attempt = request.attempt;
  out.tool_times = std::make_shared<const call_times>();
  out.repeats_cancelled_step = true;
  if (events_ || trace || calls)
    out.observe = [events = events_, trace, calls, key = request.key,
                   attempt = request.attempt](const call_event& event) {
      if (events)
        events->add(key, attempt, event);
      if (trace)
        trace->observe(event.event, event.call_id);
      if (calls)
        calls->observe(event);
    };
  return std::make_shared<const agent_context>(std::move(out));
}

/// Returns the prices of the model that a row asks for.
std::optional<model_price> agent_runner::price_for(const json::object& parameters) const {
  const auto* found = prices_->find(model_name_of(agent_, parameters));
  return found != nullptr ? std::optional{*found} : std::nullopt;
}

std::function<void(detail::raw_result)> agent_runner::end_of(ending end) const {
  const auto has_server = std::holds_alternative<provider_model_options>(agent_.spec().model);
  return [end = std::move(end), prices = prices_, has_server](const detail::raw_result& ended) {
    auto out = row_outcome{};
    try {
      const auto times = end.context->tool_times->take();
      if (end.trace)
        end.trace->end(ended.error ? error_kind(*ended.error) : "ok", times);
      out = outcome_of(ended, end.steps_before, end.attempt, times);
      // A run without steps has found that another process has just ended the row.
      if (end.saved_steps && (end.steps_before >= 0 || ended.stats.steps == 0))
        out.steps = std::max(out.steps, end.saved_steps());
      auto next_call = std::uint32_t{0}; // number of the first call that the state does not contain
      if (ended.state) {
        const auto& state = static_cast<const struct_block<chat_state>&>(*ended.state).state;
        copy_state(out, state, end.input);
        next_call = state.model_calls;
      }
      out.is_usage_unknown =
          has_server && ((out.model_calls > 0 && is_unreported(out.usage)) ||
                         (ended.error && has_unreported_answers(ended.error->cause)));
      auto is_cut = false;
      if (ended.error && ended.error->code == graph_errc::deadline && end.calls) {
        is_cut = end.calls->add_to(out, next_call, has_server);
      } else if (ended.error) {
        add_failed_call(out, ended.error->cause);
        add_failed_tool_call(out, ended.error->cause);
      }
      // The tokens of a call that was cut off are not known. Those of earlier calls are.
      const auto has_no_tokens = is_cut && is_unreported(out.usage);
      // The server may report a model of which the prices are known, for example with a date.
      const auto* price = end.price ? &*end.price : prices->find(out.model);
      if (price != nullptr && !out.is_usage_unknown && !has_no_tokens)
        out.cost = cost_of(out.usage, *price);
    } catch (const std::bad_alloc&) { // the job would wait forever for a row without an outcome
      out = {};
      out.status = row_status::error;
      out.fault.emplace(row_fault{row_fault::kind::shortage, "out of memory"}); // allocates nothing
    }
    end.done(std::move(out));
  };
}

/// Returns a function that reads how many super-steps of a row are saved. Between the call of
/// begin() and the start of the run, another process may have saved further ones.
std::function<std::uint32_t()> agent_runner::saved_steps_of(const row_request& request) const {
  return [from = checkpointer_, key = thread_key{request.config.thread_id, {}},
          as = detail::program_of(agent_.graph())->layout()] {
    try {
      const auto saved = from->load(key, {}, as);
      const auto step = saved ? saved->checkpoint->step : 0;
      return static_cast<std::uint32_t>(std::max<std::int64_t>(step, 0));
    } catch (const checkpoint_error&) { // the run has reported it, or its results are complete
      return std::uint32_t{0};
    }
  };
}

agent_runner::beginning agent_runner::begin(row_request& request) const {
  auto out = beginning{};
  if (!checkpointer_ && trace_ == nullptr) { // no one sees which fields of a new state are written
    out.input =
        detail::input_writes(update{set<&chat_state::messages>(std::move(request.messages))});
    return out;
  }
  auto state = chat_state{};
  state.messages = std::move(request.messages);
  out.input = detail::input_writes(std::move(state));
  if (!checkpointer_)
    return out;
  auto& config = request.config;
  auto& kept = config.thread.emplace();
  kept.durability = durability::sync; // a crash must not repeat a finished step
  kept.checkpointer = checkpointer_;
  const auto saved =
      checkpointer_->load({config.thread_id, {}}, {}, detail::program_of(agent_.graph())->layout());
  // The statistics of a saved run also count the step that stores its input. -1 compensates for it.
  out.steps = saved ? saved->checkpoint->step : -1;
  if (!saved)
    return out;
  out.input = detail::run_input::resume();
  // The recursion limit applies to the row as a whole, including the steps of earlier runs of the
  // job.
  const auto left = std::int64_t{config.recursion_limit} - std::max<std::int64_t>(out.steps, 0);
  config.recursion_limit = static_cast<std::uint32_t>(std::max<std::int64_t>(left, 1));
  return out;
}

std::string thread_prefix_of(const std::string& job) {
  return job + '/';
}

} // namespace superstep::cli
