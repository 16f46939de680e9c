// SPDX-License-Identifier: Apache-2.0
#include "thread_locks.hpp"

#include <superstep/base/assert.hpp>

#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace superstep::detail {

namespace {

/// Two threads of one byte would wait for each other; with 62 bits none do.
off_t byte_of(std::string_view thread_id) noexcept {
  auto hash = std::uint64_t{0xcbf29ce484222325};
  for (const auto c : thread_id) {
    hash ^= static_cast<unsigned char>(c);
    hash *= std::uint64_t{0x100000001b3};
  }
  hash ^= hash >> 29U; // the low bits of short names are alike
  return static_cast<off_t>(hash >> 2U);
}

bool set(int file, short how, std::string_view thread_id) noexcept {
  // Of the open file, not of the process: savers of one process are kept apart as well, and closing
  // another file takes nothing away.
  using lock_words = struct flock;
  auto words = lock_words{};
  words.l_type = how;
  words.l_whence = SEEK_SET;
  words.l_start = byte_of(thread_id);
  words.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &words) == 0;
}

class locked_lease final : public thread_lease {
public:
  locked_lease(lease_ptr own, std::shared_ptr<thread_locks> locks, std::string thread_id)
      : own_{std::move(own)}, locks_{std::move(locks)}, thread_id_{std::move(thread_id)} {}
  ~locked_lease() override { locks_->unlock(thread_id_); } // then the next run of this process
  [[nodiscard]] bool is_held() const noexcept override { return own_->is_held(); }

private:
  lease_ptr own_;
  std::shared_ptr<thread_locks> locks_;
  std::string thread_id_;
};

} // namespace

thread_locks::thread_locks(const std::string& database)
    : file_{::open((database + "-lease").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {}

thread_locks::~thread_locks() {
  if (file_ >= 0)
    ::close(file_);
}

bool thread_locks::try_lock(const std::string& thread_id) {
  if (file_ < 0)
    return true;
  const auto lock = std::scoped_lock{mutex_};
  const auto held = held_.find(thread_id);
  if (held == held_.end() && !set(file_, F_WRLCK, thread_id))
    return false;
  ++held_[thread_id];
  return true;
}

void thread_locks::unlock(const std::string& thread_id) noexcept {
  if (file_ < 0)
    return;
  const auto lock = std::scoped_lock{mutex_};
  const auto held = held_.find(thread_id);
  SUPERSTEP_ASSERT(held != held_.end());
  if (--held->second > 0)
    return;
  held_.erase(held);
  (void)set(file_, F_UNLCK, thread_id);
}

lease_ptr with_lock(lease_ptr own, std::shared_ptr<thread_locks> locks, std::string thread_id) {
  return std::make_shared<locked_lease>(std::move(own), std::move(locks), std::move(thread_id));
}

} // namespace superstep::detail
