// SPDX-License-Identifier: Apache-2.0
// Moves runs from busy lanes to idle ones.
#include "run_sharing.hpp"

#include "engine_core.hpp"
#include "lane.hpp"
#include "saved_result.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// The number of polls for which the watcher does not ask a lane again that had nothing to share.
constexpr auto pause_polls = 4U;

/// The largest number of runs that are counted, and of which a request moves half.
constexpr auto counted_max = std::uint32_t{256};

/// Ends the use of a run's thread, as at the end of the run. The callback then waits until the
/// checkpoints are durable.
void finish_thread(run& r, const std::shared_ptr<late_results>& late) {
  const auto& saved = r.extras().saved;
  if (!r.thread || !saved)
    return;
  r.thread->close(false, true);
  // a copy of the callback, so that it is not lost if memory is short
  r.request.done = [saved, late, lease = r.thread->give_up_lease(),
                    done = r.request.done](detail::raw_result raw) {
    saved->deliver(late, lease, done, std::move(raw));
  };
}

/// Makes the run's callback get the error of a cancelled run instead of that of a run which was not
/// started.
void report_cancelled(run& r) {
  r.request.done = [error = cancelled_error(r), done = r.request.done](detail::raw_result raw) {
    raw.error = error;
    done(std::move(raw));
  };
}

/// A run on its way to another lane.
class moved_run_message final : public lane_message {
public:
  moved_run_message(const detail::engine_core& core, std::unique_ptr<run> r)
      : core_{core}, run_{std::move(r)} {}
  [[nodiscard]] run& contents() noexcept { return *run_; }
  void arrive(lane& l) override {
    l.sharing().arrived(run_->number);
    l.runs().adopt(*run_);
    delete this;
  }
  void refuse(lane& l) noexcept override {
    try {
      finish_thread(*run_, core_.late());
      report_cancelled(*run_);
    } catch (...) { // memory is short: with exit durability, the thread keeps its earlier state
    }
    auto request = run_request{};
    static_cast<run_arguments&>(request) = std::move(run_->request);
    l.refuse_run(std::move(request));
    delete this;
  }

private:
  const detail::engine_core& core_;
  std::unique_ptr<run> run_;
};

} // namespace

run_sharing::run_sharing(detail::engine_core& core, lane& owner, lane_host& host,
                         lane_inbox& inbox) noexcept
    : core_{core}, lane_{owner}, host_{host}, inbox_{inbox}, index_{owner.index()},
      steps_per_turn_{core.options().steps_per_turn}, turn_steps_{steps_per_turn_} {}

bool run_sharing::is_idle() const noexcept {
  return inbox_.is_asleep();
}

void run_sharing::ask(lane& idle) {
  if (pause_ > 0) {
    --pause_;
    return;
  }
  const auto before = request_.load(std::memory_order_relaxed);
  if (before == request::waits)
    return;
  if (before == request::had_nothing) {
    request_.store(request::none, std::memory_order_relaxed);
    pause_ = pause_polls;
    return;
  }
  request_.store(request::waits, std::memory_order_relaxed);
  core_.on_lane(lane_.index(), [&idle](lane& l) { l.sharing().begin(idle); });
}

/// Starts sharing if at least two runs are ready.
void run_sharing::begin(lane& idle) {
  const auto ready = lane_.runs().ready().count(counted_max);
  left_ = ready / 2;
  request_.store(left_ > 0 ? request::none : request::had_nothing, std::memory_order_relaxed);
  if (left_ == 0)
    return;
  idle_ = &idle;
  turns_left_ = ready;
  turn_steps_ = 1;
}

bool run_sharing::is_movable(run& r) noexcept {
  if (r.phase != run_phase::running || r.request.below || !r.open.empty() || !r.again.empty() ||
      !r.extras().retries.empty() || r.next_task != 0 || r.extras().broken)
    return false;
  const auto& on = on_lane(r);
  return !on.is_known() && std::ranges::all_of(on.node_actors, [](const pooled_actor_ptr& own) {
    return !own || pooled_actor_of(own).is_ours_alone();
  });
}

bool run_sharing::give(run& r) noexcept {
  if (idle_ == nullptr)
    return false;
  auto& to = *idle_;
  if (--turns_left_ == 0)
    stop();
  if (!is_movable(r))
    return false;
  auto message = std::unique_ptr<moved_run_message>{};
  try {
    message = std::make_unique<moved_run_message>(core_, std::make_unique<lane_run>());
    note(r.number, to.index());
  } catch (...) { // memory is short, and the home was not informed
    return false;
  }
  lane_.runs().give_away(r, message->contents());
  given_.fetch_add(1, std::memory_order_relaxed);
  host_.count_end();
  to.sharing().host_.expect_moved();
  to.post(message.release());
  if (--left_ == 0)
    stop();
  return true;
}

/// Informs the home of a run of the lane on which the run will be.
void run_sharing::note(std::uint64_t number, std::uint32_t at) {
  const auto home = home_of(number);
  if (home != index_)
    core_.on_lane(home, [number, at](lane& l) { l.sharing().note(number, at); });
  else
    moved_.insert_or_assign(number, at);
}

std::optional<std::uint32_t> run_sharing::find(std::uint64_t number) const {
  const auto home = home_of(number);
  if (home != index_)
    return home;
  const auto found = moved_.find(number);
  return found == moved_.end() ? std::nullopt : std::optional{found->second};
}

void run_sharing::ended_on_other_lane(std::uint64_t number) noexcept {
  // Without memory the process ends: the home would pass messages for this run in a circle.
  core_.on_lane(home_of(number), [number](lane& l) { l.sharing().moved_.erase(number); });
}

} // namespace superstep
