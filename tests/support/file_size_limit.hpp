// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

/// Limits the size of files written by this process (RLIMIT_FSIZE) during its lifetime, to simulate
/// a full disk. The process must handle or ignore SIGXFSZ.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &usual_);
    auto tight = usual_;
    tight.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &tight);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;
  ~file_size_limit() { ::setrlimit(RLIMIT_FSIZE, &usual_); }

private:
  rlimit usual_{};
};
