// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crash_test {

enum class crash_kind : std::uint8_t {
  none,
  kill,  ///< the process is killed; what it wrote stays with the system
  power, ///< besides, what was written since the last sync of a file is undone
};

/// Makes SQLite's files crash the process at its write number `at` (from 1).
void install_crashing_vfs(crash_kind kind, std::uint64_t at);
/// Writes so far.
[[nodiscard]] std::uint64_t writes_seen() noexcept;

} // namespace crash_test
