// SPDX-License-Identifier: Apache-2.0
// A lane's use of checkpointers: acquiring the lease on a thread, loading the thread, and waiting
// until a checkpoint is durable. Checkpointers answer on their own threads; the answers come back
// to the lane as messages.
#include "engine_core.hpp"
#include "lane.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// A lease on its way from the checkpointer to the waiting run. If the run has ended, releasing the
/// lease grants the thread to the next waiting run, which may have ended as well. The leases are
/// therefore released one after another in a loop, so that a long queue does not grow the stack.
class granted_lease {
public:
  explicit granted_lease(result<lease_ptr> got) : got_{std::move(got)} {}
  granted_lease(const granted_lease&) = delete;
  granted_lease& operator=(const granted_lease&) = delete;
  ~granted_lease() {
    if (!got_ || *got_ == nullptr)
      return;
    thread_local auto* dropping = static_cast<std::vector<lease_ptr>*>(nullptr);
    if (dropping != nullptr) {
      dropping->push_back(std::move(*got_));
      return;
    }
    auto all = std::vector<lease_ptr>{};
    dropping = &all;
    all.push_back(std::move(*got_));
    while (!all.empty()) {
      const auto last = std::move(all.back());
      all.pop_back();
    }
    dropping = nullptr;
  }
  [[nodiscard]] result<lease_ptr> take() { return std::exchange(got_, lease_ptr{}); }

private:
  result<lease_ptr> got_;
};

} // namespace

/// Acquires the lease on the run's thread, which nested runs share. If another run holds it, this
/// run waits while its lane continues.
void lane::take_thread(run& r) {
  const auto& checkpointer = r.thread->checkpointer();
  if (!checkpointer || r.request.below) {
    begin_with(r, lease_ptr{});
    return;
  }
  struct arrival {
    std::mutex mutex;
    bool is_late = false;
    std::optional<result<lease_ptr>> got;
  };
  const auto at = std::make_shared<arrival>();
  const auto& set = r.request.config->thread;
  const auto arrived = [at, core = core_.weak_from_this(), number = r.number,
                        index = index_](result<lease_ptr> got) {
    const auto lock = std::scoped_lock{at->mutex};
    if (!at->is_late) {
      at->got = std::move(got);
      return;
    }
    const auto granted = std::make_shared<granted_lease>(std::move(got));
    if (const auto alive = core.lock())
      alive->on_lane(index,
                     [number, granted](lane& l) { l.thread_was_taken(number, granted->take()); });
  };
  try {
    checkpointer->take(r.thread->key().thread_id, set ? set->on_busy : busy_policy::wait, arrived);
  } catch (...) {
    const auto cause = std::current_exception();
    arrived(error{failure_code(cause, graph_errc::user_code_failed),
                  "the checkpointer of thread '" + r.thread->key().thread_id +
                      "' failed: " + describe(cause)});
  }
  auto now = std::optional<result<lease_ptr>>{};
  {
    const auto lock = std::scoped_lock{at->mutex};
    now = std::exchange(at->got, std::nullopt);
    at->is_late = !now;
  }
  r.is_saving = !now;
  if (now)
    begin_with(r, std::move(*now));
}

void lane::thread_was_taken(std::uint64_t number, result<lease_ptr> got) {
  auto* const r = find_run(number);
  // the run has ended meanwhile: the lease passes to the next run
  if (r == nullptr || !r->is_saving)
    return;
  r->is_saving = false;
  begin_with(*r, std::move(got));
}

void lane::begin_with(run& r, result<lease_ptr> got) {
  if (!got) {
    end_run(r, make_run_error(got.error().code, got.error().text));
    return;
  }
  r.thread->hold(std::move(*got));
  auto is_open = false;
  try {
    is_open = open_run(r);
  } catch (...) { // it copies values of user types
    if (r.live)
      end_run(r, error_of_user_code("the start of the run", std::current_exception(), 0));
  }
  if (is_open)
    queue_new(r);
}

/// Loads the thread and applies the input. Returns false if the run has ended.
bool lane::open_run(run& r) {
  if (auto opened = r.thread->open(r.state, std::move(r.request.input), *r.request.config,
                                   r.request.below.get());
      !opened) {
    end_run(r, make_run_error(opened.error().code, opened.error().text, r.state.step()));
    return false;
  }
  r.request.input = {};
  if (fails_to_save(r)) // checked before any task runs
    return false;
  if (r.thread->is_resuming()) {
    r.has_moved = false;
    show(r, {});
    if (r.streams(stream_mode::values)) {
      auto event = event_of(r, stream_mode::values);
      event.step = r.state.step() + 1;
      event.state = r.state.state();
      r.request.sink->push(std::move(event));
    }
  }
  return advance_step(r);
}

void lane::run_was_saved(std::uint64_t number) {
  auto* const r = find_run(number);
  if (r == nullptr || !r->is_saving)
    return;
  r->is_saving = false;
  r->thread->check();
  if (!fails_to_save(*r))
    queue(*r);
}

} // namespace superstep
