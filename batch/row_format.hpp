// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "table_columns.hpp"

#include <superstep/messages/message_template.hpp>

#include <optional>
#include <string>

namespace superstep::detail {

/// The rules by which the lines of an input become rows. They are the same for all lines.
struct row_format {
  std::optional<table_columns> columns{};     ///< columns of CSV and TSV; not set: lines are JSON
  std::optional<message_template> messages{}; ///< see batch_options::input_template
  std::string id_field{};                     ///< see batch_options::id_field
};

} // namespace superstep::detail
