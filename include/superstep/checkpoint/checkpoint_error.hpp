// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

namespace superstep {

/// Reasons why a thread cannot be saved or loaded. docs/errors.md lists what to do about each.
enum class checkpoint_errc {
  not_storable = 1, ///< a value's type has no stored form: describe it or specialize stored_form
  type_changed,     ///< a channel's type differs from the stored one
  node_gone,        ///< the thread's next node no longer exists in the graph
  corrupt,          ///< stored data is damaged or not in the expected format
  newer_format,     ///< written by a newer version of superstep
  failed,           ///< the disk or the database reported an error
  conflict,         ///< another run has written to the thread in the meantime
  in_use,           ///< another run holds the lease on the thread
  wrong_key,        ///< the encryption key is missing, wrong, or given for an unencrypted file
  wrong_owner,      ///< the file belongs to another job, or to none; see
                    ///< sqlite_checkpointer_options::owner
};
/// Returns a code of the category "checkpoint".
[[nodiscard]] std::error_code make_error_code(checkpoint_errc) noexcept;

/// The exception type of checkpointers, of the SQLite store and cache, and of the functions that
/// read their formats. An operation that throws it has not overwritten any stored data. what()
/// names the file or the thread, the reason, and what to do.
class checkpoint_error : public std::system_error {
public:
  checkpoint_error(std::error_code code, std::string text)
      : std::system_error{code}, text_{std::move(text)} {}
  /// Converts the error of a result<> or of a failed run.
  explicit checkpoint_error(error e) : checkpoint_error{e.code, std::move(e.text)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::checkpoint_errc> : std::true_type {};
