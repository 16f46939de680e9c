// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::detail {

/// While it lives, writing beyond the file-size limit is an error of write(2) on this thread
/// instead of SIGXFSZ, which would kill the process with its runs in flight.
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
