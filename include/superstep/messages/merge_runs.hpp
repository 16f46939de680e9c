// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string_view>

namespace superstep {

/// Neighbours of one type become one message; results of tools stay apart. Texts are joined by
/// `separator`, lists and calls concatenated, usage added; id and response metadata are those of
/// the first, names are dropped. An error when their additional_kwargs do not add.
[[nodiscard]] result<message_list> merge_message_runs(const message_list&,
                                                      std::string_view separator = "\n");

} // namespace superstep
