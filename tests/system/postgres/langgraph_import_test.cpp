// SPDX-License-Identifier: Apache-2.0
// `superstep threads import --from`: threads that LangGraph has saved in PostgreSQL and SQLite. The
// folder langgraph/ has recorded databases, and what LangGraph itself reads from them.
#include "checkpoint/sqlite_db.hpp"
#include "system/postgres/postgres_place.hpp"

#include <superstep/base/json.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(langgraph_import)

namespace {

namespace ss = superstep;
namespace st = superstep::testing;

std::string recorded(const std::string& name) {
  auto in = std::ifstream{LANGGRAPH_DATA "/" + name};
  BOOST_TEST_REQUIRE(in.is_open(), name);
  auto out = std::ostringstream{};
  out << in.rdbuf();
  return std::move(out).str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// LangGraph's databases, and a database for the imported threads.
class recorded_databases {
public:
  recorded_databases() {
    st::shared_server().run("drop schema public cascade; create schema public");
    st::shared_server().run(recorded("postgres.sql"));
    auto db = ss::detail::sqlite_database{file(), ss::detail::sqlite_database::access::read_write,
                                          std::chrono::seconds{1}};
    db.exec(recorded("sqlite.sql").c_str());
  }
  ~recorded_databases() {
    st::shared_server().run("drop schema public cascade; create schema public");
  }
  recorded_databases(const recorded_databases&) = delete;
  recorded_databases& operator=(const recorded_databases&) = delete;

  [[nodiscard]] std::string file() const { return folder / "langgraph.db"; }
  [[nodiscard]] std::vector<std::string> origins() const {
    return {st::shared_server().url(), file()};
  }
  [[nodiscard]] st::ended_process threads(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {st::superstep_program(), "threads"});
    return st::process{arguments}.wait();
  }
  /// Imports a thread as `to`.
  [[nodiscard]] st::ended_process import(const std::string& to,
                                         const std::vector<std::string>& more) const {
    auto arguments = std::vector<std::string>{"import", into, to};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return threads(arguments);
  }
  [[nodiscard]] ss::json::object shown(const std::string& thread) const {
    const auto end = threads({"show", into, thread});
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
    return ss::parse_json(end.out).value().as_object();
  }

  st::temporary_folder folder;
  std::string into = folder / "threads.db";
};

} // namespace

BOOST_AUTO_TEST_CASE(imported_threads_equal_what_langgraph_reads) {
  const auto d = recorded_databases{};
  auto count = 0;
  for (const auto* thread : {"weather", "short"}) {
    const auto read = d.import(
        fmt::format("read-{}", thread),
        {"--input", fmt::format(LANGGRAPH_DATA "/{}.json", thread), "--form", "langgraph"});
    BOOST_TEST_REQUIRE(read.exit_code == 0, read.err);
    const auto expected = d.shown(fmt::format("read-{}", thread));
    BOOST_TEST(expected.at("values").at("messages").as_array().size() > 2U);
    for (const auto& origin : d.origins()) {
      const auto name = fmt::format("{}-{}", thread, ++count);
      const auto end = d.import(name, {"--from", origin, "--from-thread", thread});
      BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
      BOOST_TEST(end.err.empty(), end.err);
      const auto imported = d.shown(name);
      BOOST_TEST(ss::to_text(imported.at("values")) == ss::to_text(expected.at("values")));
      BOOST_TEST(imported.at("step") == expected.at("step"));
    }
  }
}

BOOST_AUTO_TEST_CASE(objects_of_python_classes_become_json) {
  const auto d = recorded_databases{};
  const auto expected = ss::parse_json(recorded("odd.json")).value();
  auto count = 0;
  for (const auto& origin : d.origins()) {
    const auto name = fmt::format("odd-{}", ++count);
    const auto end = d.import(name, {"--from", origin, "--from-thread", "odd"});
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
    for (const auto* what : {"values.span: datetime.timedelta", "values.bytes: builtins.bytes",
                             "values.nan: builtins.float"})
      BOOST_TEST(has(end.err, what), end.err);
    BOOST_TEST(ss::to_canonical_text(d.shown(name).at("values").at("values")) ==
               ss::to_canonical_text(expected));
  }
}

BOOST_AUTO_TEST_CASE(thread_keeps_its_id_by_default) {
  const auto d = recorded_databases{};
  const auto end = d.import("short", {"--from", d.file()});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(d.shown("short").at("values").at("turns") == 1);
}

BOOST_AUTO_TEST_CASE(errors_name_database_thread_and_channel) {
  const auto d = recorded_databases{};
  const auto check = [&](const std::vector<std::string>& arguments, const std::string& part) {
    const auto end = d.import("new", arguments);
    BOOST_TEST(end.exit_code == 1, end.err);
    BOOST_TEST(has(end.err, part), end.err);
    BOOST_TEST(!has(d.threads({"list", d.into}).out, "new"));
  };
  for (const auto& origin : d.origins()) {
    check({"--from", origin}, "have no thread 'new'");
    check({"--from", origin, "--from-thread", "x"}, "have no thread 'x'");
  }
  check({"--from", d.folder / "missing.db"}, "missing.db: no such file");
  check({"--from", d.file(), "--input", "x"}, "--input excludes --from");
  check({}, "--input or --from is required");
  check({"--from-thread", "x", "--input", "x"}, "--from-thread requires --from");
  auto& server = st::shared_server();
  const auto from_server =
      std::vector<std::string>{"--from", server.url(), "--from-thread", "short"};
  server.run("update checkpoint_blobs set blob = substr(blob, 1, 40) where channel = 'messages'");
  check(from_server, "channel 'messages' cannot be read: its bytes are incomplete");
  server.run("update checkpoint_blobs set type = 'msgpack+aes'");
  check(from_server, "cannot be read: it is encrypted");
  server.run("update checkpoints set metadata = metadata || "
             R"('{"counters_since_delta_snapshot": {"log": [1, 1]}}')");
  check(from_server, "channel 'log' is a DeltaChannel");
  auto db = ss::detail::sqlite_database{d.file(), ss::detail::sqlite_database::access::read_write,
                                        std::chrono::seconds{1}};
  // {"channel_values": {"x": datetime.date(1e20, 1, 1)}}
  db.exec("update checkpoints set checkpoint = "
          "x'"
          "81d90e6368616e6e656c5f76616c75657381d90178c72d0193d9086461746574696d65d9046461746593cb44"
          "15af1d78b58c40d30000000000000001d30000000000000001' where thread_id = 'short'");
  const auto from_file = std::vector<std::string>{"--from", d.file(), "--from-thread", "short"};
  check(from_file, "cannot be read: a date has a part that is not a whole number: 1e+20; export");
  db.exec("update checkpoints set metadata = '{\"step\": NaN}' where thread_id = 'weather'");
  check({"--from", d.file(), "--from-thread", "weather"},
        "the metadata of the checkpoint cannot be read: not valid JSON: syntax error at byte 9");
  check({"--from", d.file(), "--from-thread", "weather"}, "JSON has no NaN and Infinity");
  server.run("drop table checkpoint_blobs");
  check(from_server, "has no tables of LangGraph's checkpointers");
}

BOOST_AUTO_TEST_SUITE_END()
