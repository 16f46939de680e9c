// SPDX-License-Identifier: Apache-2.0
// Finds jobs in a database, and converts what the database stores about them.
#include "shared_job.hpp"

#include "schema.hpp"
#include "statements.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <array>

namespace superstep::detail {
namespace {

/// The members of job_header that are texts, with their names in JSON.
struct text_member {
  const char* name;
  std::string job_header::*member;
};
constexpr auto text_members = std::array{text_member{"job_id", &job_header::job_id},
                                         text_member{"agent", &job_header::agent},
                                         text_member{"tools", &job_header::tools},
                                         text_member{"model", &job_header::model},
                                         text_member{"parameters", &job_header::parameters},
                                         text_member{"input", &job_header::input},
                                         text_member{"format", &job_header::format},
                                         text_member{"id_field", &job_header::id_field},
                                         text_member{"shard", &job_header::shard},
                                         text_member{"sample", &job_header::sample},
                                         text_member{"repeat", &job_header::repeat},
                                         text_member{"keys", &job_header::keys}};

shared_job_state state_of(std::string_view state, std::uint64_t rows, std::uint64_t ended) {
  using enum shared_job_state;
  if (state == "open" || state == "paused") {
    if (ended >= rows)
      return finished;
    return state == "open" ? open : paused;
  }
  return state == "loading" ? loading : cancelled;
}

constexpr auto key_check_name = "key_check";

/// Reads the text of header_text().
result<void> read_header(std::string_view text, shared_job& into) {
  const auto parsed = parse_json(text);
  const auto* members = parsed ? parsed->if_object() : nullptr;
  if (members == nullptr)
    return error{errc::parse_failed, "the ledger's description of the job is not a JSON object"};
  if (const auto* created = members->if_contains("created"); created && created->is_int64())
    into.header.created = created->get_int64();
  for (const auto& each : text_members)
    if (const auto* found = members->if_contains(each.name); found && found->is_string())
      into.header.*each.member = std::string_view{found->get_string()};
  if (const auto* check = members->if_contains(key_check_name); check && check->is_string())
    into.key_check = std::string_view{check->get_string()};
  return {};
}

} // namespace

std::string header_text(const job_header& header, const std::string& key_check) {
  auto out = json::object{};
  out["created"] = header.created;
  for (const auto& each : text_members)
    if (const auto& text = header.*each.member; !text.empty())
      out[each.name] = text;
  if (!key_check.empty())
    out[key_check_name] = key_check;
  return to_text(out);
}

row_counts counts_of(const chunk_sums& sums) noexcept {
  return {.steps = static_cast<std::uint64_t>(sums[2]),
          .model_calls = static_cast<std::uint64_t>(sums[3]),
          .tool_calls = static_cast<std::uint64_t>(sums[4]),
          .input_tokens = sums[5],
          .output_tokens = sums[6],
          .total_tokens = sums[7],
          .failed_tool_calls = static_cast<std::uint64_t>(sums[8]),
          .cost = sums[9],
          .rows_unpriced = static_cast<std::uint64_t>(sums[10]),
          .cached_answers = static_cast<std::uint64_t>(sums[11])};
}

chunk_sums sums_of(const row_counts& counts, bool is_dead) noexcept {
  return {is_dead ? 0 : 1,
          is_dead ? 1 : 0,
          static_cast<std::int64_t>(counts.steps),
          static_cast<std::int64_t>(counts.model_calls),
          static_cast<std::int64_t>(counts.tool_calls),
          counts.input_tokens,
          counts.output_tokens,
          counts.total_tokens,
          static_cast<std::int64_t>(counts.failed_tool_calls),
          counts.cost,
          static_cast<std::int64_t>(counts.rows_unpriced),
          static_cast<std::int64_t>(counts.cached_answers),
          counts.failed_tool_calls > 0 ? 1 : 0};
}

result<void> check_ledger_format(pg_connection& connection) {
  const auto version = connection.run("select superstep.ledger_format()");
  // Workers may not call the function in a ledger that was created without their right to do so.
  if (!version && has_sqlstate(version.error(), "42501"))
    return {};
  const auto is_missing = !version && has_sqlstate(version.error(), "42883");
  if (!version && !is_missing)
    return version.error();
  if (is_missing) {
    // The schema also contains the functions of shared limits.
    const auto has_jobs = connection.run("select to_regclass('superstep.jobs') is not null");
    if (!has_jobs)
      return has_jobs.error();
    if (has_jobs->text(0, 0) == "f")
      return error{errc::not_found, "the database " + connection.name() + " has no ledger"};
  }
  const auto number = version ? version->number(0, 0) : 1; // the first format has no function
  if (number != ledger_format)
    return error{errc::invalid_argument,
                 "the ledger " + connection.name() + " has format " + std::to_string(number) +
                     ", and this program has format " + std::to_string(ledger_format) +
                     "; use the program that created it"};
  return {};
}

result<shared_job> find_shared_job(pg_connection& connection, const std::string& name) {
  const auto no_job = [&] {
    return error{errc::not_found, "the ledger " + connection.name() + " has no job \"" + name +
                                      "\"; create it with superstep submit"};
  };
  if (auto checked = check_ledger_format(connection); !checked)
    return checked.error().code == errc::not_found || has_sqlstate(checked.error(), "3F000")
               ? no_job()
               : checked.error();
  auto given = pg_parameters{};
  given.add(std::string_view{name});
  const auto rows = connection.run("select * from superstep.find_job($1)", given);
  if (!rows)
    return rows.error();
  if (rows->size() == 0)
    return no_job();
  auto out = shared_job{};
  out.name = name;
  out.number = rows->number(0, 0);
  if (auto read = read_header(rows->text(0, 4), out); !read)
    return read.error();
  out.header.job_id = rows->text(0, 1);
  out.header.created = rows->number(0, 2);
  out.agent = rows->text(0, 5);
  out.rows = static_cast<std::uint64_t>(rows->number(0, 6));
  const auto sums = rows->numbers(0, 7);
  std::copy_n(sums.begin(), std::min(sums.size(), out.sums.size()), out.sums.begin());
  out.state = state_of(rows->text(0, 3), out.rows, out.ok() + out.dead());
  return out;
}

} // namespace superstep::detail
