// SPDX-License-Identifier: Apache-2.0
// Grants leases among the runs of one process. This is enough for in_memory_checkpointer.
// row_checkpointer also needs leases between processes (lease_manager.hpp). Callbacks
// start runs, so they are always called without holding the mutex.
#include "lease_queue.hpp"

#include <superstep/base/detail/assert.hpp>

#include <atomic>
#include <utility>

namespace superstep::detail {

checkpoint_error effect_already_started(std::string_view thread_id) {
  return {
      make_error_code(checkpoint_errc::conflict),
      "thread '" + std::string{thread_id} +
          "': another run has already started the same effect, so it was not started again: wait "
          "for that run, then resume the thread"};
}

error thread_taken_over(std::string_view thread_id) {
  return {make_error_code(checkpoint_errc::conflict),
          "thread '" + std::string{thread_id} +
              "' was taken over by another run or deleted: run again to resume from the stored "
              "state"};
}

error thread_deleted(std::string_view thread_id) {
  return {make_error_code(checkpoint_errc::conflict),
          "thread '" + std::string{thread_id} +
              "' was deleted while a run was using it; nothing was written: run again to start the "
              "thread over"};
}

class lease_queue::lease final : public thread_lease {
public:
  lease(std::shared_ptr<lease_queue> queue, std::string thread_id)
      : queue_{std::move(queue)}, thread_id_{std::move(thread_id)} {}
  ~lease() override { queue_->release(*this); }
  bool is_held() const noexcept override { return is_held_.load(std::memory_order_acquire); }
  void lose() noexcept { is_held_.store(false, std::memory_order_release); }
  [[nodiscard]] const std::string& thread_id() const noexcept { return thread_id_; }

private:
  std::shared_ptr<lease_queue> queue_;
  std::string thread_id_;
  std::atomic<bool> is_held_{true};
};

lease_ptr lease_queue::grant(line& of, const std::string& thread_id) {
  auto made = std::make_shared<lease>(shared_from_this(), thread_id);
  of.holder = made.get();
  return made;
}

void lease_queue::take(const std::string& thread_id, busy_policy choice, callback done) {
  auto given = lease_ptr{};
  {
    const auto lock = std::scoped_lock{mutex_};
    auto& of = lines_[thread_id];
    const auto is_free = of.holder == nullptr && of.former_holders == 0;
    if (!is_free && choice == busy_policy::wait) {
      of.waiting.push_back(std::move(done));
      return;
    }
    if (of.holder != nullptr && choice == busy_policy::take_over) {
      of.holder->lose();
      ++of.former_holders;
    }
    if (is_free || choice == busy_policy::take_over)
      given = grant(of, thread_id);
  }
  if (given)
    done(std::move(given));
  else
    done(error{checkpoint_errc::in_use,
               "thread '" + thread_id +
                   "' is in use by another run or edit: wait for it; a run may also "
                   "take it over (thread_options::on_busy)"});
}

void lease_queue::revoke(std::string_view thread_id) {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = lines_.find(thread_id);
  if (found != lines_.end() && found->second.holder != nullptr)
    found->second.holder->lose();
}

void lease_queue::release(const lease& back) {
  auto next = callback{};
  auto given = lease_ptr{};
  {
    const auto lock = std::scoped_lock{mutex_};
    const auto found = lines_.find(back.thread_id());
    SUPERSTEP_ASSERT(found != lines_.end());
    auto& of = found->second;
    if (of.holder == &back)
      of.holder = nullptr;
    else // another run took the thread over
      --of.former_holders;
    if (of.holder != nullptr || of.former_holders > 0)
      return;
    if (of.waiting.empty()) {
      lines_.erase(found);
      return;
    }
    next = std::move(of.waiting.front());
    of.waiting.pop_front();
    given = grant(of, back.thread_id());
  }
  next(std::move(given));
}

} // namespace superstep::detail
