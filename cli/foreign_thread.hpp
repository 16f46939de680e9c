// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::cli {

/// A checkpoint that sqlite_saver::show() describes in the reference's JSON form: `channel_values`,
/// `channel_versions`, `metadata`, and `values` and `next` besides, as its snapshots have them.
[[nodiscard]] json::object to_reference_form(const json::object& shown);

/// An exported thread, as superstep has it, of one in the reference's form: a checkpoint with
/// `channel_values`, a snapshot with `values`, or a list of these, newest first, whose first is
/// taken. Messages may be in any form in which the reference writes them. Its internal channels are
/// left out. Throws std::runtime_error for what is none.
[[nodiscard]] std::string from_reference_form(std::string_view text);

} // namespace superstep::cli
