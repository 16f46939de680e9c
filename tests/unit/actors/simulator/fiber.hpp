// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <ucontext.h>

namespace superstep {
class lane;
} // namespace superstep

namespace superstep::simulation {

/// A simulated thread: a function with its own stack. The scheduler switches to it with resume(),
/// and it switches back with suspend(). What the engine and the C++ runtime keep per thread is
/// exchanged at each switch.
class fiber {
public:
  explicit fiber(std::function<void()> body);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  /// Runs the fiber until it calls suspend() or ends. Called by the scheduler.
  void resume();
  /// Returns to the scheduler. Called by the fiber.
  void suspend();
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

private:
  struct per_thread {
    lane* served = nullptr;
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  static per_thread exchange(per_thread with) noexcept;
  static void enter(unsigned high, unsigned low);

  std::function<void()> body_;
  std::byte* stack_;
  void* tsan_fiber_;                 // used under ThreadSanitizer
  void* outer_tsan_fiber_ = nullptr; // of the thread or fiber that called resume()
  ucontext_t here_{};
  ucontext_t scheduler_{};
  per_thread mine_;
  per_thread outer_;
  bool has_ended_ = false;
  // what AddressSanitizer needs to know at a switch
  const void* outer_stack_ = nullptr;
  std::size_t outer_size_ = 0;
};

} // namespace superstep::simulation
