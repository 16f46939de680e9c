// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

/// No file may become longer while it stands: what a full disk is to a process. The signal that
/// comes with it is up to whom it hits.
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
