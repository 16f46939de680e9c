// SPDX-License-Identifier: Apache-2.0
// Continues a job of OpenAI's Batch API or of vLLM's run-batch: rows that have an answer are done,
// and failed rows run.
#include "adopt.hpp"

#include "written_line.hpp"

#include <new>

#include <fcntl.h>

namespace superstep::detail {
namespace {

/// Whether an object is a line of a batch output: it has a key and a member `response`.
bool is_answer(simdjson::dom::object line) noexcept {
  auto key = std::string_view{};
  return line.at_key("custom_id").get(key) == simdjson::SUCCESS && !key.empty() &&
         line.at_key("response").error() == simdjson::SUCCESS;
}

/// Whether a text is a line of a batch output. Other programs may write the last line without a
/// newline.
bool is_answer_text(std::string_view text) {
  auto parser = simdjson::dom::parser{};
  auto line = simdjson::dom::object{};
  const auto failed = parser.parse(text.data(), text.size()).get(line);
  if (failed == simdjson::MEMALLOC)
    throw std::bad_alloc{}; // the line may be valid
  return failed == simdjson::SUCCESS && is_answer(line);
}

/// Appends the newline that the last line lacks. Otherwise it would look like the beginning of a
/// line whose write was interrupted, and its row would run again.
result<void> complete_last_line(file& output) {
  auto lines = written_lines{output, 0};
  auto is_incomplete = false;
  while (true) {
    auto line = lines.next();
    if (!line)
      return line.error();
    if (*line == written_lines::found::end)
      break;
    is_incomplete = *line == written_lines::found::torn && is_answer_text(lines.text());
  }
  if (!is_incomplete)
    return {};
  auto written = output.append("\n");
  return written ? output.sync() : written;
}

} // namespace

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
    if (*line == written_lines::found::torn) {
      count += is_answer_text(lines.text()) ? 1 : 0;
      continue;
    }
    if (*line == written_lines::found::foreign || !is_answer(lines.object()))
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
  if (auto completed = complete_last_line(files.output); !completed)
    return completed;
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
