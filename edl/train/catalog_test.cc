#include "edl/train/catalog.h"

#include <gtest/gtest.h>

namespace edl::train {
namespace {

TEST(Catalog, entries_have_names_that_sort_as_they_count) {
  EXPECT_EQ(catalog_name(7), "stream/00000007");
  EXPECT_LT(catalog_name(99), catalog_name(100));
  for (const std::uint64_t number : {0U, 7U, 12'345'678U, 1'234'567'890U}) {
    EXPECT_EQ(catalog_number(catalog_name(number)), number);
  }
  for (const char* name : {"view", "stream/", "stream/x", "stream/7x", "streams/00000007"}) {
    EXPECT_EQ(catalog_number(name), std::nullopt) << name;
  }
}

TEST(Catalog, entries_are_read_as_they_were_written) {
  const CatalogEntry entry{.partition = {"a.csv", 10, 30, 7, 2}};
  EXPECT_EQ(catalog_value(entry), R"({"count":2,"file":"a.csv","first":7,"from":10,"to":30})");
  EXPECT_EQ(catalog_entry_from(catalog_value(entry))->partition, entry.partition);
  CatalogEntry end;
  end.has_ended = true;
  end.partition.first = 9;
  EXPECT_EQ(catalog_value(end), R"({"ended":true,"first":9})");
  EXPECT_TRUE(catalog_entry_from(catalog_value(end))->has_ended);
  EXPECT_EQ(catalog_entry_from(catalog_value(end))->partition.first, 9u);
}

TEST(Catalog, what_is_no_entry_is_refused) {
  for (const char* value : {"", "{}", R"({"ended":true})", R"({"first":1,"count":3})",
                            R"({"count":0,"file":"a","first":0,"from":0,"to":9})"}) {
    EXPECT_FALSE(catalog_entry_from(value).ok()) << value;
  }
}

}  // namespace
}  // namespace edl::train
