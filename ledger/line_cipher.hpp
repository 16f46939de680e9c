// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/row_cipher.hpp"
#include "shared_job.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::detail {

/// The texts of a row that a ledger stores.
enum class line_kind : std::uint8_t {
  input,  ///< the line of the input
  output, ///< the output line
  dead,   ///< the dead letter
  check,  ///< the job's id, by which a wrong key is detected; not of a row
};

/// Encrypts the lines of one job before they are stored, if the job has a key. The result is text
/// without line ends. The job, the row and the kind are authenticated, so a line that was copied to
/// another place in the database cannot be read.
class line_cipher {
public:
  /// @param key 32 bytes, or empty for no encryption
  /// @throws checkpoint_error{wrong_key} for any other length
  explicit line_cipher(std::string job_id, std::string_view key = {})
      : job_id_{std::move(job_id)}, cipher_{key} {}

  [[nodiscard]] bool is_on() const noexcept { return cipher_.is_on(); }
  [[nodiscard]] std::string seal(line_kind kind, std::uint64_t row, std::string line) const;
  /// Decrypts a line. Fails with errc::parse_failed if it was not encrypted for this place.
  [[nodiscard]] result<std::string> open(line_kind kind, std::uint64_t row,
                                         std::string_view line) const;

private:
  std::string job_id_;
  row_cipher cipher_;
};

/// Returns the text by which cipher_of() detects a wrong key; empty without a key.
[[nodiscard]] std::string key_check_of(const std::string& job_id, std::string_view key);

/// Returns the cipher of a stored job. A job that was submitted without a key is not encrypted.
/// @param key the caller's key, or empty
/// @return errc::invalid_argument if the job needs another key
[[nodiscard]] result<line_cipher> cipher_of(const shared_job& job, std::string_view key);

} // namespace superstep::detail
