// SPDX-License-Identifier: Apache-2.0
// A resource shortage (descriptors, memory, threads) fails the node that calls the tool. It never
// becomes the result of the call.
#include "run_tool.hpp"
#include "support/no_descriptors.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/detail/task_place.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sqlite3.h>

using namespace superstep;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(shortages_of_tools)

namespace {

/// A folder with a text and a database.
struct folder {
  fs::path path = fs::temp_directory_path() / ("superstep_shortage_" + std::to_string(::getpid()));

  folder() {
    fs::create_directories(path);
    std::ofstream{path / "a.txt"} << "content";
    auto* db = static_cast<sqlite3*>(nullptr);
    sqlite3_open((path / "a.db").c_str(), &db);
    sqlite3_exec(db, "CREATE TABLE t (n); INSERT INTO t VALUES (1)", nullptr, nullptr, nullptr);
    sqlite3_close(db);
  }
  ~folder() { fs::remove_all(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
};

class fixed_clock final : public superstep::clock {
public:
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return {}; }
};

/// Returns the answer of the node to a call; nullopt if the call fails with a shortage.
std::optional<message> answer_of(const tool_node& node, tool_call call, tool_context context = {}) {
  const auto time = fixed_clock{};
  context.time = &time;
  try {
    return *sync_wait(node.run(std::move(call), std::move(context))).answer;
  } catch (const std::system_error& e) {
    BOOST_TEST(is_shortage(e.code()), e.what());
  } catch (const std::bad_alloc&) { // counts as a shortage, like an error code
  }
  return std::nullopt;
}

/// A checkpointer without checkpoints, whose look-ups of effects call `on_find`.
class effect_checkpointer final : public checkpointer {
public:
  std::function<std::optional<effect_record>()> on_find;
  bool is_noted = false;

  std::optional<saved_checkpoint> load(const thread_key&, std::string_view,
                                       const layout_ptr&) override {
    return std::nullopt;
  }
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr&) override {
    return {};
  }
  std::string head(const thread_key&) override { return {}; }
  void put(const thread_key&, checkpoint_ptr) override {}
  void put_task(const thread_key&, const checkpoint&, task_record) override {}
  std::optional<effect_record> find_effect(std::string_view, std::string_view) override {
    return on_find();
  }
  void put_effect(std::string_view, std::string_view, std::optional<effect_record>) override {
    is_noted = true;
  }
  void delete_thread(std::string_view) override {}
  std::size_t delete_runs(const std::vector<std::string>&) override { return 0; }
  std::string export_thread(std::string_view) override { return {}; }
  void import_thread(std::string_view, std::string_view) override {}
};

struct nothing {};
BOOST_DESCRIBE_STRUCT(nothing, (), ())

} // namespace

BOOST_AUTO_TEST_CASE(descriptor_shortage_fails_node_instead_of_becoming_result) {
  const auto in = folder{};
  const auto node =
      tool_node{{make_current_time(), *make_read_file({.root = in.path.string(), .max_bytes = 100}),
                 *make_sqlite_query({.path = (in.path / "a.db").string()})}};
  const auto calls = std::vector<tool_call>{{"c1", "current_time", {{"timezone", "Europe/Berlin"}}},
                                            {"c2", "read_file", {{"path", "a.txt"}}},
                                            {"c3", "sqlite_query", {{"query", "SELECT n FROM t"}}}};
  for (const auto& call : calls) {
    BOOST_TEST_CONTEXT(call.name) {
      {
        const auto shortage = no_descriptors{};
        BOOST_TEST(!answer_of(node, call));
      }
      const auto answer = answer_of(node, call);
      BOOST_REQUIRE(answer);
      BOOST_TEST(!answer->is_error, answer->content);
    }
  }
}

BOOST_AUTO_TEST_CASE(tool_creation_reports_descriptor_shortage) {
  const auto in = folder{};
  const auto shortage = no_descriptors{};
  const auto reads = make_read_file({.root = in.path.string(), .max_bytes = 100});
  const auto queries = make_sqlite_query({.path = (in.path / "a.db").string()});
  BOOST_TEST_REQUIRE((!reads && !queries));
  BOOST_TEST(is_shortage(reads.error().code));
  BOOST_TEST(is_shortage(queries.error().code));
}

BOOST_AUTO_TEST_CASE(only_shortage_in_effect_lookup_fails_node) {
  auto runs = 0;
  const auto node = tool_node{{journaled(make_tool<nothing>("send", "", [&runs](const nothing&) {
    ++runs;
    return std::string{"sent"};
  }))}};
  const auto journal = std::make_shared<effect_checkpointer>();
  auto place = detail::task_place{};
  place.config = std::make_shared<const run_config>();
  place.journal.records = journal;
  auto context = tool_context{};
  context.place = std::make_shared<const detail::task_place>(place);
  const auto call = tool_call{"c1", "send", {}};
  using thrower = std::function<std::optional<effect_record>()>;
  for (const auto& short_of :
       {thrower{[]() -> std::optional<effect_record> { throw std::bad_alloc{}; }},
        thrower{[]() -> std::optional<effect_record> {
          throw std::system_error{std::make_error_code(std::errc::not_enough_memory)};
        }}}) {
    journal->on_find = short_of;
    BOOST_TEST(!answer_of(node, call, context));
  }
  BOOST_TEST(!journal->is_noted);
  BOOST_TEST(runs == 0);
  journal->on_find = []() -> std::optional<effect_record> {
    throw checkpoint_error{make_error_code(checkpoint_errc::corrupt), "is damaged"};
  };
  const auto damaged = answer_of(node, call, context);
  BOOST_REQUIRE(damaged);
  BOOST_TEST(damaged->content.find("cannot be read (is damaged)") != std::string::npos);
  BOOST_TEST(runs == 0);
  journal->on_find = [] { return std::nullopt; };
  BOOST_TEST(answer_of(node, call, context)->content == "sent");
}

BOOST_AUTO_TEST_CASE(shortage_exception_of_any_type_fails_the_node) {
  const auto few_buffers = boost::system::error_code{ENOBUFS, boost::system::system_category()};
  const auto failures = std::vector<std::function<void()>>{
      [] { throw std::bad_alloc{}; },
      [] { throw std::system_error{std::make_error_code(std::errc::too_many_files_open)}; },
      [&] { throw boost::system::system_error{few_buffers}; },
      [&] {
        try {
          throw boost::system::system_error{few_buffers};
        } catch (...) {
          std::throw_with_nested(std::runtime_error{"no answer"});
        }
      }};
  for (const auto& fail : failures) {
    const auto node = tool_node{{make_tool<nothing>("work", "", [&fail](const nothing&) {
      fail();
      return std::string{"done"};
    })}};
    BOOST_CHECK_THROW(sync_wait(node.run(tool_call{"c1", "work", {}}, tool_context{})),
                      std::exception);
  }
}

BOOST_AUTO_TEST_SUITE_END()
