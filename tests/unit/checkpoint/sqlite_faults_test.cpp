// SPDX-License-Identifier: Apache-2.0
// The SQLite checkpointer on damaged, truncated, read-only and full files.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"
#include "support/file_size_limit.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ss = superstep;
using namespace checkpointer_contract;

// Damaged, truncated, read-only and full files. Each error names the file, states what is safe and
// what to do, and a failed operation changes nothing.
BOOST_AUTO_TEST_SUITE(sqlite_faults)

namespace {

namespace fs = std::filesystem;

constexpr auto page_bytes = std::size_t{4'096};

bool contains_all(const ss::checkpoint_error& e, const std::vector<std::string>& all) {
  const auto text = std::string{e.what()};
  return std::ranges::all_of(all, [&](const std::string& part) {
    BOOST_TEST(text.find(part) != std::string::npos, "'" << part << "' is not in: " << text);
    return text.find(part) != std::string::npos;
  });
}

/// A predicate for checkpoint_error: the code, and texts that what() must contain.
auto reports(ss::checkpoint_errc code, std::vector<std::string> parts) {
  return [code, parts = std::move(parts)](const ss::checkpoint_error& e) {
    return has_code(e, code) && contains_all(e, parts);
  };
}

/// Returns pseudo-random letters, which hardly compress.
std::string random_text(std::size_t length, unsigned seed) {
  auto text = std::string{};
  for (auto n = seed + 1; text.size() < length;) {
    n = n * 1664525U + 1013904223U;
    text += static_cast<char>('a' + (n >> 24) % 26);
  }
  return text;
}

void write_bytes(const std::string& path, std::string_view bytes) {
  auto out = std::ofstream{path, std::ios::binary | std::ios::trunc};
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> names_in(const fs::path& folder) {
  auto out = std::vector<std::string>{};
  for (const auto& entry : fs::directory_iterator{folder})
    out.push_back(entry.path().filename().string());
  std::ranges::sort(out);
  return out;
}

bool is_sound(const std::string& path) {
  return ask_sql(path, "SELECT count(*) FROM pragma_integrity_check "
                       "WHERE integrity_check <> 'ok'") == 0;
}

/// Returns the offset of the first page of a table or index.
std::size_t place_of(const std::string& path, const std::string& name) {
  const auto page = ask_sql(path, "SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'");
  BOOST_TEST_REQUIRE(page > 1);
  return static_cast<std::size_t>(page - 1) * page_bytes;
}

constexpr auto threads_in_all = 20U;

ss::thread_key thread_no(unsigned i) {
  return {"thread " + std::to_string(i), ""};
}

log_type lines_of(unsigned thread) {
  // In every fifth thread, the last line is larger than a page.
  return {random_text(700, thread), random_text(700, thread + 100),
          random_text(thread % 5 == 0 ? 9'000 : 700, thread)};
}

/// Creates a file whose rows fill many pages. Returns its bytes.
std::string full_file(const std::string& path, const ss::layout_ptr& layout) {
  {
    auto s = open_checkpointer(path);
    for (auto t = 0U; t < threads_in_all; ++t) {
      auto at = ss::checkpoint_ptr{};
      auto number = 0;
      for (const auto& line : lines_of(t))
        at = maker{layout, thread_no(t)}.put(*s, ++number, at, {add_log({line})});
    }
  }
  return bytes_of(path);
}

/// Loads all threads. Checks that the readable ones have their original content, and returns the
/// number of unreadable ones.
unsigned unreadable(const std::string& path, const ss::layout_ptr& layout) {
  auto count = 0U;
  const auto look = reports(ss::checkpoint_errc::corrupt, {path, "nothing was"});
  try {
    auto s = open_checkpointer(path);
    for (auto t = 0U; t < threads_in_all; ++t) {
      try {
        const auto found = s->load(thread_no(t), "", layout);
        BOOST_TEST_REQUIRE(found.has_value());
        BOOST_TEST((log_of(found->checkpoint) == lines_of(t)));
      } catch (const ss::checkpoint_error& e) {
        BOOST_TEST(look(e));
        ++count;
      }
    }
  } catch (const ss::checkpoint_error& e) {
    BOOST_TEST(look(e));
    return threads_in_all;
  }
  return count;
}

/// Makes file permissions apply to root during its lifetime: drops the capability to bypass them
/// from this thread, and so from threads that it starts. Switching to another user would do the
/// same, but a container may have no other user.
class permissions_count {
public:
  permissions_count() {
    get();
    const auto usual = words_[0].effective;
    words_[0].effective &= ~(1U << CAP_DAC_OVERRIDE);
    set();
    words_[0].effective = usual;
  }
  permissions_count(const permissions_count&) = delete;
  permissions_count& operator=(const permissions_count&) = delete;
  ~permissions_count() { set(); }

private:
  void get() { BOOST_REQUIRE(::syscall(SYS_capget, &header_, words_) == 0); }
  void set() { BOOST_TEST(::syscall(SYS_capset, &header_, words_) == 0); }
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words_[2]{};
};

class permissions {
public:
  permissions(fs::path path, fs::perms to) : path_{std::move(path)} {
    usual_ = fs::status(path_).permissions();
    fs::permissions(path_, to);
  }
  permissions(const permissions&) = delete;
  permissions& operator=(const permissions&) = delete;
  ~permissions() { fs::permissions(path_, usual_); }

private:
  fs::path path_;
  fs::perms usual_;
};

constexpr auto read_only_file = fs::perms::owner_read;
constexpr auto read_only_folder = fs::perms::owner_read | fs::perms::owner_exec;

} // namespace

BOOST_AUTO_TEST_CASE(damaged_page_is_reported_and_other_threads_load) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto whole = full_file(folder.file("whole"), layout);
  const auto pages = whole.size() / page_bytes;
  BOOST_TEST_REQUIRE(pages > 20U);
  auto reported = 0U;
  auto some_readable = 0U;
  for (auto page = std::size_t{0}; page < pages; ++page) {
    for (const auto with : {'\0', '\xa5'}) {
      const auto path = folder.file("damaged");
      auto bytes = whole;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page * page_bytes), page_bytes, with);
      write_bytes(path, bytes);
      BOOST_TEST_CONTEXT("page " << page + 1) {
        const auto lost = unreadable(path, layout);
        reported += lost > 0 ? 1 : 0;
        some_readable += lost > 0 && lost < threads_in_all ? 1 : 0;
        BOOST_TEST((bytes_of(path) == bytes));
        BOOST_TEST(!fs::exists(path + "-wal"));
      }
    }
  }
  // Each page is damaged in two ways. Damage in pages of empty tables is not noticed.
  BOOST_TEST(reported > pages);
  BOOST_TEST(some_readable > pages / 2);
}

/// An interrupted copy leaves a truncated file.
BOOST_AUTO_TEST_CASE(truncated_file_is_reported_and_not_changed) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto whole = full_file(folder.file("whole"), layout);
  for (const auto size :
       {std::size_t{600}, page_bytes + 100, whole.size() / 2, whole.size() - page_bytes}) {
    const auto path = folder.file("cut");
    write_bytes(path, std::string_view{whole}.substr(0, size));
    BOOST_TEST_CONTEXT(size << " bytes") {
      BOOST_TEST(unreadable(path, layout) > 0U);
      BOOST_TEST(fs::file_size(path) == size);
    }
  }
}

BOOST_AUTO_TEST_CASE(write_to_damaged_page_fails_without_changes) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto whole = full_file(folder.file("whole"), layout);
  for (const auto* table : {"points", "points_by_id", "threads", "layouts"}) {
    const auto path = folder.file(table);
    auto bytes = whole;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place_of(folder.file("whole"), table)),
                page_bytes, '\xa5');
    write_bytes(path, bytes);
    const auto look = reports(ss::checkpoint_errc::corrupt,
                              {path, "damaged", "keep a copy", "nothing was overwritten"});
    auto s = open_checkpointer(path);
    const auto of = ss::thread_key{"a new one", ""};
    const auto put = [&] {
      (void)maker{layout, of}.put(*s, 1, nullptr, {set_n(1)});
      wait_until_saved(*s, of);
      s->check(of);
    };
    BOOST_TEST_CONTEXT(table) {
      BOOST_CHECK_EXCEPTION(put(), ss::checkpoint_error, look);
    }
    s.reset();
    BOOST_TEST((bytes_of(path) == bytes));
  }
}

/// Overwriting part of an index page leaves a valid page in which some threads are not found.
BOOST_AUTO_TEST_CASE(thread_hidden_by_damaged_index_is_reported) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto whole = full_file(folder.file("whole"), layout);
  constexpr auto sector = std::size_t{512};
  auto hidden = 0;
  for (const auto* index : {"sqlite_autoindex_threads_1", "points_by_id"}) {
    const auto from = place_of(folder.file("whole"), index);
    for (auto at = from; at < from + page_bytes; at += sector) {
      const auto path = folder.file("damaged");
      auto bytes = whole;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), sector, '\1');
      write_bytes(path, bytes);
      BOOST_TEST_CONTEXT(index << ", byte " << at - from) {
        const auto lost = unreadable(path, layout);
        BOOST_TEST((bytes_of(path) == bytes));
        if (lost == 0 || at == from) // unused bytes, or the page header, which SQLite checks
          continue;
        ++hidden;
        static_cast<void>(ask_sql(path, "REINDEX")); // as the error advises
        BOOST_TEST(unreadable(path, layout) == 0U);
      }
    }
  }
  BOOST_TEST(hidden > 2);
}

BOOST_AUTO_TEST_CASE(export_fails_if_damaged_index_hides_rows) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  for (const auto* index : {"points_by_id", "tasks_by_point"}) {
    const auto path = folder.file(index);
    auto m = maker{layout};
    auto s = open_checkpointer(path);
    const auto first = m.put(*s, 1, nullptr, {set_n(1)});
    s->put_task(key, named(1, layout), ended("a", 1));
    s.reset();
    const auto before = bytes_of(path);
    s = open_checkpointer(path);
    (void)m.put(*s, 2, first, {set_n(2)});
    s->put_task(key, named(2, layout), ended("a", 1));
    s.reset();
    const auto page = place_of(path, index); // restore the old content of one index page
    write_bytes(path, bytes_of(path).replace(page, page_bytes, before, page, page_bytes));
    BOOST_CHECK_EXCEPTION(
        (void)open_checkpointer(path)->export_thread("t"), ss::checkpoint_error,
        reports(ss::checkpoint_errc::corrupt, {path, "an index is damaged", index, "REINDEX"}));
    static_cast<void>(ask_sql(path, "REINDEX")); // as the error advises
    const auto exported = open_checkpointer(path)->export_thread("t");
    BOOST_TEST(exported.find(id_of(2)) != std::string::npos);
  }
}

/// Rows have checksums, but layouts, which contain the names of channels, do not.
BOOST_AUTO_TEST_CASE(damaged_channel_name_is_reported) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto whole = full_file(folder.file("whole"), layout);
  const auto name = std::string{"\"log\""};
  auto tried = 0;
  for (auto at = whole.find(name); at != std::string::npos; at = whole.find(name, at + 1)) {
    if (whole.compare(at - 40, 40, std::string(40, '\0')) == 0)
      continue;
    const auto path = folder.file("changed");
    auto bytes = whole;
    bytes[at + 2] = 'a';
    write_bytes(path, bytes);
    BOOST_TEST_CONTEXT("byte " << at) {
      BOOST_TEST(unreadable(path, layout) > 0U);
    }
    BOOST_TEST((bytes_of(path) == bytes));
    ++tried;
  }
  BOOST_TEST(tried > 0);
}

/// A power failure or a killed process leaves a log that ends anywhere or contains arbitrary bytes.
BOOST_AUTO_TEST_CASE(transactions_before_damage_in_log_are_kept) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto path = folder.file();
  auto sizes = std::vector<std::size_t>{};
  auto file = std::string{};
  auto log = std::string{};
  {
    auto s = open_checkpointer(path);
    auto m = maker{layout};
    auto at = ss::checkpoint_ptr{};
    for (auto i = 1; i <= 8; ++i) {
      at = m.put(*s, i, at, {set_n(i), add_log({random_text(900, static_cast<unsigned>(i))})});
      wait_until_saved(*s);
      sizes.push_back(fs::file_size(path + "-wal"));
    }
    file = bytes_of(path); // like after a kill: the log has not been moved into the file
    log = bytes_of(path + "-wal");
  }
  BOOST_TEST_REQUIRE(log.size() == sizes.back());
  BOOST_TEST_REQUIRE(log.size() > 20 * page_bytes);
  for (auto end = std::size_t{0}; end <= log.size(); end += 2'777) { // rarely at the end of a frame
    for (const auto is_cut : {true, false}) {
      auto left = log;
      if (is_cut)
        left.resize(end);
      else if (end < log.size())
        left[end] = static_cast<char>(left[end] ^ 0x10);
      const auto copy = folder.file("copy");
      write_bytes(copy, file);
      write_bytes(copy + "-wal", left);
      fs::remove(copy + "-shm");
      const auto committed =
          static_cast<int>(std::ranges::count_if(sizes, [&](auto n) { return n <= end; }));
      BOOST_TEST_CONTEXT((is_cut ? "cut at " : "damaged at ") << end) {
        auto s = open_checkpointer(copy);
        const auto found = s->load(key, "", layout);
        BOOST_TEST_REQUIRE(found.has_value() == (committed > 0));
        auto at = found ? found->checkpoint : nullptr;
        BOOST_TEST((at ? n_of(at) : 0) == committed);
        BOOST_TEST((at ? log_of(at).size() : 0U) == static_cast<std::size_t>(committed));
        (void)maker{layout}.put(*s, committed + 1, at,
                                {set_n(committed + 1)}); // the thread can be continued
        wait_until_saved(*s);
        s->check(key);
        s.reset();
        BOOST_TEST(is_sound(copy));
        BOOST_TEST(n_of(open_checkpointer(copy)->load(key, "", layout)->checkpoint) ==
                   committed + 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(read_only_file_loads_but_rejects_writes) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto path = folder.file();
  const auto first = maker{layout}.put(*open_checkpointer(path), 1, nullptr, {set_n(1)});
  const auto before = bytes_of(path);
  {
    const auto closed = permissions{path, read_only_file};
    const auto counting = permissions_count{};
    auto s = open_checkpointer(path);
    BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 1);
    (void)maker{layout}.put(*s, 2, first, {set_n(2)});
    wait_until_saved(*s);
    BOOST_CHECK_EXCEPTION(s->check(key), ss::checkpoint_error,
                          reports(ss::checkpoint_errc::failed,
                                  {path, "cannot be written", "permissions", "is safe"}));
    BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 1);
  }
  BOOST_TEST((bytes_of(path) == before));
  auto s = open_checkpointer(path); // the file is writable again
  (void)maker{layout}.put(*s, 2, s->load(key, "", layout)->checkpoint, {set_n(2)});
  wait_until_saved(*s);
  s->check(key);
}

BOOST_AUTO_TEST_CASE(file_accepts_writes_once_permissions_are_restored) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto path = folder.file();
  const auto first = maker{layout}.put(*open_checkpointer(path), 1, nullptr, {set_n(1)});
  const auto counting = permissions_count{};
  {
    const auto closed = permissions{path, read_only_file};
    BOOST_TEST(n_of(open_checkpointer(path)->load(key, "", layout)->checkpoint) == 1);
  }
  BOOST_TEST((fs::status(path + "-shm").permissions() == read_only_file));
  auto s = open_checkpointer(path);
  (void)maker{layout}.put(*s, 2, first, {set_n(2)});
  wait_until_saved(*s);
  s->check(key);
  BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 2);
}

BOOST_AUTO_TEST_CASE(read_only_version_2_file_loads_unchanged) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto path = folder.file();
  (void)maker{layout}.put(*open_checkpointer(path), 1, nullptr, {set_n(1)});
  static_cast<void>(ask_sql(path, "DELETE FROM facts; PRAGMA user_version = 2"));
  const auto before = bytes_of(path);
  const auto closed = permissions{path, read_only_file};
  const auto counting = permissions_count{};
  BOOST_TEST(n_of(open_checkpointer(path)->load(key, "", layout)->checkpoint) == 1);
  BOOST_TEST((bytes_of(path) == before));
}

BOOST_AUTO_TEST_CASE(opening_file_in_read_only_folder_fails) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  fs::create_directory(folder.file("closed"));
  const auto path = folder.file("closed/threads.db");
  (void)maker{layout}.put(*open_checkpointer(path), 1, nullptr, {set_n(1)});
  const auto before = bytes_of(path);
  fs::remove(path + "-lease");
  const auto names = names_in(folder.file("closed"));
  {
    const auto file = permissions{path, read_only_file};
    const auto closed = permissions{folder.file("closed"), read_only_folder};
    const auto counting = permissions_count{};
    for (const auto& which : {path, folder.file("closed/new.db")})
      BOOST_CHECK_EXCEPTION((void)open_checkpointer(which), ss::checkpoint_error,
                            reports(ss::checkpoint_errc::failed,
                                    {which, "cannot be written", "permissions", "is safe"}));
  }
  BOOST_TEST((bytes_of(path) == before));
  BOOST_TEST((names_in(folder.file("closed")) == names));
  BOOST_TEST(n_of(open_checkpointer(path)->load(key, "", layout)->checkpoint) == 1);
}

/// The log of a killed process contains transactions that are not in the file yet.
BOOST_AUTO_TEST_CASE(log_of_read_only_file_is_kept) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto path = folder.file("copy");
  {
    auto s = open_checkpointer(folder.file());
    (void)maker{layout}.put(*s, 1, nullptr, {set_n(1)});
    wait_until_saved(*s);
    write_bytes(path, bytes_of(folder.file()));
    write_bytes(path + "-wal", bytes_of(folder.file() + "-wal"));
  }
  const auto before = bytes_of(path);
  const auto log = bytes_of(path + "-wal");
  {
    const auto closed = permissions{path, read_only_file};
    const auto counting = permissions_count{};
    BOOST_TEST(n_of(open_checkpointer(path)->load(key, "", layout)->checkpoint) == 1);
  }
  BOOST_TEST((bytes_of(path) == before));
  BOOST_TEST((bytes_of(path + "-wal") == log));
  BOOST_TEST(n_of(open_checkpointer(path)->load(key, "", layout)->checkpoint) == 1);
}

BOOST_AUTO_TEST_CASE(write_to_full_disk_fails_without_data_loss) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {set_n(1)});
  wait_until_saved(*s);
  {
    const auto tight = file_size_limit{200'000};
    (void)m.put(*s, 2, first, {set_any(json::value(json::string(random_text(800'000, 1))))});
    wait_until_saved(*s);
  }
  BOOST_CHECK_EXCEPTION(s->check(key), ss::checkpoint_error,
                        reports(ss::checkpoint_errc::failed,
                                {folder.file(), "make room", "what was saved before is safe"}));
  BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 1);
  (void)m.put(*s, 2, s->load(key, "", layout)->checkpoint, {set_n(2)}); // there is space again
  wait_until_saved(*s);
  s->check(key);
  s.reset();
  BOOST_TEST(is_sound(folder.file()));
  BOOST_TEST(n_of(open_checkpointer(folder.file())->load(key, "", layout)->checkpoint) == 2);
}

/// The last connection to close moves the log into the file.
BOOST_AUTO_TEST_CASE(log_is_kept_if_file_cannot_grow) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  auto at = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 8; ++i)
    at = maker{layout}.put(*s, i, at, {add_log({random_text(9'000, static_cast<unsigned>(i))})});
  wait_until_saved(*s);
  {
    const auto tight = file_size_limit{fs::file_size(folder.file()) + 5'000};
    s.reset();
  }
  BOOST_TEST(fs::exists(folder.file() + "-wal"));
  BOOST_TEST(
      (log_of(open_checkpointer(folder.file())->load(key, "", layout)->checkpoint) == log_of(at)));
  BOOST_TEST(is_sound(folder.file()));
}

BOOST_AUTO_TEST_CASE(open_fails_on_full_disk_and_succeeds_later) {
  const auto folder = temporary_folder{};
  {
    const auto tight = file_size_limit{5'000};
    BOOST_CHECK_EXCEPTION((void)open_checkpointer(folder.file()), ss::checkpoint_error,
                          reports(ss::checkpoint_errc::failed, {folder.file(), "make room"}));
  }
  const auto layout = usual_layout();
  auto s = open_checkpointer(folder.file());
  (void)maker{layout}.put(*s, 1, nullptr, {set_n(1)});
  wait_until_saved(*s);
  s->check(key);
  BOOST_TEST(n_of(s->load(key, "", layout)->checkpoint) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
