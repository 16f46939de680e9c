// SPDX-License-Identifier: Apache-2.0
// The tool `sqlite_query`, which runs read-only queries that models write. An authorizer restricts
// the actions of a query. sqlite_guard.cpp and a progress handler limit its cost.
#include "base/deadline.hpp"
#include "sqlite_guard.hpp"
#include "sqlite_like.hpp"

#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
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

/// The virtual tables that queries may use; SQLite also has a table for each allowed pragma. They
/// only read, and take long only between calls of the progress handler.
constexpr const char* modules[] = {"json_each", "json_tree", "fts5", nullptr};

/// The authorizer, which SQLite calls for each action of a statement when it compiles the
/// statement. The file is opened read-only as well. The authorizer also prevents ATTACH, temporary
/// tables and settings.
int authorize(void*, int action, const char* name, const char* second, const char*, const char*) {
  const auto is = [&](const char* other) { return name && std::string_view{name} == other; };
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_READ:
  case SQLITE_RECURSIVE:
    return SQLITE_OK;
  case SQLITE_FUNCTION: // load_extension() is disabled by default
    // json_patch is denied, because it takes quadratic time in a single operation.
    return second && std::string_view{second} == "json_patch" ? SQLITE_DENY : SQLITE_OK;
  case SQLITE_UPDATE:
    // SQLite asks for this when it declares the columns of a virtual table. It rejects such a
    // statement of a query itself, because the table of the schema cannot be modified.
    return is("sqlite_master") ? SQLITE_OK : SQLITE_DENY;
  case SQLITE_PRAGMA:
    return is("table_info") || is("table_list") || is("index_list") || is("foreign_key_list") ||
                   (is("data_version") && second == nullptr) // fts5 reads it
               ? SQLITE_OK
               : SQLITE_DENY;
  default:
    return SQLITE_DENY;
  }
}

/// The number of running queries of a tool, and SQLite's memory before the first of them. SQLite
/// counts the memory of the whole process only.
struct query_load {
  std::mutex mutex; ///< guards the members below
  std::int64_t running = 0;
  std::int64_t memory_before = 0;
};

/// Decides when a query must end. The progress handler checks it, and so does the loop over the
/// rows.
struct end_of_query {
  enum class reason : std::uint8_t { none, time, stopped, memory };

  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
  std::int64_t memory_max; ///< SQLite's memory in the whole process, in bytes
  reason why = reason::none;

  bool check() {
    if (stop.stop_requested())
      why = reason::stopped;
    else if (std::chrono::steady_clock::now() >= deadline)
      why = reason::time;
    else if (sqlite3_memory_used() > memory_max)
      why = reason::memory;
    return why != reason::none;
  }
  static int ask(void* self) { return static_cast<end_of_query*>(self)->check() ? 1 : 0; }
};

/// Counts a query while it runs.
class running_query {
public:
  explicit running_query(query_load& load) : load_{load} {
    const auto lock = std::scoped_lock{load_.mutex};
    if (load_.running++ == 0)
      load_.memory_before = sqlite3_memory_used();
  }
  running_query(const running_query&) = delete;
  running_query& operator=(const running_query&) = delete;
  ~running_query() {
    const auto lock = std::scoped_lock{load_.mutex};
    --load_.running;
  }

  /// Returns the maximum of SQLite's memory in this process: its memory before the first running
  /// query, plus `one`, plus a share for each running query. A small query may therefore fail while
  /// a large one runs.
  /// @param one sqlite_query_options::memory_bytes_max
  [[nodiscard]] std::int64_t memory_max(std::size_t one) const {
    constexpr auto share = std::int64_t{4} << 20U;  // page cache and sorter of a small query
    constexpr auto one_max = std::size_t{1} << 50U; // so that the sum cannot overflow
    const auto lock = std::scoped_lock{load_.mutex};
    return load_.memory_before + static_cast<std::int64_t>(std::min(one, one_max)) +
           load_.running * share;
  }

private:
  query_load& load_;
};

/// Whether SQLite failed because memory, descriptors or disk space are exhausted.
bool is_short(sqlite3* db) {
  const auto code = db != nullptr ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
  const auto of_system = db != nullptr ? sqlite3_system_errno(db) : 0;
  if (code != SQLITE_NOMEM)
    return code == SQLITE_FULL || ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) &&
                                   is_shortage({of_system, std::system_category()}));
  // SQLite's printf() reports a text that is too long as a lack of memory. If this process can
  // allocate 16 MiB, memory is not exhausted.
  constexpr auto enough = std::size_t{16} << 20U;
  const auto memory = std::unique_ptr<void, decltype(&std::free)>{std::malloc(enough), &std::free};
  return memory == nullptr;
}

result<database> open_database(const std::string& path, std::size_t value_bytes_max,
                               detail::function_watch& watch) {
  if (path.empty() || path == ":memory:") // for these paths SQLite would create a new database
    return error{errc::invalid_argument, "must be the path of a database file"};
  auto* raw = static_cast<sqlite3*>(nullptr);
  const auto code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  auto db = database{raw};
  // Opening does not read the file. Reading schema_version detects a file that is not a database.
  if (code != SQLITE_OK || sqlite3_busy_timeout(raw, 1'000) != SQLITE_OK ||
      // Large sorts use temporary files without names. The timeout limits their size.
      sqlite3_exec(raw,
                   "PRAGMA query_only=1; PRAGMA temp_store=FILE; PRAGMA cache_size=-1024; "
                   "PRAGMA schema_version",
                   nullptr, nullptr, nullptr) != SQLITE_OK ||
      sqlite3_drop_modules(raw, const_cast<const char**>(modules)) != SQLITE_OK ||
      !detail::replace_slow_functions(raw, watch))
    return error{is_short(raw) ? errc::shortage : errc::io_failed,
                 "'" + path + "': " + (raw ? sqlite3_errmsg(raw) : "no memory")};
  detail::limit_connection(raw, value_bytes_max);
  sqlite3_set_authorizer(raw, &authorize, nullptr);
  return db;
}

error refused(sqlite3* db) {
  return {is_short(db) ? errc::shortage : errc::invalid_argument, sqlite3_errmsg(db)};
}

result<statement> prepare(sqlite3* db, const std::string& query) {
  constexpr auto expansions_max = std::size_t{10'000}; // compiling that many takes about 0.1 s
  if (detail::expansions_of(query, expansions_max) >= expansions_max)
    return error{
        errc::too_large,
        "the WITH tables of the query refer to each other more than 10000 times; split the query"};
  if (detail::has_wide_format(query))
    return error{errc::too_large, "a format string of the query has a width above 9999"};
  auto* raw = static_cast<sqlite3_stmt*>(nullptr);
  const auto* rest = static_cast<const char*>(nullptr);
  const auto code =
      sqlite3_prepare_v2(db, query.data(), static_cast<int>(query.size()), &raw, &rest);
  auto one = statement{raw};
  if (code != SQLITE_OK)
    return refused(db);
  if (!one)
    return error{errc::invalid_argument, "the query is empty"};
  if (sqlite3_stmt_readonly(one.get()) == 0)
    return error{errc::invalid_argument, "the query writes; send a SELECT"};
  const auto tail =
      std::string_view{rest, static_cast<std::size_t>(query.data() + query.size() - rest)};
  // Stays null if only blanks and comments follow.
  auto* second = static_cast<sqlite3_stmt*>(nullptr);
  const auto more =
      sqlite3_prepare_v2(db, tail.data(), static_cast<int>(tail.size()), &second, nullptr);
  const auto other = statement{second};
  if (more != SQLITE_OK || other)
    return error{errc::invalid_argument,
                 "the query has more than one statement; send one at a time"};
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

/// Formats a blob in hexadecimal digits, like an SQL literal.
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

/// Returns unique column names. A second column `n` becomes `n:2`, so that no value is lost.
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

error ended(const end_of_query& end, const sqlite_query_options& options) {
  if (end.why == end_of_query::reason::memory)
    return {errc::too_large, "the queries that run now take more than " +
                                 std::to_string(options.memory_bytes_max) + " bytes of memory"};
  return {errc::timed_out,
          "the query took longer than " + std::to_string(options.timeout.count()) + " ms"};
}

error too_long(const sqlite_query_options& options) {
  return {errc::too_large, "the result has more than " + std::to_string(options.max_bytes) +
                               " bytes; ask for fewer rows or columns"};
}

/// Returns the size of a row, to check it before the row is copied.
std::size_t bytes_of_row(sqlite3_stmt* s) {
  auto out = std::size_t{0};
  for (auto i = 0; i < sqlite3_column_count(s); ++i)
    if (const auto type = sqlite3_column_type(s, i); type == SQLITE_TEXT || type == SQLITE_BLOB)
      out += static_cast<std::size_t>(sqlite3_column_bytes(s, i));
  return out;
}

result<std::string> rows_of(sqlite3* db, sqlite3_stmt* s, const sqlite_query_options& options,
                            end_of_query& end) {
  const auto names = column_names(s);
  auto text = std::string{"["};
  auto rows = std::size_t{0};
  for (;;) {
    const auto code = sqlite3_step(s);
    if (code == SQLITE_DONE)
      return text + ']';
    if (code == SQLITE_ROW)
      end.check(); // the progress handler may not run in short queries
    if (end.why != end_of_query::reason::none)
      return ended(end, options);
    if (code != SQLITE_ROW)
      return refused(db);
    if (rows == options.max_rows)
      return text + "]\n(only the first " + std::to_string(rows) + " rows; add a LIMIT or a WHERE)";
    if (text.size() + bytes_of_row(s) > options.max_bytes)
      return too_long(options);
    auto row = json::object{};
    for (auto i = 0; i < static_cast<int>(names.size()); ++i)
      row[names[static_cast<std::size_t>(i)]] = column(s, i);
    text += rows++ == 0 ? "" : ",";
    append_text(text, row);
    if (text.size() > options.max_bytes)
      return too_long(options);
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
                              const sqlite_query_arguments& args, const std::stop_token& stop,
                              query_load& load) {
  constexpr auto steps_between_checks = 20;
  const auto running = running_query{load};
  auto end = end_of_query{detail::deadline_after(std::chrono::steady_clock::now(), options.timeout),
                          stop, running.memory_max(options.memory_bytes_max)};
  // Each call opens a connection, because calls run concurrently on any thread. Opening is cheap.
  auto watch = detail::function_watch{&end_of_query::ask, &end};
  const auto db = open_database(options.path, options.value_bytes_max, watch);
  if (!db)
    return db.error();
  sqlite3_progress_handler(db->get(), steps_between_checks, &end_of_query::ask, &end);
  const auto query = prepare(db->get(), args.query);
  if (!query)
    return query.error();
  detail::limit_row(db->get(), query->get(), options.value_bytes_max);
  if (auto bound = bind(db->get(), query->get(), args.parameters.value_or(json::array{})); !bound)
    return std::move(bound).error();
  return rows_of(db->get(), query->get(), options, end);
}

} // namespace

result<tool_ptr> make_sqlite_query(sqlite_query_options options) {
  if (options.max_rows == 0 || options.max_bytes == 0 || options.timeout.count() <= 0 ||
      options.value_bytes_max == 0 || options.memory_bytes_max == 0)
    return error{errc::invalid_argument, "sqlite_query: max_rows, max_bytes, timeout, "
                                         "value_bytes_max and memory_bytes_max must not be 0"};
  auto watch = detail::function_watch{};
  if (const auto db = open_database(options.path, options.value_bytes_max, watch); !db)
    return error{is_shortage(db.error().code) ? errc::shortage : errc::not_found,
                 "sqlite_query: path: " + db.error().text};
  const auto load = std::make_shared<query_load>();
  auto run = [options, load](const sqlite_query_arguments& args, const tool_context& context) {
    auto rows = run_query(options, args, context.stop, *load);
    if (!rows && is_shortage(rows.error().code))
      throw tool_unavailable{{errc::shortage, "sqlite_query: " + rows.error().text}};
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
