// SPDX-License-Identifier: Apache-2.0
// Encrypts lines with AES-256-GCM, as checkpoints are, and writes the result in Base64, because the
// columns of a ledger and part files contain text.
#include "line_cipher.hpp"

#include "base/base64.hpp"

namespace superstep::detail {
namespace {

std::string_view name_of(line_kind kind) noexcept {
  switch (kind) {
  case line_kind::input:
    return "ledger.input";
  case line_kind::output:
    return "ledger.output";
  case line_kind::dead:
    return "ledger.dead";
  case line_kind::check:
    break;
  }
  return "ledger.check";
}

} // namespace

std::string line_cipher::seal(line_kind kind, std::uint64_t row, std::string line) const {
  if (!is_on() || line.empty())
    return line;
  const auto number = std::to_string(row);
  return to_base64(cipher_.seal(std::move(line), {name_of(kind), job_id_, number}));
}

result<std::string> line_cipher::open(line_kind kind, std::uint64_t row,
                                      std::string_view line) const {
  if (!is_on() || line.empty())
    return std::string{line};
  const auto number = std::to_string(row);
  return cipher_.open(from_base64(line), {name_of(kind), job_id_, number});
}

std::string key_check_of(const std::string& job_id, std::string_view key) {
  return key.empty() ? std::string{} : line_cipher{job_id, key}.seal(line_kind::check, 0, job_id);
}

result<line_cipher> cipher_of(const shared_job& job, std::string_view key) {
  if (job.key_check.empty())
    return line_cipher{job.header.job_id};
  const auto wrong = [&](const char* what) {
    return error{errc::invalid_argument,
                 "the rows of the job \"" + job.name + "\" are encrypted; " + what +
                     " SUPERSTEP_CHECKPOINT_KEY to the key with which the job was submitted"};
  };
  if (key.empty())
    return wrong("set");
  auto out = line_cipher{job.header.job_id, key};
  const auto opened = out.open(line_kind::check, 0, job.key_check);
  if (!opened || *opened != job.header.job_id)
    return wrong("the key is another one; set");
  return out;
}

} // namespace superstep::detail
