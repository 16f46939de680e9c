// SPDX-License-Identifier: Apache-2.0
// The error category "checkpoint". Its messages name only the kind of an error. what() of a
// checkpoint_error has the details.
#include "base/error_table.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

namespace superstep {

namespace {

constexpr detail::error_entry<checkpoint_errc> code_table[] = {
    {checkpoint_errc::not_storable, "not_storable", "a value cannot be stored in a checkpoint"},
    {checkpoint_errc::type_changed, "type_changed",
     "the type of a channel differs from the stored type"},
    {checkpoint_errc::node_gone, "node_gone", "the thread's next node no longer exists"},
    {checkpoint_errc::corrupt, "corrupt", "stored data is damaged"},
    {checkpoint_errc::newer_format, "newer_format", "written by a newer version of superstep"},
    {checkpoint_errc::failed, "failed", "the disk or the database reported an error"},
    {checkpoint_errc::conflict, "conflict", "another run has written to the thread"},
    {checkpoint_errc::in_use, "in_use", "another run holds the thread"},
    {checkpoint_errc::wrong_key, "wrong_key", "wrong encryption key"},
    {checkpoint_errc::wrong_owner, "wrong_owner", "the file belongs to a different job"},
};

} // namespace

std::error_code make_error_code(checkpoint_errc code) noexcept {
  static const auto category = detail::error_table<checkpoint_errc>{
      "checkpoint", "checkpoint_errc", "unknown checkpoint error", code_table};
  return {static_cast<int>(code), category};
}

} // namespace superstep
