// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "run.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace superstep {

/// The interface of a coordinator to its driver: a clock, records, actors, job threads and the
/// answers of checkpointers. The lanes of an engine are drivers. No function of it is called on the
/// fast path of a step, except for those that start and end a run.
class coordinator_host {
public:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] virtual time_point now() const noexcept = 0;
  /// The time of now() in nanoseconds.
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds{now().time_since_epoch()}.count());
  }
  /// Returns the number of the watcher's ticks so far, a clock that costs one load. A tick is at
  /// least engine_options::watcher_tick long.
  [[nodiscard]] std::uint32_t ticks() const noexcept {
    return ticks_.load(std::memory_order_relaxed);
  }
  /// Returns a random number for the delays between attempts.
  [[nodiscard]] virtual std::uint64_t random() noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<run> make_run() = 0;
  [[nodiscard]] virtual std::unique_ptr<call> make_call() = 0;

  /// Prepares the record of a new run of the program.
  virtual void acquire(run& r, const detail::program& table) = 0;
  /// Releases the actors of a run that ends or moves, and what else the driver keeps for it.
  virtual void release(run& r) noexcept = 0;
  /// Acquires the actor of a forked call.
  virtual void acquire(call& c) = 0;
  /// Releases the actors that no one needs while the body of a call waits.
  virtual void suspended(call& c) noexcept = 0;
  /// Releases the actor of a call that has ended or was abandoned. Separates the record of a
  /// detached call from its run.
  virtual void release(call& c) noexcept = 0;
  /// Releases the actor of a call that was abandoned while its activation was mailed, after the
  /// actor has taken the activation.
  virtual void release_activated(call& c) noexcept = 0;
  /// Sends the actor of a call its activation as a message. When the actor takes the message, or
  /// dies before, the call arrives at the driver, which calls task_policy::activation_answered() or
  /// call_returned(). Returns false if the actor has died.
  [[nodiscard]] virtual bool mail_activation(call& c) = 0;
  /// Passes a call to a job thread. Returns false if there is none.
  [[nodiscard]] virtual bool start_job(call& c) = 0;
  /// Whether the driver has no other run.
  [[nodiscard]] virtual bool is_alone() const noexcept = 0;
  /// Whether the driver's thread saves a checkpoint, and may wait for the disk. Thread-safe.
  [[nodiscard]] bool is_saving() const noexcept {
    return is_saving_.load(std::memory_order_relaxed);
  }
  void set_saving(bool is_saving) noexcept {
    is_saving_.store(is_saving, std::memory_order_relaxed);
  }

  /// Returns the number of a new nested run.
  [[nodiscard]] virtual std::uint64_t expect_run() noexcept = 0;
  /// Requests the lease on the run's thread. Empty if it is granted later; the driver then calls
  /// run_coordinator::leased().
  [[nodiscard]] virtual std::optional<result<lease_ptr>> take_lease(run& r) = 0;
  /// Waits until the run's checkpoints are durable. Returns false if there is nothing to wait for;
  /// otherwise the driver calls run_coordinator::saved().
  [[nodiscard]] virtual bool wait_until_saved(run& r) = 0;
  /// Returns a function that cancels the run with this number, and may be called on any thread.
  [[nodiscard]] virtual std::function<void()> canceller(std::uint64_t number) = 0;
  /// Reports the end of a run, counts it as ended, and calls its callback.
  virtual void deliver(std::uint64_t number, std::function<void(detail::raw_result)>&& done,
                       detail::raw_result&& raw, std::shared_ptr<saved_result> saved,
                       lease_ptr lease) noexcept = 0;
  /// Whether other actors have sent messages to runs of the driver.
  [[nodiscard]] bool has_mail() const noexcept { return has_mail_; }
  /// Applies the writes of other actors to a run, after the outputs of its step were applied.
  virtual void apply_mail(run& r) = 0;
  /// Answers the messages of other actors to a run that ends.
  virtual void drop_mail(run& r) = 0;

protected:
  void set_mail(bool has) noexcept { has_mail_ = has; }
  explicit coordinator_host(const std::atomic<std::uint32_t>& ticks) noexcept : ticks_{ticks} {}
  coordinator_host(const coordinator_host&) = delete;
  coordinator_host& operator=(const coordinator_host&) = delete;
  ~coordinator_host() = default;

private:
  const std::atomic<std::uint32_t>& ticks_;
  bool has_mail_ = false;
  std::atomic<bool> is_saving_{false};
};

} // namespace superstep
