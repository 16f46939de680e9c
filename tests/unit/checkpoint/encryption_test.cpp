// SPDX-License-Identifier: Apache-2.0
// Encryption of checkpoint files: keys, copied rows, and migration of older files.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/row_bytes.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ss = superstep;
using namespace checkpointer_contract;

// Encryption of files: the first writer determines whether a file is encrypted, and an encrypted
// row can be read only at the place where it was written.
BOOST_AUTO_TEST_SUITE(encryption)

namespace {

const auto usual_key = std::string(ss::encryption_key_bytes, 'k');

std::shared_ptr<ss::checkpointer> open(const std::string& path, const std::string& key) {
  auto options = ss::sqlite_checkpointer_options{};
  options.encryption_key = key;
  return open_checkpointer(path, options);
}

std::unique_ptr<ss::sqlite_store> open_store(const std::string& path, const std::string& key) {
  auto options = ss::sqlite_store_options{};
  options.survives_power_loss = false;
  options.encryption_key = key;
  options.embed = [](std::span<const std::string> texts) {
    return std::vector<std::vector<float>>(texts.size(), {1.0F, 2.0F});
  };
  options.fields = {"text"};
  return std::make_unique<ss::sqlite_store>(path, options);
}

ss::store_query near_to(ss::store_namespace prefix) {
  auto out = ss::store_query{};
  out.prefix = std::move(prefix);
  out.text = "whatever";
  return out;
}

auto with_code(ss::checkpoint_errc code) {
  return [code](const ss::checkpoint_error& e) { return has_code(e, code); };
}

const auto is_wrong_key = with_code(ss::checkpoint_errc::wrong_key);
const auto is_corrupt = with_code(ss::checkpoint_errc::corrupt);

void change(const std::string& path, const std::string& sql) {
  static_cast<void>(ask_sql(path, sql));
}

// Rows as written by format version 2 with the usual key: a checkpoint with n = 7 of thread "t",
// its task record, an item of the store at u/k, an effect record of thread "t", and the encrypted
// text by which version 2 recognized the key.
constexpr auto point_of_before =
    "65f549f4bb9e29947ba18fc6500642559f9f3ec0fa1771ed241797e0763b32da63879d11a8e4bcf2d01adb60c9a3d0"
    "cbf4b334a3f7b5ca6c7b7babfb607bf9a3542fe1118f42942b10467dd5cfed5d9c09d8";
constexpr auto task_of_before =
    "65a2d6d650e5ff2ad4d32fcfa0eec00523330faf07c344adb78e4232bae3f58b7e1b3233dcbf86a234b2d4721619db"
    "0f19ea0525";
constexpr auto item_of_before =
    "65381755bd1afe1525da8a8c1d530d4b7b14b63a6f4a5d1b50a23ce7f1f07ff382fca00b";
constexpr auto effect_of_before =
    "65241a4eb875cf5b48b9a2401375a1631277c4c8454922d7f8c6a951fa062d4bdb";
constexpr auto proof_of_before =
    "6522454043c14511a1b3f31312ea3b00ac24508f8922cbde722fd522359c9d8a1653527ffe25";

std::string bytes_in(std::string_view hex) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return out;
}

void put_row(const std::string& path, const std::string& table, std::string_view hex,
             std::initializer_list<std::string_view> summed) {
  auto sum = std::uint32_t{0};
  const auto row = bytes_in(hex);
  const auto all = std::vector<std::string_view>{summed};
  if (all.size() == 4)
    sum = ss::detail::checksum_of({all[0], all[1], all[2], all[3], row});
  else if (all.size() == 2)
    sum = ss::detail::checksum_of({all[0], all[1], row});
  else
    sum = ss::detail::checksum_of({all[0], row});
  change(path, "UPDATE " + table + " SET row = x'" + std::string{hex} +
                   "', sum = " + std::to_string(sum));
}

/// Converts a file of the current version to version 2, with the rows above.
void make_version_2(const std::string& path) {
  put_row(path, "points", point_of_before, {id_of(1), "", "", "0"});
  put_row(path, "tasks", task_of_before, {id_of(1)});
  put_row(path, "effects", effect_of_before, {"t", "one"});
  change(path, std::string{"UPDATE items SET value = x'"} + item_of_before + "'");
  change(path, std::string{"UPDATE facts SET value = x'"} + proof_of_before + "'");
  change(path, "PRAGMA user_version = 2");
}

} // namespace

BOOST_AUTO_TEST_CASE(file_opened_without_key_rejects_later_keys) {
  const auto folder = temporary_folder{};
  const auto s = open(folder.file(), {}); // nothing is written yet
  BOOST_CHECK_EXCEPTION((void)open_store(folder.file(), usual_key), ss::checkpoint_error,
                        is_wrong_key);
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), usual_key), ss::checkpoint_error, is_wrong_key);
  auto options = ss::sqlite_cache_options{};
  options.encryption_key = usual_key;
  BOOST_CHECK_EXCEPTION((void)ss::sqlite_cache(folder.file(), options), ss::checkpoint_error,
                        is_wrong_key);
  (void)maker{usual_layout()}.put(*s, 1, nullptr, {set_n(1)});
  s->delete_thread("t"); // the file may still contain the deleted bytes
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), usual_key), ss::checkpoint_error, is_wrong_key);
  (void)open_store(folder.file(), {});
}

BOOST_AUTO_TEST_CASE(concurrent_first_open_with_other_key_is_rejected) {
  const auto folder = temporary_folder{};
  for (auto i = 0; i < 20; ++i) {
    const auto path = folder.file(std::to_string(i));
    auto refused = std::atomic{0};
    auto both = std::latch{2};
    const auto open_with = [&](const std::string& key) {
      both.arrive_and_wait();
      try {
        (void)open_store(path, key);
      } catch (const ss::checkpoint_error& e) {
        refused += e.code() == ss::checkpoint_errc::wrong_key ? 1 : 2;
      }
    };
    auto other = std::thread{[&] { open_with(usual_key); }};
    open_with({});
    other.join();
    BOOST_TEST(refused == 1);
    BOOST_TEST(ask_sql(path, "SELECT count(*) FROM facts") == 1);
  }
}

BOOST_AUTO_TEST_CASE(opened_version_2_file_accepts_no_other_key) {
  const auto folder = temporary_folder{};
  (void)open(folder.file(), {});
  change(folder.file(), "DELETE FROM facts; PRAGMA user_version = 2");
  (void)open(folder.file(), {});
  BOOST_TEST(ask_sql(folder.file(), "PRAGMA user_version") == 4);
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), usual_key), ss::checkpoint_error, is_wrong_key);
  // A file that has not been written to may still be opened with a key.
  change(folder.file(), "DELETE FROM facts; PRAGMA user_version = 2");
  (void)open(folder.file(), usual_key);
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), {}), ss::checkpoint_error, is_wrong_key);
}

BOOST_AUTO_TEST_CASE(encrypted_rows_copied_between_threads_are_rejected) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file(), usual_key);
  const auto alice = ss::thread_key{"alice", ""};
  for (const auto& of : {alice, ss::thread_key{"bob", ""}, ss::thread_key{"alice", "sub"}}) {
    (void)maker(layout, of).put(*s, 1, nullptr, {add_log({of.thread_id})});
    s->put_task(of, named(1, layout), ended("a", 1));
  }
  s.reset();
  const auto take_from = [&](const std::string& table, const std::string& whose) {
    const auto number = [](const std::string& name, const std::string& ns) {
      return "(SELECT no FROM threads WHERE thread = '" + name + "' AND ns = '" + ns + "')";
    };
    const auto from = whose == "bob" ? number("bob", "") : number("alice", "sub");
    change(folder.file(), "CREATE TABLE IF NOT EXISTS t_" + table + " AS SELECT * FROM " + table);
    change(folder.file(), "UPDATE " + table + " SET (row, sum) = (SELECT row, sum FROM t_" + table +
                              " WHERE thread = " + from +
                              ") WHERE thread = " + number("alice", ""));
  };
  for (const auto* table : {"points", "tasks"})
    for (const auto* whose : {"bob", "sub"}) {
      take_from(table, whose);
      s = open(folder.file(), usual_key);
      BOOST_CHECK_EXCEPTION((void)s->load(alice, "", layout), ss::checkpoint_error, is_corrupt);
      BOOST_TEST((log_of(s->load({"bob", ""}, "", layout)->checkpoint) == log_type{"bob"}));
      s.reset();
    }
}

BOOST_AUTO_TEST_CASE(encrypted_thread_loads_after_import_and_prune) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file(), usual_key);
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {add_log({"one"})});
  (void)m.put(*s, 2, first, {add_log({"two"})});
  s->put_task(key, named(2, layout), ended("a", 1));
  s->import_thread("copy", s->export_thread("t"));
  (void)s->prune({});
  s = open(folder.file(), usual_key);
  for (const auto* name : {"t", "copy"}) {
    const auto found = s->load({name, ""}, "", layout);
    BOOST_TEST((log_of(found->checkpoint) == log_type{"one", "two"}));
    BOOST_TEST(found->tasks.size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(store_rejects_encrypted_values_copied_between_items) {
  const auto folder = temporary_folder{};
  auto s = open_store(folder.file(), usual_key);
  s->put({"a"}, "b/c", {{"text", "one"}});
  s->put({"a/b"}, "c", {{"text", "two"}});
  BOOST_TEST(s->search(near_to({"a"})).size() == 1U);
  change(folder.file(), "UPDATE items SET meaning = value WHERE key = 'c'");
  BOOST_CHECK_EXCEPTION((void)s->search(near_to({"a/b"})), ss::checkpoint_error, is_corrupt);
  change(folder.file(), "UPDATE items SET value = (SELECT value FROM items WHERE key = 'c')");
  BOOST_TEST(s->get({"a/b"}, "c")->at("text") == "two");
  BOOST_CHECK_EXCEPTION((void)s->get({"a"}, "b/c"), ss::checkpoint_error, is_corrupt);
}

BOOST_AUTO_TEST_CASE(encrypted_thread_of_format_version_2_resumes) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file(), usual_key);
  auto m = maker{layout};
  (void)m.put(*s, 1, nullptr, {set_n(1)});
  s->put_task(key, named(1, layout), ended("a", 0));
  s->put_effect("t", "one", ss::effect_record{true, "other"});
  s.reset();
  open_store(folder.file(), usual_key)->put({"u"}, "k", {}, {.index = std::vector<std::string>{}});
  make_version_2(folder.file());
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), {}), ss::checkpoint_error, is_wrong_key);
  s = open(folder.file(), usual_key);
  const auto found = s->load(key, "", layout);
  BOOST_TEST(n_of(found->checkpoint) == 7);
  BOOST_TEST(found->tasks.at(0).output->targets.at(0) == 1U);
  BOOST_TEST(s->find_effect("t", "one")->result == "done");
  BOOST_TEST(open_store(folder.file(), usual_key)->get({"u"}, "k")->at("x") == 1);
  (void)m.put(*s, 2, found->checkpoint, {add_log({"new"})});
  s = open(folder.file(), usual_key);
  BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 7);
}

BOOST_AUTO_TEST_SUITE_END()
