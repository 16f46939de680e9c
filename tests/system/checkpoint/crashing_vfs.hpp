// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crash_test {

enum class crash_kind : std::uint8_t {
  none,
  kill,  ///< the process is killed; the operating system keeps its writes
  power, ///< also undoes the writes since the last sync of each file
};

/// Makes the process crash at its n-th write to SQLite files (`at`, from 1).
void install_crashing_vfs(crash_kind kind, std::uint64_t at);
/// Returns the number of writes so far.
[[nodiscard]] std::uint64_t writes_seen() noexcept;

} // namespace crash_test
