// SPDX-License-Identifier: Apache-2.0
#include "thread_desk.hpp"

#include <atomic>
#include <utility>

namespace superstep::detail {

saver_error effect_begun_twice(std::string_view thread_id) {
  return {make_error_code(saver_errc::conflict),
          "thread '" + std::string{thread_id} +
              "': another run has begun the same effect; it was not begun again"};
}

class thread_desk::lease final : public thread_lease {
public:
  lease(std::shared_ptr<thread_desk> desk, std::string thread_id)
      : desk_{std::move(desk)}, thread_id_{std::move(thread_id)} {}
  ~lease() override { desk_->give_back(*this); }
  bool is_held() const noexcept override { return is_held_.load(std::memory_order_acquire); }
  void lose() noexcept { is_held_.store(false, std::memory_order_release); }
  [[nodiscard]] const std::string& thread_id() const noexcept { return thread_id_; }

private:
  std::shared_ptr<thread_desk> desk_;
  std::string thread_id_;
  std::atomic<bool> is_held_{true};
};

lease_ptr thread_desk::hand_out(line& of, const std::string& thread_id) {
  auto made = std::make_shared<lease>(shared_from_this(), thread_id);
  of.holder = made.get();
  return made;
}

void thread_desk::take(const std::string& thread_id, when_in_use choice, callback done) {
  auto given = lease_ptr{};
  {
    const auto lock = std::scoped_lock{mutex_};
    auto& of = lines_[thread_id];
    if (of.holder != nullptr && choice == when_in_use::wait) {
      of.waiting.push_back(std::move(done));
      return;
    }
    if (of.holder != nullptr && choice == when_in_use::take_over)
      of.holder->lose();
    if (of.holder == nullptr || choice == when_in_use::take_over)
      given = hand_out(of, thread_id);
  }
  if (given)
    done(std::move(given));
  else
    done(error{saver_errc::in_use, "thread '" + thread_id +
                                       "' is in use by another run: wait for it, or take it over "
                                       "(thread_options::in_use)"});
}

void thread_desk::give_back(const lease& back) {
  auto next = callback{};
  auto given = lease_ptr{};
  {
    const auto lock = std::scoped_lock{mutex_};
    const auto found = lines_.find(back.thread_id());
    if (found == lines_.end() || found->second.holder != &back) // it was taken over
      return;
    auto& of = found->second;
    of.holder = nullptr;
    if (of.waiting.empty()) {
      lines_.erase(found);
      return;
    }
    next = std::move(of.waiting.front());
    of.waiting.pop_front();
    given = hand_out(of, back.thread_id());
  }
  next(std::move(given));
}

} // namespace superstep::detail
