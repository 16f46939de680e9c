// SPDX-License-Identifier: Apache-2.0
// The sqlite_query tool: read-only queries, parameters, limits, and the replaced SQL functions.
#include "run_tool.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <ostream>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

using namespace superstep;
namespace fs = std::filesystem;

namespace sqlite_query_test {

namespace {

struct shop {
  fs::path path =
      fs::temp_directory_path() / ("superstep_sqlite_" + std::to_string(::getpid()) + ".db");

  shop() {
    fs::remove(path);
    auto* db = static_cast<sqlite3*>(nullptr);
    BOOST_REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    const auto* sql = "CREATE TABLE item(name TEXT, price REAL, n INTEGER, picture BLOB);"
                      "INSERT INTO item VALUES('tea',2.5,3,x'00ff'),('cup',4.0,NULL,NULL),"
                      "('pot \"big\"',18,1,NULL);"
                      "CREATE VIRTUAL TABLE page USING fts5(text);"
                      "INSERT INTO page VALUES('green tea'),('blue cup');"
                      "CREATE TABLE file(format TEXT);INSERT INTO file VALUES('pdf');"
                      "CREATE VIRTUAL TABLE old USING fts4(text)";
    BOOST_REQUIRE(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  }
  ~shop() { fs::remove(path); }
  shop(const shop&) = delete;
  shop& operator=(const shop&) = delete;

  [[nodiscard]] sqlite_query_options options() const {
    auto o = sqlite_query_options{};
    o.path = path.string();
    return o;
  }
  [[nodiscard]] tool_output ask(json::object args, const sqlite_query_options& o,
                                tool_context context = {}) const {
    return testing::run_tool(**make_sqlite_query(o), std::move(args), std::move(context));
  }
};

struct query_case {
  std::string query, answer; ///< the expected result, or a part of the expected error text
};
std::ostream& operator<<(std::ostream& out, const query_case& c) {
  return out << c.query;
}

const auto good = std::vector<query_case>{
    {"SELECT name, price, n FROM item ORDER BY price",
     R"([{"name":"tea","price":2.5,"n":3},{"name":"cup","price":4.0,"n":null},{"name":"pot \"big\"","price":18.0,"n":1}])"},
    {"select count(*) as c from item;  -- how many", R"([{"c":3}])"},
    {"SELECT picture FROM item WHERE name='tea'", R"([{"picture":"00FF"}])"},
    {"SELECT 1 AS a, 2 AS a, 3 AS a", R"([{"a":1,"a:2":2,"a:3":3}])"},
    {"SELECT * FROM item WHERE 0", "[]"},
    {"WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM t WHERE i<3) SELECT sum(i) s FROM "
     "t",
     R"([{"s":6}])"},
    {"SELECT name FROM sqlite_master", R"([{"name":"item"})"},
    {"PRAGMA table_info(item)", "[{\"cid\":0,"},
    {"SELECT name FROM pragma_table_info('item') LIMIT 2", R"([{"name":"name"},{"name":"price"}])"},
    {"SELECT value FROM json_each('[1,2]')", R"([{"value":1},{"value":2}])"},
    {"SELECT fullkey FROM json_tree('{\"a\":[1]}')",
     R"([{"fullkey":"$"},{"fullkey":"$.a"},{"fullkey":"$.a[0]"}])"},
    {"SELECT text FROM page WHERE page MATCH 'tea'", R"([{"text":"green tea"}])"},
    {"SELECT highlight(page, 0, '<', '>') AS h FROM page('cup') ORDER BY rank",
     R"([{"h":"blue <cup>"}])"},
    {"SELECT format FROM file WHERE format LIKE '%123456%' OR format IN ('pdf')",
     R"([{"format":"pdf"}])"},
    {"SELECT format('%d', 7) AS a, \"printf\"('%9999d', 7) IS NULL AS b", R"([{"a":"7","b":0}])"},
};

const auto bad = std::vector<query_case>{
    {"", "the query is empty"},
    {"-- nothing", "the query is empty"},
    {"SELEC 1", "syntax error"},
    {"SELECT * FROM absent", "no such table"},
    {"SELECT 1; SELECT 2", "one statement"},
    {"SELECT 1; DROP TABLE item", "one statement"},
    {"DROP TABLE item", "not authorized"},
    {"INSERT INTO item(name) VALUES('x')", "not authorized"},
    {"UPDATE item SET n=0", "not authorized"},
    {"CREATE TEMP TABLE t(a)", "not authorized"},
    {"ATTACH '/tmp/other.db' AS o", "not authorized"},
    {"PRAGMA query_only=0", "not authorized"},
    {"PRAGMA journal_mode=DELETE", "not authorized"},
    {"VACUUM INTO '/tmp/copy.db'", "the query writes; send a SELECT"},
    {"SELECT load_extension('x')", "not authorized"},
    {"UPDATE sqlite_master SET sql='x'", "may not be modified"},
    {"INSERT INTO page VALUES('x')", "not authorized"},
    {"INSERT INTO page(page) VALUES('rebuild')", "not authorized"},
    {"DELETE FROM page_data", "not authorized"},
    {"CREATE VIRTUAL TABLE temp.t USING fts5(a)", "not authorized"},
    {"SELECT * FROM old", "no such module: fts4"},
    {"SELECT * FROM dbstat", "no such table"},
    {"SELECT * FROM pragma_database_list", "not authorized"},
    {"SELECT * FROM pragma_journal_mode", "not authorized"},
    {"SELECT format('%99999d', 1)", "width above 9999"},
    {"SELECT \"printf\" /* a */ ('%*d', 99999, 1)", "width above 9999"},
    {"SELECT ?", "1 parameters, 0 were given"},
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(sqlite_queries, shop)

BOOST_DATA_TEST_CASE_F(shop, query_returns_rows_as_json_objects, boost::unit_test::data::make(good),
                       c) {
  const auto out = ask({{"query", c.query}}, options());
  BOOST_TEST_INFO(out.content);
  BOOST_TEST(out.content.starts_with(c.answer));
  BOOST_TEST(!out.is_error);
}

BOOST_DATA_TEST_CASE_F(shop, invalid_or_writing_statements_are_rejected,
                       boost::unit_test::data::make(bad), c) {
  const auto out = ask({{"query", c.query}}, options());
  BOOST_TEST_INFO(out.content);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.find(c.answer) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(query_parameters_are_bound_with_their_json_type) {
  const auto query = json::value("SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e");
  const auto out =
      ask({{"query", query}, {"parameters", json::array{1, 2.5, "x'y", nullptr, true}}}, options());
  BOOST_TEST(out.content == R"([{"a":1,"b":2.5,"c":"x'y","d":null,"e":1}])");
}

BOOST_AUTO_TEST_CASE(excess_rows_are_omitted_and_excess_bytes_rejected) {
  auto bounded = options();
  bounded.max_rows = 2;
  const auto few = ask({{"query", "SELECT n FROM item"}}, bounded);
  BOOST_TEST(few.content.find("(only the first 2 rows") != std::string::npos);
  bounded.max_rows = 3;
  BOOST_TEST(ask({{"query", "SELECT n FROM item"}}, bounded).content.ends_with(']'));
  bounded.max_bytes = 100;
  const auto large = ask({{"query", "SELECT hex(zeroblob(1000)) AS x"}}, bounded);
  BOOST_TEST(large.is_error);
  BOOST_TEST(large.content.find("more than 100 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(endless_query_ends_at_timeout_or_stop_request) {
  const auto endless = json::value(
      "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM t) SELECT count(*) FROM t");
  auto short_time = options();
  short_time.timeout = std::chrono::milliseconds{1};
  const auto out = ask({{"query", endless}}, short_time);
  BOOST_TEST(out.content.find("longer than 1 ms") != std::string::npos);

  auto source = std::stop_source{};
  source.request_stop();
  auto context = tool_context{};
  context.stop = source.get_token();
  BOOST_TEST(ask({{"query", endless}}, options(), context).is_error);
}

BOOST_AUTO_TEST_CASE(largest_limits_do_not_end_a_query) {
  auto o = options();
  o.timeout = std::chrono::milliseconds::max();
  o.memory_bytes_max = std::numeric_limits<std::size_t>::max();
  BOOST_TEST(ask({{"query", "SELECT 1 AS a"}}, o).content == R"([{"a":1}])");
}

BOOST_AUTO_TEST_CASE(memory_limit_counts_all_sqlite_memory_of_process) {
  const auto endless = json::value(
      "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM t) SELECT count(*) FROM t");
  auto o = options();
  o.timeout = std::chrono::seconds{30};
  o.memory_bytes_max = 1024 * 1024;
  auto out = std::async(std::launch::async, [&] { return ask({{"query", endless}}, o); });
  auto others = std::vector<void*>{}; // memory of SQLite that other queries would use
  while (out.wait_for(std::chrono::milliseconds{1}) != std::future_status::ready)
    others.push_back(sqlite3_malloc(1024 * 1024));
  const auto found = out.get().content;
  BOOST_TEST(found.find("queries that run now take more than 1048576 bytes") != std::string::npos,
             found);
  std::ranges::for_each(others, sqlite3_free);
  BOOST_TEST(ask({{"query", "SELECT 1 AS a"}}, o).content == R"([{"a":1}])");
}

#ifdef __SANITIZE_THREAD__
constexpr auto is_timed = false; // ThreadSanitizer slows one call down to a minute
#else
constexpr auto is_timed = true;
#endif

BOOST_AUTO_TEST_CASE(expensive_query_stays_within_time_and_memory_limits,
                     *boost::unit_test::enable_if<is_timed>()) {
  const auto a = std::string{"replace(hex(zeroblob(240000)),'00','a')"};
  const auto half = std::string{"replace(hex(zeroblob(120000)),'00','a')"};
  // These compare almost the whole pattern at each position of a text of a's.
  const auto like = "'%a" + std::string(190, '_') + "b'";
  const auto glob = "'*a" + std::string(190, '?') + "b'";
  const auto repeat = [](const std::string& piece, int count) {
    auto out = piece;
    for (auto i = 1; i < count; ++i)
      out += ',' + piece;
    return out;
  };
  auto doubling = std::string{"WITH t0(x) AS (SELECT 1)"};
  for (auto i = 1; i < 40; ++i) {
    const auto before = "t" + std::to_string(i - 1);
    doubling += ", t" + std::to_string(i) + "(x) AS (SELECT x FROM " + before +
                " UNION ALL SELECT x FROM " + before + ")";
  }
  const auto endless =
      std::string{"WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM t) "};
  const auto queries = std::vector<std::string>{
      "SELECT hex(zeroblob(1000000000))",
      "SELECT length(printf('%.*c', 1000000000, 'x'))",
      "SELECT format('%0999999999d', 1)",
      "SELECT " + repeat("hex(zeroblob(500000))", 190),
      "SELECT " + repeat("hex(zeroblob(260000))", 190),
      "SELECT " + repeat("hex(zeroblob(260000))", 100),
      "SELECT max(" + repeat("hex(zeroblob(260000))", 100) + ")",
      endless + "SELECT group_concat(hex(zeroblob(500000))) FROM t",
      endless + "SELECT count(DISTINCT hex(zeroblob(i))) FROM t",
      endless + "SELECT json_group_array(i) FROM t",
      "WITH RECURSIVE t(i, x) AS (SELECT 1, hex(zeroblob(400000)) UNION ALL SELECT i+1, x || i "
      "FROM "
      "t) SELECT count(*) FROM t",
      endless + "SELECT sum(instr(" + a + "||i, " + half + "||'b')) FROM t",
      endless + "SELECT count(replace(" + a + "||i, " + half + "||'b', '')) FROM t",
      endless + "SELECT count(trim(" + a + "||i, 'axyz')) FROM t",
      endless + "SELECT count(*) FROM t WHERE " + a + "||i LIKE '%a%a%a%a%a%a%a%a%ab'",
      endless + "SELECT count(*) FROM t WHERE " + a + "||i GLOB '*a*a*a*a*a*a*a*a*ab'",
      "SELECT 9 IN (" + repeat("x LIKE p", 900) + ") FROM (SELECT " + a + " AS x, " + like +
          " AS p)",
      "SELECT 9 IN (" + repeat("x GLOB g", 900) + ") FROM (SELECT " + a + " AS x, " + glob +
          " AS g)",
      "SELECT 9 IN (" + repeat("length(trim(x, y))", 600) + ") FROM (SELECT " + a + " AS x, " +
          "replace(hex(zeroblob(120)),'00','ä')||'a' AS y)",
      "SELECT trim(" + a + ", " + half + ")",
      "SELECT json_patch('{}', '{}')",
      "SELECT " + std::string(50'000, '(') + "1" + std::string(50'000, ')'),
      "SELECT " + std::string(50'000, '-') + "1",
      "SELECT json('" + std::string(90'000, '[') + "')",
      "SELECT '" + std::string(1'000'000, 'a') + "'",
      doubling + " SELECT count(*) FROM t39",
  };
  auto o = options();
  o.timeout = std::chrono::milliseconds{300};
#ifdef SUPERSTEP_ASSERTIONS // sanitizers and debug builds take longer between two checks
  constexpr auto seconds_max = 4.0;
#else
  constexpr auto seconds_max = 0.8;
#endif
  for (const auto& query : queries) {
    sqlite3_memory_highwater(1);
    const auto before = sqlite3_memory_used();
    auto out = tool_output{};
    auto seconds = seconds_max;
    // Page faults can be slow on a virtual machine after other tests have used much memory.
    for (auto attempt = 0; attempt < 3 && seconds >= seconds_max; ++attempt) {
      const auto began = std::clock(); // CPU time: other processes do not count
      out = ask({{"query", query}}, o);
      seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    }
    BOOST_TEST_INFO(out.content.substr(0, 200));
    BOOST_TEST(seconds < seconds_max, query.substr(0, 200));
    BOOST_TEST(out.content.size() < 2'000'000u);
    BOOST_TEST(sqlite3_memory_highwater(0) - before < 80 * 1024 * 1024, query.substr(0, 200));
  }
}

BOOST_AUTO_TEST_CASE(replaced_sql_functions_return_sqlites_results) {
  auto* plain = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(":memory:", &plain) == SQLITE_OK);
  for (const std::string expression : {"instr('häll','l')",
                                       "instr('abc','')",
                                       "instr('','a')",
                                       "instr(NULL,'a')",
                                       "instr(123,2)",
                                       "instr(x'c3a4ff',x'ff')",
                                       "instr('abc','d')",
                                       "replace('aXbX','X','')",
                                       "replace('a','','b')",
                                       "replace('aaa','aa','b')",
                                       "replace(NULL,'a','b')",
                                       "replace(121,1,'x')",
                                       "replace('','a','b')",
                                       "replace('ab','b','')",
                                       "trim('  a ')",
                                       "ltrim('xxaxx','x')",
                                       "rtrim('xxaxx','x')",
                                       "trim('äaä','ä')",
                                       "trim('abc','')",
                                       "trim(NULL)",
                                       "trim('aaa','a')",
                                       "trim(1.50,'0')",
                                       "typeof(trim('a'))",
                                       "typeof(instr('a','a'))",
                                       "'abc' LIKE 'A%'",
                                       "'abc' GLOB 'A*'",
                                       "NULL LIKE 'a'",
                                       "'a' LIKE NULL",
                                       "'a' GLOB NULL",
                                       "NULL GLOB NULL",
                                       "'a' LIKE 'a' ESCAPE NULL",
                                       "123 LIKE '1%'",
                                       "1.50 LIKE '%5'",
                                       "1e300 GLOB '1*'",
                                       "12 LIKE 12",
                                       "12 GLOB 1",
                                       "x'' LIKE ''",
                                       "x'' GLOB '*'",
                                       "x'6162' LIKE 'A_'",
                                       "x'6100ff' LIKE 'a'",
                                       "x'6100ff' GLOB 'a*'",
                                       "zeroblob(3) LIKE ''",
                                       "'a' LIKE zeroblob(0)",
                                       "'10%' LIKE '10x%' ESCAPE 'x'",
                                       "'%' LIKE '%%' ESCAPE '%'",
                                       "'_' LIKE '__' ESCAPE '_'",
                                       R"('a' LIKE 'a\' ESCAPE '\')",
                                       R"('a' LIKE '%\' ESCAPE '\')",
                                       "'ä' LIKE 'Ä'",
                                       "'ä' LIKE '_'",
                                       "'äö' GLOB '?ö'",
                                       "'b' GLOB '[a-c]'",
                                       "'b' GLOB '[^a-c]'",
                                       "'-' GLOB '[a-]'",
                                       "']' GLOB '[]]'",
                                       "'^' GLOB '[^]'",
                                       "'a' GLOB '[a'",
                                       "'a' GLOB '*[a'",
                                       "'é' GLOB '[à-ü]'",
                                       "'abXY' GLOB '*[X][Y]'",
                                       "like('a%', 'Abc')",
                                       "like('a', 'A', '!')",
                                       "glob('a*', 'abc')",
                                       "typeof('a' LIKE 'a')",
                                       "typeof('a' LIKE NULL)"}) {
    auto* statement = static_cast<sqlite3_stmt*>(nullptr);
    const auto query = "SELECT quote(" + expression + ") AS x";
    BOOST_REQUIRE(sqlite3_prepare_v2(plain, query.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    BOOST_REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const auto* text = static_cast<const void*>(sqlite3_column_text(statement, 0));
    const auto wanted = json::array{json::object{{"x", static_cast<const char*>(text)}}};
    BOOST_TEST(ask({{"query", query}}, options()).content == to_text(wanted), expression);
    sqlite3_finalize(statement);
  }
  sqlite3_close(plain);
}

/// Texts and patterns over a small alphabet, so that many of them match: wildcards of both
/// functions, letters of both cases, multibyte characters, bytes that are not UTF-8, and NUL.
class like_pieces {
public:
  explicit like_pieces(unsigned seed) : random_{seed} {}

  /// Returns a random text, or one that is likely to match the pattern.
  std::string text(const std::string& pattern) {
    if (below(3) == 0)
      return some(letters, 12);
    auto out = std::string{};
    for (auto i = std::size_t{0}; i < pattern.size(); ++i)
      if (pattern[i] == '%' || pattern[i] == '*')
        out += some(letters, 4);
      else if (pattern[i] == '_' || pattern[i] == '?')
        out += letters[below(letters.size())];
      else if (pattern[i] == '[') {
        out += letters[below(letters.size())];
        i = std::min(pattern.find(']', i), pattern.size() - 1);
      } else
        out += pattern[i];
    return out;
  }
  std::string pattern() {
    auto out = std::string{};
    for (auto i = std::size_t{0}, count = below(7); i <= count; ++i)
      switch (below(8)) {
      case 0:
      case 1:
        out += below(2) == 0 ? '%' : '*';
        break;
      case 2:
        out += below(2) == 0 ? '_' : '?';
        break;
      case 3:
        out += std::string{"["} + (below(3) == 0 ? "^" : "") + some(members, 4) +
               (below(8) == 0 ? "" : "]");
        break;
      default:
        out += some(below(3) == 0 ? signs : letters, 2);
      }
    return out;
  }
  std::size_t below(std::size_t end) { return random_() % end; }

private:
  using pieces = std::vector<std::string>;
  std::string some(const pieces& from, std::size_t count_max) {
    auto out = std::string{};
    for (auto i = std::size_t{0}, count = below(count_max + 1); i < count; ++i)
      out += from[below(from.size())];
    return out;
  }

  std::mt19937 random_;
  const pieces letters = {
      "a",      "a",          "b",    "A",    "B",    "ä",        "Ä",
      "\u20ac", "\U0001f600", "\xff", "\xc3", "\x80", "\xc0\x80", "\xed\xa0\x80",
      "1",      "a",          "b",    "-"};
  const pieces signs = {"%", "_", "*", "?", "[", "]", "^", "-", "\\", "ä", std::string(1, '\0')};
  const pieces members = {"a", "b", "A", "ä", "-", "-", "]", "^", "\u20ac", "\xff", "B", "%", "\\"};
};

void bind_text(sqlite3_stmt* statement, int column, const std::string& value) {
  sqlite3_bind_text(statement, column, value.data(), static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
}

void bind_blob(sqlite3_stmt* statement, int column, const std::string& value) {
  sqlite3_bind_blob(statement, column, value.data(), static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
}

BOOST_AUTO_TEST_CASE(replaced_like_and_glob_return_sqlites_results) {
  constexpr auto pairs = 6'000;
  constexpr auto seed = 20'261'122U;
  auto* plain = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(path.c_str(), &plain) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(plain, "CREATE TABLE pair(p, t); BEGIN", nullptr, nullptr, nullptr) ==
                SQLITE_OK);
  auto* insert = static_cast<sqlite3_stmt*>(nullptr);
  BOOST_REQUIRE(sqlite3_prepare_v2(plain, "INSERT INTO pair VALUES(?1, ?2)", -1, &insert,
                                   nullptr) == SQLITE_OK);
  auto some = like_pieces{seed};
  for (auto i = 0; i < pairs; ++i) {
    const auto pattern = some.pattern();
    const auto text = some.text(pattern);
    for (const auto& [column, value] : {std::pair{1, &pattern}, std::pair{2, &text}})
      (some.below(20) == 0 ? bind_blob : bind_text)(insert, column, *value);
    BOOST_REQUIRE(sqlite3_step(insert) == SQLITE_DONE);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  BOOST_REQUIRE(sqlite3_exec(plain, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK);

  for (const std::string expression :
       {"t LIKE p", "t GLOB p", "t LIKE p ESCAPE '\\'", "t LIKE p ESCAPE '%'",
        "t LIKE p ESCAPE '_'", "t LIKE p ESCAPE 'a'", "t LIKE p ESCAPE 'ä'"}) {
    const auto query = "SELECT group_concat(" + expression + ", '') AS x FROM pair";
    auto* statement = static_cast<sqlite3_stmt*>(nullptr);
    BOOST_REQUIRE(sqlite3_prepare_v2(plain, query.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    BOOST_REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const auto* raw = static_cast<const void*>(sqlite3_column_text(statement, 0));
    const auto wanted = std::string{static_cast<const char*>(raw)};
    sqlite3_finalize(statement);
    BOOST_TEST(wanted.size() == pairs);
    BOOST_TEST(std::ranges::count(wanted, '1') > pairs / 20, expression); // both results occur
    const auto found = ask({{"query", query}}, options()).content;        // [{"x":"0110…"}]
    const auto start = std::string_view{R"([{"x":")"}.size();
    BOOST_REQUIRE_MESSAGE(found.size() > start + pairs, found.substr(0, 200));
    const auto differs = std::ranges::mismatch(wanted, found.substr(start)).in1 - wanted.begin();
    BOOST_TEST(differs == pairs, "seed " << seed << ", pair " << differs + 1 << ": " << expression);
  }
  sqlite3_close(plain);
}

BOOST_AUTO_TEST_CASE(invalid_like_escapes_and_overlong_patterns_are_rejected) {
  const auto part_of = [&](const std::string& query) {
    return ask({{"query", query}}, options()).content;
  };
  for (const std::string escape : {"''", "'ab'", "'äö'"})
    BOOST_TEST(part_of("SELECT 'a' LIKE 'a' ESCAPE " + escape).find("single character") !=
               std::string::npos);
  const auto longest = std::string(200, '%');
  BOOST_TEST(part_of("SELECT 'a' LIKE '" + longest + "' AS x") == R"([{"x":1}])");
  for (const std::string name : {"LIKE", "GLOB"})
    BOOST_TEST(part_of("SELECT 'a' " + name + " '" + longest + "%'").find("too complex") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(with_clause_table_used_repeatedly_is_accepted) {
  const auto out =
      ask({{"query", "WITH a(x) AS (SELECT 1), \"b\"(y) AS (SELECT a.x FROM a, a AS c) "
                     "SELECT b.y FROM b JOIN a ON a.x = b.y, [b] AS d"}},
          options());
  BOOST_TEST(out.content == R"([{"y":1}])");
}

BOOST_AUTO_TEST_CASE(file_that_is_not_a_database_is_rejected) {
  auto o = options();
  for (const auto* name : {"", ":memory:", "/nowhere/x.db"}) {
    o.path = name;
    BOOST_TEST(make_sqlite_query(o).has_error(), name);
  }
  o.path = path.string() + ".txt";
  std::ofstream{o.path} << std::string(2000, 'x');
  BOOST_TEST(make_sqlite_query(o).has_error());
  fs::remove(o.path);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace sqlite_query_test
