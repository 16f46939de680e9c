// SPDX-License-Identifier: Apache-2.0
// The public engine: turns inputs and callbacks into run requests, submits them to the engine_core,
// and waits for results. The lanes do all the work; see lane.hpp.
#include "engine_access.hpp"
#include "engine_core.hpp"
#include "engine_scope.hpp"
#include "event_queue.hpp"
#include "printing_sink.hpp"
#include "threads/thread_run.hpp"

#include <superstep/actors/engine.hpp>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace superstep {

engine::engine(engine_options options) : core_{std::make_shared<detail::engine_core>(options)} {
  core_->start();
}

engine::~engine() {
  core_->shut_down();
}

void detail::note_copy_failure(detail::raw_result& raw) {
  if (!raw.error)
    raw.error = error_of_user_code("copying the final state", std::current_exception(), 0);
}

void engine::throw_run_error(run_error e) {
  if (!e.cause)
    throw graph_error{std::move(e)};
  try {
    std::rethrow_exception(e.cause);
  } catch (...) { // the exception of the body becomes the nested exception
    std::throw_with_nested(graph_error{std::move(e)});
  }
}

namespace {

bool is_default(const run_config& c) noexcept {
  return c.run_id.empty() && c.thread_id.empty() && !c.thread && !c.context && !c.deadline &&
         !c.max_concurrency && c.recursion_limit == default_recursion_limit && c.tags.empty() &&
         c.metadata.empty() && c.configurable.empty();
}

/// Returns the options of a run as a shared object. Runs without options of their own share one,
/// without counting their references.
std::shared_ptr<const run_config> shared_config(run_config&& config) {
  static const auto plain = run_config{};
  if (is_default(config))
    return {std::shared_ptr<void>{}, &plain};
  return std::allocate_shared<const run_config>(cache_line_allocator<run_config>{},
                                                std::move(config));
}

/// Returns the result of a run without a state.
detail::raw_result failed_result(run_error why) {
  auto result = detail::raw_result{};
  result.error = std::move(why);
  return result;
}

/// Waits for room for a run, or refuses it, as the options say.
/// @returns the reason why the run must not start; empty if it was admitted
std::optional<run_error> admit(run_limit& limit, const engine_options& options) {
  if (options.on_full == when_full::refuse) {
    if (limit.try_enter())
      return std::nullopt;
    return make_run_error(graph_errc::engine_full,
                          "the engine has " + std::to_string(*options.runs_max) +
                              " live runs (engine_options::runs_max): submit the run again when "
                              "others have ended");
  }
  if (engine_scope::is_inside()) { // waiting could block the thread that must end the other runs
    limit.enter_above_limit();
    return std::nullopt;
  }
  if (limit.enter())
    return std::nullopt;
  return make_run_error(graph_errc::cancelled, "the run was not started: the engine shuts down");
}

/// Closes the queue of a stream when its run ends. If the engine is destroyed without a result of
/// the run, because a body ran longer than the grace period, the queue is closed with an error.
class stream_end {
public:
  explicit stream_end(std::shared_ptr<detail::event_stream::queue> events)
      : events_{std::move(events)} {}
  stream_end(const stream_end&) = delete;
  stream_end& operator=(const stream_end&) = delete;
  ~stream_end() {
    if (events_)
      events_->close(failed_result(make_run_error(
          graph_errc::cancelled, "the engine was destroyed before the run had ended")));
  }
  void close(detail::raw_result raw) { std::exchange(events_, nullptr)->close(std::move(raw)); }

private:
  std::shared_ptr<detail::event_stream::queue> events_;
};

/// Sets the sink of a run of `table`, and the modes of the events that it gets.
void set_sink(run_request& request, const detail::program_ptr& table,
              std::shared_ptr<detail::event_sink> sink, stream_mode modes) {
  request.sink = std::move(sink);
  request.modes = modes;
  // The printing sink needs its own modes; it forwards to the reader only the modes that the reader
  // asked for.
  if (table->options().debug) {
    request.sink = std::make_shared<printing_sink>(table, std::move(request.sink), modes);
    request.modes = modes | printing_sink::modes;
  }
  // The queue of event_stream does not throw. All other sinks are guarded.
  if (request.sink &&
      std::dynamic_pointer_cast<detail::event_stream::queue>(request.sink) == nullptr) {
    request.sink = std::make_shared<guarded_sink>(std::move(request.sink));
    request.is_guarded = true;
  }
}

} // namespace

run_handle engine::start(const detail::program_ptr& table, detail::run_input&& input,
                         run_config&& config, std::function<void(detail::raw_result)>&& done,
                         stream_mode modes, std::shared_ptr<detail::event_sink> sink) {
  SUPERSTEP_ASSERT(table != nullptr);
  SUPERSTEP_ASSERT(modes == stream_mode::none || sink != nullptr);
  if (config.recursion_limit < 1)
    throw graph_error{
        make_run_error(errc::invalid_argument, "run_config::recursion_limit must be at least 1")};
  auto* const core = core_.get();
  // The engine may be destroyed while the thread waits for room. Without a limit no copy is made,
  // because all lanes would count it on one cache line.
  auto kept = std::shared_ptr<detail::engine_core>{};
  if (const auto& limit = core->limit()) {
    kept = core_;
    auto admitted = std::make_shared<admitted_run>(); // first, because it may throw
    if (auto refused = admit(*limit, core->options())) {
      call_back(done, failed_result(std::move(*refused)));
      return {};
    }
    admitted->hold(limit);
    done = [admitted, done = std::move(done)](detail::raw_result raw) {
      admitted->leave(); // first, so that `done` can start the next run
      done(std::move(raw));
    };
  }
  auto& target = core->choose_lane();
  auto request = run_request{};
  request.table = lane::current == &target ? target.pin(table) : table;
  request.input = std::move(input);
  request.config = shared_config(std::move(config));
  request.done = std::move(done);
  set_sink(request, table, std::move(sink), modes);
  // a copy, because the run may have ended and released its sink before on_room() is called
  const auto events = request.sink;
  const auto t = core->submit(target, std::move(request));
  if (events) {
    events->on_room([weak = core->weak_from_this(), t] {
      if (const auto alive = weak.lock())
        alive->resume(t);
    });
  }
  auto handle = run_handle{};
  handle.core_ = target.anchor();
  handle.run_ = t.number;
  handle.lane_ = t.lane;
  return handle;
}

detail::raw_result engine::wait_for(const detail::program_ptr& table, detail::run_input input,
                                    run_config config) {
  auto ended = std::promise<detail::raw_result>{};
  auto result = ended.get_future();
  start(table, std::move(input), std::move(config),
        [&ended](detail::raw_result raw) { ended.set_value(std::move(raw)); });
  return result.get();
}

detail::event_stream engine::open_stream(const detail::program_ptr& table, detail::run_input input,
                                         stream_mode modes, run_config config,
                                         std::size_t buffer_max) {
  // a queue for no event would be full at once, and the run would never continue
  auto events = std::make_shared<detail::event_stream::queue>(std::max<std::size_t>(buffer_max, 1));
  auto run = start(
      table, std::move(input), std::move(config),
      [end = std::make_shared<stream_end>(events)](detail::raw_result raw) {
        end->close(std::move(raw));
      },
      modes, events);
  return detail::event_stream{std::move(events), std::move(run)};
}

void engine::run_each(std::size_t count, std::size_t at_once_max,
                      const std::function<void(std::size_t, const std::function<void()>&)>& begin) {
  auto mutex = std::mutex{};
  auto changed = std::condition_variable{};
  auto running = std::size_t{0};
  const auto ended = std::function<void()>{[&] {
    const auto lock = std::scoped_lock{mutex};
    --running;
    // under the lock, because the waiting caller destroys the condition variable when it returns
    changed.notify_one();
  }};
  const auto wait_below = [&](std::size_t max) {
    auto lock = std::unique_lock{mutex};
    changed.wait(lock, [&] { return running < max; });
    return lock;
  };
  for (auto i = std::size_t{0}; i < count; ++i) {
    {
      const auto lock = wait_below(std::max<std::size_t>(at_once_max, 1));
      ++running;
    }
    try {
      begin(i, ended);
    } catch (...) { // wait for the earlier runs, because they use objects of this stack frame
      ended();
      static_cast<void>(wait_below(1));
      throw;
    }
  }
  static_cast<void>(wait_below(1));
}

detail::thread_place engine::place_of(const run_config& config) {
  auto place =
      detail::thread_place{.thread_id = config.thread_id, .metadata = stored_entries(config)};
  if (config.thread) {
    place.checkpoint_id = config.thread->checkpoint_id;
    place.ns = config.thread->checkpoint_ns;
  }
  return place;
}

bool detail::engine_access::has_system(engine& e, const caf::actor_system& system) {
  return &e.core_->system() == &system;
}

void detail::engine_access::at_shutdown(engine& e, std::weak_ptr<shutdown_listener> listener) {
  e.core_->listeners().add(std::move(listener));
}

engine_debug engine::debug() {
  return engine_debug{core_};
}

void run_handle::drain(std::string reason) const {
  if (!core_)
    return;
  if (const auto core = core_->lock())
    core->drain({run_, lane_}, std::move(reason));
}

void run_handle::cancel() const {
  if (!core_)
    return;
  if (const auto core = core_->lock())
    core->cancel({run_, lane_});
}

} // namespace superstep
