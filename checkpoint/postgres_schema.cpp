// SPDX-License-Identifier: Apache-2.0
// Creates and migrates the tables and functions in a PostgreSQL database. The tables have the same
// columns as those of an SQLite file, so that the same statements read them; texts that are
// compared have the collation "C", which compares bytes. docs/checkpoint-format.md explains the
// tables.
#include "postgres_db.hpp"
#include "postgres_functions.hpp"
#include "row_key.hpp"

#include <array>
#include <string>

namespace superstep::detail {

namespace {

/// The migrations: element i converts the schema of version i to version i + 1. Elements that were
/// released must never be changed, because databases in use were made with them.
constexpr auto postgres_steps = std::array{R"sql(
create table superstep_threads.threads (
  no bigint generated always as identity primary key,
  thread text collate "C" not null,
  ns text collate "C" not null,
  created bigint not null,
  unique (thread, ns));
create table superstep_threads.layouts (
  no bigint generated always as identity primary key,
  text text collate "C" not null);
create unique index on superstep_threads.layouts (md5(text));
create table superstep_threads.points (
  no bigint generated always as identity,
  thread bigint not null,
  id text collate "C" not null,
  parent text collate "C",
  base text collate "C",
  step bigint not null,
  source bigint not null,
  layout bigint not null,
  chain bigint not null,
  whole bigint not null,
  made bigint not null,
  sum bigint not null,
  row bytea not null,
  primary key (thread, id));
create table superstep_threads.tasks (
  no bigint generated always as identity primary key,
  thread bigint not null,
  point text collate "C" not null,
  layout bigint not null,
  sum bigint not null,
  row bytea not null);
create index on superstep_threads.tasks (thread, point);
create table superstep_threads.effects (
  thread text collate "C" not null,
  key text collate "C" not null,
  ended bigint not null,
  sum bigint not null,
  row bytea not null,
  primary key (thread, key));
create table superstep_threads.outputs (
  no bigint not null,
  scope text collate "C" not null,
  key text collate "C" not null,
  layout bigint not null,
  until bigint not null,
  row bytea not null,
  primary key (scope, key));
create index on superstep_threads.outputs (no);
create table superstep_threads.items (
  ns bytea not null,
  key text collate "C" not null,
  value bytea not null,
  ttl bigint not null,
  until bigint not null,
  meaning bytea,
  primary key (ns, key));
create index on superstep_threads.items (until) where until > 0;
create table superstep_threads.facts (name text primary key, value bytea not null);
-- Rows are compressed before they are stored.
alter table superstep_threads.points alter column row set storage external;
alter table superstep_threads.tasks alter column row set storage external;
-- The last commit of each process, so that a commit whose answer was lost can be asked for.
create table superstep_threads.writers (
  writer bigint generated always as identity primary key,
  last bigint not null default 0,
  answer text,
  at timestamptz not null default now()) with (fillfactor = 50);
-- The leases on threads. The time is that of the server.
create sequence superstep_threads.fences;
create table superstep_threads.leases (
  thread text collate "C" primary key,
  holder bigint not null,
  fence bigint not null,
  until timestamptz not null) with (fillfactor = 50);
)sql"};
constexpr auto postgres_version = static_cast<std::int64_t>(postgres_steps.size());

/// Returns the version of the schema; 0 if there is none.
std::int64_t postgres_version_of(postgres_database& db) {
  if (db.query_number("SELECT count(*) FROM pg_tables WHERE schemaname = 'superstep_threads' AND "
                      "tablename = 'format'") == 0)
    return 0;
  const auto version = db.query_number("SELECT version FROM @format");
  if (version > postgres_version)
    throw checkpoint_error{
        make_error_code(checkpoint_errc::newer_format),
        "checkpoints in '" + db.name() + "': the database has format " + std::to_string(version) +
            ", but this version of superstep reads formats up to " +
            std::to_string(postgres_version) + ": use a newer version; nothing was written to it"};
  return version;
}

/// Migrates the schema in one transaction. Processes that do so at the same time wait for each
/// other.
void migrate_postgres(postgres_database& db) {
  db.in_transaction(transaction::write, [&] {
    auto version = postgres_version_of(db); // another process may have migrated it since
    if (version == postgres_version)
      return;
    if (version == 0)
      db.exec("create schema if not exists superstep_threads; "
              "create table superstep_threads.format (version int not null); "
              "insert into superstep_threads.format values (0)");
    for (; version < postgres_version; ++version)
      db.exec(postgres_steps[static_cast<std::size_t>(version)]);
    db.exec(postgres_functions());
    db.exec(("update superstep_threads.format set version = " + std::to_string(postgres_version))
                .c_str());
  });
}

} // namespace

std::unique_ptr<postgres_database> open_postgres(const pg_address& address, std::string_view key,
                                                 std::chrono::milliseconds reconnect,
                                                 std::function<bool()> is_cancelled) {
  auto db = std::make_unique<postgres_database>(address, row_cipher{key}, reconnect,
                                                std::move(is_cancelled));
  if (postgres_version_of(*db) < postgres_version)
    migrate_postgres(*db);
  check_key(*db, false);
  return db;
}

} // namespace superstep::detail
