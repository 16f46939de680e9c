// SPDX-License-Identifier: Apache-2.0
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/sqlite_query.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>

#include <sqlite3.h>

namespace superstep {

namespace {

struct closer {
  void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using database = std::unique_ptr<sqlite3, closer>;
using statement = std::unique_ptr<sqlite3_stmt, closer>;

/// Asked by SQLite for everything a statement does, while it is compiled. The file is opened
/// read-only as well; this also keeps ATTACH, temporary tables and settings away.
int authorize(void*, int action, const char* name, const char*, const char*, const char*) {
  const auto is = [&](const char* other) { return name && std::string_view{name} == other; };
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_READ:
  case SQLITE_FUNCTION: // load_extension() is off unless it is switched on
  case SQLITE_RECURSIVE:
    return SQLITE_OK;
  case SQLITE_PRAGMA:
    return is("table_info") || is("table_list") || is("index_list") || is("foreign_key_list")
               ? SQLITE_OK
               : SQLITE_DENY;
  default:
    return SQLITE_DENY;
  }
}

/// When a query must end; asked every thousand of SQLite's own steps.
struct end_of_query {
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
  bool is_over = false;

  static int ask(void* self) {
    auto& end = *static_cast<end_of_query*>(self);
    end.is_over = end.stop.stop_requested() || std::chrono::steady_clock::now() >= end.deadline;
    return end.is_over ? 1 : 0;
  }
};

result<database> open_database(const std::string& path) {
  if (path.empty() || path == ":memory:") // SQLite makes a new database for these
    return error{errc::invalid_argument, "name the file of a database"};
  auto* raw = static_cast<sqlite3*>(nullptr);
  const auto code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  auto db = database{raw};
  // Opening reads nothing yet: the pragma finds a file that is no database.
  if (code != SQLITE_OK || sqlite3_busy_timeout(raw, 1'000) != SQLITE_OK ||
      sqlite3_exec(raw, "PRAGMA query_only=1; PRAGMA schema_version", nullptr, nullptr, nullptr) !=
          SQLITE_OK)
    return error{errc::io_failed, "'" + path + "': " + (raw ? sqlite3_errmsg(raw) : "no memory")};
  sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(raw, &authorize, nullptr);
  return db;
}

error refused(sqlite3* db) {
  return {errc::invalid_argument, sqlite3_errmsg(db)};
}

result<statement> prepare(sqlite3* db, const std::string& query) {
  auto* raw = static_cast<sqlite3_stmt*>(nullptr);
  const auto* rest = static_cast<const char*>(nullptr);
  const auto code =
      sqlite3_prepare_v2(db, query.data(), static_cast<int>(query.size()), &raw, &rest);
  auto one = statement{raw};
  if (code != SQLITE_OK)
    return refused(db);
  if (!one)
    return error{errc::invalid_argument, "the query is empty"};
  const auto tail =
      std::string_view{rest, static_cast<std::size_t>(query.data() + query.size() - rest)};
  auto* second = static_cast<sqlite3_stmt*>(nullptr); // blanks and comments are no statement
  const auto more =
      sqlite3_prepare_v2(db, tail.data(), static_cast<int>(tail.size()), &second, nullptr);
  const auto other = statement{second};
  if (more != SQLITE_OK || other)
    return error{errc::invalid_argument, "give one statement, not several"};
  return one;
}

result<void> bind(sqlite3* db, sqlite3_stmt* s, const json::array& parameters) {
  if (sqlite3_bind_parameter_count(s) != static_cast<int>(parameters.size()))
    return error{errc::invalid_argument,
                 "the query has " + std::to_string(sqlite3_bind_parameter_count(s)) +
                     " parameters, " + std::to_string(parameters.size()) + " were given"};
  for (auto i = 0; i < static_cast<int>(parameters.size()); ++i) {
    const auto& value = parameters[static_cast<std::size_t>(i)];
    auto code = SQLITE_OK;
    if (value.is_null())
      code = sqlite3_bind_null(s, i + 1);
    else if (value.is_bool())
      code = sqlite3_bind_int(s, i + 1, value.get_bool() ? 1 : 0);
    else if (value.is_int64())
      code = sqlite3_bind_int64(s, i + 1, value.get_int64());
    else if (value.is_number())
      code = sqlite3_bind_double(s, i + 1, value.to_number<double>());
    else {
      const auto text =
          value.is_string() ? std::string{std::string_view{value.get_string()}} : to_text(value);
      code =
          sqlite3_bind_text(s, i + 1, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
    if (code != SQLITE_OK)
      return refused(db);
  }
  return {};
}

/// Blobs are written in hexadecimal, as SQL does.
std::string hex(const void* bytes, int size) {
  static constexpr auto digits = std::string_view{"0123456789ABCDEF"};
  auto out = std::string{};
  for (auto i = 0; i < size; ++i) {
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

json::value column(sqlite3_stmt* s, int i) {
  switch (sqlite3_column_type(s, i)) {
  case SQLITE_INTEGER:
    return static_cast<std::int64_t>(sqlite3_column_int64(s, i));
  case SQLITE_FLOAT:
    return sqlite3_column_double(s, i);
  case SQLITE_NULL:
    return nullptr;
  case SQLITE_BLOB:
    return json::value(hex(sqlite3_column_blob(s, i), sqlite3_column_bytes(s, i)));
  default: {
    const auto* text =
        static_cast<const char*>(static_cast<const void*>(sqlite3_column_text(s, i)));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(s, i));
    return json::value(std::string_view{text, size});
  }
  }
}

/// Names of the columns; a second `n` becomes `n:2`, so that no value hides another.
std::vector<std::string> column_names(sqlite3_stmt* s) {
  auto names = std::vector<std::string>{};
  for (auto i = 0; i < sqlite3_column_count(s); ++i) {
    const auto base = std::string{sqlite3_column_name(s, i)};
    auto name = base;
    for (auto n = 2; std::find(names.begin(), names.end(), name) != names.end(); ++n)
      name = base + ':' + std::to_string(n);
    names.push_back(std::move(name));
  }
  return names;
}

result<std::string> rows_of(sqlite3* db, sqlite3_stmt* s, const sqlite_query_options& options,
                            const end_of_query& end) {
  const auto names = column_names(s);
  auto text = std::string{"["};
  auto rows = std::size_t{0};
  for (;;) {
    const auto code = sqlite3_step(s);
    if (code == SQLITE_DONE)
      return text + ']';
    if (end.is_over)
      return error{errc::timed_out,
                   "the query took longer than " + std::to_string(options.timeout_ms) + " ms"};
    if (code != SQLITE_ROW)
      return refused(db);
    if (rows == options.max_rows)
      return text + "]\n(only the first " + std::to_string(rows) + " rows; add a LIMIT or a WHERE)";
    auto row = json::object{};
    for (auto i = 0; i < static_cast<int>(names.size()); ++i)
      row[names[static_cast<std::size_t>(i)]] = column(s, i);
    text += rows++ == 0 ? "" : ",";
    append_text(text, row);
    if (text.size() > options.max_bytes)
      return error{errc::too_large, "the result has more than " +
                                        std::to_string(options.max_bytes) +
                                        " bytes; ask for fewer rows or columns"};
  }
}

struct sqlite_query_arguments {
  std::string query;
  std::optional<json::array> parameters;

  static constexpr auto descriptions =
      std::array{std::pair{"query", "One SELECT statement; the tables are listed in sqlite_master"},
                 std::pair{"parameters", "Values for the question marks of the query, in order"}};
};
BOOST_DESCRIBE_STRUCT(sqlite_query_arguments, (), (query, parameters))

result<std::string> run_query(const sqlite_query_options& options,
                              const sqlite_query_arguments& args, const std::stop_token& stop) {
  // A connection per call: calls run on any thread and at once, and opening one costs little.
  const auto db = open_database(options.path);
  if (!db)
    return db.error();
  auto end = end_of_query{
      std::chrono::steady_clock::now() + std::chrono::milliseconds{options.timeout_ms}, stop};
  sqlite3_progress_handler(db->get(), 1'000, &end_of_query::ask, &end);
  const auto query = prepare(db->get(), args.query);
  if (!query)
    return query.error();
  if (auto bound = bind(db->get(), query->get(), args.parameters.value_or(json::array{})); !bound)
    return std::move(bound).error();
  return rows_of(db->get(), query->get(), options, end);
}

} // namespace

result<tool_ptr> make_sqlite_query(sqlite_query_options options) {
  if (options.max_rows == 0 || options.max_bytes == 0 || options.timeout_ms == 0)
    return error{errc::invalid_argument,
                 "sqlite_query: max_rows, max_bytes and timeout_ms must not be 0"};
  if (const auto db = open_database(options.path); !db)
    return error{errc::not_found, "sqlite_query: path: " + db.error().text};
  auto run = [options](const sqlite_query_arguments& args, const tool_context& context) {
    auto rows = run_query(options, args, context.stop);
    auto out = tool_output{};
    out.is_error = rows.has_error();
    out.content = rows ? *std::move(rows) : "Error: " + rows.error().text;
    return out;
  };
  return make_tool<sqlite_query_arguments>(
      "sqlite_query",
      "Runs one read-only SQL query on an SQLite database and answers with the rows.",
      std::move(run));
}

} // namespace superstep
