// SPDX-License-Identifier: Apache-2.0
// The default implementation of clock, which reads the system's time. Tests pass their own.
#include <superstep/base/clock.hpp>

namespace superstep {

namespace {

class machine_clock final : public clock {
public:
  [[nodiscard]] std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::now();
  }
};

} // namespace

const clock& system_clock() noexcept {
  static const auto machine = machine_clock{};
  return machine;
}

} // namespace superstep
