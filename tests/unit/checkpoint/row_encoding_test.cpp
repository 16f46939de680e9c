// SPDX-License-Identifier: Apache-2.0
// Encoding of rows: UTF-8, corruption, nesting depth and effect records.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/ownership.hpp"
#include "checkpoint/row_bytes.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

namespace ss = superstep;
using namespace checkpointer_contract;

// Every stored value can be read back. A put rejects values for which this is not possible.
BOOST_AUTO_TEST_SUITE(row_encoding)

namespace {

/// A predicate for checkpoint_error: the code, and texts that what() must contain.
auto with_words(ss::checkpoint_errc code, std::vector<std::string> parts) {
  return [code, parts = std::move(parts)](const ss::checkpoint_error& e) {
    const auto text = std::string{e.what()};
    return has_code(e, code) && std::ranges::all_of(parts, [&](const std::string& part) {
             return text.find(part) != std::string::npos;
           });
  };
}

/// Replaces the row of the task record by another text with a valid checksum.
void write_task_row(const std::string& path, const std::string& row) {
  const auto sum = ss::detail::checksum_of({id_of(1), row});
  static_cast<void>(ask_sql(path, "UPDATE tasks SET row = CAST('" + row +
                                      "' AS BLOB), sum = " + std::to_string(sum)));
}

json::value nested(std::size_t depth) {
  auto v = json::value(1);
  for (auto i = std::size_t{0}; i < depth; ++i)
    v = json::array{std::move(v)};
  return v;
}

} // namespace

BOOST_AUTO_TEST_CASE(put_rejects_values_that_are_not_utf8) {
  const auto folder = temporary_folder{};
  auto s = open_checkpointer(folder.file());
  const auto layout = usual_layout();
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {set_any("caf\xc3\xa9")});
  const auto is_refused = with_words(ss::checkpoint_errc::not_storable, {"'t'", "'any'", "UTF-8"});
  BOOST_CHECK_EXCEPTION((void)m.put(*s, 2, first, {set_any("caf\xe9")}), ss::checkpoint_error,
                        is_refused);
  auto wrote = ended("a", 1);
  wrote.output->writes.push_back(set_any(json::object{{"\xed\xa0\x80", 1}}));
  BOOST_CHECK_EXCEPTION(s->put_task(key, named(1, layout), wrote), ss::checkpoint_error,
                        is_refused);
  auto record = ss::task_record{};
  record.task = "a";
  record.interrupts.emplace().push_back({"id", "caf\xe9?"});
  const auto is_named = with_words(ss::checkpoint_errc::not_storable, {"'t'", "task 'a'", "UTF-8"});
  BOOST_CHECK_EXCEPTION(s->put_task(key, named(1, layout), record), ss::checkpoint_error, is_named);
  record.interrupts.reset();
  record.answers = {"\xff"};
  BOOST_CHECK_EXCEPTION(s->put_task(key, named(1, layout), record), ss::checkpoint_error, is_named);
  record.answers.clear();
  record.resume = json::value("\xff");
  BOOST_CHECK_EXCEPTION(s->put_task(key, named(1, layout), record), ss::checkpoint_error, is_named);
  const auto strange = test_layout{}.last<int>("n\xff").done();
  BOOST_CHECK_EXCEPTION((void)maker(strange, {"u", ""}).put(*s, 1, nullptr, {}),
                        ss::checkpoint_error, with_words(ss::checkpoint_errc::not_storable, {}));
  s = open_checkpointer(folder.file()); // the thread kept its state and can be continued
  BOOST_TEST(s->load(key, "", layout)->tasks.empty());
  (void)m.put(*s, 2, first, {set_any("caf\xc3\xa9s")});
  s = open_checkpointer(folder.file());
  BOOST_TEST(*held<std::optional<json::value>>(s->load(key, "", layout)->checkpoint, 2) ==
             json::value("caf\xc3\xa9s"));
}

BOOST_AUTO_TEST_CASE(invalid_utf8_of_stored_error_text_is_replaced) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  const auto first = maker{layout}.put(*s, 1, nullptr, {set_n(1)});
  auto failed = ss::task_record{};
  failed.task = "a";
  failed.error = "cannot open caf\xe9.txt";
  failed.cause = std::make_exception_ptr(std::runtime_error{failed.error});
  s->put_task(key, named(1, layout), failed);
  s = open_checkpointer(folder.file());
  const auto tasks = s->load(key, "", layout)->tasks;
  BOOST_TEST_REQUIRE(tasks.size() == 1U);
  BOOST_TEST(tasks[0].error == "cannot open caf\xef\xbf\xbd.txt");
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(tasks[0].cause), ss::restored_error,
                        [&](const auto& e) { return e.what() == tasks[0].error; });
  s->import_thread("copy", s->export_thread("t"));
  BOOST_TEST(s->load({"copy", ""}, "", layout)->tasks.size() == 1U);
  s->import_thread("caf\xe9", s->export_thread("t"));
  s->import_thread("back", s->export_thread("caf\xe9")); // thread ids may contain any bytes
}

BOOST_AUTO_TEST_CASE(load_replaces_invalid_utf8_of_older_records) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  put_one_and_its_task(*s, layout);
  s.reset();
  write_task_row(folder.file(), "{\"t\":\"a\",\"e\":\"caf\xe9\"}");
  s = open_checkpointer(folder.file());
  BOOST_TEST(s->load(key, "", layout)->tasks.at(0).error == "caf\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(corrupt_row_error_names_file_thread_and_remedy) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  put_one_and_its_task(*s, layout);
  s.reset();
  const auto is_reported =
      with_words(ss::checkpoint_errc::corrupt,
                 {folder.file(), "'t'", id_of(1), "older", "start a new thread"});
  for (const auto* row : {"{no JSON", R"({"t":1})", R"({"t":"a","o":{"w":[[77,1]]}})"}) {
    write_task_row(folder.file(), row);
    s = open_checkpointer(folder.file());
    BOOST_CHECK_EXCEPTION((void)s->load(key, "", layout), ss::checkpoint_error, is_reported);
    BOOST_CHECK_EXCEPTION((void)s->list(key, {}, layout), ss::checkpoint_error, is_reported);
  }
}

BOOST_AUTO_TEST_CASE(task_record_is_stored_up_to_maximum_depth) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {set_n(1)});
  auto wrote = ended("a", 1);
  wrote.output->writes.push_back(set_any(nested(996))); // 1,000 with the enclosing levels
  s->put_task(key, named(1, layout), wrote);
  (void)m.put(*s, 2, first, {set_n(2)});
  s = open_checkpointer(folder.file());
  BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 2);
  BOOST_TEST(s->load(key, id_of(1), layout)->tasks.size() == 1U);
  s->import_thread("copy", s->export_thread("t"));
  auto deeper = ended("a", 1);
  deeper.output->writes.push_back(set_any(nested(997)));
  BOOST_CHECK_EXCEPTION(s->put_task(key, named(1, layout), deeper), ss::checkpoint_error,
                        with_words(ss::checkpoint_errc::not_storable, {}));
}

/// The first letter of a stored row shows whether the row is compressed or encrypted. A result that
/// starts with such a letter must not be mistaken for one of these.
BOOST_AUTO_TEST_CASE(effect_result_with_any_first_letter_is_restored) {
  const auto folder = temporary_folder{};
  for (const auto& key : {std::string{}, std::string(32, 'k')}) {
    auto options = ss::sqlite_checkpointer_options{};
    options.encryption_key = key;
    const auto path = folder.file(key.empty() ? "plain" : "encrypted");
    auto s = ss::sqlite_checkpointer(path, options);
    for (const auto& text : {std::string{}, std::string{"z"}, std::string{"zero"},
                             "z" + std::string(1'000, '0'), std::string{"f"}, std::string{"e"}}) {
      s->put_effect("t", "e", ss::effect_record{true, text});
      BOOST_TEST(s->find_effect("t", "e")->result == text);
    }
  }
}

namespace {

/// A row of a checkpoint that is long enough to be compressed.
std::string usual_row() {
  return R"({"c":{"messages":[2,[{"type":"tool","content":")" + std::string(300, 'x') +
         R"(","id":"-2-0","tool_call_id":"call_1"}]],"tool_calls":[1]},"v":[4,2,1]})";
}

/// Returns the compressed form of versions up to 3.
std::string packed_by_zlib(const std::string& text) {
  auto out = std::string(5 + compressBound(text.size()), '\0');
  auto size = static_cast<uLongf>(out.size() - 5);
  BOOST_REQUIRE(compress(reinterpret_cast<Bytef*>(out.data() + 5), &size,
                         reinterpret_cast<const Bytef*>(text.data()), text.size()) == Z_OK);
  out.resize(5 + size);
  out[0] = 'z';
  for (auto i = std::size_t{0}; i < 4; ++i)
    out[1 + i] = static_cast<char>(text.size() >> (8 * i) & 0xffU);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(row_is_compressed_and_restored) {
  const auto text = usual_row();
  const auto packed = ss::detail::pack_row(text);
  BOOST_TEST(packed.size() < text.size() / 4);
  BOOST_TEST(ss::detail::unpack_row(packed).value() == text);
}

BOOST_AUTO_TEST_CASE(row_compressed_by_earlier_version_is_read) {
  const auto text = usual_row();
  BOOST_TEST(ss::detail::unpack_row(packed_by_zlib(text)).value() == text);
}

/// Each byte of a compressed row is changed, and the row is cut at each byte. Reading gives an
/// error or, because a frame has no checksum of its own, another text of the same length.
BOOST_AUTO_TEST_CASE(damaged_row_gives_error_or_text_of_same_length) {
  const auto text = usual_row();
  for (const auto& packed : {ss::detail::pack_row(text), packed_by_zlib(text)})
    for (auto i = std::size_t{1}; i < packed.size(); ++i) {
      BOOST_TEST(!ss::detail::unpack_row(packed.substr(0, i)).has_value());
      auto changed = packed;
      changed[i] = static_cast<char>(changed[i] ^ 0x55);
      if (const auto read = ss::detail::unpack_row(changed); read.has_value())
        BOOST_TEST(read->size() == text.size());
    }
}

BOOST_AUTO_TEST_CASE(namespace_has_an_owner_only_after_the_colon) {
  using ss::detail::owner_of;
  const auto own = owner_of("a@b|shop@v2:task@0007.1");
  BOOST_TEST_REQUIRE(own.has_value());
  BOOST_TEST(own->parent == "a@b");
  BOOST_TEST(own->id == "0007.1");
  BOOST_TEST(!owner_of("shop@v2:5d4b2c1e-0000"));
  BOOST_TEST(!owner_of("shop@v2"));
  BOOST_TEST(!owner_of(""));
}

BOOST_AUTO_TEST_SUITE_END()
