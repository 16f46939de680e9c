// SPDX-License-Identifier: Apache-2.0
// Continues a job of OpenAI's Batch API or of vLLM's run-batch: rows that have an answer are done,
// and failed rows run.
#include "adopt.hpp"

#include "written_line.hpp"

#include <fcntl.h>

namespace superstep::detail {

result<bool> is_batch_output(const std::string& path) {
  auto opened = file::open_regular(path, O_RDONLY);
  if (!opened)
    return opened.error();
  auto lines = written_lines{*opened, 0};
  auto count = 0;
  while (true) {
    auto line = lines.next();
    if (!line)
      return line.error();
    if (*line == written_lines::found::end)
      return count > 0;
    if (*line == written_lines::found::torn)
      continue;
    if (*line == written_lines::found::foreign)
      return false;
    auto key = std::string_view{};
    if (lines.object().at_key("custom_id").get(key) != simdjson::SUCCESS || key.empty() ||
        lines.object().at_key("response").error() != simdjson::SUCCESS)
      return false;
    ++count;
  }
}

result<void> adopt_output(job_files& files, const job_header& wanted) {
  auto output = file::open_regular(files.paths.output, O_RDWR | O_APPEND);
  if (!output)
    return output.error();
  files.output = std::move(*output);
  auto aside = copy_aside(files.output, ".old", 0);
  if (!aside)
    return aside.error();
  // The file may contain rows of another input, as if the input had changed.
  auto before = wanted;
  before.input = "unknown";
  auto text = std::string{};
  append_job(text, before);
  append_job(text, wanted);
  append_rebuild(text);
  auto written = files.journal.append(text);
  if (written)
    written = files.journal.sync();
  if (!written)
    return written;
  files.content = journal_content{};
  files.content.valid_bytes = text.size();
  files.content.set_header(before);
  files.content.set_header(wanted);
  files.content.begin_rebuild();
  files.is_resumed = true;
  files.notes.push_back(files.paths.output +
                        " was written by another program: its rows without an error are done; the "
                        "original is kept as " +
                        *aside);
  return sync_folder_of(files.paths.output);
}

} // namespace superstep::detail
