// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

namespace superstep {

/// What can be wrong with a thread that is saved or loaded.
enum class saver_errc {
  not_storable = 1, ///< a value whose type cannot be written: describe it or give it a stored_form
  type_changed,     ///< a channel has another type than the checkpoint
  node_gone,        ///< the thread stands before a node that the graph no longer has
  corrupt,          ///< what was read is not what was written
  newer_format,     ///< written by a later superstep
  failed,           ///< the disk or the database refused
  conflict,         ///< somebody else has written to the thread
  in_use,           ///< another run has the thread
  wrong_key,        ///< the file is encrypted with another key, or is not, or there is no key
  wrong_owner,      ///< the file belongs to another job, or to none; see sqlite_saver_options::owner
};
[[nodiscard]] std::error_code make_error_code(saver_errc) noexcept;

/// Thrown by savers and what reads their bytes. Nothing is overwritten by what failed so.
class saver_error : public std::system_error {
public:
  saver_error(std::error_code code, std::string text)
      : std::system_error{code}, text_{std::move(text)} {}
  explicit saver_error(error e) : saver_error{e.code, std::move(e.text)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::saver_errc> : std::true_type {};
