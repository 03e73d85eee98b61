#include "edl/model/fingerprint.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

const Fingerprint kJob{{"blas", "OpenBLAS 0.3.21 Haswell"}, {"isa", "AVX2"}, {"known", "aa"}};

bool says(const std::string& sentence, std::string_view words) {
  return sentence.find(words) != std::string::npos;
}

TEST(Fingerprint, reads_what_it_wrote) {
  EXPECT_EQ(fingerprint_from(Json(kJob)).value(), kJob);
  EXPECT_EQ(fingerprint_from(Json(Fingerprint())).value(), Fingerprint());
}

TEST(Fingerprint, of_older_jobs_is_a_text) {
  EXPECT_EQ(fingerprint_from("f").value(), (Fingerprint{{"program", "f"}}));
  EXPECT_TRUE(fingerprint_from("")->empty());
}

TEST(Fingerprint, from_outside_is_small_and_of_texts) {
  Json many;
  for (int i = 0; i < 33; ++i) many[std::to_string(i)] = "";
  for (const Json& json : {many, Json{{"isa", 7}}, Json::array(), Json(),
                           Json{{"isa", std::string(5000, 'x')}}, Json(std::string(5000, 'x'))}) {
    EXPECT_FALSE(fingerprint_from(json).ok()) << json;
  }
}

TEST(Fingerprint, equal_ones_and_unknown_ones_do_not_differ) {
  EXPECT_EQ(fingerprint_difference(kJob, kJob), "");
  EXPECT_EQ(fingerprint_difference({}, kJob), "");
  EXPECT_EQ(fingerprint_difference(kJob, {}), "");
}

TEST(Fingerprint, a_difference_names_the_part_both_values_and_the_way_out) {
  Fingerprint here = kJob;
  here["blas"] = "reference";
  here["known"] = "bb";
  const std::string sentence = fingerprint_difference(here, kJob);
  EXPECT_TRUE(says(sentence, "blas is reference here, OpenBLAS 0.3.21 Haswell in the job"));
  EXPECT_TRUE(says(sentence, "Install the same BLAS")) << sentence;
  EXPECT_FALSE(says(sentence, "known computation")) << "it only follows from the other";
}

TEST(Fingerprint, a_computation_that_alone_differs_is_named) {
  Fingerprint here = kJob;
  here["known"] = "bb";
  EXPECT_TRUE(says(fingerprint_difference(here, kJob), "known computation is bb here, aa in"));
}

TEST(Fingerprint, a_part_that_one_of_them_lacks_differs) {
  Fingerprint here = kJob;
  here.erase("isa");
  EXPECT_TRUE(says(fingerprint_difference(here, kJob), "isa is nothing here, AVX2 in the job"));
  EXPECT_TRUE(says(fingerprint_difference(kJob, here), "isa is AVX2 here, nothing in the job"));
}

}  // namespace
}  // namespace edl::model
