// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.hpp"

#include <superstep/batch/batch_options.hpp>

#include <string>

namespace superstep::detail {

/// Describes a new job with a random id.
/// @param digest see input_facts::digest
/// @param format see input_facts::format
[[nodiscard]] job_header new_header(const batch_options& options, const std::string& digest,
                                    const std::string& format);

/// Returns the text of job_header::keys: a line for each key of the agent file, with a digest of
/// its value.
[[nodiscard]] std::string keys_text(const job_fingerprint& print);

/// Returns the names of the parts in which two jobs differ, for an error text; empty if they do not
/// differ. For a changed agent, model or tools, the text contains the changed keys of the agent
/// file.
[[nodiscard]] std::string differences(const job_header& before, const job_header& now);

/// Returns a note for the user if the prices of the model are not those of the start of a job;
/// empty if they are the same, or if one of them is not known.
[[nodiscard]] std::string price_note(const job_header& before, const job_header& now);

} // namespace superstep::detail
