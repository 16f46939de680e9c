// SPDX-License-Identifier: Apache-2.0
// Part files: the places of lines, and the files of several leases of a chunk.
#include "batch/files.hpp"
#include "ledger/part_files.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

namespace {

using namespace superstep::detail;
using superstep::testing::read_file;
using superstep::testing::temporary_folder;

} // namespace

BOOST_AUTO_TEST_CASE(part_files_keep_leases_apart) {
  const auto folder = temporary_folder{};
  auto parts = part_files{folder / "", "run-1"};
  const auto first = parts.append(0, 1, "one");
  const auto second = parts.append(0, 1, "two");
  const auto later = parts.append(0, 2, "three");
  BOOST_TEST_REQUIRE((first && second && later));
  BOOST_TEST(parts.sync().has_value());
  BOOST_TEST(first->name == "part-run-1-0-1.jsonl");
  BOOST_TEST(second->offset == 4U);
  BOOST_TEST(later->name == "part-run-1-0-2.jsonl");
  BOOST_TEST(read_file(folder / "part-run-1-0-1.jsonl") == "one\ntwo\n");
  BOOST_TEST(read_file(folder / "part-run-1-0-2.jsonl") == "three\n");
}

BOOST_AUTO_TEST_CASE(part_file_of_earlier_process_is_continued) {
  const auto folder = temporary_folder{};
  BOOST_TEST((part_files{folder / "", "run-1"}.append(5, 1, "one").has_value()));
  const auto place = part_files{folder / "", "run-1"}.append(5, 1, "two");
  BOOST_TEST_REQUIRE(place.has_value());
  BOOST_TEST(place->offset == 4U);
}

BOOST_AUTO_TEST_CASE(part_files_of_two_jobs_are_kept_apart) {
  const auto folder = temporary_folder{};
  auto first = part_files{folder / "", "run-1"};
  auto second = part_files{folder / "", "run-2"};
  const auto places = std::array{first.append(0, 1, "one"), second.append(0, 1, "two"),
                                 first.append(0, 1, "three")};
  BOOST_TEST_REQUIRE((places[0] && places[1] && places[2]));
  BOOST_TEST(places[0]->name != places[1]->name);
  BOOST_TEST(places[2]->offset == 4U);
  BOOST_TEST(read_file(folder / places[0]->name) == "one\nthree\n");
}

BOOST_AUTO_TEST_CASE(part_place_survives_its_text) {
  const auto place = part_place_of(place_text(part_place{"part-7-2.jsonl", 10, 20}));
  BOOST_TEST_REQUIRE(place.has_value());
  BOOST_TEST(place->name == "part-7-2.jsonl");
  BOOST_TEST(place->offset == 10U);
  BOOST_TEST(place->size == 20U);
}

BOOST_AUTO_TEST_CASE(part_place_outside_of_folder_is_rejected) {
  for (const auto* text : {"", "part-1-1.jsonl", "part-1-1.jsonl 5", "../part-1-1.jsonl 0 5",
                           "part-../../x 0 5", "/etc/passwd 0 5", "part-1-1.jsonl 0 x"})
    BOOST_TEST(!part_place_of(text).has_value(), text);
}
