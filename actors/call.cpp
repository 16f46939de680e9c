// SPDX-License-Identifier: Apache-2.0
// The record of one call: runs the body or resumes its coroutine, and implements the services that
// bodies use (interrupts, stop tokens, streams, nested runs). Bodies call the services on any
// thread. Therefore the services use only the record itself, and send everything else to the lane
// as messages. call_table.cpp manages the records.
#include "call.hpp"

#include "lane.hpp"
#include "run.hpp"
#include "simulation.hpp"

#include <utility>

namespace superstep {

const call_extras call::no_extras{nullptr};

call::call(superstep::lane& l) noexcept {
  at.where = &l;
  at.owner = this;
}

call::~call() {
  delete own_extras();
}

superstep::lane& call::owner_lane() const noexcept {
  return *static_cast<superstep::lane*>(at.where);
}

call_extras& call::more() {
  if (auto* const own = own_extras())
    return *own;
  auto made = std::make_unique<call_extras>(this);
  auto* first = static_cast<call_extras*>(nullptr);
  if (extras_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *first;
}

void call::advance(std::coroutine_handle<> frame) noexcept {
  const auto* const own = own_extras();
  if (own != nullptr && own->barrier) {
    own->barrier->run();
    progress = body_progress::ended;
    return;
  }
  if (own != nullptr && own->forked) {
    const auto& forked = own->forked;
    // A forked body catches all exceptions itself (run_one in await.hpp), so only its end matters
    // here.
    (frame ? frame : forked.handle()).resume();
    if (forked.done() || progress == body_progress::giving_up)
      progress = body_progress::ended;
    return;
  }
  auto has_ended_now = false;
  if (!frame) {
    has_ended_now = detail::start_body(input, *out, at, failed);
    if (!has_ended_now)
      rest = std::move(out->rest);
  } else {
    frame.resume();
    has_ended_now = rest.done() && end_coroutine();
  }
  // the body waits at an interrupt; its frames are destroyed without an exception
  if (!has_ended_now && progress == body_progress::giving_up) {
    rest = {};
    has_ended_now = true;
  }
  if (has_ended_now)
    progress = body_progress::ended;
}

/// Takes the result of a coroutine that has ended.
bool call::end_coroutine() noexcept {
  try {
    if (!out)
      out = std::make_unique<detail::node_body::outcome>();
  } catch (...) { // memory is short
    failed = std::current_exception();
    rest = {};
    return true;
  }
  out->rest = std::move(rest);
  return detail::continue_body(input, *out, failed);
}

std::optional<json::value> task_interrupts::ask(const json::value& question) {
  const auto lock = std::scoped_lock{mutex};
  if (next < answers.size())
    return answers[next++];
  // Forked calls of the body may have asked and stopped already. Their questions come first: an
  // answer that is stored before theirs would be returned to the wrong call.
  auto id = interrupt_id(place.ns, place.task, answers.size() + interrupts.size());
  if (given && interrupts.empty()) {
    if (auto answer = given->take(id)) {
      answers.push_back(*answer);
      next = answers.size();
      was_answered = true;
      return answer;
    }
  }
  interrupts.push_back({std::move(id), question});
  stopped = true;
  return std::nullopt;
}

task_interrupts& call::own_interrupts() {
  const auto lock = std::scoped_lock{stop_mutex_};
  auto& asked = more().asked;
  if (!asked) { // without a checkpointer nothing can be resumed, but interrupts still need ids
    auto made = std::make_shared<task_interrupts>();
    made->place.task = (*input.config)->run_id + '@' + std::to_string(input.step) + '/' +
                       input.table->node(input.node).name + '#' + std::to_string(input.task_index);
    asked = std::move(made);
  }
  return *asked;
}

std::shared_ptr<task_interrupts> call::asked() const {
  const auto lock = std::scoped_lock{stop_mutex_};
  return extras().asked;
}

std::optional<json::value> call::ask(const json::value& question) {
  return own_interrupts().ask(question);
}

bool call::is_interrupted() {
  const auto record = own_extras() != nullptr ? asked() : nullptr;
  if (!record)
    return false;
  const auto lock = std::scoped_lock{record->mutex};
  return record->stopped;
}

void call::pass_on(std::vector<interrupt> questions) {
  auto& mine = own_interrupts();
  const auto lock = std::scoped_lock{mine.mutex};
  mine.stopped = true;
  for (auto& q : questions)
    mine.interrupts.push_back(std::move(q));
}

detail::task_place_ptr call::place() {
  // a tool call forked by this body may create the record at the same time
  const auto lock = std::scoped_lock{stop_mutex_};
  const auto& asked = extras().asked;
  return asked && asked->place.journal.records ? detail::task_place_ptr{asked, &asked->place}
                                               : nullptr;
}

void call::start_nested(detail::program_ptr below_table, write_list with,
                        completer<detail::nested_outcome> done) {
  static_cast<void>(more()); // so that the lane, which links the run, need not allocate them
  has_requested_nest.store(true, std::memory_order_relaxed);
  owner_lane().nest(*this, std::move(below_table), std::move(with), std::move(done));
}

void call::return_to_lane() noexcept {
  owner_lane().post(this);
}

std::stop_token call::stop_token() {
  const auto lock = std::scoped_lock{stop_mutex_};
  if (!stopper_.stop_possible())
    stopper_ = std::stop_source{};
  if (stop_requested_)
    stopper_.request_stop();
  return stopper_.get_token();
}

std::optional<std::chrono::steady_clock::time_point> call::deadline() const noexcept {
  return is(call_trait::has_deadline) ? std::optional{extras().due} : std::nullopt;
}

void call::leave_run() noexcept {
  const auto lock = std::scoped_lock{stop_mutex_}; // the body may be asking for a handle
  owner = nullptr;
}

void call::request_stop() {
  const auto stopper = [this] {
    const auto lock = std::scoped_lock{stop_mutex_};
    stop_requested_ = true;
    return stopper_;
  }();
  stopper.request_stop(); // outside the lock, because it runs the token's callbacks
}

namespace {

/// Returns a function that fills in the mode, node, step and path of an event and sends it. The
/// function copies what it needs, so it may outlive the call.
auto event_sender(const call& c, stream_mode mode) {
  return [mode, sink = c.extras().sink, below = c.extras().below,
          node = c.input.table->node(c.input.node).name, step = c.input.step,
          index = c.input.task_index](detail::run_event&& event) {
    event.mode = mode;
    event.step = step;
    event.node = node;
    event.task_index = index;
    if (below) {
      event.path = {below, &below->path};
      event.ns = {below, &below->ns};
    }
    sink->push(std::move(event));
  };
}

} // namespace

std::function<void(json::value)> call::emitter() {
  if (!is(call_trait::streams_custom) || !extras().sink)
    return {};
  return [send = event_sender(*this, stream_mode::custom)](json::value data) {
    auto event = detail::run_event{};
    event.data = std::move(data);
    send(std::move(event));
  };
}

std::function<void(value)> call::message_emitter() {
  if (!is(call_trait::streams_messages) || !extras().sink)
    return {};
  return [send = event_sender(*this, stream_mode::messages)](value message) {
    auto event = detail::run_event{};
    event.message = std::move(message);
    send(std::move(event));
  };
}

void call::note_progress(detail::progress_kind kind) noexcept {
  if (!SUPERSTEP_MUTANT(lose_heartbeat) &&
      (kind == detail::progress_kind::heartbeat || !is(call_trait::heartbeats_only)))
    restart_idle_limit();
}

void call::restart_idle_limit() noexcept {
  if (is(call_trait::is_timed))
    more().progressed.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                            std::memory_order_relaxed);
}

} // namespace superstep
