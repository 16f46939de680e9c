// SPDX-License-Identifier: Apache-2.0
// Reads threads from the tables of LangGraph's checkpointers (langgraph-checkpoint-postgres 3,
// langgraph-checkpoint-sqlite 3).
#include "cli/langgraph_database.hpp"

#include "checkpoint/ownership.hpp"
#include "checkpoint/sqlite_db.hpp"
#include "cli/langgraph_value.hpp"
#include "postgres/pg_connection.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace superstep::cli {
namespace {

/// A checkpoint as it is found in the database.
struct found_checkpoint {
  json::object checkpoint;
  json::value metadata;
};

[[noreturn]] void refuse(const std::string& database, std::string_view text) {
  throw std::runtime_error{fmt::format("{}: {}", database, text)};
}

[[noreturn]] void refuse_missing(const std::string& database, const std::string& thread) {
  refuse(database, fmt::format("LangGraph's tables have no thread '{}'", thread));
}

[[noreturn]] void refuse_tables(const std::string& database) {
  refuse(database, "has no tables of LangGraph's checkpointers (checkpoints, checkpoint_blobs)");
}

json::value parsed(const std::string& database, std::string_view text) {
  auto out = parse_json(text);
  if (!out)
    refuse(database, "a checkpoint is damaged: " + out.error().text);
  return std::move(*out);
}

/// Parses the metadata of a checkpoint. Python's json writes NaN and Infinity, which are not JSON.
json::value parsed_metadata(const std::string& database, std::string_view text) {
  auto out = parse_json(text);
  if (!out)
    refuse(database,
           fmt::format("the metadata of the checkpoint cannot be read: {}{}", out.error().text,
                       text.find("NaN") != text.npos || text.find("Infinity") != text.npos
                           ? "; JSON has no NaN and Infinity, export the thread in "
                             "Python (see docs/durability.md)"
                           : ""));
  return std::move(*out);
}

/// Decodes a value. An error names the channel.
json::value decoded(const std::string& database, const std::string& what, std::string_view type,
                    std::string_view bytes) {
  try {
    return from_langgraph_value(type, bytes);
  } catch (const std::runtime_error& e) {
    refuse(database, fmt::format("{} cannot be read: {}; export the thread in Python (see "
                                 "docs/durability.md)",
                                 what, e.what()));
  }
}

json::object object_of(const std::string& database, json::value from) {
  if (!from.is_object())
    refuse(database, "a checkpoint is damaged: it is not an object");
  return std::move(from.get_object());
}

/// Rejects a checkpoint with channels of the class DeltaChannel. Their values are spread over the
/// checkpoints before.
void check_channels(const std::string& database, const json::value& metadata) {
  if (const auto* deltas = detail::delta_counts(metadata.if_object()))
    refuse(database, fmt::format("channel '{}' is a DeltaChannel, which only LangGraph can read; "
                                 "export the thread in Python (see docs/durability.md)",
                                 std::string_view{deltas->begin()->key()}));
}

template <class Result>
auto value_of(Result&& from) {
  if (!from)
    throw std::runtime_error{from.error().text};
  return std::forward<Result>(from).value();
}

/// PostgresSaver stores short values in the checkpoint, and the others as blobs.
found_checkpoint from_postgres(const std::string& url, const std::string& thread) {
  auto db = detail::pg_connection{
      value_of(detail::check_address(url, false, {.option = "--from", .insecure_option = ""}))};
  const auto& name = db.name();
  const auto tables = value_of(db.run("select to_regclass('checkpoints') is not null and "
                                      "to_regclass('checkpoint_blobs') is not null"));
  if (tables.text(0, 0) != "t")
    refuse_tables(name);
  auto of_thread = detail::pg_parameters{};
  of_thread.add(std::string_view{thread});
  const auto newest = value_of(
      db.run("select checkpoint_id, checkpoint::text, metadata::text from checkpoints "
             "where thread_id = $1 and checkpoint_ns = '' order by checkpoint_id desc limit 1",
             of_thread));
  if (newest.size() == 0)
    refuse_missing(name, thread);
  auto out = found_checkpoint{object_of(name, parsed(name, newest.text(0, 1))),
                              parsed(name, newest.text(0, 2))};
  check_channels(name, out.metadata);
  auto& values = out.checkpoint["channel_values"];
  if (!values.is_object())
    values = json::object{};
  of_thread.add(newest.text(0, 0));
  const auto blobs = value_of(
      db.run("select b.channel, b.type, b.blob from checkpoints c, "
             "jsonb_each_text(c.checkpoint -> 'channel_versions') v "
             "join checkpoint_blobs b on b.channel = v.key and b.version = v.value "
             "where c.thread_id = $1 and c.checkpoint_ns = '' and c.checkpoint_id = $2 "
             "and b.thread_id = c.thread_id and b.checkpoint_ns = '' and b.type <> 'empty'",
             of_thread, detail::pg_form::binary));
  for (auto i = 0; i < blobs.size(); ++i) {
    const auto channel = std::string{blobs.text(i, 0)};
    values.get_object()[channel] =
        decoded(name, "channel '" + channel + "'", blobs.text(i, 1), blobs.text(i, 2));
  }
  return out;
}

/// SqliteSaver stores each checkpoint as one value.
found_checkpoint from_sqlite(const std::string& path, const std::string& thread) {
  if (!std::filesystem::is_regular_file(path))
    refuse(path, "no such file; check --from");
  auto db = detail::sqlite_database{path, detail::sqlite_database::access::read_only,
                                    std::chrono::seconds{5}};
  auto tables = db.prepare("select count(*) from pragma_table_info('checkpoints') where name in "
                           "('checkpoint_ns', 'checkpoint', 'metadata')");
  if (!tables.step() || tables.number(0) != 3)
    refuse_tables(path);
  auto newest =
      db.prepare("select type, checkpoint, metadata from checkpoints where thread_id = ?1 and "
                 "checkpoint_ns = '' order by checkpoint_id desc limit 1");
  newest.bind_text(1, thread);
  if (!newest.step())
    refuse_missing(path, thread);
  auto out = found_checkpoint{
      object_of(path, decoded(path, "the checkpoint", newest.text(0), newest.bytes(1))),
      newest.is_null(2) ? json::value{} : parsed_metadata(path, newest.bytes(2))};
  check_channels(path, out.metadata);
  return out;
}

} // namespace

std::string read_langgraph_thread(const std::string& database, const std::string& thread) {
  auto found = detail::is_postgres_url(database) ? from_postgres(database, thread)
                                                 : from_sqlite(database, thread);
  auto out = json::object{};
  out["checkpoint"] = std::move(found.checkpoint);
  out["metadata"] = std::move(found.metadata);
  return to_text(out);
}

} // namespace superstep::cli
