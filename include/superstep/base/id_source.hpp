// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

/// Makes ids that depend only on what was said and where: `<key>-<step>-<n>`, n counting the ids of
/// one super-step. No clock and no random number, so a replayed run gets the same ids.
/// @par Threads
/// Owned by a run; asked only at its barrier.
class id_source {
public:
  explicit id_source(std::string key) : key_{std::move(key)} {}

  void begin_step(std::int64_t step) noexcept {
    step_ = step;
    count_ = 0;
  }
  [[nodiscard]] std::string next() {
    return key_ + '-' + std::to_string(step_) + '-' + std::to_string(count_++);
  }
  [[nodiscard]] std::string_view key() const noexcept { return key_; }

private:
  std::string key_;
  std::int64_t step_ = 0;
  std::uint32_t count_ = 0;
};

} // namespace superstep
