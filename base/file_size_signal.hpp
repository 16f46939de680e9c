// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::detail {

/// A scope guard. While it exists, a write beyond the file-size limit (RLIMIT_FSIZE) fails with
/// EFBIG on this thread. Otherwise the signal SIGXFSZ would kill the process and all its runs.
class file_size_signal_blocked {
public:
  file_size_signal_blocked() noexcept;
  ~file_size_signal_blocked();
  file_size_signal_blocked(const file_size_signal_blocked&) = delete;
  file_size_signal_blocked& operator=(const file_size_signal_blocked&) = delete;

private:
  bool was_blocked_ = false;
};

} // namespace superstep::detail
