// SPDX-License-Identifier: Apache-2.0
// The files of OpenAI's Batch API: requests (export) and answers (import). Both are models: the
// agent itself builds the requests and reads the answers, so that prompts and structured responses
// are the same as in superstep run.
// Source: https://platform.openai.com/docs/api-reference/batch
#include "cli/batch_api.hpp"

#include "cli/path_suffix.hpp"
#include "models/http/wire_request.hpp"
#include "models/providers/openai_chat.hpp"
#include "results/result_line.hpp"

#include <superstep/base/await.hpp>

#include <utility>

#include <fcntl.h>

namespace superstep::cli {

namespace {

constexpr auto chat_url = std::string_view{"/v1/chat/completions"};

/// Returns the path of a file with requests: the number is before the extension.
std::string numbered(const std::string& path, std::size_t number) {
  return number == 1 ? path : with_suffix(path, '.' + std::to_string(number));
}

/// Returns the error of an answer with this HTTP status.
model_errc code_of_status(std::int64_t status) noexcept {
  switch (status) {
  case 401:
  case 403:
    return model_errc::unauthorized;
  case 404:
    return model_errc::not_found;
  case 408:
    return model_errc::timed_out;
  case 429:
    return model_errc::rate_limited;
  default:
    break;
  }
  constexpr auto first_server_error = 500;
  return status >= first_server_error ? model_errc::server_error : model_errc::bad_request;
}

/// Returns a text for the value of `error`: its code and message, or the text itself.
std::string error_words_of(const json::value& failed) {
  if (failed.is_string())
    return std::string{failed.get_string()};
  const auto text = [&](std::string_view name) {
    const auto* const members = failed.if_object();
    const auto* const found = members != nullptr ? members->if_contains(name) : nullptr;
    return found != nullptr && found->is_string() ? std::string{found->get_string()}
                                                  : std::string{};
  };
  const auto code = text("code");
  const auto message = text("message");
  return code.empty() || message.empty() ? code + message : code + ": " + message;
}

/// Reads a line of an answer file.
result<message> answer_of(const json::object& line) {
  const auto* const response = line.if_contains("response");
  const auto* const members = response != nullptr ? response->if_object() : nullptr;
  auto status = std::int64_t{0};
  const json::object* body = nullptr;
  if (members != nullptr) {
    if (const auto* const code = members->if_contains("status_code"); code && code->is_int64())
      status = code->get_int64();
    if (const auto* const found = members->if_contains("body"))
      body = found->if_object();
  }
  const auto* failed = line.if_contains("error");
  const auto has_failed = failed != nullptr && !failed->is_null();
  constexpr auto first_failure = 400;
  if (!has_failed && status < first_failure && body != nullptr)
    return openai_chat::read_response(*body);
  if (!has_failed && body != nullptr)
    failed = body->if_contains("error");
  auto text = failed != nullptr ? error_words_of(*failed) : std::string{};
  if (text.empty())
    text = "the line has neither an answer nor an error";
  if (status >= first_failure)
    return error{code_of_status(status), text};
  return error{text.starts_with("batch_expired") ? model_errc::timed_out : model_errc::bad_answer,
               text};
}

} // namespace

result<request_files::one_file*> request_files::next_file(const std::string& model,
                                                          std::size_t bytes) {
  auto*& at = by_model_[model];
  if (at != nullptr && at->lines < limits_.lines_max && at->bytes + bytes <= limits_.bytes_max)
    return at;
  auto made = std::make_unique<one_file>();
  made->path = numbered(path_, files_.size() + 1);
  if (detail::exists(made->path))
    return error{errc::invalid_argument,
                 "'" + made->path + "' exists; it is not overwritten. Use another --output"};
  auto opened = detail::file::open_regular(made->path, O_RDWR | O_CREAT | O_EXCL);
  if (!opened)
    return opened.error();
  made->to = *std::move(opened);
  at = made.get();
  files_.push_back(std::move(made));
  return at;
}

result<void> request_files::add(const std::string& key, const std::string& model,
                                std::string_view body) {
  constexpr auto buffer_max = std::size_t{1} << 20U;
  auto line = std::string{"{\"custom_id\":"};
  append_quoted(line, key);
  line += ",\"method\":\"POST\",\"url\":\"";
  line += chat_url;
  line += "\",\"body\":";
  line += body;
  line += "}\n";
  const auto lock = std::scoped_lock{mutex_};
  if (failed_)
    return *failed_;
  if (line.size() > limits_.bytes_max)
    return error{errc::too_large, "the request is larger than a file may be"};
  if (keys_.contains(key))
    return {}; // another attempt of the same row
  auto to = next_file(model, line.size());
  if (!to)
    return to.error();
  keys_.insert(key);
  auto& file = **to;
  ++file.lines;
  file.bytes += line.size();
  file.buffer += line;
  if (file.buffer.size() < buffer_max)
    return {};
  return write_buffer(file);
}

result<void> request_files::write_buffer(one_file& file) {
  auto written = file.to.append(std::exchange(file.buffer, {}));
  // Not a shortage: the row would run again, but its request and others of the buffer are lost.
  if (!written)
    failed_ = error{errc::io_failed, written.error().text +
                                         "; the files of this export are incomplete, remove them"};
  return failed_ ? result<void>{*failed_} : written;
}

result<void> request_files::close() {
  const auto lock = std::scoped_lock{mutex_};
  if (failed_)
    return *failed_;
  for (const auto& file : files_) {
    if (auto written = write_buffer(*file); !written)
      return written;
    if (auto synced = file->to.sync(); !synced)
      return synced;
  }
  return {};
}

std::vector<std::pair<std::string, std::uint64_t>> request_files::files() const {
  auto out = std::vector<std::pair<std::string, std::uint64_t>>{};
  for (const auto& file : files_)
    out.emplace_back(file->path, file->lines);
  return out;
}

task<result<message>> request_writer::complete(model_request request) const {
  auto model = options_.model;
  if (const auto* const named = request.parameters.if_contains("model");
      named && named->is_string())
    model = named->get_string();
  const auto key = request.run_key;
  request.on_chunk = nullptr; // the API does not accept streams
  const auto written = models::write_request(options_, request);
  if (!written)
    co_return written.error();
  if (auto added = files_->add(key, model, written->body); !added)
    co_return added.error();
  co_return ai_message("");
}

result<std::shared_ptr<const answer_files>>
answer_files::open(const std::vector<std::string>& paths) {
  auto out = std::make_shared<answer_files>();
  for (const auto& path : paths) {
    auto reader = results::result_reader::open(path);
    if (!reader)
      return reader.error();
    const auto indexed = reader->for_each([&]() -> result<void> {
      const auto key = std::string{detail::key_of(reader->object())};
      if (key.empty())
        return error{errc::parse_failed, path + ": has a line without custom_id"};
      const auto at = place{out->files_.size(), reader->offset(), reader->size()};
      if (!out->answers_.emplace(key, at).second) {
        auto why = path + ": has a second answer to the request '";
        why += key;
        why += "'; specify the files of one batch only";
        return error{errc::parse_failed, std::move(why)};
      }
      return {};
    });
    if (!indexed)
      return indexed.error();
    if (reader->is_torn())
      return error{errc::parse_failed,
                   path + ": its last line is incomplete; download the file again"};
    auto opened = detail::file::open_regular(path, O_RDONLY);
    if (!opened)
      return opened.error();
    out->files_.push_back(*std::move(opened));
  }
  return std::shared_ptr<const answer_files>{std::move(out)};
}

result<message> answer_files::read(const std::string& key) const {
  const auto found = answers_.find(key);
  if (found == answers_.end())
    return error{model_errc::missing_turn, "the answer files have no answer to this row"};
  auto text = std::string{};
  const auto& at = found->second;
  if (auto got = files_[at.file].read_at(at.offset, at.size, text); !got)
    return got.error();
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return error{model_errc::bad_answer, "the answer file was changed while it was read"};
  return answer_of(parsed->get_object());
}

task<result<message>> answer_files::complete(model_request request) const {
  co_return read(request.run_key);
}

} // namespace superstep::cli
