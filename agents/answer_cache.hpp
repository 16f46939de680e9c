// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/detail/call_activity.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Answers of models in an SQLite file, by the digest of their request. Several processes may use
/// one file. Beyond a size, the oldest answers are deleted. A power failure may lose the latest
/// answers.
///
/// Failures after the file was opened fail no call, because a run can call the model instead: an
/// answer that cannot be written is not stored, and one that cannot be read counts as missing. The
/// first failure becomes a warning.
/// @par Threads
/// All members may be called from any thread.
class answer_cache {
public:
  /// Opens or creates the file.
  /// @param bytes_max maximum size of the file; at least 1 MiB
  /// @param activity gets the warning; may be null
  /// @return the cache; errc::io_failed if the file cannot be opened, or belongs to another program
  [[nodiscard]] static result<std::shared_ptr<answer_cache>>
  open(const std::string& path, std::int64_t bytes_max,
       std::shared_ptr<call_activity> activity = nullptr);
  ~answer_cache();
  answer_cache(const answer_cache&) = delete;
  answer_cache& operator=(const answer_cache&) = delete;

  /// Returns the answer to a request; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> find(std::string_view key);
  /// Stores an answer. An answer that another process stored first is kept.
  void put(std::string_view key, std::string_view answer);

private:
  class impl;
  explicit answer_cache(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::detail
