// SPDX-License-Identifier: Apache-2.0
// A lane's use of checkpointers: takes the lease on a thread, loads the thread, and waits until a
// checkpoint is durable. A thread here is LangGraph's: a conversation whose checkpoints are saved
// under a thread_id. Checkpointers answer on their own operating-system threads; the answers reach
// the lane as messages.
#include "engine_core.hpp"
#include "lane.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// A lease on its way from the checkpointer to the run that waits for it. If that run has ended,
/// the lease is released here. The release may grant the thread to another run that has ended, and
/// so on. Therefore the leases are collected and released in a loop, so that a long queue does not
/// grow the stack.
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

/// Takes the lease on the run's thread; nested runs share the lease of the outermost run. If
/// another run holds the lease, this run waits and the lane continues with other runs.
void lane::take_thread(run& r) {
  const auto& checkpointer = r.thread->checkpointer();
  if (!checkpointer || r.request.below) {
    begin_with(r, lease_ptr{});
    return;
  }
  // take() may call `arrived` before it returns, on this thread, or later on another thread. Only a
  // late answer is sent to the lane as a message.
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
  // the run has ended meanwhile: `got` releases the lease to the next run
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
  } catch (...) { // open_run() copies values of the user's types
    if (r.live)
      end_run(r, error_of_user_code("the start of the run", std::current_exception(), 0));
  }
  if (is_open)
    queue_new(r);
}

/// Loads the thread, applies the input and prepares the first step. Returns false if the run has
/// ended.
bool lane::open_run(run& r) {
  if (auto opened = r.thread->open(r.state, std::move(r.request.input), *r.request.config,
                                   r.request.below.get());
      !opened) {
    end_run(r, make_run_error(opened.error().code, opened.error().text, r.state.step()));
    return false;
  }
  r.request.input = {};
  // checked before any task runs, so that no body runs on a thread that cannot be saved
  if (fails_to_save(r))
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
