// SPDX-License-Identifier: Apache-2.0
// Finds the files beside the output of a job.
#include "results/job_file.hpp"

#include "batch/file.hpp"

#include <superstep/batch/batch.hpp>

namespace superstep::results {

namespace {

std::string file_beside(const std::string& output, std::string_view ending) {
  auto job = batch_options{};
  job.output = output;
  for (auto& written : paths_written_by(job))
    if (written.path.ends_with(ending))
      return std::move(written.path);
  return {};
}

} // namespace

std::string job_file_of(const std::string& output, std::string_view ending) {
  constexpr auto of_rows = std::string_view{".rows.jsonl"};
  constexpr auto of_lines = std::string_view{".jsonl"};
  auto own = file_beside(output, ending);
  if (!output.ends_with(of_rows) || detail::exists(own))
    return own;
  auto of_job =
      file_beside(output.substr(0, output.size() - of_rows.size()) + std::string{of_lines}, ending);
  return detail::exists(of_job) ? of_job : own;
}

} // namespace superstep::results
