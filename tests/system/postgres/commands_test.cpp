// SPDX-License-Identifier: Apache-2.0
// `superstep chat`, `threads` and `check` with the URL of a PostgreSQL database instead of a file.
#include "system/postgres/postgres_place.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

namespace st = superstep::testing;

/// An agent whose long-term memory is in the database, too.
class desk {
public:
  desk() {
    st::clear_database();
    st::write_file(
        folder_ / "rules.yaml",
        "rules:\n"
        "  - {type: human, match: 'note (\\w+)', calls: [{name: remember, args: {key: n, text: "
        "'\\1'}}]}\n"
        "  - {type: human, match: 'recall', calls: [{name: recall}]}\n"
        "default: {text: 'I heard: \\0'}\n");
    write_agent(st::shared_server().url());
  }

  void write_agent(const std::string& store) const {
    st::write_file(folder_ / "agent.yaml",
                   "name: desk\nmodel: {provider: scripted, path: rules.yaml}\n"
                   "tools: [remember, recall]\nstore: {path: '" +
                       store + "'}\n");
  }

  /// Runs a shell command with the paths of the program, the agent and the database.
  [[nodiscard]] st::ended_process shell(const std::string& text) const {
    return st::process{{"/bin/sh", "-c", text, st::superstep_program(), folder_ / "agent.yaml",
                        st::shared_server().url(), folder_ / ""}}
        .wait();
  }

private:
  st::temporary_folder folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(postgres_commands)

BOOST_AUTO_TEST_CASE(chat_and_threads_use_database_of_server) {
  const auto d = desk{};
  const auto first =
      d.shell(R"(printf 'hello\nnote seven\n' | "$0" chat "$1" --thread t --database "$2")");
  BOOST_TEST_REQUIRE(first.exit_code == 0, first.err);
  BOOST_TEST(has(first.out, "I heard: hello"));
  const auto resumed = d.shell(R"(echo 'hello again' | "$0" chat "$1" --thread t --database "$2")");
  BOOST_TEST_REQUIRE(resumed.exit_code == 0, resumed.err);

  const auto list = d.shell(R"("$0" threads list "$2")");
  BOOST_TEST(has(list.out, R"("thread":"t")"), list.out + list.err);
  const auto shown = d.shell(R"("$0" threads show "$2" t)");
  for (const auto* text : {"hello again", "note seven"})
    BOOST_TEST(has(shown.out, text), shown.out + shown.err);
  BOOST_TEST(st::shared_server().value("select count(*) from superstep_threads.items") == "1");

  // A thread moves from the server to a file and back.
  const auto moved = d.shell(
      R"("$0" threads export "$2" t --output "$3/t.jsonl" && "$0" threads import "$3/t.db" u --input "$3/t.jsonl" && )"
      R"("$0" threads export "$3/t.db" u --output "$3/u.jsonl" && "$0" threads import "$2" u --input "$3/u.jsonl" && )"
      R"("$0" threads fork "$2" u v && "$0" threads prune "$2" && "$0" threads show "$2" v)");
  BOOST_TEST_REQUIRE(moved.exit_code == 0, moved.err);
  BOOST_TEST(has(moved.out, "hello again"));
  const auto removed =
      d.shell(R"("$0" threads prune "$2" --thread t --whole-threads && "$0" threads show "$2" t)");
  BOOST_TEST(removed.exit_code == 1);
  BOOST_TEST(has(removed.err, "does not exist"));
}

/// Each role gets its rights when the schema is created.
BOOST_AUTO_TEST_CASE(roles_have_only_the_rights_they_need) {
  const auto& server = st::shared_server();
  server.run("create role superstep_reader; create role auditor login in role superstep_reader; "
             "create role superstep_worker; create role runner login in role superstep_worker");
  const auto d = desk{};
  BOOST_TEST_REQUIRE(d.shell(R"("$0" threads list "$2")").exit_code == 0); // creates the schema
  const auto worker = "'" + server.url("runner") + "'";
  const auto reader = "'" + server.url("auditor") + "'";
  d.write_agent(server.url("runner"));
  const auto chat =
      d.shell(R"(printf 'hello\nnote seven\n' | "$0" chat "$1" --thread t --database )" + worker);
  BOOST_TEST_REQUIRE(chat.exit_code == 0, chat.err);
  const auto shown = d.shell(R"("$0" threads show )" + reader + " t");
  BOOST_TEST_REQUIRE(shown.exit_code == 0, shown.err);
  BOOST_TEST(has(shown.out, "note seven"));
  const auto pruned = d.shell(R"("$0" threads prune )" + reader + " --thread t --whole-threads");
  BOOST_TEST(pruned.exit_code == 1);
  BOOST_TEST(has(pruned.err, "permission denied"), pruned.err);
  for (const auto* role : {"runner", "auditor"})
    for (const auto* statement :
         {"drop table superstep_threads.points", "update superstep_threads.format set version = 9",
          "create table superstep_threads.mine (n int)"})
      BOOST_TEST(!server.connect(role).run(statement).has_value(), role << ": " << statement);
  BOOST_TEST(!server.connect("auditor").run("delete from superstep_threads.points").has_value());
}

BOOST_AUTO_TEST_CASE(errors_of_addresses_do_not_repeat_a_password) {
  const auto d = desk{};
  for (const auto& [address, part] : std::vector<std::pair<std::string, std::string>>{
           {"postgresql://me:hunter2@localhost/db", "must not contain a password"},
           {"postgresql://db.example.com/db?sslmode=disable", "sslmode=verify-full"}}) {
    for (const auto& command : {"\"$0\" threads list '" + address + "'",
                                "echo hello | \"$0\" chat \"$1\" --database '" + address + "'"}) {
      const auto end = d.shell(command);
      BOOST_TEST(end.exit_code == 1);
      BOOST_TEST(has(end.err, part), end.err);
      BOOST_TEST(!has(end.err + end.out, "hunter2"));
    }
    d.write_agent(address);
    const auto checked = d.shell(R"("$0" check "$1")");
    BOOST_TEST(checked.exit_code == 1);
    BOOST_TEST(has(checked.err + checked.out, "store.path"), checked.err);
    BOOST_TEST(has(checked.err + checked.out, part), checked.err);
    BOOST_TEST(!has(checked.err + checked.out, "hunter2"));
    d.write_agent(st::shared_server().url());
  }
}

BOOST_AUTO_TEST_SUITE_END()
