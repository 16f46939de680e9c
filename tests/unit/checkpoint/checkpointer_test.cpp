// SPDX-License-Identifier: Apache-2.0
// Runs the checkpointer contract (checkpointer_contract.hpp) on every checkpointer.
#include "checkpoint/checkpointer_cases.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <tuple>

BOOST_AUTO_TEST_SUITE(every_checkpointer)

namespace {

namespace contract = checkpointer_contract;
namespace json = boost::json;

struct in_memory {
  std::shared_ptr<superstep::checkpointer> checkpointer = superstep::memory_checkpointer();
  superstep::checkpointer& get() { return *checkpointer; }
  void reopen() {}
};

using places = std::tuple<in_memory, in_file, in_reopened_file>;

} // namespace

#define CONTRACT(name)                                                                             \
  BOOST_AUTO_TEST_CASE_TEMPLATE(name, Place, places) {                                             \
    auto place = Place{};                                                                          \
    contract::name(place);                                                                         \
  }

CHECKPOINTER_CONTRACT(CONTRACT)

#undef CONTRACT

BOOST_AUTO_TEST_CASE(import_restores_thread_exported_by_any_checkpointer) {
  const auto move = [](auto from, auto to) {
    contract::import_restores_exported_thread(*from, *to);
  };
  move(std::make_unique<in_memory>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_memory>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_memory>(), std::make_unique<in_memory>());
}

BOOST_AUTO_TEST_CASE(values_in_memory_are_shown_only_with_stored_form) {
  struct no_form {
    int n = 0;
  };
  const auto s = superstep::memory_checkpointer();
  auto m = contract::maker{contract::test_layout{}.last<no_form>("n").done()};
  (void)m.put(*s, 1, nullptr, {{0, false, superstep::value{no_form{1}}}});
  BOOST_CHECK_EXCEPTION((void)s->show(contract::key), superstep::checkpoint_error,
                        [](const auto& e) {
                          return contract::has_code(e, superstep::checkpoint_errc::not_storable);
                        });
  BOOST_TEST(s->history(contract::key, {}).size() == 1U);
  auto deep = json::value{1};
  for (auto i = 0; i < 2'000; ++i)
    deep = json::array{std::move(deep)};
  (void)contract::maker{contract::usual_layout(), {"u", ""}}.put(
      *s, 1, nullptr, {contract::set_any(std::move(deep))});
  BOOST_CHECK_EXCEPTION((void)s->show({"u", ""}), superstep::checkpoint_error, [](const auto& e) {
    return contract::has_code(e, superstep::checkpoint_errc::not_storable);
  });
}

BOOST_AUTO_TEST_SUITE_END()
