// SPDX-License-Identifier: Apache-2.0
// JSON forms of human review: interrupts and responses.
#include <superstep/tools/human_review.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(human_reviews)

namespace {

const auto interrupt_text = std::string{
    R"({"action_request":{"action":"run","args":{"cmd":"ls"}},"config":{"allow_ignore":true,)"
    R"("allow_respond":false,"allow_edit":true,"allow_accept":true}})"};

struct bad_response {
  std::string json;
  std::string says;
};
std::ostream& operator<<(std::ostream& out, const bad_response& r) {
  return out << r.json;
}
const auto bad_responses = std::vector<bad_response>{
    {"[]", "HumanResponse must be an object"},
    {R"({"args":null})", "HumanResponse needs a string \"type\""},
    {R"({"type":"maybe","args":null})",
     "HumanResponse needs a \"type\" that is accept, ignore, response or edit"},
    {R"({"type":"accept"})", "HumanResponse needs \"args\", which may be null"},
    {R"({"type":"edit","args":{"action":"a"}})",
     "HumanResponse contains an invalid member: ActionRequest needs an object \"args\""},
    {R"({"type":"accept","args":null,"why":1})", "HumanResponse has an unknown member \"why\""}};

} // namespace

BOOST_AUTO_TEST_CASE(review_interrupt_round_trips_as_json) {
  for (const auto* description : {"", R"(,"description":null)", R"(,"description":"Look")"}) {
    auto text = interrupt_text;
    text.insert(text.size() - 1, description);
    const auto read = human_interrupt_from_json(json::parse(text)).value();
    BOOST_TEST(to_text(to_json(read)) == text);
    BOOST_TEST(read.action.action == "run");
    BOOST_TEST(!read.config.allow_respond);
  }
}

BOOST_DATA_TEST_CASE(review_response_round_trips_as_json,
                     (std::vector<std::string>{
                         R"({"type":"accept","args":null})", R"({"type":"ignore","args":null})",
                         R"({"type":"response","args":"no"})",
                         R"({"type":"edit","args":{"action":"run","args":{"cmd":"pwd"}}})"})) {
  const auto read = human_response_from_json(json::parse(sample)).value();
  BOOST_TEST(to_text(to_json(read)) == sample);
  BOOST_TEST((human_response_from_json(json::value(to_json(read))).value() == read));
}

BOOST_DATA_TEST_CASE(invalid_review_response_is_rejected_with_reason, bad_responses, bad) {
  BOOST_TEST(human_response_from_json(json::parse(bad.json)).error().text == bad.says);
}

BOOST_AUTO_TEST_CASE(incomplete_or_invalid_review_interrupt_is_rejected) {
  BOOST_TEST(human_interrupt_from_json(json::parse(R"({"config":{}})")).has_error());
  auto text = interrupt_text;
  text.insert(text.size() - 1, R"(,"description":5)");
  BOOST_TEST(human_interrupt_from_json(json::parse(text)).error().text ==
             "HumanInterrupt needs a string or null as \"description\"");
}

BOOST_AUTO_TEST_SUITE_END()
